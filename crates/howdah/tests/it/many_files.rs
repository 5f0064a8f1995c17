//! Files whose columns differ, and where a row came from: every value in its column, nothing from one file in another's.

use howdah::options::{ColumnNames, Format, HeaderOption, OnError, WritePath};
use howdah::{ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

fn several(files: &[String], table: &str) -> LoadOptions {
    options(&files[0], table).paths(files.to_vec())
}

fn columns(database: &Database, table: &str) -> String {
    database.sql(&format!(
        "SELECT string_agg(attname || ':' || format_type(atttypid, atttypmod), ' ' ORDER BY attnum)
           FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0"
    ))
}

fn three(database: &Database) -> [String; 3] {
    [
        database.file("a.csv", "id,name\n1,Ann\n2,\"B,ob\"\n"),
        database.file("b.csv", "Name,id,city\nCid,3,Oslo\n\"D\"\"i\",4,\n"),
        database.file("c.csv", "city,id\nRome,5\n"),
    ]
}

#[test]
fn a_new_table_has_the_columns_of_all_files_and_null_where_a_file_lacks_one() {
    let database = Database::new();
    let files = three(&database);
    for (jobs, write_path) in
        [(1, WritePath::CopyBinary), (2, WritePath::CopyBinary), (1, WritePath::CopyText)]
    {
        database.sql("DROP TABLE IF EXISTS t");
        let wanted = several(&files, "t").jobs(jobs).write_path(write_path);
        let (report, notices) = try_load(&database, &wanted).unwrap();
        assert_eq!(report.rows, 5);
        assert_eq!(columns(&database, "t"), "id:bigint name:text city:text");
        assert_eq!(
            database.sql("SELECT * FROM t ORDER BY id"),
            "1|Ann|\n2|B,ob|\n3|Cid|Oslo\n4|D\"i|\n5||Rome"
        );
        let said = [
            format!("{} has no city: NULL in its rows", files[0]),
            format!("{} has no name: NULL in its rows", files[2]),
        ];
        assert_eq!(notices, said);
    }
}

#[test]
fn equal_headers_are_not_worth_a_word() {
    let database = Database::new();
    let files = [
        database.file("a.csv", "id,b\n1,2\n"),
        database.file("b.csv", "id,b\n3,4\n"),
        database.file("e.csv", ""),
    ];
    let (report, notices) = try_load(&database, &several(&files, "t")).unwrap();
    assert_eq!((report.rows, notices), (2, vec![]));
}

#[test]
fn an_existing_table_takes_columns_by_name_from_every_file() {
    let database = Database::new();
    let files = three(&database);
    database.sql("CREATE TABLE t (city varchar(10), extra int DEFAULT 7, name text, id int PRIMARY KEY)");
    assert_eq!(load(&database, &several(&files, "t")).rows, 5);
    assert_eq!(
        database.sql("SELECT id, name, city, extra FROM t ORDER BY id"),
        "1|Ann||7\n2|B,ob||7\n3|Cid|Oslo|7\n4|D\"i||7\n5||Rome|7"
    );
    // A column that must not be null cannot be lacking, and one that is not there cannot be loaded: all at once.
    database.sql("CREATE TABLE strict (id int, name text NOT NULL)");
    let error = try_load(&database, &several(&files, "strict")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let both = ["\"city\" is not a column of public.strict", "\"name\" must not be null, and is not in"];
    assert!(both.iter().all(|part| error.message().contains(part)), "{error:?}");
    let skipping = several(&files[..2], "strict").skip_columns(["city"]);
    assert_eq!(load(&database, &skipping).rows, 4);
}

#[test]
fn a_file_that_is_no_relative_is_refused_before_anything_is_made() {
    let database = Database::new();
    let a = database.file("a.csv", "id,name\n1,Ann\n");
    for (text, says) in [
        ("3,Cid\n4,Di\n", "names none of the columns of"),
        ("id;name\n3;Cid\n", "names none of the columns of"),
    ] {
        let b = database.file("b.csv", text);
        let error = try_load(&database, &several(&[a.clone(), b], "t")).unwrap_err();
        assert!(error.kind() == ErrorKind::Usage && error.message().contains(says), "{text:?}: {error:?}");
        assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");
    }
    // Without headers nothing tells columns apart: counts must be equal.
    let files = [database.file("c.csv", "1,2\n"), database.file("d.csv", "3,4,5\n")];
    let wanted = several(&files, "t").header(HeaderOption::No);
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!((error.kind(), &*error.location().unwrap().source), (ErrorKind::Data, &*files[1]));
}

#[test]
fn a_bad_record_is_named_by_its_own_file_s_columns() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, name text, city text)");
    let a = database.file("a.csv", "id,name\n1,Ann\n");
    for (text, column, line) in [
        ("city,id\nRome,x\n", "id", 2),
        ("city,id\nRome,5\nParis\n", "id", 3),
        ("name,city,id\nA,B\n", "id", 2),
        ("city,id,name\nA,2,\u{ff}\n", "name", 2),
    ] {
        let text: Vec<u8> = text.chars().map(|c| u8::try_from(c).unwrap()).collect();
        let b = database.file("b.csv", text);
        let error = try_load(&database, &several(&[a.clone(), b], "t")).unwrap_err();
        assert_eq!((error.column(), error.location().unwrap().line), (Some(column), Some(line)), "{error:?}");
    }
}

#[test]
fn rejects_remember_the_columns_of_their_file() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, name text, city text)");
    let files =
        [database.file("a.csv", "id,name\n1,Ann\n"), database.file("b.csv", "city,id\nRome,x\nOslo,2\n")];
    let rejects = database.path("t.rejects.jsonl");
    let wanted = several(&files, "t").on_error(OnError::Ignore).rejects(rejects.clone());
    let report = load(&database, &wanted);
    assert_eq!((report.rows, report.rows_rejected), (2, 1));
    let corrected = std::fs::read_to_string(&rejects).unwrap().replace("Rome,x", "Rome,3");
    load(&database, &options(&database.file("m.rejects.jsonl", corrected), "t"));
    assert_eq!(database.sql("SELECT * FROM t ORDER BY id"), "1|Ann|\n2||Oslo\n3||Rome");
}

#[test]
fn every_row_knows_its_file() {
    let database = Database::new();
    let files = three(&database);
    for (jobs, write_path) in
        [(1, WritePath::CopyBinary), (2, WritePath::CopyBinary), (2, WritePath::CopyText)]
    {
        database.sql("DROP TABLE IF EXISTS t");
        let wanted = several(&files, "t").file_column("src").jobs(jobs).write_path(write_path);
        load(&database, &wanted);
        assert_eq!(columns(&database, "t"), "id:bigint name:text city:text src:text");
        let expected = format!("{}|2\n{}|2\n{}|1", files[0], files[1], files[2]);
        assert_eq!(database.sql("SELECT src, count(*) FROM t GROUP BY 1 ORDER BY 1"), expected);
        assert_eq!(database.sql("SELECT id, name, city FROM t WHERE src LIKE '%c.csv'"), "5||Rome");
    }
}

#[test]
fn the_file_s_name_is_no_field_of_the_input() {
    let database = Database::new();
    database
        .sql("CREATE TABLE t (a int, src varchar(200), b int); CREATE TABLE short (a int, src varchar(3))");
    let file = database.file("a.csv", "1,2\n3,4\n");
    let naming = |table: &str, name: &str| options(&file, table).file_column(name);
    assert_eq!(load(&database, &naming("t", "src")).rows, 2);
    assert_eq!(database.sql("SELECT sum(a), sum(b), count(src) FROM t"), "4|6|2");
    for (table, name, says) in [
        ("t", "nope", "no column of public.t"),
        ("t", "b", "no column for text"),
        ("new", &"x".repeat(64), "64 bytes"),
        ("t", "ctid", "file_column: every table has a column ctid of its own"),
        ("new", "tableoid", "file_column: every table has a column tableoid of its own"),
    ] {
        let error = try_load(&database, &naming(table, name)).unwrap_err();
        assert!(error.kind() == ErrorKind::Usage && error.message().contains(says), "{error:?}");
    }
    let named = database.file("b.csv", "a,src\n1,x\n");
    for table in ["t", "new"] {
        let wanted = options(&named, table).file_column("src");
        let error = try_load(&database, &wanted).unwrap_err();
        assert!(error.message().contains("is in the input too"), "{error:?}");
    }
    let one = database.file("c.csv", "a\n1\n");
    let wanted = options(&one, "short").file_column("src");
    assert_eq!(try_load(&database, &wanted).unwrap_err().column(), Some("src"));
}

#[test]
fn corrected_records_come_from_the_file_they_came_from() {
    let database = Database::new();
    for (format, bad, good, text) in
        [(Format::Csv, "x", "7", "a,b\n1,u\nx,\"v,w\"\n"), (Format::Text, "x", "7", "a\tb\n1\tu\nx\tv\\tw\n")]
    {
        database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (a int, b text, src text)");
        let file = database.file("it's a \"file\".csv", text);
        let rejects = database.path("t.rejects.jsonl");
        let wanted = options(&file, "t")
            .file_column("src")
            .format(format)
            .on_error(OnError::Ignore)
            .rejects(rejects.clone());
        assert_eq!(load(&database, &wanted).rows_rejected, 1);
        let corrected = std::fs::read_to_string(&rejects).unwrap().replacen(
            &format!("\"raw\":\"{bad}"),
            &format!("\"raw\":\"{good}"),
            1,
        );
        load(&database, &options(&database.file("m.rejects.jsonl", corrected), "t"));
        assert_eq!(
            database
                .sql("SELECT a, count(DISTINCT src), min(src) FROM t GROUP BY a ORDER BY a")
                .lines()
                .count(),
            2
        );
        assert_eq!(database.sql("SELECT DISTINCT src FROM t"), file);
    }
}

#[test]
fn a_file_finds_the_same_columns_alone_as_among_others() {
    let database = Database::new();
    for (at, (one, other, union)) in [
        (",name\n1,Ada\n", "column1,name\n4,Eve\n", "column1:bigint name:text"),
        ("a,,c\n1,2,3\n", "a,c,column2\n4,5,6\n", "a:bigint column2:bigint c:bigint"),
        ("ctid,b\n1,2\n", "ctid_2,b\n3,4\n", "ctid_2:bigint b:bigint"),
        ("a,a\n1,2\n", "a_2,a\n3,4\n", "a:bigint a_2:bigint"),
        ("a,b,\n1,2,\n", "b,a\n4,3\n", "a:bigint b:bigint column3:text"),
    ]
    .into_iter()
    .enumerate()
    {
        let files = [database.file("one.csv", one), database.file("other.csv", other)];
        for order in [[0, 1], [1, 0]] {
            database.sql("DROP TABLE IF EXISTS t, apart");
            load(&database, &several(&order.map(|at| files[at].clone()), "t"));
            if order == [0, 1] {
                assert_eq!(columns(&database, "t"), union, "{at}");
            }
            // Alone each of them finds the columns in which its values are.
            database.sql("CREATE TABLE apart (LIKE t)");
            for file in &files {
                load(&database, &options(file, "apart"));
            }
            assert_eq!(database.sql("TABLE apart EXCEPT TABLE t"), "", "{at} {order:?}");
        }
    }
}

#[test]
fn friendly_names_unite_what_is_spelled_differently() {
    let database = Database::new();
    let files = [
        database.file("a.csv", "Flight Date,n\n2024-01-01,1\n"),
        database.file("b.csv", "n,flightDate\n2,2024-01-02\n"),
    ];
    load(&database, &several(&files, "t").column_names(ColumnNames::Snake));
    assert_eq!(columns(&database, "t"), "flight_date:date n:bigint");
    assert_eq!(database.sql("SELECT count(flight_date), sum(n) FROM t"), "2|3");
}
