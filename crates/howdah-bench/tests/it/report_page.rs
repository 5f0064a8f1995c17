//! The report in a real browser: it draws, answers to clicks, complains about nothing and asks for nothing.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use howdah_bench::report::summary::{ReportCell, Summary};
use howdah_bench::report::write;
use howdah_testkit::require::missing;
use serde_json::{Value, json};

use crate::example;

/// Does what a reader does, and leaves what it saw in the page.
const READER: &str = include_str!("report_page/reader.js");

/// What a browser made of a page.
struct Seen {
    /// What [`READER`] saw.
    reader: Value,
    /// What the console said.
    console: Vec<String>,
}

fn chromium() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    })
}

/// Opens `html` in a window of `width` pixels; `values` must be found in its text.
fn open(browser: &str, directory: &Path, html: &str, width: u32, values: &[f64]) -> Seen {
    let values = json!(values);
    let page = directory.join("opened.html");
    let reader = format!("<script>const VALUES = {values};\n{READER}</script>");
    fs::write(&page, html.replace("</body>", &format!("{reader}</body>"))).expect("the page is written");
    let profile = directory.join("profile");
    let done = Command::new(browser)
        // The sandbox does not start as root; the page is our own.
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--window-size={width},1000"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser runs");
    let dom = String::from_utf8_lossy(&done.stdout);
    let said = String::from_utf8_lossy(&done.stderr);
    let mark = "id=\"seen\">";
    let start = dom.find(mark).unwrap_or_else(|| panic!("the reader saw nothing: {said}")) + mark.len();
    let end = start + dom[start..].find("</script>").expect("the element ends");
    Seen {
        reader: serde_json::from_str(&dom[start..end]).expect("the reader writes JSON"),
        console: said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect(),
    }
}

#[test]
fn the_page_draws_answers_and_asks_for_nothing() {
    let Some(browser) = chromium() else { return missing("chromium", "there is no Chromium here") };
    let directory = tempfile::tempdir().unwrap();
    let records = example::records();
    write(directory.path(), &records, &example::SCENARIOS, example::ENVIRONMENT).unwrap();
    let html = fs::read_to_string(directory.path().join("report.html")).unwrap();
    let summary = Summary::of(&records, &example::SCENARIOS);
    let stepped = |(_, _, cell): (_, _, &ReportCell)| {
        cell.median().map(|median| (median / cell.rounded_to).round() * cell.rounded_to)
    };
    let values: Vec<f64> = summary.cells().filter_map(stepped).collect();
    for width in [1200, 500] {
        let Seen { reader, console } = open(browser, directory.path(), &html, width, &values);
        assert_eq!(console, Vec::<String>::new());
        assert_eq!(reader["requests"], json!([]));
        assert_eq!(reader["missing values"], json!([]), "{} values", values.len());
        assert_eq!(reader["elements from names"], 0);
        assert!(reader["wider than the window"].as_f64().unwrap() <= 0.0, "at {width}: {reader}");
        assert_eq!(reader["themes"], json!(["dark", "light"]), "the button switches there and back");
        let charts = reader["charts"].as_array().unwrap();
        // Two figures a section, what it shows and where the time went, and a third one where latencies are whole.
        assert_eq!(charts.len(), 6 + 9, "{reader}");
        for chart in charts {
            assert!(chart["drawn"].as_u64().unwrap() >= 5, "{chart}");
            assert!(chart["labels"].as_u64().unwrap() >= 5, "{chart}");
            assert!(chart["legend"].as_u64().unwrap() >= 2, "{chart}");
            assert_eq!(chart["unchanged by its legend"], json!([]), "{chart}");
            assert_eq!(chart["restored"], true, "{chart}");
            assert_eq!(chart["unchanged by its switch"], json!([]), "{chart}");
            assert_eq!(chart["everything off is survived"], true, "{chart}");
            assert!(
                chart["tip"].as_str().is_some_and(|tip| tip.chars().any(|it| it.is_ascii_digit())),
                "{chart}"
            );
        }
    }
}

#[test]
fn an_error_or_a_request_on_the_page_would_be_noticed() {
    let Some(browser) = chromium() else { return missing("chromium", "there is no Chromium here") };
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &example::records(), &example::SCENARIOS, "").unwrap();
    let html = fs::read_to_string(directory.path().join("report.html")).unwrap();
    let broken = html.replace("theme();\nbuild();", "theme();\nbuild();\nnobodyKnowsThis();");
    assert_ne!(broken, html);
    let seen = open(browser, directory.path(), &broken, 1200, &[]);
    assert!(seen.console.iter().any(|line| line.contains("nobodyKnowsThis")), "{:?}", seen.console);
    let calling = html.replace("<main", "<img src=\"http://127.0.0.1:9/x.png\"><main");
    let seen = open(browser, directory.path(), &calling, 1200, &[123_456_789.0]);
    assert!(seen.console.iter().any(|line| line.contains("Content Security Policy")), "{:?}", seen.console);
    assert_eq!(seen.reader["missing values"], json!([123_456_789]));
}
