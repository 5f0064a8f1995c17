//! A report for a terminal: for a reader in a hurry, what will fail first.

use howdah_doctor::{Action, Comparison, Effect, Finding, Remedy, Report, Severity};

use super::{no_difference, place, tally, typed};
use crate::figures::visible;

/// Prose is broken into lines of this many columns.
const COLUMNS: usize = 98;
/// Where the text behind a label begins.
const INDENT: usize = 9;

/// All that there is to each finding.
pub(super) fn of(report: &Report, applied: impl Iterator<Item = Vec<String>>, verbose: bool) -> String {
    let diagnosis = &report.diagnosis;
    let mut lines = vec![visible(&place(report))];
    if let Some(watched) = report.watched() {
        lines.extend(wrapped(&format!("watched: {watched}"), 0));
    }
    if let Some(rate) = report.rate() {
        lines.extend(wrapped(&format!("measured: {rate}"), 0));
    }
    if let Some(prescription) = report.prescription() {
        lines.extend(wrapped(&format!("with all of it done: {prescription}"), 0));
    }
    if let Some(tried) = report.tried() {
        lines.extend(wrapped(&format!("tried: {tried}"), 0));
    }
    if let Some(prediction) = &report.prediction {
        lines.extend(wrapped(&format!("to come: {}", prediction.said()), 0));
    }
    if let Some(comparison) = &report.comparison {
        lines.extend(since(comparison));
    }
    for told in applied {
        lines.extend(became(told));
    }
    for finding in &diagnosis.findings {
        lines.push(String::new());
        lines.push(head(finding));
        labelled(&mut lines, "why", finding.why);
        for (at, evidence) in finding.evidence.iter().enumerate() {
            labelled(&mut lines, if at == 0 { "seen" } else { "" }, evidence);
        }
        labelled(&mut lines, "basis", finding.basis.name());
        for (at, remedy) in finding.remedies.iter().enumerate() {
            remedied(&mut lines, if at == 0 { "do" } else { "or" }, remedy);
        }
    }
    lines.push(String::new());
    if diagnosis.findings.is_empty() {
        lines.push("nothing that was seen here will fail a load, hurt it or hold it back".to_owned());
    }
    if !diagnosis.no_difference.is_empty() {
        lines.push("measured, and no difference that could be told from none:".to_owned());
        lines.extend(wrapped(&no_difference(report), 2));
    }
    for (at, left_out) in not_measured(report).enumerate() {
        if at == 0 {
            lines.push("not measured:".to_owned());
        }
        lines.extend(wrapped(&left_out, 2));
    }
    if !diagnosis.not_seen.is_empty() {
        lines.push("not seen, so nobody knows whether it is fine:".to_owned());
        for gap in &diagnosis.not_seen {
            let shown_by = gap.shown_by.as_ref().map(|sql| format!("; {sql} shows it")).unwrap_or_default();
            lines.extend(wrapped(&format!("{}: {}{shown_by}", gap.what, gap.why), 2));
        }
    }
    if verbose && !diagnosis.fine.is_empty() {
        lines.push("looked at, and fine:".to_owned());
        lines.extend(wrapped(&diagnosis.fine.join(", "), 2));
    }
    lines.push(tally(report));
    lines.join("\n")
}

/// A line a finding.
pub(super) fn brief(report: &Report, applied: impl Iterator<Item = Vec<String>>) -> String {
    let mut lines: Vec<String> = report.comparison.iter().flat_map(since).collect();
    lines.extend(applied.flat_map(became));
    lines.extend(report.watched().map(|watched| format!("watched: {}", visible(&watched))));
    lines.extend(report.tried().map(|tried| format!("tried: {}", visible(&tried))));
    lines.extend(report.diagnosis.findings.iter().map(head));
    lines.extend(not_measured(report).map(|left_out| format!("not measured: {}", visible(&left_out))));
    lines.push(tally(report));
    lines.join("\n")
}

/// What became of settings that were applied: the undo is one line, however long.
fn became(told: Vec<String>) -> impl Iterator<Item = String> {
    told.into_iter().enumerate().flat_map(|(at, line)| match (at, line.starts_with("undo: ")) {
        (0, _) => wrapped(&line, 0),
        (_, true) => vec![format!("  {}", visible(&line))],
        _ => wrapped(&line, 2),
    })
}

/// What could not be measured, and why.
fn not_measured(report: &Report) -> impl Iterator<Item = String> {
    let left_out = report.trials.iter().flat_map(|trials| &trials.not_measured);
    left_out.map(|left_out| format!("{}: {}", left_out.what, left_out.why))
}

/// What became of it since the baseline.
pub(super) fn since(comparison: &Comparison) -> Vec<String> {
    let rate = comparison.rate.iter().map(|rate| format!("since the baseline: {}", rate.said()));
    let mut lines: Vec<String> = rate.collect();
    for (what, found) in [("gone", &comparison.gone), ("new", &comparison.new)] {
        lines.extend(found.iter().map(|found| format!("{what} since the baseline: {}", visible(found))));
    }
    if lines.is_empty() {
        lines.push("since the baseline: the same findings".to_owned());
    }
    lines
}

fn head(finding: &Finding) -> String {
    let mark = match finding.severity {
        Severity::Fails => "!",
        Severity::Costs => "-",
        Severity::Notice => ".",
    };
    let cost = finding.cost.map(|cost| format!(", {} of the time", cost.percent())).unwrap_or_default();
    format!("{mark} {}{cost}: {}", finding.id, visible(&finding.title))
}

fn remedied(lines: &mut Vec<String>, label: &str, remedy: &Remedy) {
    match &remedy.action {
        Action::Elsewhere(text) => labelled(lines, label, text),
        action => {
            for (at, line) in typed(action).iter().enumerate() {
                // A command is one line, however long: it is to be copied.
                let label = if at == 0 { label } else { "" };
                lines.push(format!("  {label:<0$}{1}", INDENT - 2, visible(line)));
            }
        }
    }
    let mut notes = vec![format!("[{}]", remedy.label)];
    if remedy.effect != Effect::AtOnce {
        notes.push(remedy.effect.name().to_owned());
    }
    if remedy.needs != "nothing more" {
        notes.push(format!("needs: {}", remedy.needs));
    }
    notes.push(format!("price: {}", remedy.price));
    labelled(lines, "", &notes.join(" · "));
    lines.push(format!("{:INDENT$}undo: {}", "", visible(&remedy.undo.to_string())));
}

fn labelled(lines: &mut Vec<String>, label: &str, text: &str) {
    let mut first = true;
    for line in wrapped(text, INDENT) {
        let shown = if std::mem::take(&mut first) { label } else { "" };
        lines.push(format!("  {shown:<0$}{1}", INDENT - 2, line.trim_start()));
    }
}

/// Lines of words, each behind so many spaces.
pub(super) fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in visible(text).split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{:indent$}{word}", "")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_and_a_long_word_is_not() {
        let long = "x".repeat(120);
        let lines = wrapped(&format!("{} {long} end", "word ".repeat(30).trim()), 9);
        assert!(lines.iter().all(|line| line.starts_with("         ")));
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS || line.contains(&long)));
        assert_eq!(
            lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ").matches("word").count(),
            30
        );
        assert_eq!(wrapped("a\nb", 0), ["a\\nb"]);
    }
}
