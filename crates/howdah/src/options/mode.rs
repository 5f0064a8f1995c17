//! What happens to a table that is there already.

words! {
    /// What happens to a table that is there already (ADBC's words).
    #[derive(Default)]
    Mode {
        /// The table must exist; rows are added.
        Append = "append",
        /// The table must not exist.
        Create = "create",
        /// Added to when it exists, made when it does not.
        #[default]
        CreateAppend = "create_append",
        /// The table's rows are exchanged for the input's in one swap.
        Replace = "replace",
        /// TRUNCATE and load in one transaction.
        Truncate = "truncate",
        /// Rows whose key is there replace what they bring of that row, the others are inserted.
        Upsert = "upsert",
        /// Rows whose key is there are skipped, the others are inserted: of several with one key the last.
        Ignore = "ignore",
        /// Rows whose key is there replace what they bring of that row, the others are skipped.
        Update = "update",
        /// The rows whose keys are in the input are deleted.
        Delete = "delete",
    }
}

impl Mode {
    /// Whether rows of the input are matched with rows of a table that must be there.
    pub fn matches_rows(self) -> bool {
        matches!(self, Mode::Upsert | Mode::Ignore | Mode::Update | Mode::Delete)
    }

    /// Whether rows of the input can become new rows of the table.
    pub(crate) fn inserts(self) -> bool {
        !matches!(self, Mode::Update | Mode::Delete)
    }
}
