//! The table `orders` and its rows: what it holds, what is brought, and what it must hold then, as the server's SQL.

use crate::number::thousands;

/// The table that rows go into.
pub(super) const TABLE: &str = "orders";

/// Columns that have an index, in order.
const INDEXED: [&str; 4] = ["customer", "placed", "note", "amount"];

/// Customers, whom orders refer to.
const CUSTOMERS: u64 = 200_000;

/// The ids of orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    /// Numbers; new ones lie behind those that the table holds.
    Ascending,
    /// Numbers; new ones lie anywhere among those that the table holds.
    Random,
    /// Random uuids.
    Uuid,
}

/// A table with rows, and the rows of a file that is brought to it. Rows are numbered; the first ones are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Orders {
    pub(super) ids: Ids,
    /// Rows that the table holds.
    pub(super) held: u64,
    /// Rows of the file.
    pub(super) brought: u64,
    /// If true, half of the file's rows have the ids of rows that are held, spread over the table, and other values.
    pub(super) half_are_held: bool,
    /// Indexes beside the primary key, at most four.
    pub(super) indexes: usize,
    /// If true, an order's customer is in a table of customers.
    pub(super) refers: bool,
}

impl Orders {
    /// The table in words.
    pub(super) fn in_words(&self) -> String {
        let ids = match self.ids {
            Ids::Ascending => "ascending ids",
            Ids::Random => "random ids",
            Ids::Uuid => "uuids",
        };
        let mut has = vec!["a primary key".to_owned()];
        has.extend(match self.indexes {
            0 => None,
            1 => Some("an index".to_owned()),
            several => Some(format!("{several} indexes")),
        });
        has.extend(self.refers.then(|| "a foreign key".to_owned()));
        format!("{} rows, {ids}, {}", thousands(self.held as f64), has.join(", "))
    }

    /// The statements that make the table with the rows that it holds.
    pub(super) fn create_sql(&self) -> Vec<String> {
        let id = if self.ids == Ids::Uuid { "uuid" } else { "bigint" };
        let mut statements = vec![
            format!(
                "CREATE TABLE {TABLE} (id {id} NOT NULL, customer bigint NOT NULL, placed timestamptz NOT NULL,
                                       amount numeric(12,2) NOT NULL, status text NOT NULL, note text)"
            ),
            format!("INSERT INTO {TABLE} {}", self.rows_sql(&format!("generate_series(0, {} - 1) i", self.held), "0", "i")),
            format!("ALTER TABLE {TABLE} ADD PRIMARY KEY (id)"),
        ];
        let indexed = INDEXED.iter().take(self.indexes);
        statements.extend(indexed.map(|column| format!("CREATE INDEX ON {TABLE} ({column})")));
        if self.refers {
            statements.extend([
                format!("CREATE TABLE customers AS SELECT generate_series(1, {CUSTOMERS})::bigint AS id"),
                "ALTER TABLE customers ADD PRIMARY KEY (id)".to_owned(),
                format!("ALTER TABLE {TABLE} ADD FOREIGN KEY (customer) REFERENCES customers"),
                "VACUUM ANALYZE customers".to_owned(),
            ]);
        }
        statements.push(format!("VACUUM ANALYZE {TABLE}"));
        statements
    }

    /// The query that gives the file's rows, in their order.
    pub(super) fn file_sql(&self) -> String {
        let (from, version) = if self.half_are_held {
            let pairs = self.brought / 2;
            let known = format!(
                "SELECT n * {} AS i, 1 AS version FROM generate_series(0, {pairs} - 1) n",
                self.step()
            );
            let new = format!("SELECT i, 0 FROM generate_series({0}, {0} + {pairs} - 1) i", self.held);
            (format!("({known} UNION ALL {new}) numbers"), "version")
        } else {
            (format!("generate_series({0}, {0} + {1} - 1) i", self.held, self.brought), "0")
        };
        let order = match (self.ids, self.half_are_held) {
            (Ids::Random | Ids::Uuid, true) => "hashint8extended(i, 7), i",
            _ => "i",
        };
        self.rows_sql(&from, version, order)
    }

    /// The query that tells rows and checksum of the table.
    pub(super) fn found_sql() -> String {
        checksum_sql(TABLE)
    }

    /// The query that gives the same for what the table must hold once the file's rows are in.
    pub(super) fn expected_sql(&self) -> String {
        let (new, version) = match self.half_are_held {
            false => (self.brought, "0".to_owned()),
            true => {
                let (pairs, step) = (self.brought / 2, self.step());
                (pairs, format!("(i % {step} = 0 AND i / {step} < {pairs})::int"))
            }
        };
        let numbers = format!("generate_series(0, {} - 1) i", self.held + new);
        checksum_sql(&format!("({})", self.rows_sql(&numbers, &version, "i")))
    }

    /// The distance between two rows that are held and come again.
    fn step(&self) -> u64 {
        self.held / (self.brought / 2).max(1)
    }

    /// The rows of the numbers `i` of `from`. Those of another version differ in amount and note.
    fn rows_sql(&self, from: &str, version: &str, order: &str) -> String {
        let id = match self.ids {
            Ids::Ascending => "i::bigint".to_owned(),
            // Each step can be undone, so that no two numbers share an id: they are in 0..2^32.
            Ids::Random => {
                let once = "(i::bigint * 2654435761 & 4294967295)";
                let twice = format!("(({once} # ({once} >> 15)) * 73244475 & 4294967295)");
                format!("({twice} # ({twice} >> 16))")
            }
            Ids::Uuid => "md5(i::text)::uuid".to_owned(),
        };
        let drawn = |seed: &str| format!("(hashint8extended(i, {seed}) & 1048575)");
        format!(
            "SELECT {id} AS id, 1 + {} % {CUSTOMERS} AS customer,
                    timestamptz '2026-01-01 00:00:00+00' + i * interval '1 second' AS placed,
                    ({} / 100.0)::numeric(12,2) AS amount,
                    (ARRAY['new', 'paid', 'packed', 'sent', 'back'])[1 + {} % 5] AS status,
                    substr(md5(i || '/' || {version}), 1, 16) AS note
               FROM {from} ORDER BY {order}",
            drawn("1"),
            drawn(&format!("2 + {version}")),
            drawn("4"),
        )
    }
}

/// The number of rows of `from` and the sum of their hashes. The order of rows does not matter.
fn checksum_sql(from: &str) -> String {
    format!("SELECT count(*) || ' ' || coalesce(sum(hashtextextended(r::text, 0)), 0) FROM {from} AS r")
}
