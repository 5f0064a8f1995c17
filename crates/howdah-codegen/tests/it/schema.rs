//! The schema from other tools' files: what each tool makes, what would undo it does not run, and what is refused is told
//! where it stands.

use std::path::Path;
use std::process::Command;

use howdah_codegen::check::check;
use howdah_codegen::config::Config;
use howdah_codegen::model::Model;
use howdah_codegen::project::{ProjectError, ServerChoice, model};
use howdah_connect::Target;
use howdah_testkit::Database;
use tempfile::TempDir;

const QUERY: &str = "-- QUERY q\nSELECT a, b FROM t;\n";

/// A project in a folder of its own.
fn project(schema: &str, sql: &str, files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let config = format!(
        "version: 1\nname: shop\nschema: {schema}\nsql:\n  - files: [q.sql]\n    gen:\n      \
         - {{generator: python/postgres, output: generated/}}\n"
    );
    for (name, text) in [("howdah.yaml", config.as_str()), ("q.sql", sql)].iter().chain(files) {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

/// Its model and what is said of its schema, or its messages.
fn described(folder: &Path, place: &ServerChoice) -> Result<(Model, String), String> {
    let shown = |text: String| text.replace(&format!("{}/", folder.display()), "");
    let config = Config::read(&folder.join("howdah.yaml")).map_err(|wrong| shown(wrong.text()))?;
    let checked = check(&config).map_err(|wrong| shown(wrong.text()))?;
    match model(&config, &checked, place, &mut |_| {}) {
        Ok((model, _)) => Ok((model, checked.schema.said.join("\n"))),
        Err(failure) => {
            let kind = if matches!(failure, ProjectError::Server(_)) { "server: " } else { "" };
            Err(shown(format!("{kind}{}", failure.diagnostics().text())))
        }
    }
}

/// The messages' first lines.
fn heads(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.contains("error[") || line.contains("warning[")).collect()
}

fn server(database: &Database) -> ServerChoice {
    ServerChoice::Server(Box::new(Target::new(database.conninfo()).expect("a target")))
}

/// A folder's files, and what is said of them.
type Folder<'a> = (&'a [(&'a str, &'a str)], &'a str);

const NUMBERED: [Folder<'_>; 8] = [
    (
        &[
            ("m/00009_t.sql", "-- +goose Up\nCREATE TABLE t (a int);\n-- +goose Down\nDROP TABLE t;\n"),
            (
                "m/00010_b.sql",
                "-- +goose Up\n-- +goose StatementBegin\nDO $$ BEGIN\n  ALTER TABLE t ADD b text NOT NULL;\nEND $$;\n\
                 -- +goose StatementEnd\n-- +goose down\nALTER TABLE t DROP b;\n",
            ),
            (
                "m/00011_i.sql",
                "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY ON t (a);\n\n\
                 -- +goose Down\nDROP TABLE t;\n",
            ),
            ("m/notes.sql", "DROP TABLE t;\n"),
        ],
        "m/ read as goose: 3 steps; passed over: notes.sql",
    ),
    (
        &[
            (
                "m/1_t.sql",
                "-- migrate:up\r\nCREATE TABLE t (a int);\r\n\r\n-- migrate:down\r\nDROP TABLE t;\r\n",
            ),
            (
                "m/2_b.sql",
                "-- migrate:up transaction:false\nALTER TABLE t ADD b text NOT NULL;\nCREATE INDEX CONCURRENTLY ON t \
                 (a);\n-- migrate:down\nDROP TABLE t;\n",
            ),
        ],
        "m/ read as dbmate: 2 steps",
    ),
    (
        &[
            (
                "m/9_t.up.sql",
                "BEGIN;\nCREATE TABLE t (a int);\nALTER TABLE t ADD b text NOT NULL;\nCOMMIT;\n",
            ),
            ("m/9_t.down.sql", "DROP TABLE t;\n"),
            ("m/10_i.up.sql", "CREATE INDEX CONCURRENTLY ON t (a);\n"),
            ("m/10_i.down.sql", "DROP TABLE t;\n"),
        ],
        "m/ read as golang-migrate: 2 steps; not run: 2 of BEGIN and COMMIT",
    ),
    (
        &[
            ("m/9-t.sql", "-- +migrate Up\nCREATE TABLE t (a int);\n-- +migrate Down\nDROP TABLE t;\n"),
            (
                "m/10-b.sql",
                "-- +migrate Down\nDROP TABLE t;\n-- +migrate Up notransaction\nALTER TABLE t ADD b text NOT NULL;\n\
                 CREATE INDEX CONCURRENTLY ON t (a);\n",
            ),
        ],
        "m/ read as sql-migrate: 2 steps",
    ),
    (
        &[
            ("m/001_t.sql", "CREATE TABLE t (a int);\n---- create above / drop below ----\nDROP TABLE t;\n"),
            (
                "m/002_b.sql",
                "---- tern: disable-tx ----\nALTER TABLE t ADD b text NOT NULL;\nVACUUM t;\n\
                 ---- create above / drop below ----\nDROP TABLE t;\n",
            ),
        ],
        "m/ read as tern: 2 steps",
    ),
    (
        &[
            ("m/10_t.sql", "CREATE TABLE t (a int);\n"),
            ("m/20_b.sql", "-- atlas:txmode none\n\nALTER TABLE t ADD b text NOT NULL;\nVACUUM t;\n"),
            ("m/atlas.sum", "h1:x\n"),
        ],
        "m/ read as atlas: 2 steps",
    ),
    (
        &[
            ("m/1_t.sql", "CREATE TABLE t (a int);\nALTER TABLE t ADD b text NOT NULL;\n"),
            ("m/2_i.sql", "-- no-transaction\nCREATE INDEX CONCURRENTLY ON t (a);\n"),
        ],
        "m/ read as sqlx: 2 steps",
    ),
    (
        &[(
            "m/a.sql",
            "--liquibase formatted sql\n--changeset ann:1\nCREATE TABLE t (a int);\n--rollback DROP TABLE t;\n\
                 --changeset ann:2 dbms:oracle\nDROP TABLE t;\n--changeset ann:1 logicalFilePath:old.sql\nALTER TABLE t ADD \
                 c int;\n--changeset ann:1 context:test\nALTER TABLE t ADD d int;\n--changeset bob:3 \
                 runInTransaction:false\n\
                 ALTER TABLE t ADD b text NOT NULL;\nVACUUM t;\n/* liquibase rollback\nDROP TABLE t;\n*/\n",
        )],
        "m/ read as liquibase: 4 steps",
    ),
];

#[test]
fn folders_of_every_tool_are_run_forwards_only() {
    let flyway: Folder<'_> = (
        &[
            ("m/V1__t.sql", "CREATE TABLE t (a int);\n"),
            (
                "m/sub/V1_2__b.sql",
                "ALTER TABLE t ADD b text NOT NULL;\nGRANT SELECT ON t TO nobody_has_this_name;\n",
            ),
            ("m/V10__i.sql", "CREATE INDEX CONCURRENTLY ON t (a);\n"),
            ("m/V9__w.sql", "VACUUM t;\nSELECT '${x}';\n"),
            ("m/V9__w.sql.conf", "executeInTransaction=false\nplaceholderReplacement = false\n"),
            ("m/R__v.sql", "CREATE OR REPLACE VIEW v AS SELECT b FROM t; -- ${a comment}\n"),
            ("m/U1__t.sql", "DROP TABLE t;\n"),
            ("m/afterMigrate.sql", "DROP TABLE t;\n"),
        ],
        "m/ read as flyway: 5 steps; passed over: afterMigrate.sql; not run: 1 of owners and rights",
    );
    for (files, expected) in NUMBERED.iter().chain([&flyway]) {
        let folder = project("[m/]", QUERY, files);
        let (model, said) =
            described(folder.path(), &ServerChoice::Throwaway).unwrap_or_else(|text| panic!("{text}"));
        assert_eq!(said, *expected);
        let columns = &model.modules[0].statements[0].columns;
        assert_eq!((columns[0].nullable, columns[1].nullable), (true, false), "{expected}");
        assert!(model.modules[0].migrations.is_empty(), "theirs are no steps of ours");
    }
}

#[test]
fn what_is_unclear_asks_for_the_tool_and_takes_it() {
    let files = [("m/10_b.sql", "ALTER TABLE t ADD b text;\n"), ("m/2_t.sql", "CREATE TABLE t (a int);\n")];
    let folder = project("[m]", QUERY, &files);
    let text = described(folder.path(), &ServerChoice::Throwaway).unwrap_err();
    assert_eq!(
        heads(&text),
        [
            "howdah.yaml:3:10: error[CONFIG_VALIDATION_ERROR]: the order of these files by name is not that of their numbers"
        ]
    );
    assert!(text.contains("schema: [{path: …, tool: goose}]"), "{text}");
    let folder = project("[m/a.dump]", QUERY, &[("m/a.dump", "PGDMP\u{1}\0")]);
    let text = described(folder.path(), &ServerChoice::Throwaway).unwrap_err();
    assert!(
        text.contains("howdah.yaml:3:10: error[NOT_SUPPORTED]: `m/a.dump` is an archive of pg_dump"),
        "{text}"
    );
    let folder = project("[{path: m, tool: sqlx}]", QUERY, &files);
    let (_, said) = described(folder.path(), &ServerChoice::Throwaway).unwrap();
    assert_eq!(said, "m read as sqlx: 2 steps");
    // Files that are named are read in that order.
    let folder = project("[m/2_t.sql, m/10_b.sql]", QUERY, &files);
    assert!(described(folder.path(), &ServerChoice::Throwaway).is_ok());
}

#[test]
fn errors_of_a_step_are_told_in_its_file() {
    let files = [
        ("m/1_t.sql", "-- +goose Up\nCREATE TABLE t (a int);\n"),
        ("m/2_b.sql", "-- +goose Up\nSELECT 'é';\nALTER TABLE t\n  ADD b txet;\n-- +goose Down\nx;\n"),
    ];
    let folder = project("[m/]", QUERY, &files);
    let text = described(folder.path(), &ServerChoice::Throwaway).unwrap_err();
    assert_eq!(
        heads(&text),
        ["m/2_b.sql:4:9: error[SQL_EXECUTION_ERROR]: type \"txet\" does not exist (42704)"]
    );
    assert!(text.contains("(goose 2_b.sql)"), "{text}");
}

#[test]
fn what_reaches_further_than_a_database_is_refused_where_it_stands() {
    let touched = tempfile::tempdir().unwrap();
    let touch = touched.path().join("x").display().to_string();
    let dump = "--\n-- PostgreSQL database dump\n--\n\n";
    let cases = [
        (format!("SELECT 1;\n  \\! touch {touch}\n"), "2:3: error[PSQL_COMMAND]: `\\!` is a command"),
        (format!("{dump}\\! touch {touch}\n"), "5:1: error[PSQL_COMMAND]: `\\!` is a command"),
        (format!("\\copy pg_class to '{touch}'\n"), "1:1: error[PSQL_COMMAND]: `\\copy` is a command"),
        ("SELECT 1\\gexec\n".to_owned(), "1:9: error[PSQL_COMMAND]: `\\gexec` is a command"),
        (format!("{dump}\\i other.sql\n"), "5:1: error[PSQL_COMMAND]: `\\i` is a command"),
        (
            format!("{dump}\n\nCOPY pg_class TO PROGRAM 'touch {touch}';\n"),
            "7:1: error[NOT_SUPPORTED]: a step has no COPY",
        ),
        (format!("COPY (SELECT 1) TO '{touch}';\n"), "1:1: error[NOT_SUPPORTED]: a step has no COPY"),
        (
            "SELECT pg_read_file('/etc/passwd');\n".to_owned(),
            "1:1: error[SQL_EXECUTION_ERROR]: permission denied",
        ),
        ("ROLLBACK;\n".to_owned(), "1:1: error[NOT_SUPPORTED]: a step has no ROLLBACK"),
        (
            "\n COPY t FROM stdin;\n1\n2\n".to_owned(),
            "2:2: error[SQL_PARSE_ERROR]: the rows of this COPY have no end",
        ),
        ("SELECT 1;\nSELECT 'a;\n".to_owned(), "2:8: error[SQL_PARSE_ERROR]: this string has no end"),
        (
            format!("{dump}SET client_encoding = 'LATIN1';\n"),
            "5:23: error[NOT_SUPPORTED]: the dump is in 'LATIN1'",
        ),
    ];
    for (text, expected) in cases {
        let folder = project("[s.sql]", "-- QUERY q\nSELECT 1;\n", &[("s.sql", &text)]);
        let told = described(folder.path(), &ServerChoice::Throwaway).unwrap_err();
        let heads = heads(&told);
        assert!(heads.len() == 1 && heads[0].starts_with(&format!("s.sql:{expected}")), "{text}: {told}");
    }
    assert_eq!(std::fs::read_dir(touched.path()).unwrap().count(), 0);
}

#[test]
fn what_a_tool_does_elsewhere_is_refused_by_name() {
    let cases: [(&str, &str, &str); 10] = [
        (
            "m/V1__a.sql",
            "SELECT 1;\nSELECT '${who}';\n",
            "m/V1__a.sql:2:9: error[NOT_SUPPORTED]: nobody gives the placeholder `${who}`",
        ),
        (
            "m/1_a.sql",
            "-- +goose Up\n-- +goose ENVSUB ON\nSELECT ${A};\n",
            "m/1_a.sql:2:1: error[NOT_SUPPORTED]: goose's ENVSUB",
        ),
        (
            "m/1_a.sql",
            "SELECT 1;\n-- +goose Up\nSELECT 2;\n",
            "m/1_a.sql:1:1: error[SQL_PARSE_ERROR]: there is SQL above",
        ),
        (
            "m/1_a.sql",
            "SELECT {{.x}};\n---- create above / drop below ----\n",
            "m/1_a.sql:1:8: error[NOT_SUPPORTED]: tern's templates",
        ),
        (
            "m/a.sql",
            "--liquibase formatted sql\n--changeset a:1\n--preconditions onFail:MARK_RAN\nSELECT 1;\n",
            "m/a.sql:3:1: error[NOT_SUPPORTED]: preconditions",
        ),
        (
            "m/a.sql",
            "--liquibase formatted sql\n--changeset a:1 endDelimiter:/\nSELECT 1/\n",
            "m/a.sql:2:1: error[NOT_SUPPORTED]: another endDelimiter",
        ),
        (
            "m/a.sql",
            "--liquibase formatted sql\n--changeset a:1 dbms:h2\nSELECT 0;\n--changeset a:1\nSELECT 1;\n--changeset \
             b:1\nSELECT 2;\n--changeset a:1\nSELECT 3;\n",
            "m/a.sql:8:1: error[SQL_PARSE_ERROR]: the changeset `a:1` is there already, in line 4",
        ),
        (
            "m/a.xml",
            "<databaseChangeLog/>\n",
            "howdah.yaml:3:10: error[NOT_SUPPORTED]: `a.xml` is a changelog of Liquibase's in XML",
        ),
        (
            "m/a.yaml",
            "databaseChangeLog:\n",
            "howdah.yaml:3:10: error[NOT_SUPPORTED]: `a.yaml` is a changelog of Liquibase's in YAML",
        ),
        ("n/a.sql", "", "howdah.yaml:3:10: error[FILE_NOT_FOUND]: `m/` cannot be read"),
    ];
    for (name, text, expected) in cases {
        let folder = project("[m/]", "-- QUERY q\nSELECT 1;\n", &[(name, text)]);
        let told = described(folder.path(), &ServerChoice::Throwaway).unwrap_err();
        assert!(heads(&told).iter().any(|head| head.starts_with(expected)), "{expected}: {told}");
    }
}

/// What dumps have, and what throwaway servers do not.
const SHOP: &str = r#"
    CREATE ROLE "{name} owner"; CREATE ROLE "{name} reader";
    CREATE SCHEMA app; CREATE TYPE app.mood AS ENUM ('glad', 'it''s; sad');
    CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b text NOT NULL, c app.mood, d numeric(5,2)[]);
    INSERT INTO t (b) VALUES (E'a;''b\\.\nc\t'), ('-- x'), (E'\\.');
    CREATE VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b;
    CREATE FUNCTION f(a int) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT b FROM t WHERE t.a = f.a; END;
    CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS $x$ BEGIN RETURN new; -- ; '
      END $x$;
    CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION g();
    ALTER TABLE t OWNER TO "{name} owner"; GRANT SELECT ON t TO "{name} reader";
    ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t TO "{name} reader" USING (true);
    CREATE PUBLICATION everything FOR ALL TABLES;
    COMMENT ON TABLE t IS 'a; comment';
"#;

const SHOP_QUERIES: &str = "-- QUERY q\n@set a = 1\nSELECT t.*, v.n, f(a) AS f FROM t JOIN v USING (b) WHERE t.a = ${a};\n\
                            -- TABLE t :appender\n";

#[test]
fn a_dump_describes_what_its_database_is() {
    let database = Database::new();
    database.sql(&SHOP.replace("{name}", database.name()));
    let there = project("database", SHOP_QUERIES, &[]);
    let (expected, said) = described(there.path(), &server(&database)).unwrap();
    assert_eq!((said.as_str(), expected.modules[0].statements[0].columns.len()), ("", 6));
    for args in [&[][..], &["--inserts"], &["--schema-only"], &["--create", "--clean", "--if-exists"]] {
        let out = Command::new(database.bin_dir().join("pg_dump"))
            .args(args)
            .args(["-d", &database.conninfo()])
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let dump = String::from_utf8(out.stdout).unwrap();
        assert!(
            dump.contains("\\restrict ") && dump.contains("OWNER TO") && dump.contains("GRANT "),
            "{dump}"
        );
        let folder = project("[dump.sql]", SHOP_QUERIES, &[("dump.sql", &dump)]);
        let (found, said) =
            described(folder.path(), &ServerChoice::Throwaway).unwrap_or_else(|text| panic!("{text}"));
        assert!(said.starts_with("dump.sql read as pg_dump: 1 step; not run: "), "{said}");
        assert_eq!(said.contains("with rows"), args != ["--schema-only"], "{said}");
        assert_eq!(found, expected, "{args:?}");
    }
    let name = database.name();
    database.sql(&format!(
        "DROP OWNED BY \"{name} owner\", \"{name} reader\" CASCADE; DROP ROLE \"{name} owner\", \"{name} reader\""
    ));
}

#[test]
fn a_dump_of_an_extension_says_nothing_that_is_the_superusers() {
    let dump = "--\n-- PostgreSQL database dump\n--\nSELECT pg_catalog.set_config('search_path', '', false);\n\
                CREATE EXTENSION IF NOT EXISTS plpgsql WITH SCHEMA pg_catalog;\nCOMMENT ON EXTENSION plpgsql IS 'x';\n\
                CREATE TABLE public.t (a integer, b text);\n";
    let folder = project("[dump.sql]", QUERY, &[("dump.sql", dump)]);
    let (_, said) =
        described(folder.path(), &ServerChoice::Throwaway).unwrap_or_else(|text| panic!("{text}"));
    assert_eq!(said, "dump.sql read as pg_dump: 1 step; not run: 1 for a superuser");
}

#[test]
fn settings_of_a_step_end_with_it() {
    let database = Database::new();
    database.sql("CREATE TABLE public.mine (a int)");
    let step = "SET search_path = '';\nSET lock_timeout = 0;\nSET LOCAL statement_timeout = 1;\n\
                CREATE TABLE public.t (a int, b text);\n";
    let check = |wait: &str| {
        format!(
            "-- BASELINE z\nDO $$ BEGIN IF current_setting('lock_timeout') <> '{wait}' OR \
             current_setting('search_path') = '\"\"' THEN RAISE 'leaked %', current_setting('lock_timeout'); END IF; \
             END $$;\n-- MIGRATE 1\nALTER TABLE t ADD c int;\n-- TESTDATA x\nINSERT INTO t (c) VALUES (1);\n{QUERY}"
        )
    };
    for (place, wait) in [(ServerChoice::Throwaway, "0"), (server(&database), "2s")] {
        let folder = project("[s.sql]", &check(wait), &[("s.sql", step)]);
        let (model, said) = described(folder.path(), &place).unwrap_or_else(|text| panic!("{text}"));
        assert_eq!(said, "s.sql read as plain: 1 step; not run: 2 with settings of the session");
        assert_eq!(model.modules[0].migrations.len(), 1);
    }
}

#[test]
fn what_is_there_is_described_and_left_as_it_was() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int NOT NULL, b text)");
    let sql = format!("-- MIGRATE 1\nALTER TABLE t ADD c int;\n{QUERY}-- QUERY added\nSELECT c FROM t;\n");
    let folder = project("database", &sql, &[]);
    let (model, _) = described(folder.path(), &server(&database)).unwrap_or_else(|text| panic!("{text}"));
    assert!(!model.modules[0].statements[0].columns[0].nullable);
    assert_eq!(
        database.sql("SELECT count(*) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0"),
        "2"
    );
    let text = described(folder.path(), &ServerChoice::Throwaway).unwrap_err();
    assert!(
        text.starts_with("server: ") && text.contains("describes a database, and none is named"),
        "{text}"
    );
    let alone = format!("-- MIGRATE 1 :no_transaction\nVACUUM;\n{QUERY}");
    let folder = project("database", &alone, &[]);
    let text = described(folder.path(), &server(&database)).unwrap_err();
    assert!(text.contains("q.sql:1:12: error[NOT_SUPPORTED]: a step without a transaction"), "{text}");
}

mod laws {
    use howdah_codegen::config::Tool;
    use howdah_codegen::schema::read;
    use howdah_codegen::source::Piece;
    use proptest::prelude::*;

    /// What files are made of, and what breaks them.
    fn bits() -> impl Strategy<Value = String> {
        let bit = prop_oneof![
            8 => prop::sample::select(vec![
                "-- +goose Up\n", "-- +goose Down\r\n", "-- migrate:up\n", "-- migrate:down\n", "-- +migrate Up\n",
                "---- create above / drop below ----\n", "--liquibase formatted sql\n", "--changeset a:1\n",
                "-- PostgreSQL database dump\n", "COPY t FROM stdin;\n", "\\.\n", "\\restrict x\n", "\\! x\n", "'", "\"",
                "E'", "\\", "$$", "/*", "*/", "--", "\n", "\r", " ", ";", "(", ")", "select ", "insert ", "grant ",
                "${x}", "日本", "\u{feff}", "\u{a0}", "-- QUERY a\n", "create function f() begin atomic", " end ",
            ]).prop_map(str::to_owned),
            1 => any::<String>(),
        ];
        prop::collection::vec(bit, 0..40).prop_map(|bits| bits.concat())
    }

    /// What stands at a place, from there on.
    fn at(text: &str, line: usize, column: usize) -> &str {
        let mut rest = text;
        for _ in 1..line {
            let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let length = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
            rest = rest.get(end + length..).unwrap_or_default();
        }
        rest.char_indices().nth(column - 1).map_or("", |(offset, _)| &rest[offset..])
    }

    /// How a tool's file looks that makes something and undoes it.
    fn wrapped(tool: Tool, up: &str, down: &str) -> String {
        match tool {
            Tool::Goose => format!("-- +goose Up\n{up}\n-- +goose Down\n{down}\n"),
            Tool::Dbmate => format!("-- migrate:up\n{up}\n-- migrate:down\n{down}\n"),
            Tool::SqlMigrate => format!("-- +migrate Down\n{down}\n-- +migrate Up\n{up}\n"),
            Tool::Tern => format!("{up}\n---- create above / drop below ----\n{down}\n"),
            Tool::Liquibase => {
                format!("--liquibase formatted sql\n--changeset a:1\n{up}\n--changeset a:2 dbms:h2\n{down}\n")
            }
            _ => up.to_owned(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: ProptestConfig::default().cases.max(1000),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn whatever_a_file_says_its_pieces_are_where_they_say(
            text in bits(), tool in prop::sample::select(Tool::ALL),
        ) {
            let reading = read(tool, "a.sql", &text);
            for statement in reading.steps.iter().flat_map(|step| &step.statements) {
                prop_assert!(!statement.is_empty());
                for piece in statement {
                    let Piece::Text { text: sql, place } = piece else {
                        return Err(TestCaseError::fail("a variable"));
                    };
                    prop_assert!(at(&text, place.line, place.column).starts_with(sql.as_str()), "{piece:?}");
                    // Other blanks than these are parts of names.
                    prop_assert!(!sql.trim_ascii().is_empty());
                }
            }
            for wrong in &reading.wrong {
                prop_assert!(wrong.place.as_ref().is_some_and(|place| place.line >= 1 && place.column >= 1));
            }
        }

        #[test]
        fn statements_that_are_joined_come_apart_again_without_those_that_undo_them(
            statements in prop::collection::vec(prop::sample::select(vec![
                "SELECT 1", "INSERT INTO t VALUES ('a;b', $$;$$)", "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)",
                "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END",
                "SELECT 1 /* ; /* ; */ ; */ + 1", "SELECT \";\" -- ;\n FROM t", "SELECT '\\.'",
            ]), 1..6),
            gap in prop::sample::select(vec![
                ";", " ;\n", ";\n-- comment; here\n", ";;\n/* ; */", ";\n\\restrict x;y'\n",
                ";\nCOPY t FROM stdin;\n'\t\\N\t$$\n-- +x\n\\.\n", ";\nGRANT ALL ON t TO a;", ";BEGIN;",
            ]),
            tool in prop::sample::select(Tool::ALL),
        ) {
            prop_assume!(tool != Tool::PgDump);
            let text = wrapped(tool, &format!("{}{gap}", statements.join(gap)), "DROP TABLE undone;");
            let reading = read(tool, "a.sql", &text);
            prop_assert!(reading.wrong.is_empty(), "{:?}", reading.wrong);
            let apart = reading.steps.iter().flat_map(|step| &step.statements).map(|pieces| match &pieces[..] {
                [Piece::Text { text, .. }] => text.clone(),
                other => format!("{other:?}"),
            });
            prop_assert_eq!(apart.collect::<Vec<_>>(), statements);
        }
    }
}
