//! States of a table of which the doctor says what they cost: its share is held against real loads.

use crate::doctor::columns::Columns::{Documents, Readings, Spans, Uuids};
use crate::doctor::slowdown::{Claim, Remedy, Slowdown};

/// Functions of triggers that do nothing, as the doctor measures them.
const KEEP: &str = "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'";
const NOTHING: &str =
    "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'";

const PARENTS: &str =
    "CREATE TABLE devices AS SELECT generate_series(0, 4999) AS id; ALTER TABLE devices ADD PRIMARY KEY (id)";

pub(super) const STATES: &[Slowdown] = &[
    Slowdown::of_table(
        "five-indexes",
        "five indexes, one of them on a text in random order",
        "index.cost",
        Readings,
        &[
            "CREATE INDEX by_id ON events (id)",
            "CREATE INDEX by_device ON events (device)",
            "CREATE INDEX by_time ON events (at)",
            "CREATE INDEX by_reading ON events (reading)",
            "CREATE INDEX by_note ON events (note)",
        ],
    )
    .claims(Claim::Together, &["DROP INDEX by_id, by_device, by_time, by_reading, by_note"]),
    Slowdown::of_table(
        "idle-index",
        "an index that nobody uses, on a text in random order",
        "index.cost",
        Readings,
        &["CREATE INDEX by_note ON events (note)"],
    )
    .about("by_note")
    .claims(Claim::Finding, &["DROP INDEX by_note"]),
    Slowdown::of_table(
        "index-on-term",
        "an index on a function of a column",
        "index.cost",
        Readings,
        &["CREATE INDEX by_term ON events (md5(note))"],
    )
    .about("by_term")
    .claims(Claim::Finding, &["DROP INDEX by_term"]),
    Slowdown::of_table(
        "duplicate-index",
        "an index that another one covers, and whose pages are nearly empty",
        "index.duplicate",
        Readings,
        &["CREATE INDEX by_id ON events (id)", "CREATE INDEX by_id_again ON events (id) WITH (fillfactor = 10)"],
    )
    .claims(Claim::Finding, &["DROP INDEX by_id_again"]),
    Slowdown::of_table(
        "random-key",
        "a primary key of random uuids",
        "index.cost",
        Uuids,
        &["ALTER TABLE events ADD PRIMARY KEY (id)"],
    )
    .about("events_pkey")
    .claims(Claim::Finding, &["ALTER TABLE events DROP CONSTRAINT events_pkey"]),
    Slowdown::of_table(
        "gin",
        "a GIN index on documents",
        "index.gin",
        Documents,
        &["CREATE INDEX by_doc ON events USING gin (doc)"],
    )
    .claims(Claim::Finding, &["DROP INDEX by_doc"]),
    Slowdown::of_table(
        "gin-at-once",
        "a GIN index of paths without a pending list",
        "index.gin",
        Documents,
        &["CREATE INDEX by_doc ON events USING gin (doc jsonb_path_ops) WITH (fastupdate = off)"],
    )
    .claims(Claim::Finding, &["DROP INDEX by_doc"]),
    Slowdown::of_table(
        "exclusion",
        "an exclusion constraint on ranges",
        "constraint.exclusion",
        Spans,
        &["ALTER TABLE events ADD CONSTRAINT apart EXCLUDE USING gist (span WITH &&)"],
    )
    .light()
    .claims(Claim::Finding, &["ALTER TABLE events DROP CONSTRAINT apart"]),
    Slowdown::of_table(
        "foreign-key",
        "a foreign key to a small table",
        "fk.cost",
        Readings,
        &[PARENTS, "ALTER TABLE events ADD CONSTRAINT of_device FOREIGN KEY (device) REFERENCES devices"],
    )
    .claims(Claim::Finding, &["ALTER TABLE events DROP CONSTRAINT of_device"]),
    Slowdown::of_table(
        "foreign-key-deferred",
        "a foreign key that is checked at the commit",
        "fk.cost",
        Readings,
        &[
            PARENTS,
            "ALTER TABLE events ADD CONSTRAINT of_device FOREIGN KEY (device) REFERENCES devices
                 DEFERRABLE INITIALLY DEFERRED",
        ],
    )
    .claims(Claim::Finding, &["ALTER TABLE events DROP CONSTRAINT of_device"]),
    Slowdown::of_table(
        "trigger-before",
        "a trigger before each row that does nothing",
        "trigger.row",
        Readings,
        &[KEEP, "CREATE TRIGGER keeps BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION keep()"],
    )
    .claims(Claim::Finding, &["ALTER TABLE events DISABLE TRIGGER keeps"]),
    Slowdown::of_table(
        "trigger-after",
        "a trigger after each row that does nothing",
        "trigger.row",
        Readings,
        &[NOTHING, "CREATE TRIGGER notes AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION nothing()"],
    )
    .claims(Claim::Finding, &["ALTER TABLE events DISABLE TRIGGER notes"]),
    Slowdown::of_table(
        "trigger-all-rows",
        "a trigger for which all rows are kept",
        "trigger.statement",
        Readings,
        &[
            NOTHING,
            "CREATE TRIGGER notes AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
                 FOR EACH STATEMENT EXECUTE FUNCTION nothing()",
        ],
    )
    .claims(Claim::Finding, &["ALTER TABLE events DISABLE TRIGGER notes"]),
    Slowdown::of_table(
        "checks",
        "six CHECKs, two of them with patterns",
        "constraint.cost",
        Readings,
        &[
            "ALTER TABLE events ADD CHECK (id >= 0), ADD CHECK (device BETWEEN 0 AND 4999), ADD CHECK (reading >= 0),
                 ADD CHECK (at > '2020-01-01'), ADD CONSTRAINT form CHECK (note ~ '^[0-9a-f]{24}$'),
                 ADD CONSTRAINT form_too CHECK (note !~ 'xyz|zyx')",
        ],
    )
    .claims(
        Claim::Finding,
        &[
            "ALTER TABLE events DROP CONSTRAINT events_id_check, DROP CONSTRAINT events_device_check,
                 DROP CONSTRAINT events_reading_check, DROP CONSTRAINT events_at_check, DROP CONSTRAINT form,
                 DROP CONSTRAINT form_too",
        ],
    ),
    Slowdown::of_table(
        "generated",
        "a column that is computed and stored",
        "column.generated",
        Readings,
        &[
            "ALTER TABLE events ADD COLUMN digest text
                 GENERATED ALWAYS AS (md5(md5(md5(md5(note || id::text))))) STORED",
        ],
    )
    .claims(Claim::Finding, &["ALTER TABLE events DROP COLUMN digest"]),
    Slowdown::of_table("log", "a table that could be unlogged", "wal.unlogged", Readings, &[])
        .claims(Claim::Finding, &["ALTER TABLE events SET UNLOGGED"]),
    Slowdown {
        claim: Claim::Finding,
        remedy: Some(Remedy { sql: &[], undo: &[], restart: false, load: &["--jobs", "2"] }),
        ..Slowdown::of_table(
            "one-connection",
            "a trigger because of which a load takes one connection",
            "load.connections",
            Documents,
            &[NOTHING, "CREATE TRIGGER told AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION nothing()"],
        )
    },
    Slowdown::of_table(
        "all-at-once",
        "an index, a foreign key and a trigger",
        "fk.cost",
        Readings,
        &[
            PARENTS,
            KEEP,
            "CREATE INDEX by_device ON events (device)",
            "ALTER TABLE events ADD CONSTRAINT of_device FOREIGN KEY (device) REFERENCES devices",
            "CREATE TRIGGER keeps BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION keep()",
        ],
    )
    .claims(
        Claim::Together,
        &[
            "DROP INDEX by_device",
            "ALTER TABLE events DROP CONSTRAINT of_device",
            "ALTER TABLE events DISABLE TRIGGER keeps",
        ],
    ),
];
