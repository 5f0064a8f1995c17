//! What files as a whole are sent with: preambles, footers, other encodings, other line ends, nothing at all. Every pair of
//! such oddities has a defined result: rows as psql stores them, or a refusal that leaves nothing behind.

use howdah_testkit::Database;

use super::command::howdah;
use super::judge::{Sample, decoded, judge, without_empty_end};
use super::reference::Dialect;
use super::share;

const COLUMNS: &str = "id int, name text, at date";

type Oddity = (&'static str, fn(Vec<u8>) -> Vec<u8>);

fn file() -> Vec<u8> {
    b"id,name,at\n1,\"a, b\",2024-01-01\n2,caf\xC3\xA9,2024-01-02\n3,\"two\nlines\",\n".to_vec()
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    // Not all of the oddities are text.
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from.as_bytes()) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to.as_bytes());
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

fn utf16(bytes: &[u8], order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(order).collect()
}

const ENDED: &str = "a delimiter at the end of each line";

const ODDITIES: [Oddity; 24] = [
    ("as it is", |bytes| bytes),
    ("empty", |_| Vec::new()),
    ("header only", |bytes| bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default().to_vec()),
    ("no newline at the end", |bytes| bytes.strip_suffix(b"\n").unwrap_or(&bytes).to_vec()),
    ("a byte order mark", |bytes| [b"\xEF\xBB\xBF", &bytes[..]].concat()),
    ("a preamble", |bytes| [b"Report of 2024\n\n", &bytes[..]].concat()),
    ("the separator named", |bytes| [b"sep=,\n", &bytes[..]].concat()),
    ("a comment", |bytes| [b"# made by hand\n", &bytes[..]].concat()),
    ("a footer", |bytes| [&bytes[..], b"total,3\n"].concat()),
    ("a second table", |bytes| [&bytes[..], b"\nkey,value\na,1\n"].concat()),
    ("the file twice", |bytes| bytes.repeat(2)),
    ("empty lines before", |bytes| [b"\n\n", &bytes[..]].concat()),
    ("empty lines behind", |bytes| [&bytes[..], b"\n\n\n"].concat()),
    ("carriage returns", |bytes| replaced(&bytes, "\n", "\r")),
    ("both line ends", |bytes| replaced(&bytes, "\n", "\r\n")),
    ("a line end of another kind", |bytes| [&bytes[..], b"4,d,\r\n5,e,\n"].concat()),
    ("semicolons", |bytes| replaced(&bytes, ",", ";")),
    (ENDED, |bytes| replaced(&bytes, "\n", ",\n")),
    ("blanks behind delimiters", |bytes| replaced(&bytes, ",", ", ")),
    ("UTF-16, little end first", |bytes| utf16(&bytes, u16::to_le_bytes)),
    ("UTF-16, big end first", |bytes| utf16(&bytes, u16::to_be_bytes)),
    ("Latin-1", |bytes| {
        replaced(&bytes, "é", "e").iter().map(|byte| if *byte == b'c' { 0xE9 } else { *byte }).collect()
    }),
    ("control-Z at the end", |bytes| [&bytes[..], b"\x1a"].concat()),
    ("NULs behind", |bytes| [&bytes[..], &[0; 512]].concat()),
];

#[test]
fn every_pair_of_oddities_has_the_result_that_psql_has() {
    let database = Database::new();
    let mut cases = 0;
    let every = share(1, 19);
    for (first, one) in ODDITIES {
        for (second, other) in ODDITIES {
            cases += 1;
            // What is done to single bytes makes no text of UTF-16.
            let is_damage = first.starts_with("UTF-16") && second != "as it is";
            if cases % every != 0 || is_damage {
                continue;
            }
            let bytes = other(one(file()));
            // Half a character at the end is tested with the encodings: psql cannot be asked about it.
            if matches!(bytes[..], [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]) && !bytes.len().is_multiple_of(2) {
                continue;
            }
            let told = |what: String| {
                panic!("{first}, then {second}: {what}\n{:?}", String::from_utf8_lossy(&bytes))
            };
            // Without a header we take a delimiter at the end of each line, and psql does not.
            let header = cases % 2 == 0 || [first, second].contains(&ENDED);
            let sample = Sample {
                columns: COLUMNS,
                dialect: Dialect::csv(),
                header,
                by_name: false,
                bytes: &bytes,
                jobs: 2,
            };
            judge(&database, &sample).map(drop).unwrap_or_else(told);
            new_table(&database, &bytes).unwrap_or_else(told);
        }
    }
}

/// A table made from the file holds what psql stores in its twin; a refused file makes none.
fn new_table(database: &Database, bytes: &[u8]) -> Result<(), String> {
    database.sql("DROP TABLE IF EXISTS made, twin");
    let file = database.file("odd.csv", bytes);
    let args = ["load", &file, "--table", "made", "--jobs", "1"].map(str::to_owned);
    let run = howdah(database, &args).check(bytes)?;
    if run.code != 0 {
        let is_there = database.sql("SELECT to_regclass('made') IS NOT NULL");
        let says_why = run.stderr.contains("error: ") && matches!(run.code, 1 | 2);
        return if is_there == "f" && says_why { Ok(()) } else { Err(run.said()) };
    }
    let bytes = &*decoded(bytes);
    if bytes.contains(&0) {
        return Err(format!("a NUL was let through: {}", run.said()));
    }
    let header =
        run.report["plan"]["header"].as_str().is_some_and(|why| why.starts_with("record 1 is the header"));
    let guessed = |what: &str| run.report["plan"]["dialect"][what].as_str().unwrap_or_default();
    let [delimiter, quote, escape] = ["delimiter", "quote", "escape"].map(guessed);
    let byte = |text: &str, usual: u8| text.bytes().next().unwrap_or(usual);
    let dialect = Dialect {
        delimiter: byte(delimiter, b','),
        quote: byte(quote, b'"'),
        escape: byte(escape, b'"'),
        ..Dialect::csv()
    };
    let several = run.report["plan"]["columns"].as_array().is_some_and(|columns| columns.len() > 1);
    let bytes = without_empty_end(bytes, several, &dialect);
    let file = database.file("for_psql", bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes));
    let literal = |text: &str| text.replace('\'', "''");
    // psql takes what is behind the last delimiter for a column.
    let [ended, whole] = match run.stderr.contains("nothing stands behind the last delimiter") {
        true => ["ALTER TABLE twin ADD ended text;", "ALTER TABLE twin DROP ended;"],
        false => [""; 2],
    };
    let stored = database.try_sql(&format!(
        "CREATE TABLE twin (LIKE made);{ended}\n\\copy twin FROM '{file}' (FORMAT csv, HEADER {header}, DELIMITER '{}', QUOTE '{}', ESCAPE '{}')\n{whole}",
        literal(delimiter),
        literal(quote),
        literal(escape)
    ));
    stored.map_err(|error| format!("psql refuses what we take: {error}"))?;
    if database.binary_rows("made") != database.binary_rows("twin") {
        return Err("the rows differ from psql's".to_owned());
    }
    Ok(())
}
