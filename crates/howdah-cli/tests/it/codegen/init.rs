//! The example that `howdah codegen init` writes: it runs as it is, and nothing is lost for it.

use std::path::Path;
use std::process::{Command, Output};

use howdah_testkit::Database;
use howdah_testkit::require::missing;
use howdah_testkit::secrets::Guarded;

use super::{codegen, out, project, said};

const GENERATORS: [&str; 5] =
    ["python/postgres", "java/postgres", "typescript/postgres", "go/postgres", "rust/postgres"];

/// What the example's program says.
const RUNS: [&str; 6] =
    ["3 tasks written", "first: ", "all: 3", "urgent: Pay the rent", "urgent: Call Ada", ""];

#[test]
fn every_example_becomes_code_by_the_commands_that_are_printed() {
    for generator in GENERATORS {
        let folder = project(&[]);
        let done = codegen(folder.path(), &["init", "an example", "--generator", generator]);
        assert_eq!((done.status.code(), said(&done)), (Some(0), ""), "{generator}");
        let mut commands = out(&done).lines();
        assert_eq!(commands.next(), Some("cd 'an example'"));
        assert_eq!(commands.next(), Some("howdah codegen generate"));
        let done = codegen(&folder.path().join("an example"), &["generate"]);
        assert_eq!(done.status.code(), Some(0), "{generator}: {}", said(&done));
        assert!(!said(&done).contains("warning"), "{generator}: {}", said(&done));
    }
}

#[test]
fn an_example_is_never_written_over_what_is_there() {
    let folder = project(&[("main.py", "mine\n"), ("queries.sql", "mine too\n")]);
    let here = folder.path();
    let done = codegen(here, &["init"]);
    assert_eq!((done.status.code(), out(&done)), (Some(1), ""));
    let text = "error: queries.sql, main.py are there already; nothing was written\n";
    assert!(said(&done).starts_with(text), "{}", said(&done));
    assert!(!here.join("howdah.yaml").exists());
    assert_eq!(std::fs::read_to_string(here.join("main.py")).unwrap(), "mine\n");
    let done = codegen(here, &["init", "--force"]);
    assert_eq!((done.status.code(), said(&done)), (Some(0), ""));
    assert!(std::fs::read_to_string(here.join("main.py")).unwrap().contains("import psycopg"));

    std::fs::remove_file(here.join("main.py")).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", here.join("main.py")).unwrap();
    let done = codegen(here, &["init", "--force"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(said(&done).contains("`main.py` is a link; nothing is written through it"), "{}", said(&done));
    assert_eq!(codegen(here, &["init", "--generator", "cobol"]).status.code(), Some(2));
}

/// The example with its code, and a database with its tables.
fn prepared(generator: &str) -> (tempfile::TempDir, Database) {
    let (folder, database) = (project(&[]), Database::new());
    assert_eq!(codegen(folder.path(), &["init", "--generator", generator]).status.code(), Some(0));
    let done = codegen(folder.path(), &["generate"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let mut migrate = Command::new(env!("CARGO_BIN_EXE_howdah"));
    migrate.args(["migrate", "apply", "-d", &database.conninfo()]).current_dir(folder.path());
    let done = migrate.guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    (folder, database)
}

/// The database as `howdah server url` writes one.
fn url(database: &Database) -> String {
    let [user, password, port] = ["user", "password", "port"].map(|keyword| database.setting(keyword));
    format!("postgresql://{user}:{password}@127.0.0.1:{port}/{}", database.name())
}

fn runs(folder: &Path, database: &Database, program: &str, args: &[&str]) {
    let mut command = Command::new(program);
    let done = command.args(args).current_dir(folder).env("DATABASE_URL", url(database)).guarded_output();
    assert!(done.status.success(), "{program}: {}{}", out(&done), said(&done));
    for (line, expected) in out(&done).split('\n').zip(RUNS) {
        assert!(line.starts_with(expected), "{program}: {}", out(&done));
    }
    assert_eq!(out(&done).split('\n').count(), RUNS.len(), "{}", out(&done));
}

fn done(folder: &Path, program: &str, args: &[&str]) -> Output {
    Command::new(program).args(args).current_dir(folder).guarded_output()
}

/// The root of the repository.
fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_example_in_python_runs() {
    let python = root().join(".venv/bin/python");
    if !python.exists() {
        return missing("python", "there is no .venv with psycopg here");
    }
    let (folder, database) = prepared("python/postgres");
    runs(folder.path(), &database, python.to_str().unwrap(), &["-B", "main.py"]);
}

#[test]
fn the_example_in_java_runs() {
    let jars = std::fs::read_dir(root().join("build/java")).into_iter().flatten().flatten();
    let jar = jars.map(|jar| jar.path()).find(|jar| jar.extension().is_some_and(|end| end == "jar"));
    let Some(jar) = jar else { return missing("java", "there is no pgjdbc: make java-driver") };
    let (folder, database) = prepared("java/postgres");
    let here = folder.path();
    let script = format!(
        "javac -Xlint:all -Werror -cp {jar} -d classes Main.java generated/*.java",
        jar = jar.display()
    );
    let built = done(here, "sh", &["-c", &script]);
    assert!(built.status.success(), "{}", said(&built));
    runs(here, &database, "java", &["-cp", &format!("classes:{}", jar.display()), "Main"]);
}

#[test]
fn the_example_in_typescript_runs() {
    let installed = root().join("build/node/node_modules");
    if !installed.exists() {
        return missing("node", "there is no node-postgres: make node-driver");
    }
    let (folder, database) = prepared("typescript/postgres");
    let here = folder.path();
    std::os::unix::fs::symlink(installed.canonicalize().unwrap(), here.join("node_modules")).unwrap();
    let built = done(here, "node", &["node_modules/typescript/bin/tsc"]);
    assert!(built.status.success(), "{}{}", out(&built), said(&built));
    runs(here, &database, "node", &["out/main.js"]);
}

#[test]
fn the_example_in_go_runs() {
    let settings = root().join("crates/howdah-codegen/tests/go");
    let (folder, database) = prepared("go/postgres");
    let here = folder.path();
    // What `go mod tidy` would ask the network for.
    std::fs::copy(settings.join("go.sum"), here.join("go.sum")).unwrap();
    let mut command = Command::new("go");
    command.args(["build", "-o", "program", "."]).current_dir(here);
    let offline = [("GOFLAGS", "-mod=mod"), ("GOPROXY", "off"), ("GOTOOLCHAIN", "local")];
    let Ok(go) = command.envs(offline).stderr(std::process::Stdio::piped()).spawn() else {
        return missing("go", "there is no go");
    };
    let built = go.guarded_output();
    if said(&built).contains("GOPROXY=off") {
        return missing("go", "there is no pgx: make go-driver");
    }
    assert!(built.status.success(), "{}", said(&built));
    runs(here, &database, "./program", &[]);
}
