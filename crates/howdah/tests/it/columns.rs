//! Columns as the user wishes them: declared types, friendly names.

use howdah::options::{ColumnNames, HeaderOption, OnError};
use howdah::{ErrorKind, LoadOptions};
use howdah_testkit::{Database, real_data};

use crate::common::{load, options, try_load};

fn columns(database: &Database, table: &str) -> String {
    database.sql(&format!(
        "SELECT string_agg(attname || ':' || format_type(atttypid, atttypmod), ' ' ORDER BY attnum)
           FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0"
    ))
}

fn typed(types: &[(&str, &str)], wanted: LoadOptions) -> LoadOptions {
    wanted.types(types.iter().copied())
}

const CSV: &str = "id,Price,day,mood,note\n1,1.005,2024-01-01,ok,a\n2,2,2024-01-02,sad,b\n";
const TYPES: &[(&str, &str)] = &[
    ("id", "smallint"),
    ("price", "numeric(10,2)"),
    ("day", "timestamp(0) with time zone"),
    ("mood", "mood"),
    ("note", "short"),
];
const DECLARED: &str = "id:smallint Price:numeric(10,2) day:timestamp(0) with time zone mood:mood note:short";

fn with_types(database: &Database) {
    database.sql(
        "CREATE TYPE mood AS ENUM ('sad', 'ok');
         CREATE DOMAIN short AS varchar(3) CHECK (value <> 'bad')",
    );
}

#[test]
fn declared_types_go_before_those_that_would_be_found() {
    let database = Database::new();
    with_types(&database);
    let file = database.file("t.csv", CSV);
    for jobs in [1, 2] {
        let table = format!("t{jobs}");
        let report = load(&database, &typed(TYPES, options(&file, &table).jobs(jobs)));
        assert_eq!(report.rows, 2);
        assert_eq!(columns(&database, &table), DECLARED);
        assert_eq!(
            database.sql(&format!("SELECT \"Price\", mood FROM {table} ORDER BY id")),
            "1.01|ok\n2.00|sad"
        );
    }
}

#[test]
fn a_stream_s_columns_have_the_declared_types_and_the_others_are_found() {
    let database = Database::new();
    with_types(&database);
    let pipe = database.path("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, CSV)
    });
    let types = &[("id", "text"), ("mood", "mood"), ("price", "numeric(10,2)")];
    let report = load(&database, &typed(types, options(&pipe, "t")));
    writer.join().unwrap().unwrap();
    assert_eq!(columns(&database, "t"), "id:text Price:numeric(10,2) day:date mood:mood note:text");
    let planned: Vec<String> = report.plan.unwrap().columns.into_iter().map(|column| column.r#type).collect();
    assert_eq!(planned, ["text", "numeric(10,2)", "date", "mood", "text"]);
}

#[test]
fn values_that_a_declared_type_refuses_are_bad_records() {
    let database = Database::new();
    with_types(&database);
    let file = database.file(
        "t.csv",
        format!("{CSV}99999,1,2024-01-03,ok,c\n4,1,2024-01-03,glad,d\n5,1,2024-01-03,ok,bad\n"),
    );
    let error = try_load(&database, &typed(TYPES, options(&file, "t"))).unwrap_err();
    assert_eq!((error.kind(), error.location().unwrap().line), (ErrorKind::Data, Some(4)));
    let rejects = database.path("t.rejects.jsonl");
    let wanted = options(&file, "t").on_error(OnError::Ignore).rejects(rejects);
    let report = load(&database, &typed(TYPES, wanted));
    assert_eq!((report.rows, report.rows_rejected), (2, 3));
    assert_eq!(columns(&database, "t"), DECLARED);
}

#[test]
fn a_wrong_declaration_is_refused_before_anything_is_made() {
    let database = Database::new();
    let file = database.file("t.csv", CSV);
    for (types, says) in [
        (&[("nope", "int")][..], "\"nope\", which is no column of public.t"),
        (&[("id", "intt")], "type \"intt\" for column \"id\" does not exist"),
        (&[("id", "int; DROP TABLE x")], "syntax error"),
        (&[("id", "int) , evil text (")], "syntax error"),
        (&[("id", "anyelement")], "does not exist"),
        (&[("id", "serial")], "does not exist"),
        (&[("id", "int"), ("id", "text")], "twice"),
        (&[("id", "varchar(-1)")], "no type"),
    ] {
        let error = try_load(&database, &typed(types, options(&file, "t"))).unwrap_err();
        assert!(error.kind() == ErrorKind::Usage && error.message().contains(says), "{types:?}: {error:?}");
        assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");
    }
    database.sql("CREATE TABLE t (id bigint, \"Price\" text, day date, mood text, note text)");
    let agrees = [("id", "int8"), ("day", "date")];
    assert_eq!(load(&database, &typed(&agrees, options(&file, "t"))).rows, 2);
    let error = try_load(&database, &typed(&[("id", "int")], options(&file, "t"))).unwrap_err();
    assert_eq!(error.message(), "types says integer for column \"id\", but it is bigint");
}

#[test]
fn names_that_become_alike_or_are_too_long_find_their_own_columns_and_no_others() {
    let database = Database::new();
    // Names that are alike once they are friendly find their own columns again.
    let alike = database.file("alike.csv", "User Id,user_id,User-Name\n1,2,x\n");
    for _ in 0..2 {
        load(&database, &options(&alike, "alike").column_names(ColumnNames::Snake));
    }
    assert_eq!(database.sql("SELECT DISTINCT user_id, user_id_2, user_name FROM alike"), "1|2|x");
    // No other name finds the column of a long one, in one load or in two.
    let question = "How much do you agree with the following statement about our new product line";
    let [cheap, good] = ["cheap", "good"].map(|word| {
        database.file(&format!("{word}.csv"), format!("id,{question}: it is {word}\n1,{word}\n"))
    });
    let asked = options(&cheap, "asked").column_names(ColumnNames::Snake);
    load(&database, &asked);
    load(&database, &asked);
    assert!(try_load(&database, &options(&good, "asked").column_names(ColumnNames::Snake)).is_err());
    let mut both = options(&cheap, "both").column_names(ColumnNames::Snake);
    both.input.paths.push(good.into());
    load(&database, &both);
    assert_eq!(
        database.sql("SELECT count(*) FROM pg_attribute WHERE attrelid = 'both'::regclass AND attnum > 0"),
        "3"
    );
}

#[test]
fn a_field_without_a_name_is_left_out_or_mapped_by_its_number() {
    let database = Database::new();
    database.sql("CREATE TABLE people (name text, place text)");
    let file = database.file("people.csv", ",name,\n1,Ada,Oslo\n2,Grace,Rome\n");
    let people = || options(&file, "people");
    let (error, report) = (
        try_load(&database, &people().header(HeaderOption::Yes)).unwrap_err(),
        load(&database, &people().skip_columns(["1"]).map([("3", "place")])),
    );
    assert!(error.message().contains("field 1 has no name\n  - field 3 has no name"), "{error:?}");
    assert!(error.hint().unwrap().contains("skip_columns=NUMBER leaves out"), "{error:?}");
    assert_eq!(report.rows, 2);
    assert_eq!(database.sql("SELECT * FROM people"), "Ada|Oslo\nGrace|Rome");
    // A name that is that number goes before it, and what is no number of a field is said.
    let years = database.file("years.csv", "2019,1\n5,6\n");
    load(&database, &options(&years, "years").header(HeaderOption::Yes).skip_columns(["1"]));
    assert_eq!(columns(&database, "years"), "2019:bigint");
    let wanted = options(&years, "others").header(HeaderOption::Yes).skip_columns(["3"]);
    assert_eq!(
        try_load(&database, &wanted).unwrap_err().message(),
        "skip_columns names \"3\", which is not in the header"
    );
    // A value behind a delimiter that ends the header keeps no name from being found.
    let ends = database.file("ends.csv", "name,place,\nAda,Oslo,\nGrace,Rome,x\n");
    database.sql("TRUNCATE people");
    load(&database, &options(&ends, "people").skip_columns(["3"]));
    assert_eq!(database.sql("SELECT * FROM people"), "Ada|Oslo\nGrace|Rome");
}

#[test]
fn friendly_names_need_no_quotes_and_match_what_they_made() {
    let database = Database::new();
    let csv = "Flight Date,Cost Total $,cost_total,originState,\n2024-01-01,1,2,x,\n2024-01-02,3,4,y,z\n";
    let file = database.file("t.csv", csv);
    let mut wanted =
        options(&file, "t").column_names(ColumnNames::Snake).header(howdah::options::HeaderOption::Yes);
    load(&database, &wanted);
    assert_eq!(
        columns(&database, "t"),
        "flight_date:date cost_total:bigint cost_total_2:bigint origin_state:text column5:text"
    );
    // Into the table as it is now, names match in their friendly form.
    database.sql("CREATE TABLE made (\"Flight date\" date, origin_state text)");
    wanted = wanted.header(howdah::options::HeaderOption::Auto);
    let file = database.file("u.csv", "flightDate,Origin State\n2024-01-01,x\n");
    let wanted = wanted.table(howdah::name::TableName::parse("made").unwrap()).paths([file]);
    assert_eq!(load(&database, &wanted).rows, 1);
    assert!(try_load(&database, &wanted.column_names(ColumnNames::Keep)).is_err());
}

#[test]
fn mapped_names_stay_as_they_are_mapped() {
    let database = Database::new();
    let file = database.file("t.csv", "A B,x,C D\n1,2,3\n");
    let map = vec![("x".to_owned(), "a_b".to_owned())];
    load(&database, &options(&file, "t").column_names(ColumnNames::Snake).map(map));
    assert_eq!(columns(&database, "t"), "a_b_2:bigint a_b:bigint c_d:bigint");
}

#[test]
fn real_headers_become_names_without_quotes() {
    let Some(data) = real_data() else { return };
    let database = Database::new();
    let file = data.join("vega/birdstrikes.csv").to_string_lossy().into_owned();
    load(&database, &options(&file, "birds").column_names(ColumnNames::Snake));
    assert_eq!(
        database.sql("SELECT count(airport_name), sum(cost_total) > 0, max(speed_ias_in_knots) FROM birds"),
        "10000|t|350"
    );
}
