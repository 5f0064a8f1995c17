//! Loads into tables that exist: what lands is what psql's \copy stores.

use howdah::options::{HeaderOption, Mode};
use howdah::report::CopyFormat;
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

/// Loads `csv` (with a header) by psql and by us into twins of a table; the rows must be the same bytes.
fn same_as_psql(database: &Database, columns: &str, csv: &str, jobs: usize) -> howdah::Report {
    database.sql(&format!("CREATE TABLE by_psql ({columns}); CREATE TABLE by_us ({columns})"));
    let file = database.file("data.csv", csv);
    database.sql(&format!(r"\copy by_psql FROM '{file}' (FORMAT csv, HEADER match)"));
    let report = load(database, &options(&file, "by_us").jobs(jobs));
    assert_eq!(database.binary_rows("by_us"), database.binary_rows("by_psql"));
    report
}

const ALL_CODECS: &str = "b boolean, i2 smallint, i4 integer, i8 bigint, f4 real, f8 double precision, n numeric,
    np numeric(10,2), t text, vc varchar(5), bp char(5), by bytea, u uuid, d date, ts timestamp, ts3 timestamp(3),
    tz timestamptz, tz0 timestamptz(0), j json, jb jsonb";

const ALL_CODECS_CSV: &str = "\
b,i2,i4,i8,f4,f8,n,np,t,vc,bp,by,u,d,ts,ts3,tz,tz0,j,jb
t,1,-2,3,1.5,2.25,12345.6789,1.005,plain,abc,ab,\\x00ff,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,2024-02-29,2024-01-01 10:00:00,2024-01-01 10:00:00.1235,2024-01-01 10:00:00+02,2024-01-01 10:00:00.5+00,\"{\"\"a\"\": 1}\",\"{\"\"b\"\":2, \"\"a\"\": [1,null]}\"
,,,,,,,,,,,,,,,,,,,
false,-32768,2147483647,-9223372036854775808,NaN,-Infinity,NaN,-99999999.99,\"\",\"\",\"\",\"\",A0EEBC999C0B4EF8BB6D6BB9BD380A11,0001-01-01,infinity,-infinity,1999-12-31T23:59:59.999999Z,2000-01-01 00:00:00-08:30,[],\"\"\"x\"\"\"
yes, 7 ,0, 9 ,0.1,1e308,1e-20,0.004999,\"a \"\"q\"\"
line2\",äöüß€,x    ,\\\\x41,{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11},9999-12-31,0001-01-01 00:00:00,1970-01-01 24:00:00,2024-06-30 23:59:60+00,2024-03-10 02:30:00Z,null,true
";

#[test]
fn every_codec_stores_what_psql_stores() {
    let database = Database::new();
    let report = same_as_psql(&database, ALL_CODECS, ALL_CODECS_CSV, 1);
    assert_eq!((report.rows, report.rows_read), (4, 4));
    assert_eq!(report.copy_format, Some(CopyFormat::Binary));
}

#[test]
fn types_made_of_types_travel_in_binary_and_arrive_the_same() {
    let database = Database::new();
    let report = same_as_psql(
        &database,
        "a int, tags text[], r int4range, ip inet, i interval, p point, n numeric(4,1)[]",
        "a,tags,r,ip,i,p,n\n1,\"{a,\"\"b \\\"\"c\"\",NULL}\",\"[1,5)\",10.0.0.1/8,1 day 02:00,\"(1,2)\",{1.25}\n2,{},empty,::1,P1Y,,\"[2:3]={1,2}\"\n",
        1,
    );
    assert_eq!(report.copy_format, Some(CopyFormat::Binary));
}

#[test]
fn types_without_a_codec_travel_as_text_and_arrive_the_same() {
    let database = Database::new();
    let report = same_as_psql(&database, "a int, v tsvector", "a,v\n1,'a fat' cat:3\n2,\n3,\"\"\n", 1);
    assert_eq!(report.copy_format, Some(CopyFormat::Text));
}

#[test]
fn values_only_the_server_can_read_do_not_stop_a_binary_load() {
    let database = Database::new();
    let rows: String = (0..30_000).map(|n| format!("{n},2024-01-{:02},x{n}\n", n % 28 + 1)).collect();
    let csv = format!("a,d,t\n{rows}1,\"January 8, 1999\",y\n{rows}2,\"January 8, 1999\",z\n");
    let report = same_as_psql(&database, "a int, d date, t text", &csv, 2);
    assert_eq!((report.rows, report.copy_format), (60_002, Some(CopyFormat::Binary)));
    let file = database.file("data.csv", "a,d,t\n1,\"January 8, 1999\",y\n2,\"January 32, 1999\",z\n");
    database.sql("CREATE TABLE one (a int, d date, t text)");
    let error = try_load(&database, &options(&file, "one")).unwrap_err();
    assert_eq!((error.sqlstate(), error.column()), (Some("22008"), Some("d")), "{error:?}");
    assert_eq!(error.location().unwrap().line, Some(3));
}

#[test]
fn a_column_that_mostly_the_server_must_read_travels_as_text_and_is_named() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, at timestamptz)");
    let rows: String =
        (0..30_000).map(|n| format!("{n},Jan 1 2024 00:{:02}:{:02}\n", n / 60 % 60, n % 60)).collect();
    let file = database.file("data.csv", format!("a,at\n{rows}"));
    let (report, notices) = try_load(&database, &options(&file, "t")).unwrap();
    assert_eq!((report.rows, report.copy_format), (30_000, Some(CopyFormat::Text)));
    assert!(notices.iter().any(|notice| notice.contains("at (timestamp with time zone)")), "{notices:?}");
    assert_eq!(database.sql("SELECT count(DISTINCT at) FROM t"), "3600");
}

#[test]
fn quotes_anywhere_and_newlines_in_fields_arrive() {
    let database = Database::new();
    same_as_psql(
        &database,
        "a text, b text",
        "a,b\nx\"y,z\"w,\"1\n2\"\n\"\",\"\"\"\"\n,\"\\N\"\n\\N,\\.\n",
        2,
    );
}

#[test]
fn the_session_s_time_zone_and_date_order_are_obeyed() {
    let database = Database::new();
    for (zone, style) in [
        ("Europe/Berlin", "ISO, DMY"),
        ("America/New_York", "SQL, MDY"),
        ("UTC", "German"),
        ("-03:30", "ISO, MDY"),
    ] {
        database.sql(&format!(
            "DROP TABLE IF EXISTS by_us, by_psql;
             SELECT format('ALTER DATABASE %I SET timezone = %L', current_database(), '{zone}') \\gexec
             SELECT format('ALTER DATABASE %I SET datestyle = %L', current_database(), '{style}') \\gexec"
        ));
        same_as_psql(
            &database,
            "tz timestamptz, d date, ts timestamp",
            "tz,d,ts\n2024-07-01 12:00:00,2024-02-01,2024-07-01 12:00:00\n2024-03-31 02:30:00,2024-12-11,2024-01-01\n2024-10-27 02:30:00,01/02/2003,03/04/2005 06:07:08\n",
            1,
        );
    }
}

#[test]
fn columns_are_matched_by_header_name_in_any_order_and_case() {
    let database = Database::new();
    database.sql(
        r#"CREATE TABLE "Order" ("select" int, "Mixed Case" text, "q""uote" text,
             id int GENERATED ALWAYS AS IDENTITY, twice int GENERATED ALWAYS AS ("select" * 2) STORED, made date DEFAULT '2020-01-01')"#,
    );
    let file = database.file("o.csv", "mixed case,SELECT,\"q\"\"uote\"\nhello,21,x\n");
    let report = load(&database, &options(&file, "\"Order\""));
    assert_eq!(report.rows, 1);
    assert_eq!(database.sql("SELECT * FROM \"Order\""), "21|hello|x|1|42|2020-01-01");
    let unfilled = report.plan.unwrap().unfilled;
    assert_eq!(unfilled, ["id: its default", "twice: generated", "made: its default"]);
}

#[test]
fn identity_columns_take_the_input_s_values() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, a int)");
    load(&database, &options(&database.file("t.csv", "id,a\n70,1\n"), "t"));
    assert_eq!(database.sql("SELECT * FROM t"), "70|1");
}

#[test]
fn domains_enums_partitions_and_instead_of_views_take_rows() {
    let database = Database::new();
    database.sql(
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE DOMAIN more AS positive CHECK (VALUE < 100);
         CREATE DOMAIN price AS numeric(6,2);
         CREATE TYPE mood AS ENUM ('sad', 'ok');
         CREATE TABLE t (m more, p price, e mood, at date) PARTITION BY RANGE (at);
         CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
         CREATE TABLE t2 PARTITION OF t DEFAULT;
         CREATE TABLE plain (a int, b text); CREATE VIEW v AS SELECT a, b FROM plain;
         CREATE FUNCTION put() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO plain VALUES (NEW.a * 10, NEW.b); RETURN NEW; END $$;
         CREATE TRIGGER put INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION put();",
    );
    load(
        &database,
        &options(&database.file("t.csv", "m,p,e,at\n5,1.005,ok,2024-01-15\n99,7,sad,2025-01-01\n"), "t"),
    );
    assert_eq!(
        database.sql("SELECT * FROM t1; SELECT * FROM t2"),
        "5|1.01|ok|2024-01-15\n99|7.00|sad|2025-01-01"
    );
    let report = load(&database, &options(&database.file("v.csv", "a,b\n1,x\n2,y\n"), "v"));
    assert_eq!(report.rows, 2);
    assert_eq!(database.sql("SELECT * FROM plain"), "10|x\n20|y");
    let error = try_load(
        &database,
        &options(&database.file("d.csv", "m,p,e,at\n5,1,ok,2024-01-15\n500,1,ok,2024-01-15\n"), "t"),
    )
    .unwrap_err();
    assert_eq!((error.sqlstate(), error.location().unwrap().line), (Some("23514"), Some(3)), "{error:?}");
}

#[test]
fn all_mismatches_come_in_one_message() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b int NOT NULL, g int GENERATED ALWAYS AS (a) STORED)");
    let file = database.file("t.csv", "a,A,nope,g\n1,2,3,4\n");
    let error = try_load(&database, &options(&file, "t").header(HeaderOption::Yes)).unwrap_err();
    let text = format!("{error:?}");
    for expected in [
        "\"nope\" is not a column",
        "\"g\" is a generated column",
        "\"a\" is named twice",
        "\"b\" must not be null",
    ] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    let doubtful = try_load(&database, &options(&file, "t")).unwrap_err();
    assert!(doubtful.message().contains("neither clearly a header"), "{doubtful:?}");
}

#[test]
fn fields_are_mapped_renamed_left_out_and_listed() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text)");
    let named = database.file("named.csv", "First,second,third\n1,x,junk\n");
    let renamed = options(&named, "t").map([("First", "a"), ("second", "b")]).skip_columns(["third"]);
    load(&database, &renamed);
    let bare = database.file("bare.csv", "y,2\n");
    load(&database, &options(&bare, "t").column_list(["b", "a"]));
    load(&database, &options(&database.file("plain.csv", "3,z\n"), "t"));
    assert_eq!(database.sql("SELECT * FROM t ORDER BY a"), "1|x\n2|y\n3|z");
}

#[test]
fn several_files_and_globs_load_as_one() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int)");
    for n in 0..3 {
        database.file(&format!("part{n}.csv"), format!("a\n{n}\n{n}{n}\n"));
    }
    let report = load(&database, &options(&database.path("part*.csv"), "t"));
    assert_eq!(report.rows, 6);
    database.file("part3.csv", "b\n9\n");
    let error = try_load(&database, &options(&database.path("part*.csv"), "t")).unwrap_err();
    assert!(error.message().contains("part3.csv names none of the columns of"), "{error:?}");
    assert_eq!(database.sql("SELECT count(*) FROM t"), "6");
}

#[test]
fn modes_append_truncate_create() {
    let database = Database::new();
    let file = database.file("t.csv", "a\n1\n2\n");
    let with = |mode| options(&file, "t").mode(mode);
    assert_eq!(try_load(&database, &with(Mode::Append)).unwrap_err().sqlstate(), Some("42P01"));
    assert_eq!(try_load(&database, &with(Mode::Truncate)).unwrap_err().sqlstate(), Some("42P01"));
    load(&database, &with(Mode::Create));
    assert_eq!(try_load(&database, &with(Mode::Create)).unwrap_err().sqlstate(), Some("42P07"));
    let (_, notices) = try_load(&database, &with(Mode::Append)).unwrap();
    assert!(notices.iter().any(|notice| notice.contains("holds rows already")), "{notices:?}");
    assert_eq!(database.sql("SELECT count(*) FROM t"), "4");
    load(&database, &with(Mode::Truncate).freeze(true).analyze(true));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "2");
    assert_eq!(
        database.sql("SELECT reltuples, relallvisible = relpages FROM pg_class WHERE relname = 't'"),
        "2|t"
    );
}

#[test]
fn frozen_rows_need_no_vacuum_and_others_are_told_apart() {
    let database = Database::new();
    database.sql("CREATE EXTENSION pageinspect; CREATE TABLE t (a int)");
    let file = database.file("t.csv", "a\n1\n2\n");
    // Both hints of xmin together, "committed" and "invalid", mean frozen.
    let frozen = "SELECT count(*) FILTER (WHERE t_infomask & 768 = 768), count(*) FROM heap_page_items(get_raw_page('t', 0))";
    for (freeze, expected) in [(false, "0|2"), (true, "2|2")] {
        load(&database, &options(&file, "t").mode(Mode::Truncate).freeze(freeze).analyze(false));
        assert_eq!(database.sql(frozen), expected, "freeze: {freeze}");
    }
    load(&database, &options(&file, "made").mode(Mode::Create).freeze(true));
    assert_eq!(database.sql(&frozen.replace("'t'", "'made'")), "2|2");
}

#[test]
fn default_markers_give_the_column_s_default() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text DEFAULT 'dflt')");
    let mut with_default = options(&database.file("t.csv", "a,b\n1,\\D\n2,\"\\D\"\n3,x\n"), "t");
    with_default.input.dialect.default = Some("\\D".into());
    if database.sql("SHOW server_version_num").as_str() < "160000" {
        let error = try_load(&database, &with_default).unwrap_err();
        assert!(error.message().contains("needs PostgreSQL 16"), "{error:?}");
        return;
    }
    load(&database, &with_default);
    assert_eq!(database.sql("SELECT * FROM t"), "1|dflt\n2|\\D\n3|x");
}

#[test]
fn a_dry_run_shows_the_plan_and_changes_nothing() {
    let database = Database::new();
    let file = database.file("t.csv", "a,b\n1,2024-01-01\n");
    let report = load(&database, &options(&file, "t").dry_run(true));
    assert_eq!(report.outcome, howdah::report::Outcome::Planned);
    let plan = report.plan.unwrap();
    assert!(plan.creates_table);
    assert_eq!(
        plan.columns.iter().map(|column| column.r#type.as_str()).collect::<Vec<_>>(),
        ["bigint", "date"]
    );
    assert_eq!(database.sql("SELECT count(*) FROM pg_class WHERE relname = 't'"), "0");
    // The statements are the ones that would run.
    database.sql(&plan.statements[0]);
}

#[test]
fn text_format_files_load_with_escapes_and_end_marker() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text)");
    let file = database.file("t.copy", "1\ta\\tb\\\\c\\x41\\101\n2\t\\N\n\\.\nignored\n");
    let (report, notices) = try_load(&database, &options(&file, "t")).unwrap();
    assert_eq!(report.rows, 2);
    assert!(notices.iter().any(|notice| notice.contains("what follows is not read")), "{notices:?}");
    assert_eq!(database.sql("SELECT a, b = E'a\\tb\\\\cAA', b IS NULL FROM t"), "1|t|f\n2||t");
}

#[test]
fn limit_and_skipped_lines_count_records_and_lines() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text)");
    let file = database.file("t.csv", "# made by hand\na,b\n1,\"x\ny\"\n2,z\n3,w\n");
    let report = load(&database, &options(&file, "t").skip_lines(1).limit(2));
    assert_eq!((report.rows, report.rows_read), (2, 2));
}
