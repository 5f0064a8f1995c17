//! States of a table of which the doctor knows that they cost time, or let loads fail, and does not measure how much.

use crate::doctor::amount::Weight;
use crate::doctor::columns::Columns::{Readings, Uuids, Wide};
use crate::doctor::slowdown::{Around, Remedy, Slowdown};

const LOADER: &str = "CREATE ROLE loader LOGIN PASSWORD 'loader'; GRANT SELECT ON events TO loader;
    GRANT CREATE ON SCHEMA public TO loader";

pub(super) const STATES: &[Slowdown] = &[
    Slowdown::of_table("held-table", "a session holds the table", "table.locked", Readings, &[])
        .around(Around::Holds("LOCK TABLE events")),
    Slowdown {
        role: "loader",
        ..Slowdown::of_table("no-right", "a role that may not insert", "table.rights", Readings, &[LOADER])
    },
    Slowdown::of_table(
        "no-partition",
        "a partitioned table without a partition",
        "table.partitions",
        Readings,
        &["ALTER TABLE events RENAME TO old", "CREATE TABLE events (LIKE old) PARTITION BY RANGE (id)"],
    ),
    Slowdown::of_table(
        "numbers-end",
        "a column whose numbers end at the thousandth row",
        "column.numbers-end",
        Readings,
        &[
            "ALTER TABLE events ADD COLUMN number int",
            "CREATE SEQUENCE numbers AS int OWNED BY events.number",
            "SELECT setval('numbers', 2147482647)",
            "ALTER TABLE events ALTER COLUMN number SET DEFAULT nextval('numbers')",
        ],
    ),
    Slowdown::of_table(
        "no-identity",
        "changes are published, and rows cannot be found",
        "repl.identity",
        Readings,
        &["CREATE PUBLICATION changes FOR TABLE events"],
    ),
    Slowdown {
        role: "loader",
        ..Slowdown::of_table(
            "row-security",
            "a policy applies to the role",
            "table.rls",
            Readings,
            &[
                LOADER,
                "GRANT INSERT ON events TO loader",
                "ALTER TABLE events ENABLE ROW LEVEL SECURITY",
                "CREATE POLICY own ON events TO loader USING (id >= 0) WITH CHECK (id >= 0)",
            ],
        )
        .ends_by(&["ALTER ROLE loader BYPASSRLS"], &["ALTER ROLE loader NOBYPASSRLS"])
    },
    Slowdown::of_table(
        "volatile-default",
        "a column that the input does not fill, with a random uuid as default",
        "column.default",
        Readings,
        &["ALTER TABLE events ADD COLUMN token uuid DEFAULT gen_random_uuid()"],
    )
    .ends_by(&["ALTER TABLE events ALTER COLUMN token DROP DEFAULT"], &[]),
    Slowdown::of_table(
        "slow-compression",
        "texts of 4 kB that pglz compresses",
        "column.toast",
        Wide,
        &["ALTER TABLE events ALTER COLUMN body SET COMPRESSION pglz"],
    )
    .ends_by(&["ALTER TABLE events ALTER COLUMN body SET STORAGE EXTERNAL"], &[]),
    Slowdown::of_table(
        "half-empty-pages",
        "pages are filled to the half",
        "table.fillfactor",
        Readings,
        &["ALTER TABLE events SET (fillfactor = 50)"],
    )
    .ends_by(&["ALTER TABLE events RESET (fillfactor)"], &[]),
    Slowdown::of_table(
        "function-in-check",
        "a CHECK that calls a function",
        "constraint.check",
        Readings,
        &[
            "CREATE FUNCTION is_fine(bigint) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 >= 0; END'",
            "ALTER TABLE events ADD CONSTRAINT fine CHECK (is_fine(id))",
        ],
    )
    .ends_by(&["ALTER TABLE events DROP CONSTRAINT fine"], &[]),
    Slowdown::of_table(
        "unlogged",
        "a table that a crash empties",
        "table.unlogged",
        Readings,
        &["ALTER TABLE events SET UNLOGGED"],
    ),
    Slowdown::of_table(
        "invalid-index",
        "an index that was not finished",
        "index.invalid",
        Readings,
        &[
            "CREATE INDEX by_note ON events (note)",
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'by_note'::regclass",
        ],
    )
    .ends_by(&["DROP INDEX by_note"], &[]),
    Slowdown {
        weight: Weight::Large,
        ..Slowdown::of_table(
            "small-log",
            "a log of 64 MB and keys in random order",
            "wal.checkpoints",
            Uuids,
            &["ALTER TABLE events ADD PRIMARY KEY (id)"],
        )
        .with(&[("max_wal_size", "64MB"), ("min_wal_size", "32MB")])
        .ends_by(
            &["ALTER SYSTEM SET max_wal_size = '8GB'", "SELECT pg_reload_conf()"],
            &["ALTER SYSTEM RESET max_wal_size", "SELECT pg_reload_conf()"],
        )
    },
    Slowdown {
        weight: Weight::Large,
        remedy: Some(Remedy {
            sql: &["ALTER SYSTEM SET shared_buffers = '1GB'"],
            undo: &["ALTER SYSTEM RESET shared_buffers"],
            restart: true,
            load: &[],
        }),
        ..Slowdown::of_table(
            "small-cache",
            "a key of random uuids that is larger than the server's 8 MB for pages",
            "index.cache",
            Uuids,
            &["ALTER TABLE events ALTER COLUMN id SET DEFAULT gen_random_uuid()", "ALTER TABLE events ADD PRIMARY KEY (id)"],
        )
        .with(&[("shared_buffers", "8MB"), ("max_wal_size", "8GB")])
    },
];
