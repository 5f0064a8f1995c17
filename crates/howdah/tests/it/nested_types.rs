//! Columns of types that are made of types: read from the catalog with an ordinary role's rights, loaded as binary rows,
//! stored as psql's `\copy` stores them.

use howdah::options::{HeaderOption, OnError};
use howdah::report::CopyFormat;
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

/// In a schema that no search path names, with names that need quotes.
const TYPES: &str = r#"
CREATE SCHEMA "odd Types";
CREATE EXTENSION hstore SCHEMA "odd Types";
CREATE TYPE "odd Types".mood AS ENUM ('sad', 'so so');
CREATE DOMAIN "odd Types".positive AS int CHECK (VALUE > 0);
CREATE DOMAIN "odd Types".positives AS "odd Types".positive[];
CREATE TYPE "odd Types".place AS (gone text, name varchar(8), "at" point, moods "odd Types".mood[]);
ALTER TYPE "odd Types".place DROP ATTRIBUTE gone;
CREATE DOMAIN "odd Types".home AS "odd Types".place;
CREATE TYPE "odd Types".span AS RANGE (subtype = float8, multirange_type_name = "odd Types".spans);
CREATE TYPE "odd Types".reversed AS RANGE (subtype = int4, subtype_opclass = "odd Types".down);
"#;

/// An operator class that orders integers the other way round.
const REVERSED_ORDER: &str = r#"
CREATE SCHEMA IF NOT EXISTS "odd Types";
CREATE FUNCTION "odd Types".compare(int, int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT btint4cmp($2, $1)';
CREATE OPERATOR CLASS "odd Types".down FOR TYPE int4 USING btree AS
    OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 "odd Types".compare(int, int);
"#;

const COLUMNS: &str = r#"
    n int, integers int[], texts varchar(9)[], stamps timestamptz(0)[][], boxes box[], mood "odd Types".mood,
    moods "odd Types".mood[], positive "odd Types".positive, positives "odd Types".positives, place "odd Types".place,
    homes "odd Types".home[], pairs "odd Types".hstore, during tstzrange, days datemultirange,
    span "odd Types".span, spans "odd Types".spans
"#;

fn set_up(database: &Database) {
    database.sql(REVERSED_ORDER);
    database.sql(&TYPES.replace("CREATE SCHEMA \"odd Types\";\n", ""));
}

/// Records in COPY's text format, all valid.
fn records(rows: usize) -> String {
    let mut lines = String::new();
    for n in 0..rows {
        let day = n % 28 + 1;
        lines.push_str(&format!(
            "{n}\t{{{n},-{n},NULL}}\t{{a,\"b {n}\",\"\\\\\\\\c\"}}\t{{{{2024-01-{day:02} 00:00:00.5+00,infinity}}}}\t\
             {{(1,2),(3,{n});(0,0),(1,1)}}\tso so\t{{sad,\"so so\"}}\t{}\t[0:1]={{1,{}}}\t(name,\"({n},2)\",\"{{sad,so so}}\")\t\
             {{\"(,,)\",NULL}}\t\"k\"=>\"{n}\", \"k\"=>NULL, b=>2\t[2024-01-{day:02} 00:00:00+00,)\t\
             {{[2024-01-01,2024-01-{day:02}],[2023-01-01,2024-01-01)}}\t[-1e3,{n}.5)\t{{[1,2],(2,3],empty}}\n",
            n + 1,
            n + 2,
        ));
    }
    lines
}

#[test]
fn types_made_of_types_travel_as_binary_rows_for_an_ordinary_role() {
    let database = Database::new();
    set_up(&database);
    database.sql(&format!(
        "CREATE ROLE ordinary; CREATE TABLE by_us ({COLUMNS}); CREATE TABLE by_psql ({COLUMNS});
         GRANT USAGE ON SCHEMA \"odd Types\" TO ordinary; GRANT INSERT, SELECT ON by_us, by_psql TO ordinary;
         SELECT format('ALTER DATABASE %I SET role = ordinary', current_database()) \\gexec"
    ));
    let file = database.file("input.copy", records(500));
    database.sql(&format!(r"\copy by_psql FROM '{file}'"));
    let report = load(&database, &options(&file, "by_us").header(HeaderOption::No));
    assert_eq!((report.rows, report.copy_format), (500, Some(CopyFormat::Binary)));
    assert_eq!(database.binary_rows("by_us"), database.binary_rows("by_psql"));
}

#[test]
fn values_that_the_server_sends_and_would_not_receive_travel_as_text() {
    let database = Database::new();
    database.sql(
        "CREATE TYPE times AS RANGE (subtype = timetz); CREATE TYPE pair AS (n int, at timetz, s text);
         CREATE DOMAIN second AS timestamp(0)",
    );
    let late = "294276-12-31 23:59:59.9";
    for (of, literal) in [
        ("timestamp(0)", late.to_owned()),
        ("timestamptz(2)", "294276-12-31 23:59:59.999+00".to_owned()),
        ("timestamp(0)[]", format!("{{2024-01-01,NULL,{late}}}")),
        ("second", late.to_owned()),
        ("second[]", format!("{{{{{late}}},{{infinity}}}}")),
        ("timetz", "12:00 Z42".to_owned()),
        ("timetz[]", "{NULL,12:00 Z42}".to_owned()),
        ("times", "[12:00+01,12:00 Z42)".to_owned()),
        ("pair", "(,12:00 Z42,x)".to_owned()),
        ("pair[]", "{\"(1,12:00+01,)\",\"(,12:00 Z42,x)\"}".to_owned()),
    ] {
        database.sql("DROP TABLE IF EXISTS by_us, by_psql");
        database.sql(&format!("CREATE TABLE by_us (n int, v {of}); CREATE TABLE by_psql (n int, v {of})"));
        let file = database.file("input.copy", format!("1\t\\N\n2\t{literal}\n3\t\\N\n"));
        database.sql(&format!("\\copy by_psql FROM '{file}'"));
        let wanted = options(&file, "by_us").header(HeaderOption::No).on_error(OnError::Ignore);
        let (report, _) = try_load(&database, &wanted).unwrap_or_else(|error| panic!("{of}: {error:?}"));
        assert_eq!((report.rows, report.rows_rejected), (3, 0), "{of}");
        assert_eq!(database.binary_rows("by_us"), database.binary_rows("by_psql"), "{of}");
    }
}

#[test]
fn a_range_in_another_order_and_arrays_without_nulls_are_left_to_the_server() {
    let database = Database::new();
    set_up(&database);
    database.sql(r#"CREATE TABLE t (r "odd Types".reversed)"#);
    let file = database.file("input.copy", "[5,1]\n[3,)\n");
    let report = load(&database, &options(&file, "t").header(HeaderOption::No));
    assert_eq!((report.rows, report.copy_format), (2, Some(CopyFormat::Text)));
    database.sql("CREATE TABLE words (w text[]); SELECT format('ALTER DATABASE %I SET array_nulls = off', current_database()) \\gexec");
    let file = database.file("input.copy", "{NULL}\n");
    let report = load(&database, &options(&file, "words").header(HeaderOption::No));
    assert_eq!((report.rows, report.copy_format), (1, Some(CopyFormat::Text)));
    assert_eq!(database.sql("SELECT w[1] IS NULL, w[1] FROM words"), "f|NULL");
}

#[test]
fn a_bad_part_of_a_value_rejects_its_record_only() {
    let database = Database::new();
    set_up(&database);
    database.sql(
        r#"CREATE TABLE t (n int, p "odd Types".positive[], d json[], m "odd Types".mood, r int4range)"#,
    );
    let lines = [
        "1\t{1,2}\t{\"[1]\"}\tsad\t[1,2]",
        "2\t{1,-2}\t{}\tsad\t[1,2]",
        "3\t{1,x}\t{}\tsad\t[1,2]",
        "4\t{1}\t{\"[1\"}\tsad\t[1,2]",
        "5\t{1}\t{}\tglad\t[1,2]",
        "6\t{1}\t{}\tsad\t[2,1]",
        "7\t{1}\t{}\tsad\tempty",
    ];
    let file = database.file("input.copy", lines.join("\n") + "\n");
    let rejects = database.path("rejects.jsonl");
    let wanted =
        options(&file, "t").header(HeaderOption::No).on_error(OnError::Ignore).rejects(rejects.clone());
    let report = load(&database, &wanted);
    assert_eq!((report.rows, report.rows_rejected), (2, 5));
    assert_eq!(database.sql("SELECT n FROM t ORDER BY n"), "1\n7");
    let rejects = std::fs::read_to_string(rejects).unwrap();
    let sqlstates: Vec<String> = rejects
        .lines()
        .map(|line| {
            let reject: serde_json::Value = serde_json::from_str(line).unwrap();
            format!("{} {}", reject["line"], reject["sqlstate"].as_str().unwrap())
        })
        .collect();
    let mut sorted = sqlstates.clone();
    sorted.sort();
    assert_eq!(sorted, ["2 23514", "3 22P02", "4 22P02", "5 22P02", "6 22000"]);
}

#[test]
fn a_refusal_speaks_as_the_server_does() {
    let database = Database::new();
    set_up(&database);
    database.sql(r#"CREATE TABLE t (m "odd Types".mood)"#);
    let file = database.file("input.copy", "sad\nglad\n");
    let wanted = options(&file, "t").header(HeaderOption::No);
    let error = try_load(&database, &wanted).unwrap_err().to_string();
    let by_psql = database.try_sql(&format!(r"\copy t FROM '{file}'")).unwrap_err();
    let said = "invalid input value for enum \"odd Types\".mood: \"glad\"";
    assert!(by_psql.contains(said), "{by_psql}");
    assert!(error.contains(said), "{error}");
}
