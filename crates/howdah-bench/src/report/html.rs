//! `report.html`: template, style, scripts and data in one file that loads nothing.

use serde::Serialize;

use super::markdown;
use super::summary::Summary;
use crate::error::Error;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// In the order in which they build on each other.
const SCRIPTS: [&str; 5] = [
    include_str!("format.js"),
    include_str!("charts.js"),
    include_str!("latency.js"),
    include_str!("tables.js"),
    include_str!("page.js"),
];

#[derive(Serialize)]
struct Data<'a> {
    summary: &'a Summary,
    counts: String,
    reading: &'a str,
    environment: &'a str,
}

pub(super) fn render(summary: &Summary, environment: &str) -> Result<String, Error> {
    let counts = markdown::counts(summary);
    let data = Data { summary, counts, reading: markdown::READING, environment };
    let data = serde_json::to_string(&data)
        .map_err(|error| Error::Wrong(format!("the report's data are no JSON: {error}")))?;
    let page = TEMPLATE
        .replace("{{style}}", STYLE)
        .replace("{{scripts}}", &SCRIPTS.join("\n"))
        // Last, so that nothing in the data is taken for a placeholder.
        .replace("{{data}}", &inert(&data));
    Ok(page)
}

/// JSON that cannot end the element it stands in, nor begin a comment there.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
