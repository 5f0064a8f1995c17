//! A password that shows itself wherever it leaks: whole runs of the command, with the right one and with a wrong one.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use howdah_testkit::Database;
use howdah_testkit::secrets::Guarded;

const CANARY: &str = "canary-7f3a9b";

fn howdah(args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    for name in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGPASSWORD", "PGPASSFILE"] {
        command.env_remove(name);
    }
    command.args(args).envs(variables.iter().copied()).stdin(Stdio::null()).guarded_output()
}

/// The other tests of the command search what it prints for the passwords of their servers, by
/// [`Guarded::guarded_output`].
#[test]
fn no_test_of_the_command_takes_its_output_unsearched() {
    fn searched(directory: &Path) -> usize {
        let mut found = 0;
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found += searched(&path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found += text.matches(concat!(".guarded_", "output()")).count();
                for unsearched in [concat!(".wait_with_", "output()"), concat!(".out", "put()")] {
                    assert!(!text.contains(unsearched), "{}: {unsearched}", path.display());
                }
            }
        }
        found
    }
    assert!(searched(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it")) > 20);
}

#[test]
fn a_password_is_never_shown_in_whatever_form_it_was_given() {
    let database = Database::new();
    let [host, port, dbname] = ["host", "port", "dbname"].map(|keyword| database.setting(keyword));
    let role = format!("canary_{}", std::process::id());
    database.sql(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD '{CANARY}'; GRANT CREATE ON SCHEMA public TO {role}"
    ));
    let file = database.file("birds.csv", "name,n\nfinch,1\n\"open,2\n");
    let good = database.file("good.csv", "name,n\nfinch,1\n");
    let rejects = database.path("rejects.jsonl");
    for (password, is_right) in [(CANARY.to_owned(), true), (format!("wrong-{CANARY}"), false)] {
        let pairs = format!("host={host} port={port} user={role} dbname={dbname}");
        let escaped = host.replace('/', "%2F");
        let uri = format!("postgresql://{role}:{password}@{escaped}:{port}/{dbname}");
        let sqlalchemy = uri.replace("postgresql://", "postgresql+asyncpg://");
        let with_password = format!("{pairs} password='{password}'");
        for (given, variables) in [
            (&with_password, &[][..]),
            (&uri, &[]),
            (&sqlalchemy, &[]),
            (&pairs, &[("PGPASSWORD", password.as_str())][..]),
        ] {
            for extra in [
                &["--report", "json", "-v", "--mode", "replace"][..],
                &["--dry-run", "-v"],
                &["--mode", "create", "--table", "no_such_schema.t"],
            ] {
                let done = howdah(&[&["load", &good, "-w", "-d", given], extra].concat(), variables);
                let shown = [done.stdout.as_slice(), &done.stderr].concat();
                let shown = String::from_utf8_lossy(&shown);
                assert!(!shown.contains(CANARY), "{shown}");
                let fails_anyway = extra.contains(&"no_such_schema.t");
                assert_eq!(done.status.success(), is_right && !fails_anyway, "{given} {extra:?}: {shown}");
                assert!(is_right || shown.contains("password authentication failed"), "{shown}");
            }
            let arguments = ["load", &file, "-w", "-d", given, "--on-error", "ignore", "--rejects", &rejects];
            let done = howdah(&arguments, variables);
            let shown = [done.stdout.as_slice(), &done.stderr].concat();
            assert!(!String::from_utf8_lossy(&shown).contains(CANARY));
            let kept = std::fs::read_to_string(&rejects).unwrap_or_default();
            assert!(!kept.contains(CANARY), "{kept}");
            let _ = std::fs::remove_file(&rejects);
        }
    }
    // A string that cannot even be read.
    for broken in [
        format!("host=h password='{CANARY}"),
        format!("postgresql://u:{CANARY}%zz@h/d"),
        format!("mysql://u:{CANARY}@h/d"),
        format!("u:{CANARY}@h/d"),
        format!("postgresql://u:{CANARY}/d"),
        format!("host=h password=of {CANARY}"),
        format!("host=h password=of {CANARY}=x"),
        format!("host=h;user=u;password={CANARY}"),
        format!("host=u:{CANARY}@h"),
        format!("u/{CANARY}@h/d"),
    ] {
        let done = howdah(&["load", &good, "-w", "-d", &broken, "--report", "json"], &[]);
        let shown = [done.stdout.as_slice(), &done.stderr].concat();
        let shown = String::from_utf8_lossy(&shown);
        assert!(done.status.code() == Some(2) && !shown.contains(CANARY), "{shown}");
    }
    database.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn a_password_on_the_command_line_is_not_in_the_list_of_processes() {
    let database = Database::new();
    let conninfo = format!("{} application_name='it''s' ", database.conninfo()).replace("it''s", "shown");
    let secret = database.setting("password");
    assert!(secret.len() > 8);
    let dbname = format!("--dbname={conninfo}");
    for given in [vec!["-d", &conninfo], vec![dbname.as_str()]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_howdah"))
            .args(["load", "-", "--table", "t", "--header=false"])
            .args(&given)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        // Once it has named its server, it is past the moment in which it begins anew.
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut first = String::new();
        said.read_line(&mut first).expect("a line");
        let seen = std::fs::read(format!("/proc/{}/cmdline", child.id())).expect("a process");
        let seen = String::from_utf8_lossy(&seen).into_owned();
        assert!(!seen.contains(&secret) && seen.contains("shown"), "{seen}");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(b"1,x\n").expect("it reads");
        drop(input);
        assert!(child.wait().expect("it ends").success());
    }
    assert_eq!(database.sql("SELECT count(*) FROM t"), "2");
}
