//! Columns that the input brings and the table lacks: added with the types of a new table's, in the load's transaction, or
//! refused before the first row.

mod limits;

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray};
use howdah::options::{ColumnNames, HeaderOption, Indexes, Mode};
use howdah::{Committed, Control, Error, ErrorKind, LoadOptions, Report, Target};
use howdah_testkit::Database;

use crate::common::{GATE, Holder, load, options, target, try_load, until_at_the_gate};

/// A table with rows that two of the input's share their key with, and one that stands alone.
const STOCK: &str = "(id int PRIMARY KEY, name text NOT NULL);";
const HELD: &str = "(1, 'one'), (2, 'two'), (9, 'nine')";

const CSV: &str = "price,id,name,since,note\n1.50,1,eins,2024-01-31,\n,2,zwei,2024-02-29,n\n2.25,3,drei,,o\n";
const NDJSON: &str = r#"{"id":1,"name":"eins","price":1.50}
{"id":2,"name":"zwei","since":"2024-02-29","tags":["a"]}
{"id":3,"name":"drei","price":2.25,"empty":null}
"#;

fn evolving(file: &str, table: &str) -> LoadOptions {
    options(file, table).mode(Mode::Append).evolve(true)
}

fn columns(database: &Database, table: &str) -> String {
    database.sql(&format!(
        "SELECT attname || ':' || format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN '!' ELSE '' END
           FROM pg_attribute WHERE attrelid = to_regclass('{table}') AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    ))
    .replace('\n', " ")
}

fn altered(report: Report) -> Option<String> {
    report.plan.and_then(|plan| plan.alter_table)
}

fn content(database: &Database) -> (String, Vec<u8>) {
    (columns(database, "t"), database.binary_rows("t"))
}

#[test]
fn every_mode_stores_what_it_stores_in_a_table_that_has_the_columns() {
    let added = "id:integer! name:text!";
    for (name, text, new) in [
        ("t.csv", CSV, "price:numeric since:date note:text"),
        ("t.ndjson", NDJSON, "price:numeric since:date tags:jsonb empty:text"),
    ] {
        for (mode, jobs, held) in [
            (Mode::Append, 1, "(7, 'seven')"),
            (Mode::Append, 3, "(7, 'seven')"),
            (Mode::CreateAppend, 1, "(7, 'seven')"),
            (Mode::Truncate, 1, HELD),
            (Mode::Replace, 1, HELD),
            (Mode::Replace, 2, HELD),
            (Mode::Upsert, 1, HELD),
            (Mode::Upsert, 2, HELD),
            (Mode::Ignore, 2, HELD),
            (Mode::Update, 1, HELD),
            (Mode::Update, 2, HELD),
        ] {
            let database = Database::new();
            let file = database.file(name, text);
            for table in ["t", "kept"] {
                database.sql(&format!("CREATE TABLE {table} {STOCK} INSERT INTO {table} VALUES {held}"));
            }
            let wanted = evolving(&file, "t").mode(mode).jobs(jobs);
            let (report, said) = try_load(&database, &wanted).unwrap();
            assert_eq!(columns(&database, "t"), format!("{added} {new}"), "{name} {mode} {jobs}");
            let sql = report.plan.as_ref().unwrap().alter_table.clone().unwrap();
            let is_said = |notice: &String| {
                notice.starts_with(&format!("public.t gets columns that the input has: {sql}"))
            };
            assert!(said.iter().any(is_said), "{said:?}");
            let evolved = content(&database);
            // The same once more, into a table to which somebody has added them.
            database.sql(&format!("DROP TABLE t; ALTER TABLE kept RENAME TO t; {sql}"));
            let plain = load(&database, &wanted.evolve(false));
            assert_eq!((plain.rows, plain.rows_updated), (report.rows, report.rows_updated));
            assert_eq!(content(&database), evolved, "{name} {mode} {jobs}");
        }
    }
}

#[test]
fn types_are_those_of_a_new_table() {
    let database = Database::new();
    let csv = "k,i,b,n,f,t,d,ts,tz,u,j,x\n1,5,t,1.5,1e300,10:00,2024-01-01,2024-01-01 10:00,2024-01-01 10:00+02,\
               6b1f8d1e-0a3c-4b7f-9a54-0f4b36d2a111,{},\n";
    let prices: ArrayRef =
        Arc::new(Decimal128Array::from(vec![Some(150), None]).with_precision_and_scale(9, 2).unwrap());
    let rows = RecordBatch::try_from_iter_with_nullable(vec![
        ("k", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef, true),
        ("price", prices, true),
        ("word", Arc::new(StringArray::from(vec![Some("a"), None])), true),
    ])
    .unwrap();
    let arrow = database.path("t.arrow");
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new(File::create(&arrow).unwrap(), &rows.schema()).unwrap();
    writer.write(&rows).unwrap();
    writer.finish().unwrap();
    for file in
        [database.file("t.csv", csv), database.file("t.ndjson", NDJSON.replace("\"id\"", "\"k\"")), arrow]
    {
        load(&database, &options(&file, "new").mode(Mode::Create));
        database.sql("CREATE TABLE t (k bigint)");
        load(&database, &evolving(&file, "t"));
        assert_eq!(columns(&database, "t"), columns(&database, "new"), "{file}");
        assert_eq!(database.binary_rows("t"), database.binary_rows("new"), "{file}");
        database.sql("DROP TABLE t, new");
    }
}

#[test]
fn with_nothing_to_add_nothing_is_otherwise() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, name text)");
    for (name, text) in [
        ("t.csv", "id,Name\n1,a\n2,b\n"),
        ("bare.csv", "1,a\n2,b\n"),
        ("t.ndjson", "{\"id\":1}\n{\"name\":\"b\",\"id\":2}\n"),
    ] {
        let wanted = options(&database.file(name, text), "t").mode(Mode::Append).jobs(2);
        let plain = load(&database, &wanted);
        let (report, said) = try_load(&database, &wanted.clone().evolve(true)).unwrap();
        assert_eq!((report.jobs, report.jobs_reason), (2, plain.jobs_reason), "{name}");
        let (plan, plain) = (report.plan.unwrap(), plain.plan.unwrap());
        assert_eq!((plan.statements, plan.alter_table), (plain.statements, None), "{name}");
        assert_eq!(plan.header, plain.header, "{name}");
        assert!(!said.iter().any(|notice| notice.contains("gets columns")), "{said:?}");
    }
    // A table that is made has all columns.
    let made = database.file("made.csv", "a,b\n1,2\n");
    let report = load(&database, &evolving(&made, "made").mode(Mode::CreateAppend));
    assert!(report.plan.as_ref().unwrap().creates_table && altered(report).is_none());
    assert_eq!(columns(&database, "made"), "a:bigint b:bigint");
}

#[test]
fn names_are_those_of_a_new_table_and_found_again() {
    let database = Database::new();
    let long = "ä".repeat(40);
    let csv = format!("id,{long}x,a,a,,{long}y,ctid\n1,2,3,4,5,6,7\n");
    let file = database.file("t.csv", csv);
    for names in [ColumnNames::Keep, ColumnNames::Snake] {
        database.sql("CREATE TABLE t (id bigint)");
        let wanted = evolving(&file, "t").header(HeaderOption::Yes).column_names(names);
        load(&database, &options(&file, "new").header(HeaderOption::Yes).column_names(names));
        load(&database, &wanted);
        assert_eq!(columns(&database, "t"), columns(&database, "new"), "{names:?}");
        assert_eq!(database.binary_rows("t"), database.binary_rows("new"), "{names:?}");
        let again = load(&database, &wanted);
        assert_eq!((again.rows, altered(again)), (1, None), "{names:?}");
        assert_eq!(columns(&database, "t"), columns(&database, "new"), "{names:?}");
        database.sql("DROP TABLE t, new");
    }
}

#[test]
fn options_on_columns_decide_what_is_added() {
    let added = |text: &str, name: &str, change: &dyn Fn(LoadOptions) -> LoadOptions| {
        let database = Database::new();
        database.sql("CREATE TABLE t (id int, first_name text)");
        load(&database, &change(evolving(&database.file(name, text), "t")));
        columns(&database, "t").replace("id:integer first_name:text ", "")
    };
    let csv = "id,a,b\n1,2,3\n";
    assert_eq!(added(csv, "t.csv", &|o| o.skip_columns(["b"])), "a:bigint");
    assert_eq!(added(csv, "t.csv", &|o| o.map([("b", "c")])), "a:bigint c:bigint");
    assert_eq!(added(csv, "t.csv", &|o| o.map([("a", "first_name")])), "b:bigint");
    assert_eq!(added(csv, "t.csv", &|o| o.types([("b", "numeric(9,2)")])), "a:bigint b:numeric(9,2)");
    assert_eq!(added("1,x,3\n", "t.csv", &|o| o.column_list(["id", "first_name", "C d"])), "C d:bigint");
    let json = r#"{"id":1,"a":2,"b":{"c":3}}"#;
    assert_eq!(added(json, "t.ndjson", &|o| o.column_list(["id", "a"])), "a:bigint");
    assert_eq!(added(json, "t.ndjson", &|o| o.map([("b.c", "c")])), "a:bigint c:bigint");
    assert_eq!(added(json, "t.ndjson", &|o| o.skip_columns(["a"])), "b:jsonb");
    // One that is nearly a column is hardly meant to be another, unless that is said.
    let near = "id,First Name\n1,Ann\n";
    assert_eq!(added(near, "t.csv", &|o| o.map([("First Name", "First Name")])), "First Name:text");
    assert_eq!(added(near, "t.csv", &|o| o.column_names(ColumnNames::Snake)), "id:integer first_name:text");
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, first_name text)");
    let error = try_load(&database, &evolving(&database.file("t.csv", near), "t")).unwrap_err();
    assert_eq!(error.message(), "\"First Name\" is not a column of public.t", "{error:?}");
}

#[test]
fn a_column_for_the_file_s_name_is_added_too() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, first_name text)");
    let file = database.file("t.csv", "id,a\n1,2\n");
    let wanted = |name: &str| evolving(&file, "t").file_column(name);
    for (name, says) in [("a", "\"a\" is to get the file's name"), ("First Name", "no column of public.t")] {
        let error = refused(&database, &wanted(name));
        assert!(format!("{error:?}").contains(says), "{error:?}");
    }
    let report = load(&database, &wanted("From File"));
    assert!(altered(report).is_some_and(|sql| sql.contains("\"From File\" text")));
    assert_eq!(columns(&database, "t"), "id:integer first_name:text a:bigint From File:text");
    assert_eq!(database.sql("SELECT id, a, \"From File\" LIKE '%t.csv' FROM t"), "1|2|t");
    load(&database, &wanted("From File"));
    assert_eq!(database.sql("SELECT count(*), count(\"From File\") FROM t"), "2|2");
}

#[test]
fn an_input_without_a_column_of_the_table_is_refused() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, name text)");
    for (name, text, says) in [
        ("t.csv", "size,colour\n1,red\n", "not columns of public.t: size, colour"),
        ("t.ndjson", "{\"size\":1}\n", "\"size\" is not a column of public.t"),
    ] {
        let wanted = evolving(&database.file(name, text), "t");
        let wanted = if name == "t.csv" { wanted.header(HeaderOption::Yes) } else { wanted };
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Usage, says), "{error:?}");
    }
    assert_eq!(columns(&database, "t"), "id:integer name:text");
}

fn refused(database: &Database, wanted: &LoadOptions) -> Error {
    let before = columns(database, "t");
    let error = try_load(database, wanted).unwrap_err();
    assert_eq!(
        (error.committed(), error.visible()),
        (Committed::No, Some("nothing was changed")),
        "{error:?}"
    );
    assert_eq!(columns(database, "t"), before);
    error
}

#[test]
fn a_load_that_fails_leaves_the_table_as_it_was() {
    let database = Database::new();
    database.sql(&format!("CREATE TABLE t {STOCK} INSERT INTO t VALUES (7, 'a'), (8, 'b'), (9, 'c')"));
    let file = database.file("t.csv", CSV);
    for mode in [Mode::Append, Mode::Truncate, Mode::Upsert, Mode::Update, Mode::Replace] {
        let error = refused(&database, &evolving(&file, "t").mode(mode).after(["SELECT 1/0"]));
        assert!(error.message().contains("division by zero"), "{error:?}");
        let bad = database.file("bad.csv", format!("{CSV}x,4,vier,,\n5,f,fuenf,,\n"));
        refused(&database, &evolving(&bad, "t").mode(mode));
        assert_eq!(database.sql("SELECT count(*) FROM t"), "3", "{mode}");
    }
    // Only the index tells the row that is there already; it is found in a second look, with the columns in their place.
    let twice = database.file("twice.csv", "id,name,price\n5,a,1\n6,b,2\n6,c,3\n");
    let error = refused(&database, &evolving(&twice, "t").indexes(Indexes::Rebuild));
    assert_eq!(
        (error.sqlstate(), error.location().and_then(|at| at.line)),
        (Some("23505"), Some(4)),
        "{error:?}"
    );
}

#[test]
fn a_dry_run_says_the_sql_and_changes_nothing() {
    let database = Database::new();
    database.sql(&format!("CREATE TABLE t {STOCK}"));
    let file = database.file("t.csv", CSV);
    for (mode, place) in [(Mode::Append, 0), (Mode::Truncate, 1), (Mode::Upsert, 2)] {
        let (report, said) =
            try_load(&database, &evolving(&file, "t").mode(mode).jobs(1).dry_run(true)).unwrap();
        let sql = "ALTER TABLE \"public\".\"t\" ADD COLUMN \"price\" numeric, ADD COLUMN \"since\" date, \
                   ADD COLUMN \"note\" text";
        let plan = report.plan.unwrap();
        assert_eq!(
            (plan.alter_table.as_deref(), plan.statements[place].as_str()),
            (Some(sql), sql),
            "{mode}"
        );
        let notice = format!(
            "public.t gets columns that the input has: {sql}; from then until the load commits, nobody else reads \
             public.t or writes to it"
        );
        assert!(said.contains(&notice), "{said:?}");
        assert_eq!(columns(&database, "t"), "id:integer! name:text!", "{mode}");
    }
}

#[test]
fn one_connection_writes_where_no_other_would_see_the_columns() {
    let database = Database::new();
    let file = database.file("t.csv", CSV);
    let why = "columns are added in the load's transaction, and no other sees them before its end";
    for (mode, asked, jobs, reason) in [
        (Mode::Append, Some(4), 1, Some(format!("one connection instead of 4: {why}"))),
        (Mode::Append, None, 1, Some(format!("one connection: {why}"))),
        (Mode::Replace, Some(2), 2, None),
        (Mode::Upsert, Some(2), 2, None),
    ] {
        database.sql(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t {STOCK}"));
        let wanted = evolving(&file, "t").mode(mode);
        let report = load(&database, &asked.map_or(wanted.clone(), |asked| wanted.clone().jobs(asked)));
        let said = report.jobs_reason.map(|reason| reason.to_string());
        assert_eq!((report.jobs, said), (jobs, reason), "{mode}");
        if mode == Mode::Upsert {
            let staging = report.plan.unwrap().staging.unwrap().to_string();
            let why = "one statement applies them: columns are added in the load's transaction";
            assert!(staging.ends_with(why), "{staging}");
        }
    }
}

#[test]
fn nobody_sees_the_columns_before_the_commit() {
    let database = Database::new();
    database.sql(&format!("CREATE TABLE t {STOCK}"));
    let gate = Holder::gate(&database);
    let wanted = evolving(&database.file("t.csv", CSV), "t").after([GATE]);
    let to: Target = target(&database);
    let load = std::thread::spawn(move || howdah::load(&wanted, &to, &Control::new()));
    until_at_the_gate(&database, &load);
    assert_eq!(columns(&database, "t"), "id:integer! name:text!");
    gate.release();
    assert_eq!(load.join().unwrap().unwrap().rows, 3);
    assert_eq!(columns(&database, "t"), "id:integer! name:text! price:numeric since:date note:text");
}

#[test]
fn a_column_that_somebody_adds_meanwhile_ends_the_load() {
    let database = Database::new();
    database.sql(&format!("CREATE TABLE t {STOCK}"));
    let gate = Holder::gate(&database);
    let wanted = evolving(&database.file("t.csv", CSV), "t").before([GATE]);
    let to: Target = target(&database);
    let load = std::thread::spawn(move || howdah::load(&wanted, &to, &Control::new()));
    until_at_the_gate(&database, &load);
    database.sql("ALTER TABLE t ADD price text");
    gate.release();
    let error = load.join().unwrap().unwrap_err();
    assert_eq!(error.sqlstate(), Some("42701"), "{error:?}");
    let hint = "it was added while the load was planned: load again";
    assert_eq!(error.hint(), Some(hint), "{error:?}");
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}
