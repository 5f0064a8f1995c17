//! What a database remembers beside what the files say: which steps are to run, and what does not fit together.

use serde::Serialize;

use super::Allowed;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::project::migration::MigrationStep;

/// A row of the table of migrations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The step's name.
    pub id: String,
    /// Its number in the files that it was applied from, from 1.
    pub position: i32,
    /// Of the text that was applied.
    pub checksum: String,
    /// Whether its end was seen: false for a step without a transaction that was begun.
    pub done: bool,
    /// When, in UTC.
    pub applied_at: String,
    /// The role that applied it.
    pub applied_by: String,
    /// For how long its statements ran, if that is known.
    pub duration_ms: Option<i64>,
}

/// How a step stands in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// It is there as the files have it.
    Applied,
    /// It is to run.
    Pending,
    /// It is not there, and one behind it is.
    OutOfOrder,
    /// It is there with another text.
    Changed,
    /// It is there, in another order.
    Moved,
    /// It was begun without a transaction, and nobody saw its end.
    Interrupted,
    /// It is there, and behind all steps of the files: of a newer program.
    Newer,
    /// It is there, and the files do not have it.
    Missing,
}

/// A step of the files, of the database, or of both.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name.
    pub id: String,
    /// Its place among the files' steps, from 0.
    pub step: Option<usize>,
    /// What the database remembers.
    pub recorded: Option<Recorded>,
    /// What follows from both.
    pub state: StepState,
}

/// Compares the files' steps with a database's rows: the steps in their order, then what only the database has.
#[must_use]
pub fn compare(steps: &[MigrationStep], rows: &[Recorded]) -> Vec<Entry> {
    let row_of = |step: &MigrationStep| rows.iter().find(|row| row.id == step.id());
    let last = steps.iter().rposition(|step| row_of(step).is_some());
    let mut highest = 0;
    let mut entries = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let recorded = row_of(step);
        let state = match recorded {
            None if last.is_some_and(|last| index < last) => StepState::OutOfOrder,
            None => StepState::Pending,
            Some(row) if !row.done => StepState::Interrupted,
            Some(row) if row.checksum != step.migration.checksum => StepState::Changed,
            Some(row) if row.position < highest => StepState::Moved,
            Some(_) => StepState::Applied,
        };
        highest = recorded.map_or(highest, |row| highest.max(row.position));
        entries.push(Entry {
            id: step.id().to_owned(),
            step: Some(index),
            recorded: recorded.cloned(),
            state,
        });
    }
    let known = i32::try_from(steps.len()).unwrap_or(i32::MAX);
    let strangers = rows.iter().filter(|row| steps.iter().all(|step| step.id() != row.id));
    entries.extend(strangers.map(|row| Entry {
        id: row.id.clone(),
        step: None,
        recorded: Some(row.clone()),
        state: if row.position > known { StepState::Newer } else { StepState::Missing },
    }));
    entries
}

/// What of a comparison keeps steps from running.
#[must_use]
pub(super) fn drift(steps: &[MigrationStep], entries: &[Entry], allowed: &Allowed) -> Vec<Diagnostic> {
    entries.iter().filter_map(|entry| complaint(steps, entry, allowed)).collect()
}

fn complaint(steps: &[MigrationStep], entry: &Entry, allowed: &Allowed) -> Option<Diagnostic> {
    let id = &entry.id;
    let when = entry.recorded.as_ref().map(|row| format!("on {} by {}", row.applied_at, row.applied_by));
    let when = when.unwrap_or_default();
    let accept = format!("--accept {id}");
    let (message, help) = match entry.state {
        StepState::Applied | StepState::Pending => return None,
        StepState::Newer if allowed.newer => return None,
        StepState::OutOfOrder => (
            "it is not applied, and steps behind it are".to_owned(),
            format!("move it behind them; or, if its effect is there already, {accept}"),
        ),
        StepState::Changed => (
            format!("its text is not the one that was applied {when}"),
            format!(
                "restore the text, and write a new step; or, if the database is as it says now, {accept}"
            ),
        ),
        StepState::Moved => (
            format!("it was applied in another order {when}"),
            format!("restore the order; or, if both orders are the same, {accept}"),
        ),
        StepState::Interrupted => (
            format!("it was begun {when}, without a transaction, and nobody saw its end"),
            format!(
                "look what of it is there (an invalid index?); take that back and --retry {id}, or {accept}"
            ),
        ),
        StepState::Newer => (
            format!("MIGRATE {id} was applied {when} and is behind all steps of these files"),
            "these files are older than the database; --allow-newer takes that for right".to_owned(),
        ),
        StepState::Missing => (
            format!("MIGRATE {id} was applied {when} and is not in these files"),
            "restore it, under the name that it had".to_owned(),
        ),
    };
    let error = match entry.step.and_then(|index| steps.get(index)) {
        Some(step) => step.error(Code::MigrationDrift, message),
        None => {
            let nowhere = Place { file: String::new(), line: 1, column: 1, length: 1 };
            Diagnostic { place: None, ..Diagnostic::error(Code::MigrationDrift, nowhere, message) }
        }
    };
    Some(error.help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Source;
    use crate::project::migration::of_sources;
    use crate::source::parse;

    fn steps(ids: &str) -> Vec<MigrationStep> {
        let text = ids.split(' ').map(|id| format!("-- MIGRATE {id}\nSELECT '{id}';\n")).collect::<String>();
        let (blocks, diagnostics) = parse("a.sql", &text);
        assert!(diagnostics.is_empty());
        of_sources(&[Source { file: "a.sql".into(), text, blocks }])
    }

    /// Rows of steps that were applied from files with these ids.
    fn rows(ids: &str) -> Vec<Recorded> {
        let row = |(position, step): (i32, &MigrationStep)| Recorded {
            id: step.id().into(),
            position,
            checksum: step.migration.checksum.clone(),
            done: true,
            applied_at: "2026-01-01T00:00:00Z".into(),
            applied_by: "me".into(),
            duration_ms: Some(1),
        };
        (1..).zip(&steps(ids)).map(row).collect()
    }

    fn standings(files: &str, rows: &[Recorded]) -> Vec<(String, StepState)> {
        compare(&steps(files), rows).into_iter().map(|entry| (entry.id, entry.state)).collect()
    }

    fn expected(of: &[(&str, StepState)]) -> Vec<(String, StepState)> {
        of.iter().map(|(id, state)| ((*id).to_owned(), *state)).collect()
    }

    #[test]
    fn each_step_stands_where_files_and_database_put_it() {
        use StepState::{Applied, Missing, Moved, Newer, OutOfOrder, Pending};
        assert_eq!(standings("a b", &[]), expected(&[("a", Pending), ("b", Pending)]));
        assert_eq!(standings("a b", &rows("a")), expected(&[("a", Applied), ("b", Pending)]));
        assert_eq!(
            standings("a x b", &rows("a b")),
            expected(&[("a", Applied), ("x", OutOfOrder), ("b", Applied)])
        );
        assert_eq!(standings("b a", &rows("a b")), expected(&[("b", Applied), ("a", Moved)]));
        assert_eq!(standings("a", &rows("a b")), expected(&[("a", Applied), ("b", Newer)]));
        assert_eq!(
            standings("b c", &rows("a b")),
            expected(&[("b", Applied), ("c", Pending), ("a", Missing)])
        );
    }

    #[test]
    fn another_text_and_an_end_that_nobody_saw_are_told_with_what_to_do() {
        let mut recorded = rows("a b");
        recorded[0].checksum = "other".into();
        recorded[1].done = false;
        let steps = steps("a b");
        let entries = compare(&steps, &recorded);
        assert_eq!([entries[0].state, entries[1].state], [StepState::Changed, StepState::Interrupted]);
        let diagnostics = drift(&steps, &entries, &Allowed::default());
        assert_eq!(diagnostics.len(), 2);
        assert!(diagnostics[0].suggestion.as_ref().is_some_and(|help| help.contains("--accept a")));
        assert!(diagnostics[1].suggestion.as_ref().is_some_and(|help| help.contains("--retry b")));
    }

    #[test]
    fn a_newer_database_is_an_error_unless_it_is_allowed() {
        let (files, recorded) = (steps("a"), rows("a b"));
        let entries = compare(&files, &recorded);
        assert_eq!(drift(&files, &entries, &Allowed::default()).len(), 1);
        assert_eq!(drift(&files, &entries, &Allowed { newer: true, ..Allowed::default() }), []);
    }

    #[test]
    fn line_ends_are_no_change() {
        let unix = parse("a.sql", "-- MIGRATE 1\nSELECT 1;\nSELECT 2;\n").0;
        let windows = parse("a.sql", "-- MIGRATE 1\r\nSELECT 1;\r\nSELECT 2;\r\n").0;
        let sum = |blocks| {
            let steps = of_sources(&[Source { file: "a.sql".into(), text: String::new(), blocks }]);
            steps[0].migration.checksum.clone()
        };
        assert_eq!(sum(unix), sum(windows));
    }
}
