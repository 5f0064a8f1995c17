//! What came of a run of migrations: lines for people, one line of JSON for programs.

use howdah::Error;
use howdah_codegen::diagnostic::Diagnostics;
use howdah_codegen::migrate::{Entry, History, Outcome, Report, StepState};
use serde_json::{Value, json};

use super::{Refused, is_json, unplaced};
use crate::args::{Common, ReportArg};
use crate::exit;
use crate::figures::{counted, visible};
use crate::render::{Console, REPORT_FORMAT};

/// There is no server to ask, or the request is wrong.
pub(super) fn unusable(error: &Error, form: ReportArg, console: Console) -> u8 {
    if is_json(form) {
        let mut diagnostics = Diagnostics::new(std::path::Path::new(""));
        diagnostics.extend(vec![unplaced(error)]);
        console.result(&failed(&diagnostics).to_string());
    }
    console.error(error);
    exit::code(error, None)
}

/// Something is wrong with the files.
pub(super) fn refused(refused: &Refused, form: ReportArg, console: Console) -> u8 {
    if is_json(form) {
        console.result(&failed(&refused.diagnostics).to_string());
    }
    say_errors(&refused.diagnostics);
    refused.code
}

/// Says what came of a run.
pub(super) fn tell(
    history: &History,
    report: &Report,
    diagnostics: &Diagnostics,
    common: &Common,
    console: Console,
) {
    say_errors(diagnostics);
    if is_json(common.report) {
        console.result(&json(history, report, diagnostics).to_string());
    } else if !report.entries.is_empty() {
        if matches!(report.outcome, Outcome::Pending | Outcome::UpToDate | Outcome::Drift) {
            console.result(&lines(history, &report.entries));
        }
        console.say(&summary(history, report));
    }
}

/// Errors are never silent.
fn say_errors(diagnostics: &Diagnostics) {
    let text = diagnostics.text();
    if !text.is_empty() {
        Console::new(false).say(text.trim_end());
    }
}

/// A step a line.
fn lines(history: &History, entries: &[Entry]) -> String {
    let width = entries.iter().map(|entry| visible(&entry.id).chars().count()).max().unwrap_or(0);
    let line = |entry: &Entry| {
        let step = entry.step.and_then(|index| history.steps.get(index));
        let mut parts = vec![format!("{:<12}", word(entry.state))];
        parts.extend(step.map(|step| history.place(step)));
        parts.extend(entry.recorded.as_ref().map(|row| format!("{} by {}", row.applied_at, row.applied_by)));
        let id = visible(&entry.id);
        let pad = " ".repeat(width - id.chars().count());
        format!("{id}{pad}  {}", visible(&parts.join("  "))).trim_end().to_owned()
    };
    entries.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn word(state: StepState) -> &'static str {
    match state {
        StepState::Applied => "applied",
        StepState::Pending => "pending",
        StepState::OutOfOrder => "out of order",
        StepState::Changed => "changed",
        StepState::Moved => "moved",
        StepState::Interrupted => "interrupted",
        StepState::Newer => "newer",
        StepState::Missing => "missing",
    }
}

fn summary(history: &History, report: &Report) -> String {
    let project = visible(&history.project);
    let is_pending = |entry: &&Entry| entry.state == StepState::Pending;
    let pending = report.entries.iter().filter(is_pending).count();
    let steps = |count: usize| counted(u64::try_from(count).unwrap_or(u64::MAX), "step", "steps");
    let applied = report.applied.len();
    match report.outcome {
        Outcome::Applied => format!("{project} is up to date: {} applied", steps(applied)),
        Outcome::UpToDate => format!("{project} is up to date: nothing to apply"),
        Outcome::Pending => format!("{project} is not up to date: {} to apply", steps(pending)),
        Outcome::Tried => {
            let tried = report.tried.iter().filter(|tried| tried.duration_ms.is_some()).count();
            format!("dry run of {project}: {} of {pending} tried; nothing was changed", steps(tried))
        }
        Outcome::Drift if applied == 0 => format!("{project}: nothing was applied"),
        _ => format!("{project}: {} applied, and nothing of others but what is said", steps(applied)),
    }
}

fn failed(diagnostics: &Diagnostics) -> Value {
    json!({ "report_format": REPORT_FORMAT, "outcome": Outcome::Failed, "messages": messages(diagnostics) })
}

fn messages(diagnostics: &Diagnostics) -> Value {
    let all: Value = serde_json::from_str(&diagnostics.json()).unwrap_or_default();
    all.get("messages").cloned().unwrap_or_default()
}

fn json(history: &History, report: &Report, diagnostics: &Diagnostics) -> Value {
    json!({
        "report_format": REPORT_FORMAT,
        "outcome": report.outcome,
        "project": history.project,
        "steps": report.entries.iter().map(|entry| step(history, report, entry)).collect::<Vec<_>>(),
        "applied": report.applied.len(),
        "messages": messages(diagnostics),
    })
}

fn step(history: &History, report: &Report, entry: &Entry) -> Value {
    let step = entry.step.and_then(|index| history.steps.get(index));
    let migration = step.map(|step| &step.migration);
    let row = entry.recorded.as_ref();
    let tried = report.tried.iter().find(|tried| Some(tried.index) == entry.step);
    json!({
        "id": entry.id,
        "standing": entry.state,
        "place": step.map(|step| history.place(step)),
        "checksum": migration.map(|migration| &migration.checksum),
        "no_transaction": migration.map(|migration| migration.no_transaction),
        "applied_at": row.map(|row| &row.applied_at),
        "applied_by": row.map(|row| &row.applied_by),
        "duration_ms": row.and_then(|row| row.duration_ms),
        "applied_now": report.applied.iter().any(|(index, _)| Some(*index) == entry.step),
        "tried_ms": tried.and_then(|tried| tried.duration_ms),
    })
}
