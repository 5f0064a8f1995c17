//! How the wide values of a new table are compressed: by LZ4 where there are some and the server has it, or as somebody says.

use std::fmt::Write;
use std::io::Cursor;

use howdah::name::TableName;
use howdah::options::{ColumnCompression, Mode, OnError};
use howdah::source::Input;
use howdah::{Control, ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::{load, options, target, try_load};

const METHODS: &str =
    "SELECT string_agg(attname || '=' || attcompression::text, ' ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = 't'::regclass AND attnum > 0 AND attcompression <> ''";

fn has_lz4(database: &Database) -> bool {
    database.sql("SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'")
        == "t"
}

/// A column of small texts, one with a text of `width` bytes, and one of documents, of which one is as wide.
fn rows(width: usize) -> String {
    let mut csv = String::from("id,small,note,document\n");
    for id in 0..50 {
        let (note, inner) =
            if id == 40 { ("n".repeat(width), "d".repeat(width)) } else { ("n".into(), "d".into()) };
        writeln!(csv, "{id},s{id},{note},\"{{\"\"a\"\": \"\"{inner}\"\"}}\"").unwrap();
    }
    csv
}

fn made(file: &str) -> LoadOptions {
    options(file, "t").mode(Mode::Create)
}

#[test]
fn columns_with_wide_values_get_lz4_where_the_server_has_it() {
    let database = Database::new();
    let wide = rows(2_000);
    let json = (0..50).map(|id| {
        format!(
            "{{\"id\":{id},\"small\":\"s\",\"note\":\"{}\",\"document\":{{\"a\":\"{0}\"}}}}\n",
            "n".repeat(id * 50)
        )
    });
    for (name, text) in [("t.csv", wide), ("t.ndjson", json.collect())] {
        let file = database.file(name, text);
        for wanted in
            [made(&file).jobs(1), made(&file).jobs(2), made(&file).on_error(OnError::Ignore).key(["id"])]
        {
            let plan = load(&database, &wanted).plan.unwrap();
            let (methods, said) = match has_lz4(&database) {
                true => (
                    "note=l document=l",
                    Some(
                        "lz4 for note, document, with values of 2 kB or more (column_compression overrides)",
                    ),
                ),
                false => ("", None),
            };
            assert_eq!(database.sql(METHODS), methods, "{name}");
            assert_eq!(plan.compression.map(|said| said.to_string()).as_deref(), said, "{name}");
            let script = plan.create_table.unwrap().to_string();
            assert_eq!(script.contains("\"note\" text COMPRESSION lz4,"), has_lz4(&database), "{script}");
            // What is shown makes the table that was made.
            database.sql(&format!("DROP TABLE t; {script}"));
            assert_eq!(database.sql(METHODS), methods, "{name}");
            database.sql("DROP TABLE t");
        }
    }
    // Others are left to the server.
    let plan = load(&database, &made(&database.file("t.csv", rows(1_900)))).plan.unwrap();
    assert_eq!((database.sql(METHODS).as_str(), plan.compression.is_none()), ("", true));
}

#[test]
fn a_stream_s_columns_keep_it_when_they_get_their_types() {
    let database = Database::new();
    let (method, letter, name) = match has_lz4(&database) {
        true => (ColumnCompression::Lz4, "l", "lz4"),
        false => (ColumnCompression::Pglz, "p", "pglz"),
    };
    for jobs in [1, 2] {
        let stream = Input::reader("made", Box::new(Cursor::new(rows(5_000).into_bytes())));
        let wanted = LoadOptions::default().table(TableName::parse("t").unwrap()).jobs(jobs);
        let wanted = wanted.column_compression(method);
        howdah::load_inputs(vec![stream], &wanted, &target(&database), &Control::new()).unwrap();
        let types = "SELECT string_agg(format_type(atttypid, -1), ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0";
        assert_eq!(database.sql(types), "bigint text text jsonb");
        assert_eq!(database.sql(METHODS), format!("small={letter} note={letter} document={letter}"));
        let stored =
            "SELECT pg_column_compression(note), pg_column_compression(document) FROM t WHERE id = 40";
        assert_eq!(database.sql(stored), format!("{name}|{name}"));
        database.sql("DROP TABLE t");
    }
}

#[test]
fn what_somebody_chose_for_the_server_stays() {
    let database = Database::new();
    database.sql(&format!("ALTER DATABASE {} SET default_toast_compression = 'pglz'", database.name()));
    let file = database.file("t.csv", rows(5_000));
    assert!(load(&database, &made(&file)).plan.unwrap().compression.is_none());
    assert_eq!(database.sql(METHODS), "");
}

#[test]
fn what_is_asked_for_is_done_or_refused() {
    let database = Database::new();
    let file = database.file("t.csv", rows(10));
    let with = |method| made(&file).column_compression(method);
    let plan = load(&database, &with(ColumnCompression::Pglz)).plan.unwrap();
    assert_eq!(database.sql(METHODS), "small=p note=p document=p");
    assert_eq!(plan.compression.unwrap().to_string(), "pglz for small, note, document");
    // A table that is there keeps its own.
    let wanted = with(ColumnCompression::Pglz).mode(Mode::Append);
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(error.message(), "column_compression is for new tables, and public.t exists");
    database.sql("DROP TABLE t");

    let wide = database.file("wide.csv", rows(5_000));
    load(&database, &made(&wide).column_compression(ColumnCompression::Default));
    assert_eq!(database.sql(METHODS), "");
    database.sql("DROP TABLE t");

    let asked = try_load(&database, &with(ColumnCompression::Lz4));
    if has_lz4(&database) {
        asked.unwrap();
        assert_eq!(database.sql(METHODS), "small=l note=l document=l");
    } else {
        let error = asked.unwrap_err();
        assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Usage, Some("0A000")), "{error:?}");
        assert!(
            error.message().starts_with("column_compression=lz4 is not possible: the server, PostgreSQL ")
        );
        assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");
    }
}
