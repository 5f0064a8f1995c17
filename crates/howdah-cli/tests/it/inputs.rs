//! What a load takes as its input, from outside: a file on standard input, and the files behind a pattern.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use howdah_testkit::Database;
use howdah_testkit::secrets::Guarded;

/// `howdah load` of `input` into the table t, in the database's own directory.
fn load(database: &Database, input: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    command.args(["load", input, "--table", "t", "--mode", "append", "--header=false", "-w"]);
    command.args(["-d", &database.conninfo()]).current_dir(database.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_file_on_standard_input_that_changes_is_an_error_as_if_it_were_named() {
    type Harm = fn(&File);
    let harms: [(&str, Harm); 2] = [
        ("it becomes shorter", |file| file.set_len(5_000_003).unwrap()),
        ("it grows", |mut file| file.write_all(b"7,x\n").unwrap()),
    ];
    let lines: Vec<String> = (0..100_000).map(|n| format!("{n},{}\n", "x".repeat(90))).collect();
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, pad text)");
    for (what, harm) in harms {
        for input in ["-", "/dev/stdin"] {
            let file = database.file("t.csv", lines.concat());
            let mut holder = database.psql();
            holder.stdin(Stdio::piped()).stdout(Stdio::null());
            let mut holder = holder.spawn().unwrap();
            holder.stdin.as_mut().unwrap().write_all(b"BEGIN; LOCK TABLE t IN SHARE MODE;\n").unwrap();
            // By its mode: what the load before this one holds may still be there for a moment.
            let locks = "SELECT count(*) > 0 FROM pg_locks WHERE relation = 't'::regclass AND mode =";
            database.until(&format!("{locks} 'ShareLock' AND granted"), "t");
            let child = load(&database, input).stdin(File::open(&file).unwrap()).spawn().unwrap();
            database.until(&format!("{locks} 'RowExclusiveLock' AND NOT granted"), "t");
            harm(&File::options().append(true).open(Path::new(&file)).unwrap());
            drop(holder.stdin.take());
            holder.wait().unwrap();
            let done = child.guarded_output();
            assert_eq!(done.status.code(), Some(1), "{what} ({input}): {}", said(&done));
            assert!(said(&done).contains("it was changed while it was read"), "{what}: {}", said(&done));
            assert_eq!(database.sql("SELECT count(*) FROM t"), "0", "{what} ({input})");
        }
    }
    let file = database.file("t.csv", lines.concat());
    let done = load(&database, "-").stdin(File::open(&file).unwrap()).guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "100000");
}

#[test]
fn a_pattern_takes_what_the_shell_takes_and_says_what_it_leaves_out() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let directory = PathBuf::from(database.path("gd"));
    let path = |name: &[u8]| directory.join(OsStr::from_bytes(name));
    std::fs::create_dir_all(path(b"sub.csv")).unwrap();
    std::fs::write(path(b"a.csv"), "1\n").unwrap();
    std::fs::write(path(b"b\xff.csv"), "2\n").unwrap();
    std::fs::write(path(b".hid.csv"), "3\n").unwrap();
    assert!(Command::new("mkfifo").arg(path(b"pipe.csv")).status().unwrap().success());
    let child = load(&database, "gd/*.csv").spawn().unwrap();
    std::fs::write(path(b"pipe.csv"), "4\n").unwrap();
    let done = child.guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(
        said(&done).contains("note: \"gd/*.csv\" leaves out gd/sub.csv (a directory)\n"),
        "{}",
        said(&done)
    );
    let taken = "SELECT string_agg(n::text, ',' ORDER BY n) FROM t";
    assert_eq!(database.sql(taken), "1,2,4");
    let done = load(&database, "gd/.*.csv").guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(database.sql(taken), "1,2,3,4");
    // A link that leads nowhere is missed as if it were named.
    std::fs::remove_file(path(b"pipe.csv")).unwrap();
    std::os::unix::fs::symlink("nowhere", path(b"c.csv")).unwrap();
    let done = load(&database, "gd/*.csv").guarded_output();
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    assert!(said(&done).contains("cannot read gd/c.csv: No such file or directory"), "{}", said(&done));
    assert_eq!(database.sql(taken), "1,2,3,4");
}
