//! Projects as servers describe them: models, messages with their places, and that nothing stays.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use howdah_codegen::check::check;
use howdah_codegen::config::{Config, Direct};
use howdah_codegen::model::{Model, Role};
use howdah_codegen::project::program::ProgramHost;
use howdah_codegen::project::{ProjectError, ServerChoice, explain, model, output};
use howdah_connect::Target;
use howdah_testkit::Database;

/// What projects without a program need around them.
struct Nothing;

impl ProgramHost for Nothing {
    fn environment(&self) -> Vec<(OsString, OsString)> {
        Vec::new()
    }

    fn begins(&mut self, _: &[String]) {}

    fn said(&mut self, _: &str) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

/// Describes a file's SQL; its messages as text, if it is wrong.
fn described(sql: &str, place: &ServerChoice) -> Result<(Model, String), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("a.sql");
    std::fs::write(&path, sql).map_err(|error| error.to_string())?;
    let files = vec![path.to_string_lossy().into_owned()];
    let direct = Direct { generator: "python/postgres".into(), files, ..Direct::default() };
    let config = Config::direct(direct).map_err(|wrong| wrong.text())?;
    let checked = check(&config).map_err(|wrong| wrong.text())?;
    let shown = |text: String| text.replace(&folder.path().to_string_lossy().into_owned(), "");
    match model(&config, &checked, place, &mut |_| {}) {
        Ok((model, told)) => Ok((model, shown(told.text()))),
        Err(failure) => {
            let kind = if matches!(failure, ProjectError::Server(_)) { "server: " } else { "" };
            Err(shown(format!("{kind}{}", failure.diagnostics().text())))
        }
    }
}

fn server(database: &Database) -> Result<ServerChoice, String> {
    Target::new(database.conninfo())
        .map(|target| ServerChoice::Server(Box::new(target)))
        .map_err(|error| error.to_string())
}

/// Held by tests that count databases or make them: they share a server.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The messages' first lines.
fn heads(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.contains("error[") || line.contains("warning[")).collect()
}

#[test]
fn a_project_becomes_a_model_and_code() -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/project");
    let config = Config::read(&folder.join("howdah.yaml")).map_err(|wrong| wrong.text())?;
    let checked = check(&config).map_err(|wrong| wrong.text())?;
    let mut named = String::new();
    let (model, told) =
        model(&config, &checked, &ServerChoice::Throwaway, &mut |server| server.clone_into(&mut named))
            .map_err(|failure| failure.diagnostics().text())?;
    assert_eq!(told.text(), "");
    assert!(named.starts_with("PostgreSQL ") && named.ends_with(", throwaway"), "{named}");
    let texts = explain::names(&model).into_iter().filter_map(|name| explain::explain(&model, name));
    insta::assert_snapshot!("project_explained", texts.collect::<Vec<_>>().join("\n"));
    let planned =
        output::plan(&config, &checked, &model, &mut Nothing).map_err(|errors| format!("{errors:?}"))?;
    let module = planned.files.iter().find(|(path, _)| path.ends_with("generated/shop.py"));
    insta::assert_snapshot!("project_python", module.map(|(_, text)| text.as_str()).unwrap_or_default());
    Ok(())
}

/// The TypeScript of a table with a moment, by a howdah.yaml with a `config`.
fn typescript_of(config: &str) -> Result<String, String> {
    let sql = "-- MIGRATE 1\nCREATE TABLE t (at timestamptz);\n\n-- QUERY moments\nSELECT at FROM t;\n";
    code_of("typescript/postgres", sql, config, "shop.ts")
}

/// The module's file of a howdah.yaml with a `config`.
pub(crate) fn code_of(generator: &str, sql: &str, config: &str, file: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).map_err(|error| error.to_string())
    };
    write("shop.sql", sql)?;
    let output = format!("{{generator: {generator}, output: out/, config: {{{config}}}}}");
    write(
        "howdah.yaml",
        &format!("version: 1\nname: shop\nsql:\n  - files: [shop.sql]\n    gen: [{output}]\n"),
    )?;
    let config = Config::read(&folder.path().join("howdah.yaml")).map_err(|wrong| wrong.text())?;
    if let Some(refused) = output::unsupported(&config).first() {
        return Err(refused.message.clone());
    }
    let checked = check(&config).map_err(|wrong| wrong.text())?;
    let (model, _) = model(&config, &checked, &ServerChoice::Throwaway, &mut |_| {})
        .map_err(|failure| failure.diagnostics().text())?;
    let planned =
        output::plan(&config, &checked, &model, &mut Nothing).map_err(|errors| format!("{errors:?}"))?;
    let module = planned.files.into_iter().find(|(path, _)| path.ends_with(file));
    module.map(|(_, text)| text).ok_or_else(|| format!("no {file}"))
}

#[test]
fn timestamps_of_a_howdah_yaml_change_nothing_in_typescript() -> Result<(), String> {
    for (config, ty) in [("", "Date"), ("timestamps: date", "Date"), ("timestamps: string", "string")] {
        let text = typescript_of(config)?;
        assert!(text.contains(&format!("  at: {ty} | null;")), "{config}: {text}");
    }
    let refused = typescript_of("timestamps: moment").err().unwrap_or_default();
    assert!(refused.contains("`timestamps` is neither `date` nor `string`"), "{refused}");
    Ok(())
}

#[test]
fn a_type_of_the_users_stands_where_its_column_or_type_does() -> Result<(), String> {
    let types = "types: {t.id: {type: Id, import: from app import Id, decode: 'Id({})', encode: '{}.n'}, \
                 \"text[]\": {type: Words}, name: {type: Name, decode: 'Name({})'}}";
    insta::assert_snapshot!("types_python", python_of(types)?);
    for (wrong, said) in [
        ("t.ids: {type: A}", "no type and no column `t.ids` in what is generated here"),
        ("numric: {type: A}", "perhaps you meant `numeric`"),
        ("t.i: {type: A}", "perhaps you meant `t.id`"),
        ("int8: {type: A}, bigint: {type: B}", "`bigint` is what `int8` is already"),
        ("a.b.c.d: {type: A}", "`a.b.c.d` is no name of a type or a column"),
        ("int8: {typ: A}", "perhaps you meant `type`"),
        ("int8: {import: a}", "`type` of `int8` of `types` is missing"),
        ("int8: {type: A, decode: A}", "`decode` has no `{}`"),
        ("int8: {type: \"A\\nB\"}", "`type` is one line of code"),
    ] {
        let told = python_of(&format!("types: {{{wrong}}}")).err().unwrap_or_default();
        assert!(told.contains(said), "{wrong}: {told}");
    }
    Ok(())
}

/// The Python of a table's columns, of a project with `config`.
fn python_of(config: &str) -> Result<String, String> {
    let sql = "-- MIGRATE 1\nCREATE TABLE t (id bigint PRIMARY KEY, name varchar(9), words text[], n bigint);\n\n-- QUERY \
               one :one\n@set id = 1\n@set n = 2\nSELECT * FROM t WHERE id = ${id} AND n + 1 > ${n};\n-- EXEC \
               rename\n@set id = 1\n@set name = 'a'\nUPDATE t SET name = ${name}, n = n + ${id} WHERE id = \
               ${id};\n-- QUERY below :pluck\n@set id = 1\nSELECT n FROM t WHERE EXISTS (SELECT FROM t u WHERE u.n = \
               t.n AND t.id < ${id});\n-- QUERY both :pluck\n@set id = 1\nSELECT id FROM t WHERE id = ${id} OR n = \
               ${id};\n-- TABLE t :appender\n";
    code_of("python/postgres", sql, config, "shop.py")
}

#[test]
fn a_language_says_which_types_of_the_users_it_refuses() {
    let told = |generator: &str, entry: &str| {
        let sql = "-- QUERY one\nSELECT 1::numeric AS n;\n";
        code_of(generator, sql, &format!("types: {{numeric: {entry}}}"), "").expect_err("it is refused")
    };
    let java = told("java/postgres", "{type: Cents, decode: 'new Cents({})'}");
    assert!(java.contains("`numeric` of `types` needs `decode` and `encode`"), "{java}");
}

#[test]
fn a_writer_is_there_where_howdahs_own_client_is() -> Result<(), String> {
    let sql = "-- MIGRATE 1\nCREATE TABLE t (a int);\n-- TABLE t :appender :writer\n";
    let told =
        |generator: &str, config: &str| code_of(generator, sql, config, "").expect_err("it is refused");
    for (generator, config, message, help) in [
        ("java/postgres", "", "`:writer` is not for `java/postgres/jdbc`", "write rows by `:appender` there"),
        ("go/postgres", "", "`:writer` is not for `go/postgres/pgx`", "write rows by `:appender` there"),
        (
            "rust/postgres",
            "",
            "`:writer` needs howdah's own client",
            "write `config: {runtime: howdah}` below `generator: rust/postgres/tokio-postgres`",
        ),
        (
            "python/postgres",
            "migrations: true",
            "`:writer` needs howdah's own client",
            "config: {runtime: howdah}",
        ),
    ] {
        let text = told(generator, config);
        let head = format!("shop.sql:3:22: error[NOT_SUPPORTED]: {message}");
        assert!(text.contains(&head) && text.contains(help), "{text}");
    }
    let java = told("java/postgres", "runtime: howdah");
    assert_eq!(java, "`runtime` is not for `java/postgres/jdbc`");
    let wrong = told("rust/postgres", "runtime: tokio");
    assert!(wrong.contains("there is no runtime `tokio`"), "{wrong}");
    let rust = code_of("rust/postgres", sql, "runtime: howdah", "shop.rs")?;
    assert!(rust.contains("pub async fn t_writer("), "{rust}");
    let python = code_of("python/postgres", sql, "runtime: howdah", "shop.py")?;
    assert!(python.contains("def create_t_writer("), "{python}");
    Ok(())
}

#[test]
fn what_the_server_says_is_told_where_it_is_meant() {
    let sql = "-- MIGRATE 1\nCREATE TABLE t (a int, b text);\n\n-- QUERY one\n@set b = 'é'\nSELECT 'é', ${b}::text,\n  \
               aa FROM t;\n-- QUERY two\nSELECT b FROM u;\n-- QUERY none\nCREATE TABLE x (a int);\n-- QUERY both \
               :pluck\nSELECT a, b FROM t;\n-- TABLE tt\n-- TABLE t :appender(a, c)\n/* QUERY over\n result: {bb: \
               not null} */\nSELECT b FROM t;\n";
    let text = described(sql, &ServerChoice::Throwaway).expect_err("it is wrong");
    assert_eq!(
        heads(&text),
        [
            "/a.sql:7:3: error[SQL_EXECUTION_ERROR]: column \"aa\" does not exist (42703)",
            "/a.sql:9:15: error[SQL_EXECUTION_ERROR]: relation \"u\" does not exist (42P01)",
            "/a.sql:10:10: error[VALIDATION_ERROR]: this statement returns no rows",
            "/a.sql:12:10: error[VALIDATION_ERROR]: `:pluck` takes the only column, and there are 2",
            "/a.sql:14:10: error[UNKNOWN_TABLE]: there is no table `tt`",
            "/a.sql:15:12: error[INVALID_MODIFIER]: the table has no column `c`",
            "/a.sql:17:11: error[VALIDATION_ERROR]: the result has no column `bb`",
        ],
        "{text}"
    );
}

#[test]
fn a_step_that_fails_is_told_with_its_place_and_ends_it() {
    let sql = "-- MIGRATE 1\nCREATE TABLE t (a int);\nINSERT INTO t\n  VALUES (1, 2);\n-- QUERY q\nSELECT c FROM t;\n";
    let text = described(sql, &ServerChoice::Throwaway).expect_err("it is wrong");
    assert_eq!(
        heads(&text),
        ["/a.sql:4:14: error[SQL_EXECUTION_ERROR]: INSERT has more expressions than target columns (42601)"]
    );
}

#[test]
fn steps_run_without_rights_of_a_superuser() {
    let refused =
        |sql: &str| described(&format!("-- MIGRATE 1\n{sql};\n"), &ServerChoice::Throwaway).expect_err(sql);
    let text = refused("CREATE TABLE t (a int);\nCOMMIT");
    assert!(text.contains("a.sql:3:1: error[NOT_SUPPORTED]: a step has no COMMIT"), "{text}");
    // What functions hide is refused by the server.
    for hidden in ["COPY pg_class TO PROGRAM ''cat''", "SELECT pg_read_file(''/etc/passwd'')"] {
        let text = refused(&format!("DO $$ BEGIN EXECUTE '{hidden}'; END $$"));
        assert!(text.contains("(42501)"), "{text}");
    }
}

#[test]
fn a_server_of_the_users_is_as_it_was() -> Result<(), String> {
    let _alone = alone();
    let database = Database::new();
    database.sql("CREATE TABLE mine (a int)");
    let databases = || database.sql("SELECT count(*) FROM pg_database WHERE datname LIKE 'howdah_codegen_%'");
    let before = databases();
    let sql = "-- MIGRATE 1\nCREATE TABLE mine (a int NOT NULL);\n-- MIGRATE 2 :no_transaction\nCREATE INDEX \
               CONCURRENTLY ON mine (a);\n-- QUERY q\nSELECT a FROM mine;\n";
    let (found, told) = described(sql, &server(&database)?)?;
    assert_eq!((found.modules[0].statements[0].columns.len(), told.as_str()), (1, ""));
    assert_eq!(databases(), before);
    for refused in [
        "CREATE ROLE howdah_codegen_test",
        "GRANT pg_monitor TO CURRENT_USER",
        "ALTER SYSTEM SET work_mem = '1GB'",
        "CREATE DATABASE howdah_codegen_test",
        "DROP TABLESPACE x",
    ] {
        let text = described(&format!("-- MIGRATE 1\n{refused};\n"), &server(&database)?).expect_err(refused);
        assert!(text.contains("a.sql:2:1: error[NOT_SUPPORTED]") && text.contains("outlives"), "{text}");
    }
    // What functions hide is not committed.
    let hidden = "-- MIGRATE 1\nDO $$ BEGIN EXECUTE 'CREATE ROLE howdah_codegen_hidden'; END $$;\n";
    described(hidden, &server(&database)?)?;
    let text = described(&format!("{hidden}-- MIGRATE 2 :no_transaction\nVACUUM;\n"), &server(&database)?);
    assert!(text.as_ref().is_err_and(|text| text.contains("pg_authid, which outlives")), "{text:?}");
    assert_eq!(database.sql("SELECT count(*) FROM pg_roles WHERE rolname ~ 'howdah_codegen_hidden'"), "0");
    assert_eq!(databases(), before);
    Ok(())
}

#[test]
fn scratch_databases_of_killed_programs_go_with_the_next_run() -> Result<(), String> {
    let _alone = alone();
    let database = Database::new();
    let dead = "howdah_codegen_00000000deadbeef";
    database.sql(&format!("CREATE DATABASE {dead}"));
    described("-- QUERY q\nSELECT 1;\n", &server(&database)?)?;
    assert_eq!(database.sql(&format!("SELECT count(*) FROM pg_database WHERE datname = '{dead}'")), "0");
    Ok(())
}

#[test]
fn a_role_that_makes_no_databases_gets_a_transaction() -> Result<(), String> {
    let _alone = alone();
    let database = Database::new();
    let role = format!("{}_plain", database.name());
    database
        .sql(&format!("CREATE ROLE {role} LOGIN PASSWORD 'plain'; GRANT CREATE ON SCHEMA public TO {role}"));
    let conninfo = format!("{} user={role} password=plain", database.conninfo());
    let place = Target::new(conninfo)
        .map(|target| ServerChoice::Server(Box::new(target)))
        .map_err(|error| error.to_string())?;
    let step = "-- MIGRATE 1\nCREATE TABLE mine (a int);\n";
    let (found, _) = described(&format!("{step}-- TABLE mine :appender\n"), &place)?;
    assert_eq!(found.modules[0].tables[0].columns[0].name, "a");
    let text = described(&format!("{step}-- MIGRATE 2 :no_transaction\nVACUUM;\n"), &place).expect_err("no");
    assert!(text.contains("a.sql:3:12: error[NOT_SUPPORTED]: a step without a transaction"), "{text}");
    assert_eq!(database.sql("SELECT to_regclass('mine') IS NULL"), "t");
    database.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    Ok(())
}

#[test]
fn a_type_that_the_server_cannot_tell_is_that_of_the_value() -> Result<(), String> {
    let _alone = alone();
    let database = Database::new();
    let sql = "-- QUERY q\n@set a = 7\nSELECT pg_typeof(${a}) IS NULL AS x;\n";
    let (found, told) = described(sql, &server(&database)?)?;
    assert_eq!(found.modules[0].statements[0].parameters[0].ty.sql, "integer");
    assert_eq!(
        heads(&told),
        [
            "/a.sql:2:6: warning[UNDETERMINED_TYPE]: the server cannot tell the type of `a`; its value looks like integer"
        ]
    );
    let text = described(&sql.replace('7', "null"), &server(&database)?).expect_err("no");
    assert_eq!(
        heads(&text),
        ["/a.sql:2:6: error[UNDETERMINED_TYPE]: the server cannot tell the type of `a`"]
    );
    // What the header says goes first.
    let header = "/* QUERY q\n  params: {a: bigint null}\n  result: {x: text not null} */";
    let (found, told) = described(&sql.replace("-- QUERY q", header), &server(&database)?)?;
    let statement = &found.modules[0].statements[0];
    assert_eq!((statement.parameters[0].ty.sql.as_str(), statement.parameters[0].nullable), ("bigint", true));
    assert_eq!((statement.columns[0].ty.sql.as_str(), statement.columns[0].nullable), ("text", false));
    assert_eq!(heads(&told), ["/a.sql:3:12: warning[CONTRADICTED_OVERRIDE]: `x` is boolean for the server"]);
    Ok(())
}

#[test]
fn a_key_that_cannot_be_meant_is_told_with_those_that_can() -> Result<(), String> {
    let _alone = alone();
    let database = Database::new();
    let place = server(&database)?;
    let told = |table: &str, modifiers: &str| {
        let sql = format!("-- MIGRATE 1\n{table};\n-- TABLE t {modifiers}\n");
        let text = described(&sql, &place).expect_err(modifiers);
        let said = |line: &str| line.split_once("error[INVALID_MODIFIER]: ").map(|(_, said)| said.to_owned());
        let help = text
            .lines()
            .find_map(|line| line.split_once("help: "))
            .map(|(_, help)| help.trim_end_matches("   (TABLE t)").to_owned());
        (text.lines().find_map(said).unwrap_or(text.clone()), help.unwrap_or_default())
    };
    let pair = |message: &str, help: &str| (message.to_owned(), help.to_owned());
    let two = "CREATE TABLE t (a int, b int, CONSTRAINT one UNIQUE (a), CONSTRAINT other UNIQUE (b, a))";
    assert_eq!(
        told(two, ":upsert"),
        pair("the table has several keys: one (a), other (b, a)", "name one of them, as `:upsert=one`")
    );
    assert_eq!(
        told(two, ":upsert=othr"),
        pair("the table has no unique constraint or index `othr`", "perhaps you meant `other`")
    );
    assert_eq!(
        told("CREATE TABLE t (a int); CREATE INDEX plain ON t (a)", ":ignore"),
        pair("the table has no key", "it takes a primary key or a unique index")
    );
    let wrong = [
        ("CREATE INDEX i ON t (a)", "it is not unique"),
        ("CREATE UNIQUE INDEX i ON t (a) WHERE b > 0", "it is partial"),
        ("CREATE UNIQUE INDEX i ON t (a, lower(c))", "it has expressions"),
        ("ALTER TABLE t ADD CONSTRAINT i UNIQUE (b) DEFERRABLE", "it is deferrable"),
        ("ALTER TABLE t ADD CONSTRAINT i EXCLUDE USING gist (p WITH &&)", "it is not unique"),
        (
            "CREATE UNIQUE INDEX i ON t (c COLLATE ci)",
            "it compares by another collation or operator than its columns do",
        ),
        (
            "CREATE UNIQUE INDEX i ON t (r record_image_ops)",
            "it compares by another collation or operator than its columns do",
        ),
        (
            "CREATE UNIQUE INDEX i ON t (a, b); ALTER TABLE t ADD UNIQUE (b, a) DEFERRABLE",
            "another one of the same columns is deferrable",
        ),
    ];
    // Only ICU, which a server may have been built without, takes different texts for equal.
    let has_icu = database.sql("SELECT count(*) FROM pg_collation WHERE collname = 'en-x-icu'") == "1";
    let collation = match has_icu {
        true => "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);\n",
        false => "",
    };
    let table = format!(
        "{collation}CREATE TYPE r AS (x int);\nCREATE TABLE t (a int PRIMARY KEY, b int, c text, p box, r r)"
    );
    for (index, why) in wrong.into_iter().filter(|(index, _)| has_icu || !index.contains("COLLATE ci")) {
        let (message, help) = told(&format!("{table};\n{index}"), ":upsert=i");
        assert_eq!(message, format!("`i` cannot be the key: {why}"));
        assert_eq!(help, "it has t_pkey (a)", "{index}");
    }
    let (message, help) =
        told("CREATE TABLE t (a int, b text); CREATE UNIQUE INDEX i ON t (lower(b))", ":upsert");
    assert_eq!((message, help), pair("the table has no key", "`i`: it has expressions"));
    let (message, help) = told("CREATE TABLE t (a int PRIMARY KEY DEFERRABLE, b int UNIQUE)", ":upsert");
    assert_eq!(
        (message, help),
        pair(
            "the primary key t_pkey (a) cannot be the key: it is deferrable",
            "name another key: `:upsert=name`"
        )
    );
    assert_eq!(
        told("CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b int UNIQUE)", ":ignore"),
        pair(
            "rows do not have `a`, a column of the key t_pkey (a)",
            "write `:ignore=t_b_key`, or give it in `:appender(…)`"
        )
    );
    assert_eq!(
        told("CREATE TABLE t (a int PRIMARY KEY, b int)", ":appender(b) :upsert"),
        pair(
            "rows do not have `a`, a column of the key t_pkey (a)",
            "give it in `:appender(…)`, whose columns are those of rows"
        )
    );
    Ok(())
}

#[test]
fn a_key_is_that_of_the_table_or_the_one_that_is_named() -> Result<(), String> {
    let _alone = alone();
    let database = Database::new();
    let place = server(&database)?;
    let key = |table: &str, modifiers: &str| {
        let sql = format!("-- MIGRATE 1\n{table};\n-- TABLE t {modifiers}\n");
        let (model, told) = described(&sql, &place)?;
        assert_eq!(told, "");
        let table = model.modules[0].tables[0].clone();
        let key = table.upsert.or(table.ignore).ok_or("no key")?;
        let json = serde_json::to_string(&key).map_err(|error| error.to_string())?;
        Ok::<_, String>(json)
    };
    let two = "CREATE TABLE t (a int PRIMARY KEY, b int, C text, UNIQUE (b, a))";
    assert_eq!(key(two, ":upsert")?, r#"{"name":"t_pkey","columns":["a"]}"#);
    assert_eq!(
        key(two, ":upsert=T_B_A_KEY")?,
        r#"{"name":"t_b_a_key","columns":["b","a"],"nulls_distinct":true}"#
    );
    let one = "CREATE TABLE t (a int, b int, c text); CREATE UNIQUE INDEX part ON t (a) WHERE b > 0";
    assert_eq!(
        key(
            &format!("{one}; CREATE UNIQUE INDEX whole ON t (c, a) INCLUDE (b) NULLS NOT DISTINCT"),
            ":ignore"
        )?,
        r#"{"name":"whole","columns":["c","a"]}"#
    );
    // The server takes both for the key.
    let both = "CREATE UNIQUE INDEX i ON t (a, c); CREATE UNIQUE INDEX j ON t (c, a) NULLS NOT DISTINCT";
    assert_eq!(key(&format!("{one}; {both}"), ":upsert=i")?, r#"{"name":"i","columns":["a","c"]}"#);
    let sql = "-- MIGRATE 1\nCREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b int);\n-- TABLE t \
               :appender(a, b) :upsert\n";
    let (model, _) = described(sql, &place)?;
    let columns = model.modules[0].tables[0].columns.iter().map(|column| (column.written, column.always));
    assert_eq!(columns.collect::<Vec<_>>(), [(true, true), (true, false)]);
    Ok(())
}

/// A step with a table, and blocks below it.
fn table(blocks: &str) -> String {
    format!("-- MIGRATE 1\nCREATE TABLE t (a bigint NOT NULL, b text, c int NOT NULL);\n{blocks}")
}

#[test]
fn a_variant_that_alone_is_wrong_is_told_with_its_place_and_its_name() {
    let told = |blocks: &str| {
        let text = described(&table(blocks), &ServerChoice::Throwaway).expect_err("it is wrong");
        heads(&text).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let without = "-- QUERY q\nSELECT b, count(*) FROM t\n GROUP BY b --? grouped\n";
    let message = "column \"t.b\" must appear in the GROUP BY clause or be used in an aggregate function";
    assert_eq!(
        told(without),
        [format!("/a.sql:4:8: error[SQL_EXECUTION_ERROR]: {message}, without `grouped` (42803)")]
    );
    let pair = "-- QUERY q\nSELECT t.a FROM t\n  JOIN t u ON true --? joined\n WHERE true\n  AND t.a = 1 --? one\n  \
                AND u.a = 1 --? other\n";
    assert_eq!(
        told(pair),
        ["/a.sql:8:7: error[SQL_EXECUTION_ERROR]: missing FROM-clause entry for table \"u\", with `other` \
          only (42P01)"]
    );
    let choice = "/* QUERY q\n choices: {s: [a, 'lower(b)', 'b, emial']} */\n@set s = a\nSELECT a FROM t ORDER BY ${s}\n";
    assert_eq!(
        told(choice),
        ["/a.sql:4:35: error[SQL_EXECUTION_ERROR]: column \"emial\" does not exist, `s` = b, emial (42703)"]
    );
    // What is wrong with all of them is said once, and of none of them.
    let all =
        "-- QUERY q\nSELECT emial FROM t WHERE true\n AND a = 1 --? x\n AND a = 2 --? y\n AND nmae --? y\n";
    assert_eq!(
        told(all),
        ["/a.sql:4:8: error[SQL_EXECUTION_ERROR]: column \"emial\" does not exist (42703)"]
    );
}

#[test]
fn variants_that_do_not_agree_are_told_both() {
    let told = |blocks: &str| {
        let text = described(&table(blocks), &ServerChoice::Throwaway).expect_err("it is wrong");
        heads(&text).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        told("-- QUERY q\nSELECT a\n , b --? more\nFROM t\n"),
        ["/a.sql:3:10: error[VALIDATION_ERROR]: there are 2 columns with `more`, and 1 without `more`"]
    );
    assert_eq!(
        told("-- QUERY q\nSELECT a\n AS x --? named\nFROM t\n"),
        ["/a.sql:3:10: error[VALIDATION_ERROR]: a column is `x` with `named`, and `a` without `named`"]
    );
    assert_eq!(
        told("-- QUERY q\nSELECT a\n + 0.5 --? half\n AS x FROM t\n"),
        ["/a.sql:3:10: error[VALIDATION_ERROR]: `x` is numeric with `half`, and bigint without `half`"]
    );
    let parameter =
        "-- EXEC q\n@set x = 1\nDELETE FROM t WHERE a > 0\n AND a = ${x} --? p\n AND c = ${x} --? q\n";
    assert_eq!(
        told(parameter),
        [
            "/a.sql:4:6: error[VALIDATION_ERROR]: `x` is bigint with all optional lines, and integer with `q`, without `p`"
        ]
    );
    // An EXEC has no columns, whatever its statement returns.
    let exec = table("-- EXEC q\nDELETE FROM t RETURNING a\n , b --? more\n");
    assert!(described(&exec, &ServerChoice::Throwaway).is_ok());
}

#[test]
fn what_one_variant_says_to_be_null_is_null() -> Result<(), String> {
    let blocks = "/* QUERY q\n choices: {op: [<, '>=']}\n*/\n@set least = 1\n@set other = 'x'\n@set op = <\nSELECT b \
                  FROM t WHERE true\n  AND a ${op} ${least} --? least\n  AND b = ${other} --? known\n  AND a > 2 --? \
                  known\n  AND (${other} IS NOT NULL OR true)\n";
    let (found, told) = described(&table(blocks), &ServerChoice::Throwaway)?;
    // Without its line, the server cannot tell the type of `other`.
    assert_eq!(told, "");
    let statement = &found.modules[0].statements[0];
    assert_eq!(
        (statement.columns[0].nullable, statement.columns[0].why.starts_with("without optional lines: ")),
        (true, true),
        "{:?}",
        statement.columns
    );
    let parameters = statement.parameters.iter().map(|p| (&*p.name, &*p.ty.sql, p.nullable, p.role.clone()));
    let options = vec!["<".to_owned(), ">=".to_owned()];
    assert_eq!(
        parameters.collect::<Vec<_>>(),
        [
            ("least", "bigint", true, Role::Value),
            ("other", "text", true, Role::Value),
            ("op", "text", false, Role::Choice { options }),
            ("known", "boolean", false, Role::Switch),
        ]
    );
    let json = serde_json::to_string(&statement.sql).map_err(|error| error.to_string())?;
    let expected = r#"[{"text":"SELECT b FROM t WHERE true"},{"optional":{"parameter":0,"sql":[{"text":"\n  AND a "},{"choice":2},{"text":" "},{"parameter":0}]}},{"optional":{"parameter":3,"sql":[{"text":"\n  AND b = "},{"parameter":1}]}},{"optional":{"parameter":3,"sql":[{"text":"\n  AND a > 2"}]}},{"text":"\n  AND ("},{"parameter":1},{"text":" IS NOT NULL OR true)"}]"#;
    assert_eq!(json, expected);
    Ok(())
}
