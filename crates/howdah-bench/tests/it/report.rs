//! The report's figures and files: nothing that was measured is lost, nothing that was not is shown.

use std::collections::BTreeMap;
use std::fs;

use howdah_bench::record::{Evidence, Outcome, Record};
use howdah_bench::report::summary::{ReportCell, SectionSummary, Summary};
use howdah_bench::report::write;

use crate::example::{ENVIRONMENT, HOSTILE, SCENARIOS, records, run};

/// The three files.
fn written(records: &[Record]) -> [String; 3] {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), records, &SCENARIOS, ENVIRONMENT).expect("reports are written");
    ["summary.csv", "summary.md", "report.html"]
        .map(|name| fs::read_to_string(directory.path().join(name)).expect("it is there"))
}

fn section(records: &[Record], name: &str) -> SectionSummary {
    let summary = Summary::of(records, &SCENARIOS);
    let mut sections = summary.scenarios.into_iter().flat_map(|scenario| scenario.sections);
    sections.find(|section| section.name == name).expect("the section was run")
}

fn cell<'a>(section: &'a SectionSummary, series: &str) -> &'a ReportCell {
    section.cells.iter().find(|cell| cell.series == series).expect("the series was run")
}

/// Runs at these rates; the first is the warm-up.
fn rates(section: &str, series: &str, rates: &[f64]) -> Vec<Record> {
    let of = |(repetition, rate): (u32, &f64)| Record {
        repetition,
        ..run("nine-ways", section, series, None, 1000, *rate)
    };
    (0..).zip(rates).map(of).collect()
}

#[test]
fn the_warm_up_and_wrong_tables_do_not_count_in_figures() {
    let mut records = rates("at-1m", "copy-text", &[9000.0, 100.0, 120.0, 110.0, 7000.0]);
    records[4].outcome = Outcome::Wrong;
    records[4].reason = Some("one row differs".to_owned());
    let section = section(&records, "at-1m");
    let cell = cell(&section, "copy-text");
    let rate = cell.rate.unwrap();
    assert_eq!(
        (cell.runs, rate.min.round(), rate.median.round(), rate.max.round()),
        (3, 100.0, 110.0, 120.0)
    );
    assert_eq!(cell.marks(), ["WRONG: one row differs"]);
    assert!(written(&records)[1].contains("- copy-text: WRONG: one row differs"));
}

#[test]
fn every_outcome_is_shown_with_its_reason_in_every_form() {
    for text in written(&records()) {
        for said in [
            "60 s had passed",
            "pgloader is not installed",
            "3 rows differ: empty strings became NULL",
            "measured on eight cores",
        ] {
            // A first part of the rows is said by its share; published figures' flaws do not fit into CSV.
            let elsewhere =
                said.starts_with("60 s") || (said.starts_with("measured") && text.starts_with("scenario,"));
            assert!(elsewhere || text.contains(said), "{said} is missing in {}", &text[..40]);
        }
    }
    let marks = cell(&section(&records(), "rows"), "insert").marks();
    assert!(marks.is_empty(), "{marks:?}");
    let section = section(&records(), "rows");
    let last = section.cells.iter().find(|cell| cell.series == "insert" && cell.x == Some(1e6)).unwrap();
    assert_eq!(last.marks(), ["first 24.6 % of the rows"]);
}

#[test]
fn a_method_whose_warm_up_failed_does_not_vanish() {
    let mut records = rates("at-1m", "odd-tool", &[1.0]);
    assert_eq!(cell(&section(&records, "at-1m"), "odd-tool").marks(), ["only the warm-up ran"]);
    records[0].outcome = Outcome::Failed;
    assert_eq!(cell(&section(&records, "at-1m"), "odd-tool").marks(), ["failed: no reason was recorded"]);
}

#[test]
fn figures_near_the_harness_ceiling_are_flagged_and_the_control_wins_nothing() {
    let mut records = rates("at-1m", "no-op", &[1.0, 1000.0, 1000.0]);
    records.extend(rates("at-1m", "near", &[1.0, 801.0, 801.0]));
    records.extend(rates("at-1m", "far", &[1.0, 267.0, 267.0]));
    let section = section(&records, "at-1m");
    let of = |series| {
        let cell = cell(&section, series);
        (cell.near_ceiling, cell.of_best, cell.to_slowest.map(f64::round))
    };
    assert_eq!(of("no-op"), (false, None, None));
    assert_eq!(of("near"), (true, Some(1.0), Some(3.0)));
    assert!(!of("far").0);
    assert_eq!(of("far").2, None);
    assert!(section.headline.starts_with("near is 3.0× far"), "{}", section.headline);
}

#[test]
fn steps_of_the_ladder_stay_in_order_however_runs_were_interleaved() {
    let mut records = records();
    records.reverse();
    let section = section(&records, "ladder");
    let names: Vec<&str> = section.cells.iter().map(|cell| cell.series.as_str()).collect();
    assert_eq!(names[..3], ["one insert a row", "one transaction", "rows of 1,000 a statement"]);
    assert_eq!(names[8], "fsync off");
    let step = cell(&section, "one transaction").step.unwrap();
    assert!((7.0..8.5).contains(&step), "{step}");
    assert_eq!(cell(&section, "one insert a row").step, None);
    assert_eq!(
        cell(&section, "fsync off").changes,
        ["fsync: default → off", "durability: not crash-safe → lab only"]
    );
    assert_eq!(cell(&section, "unlogged table").changes[0], "table: logged, bigint key → unlogged, no key");
    assert_eq!(cell(&section, "COPY binary").changes, ["command: copy-text → copy-binary"]);
    let headline = &section.headline;
    assert!(headline.contains("the last step that keeps rows is “COPY binary”"), "{headline}");
}

#[test]
fn a_first_part_of_the_rows_is_no_figure_of_all_of_them() {
    let records = records();
    let section = section(&records, "rows");
    let part = section.cells.iter().find(|cell| cell.series == "insert" && cell.x == Some(1e6)).unwrap();
    assert!(part.prefix && !part.in_place());
    assert_eq!((part.to_slowest, part.of_best), (None, None));
    assert!(!section.headline.contains(" insert:"), "the slowest that loaded all: {}", section.headline);
    let [_, markdown, _] = written(&records);
    assert!(markdown.contains("(first 246,000)"), "{markdown}");
}

#[test]
fn a_figure_of_a_study_is_not_set_beside_a_first_part_of_its_rows() {
    let measured = |outcome: Outcome| {
        let mut record = run("nine-ways", "rows", "copy-binary", Some(1e6), 1_000, 1_000.0);
        record.conditions.rows_asked = 1_000_000;
        record.outcome = outcome;
        section(&[record], "rows").published.first().map(|figure| figure.measured)
    };
    assert_eq!(measured(Outcome::Prefix), None);
    assert!(measured(Outcome::Verified).is_some());
}

#[test]
fn a_step_within_the_spread_of_runs_is_said_to_be_in_doubt() {
    let step = |number: f64, series: &str, of: [f64; 3]| {
        let records = rates("ladder", series, &[1.0, of[0], of[1], of[2]]);
        records.into_iter().map(move |record| Record {
            scenario: "five-paths".to_owned(),
            x: Some(number),
            ..record
        })
    };
    let mut records: Vec<Record> = step(1.0, "one", [100.0, 110.0, 190.0]).collect();
    records.extend(step(2.0, "two", [180.0, 200.0, 220.0]));
    records.extend(step(3.0, "three", [230.0, 240.0, 250.0]));
    let section = section(&records, "ladder");
    let doubts: Vec<bool> = section.cells.iter().map(|cell| cell.step_in_doubt).collect();
    assert_eq!(doubts, [false, true, false]);
    assert!(section.headline.contains("largest single step is three"), "{}", section.headline);
    assert!(written(&records)[1].contains("+82 %, runs overlap"), "{}", written(&records)[1]);
}

#[test]
fn a_percentile_that_old_records_lack_is_a_dash_and_not_a_zero() {
    let mut record = serde_json::to_value(run("nine-ways", "at-1m", "old", None, 1000, 9.0)).unwrap();
    record["evidence"]["latency"] =
        serde_json::json!({"mean_ms": 1.5, "p50_ms": 1.5, "p90_ms": 2.0, "p99_ms": 3.0, "max_ms": 4.0});
    let records = [serde_json::from_value(record).expect("an old record is read")];
    let [csv, markdown, _] = written(&records);
    assert!(markdown.contains("| 2.0 ms | —   | 3.0 ms | —"), "{markdown}");
    assert!(csv.contains(",1.5,1.5,2,,3,,4,"), "{csv}");
}

#[test]
fn a_service_near_a_quarter_of_its_control_is_flagged_with_how_near() {
    let section = section(&records(), "study");
    let near = cell(&section, "100 rows, 10 ms");
    let control = cell(&section, "no-op");
    assert!(control.control && !control.near_ceiling);
    assert!(near.near_ceiling && !cell(&section, "5 rows, 0.5 ms").near_ceiling);
    assert!(near.marks()[0].starts_with("the control, which writes nothing, reaches only 3."), "{near:?}");
    assert!(section.headline.contains("Its rows take 114 ms in the mean"), "{}", section.headline);
}

#[test]
fn percentiles_are_in_every_form_of_the_report() {
    let [csv, markdown, html] = written(&records());
    let line =
        markdown.lines().find(|line| line.starts_with("| 100 rows, 10 ms") && line.contains("| 48.0 ms"));
    let fields: Vec<&str> = line.unwrap().split('|').skip(2).map(str::trim).collect();
    let wanted = ["48.0 ms", "86.4 ms", "101 ms", "168 ms", "288 ms", "432 ms", "57.6 ms", "68", ""];
    assert_eq!(fields, wanted);
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let p99_9 = header.iter().position(|name| *name == "latency_p99_9_ms").unwrap();
    let line = csv.lines().find(|line| line.contains("target 20 ms")).unwrap();
    assert_eq!(line.split(',').nth(p99_9).unwrap(), "30", "{line}");
    let cells = &embedded(&html)["summary"]["scenarios"][2]["sections"][2]["cells"];
    assert_eq!(cells[0]["course"].as_array().unwrap().len(), 40);
    let quantiles = cells[0]["quantiles"].as_array().unwrap();
    assert!(quantiles.len() > 20, "{quantiles:?}");
}

#[test]
fn latencies_under_a_set_load_are_what_is_told_of_it() {
    let offered = section(&records(), "offered");
    assert_eq!(
        offered.headline,
        "At 90 % of the peak, 99 % of the rows take at most: “own settings” 3.9 ms, plain 7.0 ms, pgx 14.0 ms, \
         asyncpg 21.0 ms, psycopg 24.5 ms."
    );
    assert!(offered.cells.iter().all(|cell| cell.of_best.is_none()), "rates that are set win nothing");
    let mut records = records();
    for record in records.iter_mut().filter(|record| record.series == "target 5 ms") {
        record.evidence.latency.as_mut().unwrap().p99_ms = 5.1;
    }
    let steps = section(&records, "steps").headline;
    assert!(steps.contains("“target 5 ms” 5.1 ms, missed; “target 10 ms” 8.8 ms, held"), "{steps}");
}

#[test]
fn a_published_figure_stands_beside_ours_and_the_others_are_counted() {
    let all = section(&records(), "at-1m");
    assert!((600_000.0..700_000.0).contains(&all.published[0].measured));
    assert_eq!(all.published_elsewhere, 0);
    let records = rates("at-1m", "insert", &[1.0, 2.0]);
    let none = section(&records, "at-1m");
    assert_eq!((none.published.len(), none.published_elsewhere), (0, 1));
    assert!(written(&records)[1].contains("1 more published figure was not measured here."));
}

#[test]
fn what_was_not_measured_is_one_line_for_one_reason() {
    let mut records = rates("rows", "copy-text", &[1.0, 100.0]);
    for (series, x) in [("pgx", 1e3), ("pgx", 1e4), ("odd, tool", 1e3), ("copy-text", 1e4)] {
        let outcome = Outcome::Skipped;
        let reason = Some("it is not installed".to_owned());
        records.push(Record { outcome, reason, ..run("nine-ways", "rows", series, Some(x), 1000, 1.0) });
    }
    let [_, markdown, _] = written(&records);
    let said = "- copy-text, 10,000 rows; pgx; odd, tool: skipped: it is not installed\n";
    assert!(markdown.contains(said), "{markdown}");
    assert_eq!(markdown.matches("pgx").count(), 1, "{markdown}");
}

#[test]
fn figures_have_the_digits_that_their_spread_allows() {
    let of = |figures: &[f64]| written(&rates("at-1m", "copy-text", figures))[1].clone();
    let one = of(&[1.0, 526_206.0]);
    assert!(one.contains("530,000 rows/s") && !one.contains("526"), "{one}");
    let three = of(&[1.0, 526_206.0, 523_411.0, 529_873.0]);
    assert!(three.contains("| 526,000 | 523,000 to 530,000 |"), "{three}");
}

#[test]
fn missing_evidence_is_a_dash_and_not_a_zero() {
    let mut records = rates("at-1m", "insert", &[1.0, 2.0, 3.0]);
    for record in &mut records {
        record.evidence = Evidence { wal_bytes: Some(4096), ..Evidence::default() };
        record.phases = Vec::new();
    }
    let [_, markdown, _] = written(&records);
    let line = markdown.lines().rfind(|line| line.starts_with("| insert")).unwrap();
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    assert_eq!(cells, ["", "insert", "—", "—", "—", "4.0 KiB", "", ""]);
}

#[test]
fn time_is_not_counted_twice_nor_is_the_harness_time_the_method_s() {
    let section = section(&rates("at-1m", "copy-text", &[1.0, 100.0, 100.0]), "at-1m");
    let time = &cell(&section, "copy-text").time;
    let names: Vec<&str> = time.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["connect and plan", "encode", "wait for the server", "commit", "other"]);
    // 10 s of ingest, and connecting before.
    let sum: f64 = time.iter().map(|(_, seconds)| seconds).sum();
    assert!((sum - 10.016).abs() < 1e-9, "{time:?}");
}

#[test]
fn records_that_no_scenario_knows_are_reported_all_the_same() {
    let gone = run("renamed", "old", "copy", Some(10.0), 10, 5.0);
    let summary = Summary::of(&[gone], &SCENARIOS);
    assert_eq!(summary.scenarios.len(), 1);
    assert_eq!(summary.scenarios[0].title, "renamed");
    assert_eq!(summary.scenarios[0].sections[0].chart, "curves");
}

#[test]
fn a_report_on_nothing_says_so() {
    let [csv, markdown, html] = written(&[]);
    assert_eq!(csv.lines().count(), 1);
    assert!(markdown.contains("0 runs verified."), "{markdown}");
    assert!(html.contains("0 runs verified."));
    let failed =
        Record { outcome: Outcome::Failed, seconds: 0.0, ..run("nine-ways", "at-1m", "x", None, 1, 1.0) };
    assert!(written(&[failed])[1].contains("**Nothing could be measured.**"));
}

/// The JSON in the page.
fn embedded(html: &str) -> serde_json::Value {
    let start = html.find("id=\"data\">").expect("there is data") + "id=\"data\">".len();
    let end = start + html[start..].find("</script>").expect("it ends");
    serde_json::from_str(&html[start..end]).expect("it is JSON")
}

#[test]
fn no_name_breaks_out_of_the_page() {
    let [.., html] = written(&records());
    let plain = written(&[run("nine-ways", "at-1m", "plain", None, 1, 1.0)]);
    assert_eq!(html.matches("</script").count(), plain[2].matches("</script").count());
    assert!(!html.contains("<img"));
    let data = embedded(&html);
    let cells = data["summary"]["scenarios"][0]["sections"][1]["cells"].as_array().unwrap();
    assert!(cells.iter().any(|cell| cell["series"] == HOSTILE), "the name arrives as it is");
    assert_eq!(data["environment"], ENVIRONMENT);
}

#[test]
fn the_page_asks_for_nothing_from_elsewhere() {
    let [.., html] = written(&[run("nine-ways", "at-1m", "plain", None, 1, 1.0)]);
    for loads in [" src=", "@import", "url(", "<link", "fetch(", "XMLHttpRequest", "import("] {
        assert!(!html.contains(loads), "{loads}");
    }
    for (at, _) in html.match_indices("http") {
        let context = &html[at..html.len().min(at + 40)];
        assert!(
            context.starts_with("http-equiv") || context.starts_with("http://www.w3.org/2000/svg"),
            "{context}"
        );
    }
}

#[test]
fn no_name_splits_a_table() {
    let [csv, markdown, _] = written(&records());
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut table: Option<usize> = None;
    for line in markdown.lines() {
        table = line
            .starts_with('|')
            .then(|| bars(line))
            .inspect(|&bars| assert_eq!(bars, table.unwrap_or(bars), "{line}"));
    }
    assert!(!markdown.contains("<b>"));
    // Quoted fields hold commas; nothing here holds a line break.
    let fields = |line: &str| {
        let outside: Vec<&str> = line.split('"').step_by(2).collect();
        outside.concat().matches(',').count()
    };
    let counts: BTreeMap<usize, &str> = csv.lines().map(|line| (fields(line), line)).collect();
    assert_eq!(counts.len(), 1, "{counts:?}");
}
