//! Persistent servers: they survive, are found again, and are repaired after every kind of violence.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::thread;

use howdah_server::{Error, Persistent, Server, Status};
use howdah_testkit::require::missing;

use crate::helper::Helper;
use crate::tools::{ask, base, processes_of, within};

/// A server that is deleted at the end of a test, however it ends.
struct Ours(Persistent);

impl Ours {
    fn new(base: &Path, name: &str) -> Ours {
        Ours(Persistent::in_directory(base, name).unwrap())
    }
    fn start(&self) -> Server {
        self.0.start().unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.0.delete();
    }
}

#[test]
fn data_survive_a_stop_and_the_connection_string_stays() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    assert!(matches!(ours.0.status().unwrap(), Status::Absent));
    assert!(!ours.0.stop().unwrap());
    let first = ours.start();
    ask(&first, &first.conninfo(), "CREATE TABLE kept AS SELECT 42 AS n");
    assert!(matches!(ours.0.status().unwrap(), Status::Running(server) if server.pid() == first.pid()));
    assert_eq!(ours.start().pid(), first.pid());
    // What was chosen for it is what it has, and does not take durability from it.
    for setting in first.chosen_settings() {
        let (name, value) = setting.split_once(' ').unwrap();
        let differs = format!("SELECT pg_size_bytes(current_setting('{name}')) <> pg_size_bytes('{value}')");
        if name != "checkpoint_timeout" {
            assert_eq!(ask(&first, &first.conninfo(), &differs), "f", "{setting}");
        }
    }
    let names: Vec<&str> = first.chosen_settings().iter().filter_map(|s| s.split(' ').next()).collect();
    assert!(names.contains(&"max_wal_size") && names.contains(&"shared_buffers"), "{names:?}");
    let safe = "SELECT current_setting('fsync') || current_setting('full_page_writes') || current_setting('synchronous_commit')";
    assert_eq!(ask(&first, &first.conninfo(), safe), "ononon");

    assert!(ours.0.stop().unwrap());
    assert!(matches!(ours.0.status().unwrap(), Status::Stopped { .. }));
    assert_eq!(processes_of(base.path()), Vec::<String>::new());

    let second = ours.start();
    assert_ne!(second.pid(), first.pid());
    assert_eq!(second.url(), first.url());
    assert_eq!(ask(&second, &second.url(), "SELECT n FROM kept"), "42");
    assert!(ours.0.delete().unwrap());
    assert!(!ours.0.delete().unwrap());
    assert_eq!(processes_of(base.path()), Vec::<String>::new());
    assert!(!ours.0.directory().exists());
}

/// This program in a shell that leads to no PostgreSQL of the right version: no variables, nothing in the search path.
fn in_a_bare_shell() -> Helper {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env_clear().env("PATH", "/nowhere");
    Helper::spawn(command)
}

#[test]
fn a_server_is_served_from_a_shell_that_does_not_lead_to_its_programs() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let server = ours.start();
    let here = [base.path().to_str().unwrap(), "default"];
    let programs = ours.0.directory().join("programs");
    assert_eq!(fs::metadata(&programs).unwrap().permissions().mode() & 0o777, 0o600);
    let ask = |command: &str| in_a_bare_shell().ask(&[command, here[0], here[1]]);
    let pid = server.pid().to_string();
    assert_eq!(ask("status"), [pid.as_str(), server.version(), server.bin_dir().to_str().unwrap()]);
    assert_eq!(ask("start"), [pid.as_str(), &server.url()]);
    assert_eq!(ask("stop"), ["true"]);
    // Started with the programs that it ran with before.
    assert_eq!(ask("start")[1], server.url());
    assert!(ours.0.stop().unwrap());
}

#[test]
fn a_running_server_is_reached_though_its_programs_are_nowhere_to_be_found() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let server = ours.start();
    let gone = base.path().join("gone");
    for text in [Some(gone.to_str().unwrap()), None] {
        let programs = ours.0.directory().join("programs");
        match text {
            Some(text) => fs::write(programs, text).unwrap(),
            None => fs::remove_file(programs).unwrap(),
        }
        // A wrong choice of the person's leads to no programs on any machine.
        let ask = |command: &str| {
            let mut shell = Command::new(std::env::current_exe().unwrap());
            shell.env_clear().env("HOWDAH_PG_BIN", &gone);
            Helper::spawn(shell).ask(&[command, base.path().to_str().unwrap(), "default"])
        };
        let major = server.version().split('.').next().unwrap();
        // The third word, the programs, is empty.
        assert_eq!(ask("status"), [server.pid().to_string().as_str(), major]);
        assert_eq!(ask("start"), [server.pid().to_string(), server.url()]);
    }
    assert!(ours.0.stop().unwrap());
}

#[test]
fn servers_with_two_names_are_two_servers() {
    let base = base();
    let (one, two) = (Ours::new(base.path(), "one"), Ours::new(base.path(), "two"));
    let (first, second) = (one.start(), two.start());
    assert_ne!(first.port(), second.port());
    assert_ne!(first.password(), second.password());
    ask(&first, &first.conninfo(), "CREATE TABLE only_here ()");
    assert_eq!(ask(&second, &second.conninfo(), "SELECT to_regclass('only_here') IS NULL"), "t");
    one.0.delete().unwrap();
    assert_eq!(ask(&second, &second.conninfo(), "SELECT 1"), "1");
}

#[test]
fn it_survives_its_starter_even_when_that_is_killed() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let mut starter = Helper::start();
    let answer = starter.ask(&["start", base.path().to_str().unwrap(), "default"]);
    starter.kill();
    let Status::Running(server) = ours.0.status().unwrap() else { panic!("not running") };
    assert_eq!(server.pid().to_string(), answer[0]);
    assert_eq!(ask(&server, &answer[1], "SELECT 1"), "1");
    assert!(ours.0.stop().unwrap());
}

#[test]
fn a_server_that_runs_on_keeps_nobody_waiting_for_the_end_of_a_pipe() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let mut starter = Helper::start_with_descriptor_three();
    starter.ask(&["start", base.path().to_str().unwrap(), "default"]);
    let reader = thread::spawn(|| starter.read_to_end());
    assert!(within(5, || reader.is_finished()));
    assert!(ours.0.stop().unwrap());
}

#[test]
fn a_server_is_recognised_through_a_symbolic_link() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let server = ours.start();
    let link = base.path().join("link");
    std::os::unix::fs::symlink(base.path(), &link).unwrap();
    let linked = Persistent::in_directory(&link, "default").unwrap();
    assert!(matches!(linked.status().unwrap(), Status::Running(same) if same.pid() == server.pid()));
    assert_eq!(linked.start().unwrap().pid(), server.pid());
    assert!(linked.stop().unwrap());
}

#[test]
fn a_directory_closed_to_the_server_s_user_is_named() {
    if !rustix::process::geteuid().is_root() {
        return missing("root", "only root's servers run under another account");
    }
    let base = base();
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let error = Persistent::in_directory(base.path(), "default").unwrap().start().unwrap_err();
    assert!(matches!(&error, Error::Unreachable { path, .. } if path.starts_with(base.path())), "{error}");
    assert!(error.hint().unwrap().contains("HOWDAH_DATA_DIR"));
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1, "more than the lock is left");
}

#[test]
fn two_processes_that_start_it_at_once_get_one_server() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let mut starters: Vec<Helper> = (0..4).map(|_| Helper::start()).collect();
    for starter in &mut starters {
        starter.tell(&["start", base.path().to_str().unwrap(), "default"]);
    }
    let answers: Vec<_> = starters.iter_mut().map(Helper::answer).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert!(ours.0.stop().unwrap());
}

#[test]
fn a_killed_server_is_recovered() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let server = ours.start();
    ask(&server, &server.conninfo(), "CREATE TABLE kept AS SELECT 42 AS n");
    kill("KILL", server.pid());
    assert!(within(10, || processes_of(&base.path().join("default")).is_empty()));
    assert!(matches!(ours.0.status().unwrap(), Status::Stopped { .. }));
    let again = ours.start();
    assert_eq!(ask(&again, &again.conninfo(), "SELECT n FROM kept"), "42");
}

#[test]
fn a_pid_file_that_names_somebody_else_s_process_keeps_nobody_from_starting() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let server = ours.start();
    let pid_file = server.data_dir().join("postmaster.pid");
    let text = fs::read_to_string(&pid_file).unwrap();
    ours.0.stop().unwrap();
    // As after a reboot: the number belongs to another process, of the server's own user even.
    let mut other = sleeper_of(server.data_dir());
    let stale = text.replacen(&server.pid().to_string(), &other.id().to_string(), 1);
    fs::write(&pid_file, &stale).unwrap();
    std::os::unix::fs::chown(&pid_file, Some(fs::metadata(server.data_dir()).unwrap().uid()), None).unwrap();

    assert!(matches!(ours.0.status().unwrap(), Status::Stopped { .. }));
    assert!(!ours.0.stop().unwrap());
    let again = ours.start();
    assert_eq!(ask(&again, &again.conninfo(), "SELECT 1"), "1");
    assert!(other.try_wait().unwrap().is_none(), "the other process was harmed");
    other.kill().unwrap();
    other.wait().unwrap();
}

/// A process of the user who owns `directory`, so that PostgreSQL would take its number for a living server's.
fn sleeper_of(directory: &Path) -> std::process::Child {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("sleep");
    command.arg("600").current_dir("/");
    let owner = fs::metadata(directory).unwrap().uid();
    if owner != rustix::process::geteuid().as_raw() {
        command.uid(owner);
    }
    command.spawn().unwrap()
}

#[test]
fn an_empty_pid_file_of_a_crash_keeps_nobody_from_starting() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let data_dir = ours.start().data_dir().to_path_buf();
    ours.0.stop().unwrap();
    fs::write(data_dir.join("postmaster.pid"), "").unwrap();
    ours.start();
}

#[test]
fn a_half_made_directory_is_no_server_and_is_removed() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let partial = base.path().join("default.partial-0badcafe");
    fs::create_dir_all(partial.join("data/base")).unwrap();
    fs::write(partial.join("howdah-server"), "").unwrap();
    let another_s = base.path().join("default-2.partial-0badcafe");
    fs::create_dir_all(&another_s).unwrap();
    assert!(matches!(ours.0.status().unwrap(), Status::Absent));
    let server = ours.start();
    assert_eq!(ask(&server, &server.conninfo(), "SELECT 1"), "1");
    assert!(!partial.exists());
    assert!(another_s.exists(), "another server may be in the making there");
}

#[test]
fn a_start_killed_in_the_middle_of_initdb_is_repeated() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let mut starter = Helper::start();
    starter.tell(&["start", base.path().to_str().unwrap(), "default"]);
    let version_file = |path: &Path| path.join("data/PG_VERSION").exists();
    let half_made = || fs::read_dir(base.path()).unwrap().flatten().any(|entry| version_file(&entry.path()));
    assert!(within(10, half_made));
    starter.kill();
    assert!(!ours.0.directory().exists());
    let server = ours.start();
    assert_eq!(ask(&server, &server.conninfo(), "SELECT 1"), "1");
    let left = || fs::read_dir(base.path()).unwrap().count();
    assert!(within(5, || left() == 2), "more than the server and its lock is left");
}

#[test]
fn data_of_another_version_are_not_touched_by_these_programs() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let data_dir = ours.start().data_dir().to_path_buf();
    ours.0.stop().unwrap();
    fs::write(data_dir.join("PG_VERSION"), "9\n").unwrap();
    let error = ours.0.start().unwrap_err();
    assert!(matches!(error, Error::NoBinaries { major: Some(9), .. }), "{error}");
    assert!(error.hint().unwrap().contains("made by PostgreSQL 9"), "{error}");
}

#[test]
fn a_taken_port_is_replaced() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let first = ours.start();
    ours.0.stop().unwrap();
    let taken = std::net::TcpListener::bind(("127.0.0.1", first.port())).unwrap();
    let second = ours.start();
    assert_ne!(second.port(), first.port());
    assert_eq!(ask(&second, &second.url(), "SELECT 1"), "1");
    drop(taken);
    ours.0.stop().unwrap();
    assert_eq!(ours.start().port(), second.port());
}

#[test]
fn delete_and_start_leave_a_foreign_directory_alone() {
    let base = base();
    let foreign = base.path().join("photos");
    fs::create_dir_all(foreign.join("data")).unwrap();
    fs::write(foreign.join("data/family.jpg"), "precious").unwrap();
    let named = Persistent::in_directory(base.path(), "photos").unwrap();
    assert!(matches!(named.delete(), Err(Error::Foreign(path)) if path == foreign));
    assert!(matches!(named.start(), Err(Error::Foreign(_))));
    assert!(matches!(named.stop(), Err(Error::Foreign(_))));
    assert!(matches!(named.status(), Err(Error::Foreign(_))));
    assert_eq!(fs::read_to_string(foreign.join("data/family.jpg")).unwrap(), "precious");
    for name in ["", "..", "a/b", ".hidden", "a b", &"x".repeat(41)] {
        assert!(matches!(Persistent::in_directory(base.path(), name), Err(Error::BadName(_))), "{name:?}");
    }
}

#[test]
fn a_long_path_still_gets_a_socket_and_leaves_none_behind() {
    let base = base();
    let deep = base.path().join("d".repeat(100));
    fs::create_dir(&deep).unwrap();
    let ours = Ours::new(&deep, "default");
    let server = ours.start();
    let socket_dir = server.socket_dir().to_path_buf();
    assert!(socket_dir.starts_with("/tmp"), "{}", socket_dir.display());
    assert_eq!(fs::metadata(&socket_dir).unwrap().mode() & 0o777, 0o700);
    assert_eq!(ask(&server, &server.conninfo(), "SELECT 1"), "1");
    ours.0.stop().unwrap();
    assert!(!socket_dir.exists());
}

#[test]
fn a_server_that_does_not_start_shows_its_log() {
    let base = base();
    let ours = Ours::new(base.path(), "default");
    let data_dir = ours.start().data_dir().to_path_buf();
    ours.0.stop().unwrap();
    let conf = data_dir.join("postgresql.conf");
    let text = fs::read_to_string(&conf).unwrap();
    fs::write(&conf, format!("{text}\nno_such_setting = 1\n")).unwrap();
    let error = ours.0.start().unwrap_err().to_string();
    assert!(error.contains("unrecognized configuration parameter \"no_such_setting\""), "{error}");
    assert!(error.contains("server.log"), "{error}");
    fs::write(&conf, text).unwrap();
    ours.start();
}

#[test]
fn a_plain_user_has_servers_too() {
    let base = base();
    let mut user = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(base.path(), Some(65534), Some(65534)).unwrap();
        Helper::start_as_nobody(base.path())
    } else {
        Helper::start()
    };
    let base_name = base.path().to_str().unwrap();
    let answer = user.ask(&["start", base_name, "mine"]);
    let directory = base.path().join("mine");
    assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(directory.join("password")).unwrap().mode() & 0o777, 0o600);
    assert!(!processes_of(&directory).is_empty(), "{answer:?}");
    let throwaway = user.ask(&["throwaway"]);
    assert!(Path::new(&throwaway[0]).parent().unwrap().exists());
    assert_eq!(user.ask(&["delete", base_name, "mine"]), ["true"]);
    assert_eq!(processes_of(&directory), Vec::<String>::new());
    drop(user);
    assert!(!Path::new(&throwaway[0]).parent().unwrap().exists());
}

fn kill(signal: &str, pid: u32) {
    let killed = Command::new("/bin/sh").args(["-c", &format!("kill -s {signal} {pid}")]).status().unwrap();
    assert!(killed.success());
}
