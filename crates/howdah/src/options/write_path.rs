//! The ways rows travel.

words! {
    /// The ways rows travel.
    #[derive(Default)]
    WritePath {
        /// Encoded by us to PostgreSQL's binary format; what our codecs are not sure of travels as text.
        #[default]
        CopyBinary = "copy-binary",
        /// COPY's text format; the server parses every value.
        CopyText = "copy-text",
        /// The input's CSV passed on to COPY; the server takes it apart and parses every value.
        CopyCsv = "copy-csv",
        /// INSERT of one row, parsed and planned anew for each, and committed by itself.
        InsertAutocommit = "insert-autocommit",
        /// INSERT of one row, parsed and planned anew for each.
        Insert = "insert",
        /// INSERT of one row, prepared once.
        InsertPrepared = "insert-prepared",
        /// The same, sent without waiting for answers.
        InsertPipelined = "insert-pipelined",
        /// INSERTs of 128, 64, … 1 rows, sent without waiting, as a batch that JDBC rewrites.
        InsertRewritten = "insert-rewritten",
        /// INSERT of many rows as literals.
        Values = "values",
        /// INSERT of many rows as parameters, prepared.
        ValuesPrepared = "values-prepared",
        /// INSERT of many rows out of one array a column, prepared.
        Unnest = "unnest",
        /// Everything as text into a landing table by COPY, from which it is promoted into the target.
        Landing = "landing",
    }
}

/// A statement has at most so many parameters.
const MOST_PARAMETERS: usize = 65_535;

/// The largest statement of a batch that JDBC rewrites.
const MOST_REWRITTEN: usize = 128;

impl WritePath {
    /// Whether rows travel in COPY.
    pub fn is_copy(self) -> bool {
        use WritePath::{CopyBinary, CopyCsv, CopyText, Landing};
        matches!(self, CopyBinary | CopyText | CopyCsv | Landing)
    }

    /// Whether values travel as text whatever their types are.
    pub(crate) fn sends_text(self) -> bool {
        use WritePath::{CopyCsv, CopyText, Landing, Values};
        matches!(self, CopyText | CopyCsv | Values | Landing)
    }

    /// Whether every row is committed by itself, instead of all together.
    pub fn commits_rows(self) -> bool {
        self == WritePath::InsertAutocommit
    }

    /// Whether values travel as parameters.
    pub(crate) fn binds(self) -> bool {
        !self.is_copy() && self != WritePath::Values
    }

    /// Whether the rows of a statement are a choice.
    pub(crate) fn has_rows_per_statement(self) -> bool {
        use WritePath::{InsertRewritten, Unnest, Values, ValuesPrepared};
        matches!(self, InsertRewritten | Values | ValuesPrepared | Unnest)
    }

    /// Rows in one statement for rows of `columns` columns, when `asked` for so many.
    pub(crate) fn rows_per_statement(self, asked: Option<usize>, columns: usize) -> usize {
        let most = MOST_PARAMETERS / columns.max(1);
        match self {
            WritePath::CopyBinary | WritePath::CopyText | WritePath::CopyCsv | WritePath::Landing => {
                usize::MAX
            }
            WritePath::InsertAutocommit
            | WritePath::Insert
            | WritePath::InsertPrepared
            | WritePath::InsertPipelined => 1,
            WritePath::InsertRewritten => {
                let most = asked.unwrap_or(MOST_REWRITTEN).min(most).max(1);
                1 << most.ilog2()
            }
            WritePath::Values => asked.unwrap_or(1000),
            WritePath::ValuesPrepared => asked.unwrap_or(1000).min(most),
            WritePath::Unnest => asked.unwrap_or(5000),
        }
    }
}
