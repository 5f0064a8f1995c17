//! What a load makes beside rows: keys, comments, schemas, the user's own statements; and the script that would make it again.

use std::process::Command;
use std::time::{Duration, Instant};

use howdah::name::TableName;
use howdah::options::{ColumnNames, Mode, OnError};
use howdah::{Committed, Control, ErrorKind, LoadOptions};
use howdah_testkit::Database;
use howdah_testkit::waiting::{promised, until};

use crate::common::{load, options, target, try_load};

fn keyed(file: &str, jobs: usize) -> LoadOptions {
    options(file, "t").key(["id", "Kind"]).jobs(jobs)
}

#[test]
fn a_new_table_gets_its_key_and_says_where_it_came_from() {
    for jobs in [1, 2] {
        let database = Database::new();
        let file = database.file("people.csv", "id,Kind,name\n1,a,x\n2,a,\n1,b,y\n");
        load(&database, &keyed(&file, jobs));
        let key = "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'p'";
        assert_eq!(database.sql(key), "t_pkey|PRIMARY KEY (id, \"Kind\")", "{jobs}");
        let comment = database.sql("SELECT obj_description('t'::regclass)");
        assert_eq!(comment, format!("loaded by howdah from {file}"), "{jobs}");
        assert_eq!(database.sql("SELECT count(*) FROM t"), "3");

        // The comment is kept true; somebody's own stays.
        let other = database.file("other.csv", "id,Kind,name\n1,a,x\n");
        let replace = |file: &str| options(file, "t").mode(Mode::Replace).jobs(jobs);
        load(&database, &replace(&other));
        assert_eq!(
            database.sql("SELECT obj_description('t'::regclass)"),
            format!("loaded by howdah from {other}")
        );
        database.sql("COMMENT ON TABLE t IS 'mine'");
        load(&database, &replace(&file));
        assert_eq!(database.sql("SELECT obj_description('t'::regclass)"), "mine");
    }
}

#[test]
fn a_key_that_is_none_leaves_no_table() {
    for (jobs, content, sqlstate, says) in [
        (1, "id,Kind\n1,a\n1,a\n", "23505", "(1, a)"),
        (2, "id,Kind\n1,a\n1,a\n", "23505", "(1, a)"),
        (1, "id,Kind\n1,a\n,b\n", "23502", "null value in column \"id\""),
        (2, "id,Kind\n1,a\n,b\n", "23502", "null value in column \"id\""),
    ] {
        let database = Database::new();
        let file = database.file("t.csv", content);
        let error = try_load(&database, &keyed(&file, jobs)).unwrap_err();
        assert_eq!(error.sqlstate(), Some(sqlstate), "{error:?}");
        let said = format!("{} {}", error.message(), error.detail().unwrap_or_default());
        assert!(said.contains(says), "{said}");
        assert_eq!(error.visible(), Some("nothing was changed"));
        assert_eq!(
            database.sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"),
            "0"
        );
    }
    let database = Database::new();
    let file = database.file("t.csv", "id,Kind\n1,a\n,b\n");
    let declared = keyed(&file, 2).types([("id", "int")]);
    let error = try_load(&database, &declared).unwrap_err();
    assert_eq!((error.sqlstate(), error.location().unwrap().line), (Some("23502"), Some(3)), "{error:?}");
    let file = database.file("t.csv", "id,name\n1,a\n");
    let error = try_load(&database, &keyed(&file, 1)).unwrap_err();
    assert_eq!(error.message(), "key names \"Kind\", which the new table does not have");
    database.sql("CREATE TABLE t (id int)");
    let error = try_load(&database, &keyed(&file, 1)).unwrap_err();
    assert_eq!(error.message(), "key is for new tables, and public.t exists");
}

#[test]
fn of_two_records_with_one_key_the_later_is_rejected() {
    let database = Database::new();
    let file = database.file("t.csv", "id,Kind,name\n1,a,first\n2,b,x\n1,a,second\n,c,y\n3,c,z\n");
    let tolerant = keyed(&file, 2).on_error(OnError::Ignore).rejects(database.path("rejects.jsonl"));
    let report = load(&database, &tolerant);
    assert_eq!((report.rows, report.rows_rejected, report.jobs), (3, 2, 1));
    assert_eq!(database.sql("SELECT string_agg(name, ' ' ORDER BY id) FROM t"), "first x z");
    let rejects = std::fs::read_to_string(database.path("rejects.jsonl")).unwrap();
    assert!(
        rejects.contains("23505") && rejects.contains("t_pkey") && rejects.contains("23502"),
        "{rejects}"
    );
}

#[test]
fn the_script_of_a_dry_run_makes_the_table_that_the_load_makes() {
    let database = Database::new();
    let content = "id,\"Odd \"\"name\"\"\",at,note\n1,x,2024-01-01,\n5,y,2024-01-02,it's\n";
    let file = database.file("it's odd.csv", content);
    let planned = options(&file, "\"New s\".t").create_schema(true).dry_run(true);
    let script = load(&database, &planned).plan.unwrap().create_table.unwrap();
    assert_eq!(
        script.as_str(),
        format!(
            "CREATE SCHEMA IF NOT EXISTS \"New s\";
CREATE TABLE \"New s\".\"t\" (
    \"id\" bigint,  -- no NULL in the input
    \"Odd \"\"name\"\"\" text,  -- no NULL in the input
    \"at\" date,  -- no NULL in the input
    \"note\" text
);
-- id grows from record to record and is never NULL: key=[\"id\"] makes it the primary key
COMMENT ON TABLE \"New s\".\"t\" IS 'loaded by howdah from {}';",
            file.replace('\'', "''")
        )
    );
    assert_eq!(database.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'New s'"), "0");
    let described = "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull, ', ' ORDER BY attnum) \
                     || obj_description(attrelid) FROM pg_attribute WHERE attrelid = '\"New s\".t'::regclass AND attnum > 0 GROUP BY attrelid";
    for key in [vec![], vec!["at".to_owned()]] {
        let planned = planned.clone().key(key.clone());
        let script = load(&database, &planned).plan.unwrap().create_table.unwrap();
        database.sql(&script);
        let by_script = database.sql(described);
        // Into the table that the script made.
        load(&database, &planned.clone().dry_run(false).key([""; 0]));
        assert_eq!(database.sql("SELECT count(*) FROM \"New s\".t"), "2");
        database.sql("DROP SCHEMA \"New s\" CASCADE");
        load(&database, &planned.dry_run(false));
        assert_eq!(database.sql(described), by_script, "{key:?}");
        database.sql("DROP SCHEMA \"New s\" CASCADE");
    }
}

#[test]
fn a_schema_is_made_only_when_asked_and_goes_with_a_load_that_failed() {
    let database = Database::new();
    let file = database.file("t.csv", "a\n1\n");
    let error = try_load(&database, &options(&file, "s.t")).unwrap_err();
    assert_eq!((error.sqlstate(), error.hint()), (Some("3F000"), Some("create_schema=true makes it too")));
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 's'";
    for jobs in [1, 2] {
        let making = options(&file, "s.t").create_schema(true).jobs(jobs);
        let broken = making.clone().after(["SELECT 1/0"]);
        assert_eq!(try_load(&database, &broken).unwrap_err().sqlstate(), Some("22012"));
        assert_eq!(database.sql(schemas), "0", "{jobs}");
        load(&database, &making);
        assert_eq!(database.sql("SELECT count(*) FROM s.t"), "1");
        database.sql("DROP SCHEMA s CASCADE");
    }
}

#[test]
fn the_users_statements_are_part_of_the_load() {
    let database = Database::new();
    let file = database.file("t.csv", "day,n\n2024-01-02,7\n2024-01-02,8\n");
    database.sql("CREATE TABLE t (day date, n int); INSERT INTO t VALUES ('2024-01-01', 1), ('2024-01-02', 2); CREATE TABLE log (n bigint)");
    let rows = "SELECT string_agg(n::text, ' ' ORDER BY n) FROM t";
    let with = |before: &str, after: &str| {
        options(&file, "t").before([before]).after(["SELECT 1 -- a comment", after]).mode(Mode::Append)
    };
    let exchange = "DELETE FROM t WHERE day = '2024-01-02'";
    for (before, after, option) in [
        (exchange, "INSERT INTO log SELECT 1/0", "after (2 of 2): division by zero"),
        ("DELETE FROM nowhere", "SELECT 1", "before: relation \"nowhere\" does not exist"),
    ] {
        let error = try_load(&database, &with(before, after)).unwrap_err();
        assert_eq!(error.message(), option);
        assert_eq!(database.sql(rows), "1 2", "a failed load changed the table");
    }
    load(&database, &with(exchange, "INSERT INTO log SELECT count(*) FROM t"));
    assert_eq!(database.sql(rows), "1 7 8");
    assert_eq!(database.sql("TABLE log"), "3");

    let several = with(exchange, "SELECT 1").jobs(2);
    assert!(
        try_load(&database, &several)
            .unwrap_err()
            .message()
            .contains("before is part of the load's transaction")
    );
    // A replaced table appears at once, so what comes after it can be part of that, whatever the number of connections.
    let replaced = with("", "GRANT SELECT ON t TO public; INSERT INTO log SELECT sum(n) FROM t")
        .mode(Mode::Replace)
        .jobs(2)
        .before([""; 0]);
    load(&database, &replaced);
    assert_eq!(
        database.sql(
            "SELECT max(n), (SELECT relacl::text LIKE '%=r/%' FROM pg_class WHERE relname = 't') FROM log"
        ),
        "15|t"
    );
}

#[test]
fn own_sql_that_ends_the_transaction_is_an_error_that_says_what_is_in() {
    let database = Database::new();
    let file = database.file("t.csv", "n\n1\n2\n");
    let (failed, partly) =
        ((ErrorKind::Server, Committed::No), (ErrorKind::PartlyCommitted, Committed::Partly));
    for (before, after, expected, rows) in [
        ("ROLLBACK", "", failed, "0"),
        ("COMMIT", "", partly, "0"),
        ("INSERT INTO log VALUES (1); COMMIT; BEGIN", "", partly, "0"),
        ("", "ROLLBACK", failed, "0"),
        ("", "ROLLBACK; BEGIN; INSERT INTO log VALUES (1)", failed, "0"),
        ("", "COMMIT", partly, "2"),
        ("", "COMMIT; SELECT 1/0", partly, "2"),
        ("", "COMMIT; BEGIN; INSERT INTO log VALUES (1)", partly, "2"),
        ("", "SELECT 1/0; COMMIT", failed, "0"),
    ] {
        database.sql("DROP TABLE IF EXISTS t, log; CREATE TABLE t (n int); CREATE TABLE log (n int)");
        let texts = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        for mode in [Mode::Append, Mode::Truncate] {
            database.sql("TRUNCATE t, log");
            let wanted = options(&file, "t").mode(mode).before(texts(before)).after(texts(after));
            let error = try_load(&database, &wanted).unwrap_err();
            assert_eq!((error.kind(), error.committed()), expected, "{before:?} {after:?}: {error:?}");
            assert_eq!(database.sql("SELECT count(*) FROM t"), rows, "{before:?} {after:?}: {error:?}");
            let option = if before.is_empty() { "after: " } else { "before: " };
            assert!(error.message().starts_with(option), "{error:?}");
        }
    }
    // Behind the end of the transaction the SQL can do what it likes.
    database.sql("CREATE TABLE u (n int)");
    let evil = options(&file, "u").mode(Mode::Append).after(["ROLLBACK; CREATE TABLE evil ()"]);
    let error = try_load(&database, &evil).unwrap_err();
    assert_eq!(database.sql("SELECT to_regclass('evil'), (SELECT count(*) FROM u)"), "evil|0");
    assert!(error.visible().unwrap().contains("behind the end of the transaction"), "{error:?}");
    // A new table, which a rollback takes away.
    let error = try_load(&database, &options(&file, "new").after(["ROLLBACK"])).unwrap_err();
    assert_eq!((error.kind(), database.sql("SELECT to_regclass('new')")), (ErrorKind::Server, String::new()));
    // Savepoints are no ends.
    let own =
        options(&file, "t").mode(Mode::Truncate).before(["SAVEPOINT a; RELEASE a"]).after(["SAVEPOINT b"]);
    assert_eq!(load(&database, &own).rows, 2);
}

#[test]
fn own_sql_that_breaks_a_rule_is_not_taken_for_a_record_that_does() {
    let database = Database::new();
    let file = database.file("t.csv", "n\n1\n");
    database.sql(
        "CREATE TABLE parent (n int PRIMARY KEY); CREATE TABLE t (n int);
         CREATE TABLE child (n int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)",
    );
    let child_first = "INSERT INTO child VALUES (1); INSERT INTO parent VALUES (1)";
    let wanted = |sql: &str| options(&file, "t").mode(Mode::Append).after([sql]);
    let error = try_load(&database, &wanted(child_first)).unwrap_err();
    assert_eq!(error.sqlstate(), Some("23503"));
    let hint = error.hint().unwrap();
    assert!(hint.contains("SET CONSTRAINTS ALL DEFERRED") && !hint.contains("finds the record"), "{error:?}");
    // The hint leads somewhere.
    load(&database, &wanted(&format!("SET CONSTRAINTS ALL DEFERRED; {child_first}")));
    assert_eq!(database.sql("SELECT count(*) FROM child"), "1");
}

#[test]
fn own_sql_that_makes_a_rule_which_rows_break_says_which_sql_and_how_the_record_is_found() {
    let database = Database::new();
    database.sql("CREATE TABLE people (id int PRIMARY KEY); INSERT INTO people VALUES (1), (2)");
    let file = database.file("t.csv", "nr,person\n1,1\n2,7\n");
    let key = "ALTER TABLE t ADD FOREIGN KEY (person) REFERENCES people";
    let error = try_load(&database, &options(&file, "t").after(["SELECT 1", key])).unwrap_err();
    assert_eq!(error.sqlstate(), Some("23503"), "{error:?}");
    assert!(error.message().starts_with("after (2 of 2): "), "{error:?}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("has the rule before the load") && !hint.contains("DEFERRED"), "{error:?}");
    // The hint leads somewhere.
    database.sql(&format!("CREATE TABLE t (nr int, person int); {key}"));
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert_eq!(error.location().unwrap().line, Some(3), "{error:?}");
    // No record of the input is to blame for what was there before.
    database.sql("ALTER TABLE t DROP CONSTRAINT t_person_fkey; INSERT INTO t VALUES (3, 9)");
    let error = try_load(&database, &options(&file, "t").mode(Mode::Append).before([key])).unwrap_err();
    assert!(error.hint().unwrap().contains("there before the load"), "{error:?}");
    assert!(error.message().starts_with("before: "), "{error:?}");
}

#[test]
fn a_table_that_is_named_for_its_file_gets_a_friendly_name_too_unless_it_has_its_own() {
    let database = Database::new();
    let file = database.file("My Flights-2024.csv", "Flight Date\n1\n");
    let wanted = || LoadOptions::new(&file).column_names(ColumnNames::Snake);
    assert_eq!(load(&database, &wanted()).table, "public.my_flights_2024");
    assert_eq!(load(&database, &wanted()).rows, 1);
    assert_eq!(database.sql("SELECT sum(flight_date) FROM my_flights_2024"), "2");
    // A name that was asked for stays, and so does the table that was made without friendly names.
    assert_eq!(
        load(&database, &wanted().table(TableName::parse("\"A b\"").unwrap())).table,
        "public.\"A b\""
    );
    assert_eq!(load(&database, &LoadOptions::new(&file)).table, "public.\"My Flights-2024\"");
    assert_eq!(load(&database, &wanted()).table, "public.\"My Flights-2024\"");
    // What is too long for a name is shortened.
    let long = database.file(&format!("{}.csv", "Long Name ".repeat(8)), "a\n1\n");
    let report = load(&database, &LoadOptions::new(&long).column_names(ColumnNames::Snake));
    assert!(report.table.starts_with("public.long_name_long_name"), "{}", report.table);
}

#[test]
fn a_stop_ends_a_load_whose_own_sql_gets_no_answer() {
    let database = Database::new();
    let file = database.file("t.csv", "n\n1\n");
    database.sql("CREATE TABLE t (n int)");
    let wanted = options(&file, "t").mode(Mode::Append).after(["SELECT pg_sleep(600)"]);
    let (target, control) = (target(&database), Control::new());
    std::thread::scope(|threads| {
        let loading = threads.spawn(|| howdah::load(&wanted, &target, &control).unwrap_err());
        let sleeping = "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE wait_event = 'PgSleep' \
                        AND datname = current_database()";
        until("the SQL runs", || database.sql(sleeping) != "0");
        let signal = |signal: &str, pid: &str| {
            assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
        };
        let pid = database.sql(sleeping);
        // Neither the cancellation nor anything else is answered from here on.
        signal("-STOP", &pid);
        control.cancel();
        let asked = Instant::now();
        while !loading.is_finished() && asked.elapsed() < promised(Duration::from_secs(2)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let has_ended = loading.is_finished();
        signal("-CONT", &pid);
        assert!(has_ended, "it still waits for the server");
        assert_eq!(loading.join().unwrap().kind(), ErrorKind::Cancelled);
    });
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}

#[test]
fn a_transaction_that_own_sql_prepares_is_named_with_the_way_out() {
    let settings = howdah_testkit::Settings::fast_and_unsafe().with("max_prepared_transactions", "2");
    let server = howdah_testkit::OwnServer::with(settings);
    server.sql("CREATE TABLE t (n int)");
    let file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
    std::fs::write(file.path(), "n\n1\n").unwrap();
    let connect = howdah::connect::ConnectOptions::default().conninfo(server.conninfo());
    let target = connect.resolve(&howdah::connect::Environment::from_pairs([])).unwrap();
    let wanted = options(&file.path().to_string_lossy(), "t").mode(Mode::Append);
    let wanted = wanted.after(["PREPARE TRANSACTION 'it''s mine'"]);
    let error = howdah::load(&wanted, &target, &Control::new()).unwrap_err();
    assert_eq!(
        (error.kind(), error.committed()),
        (ErrorKind::PartlyCommitted, Committed::Unknown),
        "{error:?}"
    );
    assert!(error.visible().unwrap().contains("ROLLBACK PREPARED 'it''s mine'"), "{error:?}");
    server.sql("ROLLBACK PREPARED 'it''s mine'");
}
