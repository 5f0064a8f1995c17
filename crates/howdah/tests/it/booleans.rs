//! Words for true and false, in boolean columns alone.

use howdah::options::{OnError, WritePath};
use howdah::{ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

fn in_german(wanted: LoadOptions) -> LoadOptions {
    wanted.booleans([("ja", "nein")])
}

#[test]
fn words_and_what_postgresql_reads_are_booleans_and_texts_stay() {
    let database = Database::new();
    let csv = "b,s\nja,ja\nNEIN,nein\n\"Ja\",Ja\nt,t\noff,off\n,\nДа,Да\n";
    let converted = "b,s\ntrue,ja\nfalse,nein\ntrue,Ja\nt,t\noff,off\n,\ntrue,Да\n";
    let (file, converted) = (database.file("t.csv", csv), database.file("c.csv", converted));
    for write_path in [
        WritePath::CopyBinary,
        WritePath::CopyText,
        WritePath::Insert,
        WritePath::InsertAutocommit,
        WritePath::Values,
        WritePath::Unnest,
    ] {
        database.sql(
            "DROP TABLE IF EXISTS t, twin; DROP DOMAIN IF EXISTS flag; CREATE DOMAIN flag AS boolean;
             CREATE TABLE t (b flag, s text); CREATE TABLE twin (LIKE t)",
        );
        let wanted = options(&file, "t").booleans([("ja", "nein"), ("да", "нет")]).write_path(write_path);
        assert_eq!(load(&database, &wanted).rows, 7);
        database.sql(&format!("\\copy twin FROM '{converted}' (FORMAT csv, HEADER)"));
        assert!(database.binary_rows("t") == database.binary_rows("twin"), "{write_path:?}");
    }
}

#[test]
fn a_new_table_s_column_of_those_words_is_boolean() {
    let database = Database::new();
    let csv =
        "paid,mixed,maybe,flag,n,old\nja,Ja,ja,1,1,true\nNein,true,vielleicht,0,2,false\n,nein,nein,1,0,\n";
    let wanted = options(&database.file("t.csv", csv), "t").booleans([("ja", "nein"), ("1", "0")]);
    load(&database, &wanted);
    let types = "SELECT string_agg(format_type(atttypid, -1), ' ' ORDER BY attnum) FROM pg_attribute
                 WHERE attrelid = 't'::regclass AND attnum > 0";
    assert_eq!(database.sql(types), "boolean boolean text boolean bigint boolean");
    assert_eq!(database.sql("SELECT string_agg(paid::text || flag, ' ') FROM t"), "truetrue falsefalse");
}

#[test]
fn another_word_is_refused_and_mended_it_is_read_by_the_same_words() {
    let database = Database::new();
    database.sql("CREATE TABLE t (b boolean, s text)");
    let file = database.file("t.csv", "b,s\nja,a\njein,b\nnein,c\n");
    let wanted = in_german(options(&file, "t"));
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!(error.message(), "invalid input syntax for type boolean: \"jein\"");
    assert_eq!(error.location().unwrap().line, Some(3));
    let rejects = database.path("t.rejects.jsonl");
    let report = load(&database, &wanted.on_error(OnError::Ignore).rejects(rejects.clone()));
    assert_eq!((report.rows, report.rows_rejected), (2, 1));
    let corrected = std::fs::read_to_string(&rejects).unwrap().replace("jein,", "nein,");
    assert_eq!(load(&database, &options(&database.file("c.rejects.jsonl", corrected), "t")).rows, 1);
    assert_eq!(database.sql("SELECT string_agg(b::text, ' ' ORDER BY s) FROM t"), "true false false");
}

#[test]
fn a_word_that_postgresql_reads_otherwise_is_refused_before_anything_is_read() {
    let database = Database::new();
    let wanted = options(&database.file("t.csv", "b\nja\n"), "t").booleans([("no", "yes")]);
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.message().contains("PostgreSQL reads it as false"), "{error}");
}
