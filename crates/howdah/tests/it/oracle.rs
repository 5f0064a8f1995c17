//! The oracle: for generated literals of every type, our verdict is the server's, and what we load is what psql's `\copy`
//! stores, byte for byte. `HOWDAH_ORACLE_LITERALS` a type, from `HOWDAH_SEED`; `make oracle` asks for 100,000.

use howdah::LoadOptions;
use howdah::options::{HeaderOption, OnError};
use howdah_encode::literals::{NESTED_SETUP, TYPES, literals, nested_literals, nested_types};
use howdah_encode::{NotEncoded, SessionRules, TextCodec, copy_text};
use howdah_testkit::require::missing;
use howdah_testkit::{Database, knob};

use crate::common::{load, options, try_load};

/// Differences of one type that are printed; the rest would be more of the same.
const SHOWN: usize = 20;

/// What the server says of a literal: accepted, or refused with this SQLSTATE.
type Verdict = Option<String>;

/// What the codec made of the literals of one type, and where the server disagrees.
#[derive(Default)]
struct Comparison {
    encoded: usize,
    invalid: usize,
    unsure: usize,
    differences: Vec<String>,
}

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

/// Compares one type.
fn compare(
    database: &Database,
    type_name: &str,
    // Some types are read only in some sessions.
    codec: Option<TextCodec>,
    all: &[String],
) -> Comparison {
    let verdicts = server_verdicts(database, type_name, all);
    assert_eq!(verdicts.len(), all.len());
    let encode = |literal: &str| match &codec {
        Some(codec) => codec.encode(literal.as_bytes(), &mut Vec::new()),
        None => Err(NotEncoded::Unsure),
    };
    let mut found = Comparison::default();
    let mut accepted = Vec::new();
    for (literal, verdict) in all.iter().zip(&verdicts) {
        let server = verdict.as_deref().unwrap_or("accepted");
        match encode(literal) {
            Ok(()) => {
                found.encoded += 1;
                // json is passed on unvalidated: the server judges it.
                if verdict.is_some() && !type_name.starts_with("json") {
                    found.differences.push(format!("{literal:?}: encoded, the server says {server}"));
                }
            }
            Err(NotEncoded::Invalid(invalid)) => {
                found.invalid += 1;
                if verdict.as_deref() != Some(invalid.sqlstate) {
                    let ours = format!("{} {}", invalid.sqlstate, invalid.reason);
                    found.differences.push(format!("{literal:?}: {ours}, the server says {server}"));
                }
            }
            Err(NotEncoded::Unsure) => found.unsure += 1,
        }
        // What the server takes must arrive, whoever read it; `now` is another value at the second load.
        if verdict.is_none() && !literal.to_ascii_lowercase().contains("now") {
            accepted.push(literal.clone());
        }
    }
    if found.differences.is_empty() {
        found.differences = stored_otherwise(database, type_name, &accepted);
    }
    found
}

/// Loads literals that the server accepts, by psql and by us: which of them arrive as another value.
fn stored_otherwise(database: &Database, type_name: &str, accepted: &[String]) -> Vec<String> {
    database.sql(&format!("DROP TABLE IF EXISTS by_psql, by_us; CREATE TABLE by_psql (n int, v {type_name}); CREATE TABLE by_us (n int, v {type_name})"));
    let file = database.file("accepted.copy", numbered(accepted));
    database.sql(&format!(r"\copy by_psql FROM '{file}'"));
    let wanted = options(&file, "by_us").header(HeaderOption::No);
    let rows = match try_load(database, &wanted) {
        Ok((report, _)) => report.rows,
        Err(_) => return refused(database, &wanted, accepted),
    };
    if rows == accepted.len() as u64 && database.binary_rows("by_us") == database.binary_rows("by_psql") {
        return Vec::new();
    }
    let differing = database.sql(
        "SELECT n, p.v::text, u.v::text FROM by_psql p FULL JOIN by_us u USING (n) WHERE p.v::text IS DISTINCT FROM u.v::text ORDER BY n",
    );
    let of_lines = differing.lines().map(|line| {
        let n: usize = line.split('|').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        format!("{:?}: n|psql's|ours {line}", accepted[n])
    });
    let found: Vec<String> = of_lines.collect();
    if found.is_empty() { vec!["bytes differ that look the same as text".to_owned()] } else { found }
}

/// Which literals that the server accepts are not loaded.
fn refused(database: &Database, wanted: &LoadOptions, accepted: &[String]) -> Vec<String> {
    let path = database.path("rejects.jsonl");
    let wanted = wanted.clone().on_error(OnError::Ignore).rejects(path.clone());
    load(database, &wanted);
    let rejects = std::fs::read_to_string(path).unwrap();
    let refusals = rejects.lines().map(|line| {
        let reject: serde_json::Value = serde_json::from_str(line).unwrap();
        // A literal's line ends are escaped: the line is its number.
        let literal = &accepted[usize::try_from(reject["line"].as_u64().unwrap()).unwrap() - 1];
        format!("{literal:?}: the server accepts it, it is not loaded: {}", reject["reason"])
    });
    let refusals: Vec<String> = refusals.collect();
    if refusals.is_empty() { vec!["refused as a whole, not one by one".to_owned()] } else { refusals }
}

fn compare_all(settings: &[(&str, &str)]) {
    let database = Database::new();
    if database.sql("SHOW server_version_num").as_str() < "160000" {
        return missing("postgres16", "pg_input_error_info needs PostgreSQL 16");
    }
    for (name, value) in settings {
        database.sql(&format!(
            "SELECT format('ALTER DATABASE %I SET {name} = %L', current_database(), '{value}') \\gexec"
        ));
    }
    let [zone, dates, intervals, money] = ["timezone", "datestyle", "intervalstyle", "lc_monetary"]
        .map(|name| database.sql(&format!("SHOW {name}")));
    let rules = SessionRules::from_settings(&zone, &dates, &intervals, &money);
    let (seed, count) = (knob("HOWDAH_SEED", 20_261), knob("HOWDAH_ORACLE_LITERALS", 2_000));
    let mut table = format!("seed {seed}, {count} literals a type, {settings:?}\n");
    table += &format!("{:32}{:>9}{:>9}{:>9}{:>12}\n", "type", "encoded", "invalid", "unsure", "differences");
    let mut differing = 0;
    database.sql(NESTED_SETUP);
    let plain =
        TYPES.iter().map(|&(name, oid, typmod)| (name, TextCodec::for_type(oid, typmod, &rules), None));
    let nested = nested_types();
    let made =
        nested.iter().map(|made| (made.name, TextCodec::of(&made.shape, made.typmod, &rules), Some(made)));
    for (name, codec, made) in plain.chain(made) {
        let all = match made {
            None => literals(name, seed as u64, count),
            Some(made) => nested_literals(made, seed as u64, count),
        };
        let Comparison { encoded, invalid, unsure, differences } = compare(&database, name, codec, &all);
        table += &format!("{name:32}{encoded:9}{invalid:9}{unsure:9}{:12}\n", differences.len());
        for difference in differences.iter().take(SHOWN) {
            table += &format!("    {name} {difference}\n");
        }
        differing += differences.len();
    }
    println!("{table}");
    assert_eq!(differing, 0, "see the table");
}

#[test]
fn every_codec_agrees_with_the_server_s_input_function() {
    compare_all(&[("lc_monetary", "C")]);
}

#[test]
fn every_codec_agrees_under_a_zone_with_daylight_saving_and_other_orders_and_styles() {
    compare_all(&[
        ("timezone", "America/New_York"),
        ("datestyle", "ISO, DMY"),
        ("intervalstyle", "sql_standard"),
        ("lc_monetary", "C"),
    ]);
}
