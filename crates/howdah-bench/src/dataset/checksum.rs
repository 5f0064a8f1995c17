//! What a table must hold after a load, as a number that one SQL query over the table computes too.
//!
//! A row's values are hashed one after the other, each seeded with the hash of those before it; the checksum is the sum
//! over the rows. So it sees every value, NULL against empty, values torn from their rows, rows missing and rows twice,
//! and it does not see the order of rows. It cannot see columns that no file holds (identities, times of arrival), what
//! jsonb itself forgets (spaces, order and doubles of keys), or a NULL exchanged for the one character U+0001.
//! The query needs a little-endian server and a database in UTF-8.

use std::fmt;
use std::io;

use super::copy_binary::gauge;
use super::decimal::{push_fixed, push_integer};
use super::hash::hash;
use super::value::{Sink, Value, push_array, push_hex, push_uuid};

/// The text that stands for NULL in a hash: no data set holds it.
const NULL: &[u8] = b"\x01";

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
pub(super) fn sql(columns: &[(&str, &str)], table: &str) -> String {
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
    text: Vec<u8>,
}

impl Adder {
    pub(super) fn of(width: usize) -> Self {
        Adder { width, ..Adder::default() }
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
