//! States of a server, whatever goes into it.

use std::time::Duration;

use crate::doctor::slowdown::{Around, Look, Slowdown};

pub(super) const STATES: &[Slowdown] = &[
    Slowdown::of_server("far", "a network with a round trip of 2 ms", "net.round-trip")
        .around(Around::Far(Duration::from_millis(2))),
    Slowdown::of_server("slow-disk", "each commit is held back for 20 ms", "commit.delay")
        .with(&[("commit_delay", "20000"), ("commit_siblings", "0")]),
    Slowdown::of_server("commits-off", "commits that do not wait for the disk", "commit.already-off")
        .with(&[("synchronous_commit", "off")]),
    Slowdown::of_server("statement-log", "each statement is logged", "server.logging")
        .with(&[("log_statement", "all")]),
    Slowdown::of_server("unsafe", "a server without fsync", "wal.unsafe").with(&[("fsync", "off")]),
    Slowdown {
        last: &["ALTER SYSTEM SET synchronous_standby_names = 'absent'", "SELECT pg_reload_conf()"],
        awaits: "SELECT current_setting('synchronous_standby_names') = 'absent'",
        ..Slowdown::of_server("absent-standby", "commits wait for a standby that is not there", "commit.standby")
    },
    Slowdown {
        last: &["SELECT pg_create_physical_replication_slot('left_over', true)"],
        ..Slowdown::of_server("unread-slot", "a replication slot from which nobody reads", "repl.slots")
    },
    Slowdown {
        last: &["SELECT pg_switch_wal()"],
        awaits: "SELECT failed_count > 0 FROM pg_stat_archiver",
        ..Slowdown::of_server("failing-archive", "the log cannot be archived", "wal.archive")
            .with(&[("archive_mode", "on"), ("archive_command", "false")])
    },
    Slowdown {
        last: &["ALTER ROLE CURRENT_USER SET default_transaction_read_only = on"],
        ..Slowdown::of_server("read-only", "a role whose transactions are read-only", "server.not-writable")
    },
    Slowdown {
        last: &["ALTER ROLE CURRENT_USER SET statement_timeout = '10min'"],
        ..Slowdown::of_server("time-limit", "a role whose statements end after ten minutes", "server.timeouts")
    },
    Slowdown::of_server("few-connections", "a server of four connections", "server.connections")
        .with(&[("max_connections", "4"), ("superuser_reserved_connections", "1")]),
    Slowdown {
        last: &["CREATE TABLE filler (a int, b text)"],
        look: Look::Watch,
        ..Slowdown::of_server("new-log-files", "files of the log are never used again", "wal.new-files")
            .with(&[
                ("wal_recycle", "off"),
                ("min_wal_size", "32MB"),
                ("max_wal_size", "8GB"),
            ])
            .around(Around::Writes(
                "INSERT INTO filler SELECT i, repeat('x', 200) FROM generate_series(1, 200000) i; TRUNCATE filler",
            ))
    },
];
