//! What runners of migrations need of a module, the same in all languages but for literals.

use serde::Serialize;

use super::Options;
use crate::bookkeeping as sql;
use crate::model::{Model, Module};

/// The steps of a module, as literals.
#[derive(Debug, Serialize)]
pub(super) struct Migrations {
    /// The constant that holds them.
    pub(super) name: String,
    /// The project's name.
    pub(super) project: String,
    pub(super) steps: Vec<StepLiterals>,
}

/// A step, as literals.
#[derive(Debug, Serialize)]
pub(super) struct StepLiterals {
    pub(super) id: String,
    /// `shop.sql:5`.
    pub(super) place: String,
    pub(super) checksum: String,
    pub(super) no_transaction: bool,
    pub(super) statements: Vec<String>,
}

/// What the support file of a language is made of.
#[derive(Debug, Serialize)]
pub(super) struct Contract<F> {
    pub(super) statements: Vec<ContractStatement>,
    pub(super) format: i32,
    /// What the name of a project's lock begins with.
    pub(super) lock: String,
    pub(super) isolation: String,
    /// What else the language's template wants.
    pub(super) faces: Vec<F>,
}

/// A statement of the contract, as literals.
#[derive(Debug, Serialize)]
pub(super) struct ContractStatement {
    pub(super) name: String,
    pub(super) literal: String,
}

/// Whether a module's code is to apply its migrations.
pub(super) fn wanted(module: &Module, options: &Options) -> bool {
    options.migrations && !module.migrations.is_empty()
}

/// The steps of a module; `word` makes a literal on one line, `lines` one that may have several.
pub(super) fn migrations(
    model: &Model,
    module: &Module,
    name: String,
    word: impl Fn(&str) -> String,
    lines: impl Fn(&str) -> String,
) -> Migrations {
    let steps = module.migrations.iter().map(|step| StepLiterals {
        id: word(&step.id),
        place: word(&format!("{}:{}", step.file, step.line)),
        checksum: word(&step.checksum),
        no_transaction: step.no_transaction,
        statements: step.statements.iter().map(|statement| lines(statement)).collect(),
    });
    Migrations { name, project: word(&model.project), steps: steps.collect() }
}

/// The contract of all runners, with a driver's word for a parameter of a number.
pub(super) fn contract<F>(
    parameter: impl Fn(usize) -> String,
    word: impl Fn(&str) -> String,
    lines: impl Fn(&str) -> String,
    faces: Vec<F>,
) -> Contract<F> {
    let statements = [
        ("key", sql::KEY),
        ("try_lock", sql::TRY_LOCK),
        ("keep_lock", sql::KEEP_LOCK),
        ("let_go", sql::LET_GO),
        ("find", sql::FIND),
        ("making", sql::MAKING),
        ("create", sql::CREATE),
        ("newest", sql::NEWEST),
        ("history", sql::HISTORY),
        ("adopt", sql::ADOPT),
        ("record", sql::RECORD),
        ("remember", sql::REMEMBER),
        ("restore", sql::RESTORE),
    ];
    let statements = statements.map(|(name, text)| {
        let text = (1..=9).fold(text.to_owned(), |text, n| text.replace(&format!("${n}"), &parameter(n)));
        ContractStatement { name: word(name), literal: lines(&text) }
    });
    Contract {
        statements: statements.into(),
        format: sql::FORMAT,
        lock: word(sql::LOCK),
        isolation: word(sql::ISOLATION),
        faces,
    }
}
