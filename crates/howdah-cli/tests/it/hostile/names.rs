//! Names of tables, columns, schemas and files that are no names anybody would choose: made under exactly that name where
//! PostgreSQL can keep it and no other column has it, columns else under another, tables refused; never read as SQL.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use howdah_testkit::Database;
use howdah_testkit::secrets::Guarded;

use super::command::howdah;
use super::reference::hostile::Rng;
use super::{rng, share};

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

fn name(rng: &mut Rng) -> String {
    match rng.below(12) {
        0 => "x".repeat(62 + rng.below(3)),
        // Two bytes each: the limit falls within a character.
        1 => format!("{}é", "x".repeat(61 + rng.below(3))),
        2 => "é".repeat(31 + rng.below(2)),
        _ => (0..1 + rng.below(4)).map(|_| *rng.pick(&PIECES)).collect(),
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
fn columns_tables_and_schemas_get_exactly_their_names_where_these_can_be() {
    let database = Database::new();
    database.sql("CREATE TABLE canary (n int); INSERT INTO canary VALUES (1)");
    let mut rng = rng("names");
    let (mut made, mut refused) = (0, 0);
    // Ten columns, a table and a schema a file.
    for n in 0..share(450, 12) {
        let columns: Vec<String> = (0..10).map(|_| name(&mut rng)).collect();
        let (table, schema) = (name(&mut rng), name(&mut rng));
        let in_schema = fits(&schema) && rng.one_in(3);
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
        let keeps = |name: &&String| fits(name) && !name.trim().is_empty();
        let possible = fits(&table);
        let found = database.sql(&format!(
            "SELECT attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace \
             WHERE attnum > 0 AND relname = {} AND nspname = {} ORDER BY attnum",
            literal(&table),
            literal(&schema)
        ));
        if possible {
            assert_eq!(run.code, 0, "{n}: {}", run.said());
            if distinct && columns.iter().all(|name| keeps(&name)) {
                assert_eq!(found, columns.join("\n"), "{n}: {table:?}");
            }
            let kept: BTreeSet<String> = columns.iter().filter(keeps).map(|name| literal(name)).collect();
            let kept: Vec<String> = kept.into_iter().collect();
            let counts = database.sql(&format!(
                "SELECT count(*), count(*) FILTER (WHERE attname = ANY (ARRAY[{}]::name[])) FROM pg_attribute \
                 WHERE attnum > 0 AND attrelid = {}::regclass",
                kept.join(", "),
                literal(&target)
            ));
            assert_eq!(counts, format!("{}|{}", columns.len(), kept.len()), "{n}: {columns:?}");
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
    let mut rng = rng("file names");
    for _ in 0..share(300, 10) {
        let stem = name(&mut rng).replace('/', "");
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

#[test]
fn a_file_whose_name_is_no_text_is_loaded_and_gives_no_table_its_name() {
    let database = Database::new();
    let path = Path::new(&database.path("")).join(OsStr::from_bytes(b"caf\xe9.csv"));
    std::fs::write(&path, "a,b\n1,x\n").unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
        command.args(["load", "-w", "-d", &database.conninfo()]).args(args).arg(&path).guarded_output()
    };
    let refused = run(&[]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("caf\u{fffd}.csv has no name that a table could have"), "{said}");
    let loaded = run(&["--table", "t"]);
    assert_eq!(loaded.status.code(), Some(0), "{}", String::from_utf8_lossy(&loaded.stderr));
    assert_eq!(database.sql("TABLE t"), "1|x");
}
