//! The plan: pure data, made once from the source's head and the target, before any byte moves.

pub(crate) mod column_look;
pub(crate) mod columns;
pub(crate) mod declared;
pub(crate) mod force;
pub(crate) mod header;
pub(crate) mod header_decision;
pub(crate) mod header_evidence;
pub(crate) mod header_match;
pub(crate) mod header_words;
pub(crate) mod jobs;
pub(crate) mod keys;
mod made_names;
pub(crate) mod mapping;
pub(crate) mod match_key;
pub(crate) mod pair;
pub(crate) mod planned_column;
pub(crate) mod reading;
pub(crate) mod row_form;
pub(crate) mod sending;
pub(crate) mod sort_key;
pub(crate) mod spelling;

use std::sync::Arc;

use howdah_message::{Message, setting};
use howdah_source::Dialect;

use crate::catalog::name::{quote, quote_literal};
use crate::catalog::session::SessionSettings;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::{LoadOptions, WritePath};
use crate::plan::mapping::Mapping;
use crate::plan::planned_column::{PlanColumn, ValueDemand};
use crate::plan::reading::ReadingPlan;
use crate::plan::row_form::{DEFAULT_MARKER, RowForm};
use crate::plan::sending::{RowStrategy, SendingPlan};

/// Everything an encoder and a worker need to know.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) reading: ReadingPlan,
    /// In the order of the input, which is the order of the COPY statement.
    pub(crate) columns: Vec<PlanColumn>,
    pub(crate) types: ColumnTypes,
    pub(crate) judging: Judging,
    pub(crate) sending: SendingPlan,
}

/// When the types of the columns are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnTypes {
    /// Before rows move.
    Known,
    /// At the end of a stream into a new table, which is loaded as text meanwhile.
    Observed,
}

/// When it is judged whether a value is one of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judging {
    /// What travels as text is judged by the server.
    OnArrival,
    /// Every value is judged before it is sent, also where the server will parse it.
    BeforeSending,
}

/// What a plan depends on beside the mapping and the table.
pub(crate) struct PlanRules<'a> {
    pub(crate) options: &'a LoadOptions,
    pub(crate) session: &'a SessionSettings,
    pub(crate) types: ColumnTypes,
    pub(crate) judging: Judging,
    /// The values had types, and were refused as such: what they are is not to be rounded now.
    pub(crate) had_types: bool,
    pub(crate) ordinal: Option<&'a str>,
    /// Where rows are promoted to that land as text.
    pub(crate) promoted_into: Option<&'a Table>,
}

impl Plan {
    /// Chooses codecs by the target's types. Returns the plan and, when rows travel as text although binary was asked
    /// for, the reason.
    ///
    /// # Errors
    /// An internal error: a mapped column is not the table's, or there are more columns than a table can have.
    pub(crate) fn new(
        dialect: Arc<Dialect>,
        mapping: &Mapping,
        table: &Table,
        rules: &PlanRules<'_>,
    ) -> Result<(Plan, Option<Message>), Error> {
        let spelling = spelling::of(rules.options)?;
        let columns = planned_column::columns(mapping, table, rules, &spelling)?;
        spelling::check_columns(&spelling, &columns)?;
        let obstacle = obstacle_to_binary(&dialect, &columns, &rules.session.encoding);
        let (form, reason) = form(rules.options.writing.write_path, rules.types, obstacle);
        let plan = Plan {
            reading: ReadingPlan::new(dialect, mapping, table, rules, spelling),
            sending: SendingPlan::new(columns.len(), form, &table.name, rules)?,
            columns,
            types: rules.types,
            judging: rules.judging,
        };
        Ok((plan, reason))
    }

    /// The same rows with their places in the input, in column `ordinal`, on their way into a staging table.
    ///
    /// # Errors
    /// An internal error: there are more columns than a table can have.
    pub(crate) fn staged(&self, ordinal: &str) -> Result<Plan, Error> {
        let sending = self.sending.staged(self.columns.len(), ordinal)?;
        Ok(Plan { sending, ..self.clone() })
    }

    /// For rows in COPY's binary format.
    pub(crate) fn take_tuples(&mut self) {
        self.sending.form = RowForm::Binary;
        self.sending.strategy = RowStrategy::PassTuples;
    }

    /// Whether what stands between delimiters is what it looks like, in every column.
    pub(crate) fn takes_fields_as_they_are(&self) -> bool {
        let is_plain = |column: &PlanColumn| {
            !column.is_file_name
                && column.forced.is_none()
                && !matches!(column.demand, Some(ValueDemand::Fitting(_)))
        };
        self.reading.spelling.is_usual()
            && self.reading.empty_end.is_none()
            && self.columns.iter().all(is_plain)
    }

    /// The columns of a row, quoted.
    pub(crate) fn column_list(&self) -> String {
        let names = self.columns.iter().map(|column| &column.name).chain(&self.sending.ordinal);
        names.map(|name| quote(name)).collect::<Vec<_>>().join(", ")
    }

    /// The COPY statement that takes rows of `form` into `relation` (quoted).
    pub(crate) fn copy_sql(&self, relation: &str, form: RowForm) -> String {
        let mut options = match form {
            RowForm::Binary => vec!["FORMAT binary".to_owned()],
            RowForm::Text => vec!["FORMAT text".to_owned()],
            RowForm::Csv(_) => self.csv_options(),
        };
        if form == RowForm::Text && self.reading.dialect.default.is_some() {
            options.push(format!("DEFAULT{}", quote_literal(&String::from_utf8_lossy(DEFAULT_MARKER))));
        }
        if self.sending.freeze {
            options.push("FREEZE".to_owned());
        }
        format!("COPY {relation} ({}) FROM STDIN ({})", self.column_list(), options.join(", "))
    }

    /// What COPY must know to read the input's CSV. Every input is UTF-8 by now.
    fn csv_options(&self) -> Vec<String> {
        let text = |bytes: &[u8]| quote_literal(&String::from_utf8_lossy(bytes));
        let Dialect { delimiter, quote: quotes, escape, null, default, .. } = &*self.reading.dialect;
        let mut options = vec![
            "FORMAT csv".to_owned(),
            format!("DELIMITER {}", text(delimiter.as_bytes())),
            format!("QUOTE {}", text(&[*quotes])),
            format!("ESCAPE {}", text(&[*escape])),
            format!("NULL {}", text(null)),
            "ENCODING 'UTF8'".to_owned(),
        ];
        options.extend(default.as_ref().map(|default| format!("DEFAULT {}", text(default))));
        for (at, option) in ["FORCE_NULL", "FORCE_NOT_NULL"].into_iter().enumerate() {
            let is_forced = |column: &&PlanColumn| column.forced.is_some_and(|forced| forced.options()[at]);
            let names: Vec<String> =
                self.columns.iter().filter(is_forced).map(|column| quote(&column.name)).collect();
            if !names.is_empty() {
                options.push(format!("{option} ({})", names.join(", ")));
            }
        }
        options
    }
}

/// Why rows of `columns` cannot travel in binary.
fn obstacle_to_binary(dialect: &Dialect, columns: &[PlanColumn], encoding: &str) -> Option<Message> {
    if dialect.default.is_some() {
        return Some(message![setting::DEFAULT, " needs the text format"]);
    }
    if encoding == "SQL_ASCII" {
        return Some("the database's encoding is SQL_ASCII".into());
    }
    let foreign = columns.iter().filter(|column| column.codec.is_none());
    let foreign: Vec<String> =
        foreign.map(|column| format!("{} ({})", column.name, column.type_name)).collect();
    (!foreign.is_empty()).then(|| message!["only the server can read ", foreign.join(", ")])
}

/// What rows travel as, and why that is text where binary was asked for.
fn form(write_path: WritePath, types: ColumnTypes, obstacle: Option<Message>) -> (RowForm, Option<Message>) {
    match (types, obstacle) {
        (ColumnTypes::Observed, _) => (RowForm::Text, None),
        _ if write_path.sends_text() => (RowForm::Text, None),
        (ColumnTypes::Known, Some(reason)) => (RowForm::Text, Some(reason)),
        (ColumnTypes::Known, None) => (RowForm::Binary, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_given_only_where_text_was_not_asked_for() {
        let (known, observed) = (ColumnTypes::Known, ColumnTypes::Observed);
        for (path, types, obstacle, form_of, has_reason) in [
            (WritePath::CopyBinary, known, false, RowForm::Binary, false),
            (WritePath::CopyBinary, known, true, RowForm::Text, true),
            (WritePath::CopyBinary, observed, true, RowForm::Text, false),
            (WritePath::Unnest, known, false, RowForm::Binary, false),
            (WritePath::Unnest, known, true, RowForm::Text, true),
            (WritePath::CopyText, known, true, RowForm::Text, false),
            (WritePath::CopyCsv, known, false, RowForm::Text, false),
            (WritePath::Values, known, true, RowForm::Text, false),
            (WritePath::Landing, known, false, RowForm::Text, false),
        ] {
            let (form, reason) = form(path, types, obstacle.then(|| "an obstacle".into()));
            assert_eq!((form, reason.is_some()), (form_of, has_reason), "{path:?} {types:?} {obstacle}");
        }
    }
}
