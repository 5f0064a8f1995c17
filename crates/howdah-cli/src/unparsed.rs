//! A command line that could not be read, for a program that waits for a report: it gets one all the same.

use std::ffi::OsString;

use howdah::stream::StreamReport;
use howdah::{Error, PromoteReport, Report};

use crate::{commands, render};

/// The report as one line of JSON, if `args` (the first is the program's name) ask for one.
pub(crate) fn report(args: &[OsString], answer: &clap::Error) -> Option<String> {
    let asks = |pair: &[OsString]| pair[0] == "--report" && pair[1] == "json";
    if !args.windows(2).any(asks) && !args.iter().any(|arg| arg == "--report=json") {
        return None;
    }
    let text = answer.to_string();
    let first = text.lines().next().unwrap_or_default();
    let error = Error::usage(first.strip_prefix("error: ").unwrap_or(first).to_owned());
    match args.get(1)?.to_str()? {
        "load" => Some(render::json(&Report::of_failure(&error))),
        "promote" => Some(render::json(&PromoteReport::of_failure(&error))),
        "doctor" => Some(commands::doctor::failure(&error)),
        "stream" => Some(render::json(&StreamReport::of_failure(&error))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn whoever_asked_for_json_gets_json() {
        for (line, has_report) in [
            (["howdah", "load", "a.csv", "--mode", "bogus", "--report", "json"], true),
            (["howdah", "stream", "--table", "t", "--bogus", "--report=json", "-q"], true),
            (["howdah", "load", "a.csv", "--mode", "bogus", "--report", "text"], false),
        ] {
            let args = line.map(OsString::from);
            let Err(answer) = Cli::try_parse_from(&args) else { continue };
            let report = report(&args, &answer);
            assert_eq!(report.is_some(), has_report, "{line:?} {report:?}");
            let Some(report) = report else { continue };
            let report: serde_json::Value = serde_json::from_str(&report).unwrap();
            assert_eq!(report["outcome"], "failed", "{line:?}");
            assert_eq!(report["error"]["visible"], "nothing was changed", "{line:?}");
            let message = report["error"]["message"].as_str().unwrap();
            assert!(message.contains("bogus"), "{message}");
        }
    }
}
