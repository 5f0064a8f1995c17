//! Loads that several processes share: every part once, whoever dies, comes late or begins at the same moment.

use std::fs::File;
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;

use arrow_array::{Int32Array, RecordBatch};
use howdah::options::{Indexes, Mode, OnError, Unlogged, WritePath};
use howdah::{Committed, Control, Error, ErrorKind, LoadOptions, Report, Target};
use howdah_testkit::Database;
use howdah_testkit::waiting::until;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::common::{Holder, load, options, target, try_load};

const NOT_IN: &str = "SELECT count(*) FROM howdah_parts WHERE committed_at IS NULL";

/// `count` files of differing size, which hold the numbers from 0 on, each once; the last is the largest.
fn files(database: &Database, count: usize) -> (Vec<String>, usize) {
    let mut next = 0;
    let files = (0..count).map(|at| {
        let mut text = "id,name\n".to_owned();
        for _ in 0..10 * (at + 1) {
            text.push_str(&format!("{next},\"row {next}, of file {at}\"\n"));
            next += 1;
        }
        database.file(&format!("part-{at}.csv"), text)
    });
    (files.collect(), next)
}

fn shared(files: &[String], id: &str) -> LoadOptions {
    options(&files[0], "t").paths(files.to_vec()).load_id(id).share(true)
}

/// A load in a thread of its own, as good as a process.
fn start(database: &Database, options: &LoadOptions, control: &Control) -> JoinHandle<Result<Report, Error>> {
    let (target, options, control) = (target(database), options.clone(), control.clone());
    std::thread::spawn(move || howdah::load(&options, &target, &control))
}

/// Waits until a load waits for the key that a [`Holder`] has.
fn until_it_waits(database: &Database) {
    database.until(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'howdah'
            AND datname = current_database()",
        "1",
    );
}

#[test]
fn several_at_once_load_every_part_once_and_what_one_would_load() {
    let database = Database::new();
    let (files, rows) = files(&database, 12);
    database.sql("CREATE TABLE alone (id int, name text)");
    load(&database, &options(&files[0], "alone").paths(files.clone()));
    let expected = database.binary_rows("alone");
    for count in [1, 2, 4] {
        // Of those that begin together one makes the ledger, where there is none.
        database
            .sql("DROP TABLE IF EXISTS t, howdah_parts, howdah_loads; CREATE TABLE t (id int, name text)");
        let together = Arc::new(Barrier::new(count));
        let loads: Vec<_> = (0..count)
            .map(|at| {
                let wanted = shared(&files, "nightly").jobs(1 + at % 2);
                let (target, together) = (target(&database), together.clone());
                std::thread::spawn(move || {
                    together.wait();
                    howdah::load(&wanted, &target, &Control::new())
                })
            })
            .collect();
        let reports: Vec<Report> = loads.into_iter().map(|load| load.join().unwrap().unwrap()).collect();
        assert_eq!(reports.iter().map(|report| report.rows).sum::<u64>(), rows as u64);
        let mut parts = 0;
        for report in &reports {
            let shared = report.shared.as_ref().unwrap();
            assert!(shared.is_complete() && shared.load_id == "nightly", "{shared:?}");
            assert_eq!((shared.parts, report.rows + shared.rows_elsewhere), (12, rows as u64));
            parts += shared.parts_here;
        }
        assert_eq!(parts, 12);
        assert!(database.binary_rows("t") == expected, "{count} processes");
        assert_eq!(database.sql(NOT_IN), "0");
        // Who comes when all is done has nothing to do.
        let late = load(&database, &shared(&files, "nightly"));
        assert_eq!((late.rows, late.shared.unwrap().parts_elsewhere), (0, 12));
        assert!(database.binary_rows("t") == expected, "{count} processes, and a late one");
    }
}

#[test]
fn the_part_of_a_process_that_dies_goes_to_another_which_waits_without_a_transaction() {
    let database = Database::new();
    let (files, rows) = files(&database, 4);
    database.sql("CREATE TABLE t (id int PRIMARY KEY, name text)");
    // In the largest file, which is taken first.
    let held = rows - 1;
    let holder = Holder::new(&database, &format!("INSERT INTO t VALUES ({held}, 'somebody else')"));
    let dying = start(&database, &shared(&files, "n").jobs(1), &Control::new());
    until_it_waits(&database);
    let (control, stopped_control) = (Control::new(), Control::new());
    let heir = start(&database, &shared(&files, "n").jobs(2), &control);
    let stopped = start(&database, &shared(&files, "n"), &stopped_control);
    database.until(NOT_IN, "1");
    let mut notices = Vec::new();
    until("it is said who has the part", || {
        notices.extend(control.take_notices().iter().map(ToString::to_string));
        notices.iter().any(|notice| notice.starts_with("waiting for 1 part that others are loading: "))
    });
    let told = notices.last().unwrap();
    assert!(told.contains("part-3.csv (backend "), "{told}");
    let open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'howdah'
                   AND datname = current_database() AND state = 'idle in transaction'
                   AND xact_start < now() - interval '400 milliseconds'";
    assert_eq!(database.sql(open), "0");
    // Who waits is stopped at once, and nothing of others is.
    stopped_control.cancel();
    let error = stopped.join().unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::PartlyCommitted), "{error:?}");
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                  AND application_name = 'howdah' AND datname = current_database()";
    assert_eq!(database.sql(end), "t");
    let error = dying.join().unwrap().unwrap_err();
    assert_eq!(error.committed(), Committed::No, "{error:?}");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.contains("goes on with the parts that are not in"), "{error:?}");
    holder.release();
    let report = heir.join().unwrap().unwrap();
    assert!(report.shared.as_ref().is_some_and(|shared| shared.is_complete()), "{:?}", report.shared);
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT id) FROM t"), format!("{rows}|{rows}"));
    assert_eq!(database.sql("SELECT sum(rows) FROM howdah_parts"), rows.to_string());
}

#[test]
fn other_inputs_options_and_tables_are_refused_by_name() {
    let database = Database::new();
    let (files, _) = files(&database, 3);
    database.sql("CREATE TABLE t (id int, name text); CREATE TABLE other (id int, name text)");
    load(&database, &shared(&files, "n"));
    let before = database.binary_rows("t");
    let refused = |wanted: &LoadOptions| {
        let error = try_load(&database, wanted).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error:?}");
        format!("{}: {}", error.message(), error.detail().unwrap_or_default())
    };
    let fewer = refused(&shared(&files[..2], "n"));
    assert!(fewer.contains("load n was begun with other inputs"), "{fewer}");
    assert!(fewer.contains(&format!("{} is not among the inputs here", files[2])), "{fewer}");
    let more = database.file("more.csv", "id,name\n1,x\n");
    let more = [files.clone(), vec![more]].concat();
    let told = refused(&shared(&more, "n"));
    assert!(told.contains("more.csv is not among those that the load was begun with"), "{told}");
    let told = refused(&shared(&files, "n").skip_columns(["name"]));
    assert!(
        told.contains("begun with other options: columns: id -> id, name -> name there, id -> id here"),
        "{told}"
    );
    let elsewhere = options(&files[0], "other").paths(files.clone()).load_id("n").share(true);
    let told = refused(&elsewhere);
    assert!(told.contains("load n is one into public.t, not into public.other"), "{told}");
    database.file("part-1.csv", "id,name\n1,changed\n");
    let told = refused(&shared(&files, "n"));
    assert!(told.contains(&format!("{}: ", files[1])) && told.contains("18 bytes, changed at"), "{told}");
    assert!(database.binary_rows("t") == before);
    // Under another id it is another load.
    assert_eq!(load(&database, &shared(&files, "n2")).rows, 41);
}

#[test]
fn what_has_no_place_in_a_shared_load_is_refused_before_it_begins() {
    let database = Database::new();
    let (files, _) = files(&database, 1);
    database.sql("CREATE TABLE t (id int, name text)");
    let one = || shared(&files, "n");
    let named = [
        (one().mode(Mode::Truncate), "mode"),
        (one().mode(Mode::Upsert), "mode"),
        (one().before(["SELECT 1"]), "before"),
        (one().after(["SELECT 1"]), "after"),
        (one().write_path(WritePath::InsertAutocommit), "write_path"),
        (one().write_path(WritePath::Landing), "write_path"),
        (one().indexes(Indexes::Rebuild), "indexes"),
        (one().disable_triggers(true), "disable_triggers"),
        (one().evolve(true), "evolve"),
        (one().unlogged(Unlogged::ThenLogged), "unlogged"),
        (one().limit(5_u64), "limit"),
        (one().share(false), "load_id"),
        (options(&files[0], "t").share(true), "load_id"),
        (one().load_id(""), "load_id"),
    ];
    for (wanted, name) in named {
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error:?}");
        assert!(error.message().contains(name), "{name}: {error:?}");
    }
    let error = try_load(&database, &options(&files[0], "none").load_id("n").share(true)).unwrap_err();
    assert!(error.hint().unwrap_or_default().contains("make it first"), "{error:?}");
    assert_eq!(database.sql("SELECT to_regclass('howdah_loads') IS NULL AND NOT EXISTS (TABLE t)"), "t");
}

#[test]
fn a_bad_record_ends_a_process_and_leaves_whole_parts() {
    let database = Database::new();
    let (mut files, rows) = files(&database, 3);
    files.push(database.file("bad.csv", "id,name\n1000,good\nx,bad\n"));
    database.sql("CREATE TABLE t (id int, name text)");
    let error = try_load(&database, &shared(&files, "n").jobs(1)).unwrap_err();
    assert_eq!((error.kind(), error.committed()), (ErrorKind::PartlyCommitted, Committed::Partly));
    assert_eq!(error.location().unwrap().line, Some(3));
    let visible = error.visible().unwrap();
    assert!(
        visible.contains(&format!("{rows} rows are in public.t: this process loaded 3 of 4 parts")),
        "{visible}"
    );
    let report = error.load_report().unwrap();
    assert_eq!((report.rows, report.shared.as_ref().unwrap().parts_here), (rows as u64, 3));
    assert_eq!(database.sql("SELECT count(*), max(id) FROM t"), format!("{rows}|{}", rows - 1));
    assert_eq!(database.sql(NOT_IN), "1");
    // A process that loads nothing changes nothing.
    let error = try_load(&database, &shared(&files, "n")).unwrap_err();
    assert_eq!((error.kind(), error.committed()), (ErrorKind::Data, Committed::No), "{error:?}");
    // Bad records that are kept apart are counted for all.
    database.sql("TRUNCATE t");
    let tolerant = shared(&files, "n2").on_error(OnError::Ignore).rejects(database.path("rejects.jsonl"));
    let report = load(&database, &tolerant);
    assert_eq!((report.rows, report.rows_rejected), (rows as u64 + 1, 1));
    let late = load(&database, &tolerant.rejects(database.path("others.jsonl"))).shared.unwrap();
    assert_eq!((late.rows_elsewhere, late.rejected_elsewhere), (rows as u64 + 1, 1));
}

#[test]
fn row_groups_of_one_parquet_file_are_parts() {
    let database = Database::new();
    let path = database.path("t.parquet");
    let rows = 1_000_005;
    let numbers: Arc<Int32Array> = Arc::new((0..rows).collect());
    let batch = RecordBatch::try_from_iter([("id", numbers as _)]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(500_000)).build();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    database.sql("CREATE TABLE t (id int)");
    let wanted = shared(&[path], "n").jobs(1);
    let loads = [0, 1].map(|_| start(&database, &wanted, &Control::new()));
    let loaded = loads.map(|load| load.join().unwrap().unwrap().rows).iter().sum::<u64>();
    assert_eq!(loaded, 1_000_005);
    assert_eq!(
        database.sql("SELECT row_groups, rows FROM howdah_parts ORDER BY part"),
        "[0,2)|1000000\n[2,3)|5"
    );
    assert_eq!(
        database.sql("SELECT count(*), count(DISTINCT id), sum(id) FROM t"),
        "1000005|1000005|500004500010"
    );
}

#[test]
fn a_ledger_that_forgot_parts_ends_a_load() {
    let database = Database::new();
    let (files, _) = files(&database, 2);
    database.sql("CREATE TABLE t (id int, name text)");
    load(&database, &shared(&files, "n"));
    database.sql("DELETE FROM howdah_parts WHERE part = 1");
    let error = try_load(&database, &shared(&files, "n")).unwrap_err();
    assert!(error.message().contains("begun with other inputs"), "{error:?}");
    assert!(!error.hint().unwrap_or_default().contains("goes on"), "{error:?}");
    database.sql("ALTER TABLE howdah_parts SET UNLOGGED");
    let error = try_load(&database, &shared(&files, "n")).unwrap_err();
    assert!(error.message().contains("UNLOGGED"), "{error:?}");
}

#[test]
fn a_process_whose_session_ends_after_some_parts_says_which_are_in() {
    let database = Database::new();
    let (files, rows) = files(&database, 3);
    database.sql("CREATE TABLE t (id int PRIMARY KEY, name text)");
    // In the smallest file, which is taken last.
    let holder = Holder::new(&database, "INSERT INTO t VALUES (0, 'somebody else')");
    let dying = start(&database, &shared(&files, "n").jobs(1), &Control::new());
    until_it_waits(&database);
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                  AND application_name = 'howdah' AND datname = current_database()";
    assert_eq!(database.sql(end), "t");
    let error = dying.join().unwrap().unwrap_err();
    assert_eq!(
        (error.kind(), error.committed()),
        (ErrorKind::PartlyCommitted, Committed::Partly),
        "{error:?}"
    );
    let visible = error.visible().unwrap();
    let said = format!("{} rows are in public.t: this process loaded 2 of 3 parts", rows - 10);
    assert!(visible.contains(&said), "{visible}");
    holder.release();
    load(&database, &shared(&files, "n"));
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT id) FROM t"), format!("{rows}|{rows}"));
}

#[test]
fn literals_mean_the_same_in_all_processes() {
    let database = Database::new();
    let (files, _) = files(&database, 1);
    database.sql("CREATE TABLE t (id int, name text)");
    load(&database, &shared(&files, "n"));
    database.sql(
        "SELECT format('ALTER DATABASE %I SET timezone TO %L', current_database(), 'Asia/Tokyo') \\gexec",
    );
    let error = try_load(&database, &shared(&files, "n")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let detail = error.detail().unwrap_or_default();
    assert!(detail.starts_with("TimeZone: ") && detail.ends_with(" there, Asia/Tokyo here"), "{error:?}");
    assert_eq!(load(&database, &shared(&files, "other")).rows, 10);
}

#[test]
fn a_table_that_was_dropped_and_made_anew_is_another() {
    let database = Database::new();
    let (files, _) = files(&database, 1);
    database.sql("CREATE TABLE t (id int, name text)");
    load(&database, &shared(&files, "it's"));
    database.sql("DROP TABLE t; CREATE TABLE t (id int, name text)");
    let error = try_load(&database, &shared(&files, "it's")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.message().contains("another table of the name public.t, which is gone"), "{error:?}");
    let hint = error.hint().unwrap();
    database.sql(&hint[hint.find("DELETE").unwrap()..]);
    assert_eq!(load(&database, &shared(&files, "it's")).rows, 10);
}

#[test]
fn rows_that_a_policy_judges_are_refused_before_a_ledger_is_made() {
    let database = Database::new();
    let (files, _) = files(&database, 1);
    database.sql(
        "DROP ROLE IF EXISTS shares_policed; CREATE ROLE shares_policed LOGIN PASSWORD 'shares-policed-pw';
         GRANT CREATE, USAGE ON SCHEMA public TO shares_policed; CREATE TABLE t (id int, name text);
         GRANT ALL ON t TO shares_policed; ALTER TABLE t ENABLE ROW LEVEL SECURITY;
         CREATE POLICY every_row ON t USING (true)",
    );
    let conninfo = format!("{} user=shares_policed password=shares-policed-pw", database.conninfo());
    let judged = Target::new(&conninfo).unwrap();
    for jobs in [1, 2] {
        let error = howdah::load(&shared(&files, "n").jobs(jobs), &judged, &Control::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error:?}");
        let said = error.message();
        assert!(said.contains("share") && said.contains("row-level security"), "{said}");
    }
    assert_eq!(database.sql("SELECT to_regclass('howdah_loads') IS NULL AND NOT EXISTS (TABLE t)"), "t");
    database.sql("DROP OWNED BY shares_policed CASCADE; DROP ROLE shares_policed");
}
