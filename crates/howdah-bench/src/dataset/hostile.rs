//! What breaks loaders, in the same tables: one value in eight is a NULL, empty, extreme, or a text that needs care.

use std::io;

use super::rng::Rng;
use super::value::{Sink, Value};

/// Texts that a loader must neither split, trim, unescape nor take for something else.
const TEXTS: [&str; 24] = [
    "",
    " ",
    " leading and trailing ",
    "a,b;c|d\te",
    "\"",
    "\"\"",
    "it's \"quoted\", twice \"\"",
    "first line\nsecond line",
    "carriage\r\nreturn",
    "\nbegins and ends with a newline\n",
    "\r",
    "\\",
    "\\N",
    "\\.",
    "C:\\new\\table\\",
    "\\\"",
    "NULL",
    "null",
    "{a,\"b\"}",
    "-- '); DROP TABLE x; --",
    "Ünïcödé, naïve café",
    "日本語、中文、한국어",
    "🐘👩‍👩‍👧‍👦 e\u{301} \u{200f}עברית\u{feff}",
    "\u{7f}\u{b}\u{c}\u{8}\u{1b}[0m \u{2028}\u{a0}",
];

/// Documents with everything that JSON strings can hold but U+0000, which jsonb refuses.
const DOCUMENTS: [&str; 8] = [
    "{}",
    "[]",
    "null",
    "\"\"",
    r#"{"":"","null":null,"nested":{"list":[1,-2,[],{},[[true]]]}}"#,
    r#"{"text":"line\nline\r\n\ttab \"quoted\" \\ back\/slash \b\f"}"#,
    r#"{"zoë":"日本語 🐘","escaped":"\u00e9 \ud83d\udc18 \u001f","\\N":"\\N"}"#,
    r#"{"z":1,"aa":9223372036854775807,"b":-9223372036854775808,"spaces" : [ 1 , 2 ],"b":3}"#,
];

const ARRAYS: [&[Option<&[u8]>]; 7] = [
    &[],
    &[None],
    &[Some(b"")],
    &[Some(b"NULL"), None, Some(b"null")],
    &[Some(b"a,b"), Some(b"{c}"), Some(b"\"d\""), Some(b"\\e"), Some(b" f ")],
    &[Some(b"line\nline"), Some(b"\t"), Some(b"\r\n")],
    &[Some("日本語".as_bytes()), Some("🐘".as_bytes())],
];

/// The length of a long value: past a kilobyte-sized buffer of anybody, and past the two kilobytes from which PostgreSQL
/// compresses it or stores it apart.
const LONG: usize = 20_000;

/// Passes rows on with some of their values exchanged. What is exchanged follows from the seed and the number of the row.
pub(super) struct Hostile<'a, S> {
    sink: &'a mut S,
    columns: &'a [(&'a str, &'a str)],
    /// The column whose values must stay different from each other.
    unique: Option<usize>,
    seed: u64,
    rng: Rng,
    column: usize,
    text: Vec<u8>,
}

impl<'a, S: Sink> Hostile<'a, S> {
    pub(super) fn new(
        sink: &'a mut S,
        columns: &'a [(&'a str, &'a str)],
        unique: Option<usize>,
        seed: u64,
    ) -> Self {
        let rng = Rng::new(seed, b"hostile\0");
        Hostile { sink, columns, unique, seed, rng, column: 0, text: Vec::new() }
    }

    /// Says which row comes next: a part of the rows is the same however many came before.
    pub(super) fn row(&mut self, number: u64) {
        // An odd factor takes different rows to different seeds.
        let seed = self.seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.rng = Rng::new(seed, b"hostile\0");
    }

    fn draw_text(&mut self) {
        self.text.clear();
        if self.rng.chance(1, 32) {
            let (unit, length) = (b"long \"text\",\n\\", LONG + self.rng.below(64) as usize);
            self.text.extend(unit.iter().cycle().take(length));
        } else {
            let text = self.rng.pick(&TEXTS);
            self.text.extend_from_slice(text.as_bytes());
        }
    }

    fn draw_document(&mut self) {
        self.text.clear();
        if self.rng.chance(1, 32) {
            self.text.extend_from_slice(b"{\"long\":\"");
            let length = LONG + self.rng.below(64) as usize;
            self.text.extend(b"long text, ".iter().cycle().take(length));
            self.text.extend_from_slice(b"\"}");
        } else {
            let document = self.rng.pick(&DOCUMENTS);
            self.text.extend_from_slice(document.as_bytes());
        }
    }

    fn exchange(&mut self, value: Value<'_>) {
        let low = self.rng.chance(1, 2);
        let exchanged = match value {
            Value::Null => Value::Null,
            Value::Boolean(value) => Value::Boolean(!value),
            Value::Smallint(_) => Value::Smallint(if low { i16::MIN } else { i16::MAX }),
            Value::Integer(_) => Value::Integer(if low { i32::MIN } else { i32::MAX }),
            Value::Bigint(_) => Value::Bigint(if low { i64::MIN } else { i64::MAX }),
            Value::Gauge { .. } | Value::Double(_) => {
                const EXTREMES: [f64; 6] = [-0.0, f64::MIN_POSITIVE, f64::MAX, f64::MIN, 0.1 + 0.2, 1e-7];
                Value::Double(EXTREMES[self.rng.below(6) as usize])
            }
            Value::Numeric { scale, .. } => {
                const EXTREMES: [i64; 5] = [0, 1, -1, 9_999_999_999, -9_999_999_999];
                Value::Numeric { scaled: EXTREMES[self.rng.below(5) as usize], scale }
            }
            Value::Timestamptz(_) => {
                // The first instant of year 1, the last of year 9999, one before 1970, a leap day.
                const EXTREMES: [i64; 4] =
                    [-62_135_596_800_000_000, 253_402_300_799_999_999, -1, 951_868_799_123_456];
                Value::Timestamptz(EXTREMES[self.rng.below(4) as usize])
            }
            Value::Uuid(_) => Value::Uuid([if low { 0 } else { 0xff }; 16]),
            Value::Text(text) => {
                self.draw_text();
                if self.unique == Some(self.column) {
                    self.text.splice(0..0, text.iter().copied());
                }
                Value::Text(&self.text)
            }
            Value::Jsonb(_) => {
                self.draw_document();
                Value::Jsonb(&self.text)
            }
            Value::TextArray(_) => Value::TextArray(ARRAYS[self.rng.below(7) as usize]),
        };
        self.sink.put(exchanged);
    }
}

impl<S: Sink> Sink for Hostile<'_, S> {
    fn begin(&mut self, columns: usize) {
        self.column = 0;
        self.sink.begin(columns);
    }

    fn put(&mut self, value: Value<'_>) {
        let unique = self.unique == Some(self.column);
        let nullable = !unique && !self.columns[self.column].1.ends_with("NOT NULL");
        // A unique number has no other form.
        let fixed = unique && !matches!(value, Value::Text(_));
        if fixed || !self.rng.chance(1, 8) {
            self.sink.put(value);
        } else if nullable && self.rng.chance(1, 3) {
            self.sink.put(Value::Null);
        } else {
            self.exchange(value);
        }
        self.column += 1;
    }

    fn end(&mut self) -> io::Result<()> {
        self.sink.end()
    }
}
