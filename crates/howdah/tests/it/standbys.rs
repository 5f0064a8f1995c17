//! Rows that no standby has, although the server is told to wait for one, are not called durable: whoever cuts that wait short,
//! and however.

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::options::Mode;
use howdah::report::Durability;
use howdah::{Control, Report};
use howdah_testkit::waiting::until;
use howdah_testkit::{OwnServer, Settings};

use crate::common::options;

/// A server that waits for a standby which never comes.
struct Rig {
    server: OwnServer,
    target: Target,
    file: tempfile::NamedTempFile,
}

impl Rig {
    fn new() -> Rig {
        // As a server is usually set up: loads into it are durable.
        let server = OwnServer::with(Settings::default());
        server.sql("CREATE TABLE t (n int)");
        let connect = ConnectOptions::default().conninfo(server.conninfo());
        let target = connect.resolve(&Environment::from_pairs([])).unwrap();
        let file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
        std::fs::write(file.path(), "n\n1\n").unwrap();
        let rig = Rig { server, target, file };
        rig.ask_for_standby(true);
        rig
    }

    fn ask_for_standby(&self, asks: bool) {
        if asks {
            return self.server.ask_for_a_standby("nobody");
        }
        self.server.sql("ALTER SYSTEM RESET synchronous_standby_names");
        self.server.sql("SELECT pg_reload_conf()");
        until("the setting is read", || self.server.sql("SHOW synchronous_standby_names").is_empty());
    }

    fn waiters(&self) -> String {
        self.server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    }

    /// Loads, and does `cut` to whoever waits for the standby: once if a standby `comes` then, else until the load ends.
    fn load(&self, cut: &str, comes: bool) -> (Report, String) {
        let wanted = options(&self.file.path().to_string_lossy(), "t").mode(Mode::Append).jobs(1);
        let control = Control::new();
        let report = std::thread::scope(|scope| {
            let load = scope.spawn(|| howdah::load(&wanted, &self.target, &control));
            until("it waits for a standby", || self.waiters() == "1");
            if comes {
                let first = "SELECT min(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
                let pid = self.server.sql(first);
                self.server.sql(&format!("SELECT {cut}({pid})"));
                until("it waits again", || self.waiters() == "1" && self.server.sql(first) != pid);
                self.ask_for_standby(false);
            }
            until("the load ends", || {
                if !comes {
                    let cut = format!("SELECT {cut}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
                    self.server.sql(&cut);
                }
                load.is_finished()
            });
            load.join().unwrap().unwrap()
        });
        self.ask_for_standby(true);
        let notices: Vec<String> = control.take_notices().iter().map(ToString::to_string).collect();
        (report, notices.join("\n"))
    }
}

#[test]
fn rows_that_no_standby_has_are_not_called_durable() {
    let rig = Rig::new();
    for cut in ["pg_terminate_backend", "pg_cancel_backend"] {
        let (report, notices) = rig.load(cut, false);
        assert_eq!(report.durability, Some(Durability::Unconfirmed), "{cut}: {notices}");
        assert!(notices.contains("might not have been replicated"), "{cut}: {notices}");
        assert!(notices.contains("a standby was cut short"), "{cut}: {notices}");
        // Where a later commit's wait is not cut short, all before it are there too.
        let (report, notices) = rig.load(cut, true);
        assert_eq!(report.durability, Some(Durability::Durable), "{cut}: {notices}");
        assert!(notices.contains("might not have been replicated"), "{cut}: {notices}");
    }
    assert_eq!(rig.server.sql("SELECT count(*) FROM t"), "4");
}
