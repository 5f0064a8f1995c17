//! Hourly files of GH Archive (one JSON event a line, mostly gzipped) as rows of `github-events`.
//!
//! A payload of the archive is mostly text that is never queried. Kept are the members that the made-up events have, with
//! sorted keys, and the number of commits.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use howdah_encode::civil::{UNIX_EPOCH_DAYS, days_of};
use serde_json::Value as Json;

use super::copy_binary::CopyBinary;
use super::csv::Csv;
use super::file::to_file;
use super::github_events;
use super::set::Dataset;
use super::value::{Sink, Value};

/// Members of a payload that are kept when they are scalars.
const SCALARS: [&str; 12] = [
    "action",
    "before",
    "description",
    "distinct_size",
    "head",
    "master_branch",
    "number",
    "push_id",
    "pusher_type",
    "ref",
    "ref_type",
    "size",
];
/// Members that are objects, and what is kept of them.
const OBJECTS: [&str; 5] = ["comment", "forkee", "issue", "pull_request", "release"];
const OF_OBJECTS: [&str; 8] =
    ["full_name", "id", "name", "number", "prerelease", "private", "state", "tag_name"];

/// The outcome of a conversion, in lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Rows written.
    pub rows: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Lines that are no event.
    pub malformed: u64,
    /// The place of the first malformed line, and the reason.
    pub first_malformed: Option<String>,
}

/// Writes the events of `files`, at most `limit`, to `output` (`-` is standard output) as CSV or a binary COPY file.
///
/// # Errors
/// A file could not be read (the message names it), or the output not be written.
pub fn convert(files: &[PathBuf], limit: u64, binary: bool, output: &Path) -> io::Result<Converted> {
    let mut converted = Converted::default();
    let bytes = to_file(output, |mut out| {
        if binary {
            let mut sink = CopyBinary::new(&mut out);
            converted.read(files, limit, &mut sink)?;
            sink.finish()
        } else {
            let mut sink = Csv::new(Dataset::GithubEvents, &mut out);
            converted.read(files, limit, &mut sink)?;
            sink.finish()
        }
    })?;
    converted.bytes = bytes;
    Ok(converted)
}

impl Converted {
    fn read(&mut self, files: &[PathBuf], limit: u64, sink: &mut impl Sink) -> io::Result<()> {
        let (mut line, mut payload) = (Vec::new(), Vec::new());
        for path in files {
            let named =
                |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            let mut input = open(path).map_err(named)?;
            let mut number = 0_u64;
            while self.rows < limit {
                line.clear();
                if input.read_until(b'\n', &mut line).map_err(named)? == 0 {
                    break;
                }
                number += 1;
                if line.trim_ascii().is_empty() {
                    continue;
                }
                let event = serde_json::from_slice(&line).map_err(|error| error.to_string());
                match event.and_then(|event| emit(&event, &mut payload, sink)) {
                    Ok(()) => {
                        self.rows += 1;
                        sink.end()?;
                    }
                    Err(reason) => {
                        self.malformed += 1;
                        self.first_malformed
                            .get_or_insert_with(|| format!("{}, line {number}: {reason}", path.display()));
                    }
                }
            }
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    if file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        let plain: Box<dyn Read> = Box::new(MultiGzDecoder::new(file));
        return Ok(Box::new(BufReader::with_capacity(1 << 16, plain)));
    }
    Ok(Box::new(file))
}

/// Hands one event over, whole or not at all.
fn emit(event: &Json, payload: &mut Vec<u8>, sink: &mut impl Sink) -> Result<(), String> {
    let text = |name: &str| event.get(name).and_then(Json::as_str).ok_or(format!("it has no {name}"));
    let (id, kind) = (text("id")?, text("type")?);
    let created = text("created_at")?;
    let micros = instant(created).ok_or(format!("created_at is {created:?}"))?;
    let (actor, login) = (&event["actor"]["id"], event["actor"]["login"].as_str());
    let (repository, name) = (&event["repo"]["id"], event["repo"]["name"].as_str());
    let kept = kept(&event["payload"]);
    payload.clear();
    serde_json::to_writer(&mut *payload, &kept).map_err(|error| error.to_string())?;
    let strings = [Some(id), Some(kind), login, name];
    if strings.into_iter().flatten().any(|text| text.contains('\0')) || holds_nul(&kept) {
        return Err("it holds U+0000, which PostgreSQL cannot store".into());
    }

    let bigint = |value: &Json| value.as_i64().map_or(Value::Null, Value::Bigint);
    sink.begin(github_events::COLUMNS.len());
    sink.put(Value::Text(id.as_bytes()));
    sink.put(Value::Text(kind.as_bytes()));
    sink.put(bigint(actor));
    sink.put(login.map_or(Value::Null, |login| Value::Text(login.as_bytes())));
    sink.put(bigint(repository));
    sink.put(name.map_or(Value::Null, |name| Value::Text(name.as_bytes())));
    sink.put(Value::Timestamptz(micros));
    sink.put(Value::Boolean(event["public"].as_bool().unwrap_or(true)));
    sink.put(Value::Jsonb(payload));
    Ok(())
}

/// What stays of a payload.
fn kept(payload: &Json) -> Json {
    let pick = |from: &Json, names: &[&str]| -> BTreeMap<String, Json> {
        let members = names.iter().filter_map(|name| Some(((*name).to_owned(), from.get(name)?.clone())));
        members.filter(|(_, value)| !value.is_object() && !value.is_array()).collect()
    };
    let mut members = pick(payload, &SCALARS);
    for name in OBJECTS {
        if let Some(object) = payload.get(name).filter(|object| object.is_object()) {
            members.insert(name.to_owned(), pick(object, &OF_OBJECTS).into_iter().collect());
        }
    }
    if let Some(commits) = payload.get("commits").and_then(Json::as_array) {
        members.insert("commit_count".to_owned(), commits.len().into());
    }
    members.into_iter().collect()
}

fn holds_nul(kept: &Json) -> bool {
    match kept {
        Json::String(text) => text.contains('\0'),
        Json::Object(members) => members.values().any(holds_nul),
        _ => false,
    }
}

/// Microseconds since 1970 of `2025-01-31T23:59:59Z`, the only form that the archive has.
fn instant(text: &str) -> Option<i64> {
    let text: &[u8; 20] = text.as_bytes().try_into().ok()?;
    let number = |from: usize, to: usize| {
        let digits = &text[from..to];
        digits
            .iter()
            .all(u8::is_ascii_digit)
            .then(|| digits.iter().fold(0_u32, |number, digit| number * 10 + u32::from(digit - b'0')))
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
    if marks.iter().any(|(at, mark)| text[*at] != *mark) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = i64::from(days_of(year.cast_signed(), month, day)? - UNIX_EPOCH_DAYS);
    Some((days * 86_400 + i64::from((hour * 60 + minute) * 60 + second)) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::super::decimal::push_instant;
    use super::*;

    const PUSH: &str = r#"{"id":"45","type":"PushEvent","actor":{"id":7,"login":"a,b","url":"x"},"repo":{"id":8,"name":"o/r"},
        "payload":{"size":1,"ref":"refs/heads/main","commits":[{},{}],"push_id":9,"noise":{"x":1}},
        "public":true,"created_at":"2025-01-01T00:00:01Z","org":{"id":1}}"#;

    fn line(event: &str) -> String {
        event.replace('\n', "") + "\n"
    }

    #[test]
    fn events_become_rows_and_what_is_none_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let member = |text: &str| {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(text.as_bytes()).unwrap();
            gzip.finish().unwrap()
        };
        // The archive's files have several gzip members; the second begins in the middle of things.
        let text = line(PUSH) + "{\"id\":\"cut o\n\n" + &line(&PUSH.replace("PushEvent", "E\\u0000"));
        let issue = PUSH.replace(
            "\"noise\"",
            "\"issue\":{\"id\":3,\"body\":\"long\",\"number\":4,\"state\":\"open\"},\"noise\"",
        );
        fs::write(path("0.json.gz"), [member(&text), member(&line(&issue))].concat()).unwrap();
        let null_actor = PUSH.replace(r#""actor":{"id":7,"login":"a,b","url":"x"},"#, "");
        let none = [PUSH.replace("\"type\"", "\"kind\""), PUSH.replace("-01T", "-32T")];
        fs::write(path("1.json"), line(&none[0]) + &line(&none[1]) + line(&null_actor).trim_end()).unwrap();
        let files = [path("0.json.gz"), path("1.json")];

        let converted = convert(&files, u64::MAX, false, &path("events.csv")).unwrap();
        assert_eq!((converted.rows, converted.malformed), (3, 4));
        let first = converted.first_malformed.unwrap();
        assert!(first.contains("0.json.gz, line 2: "), "{first}");
        let csv = fs::read_to_string(path("events.csv")).unwrap();
        assert_eq!(converted.bytes, csv.len() as u64);
        let payload = r#""{""commit_count"":2,""push_id"":9,""ref"":""refs/heads/main"",""size"":1}""#;
        let with_issue = payload.replace(
            ",\"\"push_id",
            ",\"\"issue\"\":{\"\"id\"\":3,\"\"number\"\":4,\"\"state\"\":\"\"open\"\"},\"\"push_id",
        );
        let expected = [
            Dataset::GithubEvents.header(),
            format!("45,PushEvent,7,\"a,b\",8,o/r,2025-01-01T00:00:01Z,true,{payload}"),
            format!("45,PushEvent,7,\"a,b\",8,o/r,2025-01-01T00:00:01Z,true,{with_issue}"),
            format!("45,PushEvent,,,8,o/r,2025-01-01T00:00:01Z,true,{payload}"),
        ];
        assert_eq!(csv.lines().collect::<Vec<_>>(), expected);

        assert_eq!(convert(&files, 2, true, &path("events.bin")).unwrap().rows, 2);
        assert!(fs::read(path("events.bin")).unwrap().ends_with(&[0xff, 0xff]));
    }

    #[test]
    fn a_truncated_archive_is_an_error_and_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(line(PUSH).repeat(1_000).as_bytes()).unwrap();
        let whole = gzip.finish().unwrap();
        let (input, output) = (directory.path().join("0.json.gz"), directory.path().join("out.csv"));
        fs::write(&input, &whole[..whole.len() / 2]).unwrap();
        let error = convert(&[input], u64::MAX, false, &output).unwrap_err();
        assert!(error.to_string().contains("0.json.gz"), "{error}");
        assert!(!output.exists());
    }

    #[test]
    fn instants_are_read_as_they_are_written() {
        for seconds in [0, 951_782_400, 1_709_164_799, 1_735_689_600, 4_107_542_400, -62_135_596_800] {
            let mut text = Vec::new();
            push_instant(&mut text, seconds * 1_000_000, b'T', b"Z");
            assert_eq!(instant(std::str::from_utf8(&text).unwrap()), Some(seconds * 1_000_000));
        }
        for text in [
            "",
            "2025-02-29T00:00:00Z",
            "2025-01-01 00:00:00Z",
            "2025-13-01T00:00:00Z",
            "2025-01-01T24:00:00Z",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
