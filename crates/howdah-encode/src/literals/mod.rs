//! Literals of every type with a codec, for tests that compare the codecs with a server: ordinary ones, edges, and
//! broken ones. Deterministic in the seed; only with the cargo feature `literals`.

mod clocks;
mod geometry;
mod nested;
mod network;
mod system;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub use nested::{NESTED_SETUP, NestedType, nested_literals, nested_types};

/// A type as SQL names it, its OID, and its modifier.
pub const TYPES: &[(&str, u32, i32)] = &[
    ("boolean", 16, -1),
    ("smallint", 21, -1),
    ("integer", 23, -1),
    ("bigint", 20, -1),
    ("real", 700, -1),
    ("double precision", 701, -1),
    ("numeric", 1700, -1),
    ("numeric(10,2)", 1700, (10 << 16 | 2) + 4),
    ("numeric(5,0)", 1700, (5 << 16) + 4),
    ("numeric(3,5)", 1700, (3 << 16 | 5) + 4),
    ("numeric(4,-2)", 1700, (4 << 16 | (-2 & 0x7ff)) + 4),
    ("text", 25, -1),
    ("character varying", 1043, -1),
    ("character varying(5)", 1043, 9),
    ("character(5)", 1042, 9),
    ("bpchar", 1042, -1),
    ("bytea", 17, -1),
    ("uuid", 2950, -1),
    ("date", 1082, -1),
    ("timestamp without time zone", 1114, -1),
    ("timestamp(0) without time zone", 1114, 0),
    ("timestamp(3) without time zone", 1114, 3),
    ("timestamp with time zone", 1184, -1),
    ("timestamp(0) with time zone", 1184, 0),
    ("timestamp(3) with time zone", 1184, 3),
    ("json", 114, -1),
    ("jsonb", 3802, -1),
    ("inet", 869, -1),
    ("cidr", 650, -1),
    ("macaddr", 829, -1),
    ("macaddr8", 774, -1),
    ("bit(5)", 1560, 5),
    ("bit varying", 1562, -1),
    ("bit varying(12)", 1562, 12),
    ("pg_lsn", 3220, -1),
    ("point", 600, -1),
    ("lseg", 601, -1),
    ("path", 602, -1),
    ("box", 603, -1),
    ("polygon", 604, -1),
    ("line", 628, -1),
    ("circle", 718, -1),
    ("time without time zone", 1083, -1),
    ("time(3) without time zone", 1083, 3),
    ("time with time zone", 1266, -1),
    ("time(0) with time zone", 1266, 0),
    ("interval", 1186, -1),
    ("interval(3)", 1186, 0x7fff << 16 | 3),
    ("interval day to second(0)", 1186, 0x1c08 << 16),
    ("oid", 26, -1),
    ("\"char\"", 18, -1),
    ("name", 19, -1),
    ("money", 790, -1),
];

/// `count` literals for a type named as in [`TYPES`]; an unknown name gives those of `text`.
#[must_use]
pub fn literals(type_name: &str, seed: u64, count: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    let family = Family::of(type_name);
    (0..count).map(|_| family.literal(&mut random)).collect()
}

/// How literals of related types are made.
struct Family {
    /// An ordinary literal, or one near a limit.
    ordinary: fn(&mut Random) -> String,
    /// Spellings at the edges of what the type takes.
    edges: &'static [&'static str],
    /// What a mutation inserts.
    alphabet: &'static str,
}

impl Family {
    fn of(type_name: &str) -> Family {
        let base = type_name.split('(').next().unwrap_or(type_name);
        let (ordinary, edges, alphabet): (fn(&mut Random) -> String, _, _) = match base {
            "boolean" => (boolean, BOOLEANS, "tfyno10TRUE "),
            "smallint" | "integer" | "bigint" => (integer, INTEGERS, "0123456789+-_xobXE. "),
            "real" | "double precision" => (decimal, DECIMALS, "0123456789+-.eEx_inf "),
            "numeric" => (decimal, DECIMALS, "0123456789+-.eEx_inf "),
            "bytea" => (bytea, BYTEAS, "0123456789abcdefABCDEF\\x \n\tg"),
            "uuid" => (uuid, UUIDS, "0123456789abcdefABCDEF-{} g"),
            "date" => (date, DATES, "0123456789-/BC. "),
            "timestamp" | "timestamp without time zone" | "timestamp with time zone" => {
                (timestamp, TIMESTAMPS, "0123456789-+:.TZ BCz")
            }
            "inet" | "cidr" => (network::address, network::ADDRESSES, "0123456789abcdf.:/xg "),
            "macaddr" | "macaddr8" => (network::mac, network::MACS, "0123456789abcdefAF.:- +xg"),
            "bit" | "bit varying" => (network::bits, network::BITS, "0101012xXbBf é"),
            "point" => (geometry::point, geometry::SHAPES, geometry::ALPHABET),
            "line" => (geometry::line, geometry::SHAPES, geometry::ALPHABET),
            "circle" => (geometry::circle, geometry::SHAPES, geometry::ALPHABET),
            "lseg" | "path" | "box" | "polygon" => (geometry::points, geometry::SHAPES, geometry::ALPHABET),
            "pg_lsn" => (network::lsn, network::LSNS, "0123456789ABCDEF/ g"),
            "time" | "time without time zone" | "time with time zone" => {
                (clocks::time, clocks::TIMES, clocks::TIME_ALPHABET)
            }
            "interval" | "interval day to second" => {
                (clocks::interval, clocks::INTERVALS, clocks::INTERVAL_ALPHABET)
            }
            "oid" => (system::oid, system::OIDS, system::OID_ALPHABET),
            "name" | "\"char\"" => (system::name, system::NAMES, system::NAME_ALPHABET),
            "money" => (system::money, system::MONEYS, system::MONEY_ALPHABET),
            "json" | "jsonb" => (json, JSONS, "{}[],:\"0123456789truefalsn\\ "),
            _ => (string, STRINGS, "ab \t\n\\é€😀\u{a0}"),
        };
        Family { ordinary, edges, alphabet }
    }

    fn literal(&self, random: &mut Random) -> String {
        let mut text = match random.below(8) {
            0 | 1 => random.pick(self.edges).to_string(),
            _ => (self.ordinary)(random),
        };
        if random.below(4) == 0 {
            for _ in 0..=random.below(3) {
                mutate(&mut text, self.alphabet, random);
            }
        }
        if random.below(8) == 0 {
            const SPACES: [&str; 9] = [" ", "  ", "\t", "\n", "\r", "\u{b}", "\u{c}", "\u{a0}", "\u{85}"];
            let (before, after) = (random.pick(&SPACES), random.pick(&SPACES));
            text = match random.below(3) {
                0 => format!("{before}{text}"),
                1 => format!("{text}{after}"),
                _ => format!("{before}{text}{after}"),
            };
        }
        text
    }
}

/// Inserts, removes or replaces one character.
fn mutate(text: &mut String, alphabet: &str, random: &mut Random) {
    let mut characters: Vec<char> = text.chars().collect();
    let letters: Vec<char> = alphabet.chars().collect();
    let at = random.below(characters.len() + 1);
    match random.below(3) {
        0 => characters.insert(at, random.pick(&letters)),
        1 if at < characters.len() => {
            characters.remove(at);
        }
        _ if at < characters.len() => characters[at] = random.pick(&letters),
        _ => {}
    }
    *text = characters.into_iter().collect();
}

#[rustfmt::skip]
const BOOLEANS: &[&str] = &[
    "", "t", "tr", "true", "TRUE", "y", "yes", "on", "o", "of", "off", "1", "0", "f", "n", "no", "01",
    "truee", "2",
];

fn boolean(random: &mut Random) -> String {
    let word = random.pick(&["true", "false", "yes", "no", "on", "off", "1", "0", "True", "FALSE"]);
    word[..1 + random.below(word.len())].to_owned()
}

#[rustfmt::skip]
const INTEGERS: &[&str] = &[
    "", "-", "+", "0", "-0", "+0", "00", "32767", "32768", "-32768", "-32769", "2147483647", "2147483648",
    "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "0000000000000000000000000000001", "99999999999999999999999", "0x1F", "0b101",
    "0o17", "1_000", "1e3", "1.0", "1 000", "1,000", "--1", "+-1", "- 1", "2147483648x",
    "99999999999999999999999x", "NaN", "٣",
];

fn integer(random: &mut Random) -> String {
    let value = random.next().cast_signed() >> random.below(64);
    let sign = if value >= 0 && random.below(8) == 0 { "+" } else { "" };
    let zeros = if random.below(8) == 0 { "000" } else { "" };
    match value {
        0.. => format!("{sign}{zeros}{value}"),
        _ => value.to_string(),
    }
}

#[rustfmt::skip]
const DECIMALS: &[&str] = &[
    "", ".", "-", "-.", "0", "-0", "-0.0", "+0.00", "1.", ".5", "-.5e1", "5.e3", "1e", "1e+", "1e5", "1E-5",
    "1e+05", "NaN", "nan", "-nan", "+NaN", "nan(1)", "inf", "Infinity", "-inf", "+Infinity", "-INFINITY",
    "infin", "infinit", "1e308", "1e309", "-1e309", "1e-323", "1e-324", "2.4703282292062327e-324",
    "2.4703282292062328e-324", "1.7976931348623157e308", "1.7976931348623159e308", "3.4028235e38",
    "3.4028236e38", "3.40282357e38", "1e-45", "7.006492321624085e-46", "7.006492321624086e-46",
    "1.401298464324817e-45", "1e39", "0e999", "0e-999", "1e999999", "0e-999999", "1e99999999999", "1e999x",
    "1_000", "1_0.5", "0x1F", "0x1p3", "0b1", "0x", "1,5", "1 2", "1..2", "--1", "9007199254740993",
    "9007199254740993.0", "1.00000017881393432617187499", "1.000000178813934326171875",
    "123456789012345678901234567890", "0.000000000000000000000000000001", "99999999.995", "99999999.994999",
    "9999950", "9999949.99", "0.00999500", "0.004", "0.005", "-0.005", "-0.004", "99999.5", "99999.49",
    "1e131071", "1e131072", "1e-16383", "1e-16384", "8.5e-16384", "000000000000000000000000000000000001.10",
    "49", "50", "51", "16777217", "16777216.5", "33554435",
];

fn decimal(random: &mut Random) -> String {
    let sign = random.pick(&["", "", "", "-", "+"]);
    let whole = random.digits(10);
    let fraction = random.digits(10);
    match random.below(10) {
        0 => format!("{:?}", f64::from_bits(random.next())),
        1 => format!("{:e}", f64::from_bits(random.next())),
        2 => format!("{:?}", f32::from_bits(random.next_u32())),
        3 => format!("{sign}{whole}"),
        4 => format!(
            "{sign}{}{}.{}{}",
            random.digits(25),
            random.digits(25),
            random.digits(25),
            random.digits(25)
        ),
        5 => format!("{sign}{whole}.{fraction}e{}{}", random.pick(&["", "-", "+"]), random.below(340)),
        6 => format!("{sign}{}.{}5", random.below(100_000), random.digits(3)),
        7 => format!("{sign}{}.{:02}", random.below(1000), random.below(100)),
        _ => format!("{sign}{whole}.{fraction}"),
    }
}

#[rustfmt::skip]
const BYTEAS: &[&str] = &[
    "", "\\x", "\\X00", "\\x0", "\\xg0", "\\x 00 ff ", "\\x0 0", "\\x00\u{b}", "\\", "\\\\", "\\000", "\\377",
    "\\400", "\\8", "\\12", "a\\\\b", "é", "\\xé", "\\x0é", "\\\\x00", "a\\n", " \\x00",
];

fn bytea(random: &mut Random) -> String {
    let bytes = random.next().to_le_bytes();
    let bytes = &bytes[..random.below(9)];
    match random.below(3) {
        0 => bytes.iter().map(|byte| format!("\\{byte:03o}")).collect(),
        1 => format!("\\x{}", bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>()),
        _ => format!("\\x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")),
    }
}

#[rustfmt::skip]
const UUIDS: &[&str] = &[
    "", "{}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{a0eebc999c0b4ef8bb6d6bb9bd380a11}",
    "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-",
    "a0-eebc999c0b4ef8bb6d6bb9bd380a11", "{a0eebc999c0b4ef8bb6d6bb9bd380a11",
    "a0eebc999c0b4ef8bb6d6bb9bd380a11}", "a0eebc99--9c0b-4ef8-bb6d-6bb9bd380a11",
];

fn uuid(random: &mut Random) -> String {
    let digits = format!("{:016x}{:016x}", random.next(), random.next());
    let hyphens = random.next();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        let standard = matches!(index, 8 | 12 | 16 | 20);
        let any = index > 0 && index % 4 == 0 && hyphens >> (index + 8) & 1 == 1;
        if (hyphens & 1 == 0 && standard) || (hyphens & 1 == 1 && any) {
            text.push('-');
        }
        text.push(digit);
    }
    match random.below(6) {
        0 => text.to_uppercase(),
        1 => format!("{{{text}}}"),
        _ => text,
    }
}

#[rustfmt::skip]
const DATES: &[&str] = &[
    "", "infinity", "-infinity", "Infinity", "+infinity", "epoch", "today", "now", "inf", "0000-01-01",
    "0001-01-01", "9999-12-31", "10000-01-01", "1900-02-29", "2000-02-29", "2023-02-29", "2024-02-30",
    "2024-04-31", "2024-13-01", "2024-00-01", "2024-01-00", "2024-01-32", "2024-1-5", "20240105",
    "01/02/2024", "January 8, 1999", "1999-Jan-08", "0044-03-15 BC", "4713-01-01 BC", "4714-11-24 BC",
    "4714-11-23 BC", "0001-02-29 BC", "0000-01-01 BC", "0005-02-29 bc", "2024-01-01 AD", "2024-01-01BC",
    "2024-001", "99-01-08", "2024-01-01 00:00:00", "2024-01-01T24:00",
];

fn date(random: &mut Random) -> String {
    let year = if random.below(8) == 0 { random.below(10_000) } else { 1900 + random.below(200) };
    let (month, day) = (1 + random.below(12), 1 + random.below(31));
    let era = if random.below(24) == 0 { " BC" } else { "" };
    format!("{year:04}-{month:02}-{day:02}{era}")
}

#[rustfmt::skip]
const TIMESTAMPS: &[&str] = &[
    "", "infinity", "-infinity", "Infinity", "epoch", "now", "today", "allballs", "2024-01-01",
    "2024-01-01 12", "2024-01-01 12:30", "2024-01-01 12:30Z", "2024-01-01 12:30+02", "2024-01-01 24:00",
    "2024-01-01 24:00:00", "2024-01-01 24:00:00.0000001", "2024-01-01 24:00:01", "2024-01-01 25:00:00",
    "2024-01-01 23:59:60", "2024-01-01 23:59:60.5", "2024-01-01 12:59:60.5", "2024-01-01 23:59:61",
    "2024-01-01 23:60:00", "2024-12-31 23:59:59.9999999", "2024-01-01 00:00:00.0000005",
    "2024-01-01 00:00:00.0000015", "2024-01-01 00:00:00.00000049999999999",
    "2024-01-01 00:00:00.123456789012345678901234567890", "2024-01-01 12:00:00.", "2024-01-01 12:00.5",
    "2024-01-01T12:00:00", "2024-01-01t12:00:00z", "2024-01-01T 12:00:00", "2024-01-01 T12:00:00",
    "2024-01-01  12:00:00", "2024-01-01 12:00:00 Z", "2024-01-01 12:00:00 +00",
    "2024-01-01 12:00:00+15:59:59", "2024-01-01 12:00:00+16", "2024-01-01 12:00:00-15:60",
    "2024-01-01 12:00:00+05:30:60", "2024-01-01 12:00:00+5", "2024-01-01 12:00:00+530",
    "2024-01-01 12:00:00+053015", "2024-01-01 12:00:00+05:30 BC", "2024-01-01 12:00:00 PM",
    "2024-01-01 12:00:00 UTC", "2024-01-01 12:00:00 Europe/Berlin", "2024-01-01 12:00:00 EST",
    "2024-01-01 12:00:00BC", "2024-01-01 12:00:00Z BC", "2024-01-01 12:00:00ZBC", "2024-02-30 12:00:00+16",
    "0044-03-15 12:00:00 BC", "4713-01-01 00:00:00+00 BC", "4714-11-24 00:00:00+00 BC",
    "0001-01-01 00:00:00+15", "9999-12-31 23:59:59.999999-15", "2024-01-01+02", "2024-01-01 +02",
    "2024-01-01Z", "2024-01-01 Z", "20240101T120000Z", "2024-01-01 1:02:03", "2024-01-01 01:2:03",
    "2023-02-29 12:00:00", "2024-01-01 12:00:00+00:00:00", "2021-03-28 02:30:00", "2021-10-31 02:30:00",
    "1890-01-01 00:00:00", "2024-01-01 12:00:00-00",
];

fn timestamp(random: &mut Random) -> String {
    let day = date(random);
    let (day, era) = match day.strip_suffix(" BC") {
        Some(day) => (day, " BC"),
        None => (day.as_str(), ""),
    };
    let (hour, minute, second) = (random.below(24), random.below(60), random.below(60));
    let separator = random.pick(&[" ", " ", "T"]);
    let fraction = match random.below(4) {
        0 => format!(".{}", random.digits(6)),
        1 => format!(".{}", random.digits(14)),
        _ => String::new(),
    };
    let (sign, hours, minutes) = (random.pick(&["+", "-"]), random.below(16), random.below(60));
    let zone = match random.below(8) {
        0 => "Z".to_owned(),
        1 => "+00".to_owned(),
        2 => format!("{sign}{hours:02}"),
        3 => format!("{sign}{hours:02}:{minutes:02}"),
        4 => format!("{sign}{hours:02}{minutes:02}"),
        _ => String::new(),
    };
    format!("{day}{separator}{hour:02}:{minute:02}:{second:02}{fraction}{zone}{era}")
}

#[rustfmt::skip]
const JSONS: &[&str] = &[
    "", " ", "null", "true", "{}", "[]", "{\"a\": 1}", "{\"a\":1,\"a\":2}", "[1, 2.50, 1e3]", "\"\\u00e9\"",
    "{", "nul",
];

fn json(random: &mut Random) -> String {
    match random.below(3) {
        0 => random.below(100_000).to_string(),
        1 => format!("{{\"k{}\": [{}, \"é\\n\"]}}", random.below(10), random.below(1000)),
        _ => format!("\"{}\"", random.digits(12)),
    }
}

#[rustfmt::skip]
const STRINGS: &[&str] = &[
    "", " ", "     ", "      ", "abcde", "abcdef", "abcde ", "abcde\t", "äöü€😀", "äöü€😀x", "\\N", "\\.",
];

fn string(random: &mut Random) -> String {
    (0..random.below(9)).map(|_| random.pick(&["a", "b", " ", " ", "é", "€", "😀", "\\", "\t"])).collect()
}

/// Random numbers of a generator whose output is specified, so that a seed means the same literals everywhere.
struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64) -> Self {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number below `limit`; 0 for a limit of 0.
    fn below(&mut self, limit: usize) -> usize {
        // The bias of a remainder is far below what a test could notice.
        #[expect(clippy::cast_possible_truncation, reason = "a remainder below a usize")]
        let number = (self.next() % limit.max(1) as u64) as usize;
        number
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// One to `most` digits.
    fn digits(&mut self, most: usize) -> String {
        (0..=self.below(most)).map(|_| char::from(b"0123456789"[self.below(10)])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NotEncoded, SessionRules, TextCodec};

    #[test]
    fn every_type_gets_literals_of_all_verdicts() {
        let rules = SessionRules::from_settings("UTC", "ISO, MDY", "postgres", "C");
        for &(name, oid, typmod) in TYPES {
            let codec = TextCodec::for_type(oid, typmod, &rules).unwrap();
            let (mut encoded, mut refused) = (0, 0);
            for literal in literals(name, 1, 2000) {
                let mut out = b"row".to_vec();
                match codec.encode(literal.as_bytes(), &mut out) {
                    Ok(()) => {
                        encoded += 1;
                        let length = i32::from_be_bytes(out[3..7].try_into().unwrap());
                        assert_eq!(usize::try_from(length).unwrap(), out.len() - 7, "{name} {literal:?}");
                    }
                    Err(verdict) => {
                        refused += usize::from(matches!(verdict, NotEncoded::Invalid(_)));
                        assert_eq!(out, b"row", "{name} {literal:?} left bytes behind");
                    }
                }
            }
            assert!(encoded > 300, "{name}: {encoded} encoded");
            let may_refuse = !matches!(
                name,
                "text" | "character varying" | "bpchar" | "json" | "jsonb" | "name" | "\"char\""
            );
            assert!(!may_refuse || refused > 50, "{name}: {refused} refused");
        }
    }

    #[test]
    fn a_seed_gives_the_same_literals_again() {
        assert_eq!(literals("date", 7, 100), literals("date", 7, 100));
        assert_ne!(literals("date", 7, 100), literals("date", 8, 100));
    }
}
