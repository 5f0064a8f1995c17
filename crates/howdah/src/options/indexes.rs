//! What becomes of a table's indexes while rows are added to it.

words! {
    /// What becomes of the indexes and foreign keys of a table that exists, while rows are added to it.
    #[derive(Default)]
    Indexes {
        /// Each row goes into them as it comes.
        #[default]
        Keep = "keep",
        /// In the load's transaction they are dropped, and built again exactly as they were when the rows are there. That
        /// is faster where many rows are added. Until the commit nobody else can read the table, nor the tables to which
        /// its foreign keys refer.
        Rebuild = "rebuild",
        /// As `rebuild` where that is estimated to take half the time at the most, and nobody else uses the table when the load
        /// begins; otherwise as `keep`.
        Auto = "auto",
    }
}
