//! Paths into objects of JSON as columns: what lands is what the server's own `#>` finds, what leads nowhere is said, and keys
//! that paths go through are loaded only where they are meant.

use howdah::options::{HeaderOption, OnError, WritePath};
use howdah::{ErrorKind, LoadOptions};
use howdah_testkit::{Database, Rng};

use crate::common::{load, options, try_load};

/// Events as GitHub's archive has them.
const EVENTS: [&str; 3] = [
    r#"{"id":"1","type":"PushEvent","actor":{"id":7,"login":"ada"},"repo":{"id":9,"name":"ada/x"},"payload":{"size":1},"public":true,"created_at":"2024-01-01T00:00:00Z"}"#,
    r#"{"id":"2","type":"ForkEvent","actor":{"login":"gr\u00e5ce","id":8},"repo":{"name":"ada/x","id":9},"payload":{},"public":true,"created_at":"2024-01-01T00:00:01Z","org":{"id":3}}"#,
    r#"{"id":"3","type":"PushEvent","actor":null,"repo":{"name":"q\"/x"},"payload":{"size":2},"public":false,"created_at":"2024-01-01T00:00:02Z"}"#,
];
const TABLE: &str =
    "event_id text NOT NULL, event_type text NOT NULL, actor_id bigint, actor_login text, repo_id bigint,
    repo_name text, created_at timestamptz NOT NULL, is_public boolean NOT NULL, payload jsonb NOT NULL";
const MAP: [(&str, &str); 7] = [
    ("id", "event_id"),
    ("type", "event_type"),
    ("actor.id", "actor_id"),
    ("actor.login", "actor_login"),
    ("repo.id", "repo_id"),
    ("repo.name", "repo_name"),
    ("public", "is_public"),
];
const ROWS: &str = "1|PushEvent|7|ada|9|ada/x|t|{\"size\": 1}\n2|ForkEvent|8|gråce|9|ada/x|t|{}\n\
    3|PushEvent||||q\"/x|f|{\"size\": 2}";
const SHOWN: &str =
    "SELECT event_id, event_type, actor_id, actor_login, repo_id, repo_name, is_public, payload
    FROM github_events ORDER BY event_id";

fn columns(database: &Database, table: &str) -> String {
    database.sql(&format!(
        "SELECT string_agg(attname || ':' || format_type(atttypid, atttypmod), ' ' ORDER BY attnum) FROM pg_attribute
          WHERE attrelid = '{table}'::regclass AND attnum > 0"
    ))
}

#[test]
fn events_load_into_their_table_in_every_form_and_by_every_write_path() {
    let database = Database::new();
    database.sql(&format!("CREATE TABLE github_events ({TABLE})"));
    let pretty = EVENTS.map(|event| event.replace(",\"", ",\n\"")).join("\n");
    for (text, jobs) in [
        (EVENTS.join("\n") + "\n", 1),
        (EVENTS.join("\r\n"), 2),
        (format!("[{}]", EVENTS.join(",\n")), 1),
        (pretty, 2),
    ] {
        database.sql("TRUNCATE github_events");
        let file = database.file("events.json", text);
        let wanted = options(&file, "github_events").map(MAP).skip_columns(["org"]).jobs(jobs);
        let report = load(&database, &wanted);
        assert_eq!(database.sql(SHOWN), ROWS);
        let plan = report.plan.unwrap();
        let of_path = plan.columns.iter().find(|column| column.target == "actor_id").unwrap();
        assert_eq!(of_path.source, "actor.id");
    }
    let file = database.file("events.json", EVENTS.join("\n"));
    for path in WritePath::ALL.into_iter().filter(|path| *path != WritePath::CopyCsv) {
        database.sql("TRUNCATE github_events");
        load(&database, &options(&file, "github_events").map(MAP).skip_columns(["org"]).write_path(path));
        assert_eq!(database.sql(SHOWN), ROWS, "{path:?}");
    }
    let dry = options(&file, "github_events").map(MAP).skip_columns(["org"]).dry_run(true);
    assert_eq!(load(&database, &dry).rows_read, 3);
}

#[test]
fn a_new_table_has_columns_for_paths_where_they_appear_with_the_types_of_their_values() {
    let database = Database::new();
    let file = database.file("events.ndjson", EVENTS.join("\n"));
    for jobs in [1, 2] {
        let name = format!("made{jobs}");
        load(&database, &options(&file, &name).map(MAP).key(["event_id"]).jobs(jobs));
        assert_eq!(
            columns(&database, &name),
            "event_id:text event_type:text actor_id:bigint actor_login:text repo_id:bigint repo_name:text \
             payload:jsonb is_public:boolean created_at:timestamp with time zone org:jsonb"
        );
        assert_eq!(
            database.sql(&format!("SELECT actor_login, org FROM {name} WHERE event_id = '2'")),
            "gråce|{\"id\": 3}"
        );
    }
    // A key that is named is loaded beside its paths.
    let both = [("actor", "actor"), ("payload", "p"), ("actor.id", "actor_id"), ("payload.size", "size")];
    load(&database, &options(&file, "both").map(both).skip_columns(["type", "repo", "public", "org"]));
    assert_eq!(
        columns(&database, "both"),
        "id:text actor:jsonb actor_id:bigint p:jsonb size:bigint created_at:timestamp with time zone"
    );
    // Keys that are named: of paths only these, and in that order.
    let some = options(&file, "some").map([("actor.id", "who")]).column_list(["actor.id", "id"]);
    load(&database, &some);
    assert_eq!(columns(&database, "some"), "who:bigint id:text");
    let unnamed = options(&file, "t").map([("actor.id", "who")]).column_list(["id"]);
    let error = try_load(&database, &unnamed).unwrap_err();
    assert_eq!(error.message(), "map names \"actor.id\", which is not among the keys", "{error:?}");
}

#[test]
fn a_key_that_paths_go_through_is_loaded_where_it_has_a_column_or_a_name() {
    let database = Database::new();
    let line = r#"{"id":1,"repo":{"name":"x"},"actor":{"id":2}}"#;
    let file = database.file("t.ndjson", format!("{line}\n"));
    let map = [("repo.name", "repo"), ("actor.id", "actor_id")];
    // The column repo is taken by a path; actor has none.
    database.sql("CREATE TABLE a (id int, repo text, actor_id int)");
    load(&database, &options(&file, "a").map(map));
    assert_eq!(database.sql("TABLE a"), "1|x|2");
    // actor has a column.
    database.sql("CREATE TABLE b (id int, repo text, actor_id int, actor jsonb)");
    load(&database, &options(&file, "b").map(map));
    assert_eq!(database.sql("TABLE b"), "1|x|2|{\"id\": 2}");
    // It is skipped.
    load(&database, &options(&file, "b").map(map).skip_columns(["actor"]));
    assert_eq!(database.sql("SELECT count(*) FROM b WHERE actor IS NULL AND actor_id = 2"), "1");
    // Keys that are named.
    database.sql("TRUNCATE b");
    load(&database, &options(&file, "b").map([map[1]]).column_list(["actor.id", "actor"]));
    assert_eq!(database.sql("TABLE b"), "||2|{\"id\": 2}");
    // A new table's column is named like the key, too.
    load(&database, &options(&file, "c").map(map));
    assert_eq!(columns(&database, "c"), "id:bigint repo:text actor_id:bigint");
    // A key that is no path's is a stranger, as ever.
    let error = try_load(&database, &options(&file, "a").map([map[0]])).unwrap_err();
    assert_eq!(error.message(), "\"actor\" is not a column of public.a", "{error:?}");
}

#[test]
fn a_key_of_that_very_name_goes_before_a_path_and_both_are_said() {
    let database = Database::new();
    let file = database.file("t.ndjson", "{\"a.b\":1,\"x\":0}\n{\"a.b\":2,\"x\":0}\n");
    let (report, notices) = try_load(&database, &options(&file, "key").map([("a.b", "c")])).unwrap();
    assert_eq!((database.sql("SELECT c FROM key ORDER BY c"), report.rows), ("1\n2".to_owned(), 2));
    assert!(notices.iter().all(|notice| !notice.contains("path")), "{notices:?}");
    let file = database.file("t.ndjson", "{\"a\":{\"b\":3},\"x\":0}\n{\"a.b\":2,\"x\":0}\n");
    let (_, notices) = try_load(&database, &options(&file, "two").map([("a.b", "c")])).unwrap();
    assert_eq!(database.sql("SELECT a, c FROM two ORDER BY c"), "|2\n{\"b\": 3}|");
    assert!(
        notices.iter().any(|notice| notice.contains("taken for the key")
            && notice.contains(r#"["\"a\".\"b\""]=COLUMN takes the path"#)),
        "{notices:?}"
    );
    let quoted = options(&file, "quoted").map([("\"a\".b", "c")]).skip_columns(["a.b"]);
    load(&database, &quoted);
    assert_eq!(database.sql("SELECT c FROM quoted WHERE c IS NOT NULL"), "3");
    // The key turns up where the path was taken already.
    database.sql("CREATE TABLE late (c int)");
    let lines = "{\"a\":{\"b\":3}}\n".repeat(60_000) + "{\"a.b\":2}\n";
    let file = database.file("long.ndjson", lines);
    let error = try_load(&database, &options(&file, "late").map([("a.b", "c")])).unwrap_err();
    assert_eq!(
        (error.message(), error.location().unwrap().line),
        ("key \"a.b\" is spelled like a path that is loaded", Some(60_001))
    );
}

#[test]
fn a_key_with_a_dot_is_a_key_beside_a_scalar_of_its_first_part() {
    let database = Database::new();
    let map = [("status.code", "code")];
    database.sql("CREATE TABLE t (status jsonb, code int)");
    let lines = ["{\"status\":\"ok\",\"status.code\":200}", "{\"status\":[1]}", "{\"status\":{\"code\":1}}"];
    for order in [[0, 1, 2], [1, 2, 0], [2, 1, 0]] {
        let file = database.file("t.ndjson", order.map(|at| lines[at]).join("\n"));
        for on_error in [OnError::Stop, OnError::Ignore] {
            for table in ["t", "made"] {
                load(&database, &options(&file, table).map(map).on_error(on_error));
                let sql = format!("SELECT status, code FROM {table} ORDER BY status::text");
                assert_eq!(database.sql(&sql), "\"ok\"|200\n[1]|\n{\"code\": 1}|", "{order:?} {table}");
                database.sql("TRUNCATE t; DROP TABLE IF EXISTS made");
            }
        }
    }
    assert_eq!(database.sql("SELECT to_regclass('made')"), "");
    // Where it is a path, what blocks it makes bad records, of which no key is a column.
    let lines = "{\"status\":[1],\"ghost\":1}\n{\"status\":{\"code\":7}}\n";
    let file = database.file("t.ndjson", lines);
    let rejects = database.path("bad.rejects.jsonl");
    let tolerant = |file: &str, table: &str| {
        let wanted = options(file, table).map(map).on_error(OnError::Ignore);
        wanted.rejects(rejects.clone()).overwrite_rejects(true)
    };
    assert_eq!(load(&database, &tolerant(&file, "made")).rows_rejected, 1);
    assert_eq!(columns(&database, "made"), "code:bigint");
    // None is left: the error is that of the first.
    let file = database.file("t.ndjson", lines.lines().next().unwrap());
    let error = try_load(&database, &tolerant(&file, "none")).unwrap_err();
    assert_eq!(error.sqlstate(), Some("2203A"), "{error:?}");
}

#[test]
fn a_corrected_reject_file_keeps_what_was_a_key_and_what_a_path() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, a jsonb, c int)");
    let again = |lines: &str, from: &str, to: &str| {
        let file = database.file("t.ndjson", lines);
        let rejects = database.path("bad.rejects.jsonl");
        let wanted = options(&file, "t").map([("a.b", "c")]).on_error(OnError::Ignore);
        load(&database, &wanted.rejects(rejects.clone()).overwrite_rejects(true));
        let text = std::fs::read_to_string(&rejects).unwrap();
        std::fs::write(&rejects, text.replace(from, to)).unwrap();
        try_load(&database, &LoadOptions::new(rejects.as_str()))
    };
    // A key, although the one record that is left has only what could be a path.
    again("{\"id\":1,\"a.b\":2}\n{\"id\":\"x\",\"a\":{\"b\":3}}\n", "\\\"x\\\"", "5").unwrap();
    assert_eq!(database.sql("TABLE t"), "1||2\n5|{\"b\": 3}|");
    // A path, although what is left has a key of that name.
    let lines = "{\"id\":6,\"a\":{\"b\":7}}\n{\"id\":\"x\",\"a\":{\"b\":8}}\n";
    let error = again(lines, "{\\\"id\\\":\\\"x\\\",", "{\\\"a.b\\\":9,").unwrap_err();
    assert_eq!(error.sqlstate(), Some("42702"), "{error:?}");
}

#[test]
fn a_path_that_leads_nowhere_is_said_and_one_into_what_has_no_keys_is_a_bad_record() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, c text)");
    let map = [("a.b", "c")];
    let file = database
        .file("t.ndjson", "{\"id\":1,\"a\":{\"b\":\"x\"}}\n{\"id\":2,\"a\":[{\"b\":1}]}\n{\"id\":3}\n");
    for table in ["t", "made"] {
        let error = try_load(&database, &options(&file, table).map(map)).unwrap_err();
        assert_eq!(
            (error.message(), error.sqlstate(), error.location().unwrap().line),
            ("the path a.b leads into an array: \"a\" has no keys", Some("2203A"), Some(2)),
            "{error:?}"
        );
        let rejects = database.path("bad.rejects.jsonl");
        let tolerant = options(&file, table).map(map).on_error(OnError::Ignore).rejects(rejects.clone());
        let report = load(&database, &tolerant);
        assert_eq!((report.rows, report.rows_rejected), (2, 1), "{table}");
        assert_eq!(database.sql(&format!("SELECT * FROM {table} ORDER BY 1")), "1|x\n3|", "{table}");
        // The corrected file says itself what goes where, also where nothing is at the path.
        let text = std::fs::read_to_string(&rejects).unwrap();
        std::fs::write(&rejects, text.replace("[{\\\"b\\\":1}]", "null")).unwrap();
        let (report, notices) = try_load(&database, &LoadOptions::new(rejects.as_str())).unwrap();
        assert_eq!(report.rows, 1, "{table}");
        assert!(notices.iter().all(|notice| !notice.contains("NULL until")), "{notices:?}");
        assert_eq!(database.sql(&format!("SELECT * FROM {table} WHERE id = 2")), "2|", "{table}");
        std::fs::remove_file(rejects).unwrap();
    }
    let typo =
        try_load(&database, &options(&file, "t").map([("a.x", "c")]).on_error(OnError::Ignore)).unwrap_err();
    assert_eq!(
        (typo.kind(), typo.message()),
        (
            ErrorKind::Usage,
            "map names \"a.x\", which is no key, and no path at whose end a record has something"
        )
    );
}

#[test]
fn a_pipe_takes_paths_that_its_beginning_has_not_and_says_so() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, who text, kept text)");
    let pipe = database.path("events.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let lines = "{\"id\":1}\n".repeat(100_000) + "{\"id\":2,\"org\":{\"login\":\"x\"}}\n";
            std::fs::write(pipe, lines).unwrap();
        }
    });
    let (report, notices) = try_load(&database, &options(&pipe, "t").map([("org.login", "who")])).unwrap();
    writer.join().unwrap();
    assert_eq!(report.rows, 100_001);
    assert_eq!(database.sql("SELECT id, who FROM t WHERE who IS NOT NULL"), "2|x");
    assert!(notices.iter().any(|notice| notice.contains("has \"org.login\": NULL until")), "{notices:?}");
}

#[test]
fn a_key_that_a_path_goes_through_is_not_lost_where_it_comes_late() {
    let database = Database::new();
    for org in ["org jsonb NOT NULL DEFAULT '{}'", "\"Org\" jsonb DEFAULT '{}'"] {
        database.sql(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t (id int, who text, {org})"));
        let pipe = database.path("events.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let lines = "{\"id\":1}\n".repeat(100_000) + "{\"id\":2,\"org\":{\"login\":\"x\"}}\n";
                std::fs::write(pipe, lines).unwrap();
            }
        });
        let error = try_load(&database, &options(&pipe, "t").map([("org.login", "who")])).unwrap_err();
        writer.join().unwrap();
        assert_eq!(
            (error.message(), error.location().unwrap().line),
            ("unknown key \"org\"", Some(100_001)),
            "{org}: {error:?}"
        );
        std::fs::remove_file(&pipe).unwrap();
    }
}

#[test]
fn a_name_is_mapped_once() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, x int, y int)");
    let map =
        |from: &str, other: &str| [(from.to_owned(), "x".to_owned()), (other.to_owned(), "y".to_owned())];
    let csv = database.file("t.csv", "id\n1\n");
    let json = database.file("t.ndjson", "{\"id\":1,\"a\":{\"b\":2}}\n");
    for (file, from, other) in
        [(&csv, "id", "id"), (&csv, "id", "1"), (&csv, "1", "id"), (&json, "id", "id"), (&json, "a.b", "a.b")]
    {
        for table in ["t", "made"] {
            let header = if *file == json { HeaderOption::Auto } else { HeaderOption::Yes };
            let wanted = options(file, table).map(map(from, other)).header(header);
            let error = try_load(&database, &wanted).unwrap_err();
            assert!(
                error.message().contains(&format!("map maps {other:?} twice")),
                "{table} {from}: {error:?}"
            );
        }
    }
    assert_eq!(database.sql("SELECT count(*), to_regclass('made') FROM t"), "0|");
}

/// JSON of objects whose keys are few, so that paths meet what they look for, and what they do not.
fn value(random: &mut Rng, depth: u64) -> String {
    let scalars = ["null", "1", "-2.50", "true", "\"s\"", "\"q\\\"\\u00e9\"", "\"\"", "{}", "[]"];
    if depth == 0 || random.once_in(3) {
        return random.one_of(&scalars).to_owned();
    }
    if random.once_in(8) {
        return format!("[{}, {}]", value(random, depth - 1), value(random, depth - 1));
    }
    object(random, depth, "")
}

/// An object that begins with `first`.
fn object(random: &mut Rng, depth: u64, first: &str) -> String {
    let keys = ["a", "b", "\\u0061", "c.d", "q\\\"", "other"];
    let mut members: Vec<String> = Vec::from_iter((!first.is_empty()).then(|| first.to_owned()));
    for _ in 0..random.within(1..5) {
        members.push(format!("\"{}\" :{}", random.one_of(&keys), value(random, depth - 1)));
    }
    format!("{{{}}}", members.join(", "))
}

#[test]
fn what_paths_find_is_what_the_server_finds() {
    const PATHS: [(&str, &str); 6] = [
        ("a.b", "{a,b}"),
        ("a.a.b", "{a,a,b}"),
        ("\"c.d\".a", "{c.d,a}"),
        ("b.\"c.d\"", "{b,c.d}"),
        ("b.\"q\"\"\".a", "{b,\"q\\\"\",a}"),
        ("a.b.other", "{a,b,other}"),
    ];
    let database = Database::new();
    database.sql(
        "CREATE TABLE ours (n int, c0 jsonb, c1 jsonb, c2 jsonb, c3 jsonb, c4 jsonb, c5 jsonb, t0 text);
        CREATE TABLE lines (line jsonb)",
    );
    let mut random = Rng::new(18);
    let lines: Vec<String> = (0..4000).map(|n| object(&mut random, 4, &format!("\"n\": {n}"))).collect();
    let file = database.file("lines.ndjson", lines.join("\n") + "\n");
    let mut map: Vec<(String, String)> =
        PATHS.iter().enumerate().map(|(at, (path, _))| ((*path).to_owned(), format!("c{at}"))).collect();
    // The same path twice, once as text.
    map.push(("\"a\".b".to_owned(), "t0".to_owned()));
    let wanted = map.iter().map(|(path, _)| path.clone()).chain(["n".to_owned()]);
    let wanted = options(&file, "ours")
        .column_list(wanted)
        .map(map.clone())
        .on_error(OnError::Ignore)
        .rejects(database.path("refused.jsonl"))
        .jobs(2);
    let report = load(&database, &wanted);
    assert!(report.rows > 1000 && report.rows_rejected > 100, "{report:?}");
    database.sql(&format!("\\copy lines FROM '{file}' (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02')"));
    let found = |path: &str| format!("nullif(line #> '{path}', 'null')");
    let differ =
        PATHS.iter().enumerate().map(|(at, (_, path))| format!("c{at} IS DISTINCT FROM {}", found(path)));
    let differ = differ.collect::<Vec<_>>().join(" OR ");
    let text = "CASE WHEN jsonb_typeof(c0) IN ('array', 'object') THEN t0::jsonb IS DISTINCT FROM c0
                ELSE t0 IS DISTINCT FROM line #>> '{a,b}' END";
    assert_eq!(
        database.sql(&format!(
            "SELECT n, line FROM ours JOIN lines ON (line ->> 'n')::int = n WHERE {differ} OR {text} LIMIT 3"
        )),
        ""
    );
    // What was refused has an array or a scalar on the way.
    let on_the_way = ["{a}", "{a,a}", "{c.d}", "{b}", "{b,\"q\\\"\"}", "{a,b}"];
    let astray = on_the_way
        .map(|path| format!("coalesce(jsonb_typeof(line #> '{path}'), 'null') NOT IN ('null', 'object')"));
    assert_eq!(
        database.sql(&format!(
            "SELECT count(*) FILTER (WHERE n IS NULL), count(*) FILTER (WHERE (n IS NULL) <> ({}))
               FROM lines LEFT JOIN ours ON (line ->> 'n')::int = n",
            astray.join(" OR ")
        )),
        format!("{}|0", report.rows_rejected)
    );
}
