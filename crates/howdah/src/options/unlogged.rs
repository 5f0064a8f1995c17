//! Whether the rows of a load go into the write-ahead log.

words! {
    /// Whether the table's rows go into the write-ahead log.
    #[derive(Default)]
    Unlogged {
        /// They do, unless the table is UNLOGGED itself.
        #[default]
        No = "no",
        /// A new table, a landing table among them, is UNLOGGED: fast, and emptied by a crash of the server.
        Yes = "yes",
        /// The table, a new one too, is UNLOGGED while the rows come, and logged in the end, in the load's one transaction.
        /// PostgreSQL then writes the whole table once more, and into the log; one that exists is also copied when it leaves
        /// the log. Until the commit nobody else can read it.
        ThenLogged = "then-logged",
    }
}

impl From<bool> for Unlogged {
    fn from(unlogged: bool) -> Self {
        if unlogged { Unlogged::Yes } else { Unlogged::No }
    }
}
