//! How the server compresses wide values of a new table.

words! {
    /// How the server compresses the values of a new table's columns that can be wide: text, jsonb, bytea, arrays and the like.
    /// A value that makes its row wider than 2 kB is compressed.
    #[derive(Default)]
    ColumnCompression {
        /// LZ4 for columns in which values of 2 kB or more were seen, where the server has it and its own default is nobody's
        /// choice.
        #[default]
        Auto = "auto",
        /// LZ4, for all such columns. A server may have been built without.
        Lz4 = "lz4",
        /// PostgreSQL's own method, for all such columns.
        Pglz = "pglz",
        /// The server's `default_toast_compression`, whatever that is when a row comes.
        Default = "default",
    }
}
