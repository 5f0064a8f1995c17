//! Files whose columns nobody describes: what lands in the new table is what psql's `\copy` stores in its twin. The files are
//! made from `HOWDAH_SEED`, so that this holds without the real ones of `real_files`.

use std::path::Path;

use howdah::LoadOptions;
use howdah::options::HeaderOption;
use howdah_testkit::{Database, Rng, knob, quoted_field};

use crate::common::{load, options, try_load};

/// Loads `path` into a new table, by psql into a twin of it, and compares the rows.
pub(crate) fn same_as_psql(database: &Database, path: &Path, wanted: &LoadOptions, psql_options: &str) {
    for jobs in [1, 2] {
        database.sql("DROP TABLE IF EXISTS made, twin");
        let report = load(database, &wanted.clone().jobs(jobs));
        database.sql("CREATE TABLE twin (LIKE made)");
        database.sql(&format!(r"\copy twin FROM '{}' (FORMAT csv, {psql_options})", path.display()));
        assert_eq!(database.sql("SELECT count(*) FROM twin"), report.rows.to_string(), "{}", path.display());
        assert!(
            database.binary_rows("made") == database.binary_rows("twin"),
            "{} differs at {jobs} jobs",
            path.display()
        );
    }
}

/// Values of one kind; a column has one or two of them, and its type must fit both.
type Kind = fn(&mut Rng) -> String;

const KINDS: [Kind; 14] = [
    |rng| rng.within(0..100_000).to_string(),
    |rng| format!("-{}", rng.within(0..u64::MAX) >> 1),
    |rng| format!("{:05}", rng.within(0..100_000)),
    |rng| format!("{}.{:03}", rng.within(0..1000), rng.within(0..1000)),
    |rng| format!("{}e{}", rng.within(1..1000), rng.within(0..40)),
    |rng| format!("{}.{:020}", rng.within(0..u64::MAX), rng.within(0..u64::MAX)),
    |rng| rng.one_of(&["true", "false", "t", "f"]).to_owned(),
    |rng| day(rng),
    |rng| format!("{} {}", day(rng), time(rng)),
    |rng| format!("{}T{}{}", day(rng), time(rng), rng.one_of(&["Z", "+02", "-09:30"])),
    |rng| format!("{:08x}-0000-4000-8000-{:012x}", rng.within(0..1 << 32), rng.within(0..1 << 48)),
    |rng| format!("{{\"a\": [{}, null, \"x\"]}}", rng.within(0..100)),
    |rng| rng.one_of(&["Ada", "Grace", "naïve café", "🐘", "NA", "NULL", "-", "\\N", " "]).to_owned(),
    |rng| rng.one_of(&["a,b", "she said \"no\"", "two\nlines", "carriage\r\nreturns", "'; --"]).to_owned(),
];

fn day(rng: &mut Rng) -> String {
    format!("{:04}-{:02}-{:02}", rng.within(1900..2100), rng.within(1..13), rng.within(1..29))
}

fn time(rng: &mut Rng) -> String {
    let digits = rng.one_of(&["", ".5", ".123456"]);
    format!("{:02}:{:02}:{:02}{digits}", rng.within(0..24), rng.within(0..60), rng.within(0..60))
}

/// A file with the numbers of its records in the first column and random kinds in the others. NULL is `null`, and an
/// empty string is in quotes.
fn file(rng: &mut Rng, rows: u64, null: &str, escape: char) -> String {
    let columns: Vec<[Kind; 2]> = (0..8)
        .map(|_| {
            let first = rng.one_of(&KINDS);
            [first, if rng.once_in(3) { rng.one_of(&KINDS) } else { first }]
        })
        .collect();
    let mut csv = String::from("number,c1,c2,c3,c4,c5,c6,c7,c8\n");
    for number in 0..rows {
        csv.push_str(&number.to_string());
        for kinds in &columns {
            csv.push(',');
            if rng.once_in(10) {
                csv.push_str(null);
                continue;
            }
            // Seldom another kind: the type is known by the last record only.
            let value = kinds[usize::from(rng.once_in(500))](rng);
            if value.contains([',', '"', '\n', '\r', '\\']) || value == null || rng.once_in(5) {
                csv.push_str(&quoted_field(&value, '"', escape));
            } else {
                csv.push_str(&value);
            }
        }
        csv.push('\n');
    }
    csv
}

#[test]
fn files_with_a_header_load_as_psql_loads_them() {
    let database = Database::new();
    let seed = knob("HOWDAH_SEED", 20_261);
    let mut rng = Rng::new(seed as u64);
    for (at, rows) in [1, 30, 3_000, 3_000, 3_000, 20_000].into_iter().enumerate() {
        println!("seed {seed}, file {at}");
        let path = database.file(&format!("{at}.csv"), file(&mut rng, rows, "", '"'));
        let mut wanted = options(&path, "made").header(HeaderOption::Yes);
        // Nothing is guessed to stand for NULL: psql would have to be told.
        wanted.input.dialect.null = Some(String::new());
        same_as_psql(&database, Path::new(&path), &wanted, "HEADER");
    }
}

#[test]
fn other_escapes_and_nulls_load_as_psql_loads_them_and_bad_records_are_refused_on_its_line() {
    let database = Database::new();
    let seed = knob("HOWDAH_SEED", 20_261);
    let mut rng = Rng::new(seed as u64);
    let psql_options = r"HEADER, NULL '\N', ESCAPE '\'";
    for rows in [30, 3_000, 20_000] {
        println!("seed {seed}, {rows} rows");
        let csv = file(&mut rng, rows, "\\N", '\\');
        let path = database.file("good.csv", &csv);
        let mut wanted = options(&path, "made").header(HeaderOption::Yes);
        wanted.input.dialect.null = Some("\\N".into());
        wanted.input.dialect.escape = Some(b'\\');
        same_as_psql(&database, Path::new(&path), &wanted, psql_options);

        let bad = database.file("bad.csv", csv + "too,few\n");
        wanted.input.paths = vec![bad.clone().into()];
        database.sql("DROP TABLE made; DROP TABLE twin");
        let ours = try_load(&database, &wanted).unwrap_err();
        database.sql(&format!("CREATE TABLE twin (number text, {})", {
            let columns: Vec<String> = (1..=8).map(|n| format!("c{n} text")).collect();
            columns.join(", ")
        }));
        let copy = format!(r"\copy twin FROM '{bad}' (FORMAT csv, {psql_options})");
        let theirs = database.try_sql(&copy).unwrap_err();
        let line = ours.location().and_then(|at| at.line).unwrap();
        assert!(theirs.contains(&format!("line {line}")), "{ours:?} but psql: {theirs}");
        database.sql("DROP TABLE twin");
    }
}
