//! A million numbers and a million times: what the command rejects, the server's input function refuses, with the same
//! SQLSTATE; what it loads is psql's.

use std::collections::BTreeMap;

use howdah_encode::literals::{TYPES, literals};
use howdah_testkit::{Database, knob};

use super::judge::{Sample, judge};
use super::reference::hostile::Dice;
use super::{dice, share};

const NUMBERS: [&str; 6] = ["smallint", "integer", "bigint", "real", "double precision", "numeric"];
const TIMES: [&str; 4] = ["date", "time", "timestamp", "interval"];

/// Days on which clocks are changed, or calendars end.
const DAYS: [&str; 16] = [
    "2024-03-31",
    "2024-10-27",
    "2024-03-10",
    "2024-11-03",
    "2024-04-07",
    "2024-10-06",
    "1893-04-01",
    "1945-05-24",
    "2011-12-30",
    "0001-01-01",
    "9999-12-31",
    "294276-12-31",
    "2016-12-31",
    "1900-02-29",
    "2000-02-29",
    "1970-01-01",
];

/// A time near a change of clocks.
fn time(dice: &mut Dice) -> String {
    let (hour, minute, second) = (dice.below(25), dice.below(61), dice.below(61));
    let fraction = match dice.below(3) {
        0 => format!(".{}", dice.below(10_000_000)),
        _ => String::new(),
    };
    let zone = *dice.pick(&[
        "",
        "",
        "",
        "",
        "Z",
        "+02",
        "-03:30",
        " Europe/Berlin",
        " EST5EDT",
        " Australia/Lord_Howe",
    ]);
    let era = if dice.one_in(30) { " BC" } else { "" };
    let day = *dice.pick(&DAYS);
    format!("{day} {hour:02}:{minute:02}:{second:02}{fraction}{zone}{era}")
}

/// Loads the literals of one type, quoted, and compares the rejects with the server's verdicts.
fn compare(database: &Database, type_name: &str, literals: &[String]) -> usize {
    let mut bytes = Vec::new();
    for (n, literal) in literals.iter().enumerate() {
        bytes.extend_from_slice(format!("{n},\"{}\"\n", literal.replace('"', "\"\"")).as_bytes());
    }
    let columns = format!("n int, v {type_name}");
    let verdict = judge(database, &Sample { jobs: 2, ..Sample::csv(&columns, &bytes) });
    let verdict = verdict.unwrap_or_else(|what| panic!("{type_name}: {what}"));
    let count = verdict.rejects.len();
    if database.sql("SHOW server_version_num").as_str() < "160000" {
        return count;
    }
    let file = database.file("literals.csv", &bytes);
    let refused = database.sql(&format!(
        "DROP TABLE IF EXISTS literals; CREATE TABLE literals (n int, literal text);\n\\copy literals FROM '{file}' (FORMAT csv)\n\
         SELECT n, code FROM literals, LATERAL (SELECT (pg_input_error_info(literal, '{type_name}')).sql_error_code) AS i(code) WHERE code IS NOT NULL"
    ));
    let refused: BTreeMap<usize, &str> = refused
        .lines()
        .map(|line| line.split_once('|').unwrap())
        .map(|(n, code)| (n.parse().unwrap(), code))
        .collect();
    let number = |raw: &[u8]| String::from_utf8_lossy(raw).split(',').next().unwrap().parse().unwrap();
    let rejected: BTreeMap<usize, &str> =
        verdict.rejects.iter().map(|reject| (number(&reject.raw), reject.sqlstate.as_str())).collect();
    for (n, literal) in literals.iter().enumerate() {
        assert_eq!(rejected.get(&n), refused.get(&n), "{type_name} {literal:?}: we, the server");
    }
    count
}

/// The types of a family, with all their modifiers.
fn of_family(family: &[&str]) -> Vec<&'static str> {
    let base = |name: &str| name.split(['(', ' ']).next().unwrap_or_default().to_owned();
    TYPES
        .iter()
        .map(|ty| ty.0)
        .filter(|name| family.contains(name) || family.contains(&base(name).as_str()))
        .collect()
}

#[test]
fn a_million_numbers_are_what_the_server_reads_or_refuses() {
    let database = Database::new();
    let types = of_family(&NUMBERS);
    let (each, seed) = (share(1_000_000, 4_000) / types.len(), knob("HOWDAH_SEED", 20_261) as u64 + 1);
    for type_name in types {
        let rejects = compare(&database, type_name, &literals(type_name, seed, each));
        println!("{type_name}: {each} literals, {rejects} rejects");
    }
}

#[test]
fn a_million_times_are_what_the_server_reads_or_refuses() {
    let mut dice = dice("times");
    let moments = ["now", "today", "tomorrow", "yesterday"];
    let zones = ["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"];
    let types = of_family(&TIMES);
    let each = share(1_000_000, 8_000) / types.len() / zones.len();
    for (zone, style) in zones.into_iter().zip(["ISO, MDY", "ISO, DMY", "ISO, YMD", "German, DMY"]) {
        let database = Database::new();
        for (name, value) in [("timezone", zone), ("datestyle", style)] {
            database.sql(&format!(
                "SELECT format('ALTER DATABASE %I SET {name} = %L', current_database(), '{value}') \\gexec"
            ));
        }
        for type_name in &types {
            let mut all = literals(type_name, dice.below(1 << 30) as u64, each / 2);
            all.retain(|literal| !moments.iter().any(|word| literal.to_ascii_lowercase().contains(word)));
            all.extend((0..each / 2).map(|_| time(&mut dice)));
            let rejects = compare(&database, type_name, &all);
            println!("{zone} {type_name}: {each} literals, {rejects} rejects");
        }
    }
}
