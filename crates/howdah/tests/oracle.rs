//! The oracle: for generated literals of every type, our verdict is the server's, and what we load is what psql's `\copy`
//! stores, byte for byte.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]
#![expect(clippy::print_stdout, reason = "the seed and the counts are worth reading")]

mod common;

use common::{load, options};
use howdah::LoadOptions;
use howdah::options::HeaderOption;
use howdah_encode::literals::{TYPES, literals};
use howdah_encode::{NotEncoded, SessionRules, TextCodec, copy_text};
use howdah_testkit::Database;

const SEED: u64 = 20_261;
/// Literals a type.
const COUNT: usize = 2_000;

/// What the server says of a literal: accepted, or refused with this SQLSTATE.
type Verdict = Option<String>;

/// Lines of COPY text, one literal each, numbered.
fn numbered(literals: &[String]) -> Vec<u8> {
    let mut lines = Vec::new();
    for (n, literal) in literals.iter().enumerate() {
        lines.extend_from_slice(format!("{n}\t").as_bytes());
        copy_text::put_field(&mut lines, literal.as_bytes());
        lines.push(b'\n');
    }
    lines
}

fn server_verdicts(database: &Database, type_name: &str, all: &[String]) -> Vec<Verdict> {
    let file = database.file("literals.copy", numbered(all));
    database.sql(&format!(
        r"DROP TABLE IF EXISTS literals; CREATE TABLE literals (n int, literal text);
\copy literals FROM '{file}'"
    ));
    let answer = database.sql(&format!(
        "SELECT coalesce((pg_input_error_info(literal, '{type_name}')).sql_error_code, 'ok') FROM literals ORDER BY n"
    ));
    answer.split('\n').map(|code| (code != "ok").then(|| code.to_owned())).collect()
}

/// Compares one type; returns how many literals were encoded, invalid, unsure.
fn compare(
    database: &Database,
    rules: &SessionRules,
    (type_name, oid, typmod): (&str, u32, i32),
) -> [usize; 3] {
    let all = literals(type_name, SEED, COUNT);
    let verdicts = server_verdicts(database, type_name, &all);
    assert_eq!(verdicts.len(), all.len());
    let Some(codec) = TextCodec::for_type(oid, typmod, rules) else {
        println!("{type_name}: not decided in this session");
        return [0; 3];
    };
    let mut counts = [0; 3];
    let mut accepted = Vec::new();
    for (literal, verdict) in all.iter().zip(&verdicts) {
        let mut field = Vec::new();
        match codec.encode(literal.as_bytes(), &mut field) {
            Ok(()) => {
                counts[0] += 1;
                // json is passed on unvalidated: the server judges it.
                let judged_there = type_name.starts_with("json");
                assert!(
                    verdict.is_none() || judged_there,
                    "{type_name} {literal:?}: encoded, the server says {verdict:?}"
                );
            }
            Err(NotEncoded::Invalid(invalid)) => {
                counts[1] += 1;
                assert_eq!(
                    verdict.as_deref(),
                    Some(invalid.sqlstate),
                    "{type_name} {literal:?}: {}",
                    invalid.reason
                );
            }
            Err(NotEncoded::Unsure) => counts[2] += 1,
        }
        // What the server takes must arrive, whoever read it; `now` is another value at the second load.
        if verdict.is_none() && !literal.to_ascii_lowercase().contains("now") {
            accepted.push(literal.clone());
        }
    }
    database.sql(&format!("DROP TABLE IF EXISTS by_psql, by_us; CREATE TABLE by_psql (n int, v {type_name}); CREATE TABLE by_us (n int, v {type_name})"));
    let file = database.file("accepted.copy", numbered(&accepted));
    database.sql(&format!(r"\copy by_psql FROM '{file}'"));
    let report = load(database, &LoadOptions { header: HeaderOption::No, ..options(&file, "by_us") });
    assert_eq!(report.rows, accepted.len() as u64, "{type_name}");
    let differing = database.sql("SELECT count(*) FROM by_psql p FULL JOIN by_us u USING (n) WHERE p.v::text IS DISTINCT FROM u.v::text");
    assert_eq!(differing, "0", "{type_name}: values differ");
    assert!(
        database.binary_rows("by_us") == database.binary_rows("by_psql"),
        "{type_name}: stored bytes differ"
    );
    counts
}

fn compare_all(settings: &[(&str, &str)]) {
    let database = Database::new();
    if database.sql("SHOW server_version_num").as_str() < "160000" {
        println!("skipped: pg_input_error_info needs PostgreSQL 16");
        return;
    }
    for (name, value) in settings {
        database.sql(&format!(
            "SELECT format('ALTER DATABASE %I SET {name} = %L', current_database(), '{value}') \\gexec"
        ));
    }
    let [zone, dates, intervals, money] = ["timezone", "datestyle", "intervalstyle", "lc_monetary"]
        .map(|name| database.sql(&format!("SHOW {name}")));
    let rules = SessionRules::from_settings(&zone, &dates, &intervals, &money);
    println!("seed {SEED}, {COUNT} literals a type, {settings:?}: encoded, invalid, unsure");
    for &entry in TYPES {
        println!("{}: {:?}", entry.0, compare(&database, &rules, entry));
    }
}

#[test]
fn every_codec_agrees_with_the_server_s_input_function() {
    compare_all(&[]);
}

#[test]
fn every_codec_agrees_under_a_zone_with_daylight_saving_and_other_orders_and_styles() {
    compare_all(&[
        ("timezone", "America/New_York"),
        ("datestyle", "ISO, DMY"),
        ("intervalstyle", "sql_standard"),
    ]);
}
