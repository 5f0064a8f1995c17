//! `tasks`: entries of a work queue, a JSON document of ten fields and a random key each.
//!
//! The number of fields and the lengths of their values are those of study 5's generator; the words are ours.

use super::rng::Rng;
use super::value::{Rows, Sink, Value, push_uuid};

/// Names and types of the columns that files hold, in order. The table has an identity column and a time of arrival too.
pub(super) const COLUMNS: [(&str, &str); 2] = [("args", "jsonb"), ("idempotency_key", "text")];

/// Fields of a document.
const FIELDS: u32 = 10;
/// The longest value of a field is one shorter.
const LENGTHS: u32 = 100;

const QUALITIES: [&str; 20] = [
    "agile", "bold", "clever", "daring", "eager", "fair", "gentle", "honest", "humble", "kind", "lively",
    "modest", "noble", "patient", "proud", "quick", "ready", "steady", "tidy", "wise",
];
const PEOPLE: [&str; 20] = [
    "archimedes",
    "babbage",
    "bohr",
    "cantor",
    "curie",
    "darwin",
    "einstein",
    "euler",
    "faraday",
    "galois",
    "gauss",
    "hopper",
    "kepler",
    "lovelace",
    "maxwell",
    "newton",
    "noether",
    "pascal",
    "planck",
    "turing",
];
/// What values are made of: six bits a character.
const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The endless sequence of tasks for a seed.
pub(super) struct Tasks {
    rng: Rng,
    args: Vec<u8>,
    key: Vec<u8>,
}

impl Tasks {
    pub(super) fn new(seed: u64) -> Self {
        Tasks { rng: Rng::new(seed, b"tasks\0\0\0"), args: Vec::new(), key: Vec::new() }
    }

    fn push_symbols(&mut self, mut length: u32) {
        while length > 0 {
            let mut word = self.rng.word();
            let from_word = length.min(10);
            for _ in 0..from_word {
                self.args.push(SYMBOLS[(word & 63) as usize]);
                word >>= 6;
            }
            length -= from_word;
        }
    }
}

impl Rows for Tasks {
    fn advance(&mut self) {
        self.args.clear();
        let first = self.rng.below(400);
        for field in 0..FIELDS {
            self.args.push(if field == 0 { b'{' } else { b',' });
            // Steps of 37 through 400 names do not meet within ten.
            let name = (first + 37 * field) % 400;
            self.args.push(b'"');
            self.args.extend_from_slice(QUALITIES[(name / 20) as usize].as_bytes());
            self.args.push(b'-');
            self.args.extend_from_slice(PEOPLE[(name % 20) as usize].as_bytes());
            self.args.extend_from_slice(b"\":\"");
            let length = self.rng.below(LENGTHS);
            self.push_symbols(length);
            self.args.push(b'"');
        }
        self.args.push(b'}');
        self.key.clear();
        let key = self.rng.uuid();
        push_uuid(&mut self.key, key);
    }

    fn emit(&self, sink: &mut impl Sink) {
        sink.begin(COLUMNS.len());
        sink.put(Value::Jsonb(&self.args));
        sink.put(Value::Text(&self.key));
    }
}
