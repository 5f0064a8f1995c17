//! A load asks for no more than its work needs: everything here runs as a role that may connect, use one schema, insert, and
//! make tables in another schema.

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::name::TableName;
use howdah::options::{Mode, OnError, WritePath};
use howdah::report::Outcome;
use howdah::{Control, Error, LoadOptions, PromoteOptions, Report};
use howdah_testkit::Database;

/// As the role of least privilege.
fn target(database: &Database) -> Target {
    let conninfo = format!("{} user=loader_{} password=least", database.conninfo(), database.name());
    let connect = ConnectOptions::default().conninfo(conninfo);
    connect.resolve(&Environment::from_pairs([])).unwrap()
}

fn load(database: &Database, options: &LoadOptions) -> Result<(Report, Vec<String>), Error> {
    let control = Control::new();
    let report = howdah::load(options, &target(database), &control)?;
    Ok((report, control.take_notices().iter().map(ToString::to_string).collect()))
}

fn options(file: &str, table: &str) -> LoadOptions {
    let table = TableName::parse(table).unwrap();
    LoadOptions::new(file).table(table)
}

fn database() -> Database {
    let database = Database::new();
    let role = format!("loader_{}", database.name());
    database.sql(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'least';
         REVOKE ALL ON DATABASE {name} FROM public; GRANT CONNECT ON DATABASE {name} TO {role};
         REVOKE ALL ON SCHEMA public FROM public;
         CREATE SCHEMA given; GRANT USAGE ON SCHEMA given TO {role};
         CREATE SCHEMA own; GRANT USAGE, CREATE ON SCHEMA own TO {role};
         CREATE TYPE given.mood AS ENUM ('sad', 'ok');
         CREATE DOMAIN given.small AS int CHECK (VALUE < 100);
         CREATE TABLE given.t (n int, at timestamptz, m given.mood, s given.small, tags text[], d text DEFAULT 'd');
         CREATE TABLE given.keyed (n int PRIMARY KEY, at timestamptz);
         GRANT INSERT ON given.t, given.keyed TO {role};",
        name = database.name()
    ));
    database
}

const ROWS: &str =
    "n,at,m,s,tags\n1,2024-01-01 00:00+00,ok,5,\"{a,b}\"\n2,4 July 2024 08:00 America/New_York,sad,,{}\n";

#[test]
fn rows_are_added_with_no_more_than_insert() {
    let database = database();
    let file = database.file("t.csv", ROWS);
    let usual = options(&file, "given.t");
    let ways = [
        usual.clone(),
        usual.clone().jobs(2),
        usual.clone().write_path(WritePath::CopyText).mode(Mode::Append),
        usual.dry_run(true),
    ];
    for (n, way) in ways.into_iter().enumerate() {
        let (report, notices) = load(&database, &way).unwrap();
        assert_eq!(report.rows_read, 2);
        // Whether rows are there already is not for this role to see.
        assert!(notices.is_empty(), "{notices:?}");
        let expected = if report.outcome == Outcome::Planned { n } else { n + 1 };
        assert_eq!(
            database.sql("SELECT count(*) / 2 FROM given.t WHERE m IN ('ok', 'sad') AND d = 'd'"),
            expected.to_string()
        );
    }
    assert_eq!(database.sql("SELECT count(DISTINCT at) FROM given.t"), "2");
}

#[test]
fn bad_rows_are_told_apart_with_no_more_than_insert() {
    let database = database();
    let rejects = |name: &str| database.path(name);
    let file = database.file("t.csv", format!("{ROWS}x,,,,\n3,,happy,,\n4,,,100,\n"));
    let tolerant = options(&file, "given.t").on_error(OnError::Ignore).rejects(rejects("1"));
    let (report, _) = load(&database, &tolerant).unwrap();
    assert_eq!((report.rows, report.rows_rejected), (2, 3));
    let file = database.file("keyed.csv", "n,at\n1,\n2,\n1,\n");
    let tolerant = options(&file, "given.keyed").on_error(OnError::Ignore).rejects(rejects("2"));
    let (report, _) = load(&database, &tolerant).unwrap();
    assert_eq!((report.rows, report.rows_rejected), (2, 1));
}

#[test]
fn tables_are_made_and_replaced_with_no_more_than_create_on_their_schema() {
    let database = database();
    let file = database.file("t.csv", ROWS);
    for jobs in [1, 2] {
        for (mode, key) in
            [(Mode::Create, "n"), (Mode::Replace, ""), (Mode::Truncate, ""), (Mode::Append, "")]
        {
            let key = (!key.is_empty()).then_some(key);
            let jobs = if mode == Mode::Truncate { 1 } else { jobs };
            let rows = if mode == Mode::Append { "n,at\n3,\n4,\n" } else { ROWS };
            let file = database.file("rows.csv", rows);
            let making = options(&file, "own.t").mode(mode).key(key).jobs(jobs).analyze(true);
            let (report, _) = load(&database, &making).unwrap();
            assert_eq!(report.rows, 2, "{mode:?}");
        }
        database.sql("DROP TABLE own.t");
    }
    // The unqualified name leads to the first schema of the path, in which nothing may be made.
    let error = load(&database, &options(&file, "t")).unwrap_err();
    assert_eq!(error.sqlstate(), Some("3F000"), "{error:?}");
}

#[test]
fn what_the_role_may_not_do_is_said_before_any_row_moves() {
    let database = database();
    let file = database.file("t.csv", ROWS);
    database.sql("CREATE TABLE given.closed (LIKE given.t)");
    for (options, sqlstate, says) in [
        (options(&file, "given.closed"), "42501", "permission denied for table closed"),
        (options(&file, "given.made"), "42501", "permission denied for schema given"),
        (options(&file, "given.t").mode(Mode::Truncate), "42501", "permission denied for table t"),
        (options(&file, "given.t").mode(Mode::Replace), "42501", "must be owner of table given.t"),
        (options(&file, "fresh.t").create_schema(true), "42501", "permission denied for database"),
    ] {
        let error = load(&database, &options).unwrap_err();
        assert_eq!(error.sqlstate(), Some(sqlstate), "{error:?}");
        assert!(error.message().contains(says), "{error:?}");
        assert_eq!(error.visible(), Some("nothing was changed"), "{error:?}");
    }
}

#[test]
fn a_hint_grants_the_rights_that_are_missing_and_a_dry_run_gives_it_too() {
    let database = database();
    let role = format!("loader_{}", database.name());
    let file = database.file("t.csv", "id,v\n1,a\n");
    for (mode, granted, missing) in [
        (Mode::Append, "SELECT", "INSERT"),
        (Mode::Truncate, "INSERT", "TRUNCATE"),
        (Mode::Truncate, "SELECT", "INSERT, TRUNCATE"),
        (Mode::Upsert, "INSERT", "SELECT, UPDATE"),
        (Mode::Upsert, "INSERT, UPDATE", "SELECT"),
        (Mode::Ignore, "INSERT", "SELECT"),
        (Mode::Update, "SELECT, INSERT, DELETE", "UPDATE"),
        (Mode::Delete, "SELECT, INSERT, UPDATE", "DELETE"),
        (Mode::Delete, "INSERT", "DELETE, SELECT"),
    ] {
        database.sql(&format!(
            "DROP TABLE IF EXISTS given.k; CREATE TABLE given.k (id int PRIMARY KEY, v text); GRANT {granted} ON given.k TO {role};
             GRANT TEMPORARY ON DATABASE {} TO {role}",
            database.name()
        ));
        for dry_run in [true, false] {
            let wanted = options(&file, "given.k").mode(mode).dry_run(dry_run);
            let error = load(&database, &wanted).unwrap_err();
            let hint = format!("its owner can allow it: GRANT {missing} ON given.k TO {role}");
            assert_eq!(
                (error.sqlstate(), error.hint()),
                (Some("42501"), Some(hint.as_str())),
                "{mode} {granted}"
            );
        }
        database.sql(&format!("GRANT {missing} ON given.k TO {role}"));
        let loaded = load(&database, &options(&file, "given.k").mode(mode));
        assert!(loaded.is_ok(), "{mode} {granted} {missing}: {loaded:?}");
    }
    // Rights on the columns that are loaded are enough.
    database.sql(&format!("REVOKE ALL ON given.k FROM {role}; GRANT INSERT (id, v), SELECT (id, v), UPDATE (v) ON given.k TO {role}"));
    load(&database, &options(&file, "given.k").mode(Mode::Upsert)).unwrap();
    // SQL that runs before may grant them, or become another role.
    database.sql(&format!("REVOKE ALL ON given.k FROM {role}; CREATE ROLE {role}_too; GRANT {role}_too TO {role}; TRUNCATE given.k;
                           GRANT INSERT ON given.k TO {role}_too; GRANT USAGE ON SCHEMA given TO {role}_too"));
    let mut wanted = options(&file, "given.k");
    wanted.target.before = vec![format!("SET LOCAL ROLE {role}_too")];
    load(&database, &wanted).unwrap();
    for (table, says) in
        [("given.made", "permission denied for schema given"), ("fresh.t", "permission denied for database")]
    {
        let wanted = options(&file, table).create_schema(true).dry_run(true);
        assert!(load(&database, &wanted).unwrap_err().message().contains(says), "{table}");
    }
}

#[test]
fn a_table_that_others_refer_to_is_not_emptied_and_a_dry_run_says_so() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE child (id int REFERENCES t)");
    let file = database.file("t.csv", "id\n1\n");
    for dry_run in [true, false] {
        let wanted = options(&file, "t").mode(Mode::Truncate).dry_run(dry_run);
        let error = crate::common::try_load(&database, &wanted).unwrap_err();
        assert!(error.message().contains("child_id_fkey of child"), "{error:?}");
        assert_eq!(error.visible(), Some("nothing was changed"));
    }
}

#[test]
fn no_row_is_refused_for_a_right_that_the_role_lacks() {
    let database = database();
    let role = format!("loader_{}", database.name());
    database.sql(&format!(
        "CREATE TABLE given.closed (n int PRIMARY KEY); CREATE TABLE own.raw (n text);
         INSERT INTO own.raw VALUES ('1'), ('2'), ('x'); ALTER TABLE own.raw OWNER TO {role}"
    ));
    let (landing, into) = (TableName::parse("own.raw").unwrap(), TableName::parse("given.closed").unwrap());
    let promoting = PromoteOptions::new(landing, into).rejects_violations(true).drops_landing(true);
    let error = howdah::promote(&promoting, &target(&database), &Control::new()).unwrap_err();
    assert_eq!(
        (error.sqlstate(), error.visible()),
        (Some("42501"), Some("nothing was changed")),
        "{error:?}"
    );
    let left = "SELECT count(*), to_regclass('own.raw_rejects') IS NULL FROM own.raw";
    assert_eq!(database.sql(left), "3|t");

    let file = database.file("n.csv", "n\n1\n2\n");
    for write_path in [WritePath::Values, WritePath::InsertAutocommit, WritePath::CopyBinary] {
        let rejects = database.path("closed.rejects.jsonl");
        let tolerant = options(&file, "given.closed")
            .write_path(write_path)
            .on_error(OnError::Ignore)
            .rejects(rejects.clone());
        let error = load(&database, &tolerant).unwrap_err();
        assert_eq!((error.sqlstate(), error.visible()), (Some("42501"), Some("nothing was changed")));
        assert_eq!(std::fs::read_to_string(rejects).unwrap_or_default(), "", "{}", write_path.name());
    }
}

#[test]
fn where_nothing_could_be_made_nothing_is_said_to_stay() {
    let database = database();
    let role = format!("loader_{}", database.name());
    database.sql(&format!(
        "ALTER ROLE {role} SET default_transaction_read_only = on; GRANT ALL ON given.keyed TO {role};
         GRANT CREATE ON SCHEMA given TO {role}"
    ));
    let file = database.file("t.csv", "n,at\n1,2024-01-01 00:00+00\n");
    for jobs in [1, 4] {
        let error =
            load(&database, &options(&file, "given.keyed").mode(Mode::Upsert).jobs(jobs)).unwrap_err();
        assert_eq!(
            (error.sqlstate(), error.visible()),
            (Some("25006"), Some("nothing was changed")),
            "{jobs}"
        );
        assert!(error.hint().unwrap().ends_with("default_transaction_read_only is on"), "{jobs}: {error:?}");
    }
}
