//! A bad record costs nobody anything but itself: what is rejected, what is loaded and what was read add up, byte for byte.

use howdah::options::{HeaderOption, Mode, OnError, OnNul, RejectLimit, WritePath};
use howdah::{ErrorKind, LoadOptions, Report};
use howdah_testkit::Database;
use serde_json::Value;

use crate::common::{load, options, try_load};

/// One line of a reject file.
#[derive(Debug)]
struct Reject {
    line: u64,
    offset: usize,
    column: Option<String>,
    sqlstate: String,
    reason: String,
    constraint: Option<String>,
    raw: Vec<u8>,
}

fn tolerant(database: &Database, file: &str, table: &str) -> LoadOptions {
    options(file, table).on_error(OnError::Ignore).rejects(database.path("rejects.jsonl"))
}

/// The reject file, in the input's order.
fn read(path: &str) -> Vec<Reject> {
    use base64::Engine;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut rejects: Vec<Reject> = std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            let decode = |text: &str| base64::engine::general_purpose::STANDARD.decode(text).unwrap();
            Reject {
                line: value["line"].as_u64().unwrap(),
                offset: usize::try_from(value["byte_offset"].as_u64().unwrap()).unwrap(),
                column: text(&value["column"]),
                sqlstate: text(&value["sqlstate"]).unwrap(),
                reason: text(&value["reason"]).unwrap(),
                constraint: text(&value["constraint"]),
                raw: match value["raw"].as_str() {
                    Some(raw) => raw.as_bytes().to_vec(),
                    None => decode(value["raw_base64"].as_str().unwrap()),
                },
            }
        })
        .collect();
    rejects.sort_by_key(|reject| reject.offset);
    rejects
}

/// Loads `input` with bad records ignored and checks the account: every reject stands in the input where it says, and the
/// input without the rejects, loaded by psql into a table of the same definition, gives the same rows.
fn account(
    database: &Database,
    ddl: &str,
    input: &[u8],
    change: impl Fn(&mut LoadOptions),
) -> (Report, Vec<Reject>) {
    database.sql(&format!(
        "DROP TABLE IF EXISTS t, by_psql CASCADE; CREATE TABLE t ({ddl}); CREATE TABLE by_psql ({ddl})"
    ));
    let file = database.file("input.csv", input);
    let mut wanted = tolerant(database, &file, "t");
    wanted.columns.header = HeaderOption::Yes;
    change(&mut wanted);
    let report = load(database, &wanted);
    let rejects = read(&database.path("rejects.jsonl"));
    assert_eq!(report.rows_rejected, rejects.len() as u64);
    assert_eq!(report.rows_read, report.rows + report.rows_rejected);
    let mut kept = Vec::new();
    let mut from = 0;
    for reject in &rejects {
        let end = reject.offset + reject.raw.len();
        assert_eq!(input[reject.offset..end], reject.raw, "{reject:?}");
        let lines = input[..reject.offset].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(reject.line, 1 + lines as u64, "{reject:?}");
        kept.extend_from_slice(&input[from..reject.offset]);
        let eol = input[end..]
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count()
            .min(if input[end..].starts_with(b"\r\n") { 2 } else { 1 });
        from = end + eol;
    }
    kept.extend_from_slice(&input[from..]);
    let kept = database.file("kept.csv", kept);
    database.sql(&format!(r"\copy by_psql FROM '{kept}' (FORMAT csv, HEADER)"));
    assert!(database.binary_rows("t") == database.binary_rows("by_psql"), "the rows differ from psql's");
    (report, rejects)
}

const PLAIN: &str = "id int, name varchar(8), at timestamptz";

/// Records of which each `every`-th is spoilt, in turn in a different way.
fn spoilt(count: usize, every: usize) -> Vec<u8> {
    let mut csv = b"id,name,at\n".to_vec();
    for n in 0..count {
        let good = format!("{n},\"na\nme\",2024-01-01 00:00:00+00\n");
        csv.extend_from_slice(&if n % every != every / 2 {
            good.into_bytes()
        } else {
            match n / every % 8 {
                0 => format!("x{n},a,2024-01-01\n").into_bytes(),
                1 => format!("{n},toolongname,2024-01-01\n").into_bytes(),
                2 => format!("{n},a,2024-02-31\n").into_bytes(),
                3 => format!("{n},a\n").into_bytes(),
                4 => format!("{n},a,2024-01-01,more\n").into_bytes(),
                5 => [format!("{n},").as_bytes(), b"\xff,2024-01-01\n"].concat(),
                6 => format!("{n},a\0b,2024-01-01\n").into_bytes(),
                _ => format!("{n},a\rb,2024-01-01\n").into_bytes(),
            }
        });
    }
    csv
}

#[test]
fn good_rows_are_loaded_and_bad_ones_kept_whatever_is_wrong_with_them() {
    let database = Database::new();
    for jobs in [1, 2, 4] {
        let (report, rejects) =
            account(&database, PLAIN, &spoilt(60_000, 100), |options| options.writing.jobs = Some(jobs));
        assert_eq!((report.rows, rejects.len()), (59_400, 600));
        for (sqlstate, column, reason) in [
            ("22P02", Some("id"), "invalid input syntax for type integer"),
            ("22001", Some("name"), "value too long"),
            ("22008", Some("at"), "date/time field value out of range"),
            ("22P04", Some("at"), "missing data for column \"at\""),
            ("22P04", None, "extra data after last expected column"),
            ("22021", Some("name"), "invalid byte sequence"),
            ("22P04", None, "unquoted carriage return"),
        ] {
            let found = rejects.iter().filter(|reject| {
                reject.sqlstate == sqlstate
                    && reject.column.as_deref() == column
                    && reject.reason.contains(reason)
            });
            assert!(found.count() >= 75, "{sqlstate} {reason}");
        }
    }
    // Half of them, and all.
    assert_eq!(account(&database, PLAIN, &spoilt(2_000, 2), |_| ()).0.rows, 1_000);
    assert_eq!(account(&database, PLAIN, &spoilt(2_000, 1), |_| ()).0.rows, 0);
}

#[test]
fn places_are_right_in_files_with_crlf_a_byte_order_mark_and_an_open_quote() {
    let database = Database::new();
    let crlf = "\u{feff}id,name,at\r\n1,\"a\r\nb\",\r\nx,b,\r\n3,c,\r\n4,lone\nnewline,\r\n5,d,\r\n";
    let (report, rejects) = account(&database, PLAIN, crlf.as_bytes(), |_| ());
    // A newline alone ends a record too, since a piece may be cut there: its two halves are refused.
    let lines: Vec<u64> = rejects.iter().map(|reject| reject.line).collect();
    assert_eq!((report.rows, lines), (3, vec![4, 6, 7]));
    let open = b"id,name,at\n1,a,\n2,\"open,\n3,c,\n";
    let (report, rejects) = account(&database, PLAIN, open, |_| ());
    assert_eq!((report.rows, rejects[0].line, &rejects[0].raw[..]), (2, 3, &b"2,\"open,"[..]));
}

#[test]
fn in_a_compressed_file_offsets_are_those_of_its_content() {
    use std::io::Write;
    let database = Database::new();
    let input = spoilt(3_000, 30);
    let path = database.path("input.csv.gz");
    let file = std::fs::File::create(&path).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    gzip.write_all(&input).unwrap();
    gzip.finish().unwrap();
    let (report, _) =
        account(&database, PLAIN, &input, |options| options.input.paths = vec![path.clone().into()]);
    assert_eq!(report.rows_rejected, 100);
}

#[test]
fn what_only_the_server_refuses_is_narrowed_down_to_the_row() {
    let database = Database::new();
    database.sql("CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent SELECT generate_series(0, 9)");
    let cases = [
        ("id int PRIMARY KEY, v int", "23505"),
        ("id int, v int REFERENCES parent", "23503"),
        ("id int, v int REFERENCES parent DEFERRABLE INITIALLY DEFERRED", "23503"),
        ("id int UNIQUE DEFERRABLE INITIALLY DEFERRED, v int", "23505"),
        ("id int, v int CHECK (v < 10)", "23514"),
        ("id int, v int, EXCLUDE (id WITH =)", "23P01"),
        ("id int, v int, w int GENERATED ALWAYS AS (1 / (v - 10)) STORED", "22012"),
    ];
    let count: u64 = 2_000;
    for (ddl, sqlstate) in cases {
        let with_w = ddl.contains("GENERATED");
        for bad in [
            vec![0],
            vec![count / 2],
            vec![count - 1],
            (0..count).step_by(97).collect(),
            (0..count).step_by(2).collect(),
        ] {
            // A unique value can only be bad as the second of two.
            let by_key = sqlstate == "23505" || sqlstate == "23P01";
            let mut csv = "id,v\n".to_owned();
            if by_key {
                csv.push_str("-1,0\n");
            }
            for n in 0..count {
                let is_bad = bad.binary_search(&n).is_ok();
                let id = if by_key && is_bad { -1 } else { n.cast_signed() };
                csv.push_str(&format!("{id},{}\n", if !by_key && is_bad { 10 } else { 3 }));
            }
            database.sql(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t ({ddl})"));
            let file = database.file("input.csv", &csv);
            for jobs in [1, 4] {
                database.sql("TRUNCATE t");
                let wanted = tolerant(&database, &file, "t").jobs(jobs);
                let report = load(&database, &wanted);
                let rejects = read(&database.path("rejects.jsonl"));
                let refused: Vec<_> = rejects.iter().map(|r| r.line - 2 - u64::from(by_key)).collect();
                assert_eq!(refused, bad, "{ddl} {jobs}");
                assert_eq!(report.rows_read, report.rows + report.rows_rejected);
                assert!(rejects.iter().all(|reject| reject.sqlstate == sqlstate), "{:?}", rejects[0]);
                assert!(
                    with_w || rejects.iter().all(|reject| reject.constraint.is_some()),
                    "{:?}",
                    rejects[0]
                );
                assert_eq!(database.sql("SELECT count(*) FROM t"), report.rows.to_string());
                if bad.len() > 500 {
                    break;
                }
            }
        }
    }
}

#[test]
fn triggers_partitions_and_views_refuse_rows_one_by_one_too() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE logged (id int, v int);
         CREATE FUNCTION no_sevens() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.v % 7 = 0 THEN RAISE EXCEPTION 'no sevens' USING ERRCODE = 'H0007'; END IF;
             RETURN NEW; END $$;
         CREATE TRIGGER checked BEFORE INSERT ON logged FOR EACH ROW EXECUTE FUNCTION no_sevens();
         CREATE TABLE parted (id int, v int) PARTITION BY RANGE (v);
         CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (90);
         CREATE TABLE behind (id int, v int CHECK (v <> 5));
         CREATE VIEW viewed AS SELECT id, v FROM behind;
         CREATE FUNCTION through() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO behind VALUES (NEW.id, NEW.v); RETURN NEW; END $$;
         CREATE TRIGGER instead INSTEAD OF INSERT ON viewed FOR EACH ROW EXECUTE FUNCTION through()",
    );
    let csv: String =
        std::iter::once("id,v\n".to_owned()).chain((0..1000).map(|n| format!("{n},{}\n", n % 100))).collect();
    let file = database.file("input.csv", &csv);
    for (table, sqlstate, refused) in
        [("logged", "H0007", 150_usize), ("parted", "23514", 100), ("viewed", "23514", 10)]
    {
        let report = load(&database, &tolerant(&database, &file, table));
        let rejects = read(&database.path("rejects.jsonl"));
        assert_eq!((report.rows, rejects.len()), (1000 - refused as u64, refused), "{table}");
        assert!(rejects.iter().all(|reject| reject.sqlstate == sqlstate), "{table}");
    }
}

#[test]
fn not_null_is_judged_before_sending_and_named_like_the_server_does() {
    let database = Database::new();
    let (_, rejects) =
        account(&database, "a int NOT NULL, b text NOT NULL", b"a,b\n,\n,x\n1,\n1,x\n", |_| ());
    let named: Vec<_> = rejects.iter().map(|r| (r.sqlstate.as_str(), r.column.as_deref())).collect();
    assert_eq!(named, [("23502", Some("a")), ("23502", Some("a")), ("23502", Some("b"))]);
    assert!(rejects[0].reason.contains("null value in column \"a\" of relation \"t\""), "{rejects:?}");
}

#[test]
fn a_replaced_table_refuses_what_its_constraints_refuse() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v > 0)); INSERT INTO t VALUES (9, 9)");
    let file = database.file("input.csv", "id,v\n1,1\n1,2\n2,0\n3,3\n");
    for jobs in [1, 2] {
        let wanted = tolerant(&database, &file, "t").mode(Mode::Replace).jobs(jobs);
        let report = load(&database, &wanted);
        assert_eq!((report.rows, report.rows_rejected), (2, 2));
        assert_eq!(database.sql("SELECT * FROM t ORDER BY 1"), "1|1\n3|3");
        assert_eq!(
            database.sql(
                "SELECT count(*) FROM pg_constraint WHERE conrelid = 't'::regclass AND contype IN ('p', 'c')"
            ),
            "2"
        );
    }
}

#[test]
fn beyond_the_limit_nothing_is_loaded_and_the_file_tells_why() {
    let database = Database::new();
    database.sql(&format!("CREATE TABLE t ({PLAIN})"));
    let file = database.file("input.csv", spoilt(1_000, 100));
    let with = |limit| tolerant(&database, &file, "t").reject_limit(limit);
    for limit in [RejectLimit::Rows(9), RejectLimit::Percent(0.9)] {
        let error = try_load(&database, &with(limit)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooManyRejects, "{error:?}");
        assert_eq!(error.visible(), Some("nothing was changed"));
        assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
        assert_eq!(read(&database.path("rejects.jsonl")).len(), 10);
    }
    for limit in [RejectLimit::Rows(10), RejectLimit::Percent(1.0)] {
        assert_eq!(load(&database, &with(limit)).rows_rejected, 10);
    }
}

#[test]
fn corrected_rejects_load_into_their_columns() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, \"The Name\" text, at date)");
    let file = database
        .file("input.csv", "at;unused;id;The Name\n2024-01-01;u;x1;\"a;\n'b\"\n-;u;2;b\n2024-01-03;u;3;c\n");
    let mut wanted = tolerant(&database, &file, "t");
    wanted.input.dialect.delimiter = Some(b';'.into());
    wanted.input.dialect.null = Some("-".into());
    wanted.columns.skip_columns = vec!["unused".into()];
    assert_eq!(load(&database, &wanted).rows_rejected, 1);
    let path = database.path("rejects.jsonl");
    // Loaded as it is, it is refused again, and its own line is named.
    let again = LoadOptions::default()
        .rejects(database.path("again.jsonl"))
        .overwrite_rejects(true)
        .on_error(OnError::Ignore)
        .paths([path.clone()])
        .format(howdah::options::Format::Rejects);
    assert_eq!(load(&database, &again).rows_rejected, 1);
    let second: Value =
        serde_json::from_str(&std::fs::read_to_string(database.path("again.jsonl")).unwrap()).unwrap();
    assert_eq!((second["line"].as_u64(), second["file"].as_str()), (Some(1), Some(path.as_str())));
    let corrected = std::fs::read_to_string(&path).unwrap().replace("x1", "1");
    std::fs::write(&path, corrected).unwrap();
    let report = load(&database, &again);
    assert_eq!((report.rows, report.rows_rejected, report.rejects_path), (1, 0, None));
    assert_eq!(database.sql("SELECT * FROM t ORDER BY id"), "1|a;\n'b|2024-01-01\n2|b|\n3|c|2024-01-03");
}

#[test]
fn a_dry_run_finds_the_same_rejects_and_writes_nothing() {
    let database = Database::new();
    let input = spoilt(5_000, 50);
    let (_, expected) = account(&database, PLAIN, &input, |_| ());
    database.sql("TRUNCATE t");
    let file = database.path("input.csv");
    let report = load(&database, &tolerant(&database, &file, "t").dry_run(true).jobs(2));
    assert_eq!(
        (report.outcome, report.rows_rejected, report.rows_read),
        (howdah::report::Outcome::Planned, 100, 5_000)
    );
    let found = read(&database.path("rejects.jsonl"));
    let places =
        |rejects: &[Reject]| rejects.iter().map(|r| (r.offset, r.sqlstate.clone())).collect::<Vec<_>>();
    assert_eq!(places(&found), places(&expected));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
    let stop = try_load(&database, &options(&file, "t").dry_run(true)).unwrap_err();
    assert_eq!(stop.location().unwrap().line, Some(expected[0].line));
}

#[test]
fn nuls_can_be_stripped_and_the_record_is_read_as_if_they_had_not_been_there() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text, c text)");
    let file = database.file("input.csv", b"a\0,\0\"b\",c\n1\0,\0\"x,\0y\"\0,\0\n2,z,\"\"\n");
    load(&database, &options(&file, "t").on_nul(OnNul::Strip));
    assert_eq!(database.sql("SELECT a, b, c IS NULL FROM t ORDER BY 1"), "1|x,y|t\n2|z|f");
    load(&database, &options(&file, "made").mode(Mode::Create).on_nul(OnNul::Strip));
    assert_eq!(database.sql("SELECT a, b FROM made ORDER BY 1"), "1|x,y\n2|z");
}

#[test]
fn a_new_table_is_made_from_the_good_records() {
    let database = Database::new();
    let file = database.file("people.csv", b"id,name\n1,a\n2\n3,c,d\n4,\xff\n5,e\n");
    for jobs in [1, 2] {
        let wanted = tolerant(&database, &file, &format!("people{jobs}")).mode(Mode::Replace).jobs(jobs);
        let report = load(&database, &wanted);
        assert_eq!((report.rows, report.rows_rejected), (2, 3));
        assert_eq!(
            database.sql(&format!("SELECT pg_typeof(id), sum(id) FROM people{jobs} GROUP BY 1")),
            "bigint|6"
        );
    }
}

#[test]
fn json_is_judged_before_it_is_sent() {
    let database = Database::new();
    let input = b"j,b\n{},[1]\n{,1\n1,\"\"\"\\u0000\"\"\"\n\"\"\"\\u0000\"\"\",2\n1,1e999999\ntrue,nul\n[],\"{\"\"a\"\": 01}\"\n";
    let (report, rejects) = account(&database, "j json, b jsonb", input, |_| ());
    let found: Vec<_> =
        rejects.iter().map(|r| (r.line, r.sqlstate.as_str(), r.column.as_deref().unwrap())).collect();
    assert_eq!(report.rows, 2);
    assert_eq!(
        found,
        [(3, "22P02", "j"), (4, "22P05", "b"), (6, "22003", "b"), (7, "22P02", "b"), (8, "22P02", "b")]
    );
}

#[test]
fn a_failed_load_says_what_space_it_left_dead() {
    let database = Database::new();
    // The bad row is refused once the server has written others, on whichever connection it comes.
    database.sql(
        "CREATE FUNCTION is_good(n int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
             WHILE n < 0 AND pg_relation_size('t') < 3000000 LOOP PERFORM pg_sleep(0.01); END LOOP;
             RETURN n >= 0;
         END $$",
    );
    let rows: String = (0..60_000).map(|n| format!("{n},{}\n", "x".repeat(100))).collect();
    let file = database.file("input.csv", format!("{rows}-1,y\n"));
    for jobs in [1, 2] {
        // Vacuumed in between, the table would not grow.
        database.sql(
            "DROP TABLE IF EXISTS t;
             CREATE TABLE t (a int CHECK (is_good(a)), b text) WITH (autovacuum_enabled = off)",
        );
        let wanted = options(&file, "t").jobs(jobs).header(HeaderOption::No);
        let error = try_load(&database, &wanted).unwrap_err();
        assert!(error.visible().unwrap().contains("MB of dead rows remain in public.t"), "{error:?}");
    }
}

#[test]
fn what_only_the_server_reads_is_judged_with_the_column_s_length_and_precision() {
    let database = Database::new();
    // As the column of a domain too. The number has more decimals than a numeric of any precision, until it is rounded.
    database.sql("CREATE DOMAIN short AS bit varying(3)");
    let input = b"id,n,a,s\n1,0e-9999991,\"{abc,x}\",101\n2,1e-1632583,{abcd},\n3,1,,0b11\n4,1,,B111\n5,1,,X1\n6,123456789,{},\n";
    let (_, rejects) = account(&database, "id int, n numeric(10,2), a varchar(3)[], s short", input, |_| ());
    let refused: Vec<_> = rejects.iter().map(|reject| (reject.line, reject.sqlstate.as_str())).collect();
    assert_eq!(refused, [(3, "22001"), (4, "22001"), (6, "22001"), (7, "22003")]);
}

#[test]
fn a_row_that_the_server_reports_late_is_not_searched_for_row_by_row() {
    let database = Database::new();
    // COPY writes a thousand rows at a time, so a row that is too big for a page is reported at the line of a later one.
    database.sql(
        "CREATE SEQUENCE copies;
         CREATE TABLE wide (id int CHECK (id >= 0), v text);
         ALTER TABLE wide ALTER v SET STORAGE PLAIN;
         CREATE FUNCTION count_copies() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN PERFORM nextval('copies'); RETURN NULL; END $$;
         CREATE TRIGGER counted BEFORE INSERT ON wide FOR EACH STATEMENT EXECUTE FUNCTION count_copies();",
    );
    let too_big = [10, 1_500];
    let row = |n: usize| format!("{n},{}\n", "x".repeat(if too_big.contains(&n) { 9_000 } else { 3 }));
    let csv: String = std::iter::once("id,v\n".to_owned()).chain((0..3_000).map(row)).collect();
    let file = database.file("input.csv", &csv);
    load(&database, &tolerant(&database, &file, "wide"));
    let refused: Vec<_> =
        read(&database.path("rejects.jsonl")).iter().map(|reject| reject.line - 2).collect();
    assert_eq!(refused, too_big.map(|n| n as u64));
    assert_eq!(database.sql("SELECT count(*) FROM wide"), "2998");
    let copies: u64 = database.sql("SELECT last_value FROM copies").parse().unwrap();
    assert!(copies < 60, "{copies} statements for two refused rows");
}

#[test]
fn a_reason_names_the_table_that_the_user_knows_and_never_a_hidden_one() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int PRIMARY KEY, v text CHECK (v <> 'x'))");
    let file = database.file("t.csv", "n,v\n1,a\n2,x\n3,c\n1,d\n");
    for mode in [Mode::Append, Mode::Replace] {
        for jobs in [1, 2] {
            database.sql("TRUNCATE t");
            let wanted = tolerant(&database, &file, "t").mode(mode).jobs(jobs);
            assert_eq!(load(&database, &wanted).rows, 2, "{mode} {jobs}");
            let kept = std::fs::read_to_string(database.path("rejects.jsonl")).unwrap();
            assert!(
                kept.contains(r#"relation \"t\""#) && !kept.contains("howdah_load"),
                "{mode} {jobs}: {kept}"
            );
            let strict = options(&file, "t").mode(mode).jobs(jobs);
            let error = try_load(&database, &strict).unwrap_err();
            assert!(!error.message().contains("howdah_load"), "{mode} {jobs}: {error:?}");
        }
    }
}

#[test]
fn what_the_statement_or_the_table_refuses_is_no_rows_fault() {
    let database = Database::new();
    database.sql(
        "CREATE EXTENSION IF NOT EXISTS file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
         CREATE FOREIGN TABLE far (a int) SERVER files OPTIONS (filename '/dev/null');
         CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'closed for today'; END $$;
         CREATE TABLE early (a int); CREATE TRIGGER no BEFORE INSERT ON early FOR EACH STATEMENT EXECUTE FUNCTION no();
         CREATE TABLE late (a int); CREATE TRIGGER no AFTER INSERT ON late FOR EACH STATEMENT EXECUTE FUNCTION no();
         CREATE TABLE keyed (a int PRIMARY KEY);
         CREATE TRIGGER no AFTER INSERT ON keyed FOR EACH STATEMENT EXECUTE FUNCTION no()",
    );
    let rows: String = (0..500).map(|n| format!("{n}\n")).collect();
    let file = database.file("t.csv", format!("a\n{rows}"));
    for (table, mode, says) in [
        ("far", Mode::Append, "cannot insert into foreign table"),
        ("early", Mode::Append, "closed for today"),
        ("late", Mode::Append, "closed for today"),
        ("keyed", Mode::Upsert, "closed for today"),
    ] {
        // SQL that comes before may change anything: then nothing is asked beforehand.
        let wanted = tolerant(&database, &file, table).mode(mode).before(["SELECT 1"]);
        let error = try_load(&database, &wanted).unwrap_err();
        assert!(error.message().contains(says), "{table}: {error:?}");
        assert_eq!((error.location(), error.visible()), (None, Some("nothing was changed")), "{table}");
        assert_eq!(std::fs::read_to_string(database.path("rejects.jsonl")).unwrap(), "", "{table}");
    }
}

#[test]
fn a_row_that_does_not_fit_a_page_costs_itself_alone() {
    let database = Database::new();
    let columns = |kind: &str| (0..600).map(|n| format!("c{n} {kind}")).collect::<Vec<_>>().join(", ");
    let names: Vec<String> = (0..600).map(|n| format!("c{n}")).collect();
    // So long that each is stored elsewhere, and the pointers alone are more than a page.
    let wide = vec!["x".repeat(40); 600].join(",");
    let narrow = vec!["y"; 600].join(",");
    let file = database.file("wide.csv", format!("{}\n{narrow}\n{wide}\n{narrow}\n", names.join(",")));
    database.sql(&format!("CREATE TABLE there ({})", columns("text")));
    database.sql("CREATE TABLE plain (c0 text, c1 text); ALTER TABLE plain ALTER c0 SET STORAGE PLAIN");
    let plain = database.file("plain.csv", format!("c0,c1\na,b\n{},b\nc,d\n", "x".repeat(9000)));
    for (table, file, jobs) in [
        ("there", &file, 1),
        ("there", &file, 2),
        ("made1", &file, 1),
        ("made2", &file, 2),
        ("plain", &plain, 1),
    ] {
        let report = load(&database, &tolerant(&database, file, table).jobs(jobs));
        assert_eq!((report.rows, report.rows_rejected), (2, 1), "{table}");
        let rejects = read(&database.path("rejects.jsonl"));
        assert_eq!((rejects[0].line, rejects[0].sqlstate.as_str()), (3, "54000"), "{table}");
    }
}

#[test]
fn rows_that_triggers_drop_are_counted_in_every_mode() {
    let database = Database::new();
    database.sql(
        "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.a % 2 = 0 THEN RETURN NULL; END IF; RETURN NEW; END $$;
         CREATE TABLE t (a int PRIMARY KEY, v text);
         CREATE TRIGGER odd BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION odd()",
    );
    let file = database.file("t.csv", "a,v\n1,a\n2,b\n3,c\n4,d\nx,e\n");
    for mode in [Mode::Append, Mode::Truncate, Mode::Upsert, Mode::Ignore] {
        for write_path in
            [WritePath::CopyBinary, WritePath::Values, WritePath::InsertAutocommit, WritePath::Landing]
        {
            if mode != Mode::Append && write_path != WritePath::CopyBinary {
                continue;
            }
            database.sql("TRUNCATE t");
            let wanted = tolerant(&database, &file, "t").mode(mode).write_path(write_path);
            let report = load(&database, &wanted);
            let told = (report.rows_read, report.rows + report.rows_rejected + report.rows_dropped);
            assert_eq!(told, (5, 5), "{mode} {}: {report:?}", write_path.name());
            let expected = if mode.matches_rows() { (4, 0) } else { (2, 2) };
            assert_eq!((report.rows, report.rows_dropped), expected, "{mode} {}", write_path.name());
            assert_eq!(database.sql("SELECT count(*) FROM t"), "2", "{mode} {}", write_path.name());
        }
    }
}
