//! Names of tables, columns, schemas and files that are no names anybody would choose: made under exactly that name, or
//! refused; never read as SQL, never cut.

use std::collections::BTreeSet;

use howdah_testkit::Database;

use super::command::howdah;
use super::reference::hostile::Dice;
use super::{dice, share};

const PIECES: [&str; 34] = [
    "a",
    "B",
    "_",
    "1",
    " ",
    "  ",
    "\"",
    "\"\"",
    "'",
    ";",
    "--",
    "/*",
    "*/",
    "\\",
    "$$",
    "$1",
    ".",
    ",",
    "(",
    ")",
    "select",
    "ORDER",
    "\"; DROP TABLE canary; --",
    "'); DROP TABLE canary; --",
    "é",
    "ß",
    "İ",
    "🐘",
    "\u{202e}",
    "\u{200b}",
    "\t",
    "\n",
    "%",
    "\u{1b}[31m",
];

fn name(dice: &mut Dice) -> String {
    match dice.below(12) {
        0 => "x".repeat(62 + dice.below(3)),
        // Two bytes each: the limit falls within a character.
        1 => format!("{}é", "x".repeat(61 + dice.below(3))),
        2 => "é".repeat(31 + dice.below(2)),
        _ => (0..1 + dice.below(4)).map(|_| *dice.pick(&PIECES)).collect(),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(name: &str) -> String {
    format!("E'{}'", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// What PostgreSQL can keep as it is.
fn fits(name: &str) -> bool {
    !name.is_empty() && name.len() <= 63
}

fn expect_canary(database: &Database) {
    assert_eq!(database.sql("SELECT n FROM public.canary"), "1", "the canary is dead");
}

#[test]
fn columns_tables_and_schemas_get_exactly_their_names_or_none() {
    let database = Database::new();
    database.sql("CREATE TABLE canary (n int); INSERT INTO canary VALUES (1)");
    let mut dice = dice("names");
    let (mut made, mut refused) = (0, 0);
    // Ten columns, a table and a schema a file.
    for n in 0..share(450, 12) {
        let columns: Vec<String> = (0..10).map(|_| name(&mut dice)).collect();
        let (table, schema) = (name(&mut dice), name(&mut dice));
        let in_schema = fits(&schema) && dice.one_in(3);
        let schema = if in_schema { schema } else { "public".to_owned() };
        database.sql(&format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(&schema)));
        let header: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let bytes = format!("{}\n{}\n", header.join(","), vec!["v"; columns.len()].join(","));
        let file = database.file("names.csv", &bytes);
        let target = format!("{}.{}", quoted(&schema), quoted(&table));
        let args = ["load", &file, "--table", &target, "--header", "--mode", "replace"].map(str::to_owned);
        let run = howdah(&database, &args).check(bytes.as_bytes());
        let run = run.unwrap_or_else(|what| panic!("{n}: {what}"));
        let distinct = columns.iter().collect::<BTreeSet<_>>().len() == columns.len();
        let possible = distinct && columns.iter().all(|name| fits(name)) && fits(&table);
        let found = database.sql(&format!(
            "SELECT attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace \
             WHERE attnum > 0 AND relname = {} AND nspname = {} ORDER BY attnum",
            literal(&table),
            literal(&schema)
        ));
        if possible {
            assert_eq!(run.code, 0, "{n}: {}", run.said());
            assert_eq!(found, columns.join("\n"), "{n}: {table:?}");
            made += 1;
        } else {
            assert_eq!((run.code, found.as_str()), (2, ""), "{n}: {columns:?} {table:?}: {}", run.said());
            refused += 1;
        }
        // Of a table that is there, names are found, quoted and written about again.
        if possible {
            let again = ["load", &file, "--table", &target, "--jobs", "2", "-v"].map(str::to_owned);
            let run = howdah(&database, &again)
                .check(bytes.as_bytes())
                .unwrap_or_else(|what| panic!("{n}: {what}"));
            assert_eq!(run.code, 0, "{n}: {}", run.said());
            assert_eq!(database.sql(&format!("SELECT count(*) FROM {target}")), "2");
            database.sql(&format!("DROP TABLE {target}"));
        }
        if schema != "public" {
            database.sql(&format!("DROP SCHEMA {}", quoted(&schema)));
        }
        expect_canary(&database);
    }
    let left = database
        .sql("SELECT string_agg(relname, ' ') FROM pg_class WHERE relnamespace = 'public'::regnamespace");
    assert_eq!(left, "canary");
    println!("{made} tables made, {refused} refused");
}

#[test]
fn a_table_that_is_called_like_its_file_is_called_exactly_so() {
    let database = Database::new();
    database.sql("CREATE TABLE canary (n int); INSERT INTO canary VALUES (1)");
    let mut dice = dice("file names");
    for _ in 0..share(300, 10) {
        let stem = name(&mut dice).replace('/', "");
        if stem.is_empty() || stem.contains('.') {
            continue;
        }
        let file = database.file(&format!("{stem}.csv"), b"id,v\n1,x\n");
        let args = ["load", &file].map(str::to_owned);
        let run = howdah(&database, &args).check(b"").unwrap_or_else(|what| panic!("{stem:?}: {what}"));
        let found = database.sql("SELECT '[' || relname || ']' FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'canary'");
        if fits(&stem) {
            assert_eq!((run.code, found), (0, format!("[{stem}]")), "{}", run.said());
            database.sql(&format!("DROP TABLE {}", quoted(&stem)));
        } else {
            assert_eq!((run.code, found.as_str()), (2, ""), "{}", run.said());
        }
        std::fs::remove_file(file).unwrap();
        expect_canary(&database);
    }
}
