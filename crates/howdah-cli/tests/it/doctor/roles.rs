//! States of a role, and what a role sees that has no rights.

use super::{find, ids, looked, server, statements};

const PASSWORD: &str = "role-password-31c";

/// A role of that name, and how it connects.
fn role(name: &str) -> String {
    let server = server();
    server.sql(&format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'"));
    format!("{} user={name} password={PASSWORD}", server.conninfo())
}

#[test]
fn a_state_of_a_role_is_found_and_its_remedy_ends_it() {
    let server = server();
    server.sql("CREATE TABLE theirs (a int); ALTER TABLE theirs ENABLE ROW LEVEL SECURITY; CREATE TABLE ours (a int)");
    for (name, made_by, table, id, evidence, remedy) in [
        (
            "hasty",
            "ALTER ROLE hasty SET statement_timeout = '10min'",
            "ours",
            "server.timeouts",
            "600000ms, set for the role",
            1,
        ),
        (
            "idle",
            "ALTER ROLE idle SET idle_in_transaction_session_timeout = 5000",
            "ours",
            "server.timeouts",
            "5000ms",
            1,
        ),
        (
            "reader",
            "ALTER ROLE reader SET default_transaction_read_only = on",
            "ours",
            "server.not-writable",
            "set for the role",
            1,
        ),
        (
            "lossy",
            "ALTER ROLE lossy SET synchronous_commit = off",
            "ours",
            "commit.already-off",
            "set for the role",
            1,
        ),
        (
            "chatty",
            "ALTER ROLE chatty SET log_statement = 'all'",
            "ours",
            "server.logging",
            "log_statement = all",
            0,
        ),
        ("stranger", "SELECT", "ours", "table.rights", "no right on it", 0),
        ("watched", "GRANT INSERT ON theirs TO watched", "theirs", "table.rls", "row_security_active", 0),
    ] {
        let conninfo = role(name);
        server.sql(made_by);
        let report = looked(&conninfo, &["--table", table]);
        let finding = find(&report, id).unwrap_or_else(|| panic!("{id}: {:#}", report["findings"]));
        assert!(finding["evidence"].to_string().contains(evidence), "{id}: {finding:#}");
        // Whoever reads it is told to ask somebody who may.
        server.sql(&statements(finding, remedy));
        let report = looked(&conninfo, &["--table", table]);
        assert!(find(&report, id).is_none(), "{id}: {:#}", report["findings"]);
    }
}

#[test]
fn whose_setting_it_is_decides_how_it_is_set_back() {
    let server = server();
    let conninfo = role("placed");
    let database = server.sql("SELECT current_database()");
    server.sql(&format!("ALTER ROLE placed IN DATABASE {database} SET statement_timeout = 7000"));
    let report = looked(&conninfo, &[]);
    let finding = find(&report, "server.timeouts").unwrap();
    let undo = finding["remedies"][1]["undo"].as_str().unwrap().to_owned();
    server.sql(&statements(finding, 1));
    assert!(find(&looked(&conninfo, &[]), "server.timeouts").is_none());
    server.sql(&undo);
    assert_eq!(find(&looked(&conninfo, &[]), "server.timeouts").unwrap(), finding);
}

#[test]
fn a_role_without_rights_is_told_what_it_cannot_see() {
    let server = server();
    server.sql("CREATE SCHEMA closed; CREATE TABLE closed.hidden (id serial, body text)");
    let conninfo = role("nobody");
    let report = looked(&conninfo, &["--table", "closed.hidden"]);
    let grants: Vec<&str> =
        report["not_seen"].as_array().unwrap().iter().filter_map(|gap| gap["shown_by"].as_str()).collect();
    for grant in [
        "GRANT pg_monitor TO nobody;",
        "GRANT SELECT ON SEQUENCE closed.hidden_id_seq TO nobody;",
        "GRANT SELECT ON closed.hidden TO nobody;",
    ] {
        assert!(grants.contains(&grant), "{grant} {:#}", report["not_seen"]);
    }
    // Not seen is not fine.
    let fine = report["fine"].to_string();
    for id in ["server.transactions", "repl.lag", "column.numbers-end", "column.toast", "disk.space"] {
        assert!(!fine.contains(id), "{id}: {fine}");
    }
    assert!(ids(&report).contains(&"table.rights"));
    for grant in grants {
        server.sql(grant);
    }
    let report = looked(&conninfo, &["--table", "closed.hidden"]);
    assert_eq!(report["not_seen"].as_array().unwrap().len(), 0, "{:#}", report["not_seen"]);
}
