//! How rows are sent: their form, their statements, and what they are made of.

use crate::error::{Error, ErrorKind};
use crate::options::WritePath;
use crate::plan::row_form::RowForm;
use crate::plan::{Judging, PlanRules};

/// From this version on `\.` is a value like others in CSV.
const MARKER_IS_DATA: i32 = 180_000;

/// What is sent, and how.
#[derive(Debug, Clone)]
pub(crate) struct SendingPlan {
    pub(crate) strategy: RowStrategy,
    /// What a chunk travels as, unless a value needs the server's judgement.
    pub(crate) form: RowForm,
    /// The field count that starts every binary row.
    pub(crate) binary_row_start: [u8; 2],
    /// The column after all others that says where in the input a row stood; for rows that are staged.
    pub(crate) ordinal: Option<String>,
    pub(crate) write_path: WritePath,
    pub(crate) rows_per_statement: usize,
    /// COPY writes rows that are visible to everybody at once.
    pub(super) freeze: bool,
    /// The target's bare name, for messages in the server's words.
    pub(crate) relation_name: String,
    pub(crate) end_marker: EndMarker,
}

/// What the rows that are sent are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowStrategy {
    /// Of values, which are encoded one by one.
    Encode,
    /// Of the input's CSV as it is, which the server takes apart.
    PassCsv,
    /// Of the input's binary rows as they are: the server judges their values.
    PassTuples,
}

impl RowStrategy {
    /// For rows of text or Arrow.
    fn choose(write_path: WritePath, judging: Judging) -> RowStrategy {
        match (write_path, judging) {
            (WritePath::CopyCsv, Judging::OnArrival) => RowStrategy::PassCsv,
            _ => RowStrategy::Encode,
        }
    }
}

/// What a line of CSV that is `\.` means to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndMarker {
    /// The end of the data.
    EndsData,
    /// A value.
    IsData,
}

impl EndMarker {
    fn of(server_version_num: i32) -> EndMarker {
        if server_version_num < MARKER_IS_DATA { EndMarker::EndsData } else { EndMarker::IsData }
    }
}

impl SendingPlan {
    /// Rows of so many `columns` in `form`.
    ///
    /// # Errors
    /// An internal error: there are more columns than a table can have.
    pub(super) fn new(
        columns: usize,
        form: RowForm,
        relation_name: &str,
        rules: &PlanRules<'_>,
    ) -> Result<SendingPlan, Error> {
        let writing = &rules.options.writing;
        let count = field_count(columns + usize::from(rules.ordinal.is_some()))?;
        let rows_per_statement =
            writing.write_path.rows_per_statement(writing.rows_per_statement, usize::from(count));
        Ok(SendingPlan {
            strategy: RowStrategy::choose(writing.write_path, rules.judging),
            form,
            binary_row_start: count.to_be_bytes(),
            ordinal: rules.ordinal.map(str::to_owned),
            write_path: writing.write_path,
            rows_per_statement,
            freeze: writing.freeze,
            relation_name: relation_name.to_owned(),
            end_marker: EndMarker::of(rules.session.version_num),
        })
    }

    /// The same of so many `columns`, for rows with their places in the input, in column `ordinal`.
    ///
    /// # Errors
    /// An internal error: there are more columns than a table can have.
    pub(super) fn staged(&self, columns: usize, ordinal: &str) -> Result<SendingPlan, Error> {
        let count = field_count(columns + 1)?;
        // A place cannot be added to CSV that is passed on.
        let (strategy, write_path) = match (self.strategy, self.write_path) {
            (_, WritePath::CopyCsv) => (RowStrategy::Encode, WritePath::CopyText),
            as_they_are => as_they_are,
        };
        Ok(SendingPlan {
            strategy,
            binary_row_start: count.to_be_bytes(),
            ordinal: Some(ordinal.to_owned()),
            write_path,
            rows_per_statement: write_path
                .rows_per_statement(Some(self.rows_per_statement), usize::from(count)),
            freeze: false,
            ..self.clone()
        })
    }
}

/// PostgreSQL allows 1,600 columns.
fn field_count(columns: usize) -> Result<u16, Error> {
    u16::try_from(columns)
        .map_err(|_| Error::new(ErrorKind::Internal, "the plan has more columns than a table can have"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_is_passed_on_only_where_nothing_of_it_must_be_judged() {
        for path in WritePath::ALL {
            let on_arrival = RowStrategy::choose(path, Judging::OnArrival);
            let expected =
                if path == WritePath::CopyCsv { RowStrategy::PassCsv } else { RowStrategy::Encode };
            assert_eq!(on_arrival, expected, "{path:?}");
            assert_eq!(RowStrategy::choose(path, Judging::BeforeSending), RowStrategy::Encode, "{path:?}");
        }
    }

    #[test]
    fn a_staged_row_of_csv_is_encoded_since_its_place_is_added() {
        let passed = SendingPlan {
            strategy: RowStrategy::PassCsv,
            form: RowForm::Text,
            binary_row_start: [0, 2],
            ordinal: None,
            write_path: WritePath::CopyCsv,
            rows_per_statement: usize::MAX,
            freeze: true,
            relation_name: "t".into(),
            end_marker: EndMarker::of(170_000),
        };
        let staged = passed.staged(2, "place").unwrap();
        assert_eq!((staged.strategy, staged.write_path), (RowStrategy::Encode, WritePath::CopyText));
        assert_eq!((staged.binary_row_start, staged.freeze), ([0, 3], false));
        assert!(passed.staged(usize::from(u16::MAX), "place").is_err());
    }

    #[test]
    fn a_line_of_the_end_marker_is_a_value_from_postgresql_18_on() {
        assert_eq!(EndMarker::of(170_006), EndMarker::EndsData);
        assert_eq!(EndMarker::of(180_000), EndMarker::IsData);
    }
}
