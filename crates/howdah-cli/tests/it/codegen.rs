//! `howdah codegen` as a person and a script see it: exit codes, streams, messages, files.

mod command;
mod init;
mod template;
mod watch;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use howdah_testkit::require::missing;
use howdah_testkit::secrets::Guarded;
use howdah_testkit::waiting::until;
use howdah_testkit::{Database, OwnServer};
use serde_json::Value;
use tempfile::TempDir;

const CONFIG: &str = "version: 1\nname: shop\nsql:\n  - files: [shop.sql]\n    gen:\n      \
                      - generator: python/postgres\n        output: generated/\n";

/// A project in a folder of its own.
fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn codegen(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    command.arg("codegen").args(args).current_dir(folder).stdin(Stdio::null());
    // Nobody listens there: no code is generated from the server of somebody's surroundings.
    command.env("PGHOST", "127.0.0.1").env("PGPORT", "1");
    for name in ["SQG_POSTGRES_URL", "HOWDAH_CODEGEN_URL", "PGDATABASE", "PGSERVICE", "PGOPTIONS"] {
        command.env_remove(name);
    }
    command.guarded_output()
}

fn out(done: &Output) -> &str {
    std::str::from_utf8(&done.stdout).unwrap()
}

fn said(done: &Output) -> &str {
    std::str::from_utf8(&done.stderr).unwrap()
}

#[test]
fn the_syntax_that_is_printed_can_be_checked() {
    let folder = project(&[("howdah.yaml", CONFIG)]);
    let syntax = codegen(folder.path(), &["syntax"]);
    assert_eq!(syntax.status.code(), Some(0));
    std::fs::write(folder.path().join("shop.sql"), &syntax.stdout).unwrap();
    let done = codegen(folder.path(), &["check"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!((out(&done), said(&done)), ("", "7 blocks of 1 file checked\n"));
    let done = codegen(folder.path(), &["check", "--execute"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let ran = "7 blocks of 1 file checked\n4 statements ran in 11 texts, 2 gave rows\n";
    let text = said(&done);
    assert!(text.starts_with("server: PostgreSQL ") && text.ends_with(ran), "{text}");
}

#[test]
fn statements_that_run_contradict_what_is_said_of_them() {
    let sql = "-- MIGRATE 1\nCREATE TABLE users (id bigint PRIMARY KEY, email text, boss bigint REFERENCES users);\n\
               -- TESTDATA some\nINSERT INTO users VALUES (1, NULL, NULL), (2, 'b@example.org', 1);\n\n\
               /* QUERY emails\n   result: {email: not null} */\nSELECT id, email FROM users\n WHERE id > 1 --? later\n;\n\n\
               -- QUERY bosses\nSELECT u.id, b.email FROM users u LEFT JOIN users b ON u.boss = b.id;\n\n\
               -- QUERY divided\n@set by = 0\nSELECT id / ${by} AS x FROM users;\n\n\
               -- EXEC hire\n@set id = 2\nINSERT INTO users (id) VALUES (${id});\n\n\
               -- EXEC forget\nTRUNCATE users;\n\n-- QUERY all_of_them :one\nSELECT count(*) FROM users;\n";
    let folder = project(&[("howdah.yaml", CONFIG), ("shop.sql", sql)]);
    let done = codegen(folder.path(), &["check"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let done = codegen(folder.path(), &["check", "--execute"]);
    assert_eq!((done.status.code(), out(&done)), (Some(1), ""), "{}", said(&done));
    let text = said(&done);
    for told in [
        "shop.sql:7:13: error[NULL_RETURNED]: `email` is called not null (`result` in the header says so) \
         and came back null, without `later`",
        "shop.sql:17:1: error[SQL_EXECUTION_ERROR]: division by zero",
        "shop.sql:21:1: warning[SQL_EXECUTION_ERROR]: duplicate key value violates",
    ] {
        assert!(text.contains(told), "{told}\n{text}");
    }
    let done = codegen(folder.path(), &["check", "--execute", "--format", "json"]);
    let json: Value = serde_json::from_str(out(&done)).unwrap();
    assert_eq!((&json["errors"], &json["messages"][0]["code"]), (&2.into(), &"NULL_RETURNED".into()));

    // What an EXEC did is taken back before the next statement runs.
    let right = sql.replace("email: not null", "email: text").replace("@set by = 0", "@set by = 2");
    std::fs::write(folder.path().join("shop.sql"), right.replace("@set id = 2", "@set id = 3")).unwrap();
    let done = codegen(folder.path(), &["check", "--execute"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(said(&done).ends_with("6 statements ran in 7 texts, 4 gave rows\n"), "{}", said(&done));
}

#[test]
fn a_statement_that_ends_its_transaction_is_told_by_its_name() {
    let sql = "-- EXEC leave\nCOMMIT;\n\n-- QUERY q\nSELECT 1 AS a;\n";
    let folder = project(&[("howdah.yaml", CONFIG), ("shop.sql", sql)]);
    let done = codegen(folder.path(), &["check", "--execute"]);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    let told = "shop.sql:1:9: error[SQL_EXECUTION_ERROR]: it ends the transaction in which it is tried";
    assert!(said(&done).contains(told), "{}", said(&done));
}

/// How many scratch databases there are.
const SCRATCH: &str = "SELECT count(*) FROM pg_database WHERE datname ~ '^howdah_codegen_[0-9a-f]{16}$'";

#[test]
fn a_killed_run_leaves_a_scratch_database_that_the_next_removes() {
    let server = OwnServer::start();
    let conninfo = server.conninfo();
    let folder = project(&[
        ("shop.sql", "-- MIGRATE 1\nSELECT pg_sleep(600);\n"),
        ("a.sql", "-- QUERY q\nSELECT 1;\n"),
    ]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    command.args(["codegen", "explain", "--file", "shop.sql", "-d", &conninfo]).current_dir(folder.path());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let asleep = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND state = 'active' AND pid <> pg_backend_pid()";
    until("the step runs", || server.sql(asleep) == "1");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(server.sql(SCRATCH), "1");
    // The server notices by itself that its client is gone.
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname ~ '^howdah_codegen_'";
    until("its session ends", || server.sql(sessions) == "0");
    let done = codegen(folder.path(), &["explain", "--file", "a.sql", "-d", &conninfo]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(server.sql(SCRATCH), "0");
}

#[test]
fn a_check_says_what_is_wrong_as_people_and_programs_want_it() {
    let sql = "-- QUERY users :on\nSELECT 1 WHERE ${a};\n";
    let folder = project(&[("howdah.yaml", CONFIG), ("shop.sql", sql)]);
    let here = folder.path();
    for args in [&["check"][..], &["check", "."], &["check", "howdah.yaml"], &["check", "--config", "."]] {
        let done = codegen(here, args);
        assert_eq!(done.status.code(), Some(1), "{args:?}");
        assert_eq!(out(&done), "");
        let text = said(&done);
        assert!(
            text.contains("shop.sql:1:16: error[INVALID_MODIFIER]: there is no modifier `:on`"),
            "{text}"
        );
        assert!(text.contains("shop.sql:2:16: error[MISSING_VARIABLE]"), "{text}");
    }
    let done = codegen(here, &["check", "--format", "json"]);
    assert_eq!((done.status.code(), said(&done)), (Some(1), ""));
    let json: Value = serde_json::from_str(out(&done)).unwrap();
    assert_eq!((&json["errors"], &json["messages"][0]["context"]["line"]), (&2.into(), &1.into()));
    let done = codegen(here, &["check", "--format", "github"]);
    assert_eq!(out(&done).lines().filter(|line| line.starts_with("::error file=")).count(), 2);
    // Seen from elsewhere, files are named so that they are found.
    let done = codegen(Path::new("/"), &["check", here.to_str().unwrap()]);
    assert!(said(&done).starts_with(&format!("{}/shop.sql:1:16: ", here.display())), "{}", said(&done));
}

#[test]
fn a_project_of_options_is_checked_too() {
    let folder = project(&[("a.sql", "-- QUERY one\nSELECT 1;\n"), ("b.sql", "-- EXEC one\nSELECT 1;\n")]);
    let given = |more: &[&str]| codegen(folder.path(), &[&["check", "--file", "a.sql"], more].concat());
    let done = given(&["--generator", "python/postgres"]);
    assert_eq!((done.status.code(), said(&done)), (Some(0), "1 block of 1 file checked\n"));
    let done = given(&["--generator", "python/postgres", "--file", "b.sql"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(said(&done).contains("b.sql:1:9: error[DUPLICATE_QUERY]"), "{}", said(&done));
    let done = given(&["--generator", "pyhton/postgres"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(said(&done).contains("perhaps you meant `python/postgres`"), "{}", said(&done));
    // An option alone would be passed over.
    for alone in [&[][..], &["--generator", "python/postgres", "--config", "."]] {
        assert_eq!(given(alone).status.code(), Some(2), "{alone:?}");
    }
}

#[test]
fn no_configuration_is_said_with_what_was_looked_for() {
    let folder = project(&[]);
    let done = codegen(folder.path(), &["check"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        said(&done)
            .starts_with("error[FILE_NOT_FOUND]: there is no howdah.yaml or sqg.yaml in this folder\n"),
        "{}",
        said(&done)
    );
    let done = codegen(folder.path(), &["check", "nowhere", "--format", "json"]);
    assert_eq!(done.status.code(), Some(2));
    let json: Value = serde_json::from_str(out(&done)).unwrap();
    assert_eq!(json["messages"][0]["message"], "there is no `nowhere`");
}

const SHOP: &str = include_str!("../../../howdah-codegen/tests/it/fixtures/project/shop.sql");

#[test]
fn generated_code_is_written_once_and_imports() {
    let folder = project(&[("howdah.yaml", CONFIG), ("shop.sql", SHOP)]);
    let here = folder.path();
    let done = codegen(here, &["generate", "--check"]);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    assert!(said(&done).contains("error[STALE_OUTPUT]: `generated/shop.py` is not there"), "{}", said(&done));
    assert!(!here.join("generated").exists(), "a check writes nothing");

    let done = codegen(here, &["generate"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let text = said(&done);
    assert!(text.starts_with("server: PostgreSQL ") && text.contains(", throwaway\n"), "{text}");
    assert!(text.ends_with("\n5 files written, 0 unchanged\n"), "{text}");
    let golden = include_str!("../../../howdah-codegen/tests/it/snapshots/it__projects__project_python.snap");
    let (_, golden) = golden.trim_start_matches("---\n").split_once("---\n").unwrap();
    let module = here.join("generated/shop.py");
    assert_eq!(std::fs::read_to_string(&module).unwrap().trim_end(), golden.trim_end());

    let written = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let before = written(&module);
    let done = codegen(here, &["generate"]);
    assert!(said(&done).ends_with("\n0 files written, 5 unchanged\n"), "{}", said(&done));
    assert_eq!(written(&module), before);
    let done = codegen(here, &["generate", "--check"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));

    std::fs::write(&module, "# Generated by another version.\nimport os\n").unwrap();
    let done = codegen(here, &["generate", "--check", "--format", "json"]);
    assert_eq!(done.status.code(), Some(1));
    let json: Value = serde_json::from_str(out(&done)).unwrap();
    assert_eq!(json["messages"][0]["code"], "STALE_OUTPUT");
    assert_eq!(codegen(here, &["generate"]).status.code(), Some(0));

    let changed = std::fs::read_to_string(&module).unwrap().replace("mood", "m\u{1b}[2Jood");
    std::fs::write(&module, changed).unwrap();
    let done = codegen(here, &["generate", "--check"]);
    assert_eq!(done.status.code(), Some(1));
    let diff = out(&done);
    assert!(diff.starts_with("--- generated/shop.py\n+++ generated/shop.py (generated now)\n@@ -"), "{diff}");
    assert!(diff.contains("\n-") && diff.contains("m\\u{1b}[2Jood") && diff.contains("\n+"), "{diff}");
    assert_eq!(codegen(here, &["generate"]).status.code(), Some(0));

    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    if !python.exists() {
        return missing("python", "there is no .venv with psycopg here");
    }
    let imported = Command::new(python)
        .args(["-B", "-c", "import shop; print(shop.Mood.HAPPY.value, shop.Shop.user_by_id.__doc__)"])
        .current_dir(here.join("generated"))
        .guarded_output();
    assert!(imported.status.success(), "{}", said(&imported));
    assert!(out(&imported).starts_with("happy One user by key."), "{}", out(&imported));
}

#[test]
fn a_database_that_is_named_describes_too_and_is_left_as_it_was() {
    let database = Database::new();
    let folder = project(&[("howdah.yaml", CONFIG), ("shop.sql", SHOP)]);
    let conninfo = database.conninfo();
    let done = codegen(folder.path(), &["explain", "user_by_id", "-d", &conninfo]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(said(&done).contains(", in a scratch database\n"), "{}", said(&done));
    let lines = out(&done).lines().collect::<Vec<_>>();
    assert_eq!(
        lines[..4],
        [
            "QUERY user_by_id   shop.sql:16",
            "  parameters",
            "    id  bigint  not null  nothing tells it to be null",
            "  columns"
        ]
    );
    let done = codegen(folder.path(), &["explain", "nobody", "-d", &conninfo]);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        said(&done)
            .contains("there are user_by_id, users_of_mood, names, find_users, shout, rename_user, users"),
        "{}",
        said(&done)
    );
    let done = codegen(folder.path(), &["generate", "--emit", "model", "-d", &conninfo]);
    let model: Value = serde_json::from_str(out(&done)).unwrap();
    assert_eq!((&model["model"], &model["project"]), (&1.into(), &"shop".into()));
    assert!(!folder.path().join("generated").exists());
    assert_eq!(database.sql("SELECT to_regclass('users') IS NULL"), "t");

    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    command.args(["codegen", "explain", "names"]).current_dir(folder.path()).stdin(Stdio::null());
    let done = command.env_remove("HOWDAH_CODEGEN_URL").env("SQG_POSTGRES_URL", &conninfo).guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(said(&done).lines().next().unwrap().ends_with(", from SQG_POSTGRES_URL"), "{}", said(&done));
    command
        .env("HOWDAH_CODEGEN_URL", &conninfo)
        .env("SQG_POSTGRES_URL", "dbname=nothing host=127.0.0.1 port=1");
    let done = command.guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(said(&done).lines().next().unwrap().ends_with(", from HOWDAH_CODEGEN_URL"), "{}", said(&done));

    let done = codegen(folder.path(), &["generate", "-d", "x", "-h", "127.0.0.1", "-p", "1"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(said(&done).contains("error[DATABASE_ERROR]"), "{}", said(&done));
    let done = codegen(folder.path(), &["generate", "-d", "hots=x", "--format", "json"]);
    assert_eq!(done.status.code(), Some(2));
    let json: Value = serde_json::from_str(out(&done)).unwrap();
    assert_eq!((&json["errors"], &json["messages"][0]["code"]), (&1.into(), &"DATABASE_ERROR".into()));
}

#[test]
fn names_of_a_database_cannot_write_on_the_terminal() {
    let database = Database::new();
    let folder = project(&[("a.sql", "-- QUERY q\nSELECT 1 AS \"\u{1b}[2J\u{202e}\";\n")]);
    let done = codegen(folder.path(), &["explain", "--file", "a.sql", "-d", &database.conninfo()]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(out(&done).contains("\\u{1b}[2J\\u{202e}  integer"), "{}", out(&done));
}

#[test]
fn code_is_not_written_over_what_is_read() {
    for output in ["shop.sql", "./shop.sql", "generated/../shop.sql", "howdah.yaml"] {
        let config = CONFIG.replace("output: generated/", &format!("output: {output}"));
        let folder = project(&[("howdah.yaml", &config), ("shop.sql", SHOP)]);
        std::fs::create_dir(folder.path().join("generated")).unwrap();
        let done = codegen(folder.path(), &["generate"]);
        assert_eq!(done.status.code(), Some(1), "{output}: {}", said(&done));
        assert!(said(&done).contains("is what is read: it would be lost"), "{output}: {}", said(&done));
        assert_eq!(std::fs::read_to_string(folder.path().join("shop.sql")).unwrap(), SHOP);
        assert_eq!(std::fs::read_to_string(folder.path().join("howdah.yaml")).unwrap(), config);
    }
}

#[test]
fn code_is_not_written_over_what_people_wrote() {
    let folder = project(&[("howdah.yaml", CONFIG), ("shop.sql", SHOP)]);
    let here = folder.path();
    std::fs::create_dir(here.join("generated")).unwrap();
    for name in ["shop.py", "howdah_psycopg.py"] {
        let path = here.join("generated").join(name);
        std::fs::write(&path, "print('mine')\n").unwrap();
        for args in [&["generate"][..], &["generate", "--check"]] {
            let done = codegen(here, args);
            assert_eq!(done.status.code(), Some(1), "{name}: {}", said(&done));
            let text = format!(
                "howdah.yaml:6:20: error[FOREIGN_FILE]: `generated/{name}` is there and does not say"
            );
            assert!(said(&done).contains(&text), "{name}: {}", said(&done));
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "print('mine')\n");
        // A file without anything in it is nobody's work.
        std::fs::write(&path, "\n").unwrap();
    }
    assert_eq!(codegen(here, &["generate"]).status.code(), Some(0));
}

#[test]
fn what_a_generator_cannot_do_is_refused_by_name() {
    for (generator, config, text) in [
        ("go/postgres", "observer: true", "`observer` is not for `go/postgres/pgx`"),
        ("rust/postgres", "observer: true", "`observer` is not for `rust/postgres/tokio-postgres`"),
        ("java/postgres", "timestamps: string", "`timestamps` is not for `java/postgres/jdbc`"),
        ("java/postgres", "runtime: howdah", "`runtime` is not for `java/postgres/jdbc`"),
        ("typescript/postgres", "runtime: howdah", "`runtime` is not for `typescript/postgres/pg`"),
        ("go/postgres", "runtime: howdah", "`runtime` is not for `go/postgres/pgx`"),
    ] {
        let config =
            CONFIG.replace("python/postgres", generator) + &format!("        config: {{{config}}}\n");
        let folder = project(&[("howdah.yaml", &config), ("shop.sql", SHOP)]);
        for action in ["generate", "check"] {
            let done = codegen(folder.path(), &[action]);
            assert_eq!(done.status.code(), Some(1), "{action}: {generator}");
            let start = format!("howdah.yaml:6:20: error[NOT_SUPPORTED]: {text}");
            assert!(said(&done).starts_with(&start), "{action}: {}", said(&done));
        }
    }
}

/// Each generator, and a word that its code has of a module called "Store".
const NAMED: [(&str, &str); 5] = [
    ("python/postgres", "class Store"),
    ("java/postgres", "class Store"),
    ("typescript/postgres", "class Store"),
    ("go/postgres", "package store"),
    ("rust/postgres", "pub async fn "),
];

#[test]
fn every_generator_gives_the_code_the_name_that_it_is_told() {
    for (generator, word) in NAMED {
        let config = CONFIG.replace("python/postgres", generator) + "        name: Store\n";
        let folder = project(&[("howdah.yaml", &config), ("shop.sql", SHOP)]);
        let done = codegen(folder.path(), &["generate"]);
        assert_eq!(done.status.code(), Some(0), "{generator}: {}", said(&done));
        let written = std::fs::read_dir(folder.path().join("generated")).unwrap();
        let written = written.map(|file| file.unwrap().path()).collect::<Vec<_>>();
        let is_store = |path: &&std::path::PathBuf| {
            path.file_stem().unwrap().to_string_lossy().to_lowercase().starts_with("store")
        };
        let named = written.iter().find(is_store).unwrap_or_else(|| panic!("{generator}: {written:?}"));
        let code = std::fs::read_to_string(named).unwrap();
        assert!(code.contains(word), "{generator}: {code}");
        let done = codegen(folder.path(), &["generate", "--check"]);
        assert_eq!(done.status.code(), Some(0), "{generator}: {}", said(&done));

        // Without a configuration, on standard output.
        let arguments = ["generate", "--generator", generator, "--file", "shop.sql", "--name", "Store"];
        let done = codegen(folder.path(), &arguments);
        assert_eq!(done.status.code(), Some(0), "{generator}: {}", said(&done));
        assert!(out(&done).contains(word), "{generator}: {}", out(&done));
    }
}

#[test]
fn a_type_that_rust_cannot_read_is_told_where_it_is_read() {
    let config = CONFIG.replace("python/postgres", "rust/postgres");
    let sql = "-- MIGRATE 1\nCREATE TABLE hosts (ip inet NOT NULL);\n\n-- TABLE hosts :appender\n\n\
               -- QUERY all_hosts\nSELECT * FROM hosts;\n";
    let folder = project(&[("howdah.yaml", &config), ("shop.sql", sql)]);
    let done = codegen(folder.path(), &["generate"]);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    let told = "shop.sql:6:1: error[TYPE_MAPPING_ERROR]: the column \"ip\" of all_hosts";
    assert!(said(&done).contains(told), "{}", said(&done));
}

#[test]
fn steps_make_extensions_although_they_run_without_rights() {
    let sql = "-- MIGRATE 1\nCREATE EXTENSION IF NOT EXISTS citext;\nCREATE TABLE people (email citext NOT NULL);\n\n\
               -- QUERY emails :pluck\nSELECT email FROM people;\n";
    let folder = project(&[("howdah.yaml", CONFIG), ("shop.sql", sql)]);
    let done = codegen(folder.path(), &["explain", "emails"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(out(&done).contains("email  public.citext  not null"), "{}", out(&done));
}

#[test]
fn an_observer_is_asked_for_in_the_configuration() {
    let config = format!("{CONFIG}        config: {{observer: true}}\n");
    let folder = project(&[("howdah.yaml", &config), ("shop.sql", SHOP)]);
    let done = codegen(folder.path(), &["generate"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(folder.path().join("generated/howdah_observer.py").exists());
}
