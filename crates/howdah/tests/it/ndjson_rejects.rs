//! Bad records of JSON: each costs nothing but itself, and what is loaded and what is rejected add up to the input.

use howdah::LoadOptions;
use howdah::options::{Format, Mode, OnError};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

/// Everything but the account that `--on-error ignore` gives of a file: rows, rejects and what lies between them.
fn account(
    database: &Database,
    name: &str,
    input: &[u8],
    between: &[u8],
    jobs: usize,
) -> Vec<serde_json::Value> {
    database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (n int, s text)");
    let file = database.file(name, input);
    let rejects = database.path("rejects.jsonl");
    let _ = std::fs::remove_file(&rejects);
    let wanted = options(&file, "t").on_error(OnError::Ignore).rejects(rejects.clone()).jobs(jobs);
    let report = load(database, &wanted);
    assert_eq!(report.rows_read, report.rows + report.rows_rejected);
    let mut rejects: Vec<serde_json::Value> = std::fs::read_to_string(rejects)
        .unwrap_or_default()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    rejects.sort_by_key(|reject| reject["byte_offset"].as_u64());
    assert_eq!(report.rows_rejected, rejects.len() as u64);
    // Taken out, they leave the good records and nothing else.
    let mut left = Vec::new();
    let mut from = 0;
    for reject in &rejects {
        let offset = usize::try_from(reject["byte_offset"].as_u64().unwrap()).unwrap();
        let raw = match reject["raw"].as_str() {
            Some(raw) => raw.as_bytes().to_vec(),
            None => {
                use base64::Engine;
                base64::engine::general_purpose::STANDARD
                    .decode(reject["raw_base64"].as_str().unwrap())
                    .unwrap()
            }
        };
        assert_eq!(&input[offset..offset + raw.len()], raw, "{reject}");
        let line = 1 + input[..offset].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(reject["line"].as_u64(), Some(line), "{reject}");
        left.extend_from_slice(&input[from..offset]);
        from = offset + raw.len();
    }
    left.extend_from_slice(&input[from..]);
    let mut good = 0;
    let mut stream = &left[..];
    loop {
        let start = stream.iter().position(|byte| !between.contains(byte)).unwrap_or(stream.len());
        stream = &stream[start..];
        if stream.is_empty() {
            break;
        }
        let mut values = serde_json::Deserializer::from_slice(stream).into_iter::<serde_json::Value>();
        let value = values
            .next()
            .unwrap()
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(stream)));
        let end = values.byte_offset();
        stream = &stream[end..];
        let n = value["n"].as_i64().unwrap_or(-1);
        assert_eq!(
            database.sql(&format!("SELECT count(*) FROM t WHERE coalesce(n, -1) = {n}")),
            "1",
            "{value}"
        );
        good += 1;
    }
    assert_eq!(report.rows, good);
    rejects
}

#[test]
fn garbage_between_records_costs_nobody_anything_else() {
    let database = Database::new();
    let bad: [&[u8]; 14] = [
        b"nonsense",
        b"{\"n\":1",
        b"{\"n\":\"x\"}",
        b"{\"n\":1}}",
        b"[1,2]",
        b"{\"n\":3,\"s\":\"\\u0000\"}",
        b"{\"n\":4,\"s\":\"\xff\"}",
        b"{\"n\":5,\"s\":\"a\0b\"}",
        b"{\"n\":6,\"s\":\"open}",
        b"{\"other\":7}",
        b"\"",
        b"{\"n\":8,\"s\":\"\\x\"}",
        b"null",
        b"}{",
    ];
    let mut lines = Vec::new();
    for n in 0..140_usize {
        lines.extend_from_slice(format!("{{\"n\": {}, \"s\": \"é{n}\"}}\n", 100 + n).as_bytes());
        if n % 3 == 0 {
            lines.extend_from_slice(bad[n / 3 % bad.len()]);
            lines.extend_from_slice(if n % 2 == 0 { b"\n" } else { b"\r\n\n" });
        }
    }
    for jobs in [1, 2] {
        let rejects = account(&database, "lines.ndjson", &lines, b" \t\r\n", jobs);
        assert_eq!(rejects.len(), 47);
    }
    // Where one value ends is less clear between brackets; the account must hold all the same.
    let list: Vec<&[u8]> = vec![
        b"{\"n\":100}",
        b"{\"n\":\"x\"}",
        b"{\"n\":101} {\"n\":1}",
        b"",
        b"7",
        b"{\"n\":102}",
        b"{\"n\":2,}",
        b"{\"n\":103}",
        b"[[{}]]",
        b"{\"n\":3,\"s\":\"\xff\"}",
        b"{\"n\":104}",
    ];
    let list = [b"[", &list.join(&b" ,\n"[..])[..], b"] x"].concat();
    let rejects = account(&database, "list.json", &list, b" \t\r\n,[]", 1);
    assert_eq!(rejects.len(), 8, "{rejects:?}");
    let values =
        b"{\"n\":100}{\"n\":\n\"x\"} , {\"n\":101} \"}{\" {\"n\":102,\n\"s\":\"y\"} {\"n\":1,}{\"n\":103}";
    let rejects = account(&database, "values.json", values, b" \t\r\n", 1);
    assert_eq!(rejects.len(), 4, "{rejects:?}");
}

#[test]
fn a_file_that_is_cut_off_is_never_taken_for_a_whole_one() {
    let database = Database::new();
    let whole = b"[{\"n\":100,\"s\":\"a\"}, {\"n\":101} ,\n{\"n\":102}]\n";
    for end in 1..whole.len() - 1 {
        let rejects = account(&database, "list.json", &whole[..end], b" \t\r\n,[", 1);
        assert!(!rejects.is_empty(), "{end} bytes");
    }
    let file = database.file("cut.json", &whole[..20]);
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert!(error.message().contains("the input ends inside of its array"), "{error:?}");
    let lines = b"{\"n\":100}\n{\"n\":101}\n";
    for end in 11..lines.len() - 2 {
        assert_eq!(account(&database, "lines.ndjson", &lines[..end], b" \r\n", 1).len(), 1, "{end} bytes");
    }
}

#[test]
fn depth_without_end_is_a_bad_record_and_no_crash() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, d jsonb, a int[])");
    let deep = |open: &str, count: usize| open.repeat(count);
    let lines = [
        "{\"n\":1,\"d\":[[1]]}".to_owned(),
        format!("{{\"n\":2,\"d\":{}{}}}", deep("[", 100_000), deep("]", 100_000)),
        format!("{{\"n\":3,\"d\":{}", deep("{\"a\":", 100_000)),
        deep("[", 1_000_000),
        format!("{{\"n\":4,\"a\":{}1{}}}", deep("[", 500), deep("]", 500)),
        format!("{{\"n\":5,\"d\":{}{}}}", deep("[", 512), deep("]", 512)),
    ];
    let file = database.file("deep.ndjson", lines.join("\n"));
    let rejects = database.path("rejects.jsonl");
    let wanted = options(&file, "t").on_error(OnError::Ignore).rejects(rejects.clone());
    let report = load(&database, &wanted);
    assert_eq!((report.rows, report.rows_rejected), (2, 4));
    assert_eq!(database.sql("SELECT n FROM t ORDER BY n"), "1\n5");
    let said = std::fs::read_to_string(rejects).unwrap();
    assert!(said.contains("a value is nested deeper than 512 levels"), "the reasons");
    let array = database.file("deep.json", deep("[", 1_000_000));
    assert!(try_load(&database, &options(&array, "t")).is_err());
}

#[test]
fn corrected_rejects_load_again_into_the_columns_they_were_meant_for() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, \"The Name\" text, f text)");
    let text = "[{\"key\":1,\"name\":\"a\",\"junk\":0},\n {\"key\":\"x2\",\n \"name\":\"b\\nc\",\"junk\":0}, {\"key\":\"x3\",\n \"name\":\"line\nend\"\n}]";
    let file = database.file("t.json", text);
    let rejects = database.path("t.rejects.jsonl");
    let wanted = options(&file, "t")
        .on_error(OnError::Ignore)
        .rejects(rejects.clone())
        .map([("key", "id"), ("name", "The Name")])
        .skip_columns(["junk", "never"])
        .file_column("f");
    let report = load(&database, &wanted);
    assert_eq!((report.rows, report.rows_rejected), (1, 2));
    let again = LoadOptions::new(rejects.clone())
        .on_error(OnError::Ignore)
        .rejects(database.path("again.jsonl"))
        .overwrite_rejects(true);
    // Unmended they are refused again, also the line end in a string.
    assert_eq!(load(&database, &again).rows_rejected, 2);
    let corrected = std::fs::read_to_string(&rejects).unwrap().replace("x2", "2").replace("x3", "3");
    std::fs::write(&rejects, corrected).unwrap();
    let report = load(&database, &again);
    assert_eq!((report.rows, report.rows_rejected), (1, 1));
    assert_eq!(
        database.sql("SELECT id, \"The Name\", f = (SELECT f FROM t WHERE id = 1) FROM t WHERE id = 2"),
        "2|b\nc|t"
    );
}

#[test]
fn a_dry_run_judges_every_record_and_utf_16_is_read() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, s text)");
    let text = "{\"n\":1,\"s\":\"ä€😀\"}\n{\"n\":\"x\"}\n";
    let utf16: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let file = database.file("t.ndjson", utf16);
    let wanted = options(&file, "t")
        .on_error(OnError::Ignore)
        .rejects(database.path("r.jsonl"))
        .format(Format::Ndjson);
    let report = load(&database, &wanted.clone().dry_run(true));
    assert_eq!(
        (report.outcome, report.rows_read, report.rows_rejected),
        (howdah::report::Outcome::Planned, 2, 1)
    );
    assert_eq!(load(&database, &wanted).rows, 1);
    assert_eq!(database.sql("SELECT n, s FROM t"), "1|ä€😀");
}

#[test]
fn what_only_the_server_refuses_is_led_back_to_its_record_in_every_form() {
    let database = Database::new();
    let records: Vec<String> = (0..3000)
        .map(|n| format!("{{\"n\": {n},\n\"s\": \"{}\"}}", if n % 1000 == 7 { "bad" } else { "x" }))
        .collect();
    let lines = records.join("\n").replace(",\n", ", ");
    for (name, text) in
        [("lines", lines), ("list", format!("[{}]", records.join(" ,\n"))), ("values", records.join("\n"))]
    {
        for mode in [Mode::Append, Mode::Upsert] {
            database.sql(
                "DROP TABLE IF EXISTS t; CREATE TABLE t (n int PRIMARY KEY, s text CHECK (s <> 'bad'), more text)",
            );
            let file = database.file("a.json", &text);
            let rejects = database.path("rejects.jsonl");
            let wanted = options(&file, "t").mode(mode).on_error(OnError::Ignore).rejects(rejects.clone());
            let report = load(&database, &wanted);
            assert_eq!((report.rows_read, report.rows_rejected), (3000, 3), "{name} {mode}");
            for line in std::fs::read_to_string(&rejects).unwrap().lines() {
                let reject: serde_json::Value = serde_json::from_str(line).unwrap();
                let (raw, at) = (reject["raw"].as_str().unwrap(), reject["byte_offset"].as_u64().unwrap());
                let at = usize::try_from(at).unwrap();
                assert!(raw.ends_with("\"bad\"}") && text[at..].starts_with(raw), "{name} {mode}: {reject}");
                let line = 1 + text[..at].matches('\n').count() as u64;
                assert_eq!(
                    (reject["line"].as_u64(), reject["sqlstate"].as_str()),
                    (Some(line), Some("23514"))
                );
            }
            assert_eq!(
                database.sql("SELECT count(*), sum(n) FROM t"),
                format!("2997|{}", 3000 * 2999 / 2 - 3021)
            );
        }
    }
}
