//! Rows of a part travel in the order of an index: the table is the same, errors name the record, and where rows cannot be
//! sorted it is said.

use std::fmt::Write;
use std::io::Cursor;

use howdah::options::{Mode, OnError, Sort, WritePath};
use howdah::source::Input;
use howdah::{Control, ErrorKind, LoadOptions, load_inputs};
use howdah_testkit::Database;

use crate::common::{load, options, target, try_load};

/// Numbers from 0 to `count`, without an order.
fn scattered(count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |n| n * 7919 % count)
}

fn by(file: &str, index: &str) -> LoadOptions {
    options(file, "t").mode(Mode::Append).sort(Sort::By(index.into()))
}

#[test]
fn rows_lie_in_the_order_of_the_index_and_are_those_of_psql() {
    let database = Database::new();
    let mut csv = String::from("id,name,uuid,amount,at,ratio\n");
    for n in scattered(20_000) {
        let name =
            if n % 7 == 0 { String::new() } else { format!("{} {n}", ["Zoë", "anna", "Bert"][n % 3]) };
        let (amount, ratio) = (n as f64 * 0.25 - 2000.0, (n as f64).sin());
        writeln!(
            csv,
            "{n},{name},{:08x}-0000-4000-8000-000000000000,{amount},2026-01-{:02} 00:00:{:02},{ratio}",
            n * 2_654_435_761 % 4_294_967_296,
            n % 28 + 1,
            n % 60
        )
        .unwrap();
    }
    let file = database.file("data.csv", &csv);
    let columns = "(id int, name text, uuid uuid, amount numeric(9,2), at timestamp, ratio float8)";
    let indexes = "CREATE INDEX of_id ON t (id); CREATE INDEX of_uuid ON t (uuid); CREATE INDEX of_name ON t (name COLLATE \"C\");
         CREATE INDEX of_amount ON t (amount DESC); CREATE INDEX of_both ON t (at, id); CREATE INDEX of_ratio ON t (ratio)";
    database.sql(&format!("CREATE TABLE by_psql {columns}; CREATE TABLE t {columns}; {indexes}"));
    database.sql(&format!(r"\copy by_psql FROM '{file}' (FORMAT csv, HEADER match)"));
    for (index, order) in [
        ("of_id", "id"),
        ("of_uuid", "uuid"),
        ("of_name", "lower(name) COLLATE \"C\""),
        ("of_amount", "amount"),
        ("of_both", "at, id"),
        ("of_ratio", "ratio"),
    ] {
        database.sql("TRUNCATE t");
        let report = load(&database, &by(&file, index).jobs(1));
        assert_eq!(report.sorted_parts.into_iter().collect::<Vec<_>>(), [(index.to_owned(), 1)]);
        assert_eq!(database.binary_rows("t"), database.binary_rows("by_psql"), "{index}");
        let unsorted = format!(
            "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY ctid) AS lies,
                                          row_number() OVER (ORDER BY {order}, ctid) AS belongs FROM t)
              WHERE lies <> belongs"
        );
        assert_eq!(database.sql(&unsorted), "0", "{index}");
    }
}

#[test]
fn the_index_is_chosen_by_what_rows_and_indexes_are() {
    let database = Database::new();
    // More than 256 pages of key.
    database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, at int, kind int);
         INSERT INTO t SELECT 2 * n, n, n % 5 FROM generate_series(1, 150000) n;
         CREATE INDEX of_at ON t (at); CREATE INDEX of_kind ON t (kind)",
    );
    let csv: String =
        scattered(30_000).enumerate().map(|(at, n)| format!("{},{at},{}\n", 2 * n + 1, n % 5)).collect();
    let file = database.file("data.csv", format!("id,at,kind\n{csv}"));
    let wanted = options(&file, "t").jobs(1);
    let report = load(&database, &wanted.clone().limit(10_000));
    assert_eq!(report.sorted_parts.into_iter().collect::<Vec<_>>(), [("t_pkey".to_owned(), 1)]);
    assert_eq!(report.plan.unwrap().sort, ["of_at", "of_kind", "t_pkey"]);
    let later: String = scattered(30_000).skip(10_000).map(|n| format!("{},0,0\n", 2 * n + 1)).collect();
    let file = database.file("later.csv", format!("id,at,kind\n{later}"));
    assert!(load(&database, &options(&file, "t").sort(Sort::None)).sorted_parts.is_empty());
    // Ascending already, or of few values.
    let ascending: String = (0..10_000).map(|n| format!("{},{n},{}\n", 1_000_000 + n, n % 5)).collect();
    let file = database.file("ascending.csv", format!("id,at,kind\n{ascending}"));
    assert!(load(&database, &options(&file, "t")).sorted_parts.is_empty());
}

#[test]
fn an_index_that_is_empty_counts_as_what_it_becomes() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY)");
    let csv: String = scattered(5000).map(|n| format!("{n}\n")).collect();
    let file = database.file("small.csv", format!("id\n{csv}"));
    assert!(load(&database, &options(&file, "t")).sorted_parts.is_empty());
    // A stream may be large, unless it ends within what is looked at before.
    database.sql("ALTER TABLE t ADD v text");
    for (width, expected) in [(1, &[][..]), (1_000, &["t_pkey"])] {
        database.sql("TRUNCATE t");
        let csv: String = scattered(5_000).map(|n| format!("{n},{}\n", "x".repeat(width))).collect();
        let stream = Input::reader("made", Box::new(Cursor::new(format!("id,v\n{csv}").into_bytes())));
        let report =
            load_inputs(vec![stream], &options(&file, "t"), &target(&database), &Control::new()).unwrap();
        assert_eq!(report.sorted_parts.into_keys().collect::<Vec<_>>(), expected);
        assert_eq!(database.sql("SELECT count(*) FROM t"), "5000");
    }
}

#[test]
fn a_row_that_is_refused_is_named_by_its_place_in_the_input() {
    let database = Database::new();
    let mut csv = String::from("id,n\n");
    for (at, n) in scattered(20_000).enumerate() {
        writeln!(csv, "{n},{}", if at == 4321 { -1 } else { 1 }).unwrap();
    }
    let file = database.file("data.csv", &csv);
    database.sql("CREATE TABLE t (id int PRIMARY KEY, n int CHECK (n > 0))");
    let error = try_load(&database, &by(&file, "t_pkey")).unwrap_err();
    let line = error.location().and_then(|at| at.line);
    assert_eq!((error.sqlstate(), line), (Some("23514"), Some(4323)), "{error:?}");

    // Two wrong records, of which the second comes first in the order of the index; and a key that another index has.
    let two = csv.replacen("\n2,1\n", "\n2,-1\n", 1);
    let first = two.lines().position(|line| line.ends_with(",-1")).unwrap() as u64 + 1;
    let file = database.file("two.csv", two);
    let error = try_load(&database, &by(&file, "t_pkey").jobs(1)).unwrap_err();
    assert_eq!(error.location().and_then(|at| at.line), Some(first), "{error:?}");
    database.sql("CREATE TABLE u (id int PRIMARY KEY, n int UNIQUE)");
    let file = database.file("other.csv", "id,n\n9,7\n8,1\n1,7\n");
    let wanted = by(&file, "u_pkey").table(howdah::name::TableName::parse("u").unwrap());
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!(error.location().and_then(|at| at.line), Some(4), "{error:?}");
    assert!(error.detail().unwrap().contains("line 2 "), "{error:?}");

    let file = database.file("twice.csv", format!("{}5,7\n", csv.replace(",-1", ",1")));
    let error = try_load(&database, &by(&file, "t_pkey").jobs(1)).unwrap_err();
    let line = error.location().and_then(|at| at.line);
    assert_eq!((error.sqlstate(), line), (Some("23505"), Some(20_002)), "{error:?}");
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}

#[test]
fn rows_of_partitions_are_sorted_and_huge_ones_too() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (id int, kind int, body text, PRIMARY KEY (id, kind)) PARTITION BY LIST (kind);
         CREATE TABLE even PARTITION OF t FOR VALUES IN (0); CREATE TABLE odd PARTITION OF t DEFAULT;
         CREATE TABLE by_psql (id int, kind int, body text)",
    );
    let csv: String = scattered(2000)
        .map(|n| format!("{n},{},{}\n", n % 2, "x".repeat(if n % 500 == 3 { 3_000_000 } else { 9 })))
        .collect();
    let file = database.file("data.csv", format!("id,kind,body\n{csv}"));
    database.sql(&format!(r"\copy by_psql FROM '{file}' (FORMAT csv, HEADER match)"));
    let report = load(&database, &by(&file, "t_pkey").jobs(2));
    assert_eq!(report.sorted_parts["t_pkey"], report.parts);
    assert_eq!(database.binary_rows("t"), database.binary_rows("by_psql"));
}

#[test]
fn what_cannot_be_sorted_is_refused_where_it_was_asked_for() {
    let database = Database::new();
    let file = database.file("data.csv", "id,body\n2,b\n1,a\n");
    database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, body text); CREATE INDEX of_length ON t (length(body));
         CREATE INDEX hashed ON t USING hash (id)",
    );
    for (wanted, why) in [
        (by(&file, "nowhere"), "public.t has no such B-tree index"),
        (by(&file, "hashed"), "public.t has no such B-tree index"),
        (by(&file, "of_length"), "its first column is not loaded"),
        (by(&file, "t_pkey").on_error(OnError::Ignore), "judges them in the order of the input"),
        (by(&file, "t_pkey").write_path(WritePath::CopyText), "sends them as they come"),
        (by(&file, "t_pkey").mode(Mode::Upsert), "rows are staged"),
        (by(&file, "t_pkey").mode(Mode::Replace), "built after its rows"),
    ] {
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error:?}");
        assert!(error.message().contains(why), "{why}: {error:?}");
    }
    let hint = try_load(&database, &by(&file, "nowhere")).unwrap_err().hint().unwrap().to_owned();
    assert_eq!(hint, "it has of_length, t_pkey");
    load(&database, &by(&file, "t_pkey").mode(Mode::Truncate));
    assert_eq!(database.sql("SELECT string_agg(body, '' ORDER BY ctid) FROM t"), "ab");
}
