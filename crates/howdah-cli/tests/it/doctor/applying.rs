//! `howdah doctor --apply`: on a server of howdah's own, what is worth it stays, and nothing else does, however it ends.

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};

use howdah_testkit::secrets::Guarded;
use howdah_testkit::waiting::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{doctor, find, server};

/// A server of howdah's own, `trial`, in a folder of the test's own; it goes with this value.
struct Trial(TempDir);

impl Trial {
    fn new() -> Trial {
        // Under root it runs as another account, which must get in.
        let base = tempfile::Builder::new().prefix("howdah-test-").tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(base.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let trial = Trial(base);
        trial.done(&["server", "--name", "trial", "start"]);
        trial
    }

    fn howdah(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
        for name in ["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGOPTIONS"] {
            command.env_remove(name);
        }
        command.args(args).env("HOWDAH_DATA_DIR", self.0.path()).stdin(Stdio::null());
        command
    }

    /// What it prints, where it succeeds.
    fn done(&self, args: &[&str]) -> String {
        let done = self.howdah(args).guarded_output();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
    }

    fn sql(&self, commands: &str) -> String {
        self.done(&[&["server", "--name", "trial", "psql", "--", "-XAtq"][..], &command(commands)].concat())
    }

    /// Sets what is to be found, as somebody had it.
    fn set(&self, settings: &[&str]) {
        for setting in settings {
            self.sql(&format!("ALTER SYSTEM {setting}"));
        }
        self.sql("SELECT pg_reload_conf()");
    }

    /// What ALTER SYSTEM set.
    fn set_by_alter_system(&self) -> Vec<String> {
        let conf = self.0.path().join("trial/data/postgresql.auto.conf");
        let text = std::fs::read_to_string(conf).unwrap();
        let mut lines: Vec<String> =
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    fn is_written_down(&self) -> bool {
        self.0.path().join("trial/trying").exists()
    }

    fn apply(&self, ids: &str, args: &[&str]) -> Output {
        self.howdah(&[&["doctor", "--server", "trial", "--apply", ids][..], args].concat()).guarded_output()
    }

    /// The report, as a program gets it.
    fn applied(&self, ids: &str, args: &[&str]) -> Value {
        let done = self.apply(ids, &[&["-q", "--report", "json", "--allow-busy"], args].concat());
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// One that is at it: the new value is set.
    fn under_way(&self) -> Child {
        let child = self
            .howdah(&[
                "doctor",
                "--server",
                "trial",
                "--apply",
                "commit.delay",
                "--seconds",
                "600",
                "--allow-busy",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until("the new value is set", || self.set_by_alter_system().contains(&"commit_delay = '0'".into()));
        child
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let _ = self.howdah(&["server", "--name", "trial", "delete", "--yes"]).guarded_output();
    }
}

/// Each statement by itself.
fn command(statements: &str) -> Vec<&str> {
    statements.split(";\n").flat_map(|statement| ["-c", statement]).collect()
}

/// A disk on which a commit takes twenty milliseconds, and more.
const SLOW: [&str; 2] = ["SET commit_delay = 20000", "SET commit_siblings = 0"];
const SLOW_STANDS: [&str; 2] = ["commit_delay = '20000'", "commit_siblings = '0'"];

fn figure<'r>(applied: &'r Value, what: &str) -> Option<&'r Value> {
    applied["figures"].as_array().unwrap().iter().find(|figure| figure["what"] == what)
}

#[test]
fn what_is_faster_stays_with_its_undo_and_what_is_not_is_put_back() {
    let trial = Trial::new();
    trial.set(&SLOW);
    trial.sql("CREATE TABLE t (id int, body text);\nINSERT INTO t SELECT n, md5(n::text) FROM generate_series(1, 20000) n;\nANALYZE t");
    let report = trial.applied("commit.delay", &["--table", "t", "--seconds", "10"]);
    let applied = &report["applied"][0];
    assert_eq!((&applied["is_kept"], &applied["purpose"]), (&json!(true), &json!("time")), "{applied:#}");
    assert_eq!(applied["settings"], json!([{"name": "commit_delay", "before": "20000", "after": "0"}]));
    assert_eq!(applied["undo"], json!(["ALTER SYSTEM SET commit_delay = '20000';"]));
    let commits = figure(applied, "commits").unwrap();
    assert_eq!(commits["is_faster"], true, "{commits:#}");
    assert!(commits["saved"]["low"].as_f64().unwrap() > 0.0, "{commits:#}");
    assert!(commits["saved"]["median"].as_f64().unwrap() > 0.3, "{commits:#}");
    assert!(figure(applied, "rows").is_some() && figure(applied, "statements").is_some(), "{applied:#}");
    assert!(find(&report, "commit.delay").is_none());
    assert_eq!(trial.sql("SHOW commit_delay"), "0");
    assert_eq!(trial.set_by_alter_system(), ["commit_delay = '0'", "commit_siblings = '0'"]);
    assert!(!trial.is_written_down());
    let nothing = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'howdah%'";
    assert_eq!(trial.sql(nothing), "0");

    // A delay that nobody waits for.
    trial.set(&["SET commit_delay = 1", "RESET commit_siblings"]);
    let before = trial.set_by_alter_system();
    let done = trial.apply("commit.delay", &["--seconds", "10", "--allow-busy"]);
    let (said, text) = (String::from_utf8_lossy(&done.stderr), String::from_utf8_lossy(&done.stdout));
    assert_eq!(done.status.code(), Some(0), "{said}");
    // Before anything is set, it is said how that goes again.
    let line = said.lines().find(|line| line.starts_with("should this be killed in the middle: ")).unwrap();
    let undo = "howdah server --name trial psql -- -c 'ALTER SYSTEM SET commit_delay = '";
    assert!(line.contains(undo), "{line}");
    assert!(text.contains("commits a second: "), "{text}");
    if text.contains("it is faster") {
        // What the machine did meanwhile.
        assert!(text.contains("kept, since") && text.contains("\n  undo: "), "{text}");
        return;
    }
    assert!(text.contains("applied: commit.delay: commit_delay 1 → 0: put back, since "), "{text}");
    assert!(!text.contains("\n  undo: "), "{text}");
    assert_eq!((trial.set_by_alter_system(), trial.sql("SHOW commit_delay")), (before, "1".into()));
    assert!(!trial.is_written_down());
}

#[test]
fn several_are_applied_and_safety_stays_whatever_it_costs() {
    let trial = Trial::new();
    trial.set(&["SET fsync = off", "SET max_wal_size = '64MB'", "SET log_statement = 'all'"]);
    let report =
        trial.applied("wal.unsafe,wal.checkpoints,server.logging", &["--seconds", "24", "--size", "4GB"]);
    let applied = report["applied"].as_array().unwrap();
    let of: Vec<(&Value, &Value)> = applied.iter().map(|it| (&it["id"], &it["purpose"])).collect();
    assert_eq!(
        json!(of),
        json!([["wal.unsafe", "safety"], ["wal.checkpoints", "estimate"], ["server.logging", "time"]])
    );
    assert_eq!((&applied[0]["is_kept"], trial.sql("SHOW fsync").as_str()), (&json!(true), "on"));
    for (applied, setting, before) in
        [(&applied[1], "max_wal_size", "64MB"), (&applied[2], "log_statement", "all")]
    {
        let is_as_before = trial.sql(&format!("SHOW {setting}")) == before;
        assert_eq!(applied["is_kept"], !is_as_before, "{applied:#}");
    }
    assert!(find(&report, "wal.unsafe").is_none());
    assert!(!trial.is_written_down());
}

#[test]
fn a_setting_that_is_set_elsewhere_is_put_back() {
    let trial = Trial::new();
    trial.set(&SLOW);
    trial.sql("ALTER ROLE howdah SET commit_delay = 30000");
    let report = trial.applied("commit.delay", &["--seconds", "10"]);
    let applied = &report["applied"][0];
    assert_eq!(applied["is_kept"], false);
    assert!(applied["why"].as_str().unwrap().starts_with("it has no effect"), "{applied:#}");
    assert_eq!(trial.set_by_alter_system(), SLOW_STANDS);
}

#[test]
fn other_servers_and_other_remedies_are_refused() {
    let conninfo = server().conninfo();
    let elsewhere = doctor(&["-w", "-d", &conninfo, "--apply", "commit.delay"]);
    assert_eq!(elsewhere.status.code(), Some(2));
    let trial = Trial::new();
    let by_environment =
        trial.howdah(&["doctor", "-w", "--apply", "commit.delay"]).env("PGHOST", "/nowhere").guarded_output();
    let said = String::from_utf8_lossy(&by_environment.stderr).into_owned();
    assert_eq!(by_environment.status.code(), Some(2), "{said}");
    assert!(said.contains("error: settings are applied only to servers that are howdah's own"), "{said}");
    let stranger = doctor(&["--facts", "any.json", "--apply", "commit.delay"]);
    assert_eq!(stranger.status.code(), Some(2));

    trial
        .sql("CREATE TABLE t (a int, b int);\nCREATE INDEX short ON t (a);\nCREATE INDEX longer ON t (a, b)");
    trial.set(&["SET commit_delay = 10"]);
    for (id, why) in [
        (
            "index.duplicate",
            "\"index.duplicate\" cannot be applied: its remedies are no settings of the server",
        ),
        ("fk.cost", "\"fk.cost\" cannot be applied: nothing was found under this name"),
        ("commit.delay,nonsense", "\"nonsense\" cannot be applied: "),
    ] {
        let done = trial.apply(id, &["--table", "t"]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{id}: {said}");
        assert!(
            said.contains(why) && said.contains("hint: what can be applied: commit.delay"),
            "{id}: {said}"
        );
    }
    assert_eq!(trial.set_by_alter_system(), ["commit_delay = '10'"]);
}

#[test]
fn who_is_stopped_in_the_middle_puts_back() {
    let trial = Trial::new();
    trial.set(&SLOW);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let child = trial.under_way();
        let second = trial.apply("commit.delay", &[]);
        let said = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(second.status.code(), Some(2), "{said}");
        assert!(said.contains("another process tries settings on the server trial"), "{said}");
        assert!(trial.done(&["server", "--name", "trial", "status"]).contains("\nbeing tried: commit_delay"));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let done = child.guarded_output();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(said.contains("now: commit_delay: put back as it was"), "{said}");
        assert_eq!(trial.set_by_alter_system(), SLOW_STANDS);
        assert_eq!(trial.sql("SHOW commit_delay"), "20000");
        assert!(!trial.is_written_down());
    }
}

#[test]
fn what_somebody_else_sets_meanwhile_stays() {
    let trial = Trial::new();
    trial.set(&SLOW);
    let child = trial.under_way();
    trial.set(&["SET commit_delay = 77"]);
    let done = child.guarded_output();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("commit_delay was set by somebody else meanwhile"), "{said}");
    assert!(said.contains("commit_delay: as somebody else set it"), "{said}");
    assert_eq!(trial.set_by_alter_system(), ["commit_delay = '77'", "commit_siblings = '0'"]);
    assert!(!trial.is_written_down());
}

#[test]
fn what_one_who_is_killed_leaves_is_put_back_by_the_next_and_by_a_start() {
    let trial = Trial::new();
    trial.set(&SLOW);
    let kill = || {
        let mut child = trial.under_way();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(trial.is_written_down());
        // It may have been killed while the old value had its turn.
        trial.set(&["SET commit_delay = 0"]);
    };
    kill();
    let status = trial.done(&["server", "--name", "trial", "status"]);
    assert!(status.contains("\nleft by a doctor --apply that was killed: commit_delay; "), "{status}");
    let next = trial.apply("nonsense", &[]);
    let said = String::from_utf8_lossy(&next.stderr).into_owned();
    assert!(
        said.contains("note: commit_delay: put back as it was, since an earlier --apply was killed"),
        "{said}"
    );
    assert!(said.contains("hint: what can be applied: commit.delay"), "{said}");
    assert_eq!(
        (trial.set_by_alter_system(), trial.sql("SHOW commit_delay").as_str()),
        (SLOW_STANDS.map(str::to_owned).into(), "20000")
    );
    assert!(!trial.is_written_down());

    kill();
    trial.done(&["server", "--name", "trial", "stop"]);
    trial.done(&["server", "--name", "trial", "start"]);
    assert_eq!(
        (trial.set_by_alter_system(), trial.sql("SHOW commit_delay").as_str()),
        (SLOW_STANDS.map(str::to_owned).into(), "20000")
    );
    assert!(!trial.is_written_down());
}

#[test]
fn a_setting_that_needs_a_restart_gets_one_where_nobody_is_cut_off() {
    let trial = Trial::new();
    trial.set(&["SET shared_buffers = '1MB'"]);
    let again = || {
        trial.done(&["server", "--name", "trial", "stop"]);
        trial.done(&["server", "--name", "trial", "start"]);
    };
    again();
    trial.sql(
        "CREATE TABLE keys (id uuid DEFAULT gen_random_uuid() PRIMARY KEY, n int);\n
         INSERT INTO keys (n) SELECT n FROM generate_series(1, 50000) n;\nANALYZE keys",
    );
    let began = "SELECT pg_postmaster_start_time()";
    let before = trial.sql(began);
    let url = trial.done(&["server", "--name", "trial", "url"]);
    let mut other = Command::new(server().bin_dir().join("psql"))
        .args(["-X", "-q", "-d", &url])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let others = "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'psql' AND pid <> pg_backend_pid()";
    until("somebody is connected", || trial.sql(others) == "t");
    let refused = trial.apply("index.cache", &["--table", "keys"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("would end others' sessions: 1 of them are open"), "{said}");
    assert_eq!(trial.sql(began), before);
    drop(other.stdin.take());
    other.wait().unwrap();

    let done = trial.apply("index.cache", &["--table", "keys", "--seconds", "8", "-q", "--report", "json"]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let applied = &report["applied"][0];
    assert_eq!((&applied["is_restart"], &applied["purpose"]), (&json!(true), &json!("estimate")));
    assert_eq!(applied["settings"][0]["before"], "1MB");
    assert_ne!(trial.sql(began), before);
    // It is an estimate: it stays unless something is slower.
    let is = if applied["is_kept"] == true { "after" } else { "before" };
    assert_eq!(trial.sql("SHOW shared_buffers"), applied["settings"][0][is], "{applied:#}");
    assert_eq!(trial.sql("SELECT count(*) FROM pg_settings WHERE pending_restart"), "0");
    assert!(!trial.is_written_down());
    assert!(figure(applied, "rows").is_some(), "{applied:#}");
}
