//! Nanoseconds per field of each codec: `cargo bench -p howdah-encode`, or with a codec's name for that one alone.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for people, with literals of its own"
)]

use howdah_encode::{TextCodec, Zone};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::hint::black_box;
use std::time::Instant;

/// Fields per round: as many as leave the caches and fit a chunk.
const FIELDS: usize = 50_000;
const ROUNDS: usize = 101;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

fn main() {
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    for (name, codec, literal) in &CASES {
        if only.as_ref().is_none_or(|only| name.contains(only.as_str())) {
            let mut random = Random::new(SEED);
            let fields = (0..FIELDS).map(|_| (codec, literal(&mut random)));
            println!("{name:28} {:6.2} ns/field", measure(fields));
        }
    }
    if only.is_none_or(|only| "readings".contains(only.as_str())) {
        let mut random = Random::new(SEED);

        let fields = (0..FIELDS).map(|index| {
            let (_, codec, literal) = &READINGS[index % READINGS.len()];
            (codec, literal(&mut random))
        });
        println!("{:28} {:6.2} ns/field", "readings, nine columns", measure(fields));
    }
}

/// Median over the rounds.
fn measure<'c>(fields: impl Iterator<Item = (&'c TextCodec, String)>) -> f64 {
    let mut text = Vec::new();
    let mut ends = Vec::new();
    for (codec, literal) in fields {
        text.extend_from_slice(literal.as_bytes());
        ends.push((codec, text.len()));
    }
    let mut out = Vec::new();
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            out.clear();
            let begun = Instant::now();
            let mut start = 0;
            for &(codec, end) in &ends {
                assert!(codec.encode(black_box(&text[start..end]), &mut out).is_ok());
                start = end;
            }
            black_box(&out);
            begun.elapsed().as_secs_f64() * 1e9 / FIELDS as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

type Case = (&'static str, TextCodec, fn(&mut Random) -> String);

const UTC: Zone = Zone::Fixed(0);

static CASES: [Case; 26] = [
    ("bool", TextCodec::Bool, |r| ["t", "f"][r.below(2)].to_owned()),
    ("int2", TextCodec::Int2, |r| r.below(1000).to_string()),
    ("int4 same length", TextCodec::Int4, |r| (10_000 + r.below(90_000)).to_string()),
    ("int4 any length", TextCodec::Int4, |r| (r.below(1 << 31) >> r.below(31)).to_string()),
    ("int8 10 digits", TextCodec::Int8, |r| (1_000_000_000 + r.below(8_000_000_000)).to_string()),
    ("float4 12.3", TextCodec::Float4, |r| format!("{}.{}", r.below(100), r.below(10))),
    ("float8 12.34567", TextCodec::Float8, |r| format!("{}.{:05}", 10 + r.below(90), r.below(100_000))),
    ("float8 readings", TextCodec::Float8, |r| match r.below(3) {
        0 => r.below(1000).to_string(),
        1 => format!("{}{}.{:05}", ["", "-"][r.below(2)], r.below(180), r.below(100_000)),
        _ => format!("{}.{}", r.below(100), r.below(10)),
    }),
    ("float8 17 digits", TextCodec::Float8, |r| format!("{:?}", r.unit())),
    ("float8 1.5e10", TextCodec::Float8, |r| format!("{}.{}e{}", r.below(10), r.below(1000), r.below(30))),
    ("numeric 123.45", TextCodec::Numeric { limit: None }, |r| {
        format!("{}.{:02}", r.below(1000), r.below(100))
    }),
    ("numeric(10,2) 123.456", numeric_10_2(), |r| format!("{}.{:03}", r.below(1000), r.below(1000))),
    ("text 20 bytes", TextCodec::Text, |r| "t".repeat(10 + r.below(20))),
    ("varchar(32) 20 bytes", TextCodec::Varchar { limit: Some(32) }, |r| "t".repeat(10 + r.below(20))),
    ("varchar(32) 60 bytes UTF-8", TextCodec::Varchar { limit: Some(32) }, |r| "日本".repeat(8 + r.below(8))),
    ("bytea hex 16 bytes", TextCodec::Bytea, |r| format!("\\x{:016x}{:016x}", r.next(), r.next())),
    ("uuid", TextCodec::Uuid, |r| {
        let digits = format!("{:016x}{:016x}", r.next(), r.next());
        [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
    }),
    ("date", TextCodec::Date, date),
    ("timestamp", TextCodec::Timestamp, seconds),
    ("timestamptz +00", TextCodec::Timestamptz { zone: UTC }, |r| seconds(r) + "+00"),
    ("timestamptz .ffffff+00", TextCodec::Timestamptz { zone: UTC }, |r| {
        format!("{}.{:06}+00", seconds(r), r.below(1_000_000))
    }),
    ("timestamptz T…Z", TextCodec::Timestamptz { zone: UTC }, |r| seconds(r).replace(' ', "T") + "Z"),
    ("time", TextCodec::Time, |r| seconds(r)[11..].to_owned()),
    ("interval 3 days 04:05:06", INTERVAL, |r| format!("{} days {}", r.below(100), &seconds(r)[11..])),
    ("interval PT4H5M6.7S", INTERVAL, |r| format!("PT{}H{}M{}.7S", r.below(24), r.below(60), r.below(60))),
    ("money $1,234.56", TextCodec::Money, |r| format!("${},{:03}.56", 1 + r.below(9), r.below(1000))),
];

const INTERVAL: TextCodec = TextCodec::Interval { sql_style: false };

/// A vehicle's reading: time, tags, position, elevation, velocity, heading, grade, fuel consumption.
static READINGS: [Case; 9] = [
    ("time", TextCodec::Timestamptz { zone: UTC }, |r| seconds(r) + "+00"),
    ("tags_id", TextCodec::Int4, |r| r.below(4000).to_string()),
    ("latitude", TextCodec::Float8, |r| format!("{}.{:05}", r.below(90), r.below(100_000))),
    ("longitude", TextCodec::Float8, |r| format!("{}.{:05}", r.below(180), r.below(100_000))),
    ("elevation", TextCodec::Float8, |r| r.below(500).to_string()),
    ("velocity", TextCodec::Float8, |r| r.below(100).to_string()),
    ("heading", TextCodec::Float8, |r| r.below(360).to_string()),
    ("grade", TextCodec::Float8, |r| r.below(100).to_string()),
    ("fuel_consumption", TextCodec::Float8, |r| format!("{}.{}", r.below(50), r.below(10))),
];

const fn numeric_10_2() -> TextCodec {
    TextCodec::Numeric { limit: Some(howdah_encode::text::NumericLimit { precision: 10, scale: 2 }) }
}

fn date(r: &mut Random) -> String {
    format!("{}-{:02}-{:02}", 1990 + r.below(40), 1 + r.below(12), 1 + r.below(28))
}

fn seconds(r: &mut Random) -> String {
    format!("{} {:02}:{:02}:{:02}", date(r), r.below(24), r.below(60), r.below(60))
}

/// Random numbers of a generator whose output is specified: the same literals in every run.
struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64) -> Self {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
