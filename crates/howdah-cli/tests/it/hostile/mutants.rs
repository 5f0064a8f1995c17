//! Files that were good until something happened to them: ragged rows, stray quotes, mixed delimiters, lost bytes.

use howdah_testkit::Database;

use super::judge::{Sample, judge};
use super::reference::hostile::{Dice, dialects, files, handwritten};
use super::reference::{self, Dialect, Grammar};
use super::{dice, share};

const COLUMNS: &str = "id int, name varchar(12), price numeric(8,2), at timestamp NOT NULL";

const LINES: [&[u8]; 6] = [b"\r", b"\n", b"\r\n", b"\n\n", b"\\.\n", b"\n\\.\n"];
/// The last one is text.
const NOT_TEXT: [&[u8]; 7] =
    [b"\xFF", b"\xC3", b"\xE2\x82", b"\xED\xA0\x80", b"\xC0\x80", b"\0", b"\xF0\x9F\x90\x98"];

/// A good file.
fn table(dice: &mut Dice, dialect: &Dialect, header: bool) -> Vec<u8> {
    let (delimiter, quote) = (char::from(dialect.delimiter), char::from(dialect.quote));
    let line_end = *dice.pick(&["\n", "\n", "\r\n", "\r"]);
    let mut file = String::new();
    if header {
        file += &["id", "name", "price", "at"].join(&delimiter.to_string());
        file += line_end;
    }
    for id in 0..2 + dice.below(20) {
        let mut name = dice.pick(&["anna", "", "o'neil", "żółw", " x ", "a b"]).replace(delimiter, "");
        if dialect.format == Grammar::Csv && dice.one_in(3) {
            let inner = dice.pick(&["\n", "\r\n", ",", "", ";", "\t"]);
            name = format!("{quote}{}{inner}{quote}", name.replace([quote, char::from(dialect.escape)], ""));
        }
        let price = format!("{}.{:02}", dice.below(1000), dice.below(100));
        let at = format!("2024-0{}-1{} 10:00:00", 1 + dice.below(9), dice.below(10));
        file += &[id.to_string(), name, price, at].join(&delimiter.to_string());
        file += line_end;
    }
    file.into_bytes()
}

/// Makes one thing wrong.
fn mutate(dice: &mut Dice, file: &mut Vec<u8>, dialect: &Dialect) {
    let at = dice.below(file.len() + 1);
    let to = (at + 1 + dice.below(12)).min(file.len());
    let mut insert = |bytes: &[u8]| drop(file.splice(at..at, bytes.iter().copied()));
    match dice.below(12) {
        0 => insert(&[dialect.delimiter]),
        1 => insert(&[dialect.quote]),
        2 => insert(&[dialect.quote, dialect.quote]),
        3 => insert(LINES[dice.below(LINES.len())]),
        4 => insert(&[*dice.pick(b";\t|\\'\"q")]),
        5 => insert(NOT_TEXT[dice.below(NOT_TEXT.len())]),
        6 => drop(file.drain(at..to)),
        7 => file.truncate(at),
        8 => {
            let again = file[at..to].to_vec();
            drop(file.splice(at..at, again));
        }
        9 => {
            // Another delimiter from here to the end of the line.
            let other = *dice.pick(b";\t|,");
            for byte in file[at..].iter_mut().take_while(|byte| **byte != b'\n') {
                if *byte == dialect.delimiter {
                    *byte = other;
                }
            }
        }
        10 => {
            // A field is lost.
            let end =
                file[at..].iter().position(|byte| *byte == dialect.delimiter).map_or(at, |n| at + n + 1);
            drop(file.drain(at..end));
        }
        _ => {
            if let Some(byte) = file.get_mut(at) {
                *byte ^= 1 << dice.below(7);
            }
        }
    }
}

#[test]
fn a_damaged_record_costs_only_itself_and_is_named_as_psql_names_it() {
    let database = Database::new();
    let mut dice = dice("mutants");
    let (mut refused, mut rejects) = (0, 0);
    let count = share(3_000, 30);
    for n in 0..count {
        let dialect = if dice.one_in(3) { dice.pick(&dialects()).clone() } else { Dialect::csv() };
        let header = dice.one_in(2);
        let mut bytes = table(&mut dice, &dialect, header);
        for _ in 0..1 + dice.below(3) {
            mutate(&mut dice, &mut bytes, &dialect);
        }
        let jobs = *dice.pick(&[1, 2, 4]);
        let sample = Sample { columns: COLUMNS, dialect, header, by_name: false, bytes: &bytes, jobs };
        match judge(&database, &sample) {
            Ok(verdict) => {
                refused += usize::from(verdict.refused.is_some());
                rejects += verdict.rejects.len();
            }
            Err(what) => {
                panic!("mutant {n}: {what}\n{:?}\n{:?}", sample.dialect, String::from_utf8_lossy(&bytes))
            }
        }
    }
    println!("{count} files, psql refuses {refused}, {rejects} rejects");
}

#[test]
fn files_that_break_readers_of_csv_are_read_as_psql_reads_them() {
    let database = Database::new();
    let seed = dice("hostile files").0;
    let every = share(1, 9);
    let thought_of = handwritten().into_iter().map(|(dialect, bytes)| (dialect, bytes.to_vec()));
    for (n, (dialect, bytes)) in files(seed, share(2_000, 90)).into_iter().chain(thought_of).enumerate() {
        // A byte order mark before a quote is psql's first field, and none of ours.
        if n % every != 0 || bytes.starts_with(b"\xEF\xBB\xBF") {
            continue;
        }
        let records = reference::read(&bytes, &dialect);
        let fields = records.iter().flatten().next().map_or(1, |record| record.fields.len());
        let columns: Vec<String> = (1..=fields).map(|n| format!("c{n} text")).collect();
        let columns = columns.join(", ");
        let sample = Sample { dialect, ..Sample::csv(&columns, &bytes) };
        let judged = judge(&database, &sample);
        judged.map(drop).unwrap_or_else(|what| {
            panic!("file {n}: {what}\n{:?}\n{:?}", sample.dialect, String::from_utf8_lossy(&bytes))
        });
    }
}
