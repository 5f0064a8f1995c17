//! A report for a ticket.

use howdah_doctor::{Action, Report};

use super::text::since;
use super::{no_difference, place, tally, typed};
use crate::figures::visible;

/// The report.
pub(super) fn of(report: &Report, applied: impl Iterator<Item = Vec<String>>) -> String {
    let diagnosis = &report.diagnosis;
    let mut out = format!("## howdah doctor\n\n{}\n\n{}\n", plain(&place(report)), tally(report));
    if let Some(watched) = report.watched() {
        out.push_str(&format!("\nWatched: {}.\n", plain(&watched)));
    }
    if let Some(rate) = report.rate() {
        out.push_str(&format!("\nMeasured: {rate}.\n"));
    }
    if let Some(prescription) = report.prescription() {
        out.push_str(&format!("\nWith all of it done: {}.\n", plain(&prescription)));
    }
    if let Some(tried) = report.tried() {
        out.push_str(&format!("\nTried: {}.\n", plain(&tried)));
    }
    if let Some(prediction) = &report.prediction {
        out.push_str(&format!("\nTo come: {}.\n", plain(&prediction.said())));
    }
    for line in report.comparison.iter().flat_map(since) {
        out.push_str(&format!("\n{}\n", plain(&line)));
    }
    for told in applied {
        for (at, line) in told.iter().enumerate() {
            out.push_str(&format!("{}{}\n", if at == 0 { "\n" } else { "- " }, plain(line)));
        }
    }
    for finding in &diagnosis.findings {
        let cost = finding.cost.map(|cost| format!(", {} of the time", cost.percent())).unwrap_or_default();
        out.push_str(&format!("\n### {}{cost}: {}\n\n", plain(finding.id), plain(&finding.title)));
        out.push_str(&format!(
            "*{}*, {}. {}.\n\n",
            finding.severity.name(),
            finding.basis.name(),
            plain(finding.why)
        ));
        for evidence in &finding.evidence {
            out.push_str(&format!("- {}\n", plain(evidence)));
        }
        for remedy in &finding.remedies {
            match &remedy.action {
                Action::Elsewhere(text) => out.push_str(&format!("\n{}\n", plain(text))),
                action => {
                    let language = if matches!(action, Action::Sql(_)) { "sql" } else { "sh" };
                    let lines: Vec<String> = typed(action).iter().map(|line| visible(line)).collect();
                    out.push_str(&format!("\n```{language}\n{}\n```\n", lines.join("\n")));
                }
            }
            let notes = [
                format!("{}, {}", remedy.label, remedy.effect.name()),
                format!("needs: {}", remedy.needs),
                format!("price: {}", remedy.price),
                format!("undo: {}", remedy.undo),
            ];
            out.push_str(&format!("\n{}\n", notes.map(|note| plain(&note)).join(" · ")));
        }
    }
    if !diagnosis.no_difference.is_empty() {
        out.push_str("\n### Measured, and no difference that could be told from none\n\n");
        out.push_str(&format!("{}\n", plain(&no_difference(report))));
    }
    let not_measured: Vec<_> = report.trials.iter().flat_map(|trials| &trials.not_measured).collect();
    if !not_measured.is_empty() {
        out.push_str("\n### Not measured\n\n");
        for left_out in not_measured {
            out.push_str(&format!("- {}\n", plain(&format!("{}: {}", left_out.what, left_out.why))));
        }
    }
    if !diagnosis.not_seen.is_empty() {
        out.push_str("\n### Not seen, so nobody knows whether it is fine\n\n");
        for gap in &diagnosis.not_seen {
            let shown_by = gap.shown_by.as_ref().map(|sql| format!("; {sql} shows it")).unwrap_or_default();
            out.push_str(&plain(&format!("{}: {}{shown_by}", gap.what, gap.why)).replacen("", "- ", 1));
            out.push('\n');
        }
    }
    out.push_str("\n### Settings\n\n| setting | value | source |\n| --- | --- | --- |\n");
    for setting in report.facts.settings.seen().into_iter().flatten() {
        let unit = setting.unit.as_deref().unwrap_or_default();
        let value = format!("{} {unit}", setting.value);
        out.push_str(&format!(
            "| {} | {} | {} |\n",
            plain(&setting.name),
            plain(value.trim()),
            plain(&setting.source)
        ));
    }
    out.trim_end().to_owned()
}

/// Text that is nothing but text: a name may look like a link, or like HTML.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c if "\\`*_[]|#~".contains(c) => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_neither_a_link_nor_html() {
        assert_eq!(plain("<b>[x](y) | `z` a_b\n"), r"&lt;b>\[x\](y) \| \`z\` a\_b\\n");
    }
}
