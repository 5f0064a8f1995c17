//! The columns that tables have, and their values, as the server's SQL. Rows are numbered: the first ones are held, the next come.

/// The table that rows go into.
pub(super) const TABLE: &str = "events";

/// The columns of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Columns {
    /// Numbers, times and a short text.
    Readings,
    /// The same with random uuids as ids.
    Uuids,
    /// A document of a few hundred bytes in each row.
    Documents,
    /// A text of some kilobytes in each row, which can be compressed.
    Wide,
    /// Ranges, none of which overlap.
    Spans,
}

/// The columns behind an id.
const READING: &str = "((hashint8extended(i, 1) & 1048575) % 5000)::int AS device,
    timestamptz '2026-01-01 00:00:00+00' + i * interval '1 second' AS at,
    ((hashint8extended(i, 2) & 1048575) / 100.0)::double precision AS reading, substr(md5(i::text), 1, 24) AS note";

impl Columns {
    /// What is declared of them, without keys.
    pub(super) fn declared(self) -> &'static str {
        match self {
            Columns::Readings => "id bigint, device int, at timestamptz, reading double precision, note text",
            Columns::Uuids => "id uuid, device int, at timestamptz, reading double precision, note text",
            Columns::Documents => "id bigint, doc jsonb",
            Columns::Wide => "id bigint, body text",
            Columns::Spans => "id bigint, span int8range, note text",
        }
    }

    /// Their names.
    pub(super) fn names(self) -> &'static str {
        match self {
            Columns::Readings | Columns::Uuids => "id, device, at, reading, note",
            Columns::Documents => "id, doc",
            Columns::Wide => "id, body",
            Columns::Spans => "id, span, note",
        }
    }

    /// The query that gives the rows of so many numbers, in their order.
    pub(super) fn rows_sql(self, first: u64, count: u64) -> String {
        let values = match self {
            Columns::Readings => format!("i::bigint AS id, {READING}"),
            Columns::Uuids => format!("md5(i::text)::uuid AS id, {READING}"),
            Columns::Documents => "i::bigint AS id, jsonb_build_object('kind', (ARRAY['view', 'click', 'buy'])[1 + i % 3],
                    'user', hashint8extended(i, 1) & 1048575, 'session', md5(i::text),
                    'tags', jsonb_build_array('t' || (hashint8extended(i, 2) & 4095), 't' || (hashint8extended(i, 3) & 4095)),
                    'price', (hashint8extended(i, 4) & 65535) / 100.0, 'note', md5('n' || i)) AS doc"
                .to_owned(),
            Columns::Wide => "i::bigint AS id, (SELECT string_agg('user=' || md5(i || '/' || n) || ' status=active path=/some/where', ' ')
                    FROM generate_series(1, 60) n) AS body"
                .to_owned(),
            Columns::Spans => {
                "i::bigint AS id, int8range(i * 10, i * 10 + 5) AS span, substr(md5(i::text), 1, 24) AS note".to_owned()
            }
        };
        let end = first + count;
        format!("SELECT {values} FROM generate_series({first}::bigint, {end} - 1) i ORDER BY i")
    }

    /// The query that tells number and checksum of the rows of `from`, whatever their order, by the columns of the file.
    pub(super) fn checksum_sql(self, from: &str) -> String {
        let names = self.names();
        format!(
            "SELECT count(*) || ' ' || coalesce(sum(hashtextextended(ROW({names})::text, 0)), 0) FROM {from} AS r"
        )
    }

    /// About how long a row is as CSV.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Columns::Readings => 70,
            Columns::Uuids => 98,
            Columns::Documents => 250,
            Columns::Wide => 4100,
            Columns::Spans => 55,
        }
    }
}
