//! Tables that a load makes or replaces: types, atomic appearance, leftovers.

use howdah::options::{ColumnNames, HeaderOption, Mode};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

fn columns(database: &Database, table: &str) -> String {
    database.sql(&format!(
        "SELECT attname || ':' || format_type(atttypid, atttypmod) FROM pg_attribute
          WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
    ))
}

#[test]
fn types_fit_every_value_and_leading_zeros_survive() {
    let database = Database::new();
    let csv = "flag,whole,real,exact,zip,day,at,zoned,id,doc,mixed,nothing,phone
true,1,1.5,1.50,00501,2024-01-01,2024-01-01 10:00:00,2024-01-01T10:00:00Z,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,\"{\"\"a\"\":1}\",1,,+4912
false,-9,2,2.25,10001,2024-02-29,2024-01-02,2024-01-01 10:00:00+02,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12,[],x,,+4913
";
    let report = load(&database, &options(&database.file("people.csv", csv), "t"));
    assert_eq!(report.rows, 2);
    assert_eq!(
        columns(&database, "t"),
        "flag:boolean\nwhole:bigint\nreal:double precision\nexact:numeric\nzip:text\nday:date\nat:timestamp without time zone\n\
         zoned:timestamp with time zone\nid:uuid\ndoc:jsonb\nmixed:text\nnothing:text\nphone:text"
    );
    assert_eq!(
        database.sql("SELECT exact, zip, phone FROM t ORDER BY 1"),
        "1.50|00501|+4912\n2.25|10001|+4913"
    );
}

#[test]
fn a_late_value_widens_the_type_wherever_it_stands() {
    let database = Database::new();
    let mut csv = String::from("n,m\n");
    for n in 0..200_000 {
        csv.push_str(&format!("{n},{n}\n"));
    }
    csv.push_str("1.5,late\n");
    let file = database.file("t.csv", &csv);
    let report = load(&database, &options(&file, "t").jobs(2));
    assert_eq!(report.rows, 200_001);
    assert_eq!(columns(&database, "t"), "n:double precision\nm:text");
}

#[test]
fn headers_are_found_where_they_are_and_only_there() {
    let database = Database::new();
    for (n, (csv, header, rows)) in [
        ("a,b\n1,2\n3,4\n", "a:bigint\nb:bigint", "2"),
        ("1,2\n3,4\n", "column1:bigint\ncolumn2:bigint", "2"),
        ("name,city\nAnn,Oslo\n", "name:text\ncity:text", "1"),
        ("name,name\nAnn,Oslo\n", "name:text\nname_2:text", "1"),
        ("country,2019,2020\nMalta,5,6\n", "country:text\n2019:bigint\n2020:bigint", "1"),
        (",1,2\n5,3,4\n", "column1:bigint\ncolumn2:bigint\ncolumn3:bigint", "2"),
        ("x,1\ny,2\n", "column1:text\ncolumn2:bigint", "2"),
    ]
    .into_iter()
    .enumerate()
    {
        let table = format!("t{n}");
        load(&database, &options(&database.file("t.csv", csv), &table));
        assert_eq!(columns(&database, &table), header, "{csv:?}");
        assert_eq!(database.sql(&format!("SELECT count(*) FROM {table}")), rows, "{csv:?}");
    }
    let file = database.file("forced.csv", "1,2\n3,4\n");
    load(&database, &options(&file, "forced").header(HeaderOption::Yes));
    assert_eq!(columns(&database, "forced"), "1:bigint\n2:bigint");
}

#[test]
fn a_record_1_that_cannot_be_split_is_said_and_is_no_empty_input() {
    let database = Database::new();
    for header in [HeaderOption::Auto, HeaderOption::Yes, HeaderOption::No] {
        let wanted = options(&database.file("t.csv", "id,\"na\n1,2\n"), "t").header(header);
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!(error.sqlstate(), Some("22P04"), "{header:?} {error:?}");
        assert_eq!(error.location().unwrap().line, Some(1), "{header:?} {error:?}");
    }
}

#[test]
fn columns_without_a_name_of_their_own_get_one_and_one_note_says_so() {
    let database = Database::new();
    let question = "Which of these side dishes are typically served at your Thanksgiving dinner?";
    let survey = format!("{question} Rolls,{question} Yams\n5,x\n6,y\n");
    for (n, (csv, header, notes)) in [
        // As pandas and R write row numbers.
        (",n\n0,1.5\n1,2.5\n", "column1:bigint\nn:double precision", "1 field has no name: field 1 is column1; map[NUMBER]=COLUMN gives another"),
        (
            "id,id,id_2\n1,2,3\n3,4,5\n",
            "id:bigint\nid_3:bigint\nid_2:bigint",
            "1 name is there already: field 2 is id_3; map[NUMBER]=COLUMN gives another",
        ),
        (
            ",name,\nx,Ann,y\n",
            "column1:text\nname:text\ncolumn3:text",
            "record 1 is the header, it seems: its first field has no name, as in front of row names and numbers \
             (header=false if it is data); 2 fields have no name: field 1 is column1, field 3 is column3; \
             map[NUMBER]=COLUMN gives another",
        ),
        (
            "ctid,xmin\n1,2\n3,4\n",
            "ctid_2:bigint\nxmin_2:bigint",
            "2 names are PostgreSQL's own: field 1 is ctid_2, field 2 is xmin_2; map[NAME]=COLUMN gives another",
        ),
        (
            &survey,
            "Which of these side dishes...dinner? Rolls~56a1c428:bigint\n\
             Which of these side dishes...dinner? Yams~89a21d0a:text",
            "2 names are longer than PostgreSQL's 63 bytes and shortened: \
             field 1 is \"Which of these side dishes...dinner? Rolls~56a1c428\", \
             field 2 is \"Which of these side dishes...dinner? Yams~89a21d0a\"; \
             map[NAME]=COLUMN gives another",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let (table, file) = (format!("t{n}"), database.file("t.csv", csv));
        let (report, notices) = try_load(&database, &options(&file, &table)).unwrap();
        assert_eq!(columns(&database, &table), header, "{csv:?}");
        assert_eq!(notices, [notes], "{csv:?}");
        // The same file again finds the columns that were made for it.
        assert_eq!(load(&database, &options(&file, &table)).rows, report.rows);
        let rows = database.sql(&format!("SELECT count(*), count(DISTINCT t) FROM {table} t"));
        assert_eq!(rows, format!("{}|{}", 2 * report.rows, report.rows), "{csv:?}");
    }
    // Another name that begins alike is another column's.
    let prefix = "How much do you agree with the following statement about our new product line: it is";
    let cheap = database.file("cheap.csv", format!("id,{prefix} cheap\n1,yes\n"));
    load(&database, &options(&cheap, "statements"));
    load(&database, &options(&cheap, "statements"));
    let good = database.file("good.csv", format!("id,{prefix} good\n2,no\n"));
    let error = try_load(&database, &options(&good, "statements")).unwrap_err();
    assert!(error.detail().unwrap().contains("not columns: \"How much do you agree"), "{error:?}");
    // An option's name is the user's; another field does not get it without a word.
    let file = database.file("i.csv", ",n\n0,1.5\n");
    let (_, notices) = try_load(&database, &options(&file, "i").map([("1", "row_no")])).unwrap();
    assert_eq!((columns(&database, "i"), notices), ("row_no:bigint\nn:double precision".to_owned(), vec![]));
    let error = try_load(&database, &options(&file, "j").map([("1", "n")])).unwrap_err();
    assert!(error.message().contains("\"n\" is named twice"), "{error:?}");
    load(&database, &options(&file, "k").column_names(ColumnNames::Snake));
    assert_eq!(columns(&database, "k"), "column1:bigint\nn:double precision");
}

#[test]
fn a_table_of_other_columns_takes_no_field_without_a_name() {
    let database = Database::new();
    database
        .sql("CREATE TABLE people (name text); CREATE TABLE numbers (column1 int, column2 int, column3 int)");
    let error =
        try_load(&database, &options(&database.file("t.csv", ",name\n0,Ada\n"), "people")).unwrap_err();
    assert_eq!(error.message(), "record 1 is neither clearly a header nor clearly data");
    let error =
        try_load(&database, &options(&database.file("t.csv", "name,name\nA,B\n"), "people")).unwrap_err();
    assert!(error.message().contains("\"name\" is named twice"), "{error:?}");
    // A NULL in the first row names nothing.
    assert_eq!(load(&database, &options(&database.file("t.csv", ",5,6\n1,2,3\n"), "numbers")).rows, 2);
}

#[test]
fn the_file_s_stem_names_the_table() {
    let database = Database::new();
    let file = database.file("Big Events.2024.csv", "a\n1\n");
    let report = load(&database, &howdah::LoadOptions::new(file));
    assert_eq!(report.table, "public.\"Big Events\"");
}

#[test]
fn a_table_filled_by_several_connections_appears_at_once_under_its_name_only() {
    let database = Database::new();
    let mut csv = String::from("a,b\n");
    for n in 0..100_000 {
        csv.push_str(&format!("{n},{n}\n"));
    }
    let file = database.file("t.csv", &csv);
    for jobs in [1, 2, 4] {
        let table = format!("t{jobs}");
        let wanted = options(&file, &table).jobs(jobs).unlogged((jobs == 4).into());
        assert_eq!(load(&database, &wanted).rows, 100_000);
        assert_eq!(database.sql(&format!("SELECT sum(a - b), count(DISTINCT a) FROM {table}")), "0|100000");
    }
    assert_eq!(database.sql("SELECT relname, relpersistence FROM pg_class WHERE relname LIKE 't_' OR relname LIKE 'howdah%' ORDER BY 1"), "t1|p\nt2|p\nt4|u");
}

#[test]
fn leftovers_of_dead_loads_are_removed_and_those_of_running_ones_are_not() {
    let database = Database::new();
    database.sql("CREATE TABLE howdah_load_00000000000000aa (a int); CREATE TABLE howdah_load_00000000000000bb (a int); CREATE TABLE howdah_load_note (a int)");
    let mut holder = database.psql();
    let mut holder =
        holder.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    {
        use std::io::{BufRead, BufReader, Write};
        let lock = "SELECT pg_advisory_lock(187);\n\\echo held\n";
        holder.stdin.as_mut().unwrap().write_all(lock.as_bytes()).unwrap();
        let mut lines = BufReader::new(holder.stdout.as_mut().unwrap()).lines();
        while lines.next().unwrap().unwrap() != "held" {}
    }
    let (_, notices) = try_load(&database, &options(&database.file("t.csv", "a\n1\n"), "t")).unwrap();
    assert_eq!(notices.iter().filter(|notice| notice.contains("howdah_load_")).count(), 1, "{notices:?}");
    drop(holder.stdin.take());
    holder.wait().unwrap();
    let left = database.sql("SELECT relname FROM pg_class WHERE relname LIKE 'howdah%' ORDER BY 1");
    assert_eq!(left, "howdah_load_00000000000000bb\nhowdah_load_note");
}

const OLD_TABLE: &str = r#"
    CREATE ROLE reader_of_old;
    CREATE TABLE other (id int PRIMARY KEY); INSERT INTO other VALUES (1);
    CREATE TABLE "Old" (id serial PRIMARY KEY, a int NOT NULL DEFAULT 5 CHECK (a > 0), b text UNIQUE DEFERRABLE,
        o int REFERENCES other, twice int GENERATED ALWAYS AS (a * 2) STORED) WITH (fillfactor = 70);
    CREATE INDEX "by a" ON "Old" (a DESC) WHERE a > 1;
    COMMENT ON TABLE "Old" IS 'what it''s for'; COMMENT ON COLUMN "Old".a IS 'the a';
    GRANT SELECT ON "Old" TO reader_of_old;
    INSERT INTO "Old" (a, b, o) VALUES (1, 'old', 1);
"#;

/// Everything about a table that a user would miss.
const DEFINITION: &str = r#"
    SELECT attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)
      FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     WHERE attrelid = '"Old"'::regclass AND attnum > 0 ORDER BY attnum;
    SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '"Old"'::regclass ORDER BY 1;
    SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '"Old"'::regclass ORDER BY 1;
    SELECT relacl, reloptions, obj_description(oid, 'pg_class'), pg_get_serial_sequence('"Old"', 'id') FROM pg_class WHERE relname = 'Old';
"#;

#[test]
fn replace_keeps_the_definition_and_exchanges_the_rows() {
    let database = Database::new();
    database.sql(OLD_TABLE);
    let before = database.sql(DEFINITION);
    let file = database.file("new.csv", "id,a,b,o\n10,2,x,1\n11,3,y,\n");
    for jobs in [1, 2] {
        let replaced = load(&database, &options(&file, "\"Old\"").jobs(jobs).mode(Mode::Replace));
        assert_eq!(replaced.rows, 2);
        assert_eq!(database.sql(DEFINITION), before, "{jobs} jobs");
        assert_eq!(database.sql("SELECT * FROM \"Old\" ORDER BY id"), "10|2|x|1|4\n11|3|y||6");
    }
    let bad = database.file("bad.csv", "id,a,b,o\n10,2,x,1\n10,3,y,\n");
    for jobs in [1, 2] {
        let wanted = options(&bad, "\"Old\"").jobs(jobs).mode(Mode::Replace);
        assert_eq!(try_load(&database, &wanted).unwrap_err().sqlstate(), Some("23505"));
        assert_eq!(database.sql("SELECT count(*) FROM \"Old\""), "2");
        assert_eq!(database.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'howdah%'"), "0");
    }
    database.sql("DROP TABLE \"Old\"; DROP ROLE reader_of_old");
}

#[test]
fn replace_refuses_what_it_would_take_along_and_names_it() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (a int PRIMARY KEY); CREATE VIEW v AS SELECT * FROM t; CREATE TABLE child (a int REFERENCES t);
         CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE TRIGGER trig BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();",
    );
    let wanted = options(&database.file("t.csv", "a\n1\n"), "t").mode(Mode::Replace);
    let error = try_load(&database, &wanted).unwrap_err();
    for name in ["view public.v", "foreign key child_a_fkey", "trigger trig"] {
        assert!(error.message().contains(name), "{error:?}");
    }
    let missing = options(&database.file("n.csv", "a\n1\n"), "n").mode(Mode::Replace);
    assert_eq!(load(&database, &missing).rows, 1);
}

#[test]
fn a_null_marker_gets_a_hint() {
    let database = Database::new();
    let file = database.file("t.csv", "a,b\n1,\\N\n2,x\n3,y\n");
    let (_, notices) = try_load(&database, &options(&file, "t")).unwrap();
    assert!(notices.iter().any(|notice| notice.contains(r#"null="\\N""#)), "{notices:?}");
}
