//! Throwaway servers: settings, and that nothing of them is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use howdah_server::{Error, Settings, Shutdown, Throwaway};

use crate::helper::Helper;
use crate::tools::{ask, processes_of, within};

fn root_of(data_dir: &Path) -> PathBuf {
    data_dir.parent().unwrap().to_path_buf()
}

#[test]
fn a_dropped_server_leaves_no_process_and_no_directory() {
    let server = Throwaway::start(&Settings::fast_and_unsafe()).unwrap();
    let root = root_of(server.data_dir());
    assert!(root.is_dir());
    drop(server);
    assert_eq!(processes_of(&root), Vec::<String>::new());
    assert!(!root.exists());
}

#[test]
fn a_killed_owner_leaves_no_process_and_no_directory() {
    let mut owner = Helper::start();
    let answer = owner.ask(&["throwaway"]);
    let root = root_of(Path::new(&answer[0]));
    assert!(!processes_of(&root).is_empty());
    owner.kill();
    assert!(within(5, || processes_of(&root).is_empty() && !root.exists()), "{:?}", processes_of(&root));
}

#[test]
fn an_owner_killed_at_any_moment_of_the_start_leaves_nothing() {
    // A start takes half a second: initdb, the creation of the database, the start and the stop are all hit.
    for milliseconds in [5, 40, 150, 300, 450, 550, 650, 900] {
        let mut owner = Helper::start();
        owner.tell(&["throwaway-loop"]);
        thread::sleep(Duration::from_millis(milliseconds));
        let roots = roots_of_children(owner.process.id());
        owner.kill();
        for root in roots {
            assert!(
                within(5, || processes_of(&root).is_empty() && !root.exists()),
                "{}: {:?} after {milliseconds} ms",
                root.display(),
                processes_of(&root)
            );
        }
    }
}

/// The directories that an owner's watchdogs watch over.
fn roots_of_children(owner: u32) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut arguments = command.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        if parent == Some(&owner.to_string()) && arguments.any(|argument| argument == "howdah-watchdog") {
            roots.extend(arguments.next().map(|root| PathBuf::from(&*root)));
        }
    }
    roots
}

#[test]
fn the_terminal_s_ctrl_c_does_not_reach_the_server_before_its_owner_has_finished() {
    let server = Throwaway::start(&Settings::fast_and_unsafe()).unwrap();
    let group = |process: &str| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(2).unwrap().to_owned()
    };
    let ours = group("self");
    assert_ne!(group(&server.pid().to_string()), ours);
    let watchdogs = roots_of_children(std::process::id());
    assert!(watchdogs.contains(&root_of(server.data_dir())));
}

#[test]
fn servers_side_by_side_do_not_get_into_each_other_s_way() {
    let servers: Vec<Throwaway> = thread::scope(|scope| {
        let starts: Vec<_> =
            (0..3).map(|_| scope.spawn(|| Throwaway::start(&Settings::fast_and_unsafe()).unwrap())).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    for (index, server) in servers.iter().enumerate() {
        ask(server, &server.conninfo(), &format!("CREATE TABLE mark AS SELECT {index} AS n"));
    }
    for (index, server) in servers.iter().enumerate() {
        assert_eq!(ask(server, &server.conninfo(), "SELECT n FROM mark"), index.to_string());
    }
}

#[test]
fn settings_arrive_and_without_them_the_server_is_postgresql_s_own() {
    let defaults = Throwaway::start(&Settings::new()).unwrap();
    let differing = "SELECT string_agg(name, ' ' ORDER BY name) FROM pg_settings WHERE source = 'configuration file' \
                     AND setting IS DISTINCT FROM boot_val AND name !~ '^(lc_|Date|default_text|log_timezone|TimeZone)'";
    // What initdb itself writes and nothing else.
    let by_initdb = ["", "max_wal_size min_wal_size", "dynamic_shared_memory_type"];
    let differing = ask(&defaults, &defaults.conninfo(), differing);
    assert!(by_initdb.contains(&differing.as_str()), "{differing}");
    assert_eq!(ask(&defaults, &defaults.conninfo(), "SHOW fsync"), "on");

    let settings = Settings::fast_and_unsafe().with("wal_level", "minimal").with("max_wal_senders", "0");
    let server = Throwaway::start(&settings.with("cluster_name", "it's mine")).unwrap();
    let shown = "SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings WHERE name IN \
                 ('wal_level', 'fsync', 'cluster_name')";
    assert_eq!(ask(&server, &server.conninfo(), shown), "it's mine off minimal");
}

#[test]
fn a_server_that_refuses_its_settings_says_so_in_the_error() {
    let error = Throwaway::start(&Settings::new().with("shared_buffers", "a lot")).unwrap_err();
    assert!(matches!(&error, Error::Start { .. }), "{error}");
    assert!(error.to_string().contains("invalid value for parameter \"shared_buffers\""), "{error}");
    let Error::Start { data_dir, .. } = error else { unreachable!() };
    assert!(!root_of(&data_dir).exists());
}

#[test]
fn a_server_that_was_stopped_goes_on_with_its_data_at_its_address() {
    let mut server = Throwaway::start(&Settings::safe_from_crashes()).unwrap();
    ask(&server, &server.conninfo(), "CREATE TABLE t (n int)");
    for (round, how) in [Shutdown::Fast, Shutdown::Immediate, Shutdown::Immediate].into_iter().enumerate() {
        ask(&server, &server.conninfo(), "INSERT INTO t VALUES (1)");
        let (url, root) = (server.url(), root_of(server.data_dir()));
        server.stop(how).unwrap();
        server.stop(how).unwrap();
        let left: Vec<_> =
            processes_of(&root).into_iter().filter(|process| process.contains("postgres")).collect();
        assert_eq!(left, Vec::<String>::new(), "{how:?}");
        server.start_again().unwrap();
        assert_eq!(server.url(), url);
        assert_eq!(ask(&server, &url, "SELECT count(*) FROM t"), (round + 1).to_string(), "{how:?}");
    }
}

#[test]
fn a_stopped_server_that_is_dropped_leaves_nothing() {
    let mut server = Throwaway::start(&Settings::safe_from_crashes()).unwrap();
    let root = root_of(server.data_dir());
    server.stop(Shutdown::Immediate).unwrap();
    drop(server);
    assert_eq!(processes_of(&root), Vec::<String>::new());
    assert!(!root.exists());
}
