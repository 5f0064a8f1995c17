//! Migrations in Rust: the steps of a module as constants, and the file that applies them.

use super::view::Steps;
use super::{TEMPLATES, Writer, layout, literal};
use crate::diagnostic::Diagnostic;
use crate::languages::{migrations, names};
use crate::model::Model;

impl Writer<'_> {
    /// The steps of the module, and the function that applies them.
    pub(super) fn steps(&mut self, model: &Model, members: &mut names::Scope) -> Steps {
        let name = self.constant_names.give("MIGRATIONS").name;
        let made = migrations::migrations(model, self.module, name, literal::word, literal::text);
        let apply = members.give("apply_migrations").name;
        let arguments = ["db", &made.project, &made.name, "options"].map(str::to_owned);
        let (first, last, indent) = match made.steps.len() {
            // rustfmt puts the brackets of a single one beside its braces.
            1 => ("&[migrate::Migration {", "}];", "    "),
            _ => ("&[", "];", "        "),
        };
        let mut lines = vec![format!("pub const {}: &[migrate::Migration] = {first}", made.name)];
        for step in &made.steps {
            let fields = fields(step, indent);
            match made.steps.len() {
                1 => lines.extend(fields),
                _ => {
                    lines.push("    migrate::Migration {".to_owned());
                    lines.extend(fields);
                    lines.push("    },".to_owned());
                }
            }
        }
        lines.push(last.to_owned());
        Steps {
            head: layout::head(
                &format!("pub async fn {apply}("),
                &["db: &mut migrate::Client", "options: migrate::Options<'_>"].map(str::to_owned),
                ") -> Result<usize, migrate::MigrationError> {",
            ),
            call: layout::call("    migrate::apply(", &arguments, ").await"),
            lines,
        }
    }
}

/// The fields of a step.
fn fields(step: &migrations::StepLiterals, indent: &str) -> [String; 5] {
    let field = |name: &str, value: &str| layout::assigned(&format!("{indent}{name}:"), value, ",");
    [
        field("id", &step.id),
        field("place", &step.place),
        field("checksum", &step.checksum),
        field("no_transaction", &step.no_transaction.to_string()),
        layout::array(&format!("{indent}statements: &["), &step.statements, "],"),
    ]
}

/// The file that applies migrations.
pub(super) fn runner() -> Result<String, Vec<Diagnostic>> {
    let numbered = |n| format!("${n}");
    let mut contract = migrations::contract(numbered, str::to_owned, literal::text, Vec::<()>::new());
    for statement in &mut contract.statements {
        let before = format!("const {}: &str =", names::screaming(&statement.name, "sql"));
        statement.literal = layout::constant(&before, &statement.literal);
    }
    contract.lock = literal::word(&contract.lock);
    contract.isolation = literal::word(&contract.isolation);
    TEMPLATES.other("migrate.rs", &contract)
}
