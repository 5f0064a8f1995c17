//! Reports that were saved, and files that strangers wrote.

use serde_json::{Value, json};

use super::{doctor, ids, looked, server, statements};

fn judged(file: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let done = doctor(&[&["--facts", file], args].concat());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn a_saved_report_is_judged_alike_without_a_server() {
    let server = server();
    server.sql(
        "CREATE UNLOGGED TABLE saved (a int, b int); CREATE INDEX ON saved (a); CREATE INDEX ON saved (a, b)",
    );
    let report = looked(&server.conninfo(), &["--table", "saved", "--size", "9GB"]);
    assert!(ids(&report).len() >= 3);
    let directory = std::env::temp_dir().join(format!("howdah-doctor-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("saved.json").to_string_lossy().into_owned();
    std::fs::write(&path, report.to_string()).unwrap();
    let (code, out, err) = judged(&path, &["--report", "json"]);
    assert_eq!((code, &*err), (Some(0), ""));
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), report);
    // For another load.
    let (_, out, _) = judged(&path, &["--report", "json", "--size", "1GB"]);
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["ask"]["bytes"], 1_000_000_000);

    std::fs::write(&path, "{}").unwrap();
    assert_eq!(judged(&path, &[]).0, Some(2));
    std::fs::write(&path, b"\xff\xfe").unwrap();
    assert_eq!(judged(&path, &[]).0, Some(1));
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(judged(&path, &[]).0, Some(1));
    assert_eq!(judged(&path, &["-d", "shop"]).0, Some(2));
}

#[test]
fn a_name_of_a_stranger_is_quoted_and_moves_no_cursor() {
    let evil = "x\"; DROP TABLE t; --\u{1b}[2J\u{202e}\n```\n<b>`'";
    let seen = |value: Value| json!({ "seen": value });
    let facts = json!({
        "session": { "version": evil, "version_num": 180_001, "database": evil, "role": evil, "encoding": evil, "in_recovery": true },
        "settings": seen(json!([{ "name": "statement_timeout", "value": "5", "unit": evil, "source": "user" },
                                { "name": evil, "value": evil, "source": evil },
                                { "name": "idle_in_transaction_session_timeout", "value": "0" },
                                { "name": "transaction_timeout", "value": "0" }])),
        "prepared": seen(json!([{ "gid": evil, "owner": evil, "database": evil, "seconds": 1e9 }])),
        "slots": seen(json!([{ "name": evil, "kept": 1e300 }])),
        "table": {
            "schema": evil, "name": evil, "kind": "r", "owner": evil, "is_unlogged": true, "uses_schema": false, "fillfactor": 1e9,
            "locks": seen(json!([{ "pid": 1, "mode": evil, "role": evil, "state": evil, "is_held": true }])),
            "indexes": seen(json!([{ "schema": evil, "name": evil, "covered_by": evil, "is_plain": true, "is_valid": true,
                                     "columns": [evil], "method": evil }])),
            "triggers": seen(json!([{ "name": evil, "function": evil, "is_for_rows": true }])),
            "foreign_keys": seen(json!([{ "name": evil, "columns": [evil], "parent": evil, "is_plain": true, "on_delete": evil }])),
        },
    });
    let path = std::env::temp_dir().join(format!("howdah-hostile-{}.json", std::process::id()));
    let file = json!({ "report_format": 1, "report": "doctor", "facts": facts, "findings": [{ "id": "wal.unsafe", "title": evil }] });
    std::fs::write(&path, file.to_string()).unwrap();
    let path = path.to_string_lossy().into_owned();
    for form in ["text", "markdown", "json"] {
        let (code, out, err) = judged(&path, &["--report", form, "-v"]);
        assert_eq!((code, &*err), (Some(0), ""));
        let is_bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!out.contains(is_bad), "{form}: {out:?}");
        // Nothing of what it claims to have found is believed.
        assert!(!out.contains("wal.unsafe:"), "{form}: {out}");
        if form == "markdown" {
            assert!(!out.contains("<b>`'\n") && !out.contains("\n<b>"), "{out}");
        }
    }
    let (_, out, _) = judged(&path, &["--report", "json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    let found = |id: &str| {
        report["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == id).unwrap().clone()
    };
    // In the form that stays the same name when what cannot be seen is written as an escape.
    let name = r#"U&"x""; DROP TABLE t; --\+00001B[2J\+00202E\+00000A```\+00000A<b>`'""#;
    assert_eq!(statements(&found("index.duplicate"), 0), format!("DROP INDEX CONCURRENTLY {name}.{name};"));
    assert_eq!(
        statements(&found("trigger.row"), 0),
        format!("ALTER TABLE {name}.{name} DISABLE TRIGGER {name};")
    );
    let gid = r#"U&'x"; DROP TABLE t; --\+00001B[2J\+00202E\+00000A```\+00000A<b>`'''"#;
    assert_eq!(statements(&found("server.prepared"), 0), format!("ROLLBACK PREPARED {gid};"));
    std::fs::remove_file(&path).unwrap();
}
