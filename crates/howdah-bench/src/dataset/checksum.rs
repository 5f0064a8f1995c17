//! What a table must hold after a load, as a number that one SQL query over the table computes too.
//!
//! A row's values are hashed one after the other, each seeded with the hash of those before it; the checksum is the sum
//! over the rows. So it sees every value, NULL against empty, values torn from their rows, rows missing and rows twice,
//! and it does not see the order of rows. It cannot see columns that no file holds (identities, times of arrival), what
//! jsonb itself forgets (spaces, order and doubles of keys), or a NULL exchanged for the one character U+0001.
//! The query needs a little-endian server and a database in UTF-8.

use std::fmt;
use std::io;

use super::decimal::{gauge, push_fixed, push_integer};
use super::hash::hash;
use super::set::Dataset;
use super::value::{Sink, Value, push_array, push_hex, push_uuid};

/// The text that stands for NULL in a hash: no data set holds it.
const NULL: &[u8] = b"\x01";

impl Dataset {
    /// The query over the typed table that answers with a [`Checksum`], as its text. `table` goes into it as it is.
    #[must_use]
    pub fn checksum_sql(self, table: &str) -> String {
        self.narrow_checksum_sql(table, self.columns().len())
    }

    /// Returns the query of [`Dataset::checksum_sql`] for a table of the first `width` columns; see
    /// [`narrow_checksum`](super::Generator::narrow_checksum).
    #[must_use]
    pub fn narrow_checksum_sql(self, table: &str, width: usize) -> String {
        let columns = self.columns();
        sql(&columns[..width.min(columns.len())], table)
    }
}

/// The number of rows and the sum of their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksum {
    /// Rows.
    pub rows: u64,
    /// The sum of the rows' hashes.
    pub sum: i128,
}

/// As the query answers it.
impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.rows, self.sum)
    }
}

/// The query that answers with a [`Checksum`] as one text. `table` goes into it as it is; no setting of the session
/// changes the answer.
fn sql(columns: &[(&str, &str)], table: &str) -> String {
    let hashed = columns.iter().fold("0".to_owned(), |before, (name, r#type)| {
        let text = match *r#type {
            t if t.starts_with("timestamptz") => format!("extract(epoch FROM {name})::text"),
            t if t.starts_with("double precision") => format!("encode(float8send({name}), 'hex')"),
            t if t.split(' ').next() == Some("text") => (*name).to_owned(),
            _ => format!("{name}::text"),
        };
        format!("hashtextextended(coalesce({text}, chr(1)), {before})")
    });
    format!("SELECT count(*) || ' ' || coalesce(sum({hashed}), 0) FROM {table}")
}

/// Adds rows up.
#[derive(Default)]
pub(super) struct Adder {
    total: Checksum,
    row: i64,
    /// Columns of a row that count, and those that were seen of this one.
    width: usize,
    seen: usize,
    /// The distance between two rows that do not count.
    without_every: Option<u64>,
    rows_seen: u64,
    text: Vec<u8>,
}

impl Adder {
    pub(super) fn of(width: usize) -> Self {
        Adder { width, ..Adder::default() }
    }

    /// Leaves out each `every`-th row, counted from 1.
    pub(super) fn without_every(self, every: u64) -> Self {
        Adder { without_every: Some(every), ..self }
    }

    pub(super) fn finish(self) -> Checksum {
        self.total
    }
}

impl Sink for Adder {
    fn begin(&mut self, _: usize) {
        self.row = 0;
        self.seen = 0;
    }

    fn put(&mut self, value: Value<'_>) {
        self.seen += 1;
        if self.seen > self.width {
            return;
        }
        let out = &mut self.text;
        out.clear();
        match value {
            Value::Null => out.extend_from_slice(NULL),
            Value::Boolean(true) => out.extend_from_slice(b"true"),
            Value::Boolean(false) => out.extend_from_slice(b"false"),
            Value::Smallint(value) => push_integer(out, value),
            Value::Integer(value) => push_integer(out, value),
            Value::Bigint(value) => push_integer(out, value),
            Value::Gauge { scaled, decimals } => {
                push_hex(out, &gauge(scaled, decimals).to_bits().to_be_bytes());
            }
            Value::Double(value) => push_hex(out, &value.to_bits().to_be_bytes()),
            Value::Numeric { scaled, scale } => push_fixed(out, scaled, scale),
            Value::Timestamptz(micros) => push_fixed(out, micros, 6),
            Value::Uuid(bytes) => push_uuid(out, bytes),
            Value::Text(text) => {
                self.row = hash(text, self.row);
                return;
            }
            Value::Jsonb(text) => {
                let document = serde_json::from_slice(text).expect("a generated document is JSON");
                push_jsonb(out, &document);
            }
            Value::TextArray(elements) => push_array(out, elements),
        }
        self.row = hash(out, self.row);
    }

    fn end(&mut self) -> io::Result<()> {
        self.rows_seen += 1;
        if self.without_every.is_some_and(|every| self.rows_seen.is_multiple_of(every)) {
            return Ok(());
        }
        self.total.rows += 1;
        self.total.sum += i128::from(self.row);
        Ok(())
    }
}

/// Appends a document as the server prints jsonb: short keys first, a space behind every colon and comma.
fn push_jsonb(out: &mut Vec<u8>, value: &serde_json::Value) {
    match value {
        serde_json::Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| (key.len(), key.as_bytes()));
            out.push(b'{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                push_scalar(out, key);
                out.extend_from_slice(b": ");
                push_jsonb(out, value);
            }
            out.push(b'}');
        }
        serde_json::Value::Array(elements) => {
            out.push(b'[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                push_jsonb(out, element);
            }
            out.push(b']');
        }
        scalar => push_scalar(out, scalar),
    }
}

/// Strings are escaped alike by both; the data sets' numbers are integers.
fn push_scalar(out: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    serde_json::to_writer(out, value).expect("writing into a vector cannot fail");
}
