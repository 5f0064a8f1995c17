//! What an evolving load refuses, and how it goes together with all else that a load can be asked for.

use std::io::Cursor;

use howdah::connect::{ConnectOptions, Environment};
use howdah::name::TableName;
use howdah::options::{Format, Inference, Mode, OnError, WritePath};
use howdah::source::Input;
use howdah::{Control, Error, ErrorKind, LoadOptions, Report, Target};
use howdah_testkit::Database;

use super::{CSV, HELD, STOCK, altered, columns, evolving, refused};
use crate::common::{load, target, try_load};

/// As a role that may do all but alter what is another's.
fn as_loader(database: &Database, options: &LoadOptions) -> Result<Report, Error> {
    let conninfo = format!("{} user=evolver_{} password=least", database.conninfo(), database.name());
    let connect = ConnectOptions::default().conninfo(conninfo);
    let target: Target = connect.resolve(&Environment::from_pairs([])).unwrap();
    howdah::load(options, &target, &Control::new())
}

fn with_a_loader(sql: &str) -> Database {
    let database = Database::new();
    let role = format!("evolver_{}", database.name());
    database.sql(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'least'; GRANT CREATE ON SCHEMA public TO {role}; {}
         GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}",
        sql.replace("LOADER", &role)
    ));
    database
}

#[test]
fn whoever_does_not_own_the_table_is_told_before_the_first_row() {
    let database = with_a_loader(&format!("CREATE TABLE t {STOCK}"));
    let owner = database.sql("SELECT quote_ident(current_user)");
    let file = database.file("t.csv", CSV);
    for (mode, dry) in [
        (Mode::Append, false),
        (Mode::Append, true),
        (Mode::Truncate, false),
        (Mode::Upsert, false),
        (Mode::Replace, false),
    ] {
        let error = as_loader(&database, &evolving(&file, "t").mode(mode).dry_run(dry)).unwrap_err();
        assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Server, Some("42501")), "{error:?}");
        let says = format!("columns cannot be added to public.t: it belongs to {owner}");
        assert_eq!((error.message(), error.visible()), (says.as_str(), Some("nothing was changed")));
        let hint = format!(
            "{owner} can add them: ALTER TABLE \"public\".\"t\" ADD COLUMN \"price\" numeric, ADD COLUMN \"since\" date, \
             ADD COLUMN \"note\" text; skip_columns=NAME leaves a column out"
        );
        assert_eq!(error.hint(), Some(hint.as_str()));
    }
    // With nothing to add it is a load like any other.
    let plain = database.file("plain.csv", "id,name\n1,a\n");
    assert_eq!(as_loader(&database, &evolving(&plain, "t")).unwrap().rows, 1);
    // A member of the owner may.
    database.sql(&format!(
        "CREATE ROLE owners_{0}; GRANT owners_{0} TO evolver_{0}; ALTER TABLE t OWNER TO owners_{0}",
        database.name()
    ));
    assert_eq!(as_loader(&database, &evolving(&file, "t").mode(Mode::Upsert)).unwrap().rows, 3);
    assert_eq!(columns(&database, "t"), "id:integer! name:text! price:numeric since:date note:text");
}

#[test]
fn an_owner_under_its_own_policy_adds_columns_too() {
    let database = with_a_loader(
        "CREATE TABLE t (id int, name text); ALTER TABLE t OWNER TO LOADER;
         ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY;
         CREATE POLICY small ON t USING (id < 9) WITH CHECK (id < 9);",
    );
    let file = database.file("t.csv", CSV);
    let report = as_loader(&database, &evolving(&file, "t")).unwrap();
    assert_eq!((report.rows, report.plan.unwrap().staging.is_some()), (3, true));
    assert_eq!(database.sql("SELECT count(price), max(since) FROM t"), "2|2024-02-29");
}

#[test]
fn partitions_get_the_columns_of_the_whole_table() {
    let parts = "CREATE TABLE t (id int, name text) PARTITION BY LIST (id);
                 CREATE TABLE one PARTITION OF t FOR VALUES IN (1); CREATE TABLE others PARTITION OF t DEFAULT;";
    let database =
        with_a_loader(&format!("{parts} ALTER TABLE t OWNER TO LOADER; ALTER TABLE one OWNER TO LOADER;"));
    let file = database.file("t.csv", CSV);
    let owner = database.sql("SELECT quote_ident(current_user)");
    let error = as_loader(&database, &evolving(&file, "t")).unwrap_err();
    let says = format!("columns cannot be added to public.t: public.others belongs to {owner}");
    assert_eq!((error.message(), error.sqlstate()), (says.as_str(), Some("42501")), "{error:?}");
    for mode in [Mode::Append, Mode::Truncate] {
        load(&database, &evolving(&file, "t").mode(mode));
        for table in ["t", "one", "others"] {
            assert_eq!(columns(&database, table), "id:integer name:text price:numeric since:date note:text");
        }
        assert_eq!(database.sql("SELECT count(*), sum(price) FROM t"), "3|3.75");
        database.sql(&format!("DROP TABLE t; {parts}"));
    }
    let error = try_load(&database, &evolving(&file, "one")).unwrap_err();
    let says = "columns cannot be added to public.one: it is a partition, whose columns are those of the whole table";
    assert_eq!((error.kind(), error.message()), (ErrorKind::Usage, says), "{error:?}");
}

#[test]
fn what_gets_no_columns_says_why() {
    let database = Database::new();
    database.sql(&format!(
        "CREATE TABLE t {STOCK} CREATE TABLE parent {STOCK} CREATE TYPE pair AS (id int, name text);
         CREATE TABLE typed OF pair; CREATE VIEW seen AS SELECT * FROM t;
         CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE TRIGGER pass INSTEAD OF INSERT ON seen FOR EACH ROW EXECUTE FUNCTION pass()"
    ));
    let file = database.file("t.csv", CSV);
    for (wanted, says) in [
        (evolving(&file, "seen"), "columns cannot be added to public.seen: it is a view"),
        (evolving(&file, "typed"), "columns cannot be added to public.typed: it has the columns of its type"),
        (
            evolving(&file, "fresh").mode(Mode::Create),
            "columns cannot be added: mode=create makes a new table, with all columns of the input",
        ),
        (
            evolving(&file, "t").mode(Mode::Delete),
            "columns cannot be added: mode=delete looks at the columns of the key and at nothing else",
        ),
        (
            evolving(&file, "t").write_path(WritePath::Landing),
            "columns cannot be added: write_path=landing fills the table by a statement of its own",
        ),
        (
            evolving(&file, "t").write_path(WritePath::InsertAutocommit),
            "columns cannot be added: write_path=insert-autocommit commits each row by itself",
        ),
        (
            evolving(&file, "t").mode(Mode::Update).key(["note"]),
            "key names \"note\", which public.t does not have yet: no row can be found by it",
        ),
    ] {
        let error = refused(&database, &wanted);
        assert_eq!((error.kind(), error.message()), (ErrorKind::Usage, says), "{error:?}");
    }
}

fn load_stream(database: &Database, text: &str, options: &LoadOptions) -> Result<Report, Error> {
    let stream = Input::reader("made", Box::new(Cursor::new(text.as_bytes().to_vec())));
    howdah::load_inputs(vec![stream], options, &target(database), &Control::new())
}

#[test]
fn a_stream_s_columns_need_types_that_somebody_says() {
    let database = Database::new();
    let wanted = LoadOptions::default().table(TableName::parse("t").unwrap()).evolve(true);
    let json = "{\"id\":1,\"price\":1.5}\n{\"id\":2,\"price\":2.5}\n";
    for (format, text) in [(Format::Csv, "id,price\n1,1.5\n2,2.5\n"), (Format::Ndjson, json)] {
        database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (id int)");
        let wanted = wanted.clone().format(format);
        let error = load_stream(&database, text, &wanted).unwrap_err();
        let says = "the types of the columns to add (price) are not known: those of a stream are known only at its end";
        assert_eq!((error.kind(), error.message()), (ErrorKind::Usage, says), "{error:?}");
        assert_eq!(columns(&database, "t"), "id:integer");
        let report = load_stream(&database, text, &wanted.types([("price", "numeric(9,2)")])).unwrap();
        assert_eq!((report.rows, columns(&database, "t").as_str()), (2, "id:integer price:numeric(9,2)"));
        assert_eq!(database.sql("SELECT sum(price) FROM t"), "4.00");
    }
}

#[test]
fn keys_that_come_late_are_columns_too() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int)");
    let mut text: String = (0..40_000).map(|id| format!("{{\"id\":{id}}}\n")).collect();
    text.push_str("{\"id\":1,\"late\":[1]}\n");
    load(&database, &evolving(&database.file("t.ndjson", text), "t"));
    assert_eq!(columns(&database, "t"), "id:integer late:jsonb");
    assert_eq!(database.sql("SELECT count(*), count(late) FROM t"), "40001|1");
}

#[test]
fn files_with_other_columns_bring_them_all() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, name text)");
    let one = database.file("a.csv", "id,name\n1,a\n");
    let other = database.file("b.csv", "id,size\n2,5\n");
    load(&database, &evolving(&one, "t").paths([&one, &other]));
    assert_eq!(columns(&database, "t"), "id:integer name:text size:bigint");
    assert_eq!(database.sql("SELECT * FROM t ORDER BY id"), "1|a|\n2||5");
}

#[test]
fn every_write_path_fills_the_columns() {
    let database = Database::new();
    let file = database.file("t.csv", CSV);
    let mut expected = None;
    for path in WritePath::ALL {
        if matches!(path, WritePath::Landing | WritePath::InsertAutocommit) {
            continue;
        }
        database.sql(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t {STOCK}"));
        load(&database, &evolving(&file, "t").write_path(path));
        let rows = database.binary_rows("t");
        assert_eq!(&rows, expected.get_or_insert_with(|| rows.clone()), "{path}");
    }
}

#[test]
fn all_that_alters_the_table_goes_together() {
    let database = Database::new();
    database.sql(&format!(
        "CREATE TABLE t {STOCK} INSERT INTO t VALUES {HELD}; CREATE INDEX ON t (name);
         CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER no BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION no()"
    ));
    let file = database.file("t.csv", CSV);
    let wanted = evolving(&file, "t").mode(Mode::Truncate).freeze(true).disable_triggers(true);
    let report = load(&database, &wanted.indexes(howdah::options::Indexes::Rebuild));
    assert_eq!((report.rows, report.rows_dropped), (3, 0));
    assert_eq!(columns(&database, "t"), "id:integer! name:text! price:numeric since:date note:text");
    let states = "SELECT string_agg(tgenabled::text, '') FROM pg_trigger WHERE tgrelid = 't'::regclass";
    assert_eq!(database.sql(states), "O");
    assert_eq!(database.sql("SELECT count(*) FROM pg_indexes WHERE tablename = 't'"), "2");
}

#[test]
fn bad_records_are_kept_apart_and_load_again() {
    let database = Database::new();
    let mut csv = String::from("id,name,price\n");
    (0..200).for_each(|id| csv.push_str(&format!("{id},n{id},{id}.5\n")));
    csv.push_str("200,n200,unknown\nx,n201,1\n");
    let file = database.file("t.csv", csv);
    for mode in [Mode::Append, Mode::Upsert] {
        database.sql(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t {STOCK}"));
        let rejects = database.path("bad.jsonl");
        let wanted = evolving(&file, "t").mode(mode).on_error(OnError::Ignore).rejects(&rejects);
        let report = load(&database, &wanted.infer(Inference::Mostly));
        assert_eq!((report.rows, report.rows_rejected), (200, 2), "{mode}");
        assert_eq!(columns(&database, "t"), "id:integer! name:text! price:double precision", "{mode}");
        let mended =
            std::fs::read_to_string(&rejects).unwrap().replace("unknown", "7").replace("x,n201", "201,n201");
        std::fs::write(&rejects, mended).unwrap();
        let again = load(&database, &LoadOptions::new(&rejects).evolve(true));
        assert_eq!((again.rows, altered(again)), (2, None), "{mode}");
    }
}

#[test]
fn a_replaced_table_keeps_what_it_had_beside_the_new_columns() {
    let database = Database::new();
    database.sql(&format!(
        "CREATE TABLE t {STOCK} INSERT INTO t VALUES {HELD}; CREATE INDEX by_name ON t (name);
         COMMENT ON COLUMN t.name IS 'kept'; ALTER TABLE t ADD CHECK (id > 0)"
    ));
    let file = database.file("t.csv", CSV);
    let wanted = evolving(&file, "t").mode(Mode::Replace);
    load(&database, &wanted.clone().key(["name"]).types([("price", "numeric(9,2)"), ("id", "bigint")]));
    assert_eq!(columns(&database, "t"), "id:bigint! name:text! price:numeric(9,2) since:date note:text");
    assert_eq!(database.sql("SELECT col_description('t'::regclass, 2)"), "kept");
    let keys = "SELECT string_agg(pg_get_constraintdef(oid), '; ' ORDER BY conname) FROM pg_constraint
                 WHERE conrelid = 't'::regclass AND contype IN ('p', 'c')";
    assert_eq!(database.sql(keys), "CHECK ((id > 0)); PRIMARY KEY (name)");
    assert_eq!(altered(load(&database, &wanted)), None);
}
