//! FORCE_NULL and FORCE_NOT_NULL as COPY has them: psql with the same options stores the same bytes.

use howdah::LoadOptions;
use howdah::options::{Format, HeaderOption, OnError, WritePath};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

/// Every way to write a field that is empty or the marker, in every column.
const CSV: &str = "1,,\"\",NA\n2,\"NA\",NA,\"\"\n3,\"\",\"NA\",\"NA\"\n4,x,\"y\",\n5,NA,\"N\"\"A\",\"N\"A\n";

#[test]
fn forced_columns_are_what_copy_makes_of_them() {
    let database = Database::new();
    let file = database.file("t.csv", CSV);
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for null in ["", "NA"] {
        for (force_null, force_not_null) in [
            (vec!["a", "b"], vec![]),
            (vec![], vec!["b", "c"]),
            (vec!["b"], vec!["b", "a"]),
            (vec!["*"], vec!["c"]),
        ] {
            for write_path in [WritePath::CopyBinary, WritePath::CopyText] {
                database.sql("DROP TABLE IF EXISTS by_us, by_psql");
                database.sql("CREATE TABLE by_us (n int, a text, b text, c varchar(9)); CREATE TABLE by_psql (LIKE by_us)");
                let copy = |option: &str, list: &[&str]| match list {
                    [] => String::new(),
                    ["*"] => format!(", {option} (n, a, b, c)"),
                    list => format!(", {option} ({})", list.join(", ")),
                };
                database.sql(&format!(
                    "\\copy by_psql FROM '{file}' (FORMAT csv, NULL '{null}'{}{})",
                    copy("FORCE_NULL", &force_null),
                    copy("FORCE_NOT_NULL", &force_not_null)
                ));
                let mut forced = options(&file, "by_us")
                    .force_null(names(&force_null))
                    .force_not_null(names(&force_not_null))
                    .header(HeaderOption::No)
                    .write_path(write_path);
                forced.input.dialect.null = Some(null.to_owned());
                load(&database, &forced);
                assert_eq!(
                    database.sql("TABLE by_us"),
                    database.sql("TABLE by_psql"),
                    "NULL {null:?}, {force_null:?}, {force_not_null:?}"
                );
                assert_eq!(database.binary_rows("by_us"), database.binary_rows("by_psql"));
            }
        }
    }
}

#[test]
fn the_types_of_a_new_table_know_what_is_forced() {
    let database = Database::new();
    let file = database.file("t.csv", "n,s\n\"1\",\n\"\",x\n");
    load(&database, &options(&file, "t").force_null(["n"]).force_not_null(["s"]));
    assert_eq!(database.sql("SELECT n, s IS NULL, pg_typeof(n) FROM t ORDER BY 1"), "1|f|bigint\n|f|bigint");
}

#[test]
fn corrected_records_are_forced_as_they_were() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, s text NOT NULL)");
    let file = database.file("t.csv", "x,\n\"\",\n");
    let rejects = database.path("t.rejects.jsonl");
    let forced = options(&file, "t")
        .force_null(["n"])
        .force_not_null(["s"])
        .header(HeaderOption::No)
        .on_error(OnError::Ignore)
        .rejects(rejects.clone());
    assert_eq!(load(&database, &forced).rows_rejected, 1);
    let corrected =
        std::fs::read_to_string(&rejects).unwrap().replace("\"raw\":\"x,\"", "\"raw\":\"\\\"\\\",\"");
    let corrected = database.file("corrected.rejects.jsonl", corrected);
    assert_eq!(load(&database, &options(&corrected, "t")).rows, 1);
    assert_eq!(database.sql("SELECT count(*) FROM t WHERE n IS NULL AND s = ''"), "2");
}

#[test]
fn columns_that_cannot_be_forced_are_named() {
    let database = Database::new();
    let file = database.file("t.csv", "a,b\n1,2\n");
    let forced = |column: &str, format| options(&file, "t").force_null([column.to_owned()]).format(format);
    let says = |options: &LoadOptions| try_load(&database, options).unwrap_err().message().to_owned();
    assert_eq!(says(&forced("z", Format::Csv)), "force_null names \"z\", which is not loaded");
    assert!(says(&forced("a", Format::Text)).contains("about quotes"));
}
