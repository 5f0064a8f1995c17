//! What goes wrong is said with file, line, byte and column, and nothing is changed.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use howdah::options::{HeaderOption, Mode};
use howdah::{Control, Error, ErrorKind};
use howdah_testkit::Database;
use howdah_testkit::waiting::{PATIENCE, until};

use crate::common::{Holder, load, options, target, try_load};

/// The error of loading `csv` into `t (a int, b text)`, which holds one row that must stay alone.
fn refused(csv: &[u8], jobs: usize) -> Error {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b varchar(8)); INSERT INTO t VALUES (0, 'there')");
    let file = database.file("data.csv", csv);
    let wanted = options(&file, "t").jobs(jobs).header(HeaderOption::Yes);
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!(database.sql("SELECT * FROM t"), "0|there");
    // Dead rows are told of as well, when they are many.
    assert!(error.visible().is_some_and(|visible| visible.starts_with("nothing was changed")), "{error:?}");
    assert!(error.location().is_some_and(|at| at.source.ends_with("data.csv")), "{error:?}");
    error
}

/// Line, byte offset, column, SQLSTATE.
type Place<'a> = (u64, u64, Option<&'a str>, Option<&'a str>);

fn place(error: &Error) -> Place<'_> {
    let at = error.location().unwrap();
    (at.line.unwrap(), at.byte_offset.unwrap(), error.column(), error.sqlstate())
}

#[test]
fn structural_faults_name_line_byte_and_column() {
    let cases: [(&[u8], Place<'_>, &str); 9] = [
        (b"a,b\n1,x\n2\n3,z\n", (3, 8, Some("b"), Some("22P04")), "missing data for column"),
        (b"a,b\n1,x\n2,y,z\n", (3, 8, None, Some("22P04")), "extra data after last expected column"),
        (
            b"a,b\n1,\"x\n\ny\"\n2,\"open\n3,z\n",
            (5, 15, None, Some("22P04")),
            "unterminated CSV quoted field",
        ),
        (b"a,b\n1,x\n2,y\rz\n", (3, 8, None, Some("22P04")), "unquoted carriage return"),
        (b"a,b\r\n1,x\r\n2,y\n", (3, 10, None, Some("22P04")), "unquoted newline"),
        (
            b"a,b\n1,x\n2,\xff\xfe\n",
            (3, 8, Some("b"), Some("22021")),
            "invalid byte sequence for encoding \"UTF8\": 0xff",
        ),
        (b"a,b\n1,x\n2,a\0b\n", (3, 8, Some("b"), Some("22021")), "0x00"),
        (
            b"a,b\n1,x\nx2,y\n",
            (3, 8, Some("a"), Some("22P02")),
            "invalid input syntax for type integer: \"x2\"",
        ),
        (
            b"a,b\n1,x\n2,123456789\n",
            (3, 8, Some("b"), Some("22001")),
            "value too long for type character varying(8)",
        ),
    ];
    for (csv, expected, message) in cases {
        let error = refused(csv, 1);
        assert!(error.message().contains(message), "{error:?}");
        assert_eq!(place(&error), expected, "{error:?}");
    }
}

#[test]
fn the_first_bad_record_of_a_long_file_is_the_one_that_is_named() {
    let mut csv = b"a,b\n".to_vec();
    for n in 0..200_000 {
        let bad = [70_000, 70_001, 150_000].contains(&n);
        csv.extend_from_slice(format!("{}{n},x\n", if bad { "bad" } else { "" }).as_bytes());
    }
    let error = refused(&csv, 2);
    assert_eq!(error.location().unwrap().line, Some(70_002), "{error:?}");
}

#[test]
fn what_only_the_server_refuses_is_led_back_to_its_line() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int CHECK (a < 100000), b text)");
    let mut csv = String::from("a,b\n");
    for n in 0..120_000 {
        csv.push_str(&format!("{n},\"two\nlines\"\n"));
    }
    let file = database.file("data.csv", &csv);
    for jobs in [1, 2] {
        let error = try_load(&database, &options(&file, "t").jobs(jobs)).unwrap_err();
        assert_eq!(error.sqlstate(), Some("23514"), "{error:?}");
        let line = error.location().unwrap().line.unwrap();
        // With several connections the server may meet another bad row first.
        assert!(line >= 200_002 && line.is_multiple_of(2), "{error:?}");
        if jobs == 1 {
            assert_eq!(line, 200_002, "{error:?}");
        }
        assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
    }
}

#[test]
fn a_null_is_not_named_before_a_worse_record_that_only_the_server_can_read() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int NOT NULL, q tsquery)");
    let file = database.file("data.csv", "1,a & b\n2,a &\n,c\n");
    let wanted = options(&file, "t").header(HeaderOption::No);
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!((error.sqlstate(), error.location().unwrap().line), (Some("42601"), Some(2)), "{error:?}");
    let fewer = database.file("data.csv", "1,a & b\n,c\n");
    let error = try_load(&database, &wanted.paths([fewer])).unwrap_err();
    assert_eq!((error.sqlstate(), error.location().unwrap().line), (Some("23502"), Some(2)), "{error:?}");
}

#[test]
fn one_key_at_both_ends_of_a_file_does_not_hang_the_load() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int PRIMARY KEY, b text); CREATE TABLE u (a int, UNIQUE (a) DEFERRABLE INITIALLY DEFERRED, b text)");
    let mut csv = String::from("a,b\n");
    for n in 0..300_000 {
        csv.push_str(&format!("{n},{}\n", "x".repeat(40)));
    }
    csv.push_str("7,again\n");
    let file = database.file("data.csv", &csv);
    for table in ["t", "u"] {
        for jobs in [2, 4] {
            let start = Instant::now();
            let error = try_load(&database, &options(&file, table).jobs(jobs)).unwrap_err();
            assert!(start.elapsed() < PATIENCE, "took {:?}", start.elapsed());
            assert_eq!(error.sqlstate(), Some("23505"), "{error:?}");
            assert_eq!(database.sql(&format!("SELECT count(*) FROM {table}")), "0");
        }
    }
}

#[test]
fn a_failed_load_leaves_no_table_behind() {
    let database = Database::new();
    let mut csv = String::from("a,b\n");
    for n in 0..100_000 {
        csv.push_str(&format!("{n},x\n"));
    }
    csv.push_str("\"open\n");
    let file = database.file("data.csv", &csv);
    for jobs in [1, 2, 4] {
        let options = options(&file, "t").jobs(jobs).mode(Mode::Create);
        let error = try_load(&database, &options).unwrap_err();
        assert!(error.message().contains("unterminated"), "{error:?}");
        let left = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
        assert_eq!(database.sql(left), "0");
    }
}

#[test]
fn a_killed_backend_fails_the_load_and_nothing_is_changed() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (a int);
         CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.a = 50000 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END $$;
         CREATE TRIGGER die BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION die();",
    );
    let csv: String =
        std::iter::once("a\n".to_owned()).chain((0..100_000).map(|n| format!("{n}\n"))).collect();
    for jobs in [1, 2] {
        let wanted = options(&database.file("data.csv", &csv), "t").jobs(jobs);
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!(error.sqlstate(), Some("57P01"), "{error:?}");
        assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
    }
}

/// Ends sessions of `database` for which `condition` holds, as soon as there is one.
fn end_session(database: &Database, condition: &str) {
    let ended = format!(
        "SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'howdah' AND {condition}"
    );
    until("a session is ended", || database.sql(&ended) == "t");
}

#[test]
fn whoever_ended_a_session_is_said_whatever_was_under_way() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let csv: String =
        std::iter::once("n\n".to_owned()).chain((0..4_000_000).map(|n| format!("{n}\n"))).collect();
    let file = database.file("t.csv", csv);
    let over_tcp = format!("{} host=127.0.0.1 port={}", database.conninfo(), database.tcp_address().port());
    for (at, conninfo) in [database.conninfo(), over_tcp].iter().cycle().take(40).enumerate() {
        let target = howdah::Target::new(conninfo).unwrap();
        // Whoever sends does not listen.
        let wanted = options(&file, "t").mode(Mode::Append).jobs(1 + at / 2 % 2);
        let error = std::thread::scope(|threads| {
            let loading = threads.spawn(|| howdah::load(&wanted, &target, &Control::new()).unwrap_err());
            end_session(&database, "query LIKE 'COPY%'");
            loading.join().unwrap()
        });
        assert_eq!((error.sqlstate(), error.kind()), (Some("57P01"), ErrorKind::Server), "{at}: {error:?}");
        assert!(error.hint().unwrap().contains("ended the session"), "{error:?}");
        assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
    }
}

#[test]
fn a_time_limit_of_the_servers_is_named() {
    let database = Database::new();
    if database.sql("SELECT current_setting('server_version_num')::int >= 170000") == "f" {
        return;
    }
    let limited = format!("{} options='-c transaction_timeout=500ms'", database.conninfo());
    let target = howdah::Target::new(&limited).unwrap();
    database.sql("CREATE TABLE t (n int)");
    let file = database.file("t.csv", format!("n\n{}", "1\n".repeat(2_000_000)));
    for jobs in [1, 2] {
        let wanted = options(&file, "t").mode(Mode::Append).jobs(jobs).max_rate(1_000_000);
        let error = howdah::load(&wanted, &target, &Control::new()).unwrap_err();
        assert_eq!(error.sqlstate(), Some("25P04"), "{error:?}");
        assert!(error.hint().unwrap().contains("transaction_timeout"), "{error:?}");
    }
}

#[test]
fn the_hidden_table_goes_though_the_first_connection_was_ended() {
    let database = Database::new();
    let file = database.file("t.csv", format!("n\n{}", "1\n".repeat(500_000)));
    // Slow enough to be met while it is under way.
    let wanted = options(&file, "new").mode(Mode::Create).jobs(2).max_rate(5_000);
    let error = std::thread::scope(|threads| {
        let loading = threads.spawn(|| try_load(&database, &wanted).unwrap_err());
        database.until(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%'",
            "2",
        );
        end_session(&database, "query NOT LIKE 'COPY%' AND state = 'idle in transaction'");
        loading.join().unwrap()
    });
    assert_eq!(
        (error.sqlstate(), error.visible()),
        (Some("57P01"), Some("nothing was changed")),
        "{error:?}"
    );
    assert!(!error.hint().unwrap().contains("hidden table"), "{error:?}");
    assert_eq!(
        database.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'howdah%' OR relname = 'new'"),
        "0"
    );
}

#[test]
fn a_foreign_table_that_takes_no_rows_is_refused_by_a_dry_run_too() {
    let database = Database::new();
    database.sql(
        "CREATE EXTENSION IF NOT EXISTS file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
         CREATE FOREIGN TABLE far (n int) SERVER files OPTIONS (filename '/dev/null')",
    );
    let file = database.file("t.csv", "n\n1\n");
    for dry_run in [true, false] {
        let error =
            try_load(&database, &options(&file, "far").mode(Mode::Append).dry_run(dry_run)).unwrap_err();
        assert_eq!(
            (error.sqlstate(), error.visible()),
            (Some("0A000"), Some("nothing was changed")),
            "{error:?}"
        );
        assert!(error.message().contains("cannot insert into foreign table"), "{error:?}");
    }
}

#[test]
fn missing_and_odd_inputs_are_refused_before_anything_happens() {
    let database = Database::new();
    for (input, expected) in [
        (database.path("none.csv"), "No such file"),
        (database.path("*.none"), "no file matches"),
        (database.path(""), "is a directory"),
        (database.file("empty.csv", b""), "the input is empty"),
    ] {
        let error = try_load(&database, &options(&input, "t")).unwrap_err();
        assert!(error.message().contains(expected), "{error:?}");
    }
    assert_eq!(
        database.sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"),
        "0"
    );
}

#[test]
fn a_compressed_file_without_a_byte_is_cut_off_and_no_table_without_rows() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    for name in ["none.csv.gz", "none.csv.zst", "none.csv.xz", "none.csv.BZ2"] {
        let file = database.file(name, "");
        let error = try_load(&database, &options(&file, "t").mode(Mode::Truncate)).unwrap_err();
        assert!(error.message().contains("it is empty"), "{name}: {error:?}");
        assert_eq!(database.sql("TABLE t"), "1", "{name}");
    }
    // A file that is not compressed may be empty, for psql too.
    let file = database.file("none.csv", "");
    assert_eq!(load(&database, &options(&file, "t").mode(Mode::Truncate)).rows, 0);
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}

#[test]
fn a_file_that_changes_under_a_load_is_an_error_and_nothing_of_it_is_loaded() {
    type Harm = fn(&std::path::Path);
    let harms: [(&str, Harm); 3] = [
        ("it becomes shorter", |path| {
            File::options().write(true).open(path).unwrap().set_len(5_000_003).unwrap();
        }),
        ("it grows", |path| File::options().append(true).open(path).unwrap().write_all(b"7,x\n").unwrap()),
        ("another takes its name", |path| {
            let other = path.with_extension("new");
            std::fs::copy(path, &other).unwrap();
            std::fs::rename(other, path).unwrap();
        }),
    ];
    let lines: Vec<String> = (0..100_000).map(|n| format!("{n},{}\n", "x".repeat(90))).collect();
    for (what, harm) in harms {
        for jobs in [1, 2] {
            let database = Database::new();
            database.sql("CREATE TABLE t (n int, pad text)");
            let file = database.file("t.csv", lines.concat());
            let holder = Holder::new(&database, "LOCK TABLE t IN SHARE MODE");
            let wanted = options(&file, "t").header(HeaderOption::No).mode(Mode::Append).jobs(jobs);
            let target = target(&database);
            let load = std::thread::spawn(move || howdah::load(&wanted, &target, &Control::new()));
            let waiting = "SELECT count(*) > 0 FROM pg_locks WHERE relation = 't'::regclass AND NOT granted";
            database.until(waiting, "t");
            harm(std::path::Path::new(&file));
            holder.release();
            let error = load.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Source, "{what}: {error:?}");
            assert!(
                error.message().ends_with("t.csv: it was changed while it was read"),
                "{what}: {error:?}"
            );
            assert!(error.visible().unwrap().starts_with("nothing was changed"), "{what}: {error:?}");
            assert_eq!(database.sql("SELECT count(*) FROM t"), "0", "{what}");
        }
    }
}

#[test]
fn a_table_that_two_loads_make_at_once_is_said_to_be_there_and_what_to_do() {
    let database = Database::new();
    let file = database.file("t.csv", "a\n1\n");
    for jobs in [1, 2] {
        database.sql("DROP TABLE IF EXISTS t");
        let mut wanted = options(&file, "t").jobs(jobs);
        // Somebody else's transaction is just making it.
        let mut maker = database.psql();
        let mut maker =
            maker.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
        std::io::Write::write_all(maker.stdin.as_mut().unwrap(), b"BEGIN; CREATE TABLE t (a bigint);\n")
            .unwrap();
        let held = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'";
        database.until(held, "1");
        wanted.target.analyze = false;
        let error = std::thread::scope(|scope| {
            let loading = scope.spawn(|| try_load(&database, &wanted));
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
            database.until(waits, "1");
            std::io::Write::write_all(maker.stdin.as_mut().unwrap(), b"COMMIT;\n").unwrap();
            loading.join().unwrap().unwrap_err()
        });
        drop(maker.stdin.take());
        maker.wait().unwrap();
        assert!(error.hint().unwrap().contains("the same load again"), "{error:?}");
        assert_eq!(try_load(&database, &wanted).unwrap().0.rows, 1);
    }
}

#[test]
fn a_copy_of_ones_own_is_not_called_a_lost_connection() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int)");
    let file = database.file("t.csv", "a\n1\n");
    let mut wanted = options(&file, "t");
    wanted.target.before = vec!["COPY t FROM STDIN".to_owned()];
    let error = try_load(&database, &wanted).unwrap_err();
    assert!(error.message().contains("COPY of its own"), "{error:?}");
    assert_eq!((error.kind(), error.visible()), (howdah::ErrorKind::Usage, Some("nothing was changed")));
}

#[test]
fn a_report_names_the_table_that_was_asked_for_and_a_list_of_mismatches_ends() {
    let database = Database::new();
    let report = |error: &howdah::Error| error.load_report().unwrap().table.clone();
    let missing = database.path("nowhere.csv");
    assert_eq!(report(&try_load(&database, &options(&missing, "s.t")).unwrap_err()), "s.t");
    let names: Vec<String> = (0..1_700).map(|n| format!("x{n}")).collect();
    let file = database.file("t.csv", format!("a,{}\n", names.join(",")));
    database.sql("CREATE TABLE t (a int)");
    let wanted = options(&file, "t").header(howdah::options::HeaderOption::Yes);
    let error = try_load(&database, &wanted).unwrap_err();
    assert!(error.message().lines().count() < 25 && error.message().contains("more"), "{}", error.message());
    assert_eq!(report(&error), "t");
}
