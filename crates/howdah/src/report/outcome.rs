//! How something ended, what it committed together, and what travelled.

use crate::error::{Committed, Error, ErrorKind};

words! {
    /// How a load, a promotion or a stream ended.
    #[derive(Default)]
    Outcome {
        /// The rows are in the table.
        Loaded = "loaded",
        /// A dry run: nothing was changed.
        Planned = "planned",
        /// The rows of the landing table are in the typed one.
        Promoted = "promoted",
        /// A stream was stopped on request; everything that it read is written.
        Stopped = "stopped",
        /// It ended with an error; of a stream, earlier rows may be in the table. Holds until it is known better.
        #[default]
        Failed = "failed",
        /// It was stopped on request, and nothing of it is in the table.
        Cancelled = "cancelled",
        /// Some of it is in the table; the rest is not, or may be.
        PartlyCommitted = "partly_committed",
        /// COMMIT was sent, and it could not be found out what became of it.
        Unknown = "unknown",
    }

    /// What is committed together.
    CommitUnit {
        /// All rows.
        All = "all",
        /// Each row by itself.
        Row = "row",
        /// Each part of a shared load by itself.
        Part = "part",
    }

    /// What COPY carried.
    CopyFormat {
        /// COPY's binary format, encoded by us.
        Binary = "binary",
        /// COPY's text format: the server parses the values.
        Text = "text",
        /// Some parts in binary, some as text.
        Mixed = "mixed",
        /// The input's own CSV.
        Csv = "csv",
    }
}

impl Outcome {
    /// How something ended that failed with `error`.
    pub(crate) fn of(error: &Error) -> Outcome {
        match error.kind() {
            ErrorKind::Cancelled => Outcome::Cancelled,
            ErrorKind::PartlyCommitted if error.committed() == Committed::Unknown => Outcome::Unknown,
            ErrorKind::PartlyCommitted => Outcome::PartlyCommitted,
            _ => Outcome::Failed,
        }
    }
}
