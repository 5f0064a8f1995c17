//! Every write path stores what psql's `\copy` stores, byte for byte, from the same file.

use howdah::options::{HeaderOption, Mode, OnError, WritePath};
use howdah::report::CopyFormat;
use howdah_encode::copy_text;
use howdah_encode::literals::{NESTED_SETUP, TYPES, literals, nested_literals, nested_types};
use howdah_testkit::{Database, quoted_field};

use crate::common::{load, options, try_load};

/// Those whose statements can have any number of rows.
const MANY: [WritePath; 4] =
    [WritePath::InsertRewritten, WritePath::Values, WritePath::ValuesPrepared, WritePath::Unnest];

/// The same rows as CSV.
fn csv_lines(lines: &[u8]) -> Vec<u8> {
    let mut csv = Vec::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let fields = line.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\t');
        let fields = fields.map(|raw| {
            let mut value = Vec::new();
            copy_text::unescape(raw, &mut value);
            match raw {
                b"\\N" => String::new(),
                _ => quoted_field(std::str::from_utf8(&value).unwrap(), '"', '"'),
            }
        });
        csv.extend_from_slice(fields.collect::<Vec<_>>().join(",").as_bytes());
        csv.push(b'\n');
    }
    csv
}

fn lines(literals: &[String]) -> Vec<u8> {
    let mut lines = Vec::new();
    for (n, literal) in literals.iter().enumerate() {
        lines.extend_from_slice(format!("{n}\t").as_bytes());
        match n % 7 {
            6 => lines.extend_from_slice(b"\\N"),
            _ => copy_text::put_field(&mut lines, literal.as_bytes()),
        }
        lines.push(b'\n');
    }
    lines
}

/// How many tests share the types: each of them has an end on a busy machine, too.
const SHARES: usize = 4;

#[test]
fn types_of_the_first_share_arrive_by_every_path_as_by_psql() {
    types_arrive_by_every_path(0);
}

#[test]
fn types_of_the_second_share_arrive_by_every_path_as_by_psql() {
    types_arrive_by_every_path(1);
}

#[test]
fn types_of_the_third_share_arrive_by_every_path_as_by_psql() {
    types_arrive_by_every_path(2);
}

#[test]
fn types_of_the_last_share_arrive_by_every_path_as_by_psql() {
    types_arrive_by_every_path(SHARES - 1);
}

fn types_arrive_by_every_path(share: usize) {
    let database = Database::new();
    if database.sql("SHOW server_version_num").as_str() < "160000" {
        return;
    }
    database.sql("SELECT format('ALTER DATABASE %I SET lc_monetary = ''C''', current_database()) \\gexec");
    database.sql(NESTED_SETUP);
    let plain = TYPES.iter().map(|&(name, ..)| (name, literals(name, 5, 120)));
    let nested = nested_types();
    let made = nested.iter().map(|made| (made.name, nested_literals(made, 5, 120)));
    let mut differing = Vec::new();
    for (name, all) in plain.chain(made).skip(share).step_by(SHARES) {
        let file = database.file("literals.copy", {
            let mut lines = Vec::new();
            for (n, literal) in all.iter().enumerate() {
                lines.extend_from_slice(format!("{n}\t").as_bytes());
                copy_text::put_field(&mut lines, literal.as_bytes());
                lines.push(b'\n');
            }
            lines
        });
        database.sql(&format!(
            "DROP TABLE IF EXISTS literals, by_psql; CREATE TABLE literals (n int, literal text);
             CREATE TABLE by_psql (n int, v {name});
\\copy literals FROM '{file}'"
        ));
        let good = database.sql(&format!(
            "SELECT n FROM literals WHERE pg_input_is_valid(literal, '{name}') AND literal !~* 'now' ORDER BY n"
        ));
        let good: Vec<String> =
            good.lines().filter_map(|n| n.parse().ok()).map(|n: usize| all[n].clone()).collect();
        let nulls = !name.starts_with("given") || name.ends_with("[]");
        let content = if nulls { lines(&good) } else { lines(&good[..good.len().min(6)]) };
        let csv = database.file("accepted.csv", csv_lines(&content));
        let file = database.file("accepted.copy", content);
        database.sql(&format!("\\copy by_psql FROM '{file}'"));
        let wanted = database.binary_rows("by_psql");
        for path in WritePath::ALL {
            database.sql(&format!("DROP TABLE IF EXISTS by_us; CREATE TABLE by_us (n int, v {name})"));
            let mut options = options(if path == WritePath::CopyCsv { &csv } else { &file }, "by_us")
                .header(HeaderOption::No)
                .write_path(path);
            options.writing.rows_per_statement = MANY.contains(&path).then_some(7);
            match try_load(&database, &options) {
                Err(error) => differing.push(format!("{name} by {}: {error:?}", path.name())),
                Ok(_) if database.binary_rows("by_us") != wanted => {
                    differing.push(format!("{name} by {}: other bytes", path.name()));
                }
                Ok(_) => {}
            }
        }
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
}

const HOSTILE: &str = "1,\"it's\",\"{a,\"\"b\"\"}\"\n2,,\n3,\"\",{}\n4,\"a\\b\n\tc\",\"{NULL,\\\\\\\\}\"\n5,\\N,\"{\"\"}\"\"}\"\n";

#[test]
fn hostile_strings_nulls_and_empty_strings_arrive_as_they_are() {
    let database = Database::new();
    let file = database.file("hostile.csv", HOSTILE.replace("{\"\"}\"\"}", "{\"\"}\"\",x}"));
    database
        .sql(&format!("CREATE TABLE by_psql (n int, s text, a text[]);\n\\copy by_psql FROM '{file}' CSV"));
    let wanted = database.binary_rows("by_psql");
    for path in WritePath::ALL {
        for conforming in ["on", "off"] {
            database.sql(&format!(
                "SELECT format('ALTER DATABASE %I SET standard_conforming_strings = {conforming}', current_database()) \\gexec"
            ));
            database.sql("DROP TABLE IF EXISTS by_us; CREATE TABLE by_us (n int, s text, a text[])");
            let wanted_load = options(&file, "by_us").header(HeaderOption::No).write_path(path);
            assert_eq!(load(&database, &wanted_load).write_path, Some(path));
            assert!(database.binary_rows("by_us") == wanted, "{} {conforming}", path.name());
        }
    }
}

#[test]
fn a_row_that_only_the_server_refuses_is_named_and_the_others_are_in() {
    let database = Database::new();
    let content: String = (0..300).map(|n| format!("{n},{}\n", if n % 97 == 5 { -1 } else { n })).collect();
    let file = database.file("rows.csv", content);
    for path in WritePath::ALL.into_iter().filter(|path| *path != WritePath::CopyCsv) {
        database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (n int GENERATED ALWAYS AS IDENTITY, v int CHECK (v >= 0))");
        let wanted = options(&file, "t")
            .header(HeaderOption::No)
            .write_path(path)
            .mode(Mode::Append)
            .on_error(OnError::Ignore)
            .rejects(database.path("t.rejects.jsonl"));
        let report = load(&database, &wanted);
        assert_eq!((report.rows, report.rows_rejected), (296, 4), "{}", path.name());
        if path == WritePath::Landing {
            let kept = database.sql("SELECT count(*), min(v), max(v) FROM t_landing_rejects");
            assert_eq!(kept, "4|-1|-1");
            continue;
        }
        let rejects = std::fs::read_to_string(database.path("t.rejects.jsonl")).unwrap();
        let line =
            |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["line"].as_u64().unwrap();
        let lines: Vec<u64> = rejects.lines().filter(|text| text.contains("\"line\"")).map(line).collect();
        assert_eq!(lines, [6, 103, 200, 297], "{}", path.name());
        assert_eq!(database.sql("SELECT count(*), min(n) FROM t"), "296|0", "{}", path.name());
    }
}

#[test]
fn an_interval_s_modifier_reads_its_literals_also_where_rows_travel_as_text() {
    let database = Database::new();
    // Dates that only the server can read, and many of them: the rows travel as text.
    let content: String = (1..300).map(|n| format!("{n},{n},\"January 8, {}\"\n", 1700 + n)).collect();
    let file = database.file("days.csv", content);
    let table = |name: &str| {
        format!("DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (n int, i interval day, d date);")
    };
    database.sql(&format!("{}\n\\copy by_psql FROM '{file}' CSV", table("by_psql")));
    let wanted = database.binary_rows("by_psql");
    for path in WritePath::ALL {
        database.sql(&table("by_us"));
        let asked = options(&file, "by_us").header(HeaderOption::No).write_path(path);
        let report = load(&database, &asked);
        let format = if path == WritePath::CopyCsv { CopyFormat::Csv } else { CopyFormat::Text };
        assert_eq!(report.copy_format, Some(format), "{}", path.name());
        assert!(database.binary_rows("by_us") == wanted, "{}", path.name());
    }
}

#[test]
fn no_row_is_lost_where_several_connections_write_or_a_statement_is_full() {
    let database = Database::new();
    // Long rows, so that there are three parts, and statements that are sent for their bytes.
    let text = "x".repeat(700_000);
    let content: String = (0..60).map(|n| format!("{n},{text}{n}\n")).collect();
    let file = database.file("long.csv", content);
    for path in WritePath::ALL {
        database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (n int, v text)");
        let asked = options(&file, "t").header(HeaderOption::No).write_path(path).jobs(2);
        let report = load(&database, &asked);
        assert_eq!((report.rows, report.jobs), (60, 2), "{}", path.name());
        let found = "SELECT count(DISTINCT n), min(length(v)), bool_and(v LIKE '%x' || n) FROM t";
        assert_eq!(database.sql(found), "60|700001|t", "{}", path.name());
    }
}

#[test]
fn a_choice_that_a_write_path_does_not_have_is_refused() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let file = database.file("n.csv", "1\n");
    for path in WritePath::ALL.iter().filter(|path| !MANY.contains(path)) {
        let asked = options(&file, "t").write_path(*path).rows_per_statement(10);
        let error = try_load(&database, &asked).unwrap_err();
        assert!(error.to_string().contains("rows_per_statement"), "{error}");
    }
}
