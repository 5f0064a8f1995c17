//! Whole random tables through the command: types, constraints, names, formats, line ends and values nobody thought of
//! together. `HOWDAH_TABLES` cases from `HOWDAH_SEED`; `make hostile` asks for thousands.
use howdah_encode::literals::{TYPES, literals};
use howdah_testkit::{Database, knob, quoted_field};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::judge::{Sample, judge};
use super::reference::{Dialect, Grammar, hostile};

/// Names that readers of headers and writers of SQL get wrong; a number makes each of them unique.
const NAMES: [&str; 14] = [
    "id",
    "Mixed Case",
    "select",
    "a\"b",
    "naïve",
    "with,comma",
    " blank ",
    "tab\t",
    "new\nline",
    "car\rriage",
    "%s$1",
    "back\\slash",
    "🐘",
    "'; DROP TABLE canary; --",
];

/// What a field is, before a dialect writes it.
#[derive(Debug, Clone)]
enum Cell {
    Null,
    Empty,
    QuotedEmpty,
    /// A literal of the column's type, good or bad.
    Literal(u64),
    /// Whatever the type.
    Text(String),
    /// Copied to the file as it is.
    Raw(String),
}

#[derive(Debug, Clone)]
struct Column {
    name: usize,
    ty: usize,
    not_null: bool,
}

#[derive(Debug, Clone)]
struct Table {
    columns: Vec<Column>,
    dialect: usize,
    /// Each row has one cell more than there can be columns; `extra` uses it.
    rows: Vec<(Vec<Cell>, Fault)>,
    line_end: &'static str,
    last_line_ends: bool,
    header: bool,
    byte_order_mark: bool,
    /// Repeated, rows fill several pieces of the input.
    copies: usize,
    jobs: usize,
}

/// What is wrong with the shape of a record.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    TooFew,
    TooMany,
}

const MOST_COLUMNS: usize = 6;

fn cell() -> impl Strategy<Value = Cell> {
    const PIECES: [&str; 30] = [
        "a",
        "b",
        " ",
        "  ",
        ",",
        "\t",
        "|",
        ";",
        "\"",
        "\"\"",
        "'",
        "\\",
        "\\N",
        "\\.",
        "\n",
        "\r",
        "\r\n",
        "é",
        "€",
        "😀",
        "\u{a0}",
        "\u{7f}",
        "\u{1b}[31m",
        "0",
        "1",
        "=1+1",
        "<b>",
        "q",
        "e",
        "x",
    ];
    let text = prop::collection::vec(prop::sample::select(&PIECES[..]), 0..6).prop_map(|p| p.concat());
    const RAW: [&str; 14] = [
        "\"", "\"a", "a\"b\"c", "\\", "\\.", "\\x4", "\\377", "\r", "NULL", "x", " ", "\u{0}", "\"\n\"", "''",
    ];
    prop_oneof![
        2 => Just(Cell::Null),
        1 => Just(Cell::Empty),
        1 => Just(Cell::QuotedEmpty),
        12 => any::<u64>().prop_map(Cell::Literal),
        3 => text.prop_map(Cell::Text),
        1 => prop::sample::select(&RAW[..]).prop_map(|raw| Cell::Raw(raw.to_owned())),
    ]
}

fn table() -> impl Strategy<Value = Table> {
    let column = (0..NAMES.len(), 0..TYPES.len(), prop::bool::weighted(0.2))
        .prop_map(|(name, ty, not_null)| Column { name, ty, not_null });
    let fault = prop_oneof![30 => Just(Fault::None), 1 => Just(Fault::TooFew), 1 => Just(Fault::TooMany)];
    let row = (prop::collection::vec(cell(), MOST_COLUMNS + 1), fault);
    (
        (
            prop::collection::vec(column, 1..=MOST_COLUMNS),
            0..hostile::dialects().len(),
            prop::collection::vec(row, 0..25),
        ),
        (
            prop::sample::select(&["\n", "\n", "\r\n", "\r"][..]),
            any::<bool>(),
            any::<bool>(),
            prop::bool::weighted(0.1),
        ),
        (prop_oneof![9 => Just(1_usize), 1 => 500..3_000_usize], prop::sample::select(&[1, 2, 4][..])),
    )
        .prop_map(
            |(
                (columns, dialect, rows),
                (line_end, last_line_ends, header, byte_order_mark),
                (copies, jobs),
            )| {
                Table {
                    columns,
                    dialect,
                    rows,
                    line_end,
                    last_line_ends,
                    header,
                    byte_order_mark,
                    copies,
                    jobs,
                }
            },
        )
}

impl Table {
    fn dialect(&self) -> Dialect {
        hostile::dialects().swap_remove(self.dialect)
    }

    fn name(&self, at: usize) -> String {
        format!("{}{at}", NAMES[self.columns[at].name])
    }

    fn definition(&self) -> String {
        let columns = self.columns.iter().enumerate().map(|(at, column)| {
            let name = self.name(at).replace('"', "\"\"");
            let not_null = if column.not_null { " NOT NULL" } else { "" };
            format!("\"{name}\" {}{not_null}", TYPES[column.ty].0)
        });
        columns.collect::<Vec<_>>().join(", ")
    }

    fn bytes(&self) -> Vec<u8> {
        let dialect = self.dialect();
        let mut file = String::new();
        if self.header {
            let names: Vec<String> =
                (0..self.columns.len()).map(|at| written(&dialect, &self.name(at))).collect();
            file += &names.join(&char::from(dialect.delimiter).to_string());
            file += self.line_end;
        }
        let mut records = String::new();
        for (cells, fault) in &self.rows {
            let fields = match fault {
                Fault::None => self.columns.len(),
                Fault::TooFew => self.columns.len() - 1,
                Fault::TooMany => self.columns.len() + 1,
            };
            let fields = cells[..fields].iter().enumerate().map(|(at, cell)| {
                let ty = self.columns.get(at).map_or("text", |column| TYPES[column.ty].0);
                self.field(&dialect, cell, ty)
            });
            records += &fields.collect::<Vec<_>>().join(&char::from(dialect.delimiter).to_string());
            records += self.line_end;
        }
        file += &records.repeat(self.copies);
        if !self.last_line_ends {
            file.truncate(file.trim_end_matches(['\r', '\n']).len());
        }
        let mut bytes = if self.byte_order_mark { b"\xEF\xBB\xBF".to_vec() } else { Vec::new() };
        bytes.extend_from_slice(file.as_bytes());
        bytes
    }

    fn field(&self, dialect: &Dialect, cell: &Cell, ty: &str) -> String {
        match cell {
            Cell::Null => String::from_utf8_lossy(&dialect.null).into_owned(),
            Cell::Empty => String::new(),
            Cell::QuotedEmpty => written(dialect, ""),
            Cell::Raw(raw) => raw.clone(),
            Cell::Text(text) => written(dialect, text),
            Cell::Literal(seed) => {
                let literal = literals(ty, *seed, 1).swap_remove(0);
                // It would be another value at each load.
                let moment = ["now", "today", "tomorrow", "yesterday"];
                let lower = literal.to_ascii_lowercase();
                written(
                    dialect,
                    if moment.iter().any(|word| lower.contains(word)) { "epoch" } else { &literal },
                )
            }
        }
    }
}

/// A value as the dialect has it, quoted where there is a reason, and sometimes where there is none.
fn written(dialect: &Dialect, value: &str) -> String {
    let (delimiter, quote, escape) = (dialect.delimiter, dialect.quote, dialect.escape).into_chars();
    if dialect.format == Grammar::Text {
        let mut field = String::new();
        for c in value.chars() {
            match c {
                '\n' => field += "\\n",
                '\r' => field += "\\r",
                '\\' => field += "\\\\",
                c if c == delimiter => field.extend(['\\', c]),
                c => field.push(c),
            }
        }
        return field;
    }
    let special = [delimiter, quote, '\n', '\r'];
    if !value.is_empty()
        && !value.len().is_multiple_of(3)
        && !value.contains(special)
        && value.as_bytes() != dialect.null
    {
        return value.to_owned();
    }
    quoted_field(value, quote, escape)
}

trait IntoChars {
    fn into_chars(self) -> (char, char, char);
}

impl IntoChars for (u8, u8, u8) {
    fn into_chars(self) -> (char, char, char) {
        (char::from(self.0), char::from(self.1), char::from(self.2))
    }
}

#[test]
fn any_table_is_what_psql_makes_of_it() {
    let (seed, cases) = (knob("HOWDAH_SEED", 20_261), knob("HOWDAH_TABLES", 40));
    println!("seed {seed}, {cases} tables");
    let mut key = [0; 32];
    key[..8].copy_from_slice(&(seed as u64).to_le_bytes());
    let config = Config {
        cases: u32::try_from(cases).unwrap(),
        max_shrink_iters: 300,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &key));
    let database = Database::new();
    database.sql("CREATE TABLE canary ()");
    let outcome = runner.run(&table(), |table| {
        let (columns, bytes) = (table.definition(), table.bytes());
        let sample = Sample {
            columns: &columns,
            dialect: table.dialect(),
            header: table.header,
            by_name: table.header,
            bytes: &bytes,
            jobs: table.jobs,
        };
        let told = |what: String| {
            TestCaseError::fail(format!(
                "{what}\n{columns}\n{:?}\n{:?}",
                sample.dialect,
                String::from_utf8_lossy(&bytes[..bytes.len().min(3_000)])
            ))
        };
        judge(&database, &sample).map(|_| ()).map_err(told)
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    database.sql("TABLE canary");
}
