//! The one history that a project has: of which files, and without what no step may do.

use crate::check::Checked;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Place};
use crate::project::block_text::about;
use crate::project::forbidden::refusal;
use crate::project::migration::{MigrationStep, of_sources, text};

/// The one history of a project.
///
/// # Errors
///
/// There is none or more than one, or steps have statements that no step may have.
pub(super) fn of_project(checked: &Checked) -> Result<Vec<MigrationStep>, Diagnostics> {
    let mut histories: Vec<Vec<MigrationStep>> = Vec::new();
    for sources in &checked.groups {
        let steps = of_sources(sources);
        if !steps.is_empty() && !histories.contains(&steps) {
            histories.push(steps);
        }
    }
    let mut diagnostics = checked.diagnostics.clone();
    diagnostics.messages.clear();
    let steps = match <[_; 1]>::try_from(histories) {
        Ok([steps]) => steps,
        Err(histories) => {
            diagnostics.extend(vec![ambiguous(&histories)]);
            return Err(diagnostics);
        }
    };
    diagnostics.extend(steps.iter().flat_map(refusals).collect());
    if diagnostics.errors() > 0 { Err(diagnostics) } else { Ok(steps) }
}

/// There are none, or it is not said which.
fn ambiguous(histories: &[Vec<MigrationStep>]) -> Diagnostic {
    let (message, help) = match histories.get(1).and_then(|steps| steps.first()) {
        None => ("there is no MIGRATE in these files", "write steps, as `howdah codegen syntax` shows"),
        Some(_) => (
            "entries of `sql` have different steps, and a database has one history",
            "name the files of one: --file a.sql --file b.sql --project NAME",
        ),
    };
    let place = histories.get(1).and_then(|steps| steps.first()).map(MigrationStep::place);
    let nowhere = Place { file: String::new(), line: 1, column: 1, length: 1 };
    let error = Diagnostic::error(Code::ConfigValidationError, nowhere, message).help(help);
    Diagnostic { place, ..error }
}

/// What a step may not do.
fn refusals(step: &MigrationStep) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for pieces in step.block.statements() {
        let sql = text(&pieces);
        if let Some(refusal) = refusal(&sql, false, step.migration.no_transaction) {
            let place = pieces.first().map_or_else(|| step.place(), |piece| piece.place_of(0));
            diagnostics
                .push(about(Code::NotSupported, place, refusal.message, &step.block).help(refusal.help));
        }
    }
    diagnostics
}
