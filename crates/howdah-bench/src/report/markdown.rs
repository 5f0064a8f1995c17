//! `summary.md`: the report for a terminal, a pull request, a repository.

use std::collections::BTreeSet;

use super::summary::{Promise, PublishedFigure, ReportCell, ScenarioSummary, SectionSummary, Summary};
use crate::number::{bytes, gain, milliseconds, stepped, thousands, times};
use crate::table::Table;

/// How figures are to be read, whatever the scenario.
pub(super) const READING: &str = "Rows/s are medians of the runs that count, with the least and the greatest beside them. A run counts when row \
     count and checksum of the table are those of the data set, or of the part of it that was loaded. The interval of \
     a median is from order statistics: 95 %, or from the least to the greatest where there are fewer than six runs \
     (94 % for five, 75 % for three).";

pub(super) fn render(summary: &Summary, environment: &str) -> String {
    let mut text = format!("# Benchmarks\n\n{}\n\n{READING}\n", counts(summary));
    for scenario in &summary.scenarios {
        text += &one_scenario(scenario);
    }
    let environment = environment.trim();
    if !environment.is_empty() {
        text += &format!("\n{environment}\n");
    }
    text
}

/// How many runs count, how many of them are no figures to compare, and how many came to nothing.
pub(super) fn counts(summary: &Summary) -> String {
    let runs =
        |count: usize| format!("{} {}", thousands(count as f64), if count == 1 { "run" } else { "runs" });
    let whose = if summary.quick == summary.runs { "They were" } else { "Some were" };
    let quick = match summary.quick {
        0 => String::new(),
        _ => format!(
            " {whose} made with --quick, few rows and one short run of each method: they show that everything works, \
             and are no figures to compare."
        ),
    };
    let verified = match summary.troubles {
        0 => format!("{} verified.", runs(summary.runs)),
        troubles => format!(
            "{} verified; {} came to nothing (failed, wrong or skipped) and {} shown as such.",
            runs(summary.runs),
            thousands(troubles as f64),
            if troubles == 1 { "is" } else { "are" }
        ),
    };
    verified + &quick
}

fn one_scenario(scenario: &ScenarioSummary) -> String {
    let mut text = format!("\n## {}\n", line(&scenario.title));
    if !scenario.question.is_empty() {
        text += &format!("\n{}\n", line(&scenario.question));
    }
    for section in &scenario.sections {
        text += &one_section(section);
    }
    if !scenario.caveats.is_empty() {
        text += "\n### What these figures do not say\n\n";
        text += &scenario.caveats.iter().map(|it| format!("- {}\n", line(it))).collect::<String>();
    }
    text
}

fn one_section(section: &SectionSummary) -> String {
    let mut text = format!("\n### {}\n\n**{}**\n", line(&section.title), line(&section.headline));
    if !section.note.is_empty() {
        text += &format!("\n{}\n", line(&section.note));
    }
    if section.chart == "curves" {
        text += &format!("\n{}", over_the_axis(section).render());
    }
    text += &format!("\n{}", rates(section).render());
    let marks = marks(section);
    if !marks.is_empty() {
        text += &format!("\n{marks}");
    }
    if let Some(table) = promises(&section.promises) {
        text += &format!("\nPromised, and measured here:\n\n{table}");
    }
    if !section.elsewhere.is_empty() {
        text += &format!("\n{}\n", section.elsewhere);
    }
    if let Some(table) = latencies(section) {
        text += &format!(
            "\nLatency, of a row or of a batch that is a transaction of its own:\n\n{}",
            table.render()
        );
    }
    if !section.published.is_empty() {
        text += &format!("\nPublished figures beside these:\n\n{}", published(section).render());
        let buts = buts(section);
        if !buts.is_empty() {
            text += &format!("\n{buts}");
        }
    }
    if section.published_elsewhere > 0 {
        text += &format!("\n{}\n", not_measured(section.published_elsewhere));
    }
    if let Some(table) = evidence(section) {
        text += &format!("\nWhere the time went:\n\n{}", table.render());
    }
    text
}

/// A method at its place, as rows of tables name it.
fn label(section: &SectionSummary, cell: &ReportCell) -> String {
    match cell.x.filter(|_| section.chart != "waterfall") {
        Some(x) => {
            let axis = section.axis.as_deref().unwrap_or("");
            format!("{}, {} {axis}", line(&cell.series), thousands(x)).trim_end().to_owned()
        }
        None => line(&cell.series),
    }
}

/// The chart as a table: the axis down, the series across, the best of each place in bold.
fn over_the_axis(section: &SectionSummary) -> Table {
    let mut series: Vec<&str> = Vec::new();
    let mut places: Vec<Option<f64>> = Vec::new();
    for cell in &section.cells {
        // What was never measured is said below.
        if cell.rate.is_none() {
            continue;
        }
        if !series.contains(&cell.series.as_str()) {
            series.push(&cell.series);
        }
        if !places.contains(&cell.x) {
            places.push(cell.x);
        }
    }
    places.sort_by(|a, b| a.unwrap_or(0.0).total_cmp(&b.unwrap_or(0.0)));
    let axis = section.axis.clone().unwrap_or_default();
    let mut table = Table::new(std::iter::once(axis).chain(series.iter().map(|name| line(name))));
    for x in places {
        let figure = |name: &&str| {
            let cell = section.cells.iter().find(|cell| cell.series == **name && cell.x == x);
            match cell.and_then(|cell| Some((cell, cell.median()?))) {
                Some((cell, rate)) if cell.of_best == Some(1.0) => format!("**{}**", cell.shown(rate)),
                Some((cell, rate)) if !cell.in_place() => {
                    format!("{} (first {})", cell.shown(rate), thousands(cell.rows.unwrap_or(0.0)))
                }
                Some((cell, rate)) => cell.shown(rate),
                None => "—".to_owned(),
            }
        };
        let place = x.map_or("—".to_owned(), thousands);
        table.row(std::iter::once(place).chain(series.iter().map(figure)));
    }
    table
}

/// Whether the chart has an axis that cells of a series lie along.
fn along_an_axis(section: &SectionSummary) -> bool {
    matches!(section.chart, "curves" | "latencies")
}

fn rates(section: &SectionSummary) -> Table {
    let waterfall = section.chart == "waterfall";
    let mut header = vec!["", "rows/s", "min to max", "runs", "× slowest", "of best"];
    if waterfall {
        header.extend(["step", "what changed"]);
    }
    header.extend(["durability", ""]);
    let mut table = Table::new(header);
    for cell in section.cells.iter().filter(|cell| cell.rate.is_some()) {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "—".to_owned());
        let mut row = vec![
            label(section, cell),
            or_dash(cell.median().map(|rate| cell.shown(rate))),
            or_dash(
                cell.rate
                    .filter(|_| cell.runs > 1)
                    .map(|rate| format!("{} to {}", cell.shown(rate.min), cell.shown(rate.max))),
            ),
            cell.runs.to_string(),
            or_dash(cell.to_slowest.map(times)),
            or_dash(cell.of_best.map(percent)),
        ];
        if waterfall {
            let doubt = if cell.step_in_doubt { ", runs overlap" } else { "" };
            row.push(or_dash(cell.step.map(|step| gain(step) + doubt)));
            row.push(line(&cell.changes.join("; ")));
        }
        row.push(cell.conditions.durability.label().to_owned());
        row.push(if cell.control { "control: writes nothing".to_owned() } else { flags(cell) });
        table.row(row);
    }
    table
}

/// None where nothing is promised.
pub(super) fn promises<'a>(promises: impl IntoIterator<Item = &'a Promise>) -> Option<String> {
    let mut promises = promises.into_iter().peekable();
    promises.peek()?;
    let mut table = Table::new(["promise", "measured", "target", ""]);
    for Promise { promise, measured, target, holds } in promises {
        table.row([promise.as_str(), measured, target, if *holds { "PASS" } else { "MISS" }]);
    }
    Some(table.render())
}

fn percent(share: f64) -> String {
    if share < 0.01 { "< 1 %".to_owned() } else { format!("{:.0} %", share * 100.0) }
}

/// The outcome in a word or two; the reasons stand below the table.
fn flags(cell: &ReportCell) -> String {
    let mut flags: Vec<String> = Vec::new();
    if cell.prefix {
        flags.push("a first part".to_owned());
    }
    let mut outcomes: Vec<String> =
        cell.troubles.iter().map(|trouble| format!("{:?}", trouble.outcome).to_lowercase()).collect();
    outcomes.dedup();
    flags.extend(outcomes.into_iter().map(|word| if word == "wrong" { "WRONG".to_owned() } else { word }));
    if cell.near_ceiling {
        flags.push("near the ceiling".to_owned());
    }
    flags.join(", ")
}

/// A line for each thing that is to be said, with all cells that it is to be said of.
fn marks(section: &SectionSummary) -> String {
    let mut groups: Vec<(String, Vec<&ReportCell>)> = Vec::new();
    for cell in &section.cells {
        let marks = cell.marks().join("; ");
        match groups.iter_mut().find(|(said, _)| *said == marks) {
            _ if marks.is_empty() => {}
            Some((_, cells)) => cells.push(cell),
            None => groups.push((marks, vec![cell])),
        }
    }
    let line_of = |(marks, cells): &(String, Vec<&ReportCell>)| {
        format!("- {}: {}\n", labels(section, cells), line(marks))
    };
    groups.iter().map(line_of).collect()
}

/// Several cells of a section; a series that is among them with all of its places by its name alone.
fn labels(section: &SectionSummary, cells: &[&ReportCell]) -> String {
    let mut all: Vec<String> = Vec::new();
    for cell in cells {
        let of_series = |it: &ReportCell| it.series == cell.series;
        let is_whole = section.cells.iter().filter(|it| of_series(it)).count()
            == cells.iter().filter(|it| of_series(it)).count();
        let label = if is_whole && cells.len() > 1 { line(&cell.series) } else { label(section, cell) };
        if !all.contains(&label) {
            all.push(label);
        }
    }
    all.join("; ")
}

/// How the published figures mislead, each reason once.
fn buts(section: &SectionSummary) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for figure in section.published.iter().filter(|figure| !figure.but.is_empty()) {
        let series = figure.series.as_str();
        match groups.iter_mut().find(|(but, _)| *but == figure.but) {
            Some((_, all)) if all.contains(&series) => {}
            Some((_, all)) => all.push(series),
            None => groups.push((figure.but.as_str(), vec![series])),
        }
    }
    groups.iter().map(|(but, series)| format!("- {}: {}\n", line(&series.join("; ")), line(but))).collect()
}

/// That a study printed `number` more figures.
fn not_measured(number: usize) -> String {
    let figures = if number == 1 { "figure was" } else { "figures were" };
    format!("{number} more published {figures} not measured here.")
}

fn published(section: &SectionSummary) -> Table {
    let mut table = Table::new(["", "published rows/s", "here", "here ÷ published"]);
    for PublishedFigure { series, x, rows_per_s, measured, rounded_to, .. } in &section.published {
        let place = x.map_or(String::new(), |x| format!(", {}", thousands(x)));
        table.row([
            format!("{}{place}", line(series)),
            thousands(*rows_per_s),
            stepped(*measured, *rounded_to),
            times(measured / rows_per_s),
        ]);
    }
    table
}

/// None where no latency was seen.
fn latencies(section: &SectionSummary) -> Option<Table> {
    let timed: Vec<_> = section.cells.iter().filter_map(|cell| Some((cell, cell.latency?))).collect();
    if timed.is_empty() {
        return None;
    }
    let mut table = Table::new(["", "p50", "p90", "p95", "p99", "p99.9", "max", "mean", "rows a batch"]);
    for (cell, it) in timed {
        let figures = [
            Some(it.p50_ms),
            Some(it.p90_ms),
            it.p95_ms,
            Some(it.p99_ms),
            it.p99_9_ms,
            Some(it.max_ms),
            Some(it.mean_ms),
        ];
        let mut row = vec![label(section, cell)];
        row.extend(figures.map(|figure| figure.map_or("—".to_owned(), milliseconds)));
        row.push(cell.batch_rows.map_or("—".to_owned(), thousands));
        table.row(row);
    }
    Some(table)
}

/// None where nothing but the clock was seen. Along an axis, the last place of each series stands for the others.
fn evidence(section: &SectionSummary) -> Option<Table> {
    let measured: Vec<&ReportCell> = section.cells.iter().filter(|cell| cell.runs > 0).collect();
    let last = |cell: &ReportCell| {
        !along_an_axis(section)
            || !measured.iter().any(|other| other.series == cell.series && other.x > cell.x)
    };
    let cells: Vec<&ReportCell> = measured.iter().copied().filter(|cell| last(cell)).collect();
    let mut phases: Vec<&str> = Vec::new();
    for (name, _) in cells.iter().flat_map(|cell| &cell.phases) {
        if !phases.contains(&name.as_str()) {
            phases.push(name);
        }
    }
    let seen = cells.iter().any(|cell| cell.client_cpu_s.or(cell.server_cpu_s).or(cell.wal_bytes).is_some());
    let waits: BTreeSet<&str> =
        cells.iter().flat_map(|cell| &cell.waits).map(|(name, _)| name.as_str()).collect();
    if phases.is_empty() && !seen && waits.is_empty() {
        return None;
    }
    let mut header = vec!["".to_owned()];
    header.extend(phases.iter().map(|name| format!("{} s", line(name))));
    header.extend(["client CPU s", "server CPU s", "peak memory", "WAL", "backends"].map(str::to_owned));
    let mut table = Table::new(header);
    for cell in cells {
        let seconds = |value: Option<f64>| value.map_or("—".to_owned(), |value| format!("{value:.3}"));
        let size = |value: Option<f64>| value.map_or("—".to_owned(), bytes);
        let mut row = vec![label(section, cell)];
        let phase =
            |name: &&str| cell.phases.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        row.extend(phases.iter().map(|name| seconds(phase(name))));
        row.extend([seconds(cell.client_cpu_s), seconds(cell.server_cpu_s)]);
        row.extend([size(cell.peak_rss_bytes), size(cell.wal_bytes)]);
        let waits: Vec<String> =
            cell.waits.iter().take(3).map(|(name, share)| format!("{:.0} % {name}", share * 100.0)).collect();
        row.push(line(&waits.join(", ")));
        table.row(row);
    }
    Some(table)
}

/// Names and reasons come from outside: they may not end a line or begin HTML.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "&lt;")
}
