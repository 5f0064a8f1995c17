//! `generate --watch`: what changes is generated again, what is wrong is said and mended, and Ctrl-C leaves nothing.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{codegen, project, said};

const CONFIG: &str = "version: 1\nname: shop\nschema: [db/]\nsql:\n  - files: [shop.sql]\n    gen:\n      \
                      - generator: python/postgres\n        output: generated/\n";

struct Watching {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStderr>>,
}

impl Watching {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
        command.args(["codegen", "generate", "--watch"]).current_dir(folder).stderr(Stdio::piped());
        for name in ["SQG_POSTGRES_URL", "HOWDAH_CODEGEN_URL"] {
            command.env_remove(name);
        }
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, lines }
    }

    /// All that is said until it waits.
    fn until_it_waits(&mut self) -> String {
        let mut text = String::new();
        for line in &mut self.lines {
            let line = line.unwrap();
            text.push_str(&line);
            text.push('\n');
            if line.starts_with("watching ") {
                return text;
            }
        }
        panic!("it ended: {text}");
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn code_follows_its_files() {
    let folder = project(&[("howdah.yaml", CONFIG), ("shop.sql", "-- QUERY a\nSELECT n FROM t;\n")]);
    let here = folder.path();
    std::fs::create_dir(here.join("db")).unwrap();
    // Roles are the server's and would still be there the next time. Before 16 no step makes any.
    let first = "DO $$ BEGIN IF current_setting('server_version_num')::int >= 160000 THEN
        CREATE ROLE reader; END IF; END $$;\nCREATE TABLE t (n int);\n";
    std::fs::write(here.join("db/V1__t.sql"), first).unwrap();
    let mut watching = Watching::start(here);
    let text = watching.until_it_waits();
    assert!(text.contains("written generated/shop.py\n"), "{text}");
    assert!(text.ends_with("watching 4 files and folders; Ctrl-C ends it\n"), "{text}");

    std::fs::write(here.join("shop.sql"), "-- QUERY a\nSELECT n, no FROM t;\n").unwrap();
    let text = watching.until_it_waits();
    assert!(text.starts_with("changed: shop.sql\n"), "{text}");
    assert!(
        text.contains("shop.sql:2:11: error[SQL_EXECUTION_ERROR]: column \"no\" does not exist"),
        "{text}"
    );
    assert!(!text.contains("written"), "{text}");

    // A new file of the folder.
    std::fs::write(here.join("db/V2__no.sql"), "ALTER TABLE t ADD no text;\n").unwrap();
    let text = watching.until_it_waits();
    assert!(text.starts_with("changed: db/V2__no.sql\n"), "{text}");
    assert!(text.contains("written generated/shop.py\n1 file written, "), "{text}");

    // A configuration that cannot be read is watched, and so are the files of the one before.
    std::fs::write(here.join("howdah.yaml"), "sql: [\n").unwrap();
    let text = watching.until_it_waits();
    assert!(text.contains("error[CONFIG_PARSE_ERROR]") && text.contains("watching 5 files"), "{text}");
    std::fs::write(here.join("howdah.yaml"), CONFIG).unwrap();
    let text = watching.until_it_waits();
    assert!(text.contains("0 files written, "), "{text}");

    kill_process(Pid::from_child(&watching.child), Signal::INT).unwrap();
    assert!(!watching.child.wait().unwrap().success());
    assert!(watching.lines.next().is_none(), "the servers' processes hold the pipe");
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let folder = project(&[("shop.sql", "-- QUERY a\nSELECT 1;\n")]);
    let done = codegen(folder.path(), &["generate", "--watch"]);
    assert_eq!(done.status.code(), Some(2), "{}", said(&done));
    let args = ["generate", "--watch", "--generator", "python/postgres", "--file", "shop.sql"];
    let done = codegen(folder.path(), &args);
    assert_eq!(done.status.code(), Some(2));
    assert!(said(&done).contains("the code goes to standard output"), "{}", said(&done));
}
