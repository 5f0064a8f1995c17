//! A reject file as an input: its JSON lines become the records they hold, behind a header of the columns they were meant
//! for.

use parking_lot::Mutex;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use base64::Engine;
use serde::Deserialize;

use crate::Provenance;

/// What a header calls a field that was not loaded; such names are skipped again.
pub const SKIPPED: &str = "howdah skipped field ";

/// The name of a last field in which nothing may stand, as behind a delimiter at the end of every line.
pub const EMPTY_END: &str = "howdah empty end";

/// The format of records that are JSON.
const NDJSON: &str = "ndjson";

/// One line of a reject file, as far as loading it again needs to know.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    file: String,
    #[serde(default)]
    raw: Option<String>,
    #[serde(default)]
    raw_base64: Option<String>,
    #[serde(default)]
    load: Option<Provenance>,
}

/// Which line of the reject file a physical line of the records stands in: the two part ways at every record that has line
/// ends of its own.
#[derive(Debug, Clone, Default)]
pub struct LineMap(Arc<Mutex<Vec<(u64, u64)>>>);

impl LineMap {
    /// The reject file's line for a physical line (both from 1).
    pub fn line(&self, physical: u64) -> u64 {
        let starts = self.0.lock();
        match starts.partition_point(|(start, _)| *start <= physical).checked_sub(1) {
            Some(at) => {
                let (start, line) = starts[at];
                line + (physical - start)
            }
            None => physical,
        }
    }

    fn note(&self, physical: u64, line: u64) {
        self.0.lock().push((physical, line));
    }
}

/// Reads records out of JSON lines.
pub struct RejectFileReader {
    lines: BufReader<Box<dyn Read + Send>>,
    /// Decoded and not yet given.
    ready: io::Cursor<Vec<u8>>,
    provenance: Option<Provenance>,
    map: LineMap,
    line: u64,
    physical: u64,
}

impl RejectFileReader {
    /// Reads the records of a reject file; `map` learns which of its lines each stands in.
    pub fn new(reader: Box<dyn Read + Send>, map: LineMap) -> Self {
        RejectFileReader {
            lines: BufReader::new(reader),
            ready: io::Cursor::default(),
            provenance: None,
            map,
            line: 0,
            physical: 0,
        }
    }

    /// Where the file's first record was meant to go.
    ///
    /// # Errors
    /// The file cannot be read, or its first line does not say.
    pub fn provenance(&mut self) -> io::Result<Option<Provenance>> {
        self.fetch()?;
        Ok(self.provenance.clone())
    }

    /// Decodes the next line; `false` at the end.
    fn fetch(&mut self) -> io::Result<bool> {
        let mut text = String::new();
        loop {
            text.clear();
            if self.lines.read_line(&mut text)? == 0 {
                return Ok(false);
            }
            self.line += 1;
            if !text.trim().is_empty() {
                break;
            }
        }
        let number = self.line;
        let invalid =
            |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("line {number} {why}"));
        let line: Line =
            serde_json::from_str(&text).map_err(|error| invalid(format!("is not a reject: {error}")))?;
        let mut bytes = Vec::new();
        match (&self.provenance, line.load) {
            (None, Some(load)) => {
                // Keys take the place of a header.
                if load.format != NDJSON {
                    bytes = header(&load).into_bytes();
                    self.physical += 1;
                }
                self.provenance = Some(load);
            }
            (Some(first), Some(load)) if *first != load => {
                return Err(invalid(
                    "comes from another load than the first: load its file by itself".into(),
                ));
            }
            (None, None) => {
                return Err(invalid(
                    "does not say which load it comes from (its key \"load\" is missing)".into(),
                ));
            }
            _ => {}
        }
        let mut raw = match (line.raw, line.raw_base64) {
            (Some(raw), None) => raw.into_bytes(),
            (None, Some(encoded)) => base64::engine::general_purpose::STANDARD
                .decode(encoded)
                .map_err(|error| invalid(format!("has a raw_base64 that is not base64: {error}")))?,
            _ => return Err(invalid("needs exactly one of raw and raw_base64".into())),
        };
        if let Some(load) = &self.provenance {
            if load.format == NDJSON {
                raw = one_line(raw, load.file_column.as_deref().map(|column| (column, &*line.file)));
            } else if load.file_column.is_some() {
                put_first(load, &line.file, &mut bytes);
            }
        }
        self.map.note(self.physical + 1, self.line);
        self.physical += 1 + memchr::memchr_iter(b'\n', &raw).count() as u64;
        bytes.extend_from_slice(&raw);
        bytes.push(b'\n');
        self.ready = io::Cursor::new(bytes);
        Ok(true)
    }
}

impl Read for RejectFileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let given = self.ready.read(buffer)?;
            if given > 0 || buffer.is_empty() || !self.fetch()? {
                return Ok(given);
            }
        }
    }
}

/// The header record, in the dialect of the records below it; the column of the file's name comes first.
fn header(load: &Provenance) -> String {
    let names = load.columns.iter().enumerate().map(|(at, name)| match name {
        Some(name) => field(load, name),
        None if load.empty_end && at + 1 == load.columns.len() => field(load, EMPTY_END),
        None => field(load, &format!("{SKIPPED}{at}")),
    });
    let names = load.file_column.iter().map(|name| field(load, name)).chain(names);
    names.collect::<Vec<_>>().join(delimiter(load)) + "\n"
}

/// A record of JSON as a line, with the file it came from where that is a column of its own. A carriage return is what a
/// line feed is: white space between values, and an error in strings.
fn one_line(mut raw: Vec<u8>, file: Option<(&str, &str)>) -> Vec<u8> {
    raw.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b'\r');
    let Some((column, file)) = file else { return raw };
    let brace = raw.iter().position(|byte| !byte.is_ascii_whitespace()).filter(|at| raw[*at] == b'{');
    if let Some(brace) = brace {
        let is_empty = raw[brace + 1..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'}');
        let comma = if is_empty { "" } else { "," };
        let member = format!("{}:{}{comma}", serde_json::Value::from(column), serde_json::Value::from(file));
        drop(raw.splice(brace + 1..brace + 1, member.into_bytes()));
    }
    raw
}

/// What comes before a record where the file it came from is a column of its own.
fn put_first(load: &Provenance, file: &str, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(field(load, file).as_bytes());
    bytes.extend_from_slice(delimiter(load).as_bytes());
}

fn delimiter(load: &Provenance) -> &str {
    load.delimiter.as_deref().unwrap_or(if load.format == "csv" { "," } else { "\t" })
}

/// A value as a field of the records' dialect.
fn field(load: &Provenance, value: &str) -> String {
    if load.format == "text" {
        let mut field = Vec::new();
        howdah_encode::copy_text::put_field(&mut field, value.as_bytes());
        return String::from_utf8_lossy(&field).into_owned();
    }
    let quote = load.quote.unwrap_or('"');
    let escape = load.escape.unwrap_or(quote);
    let mut field = String::from(quote);
    for c in value.chars() {
        if c == quote || c == escape {
            field.push(escape);
        }
        field.push(c);
    }
    field.push(quote);
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(text: &str) -> (RejectFileReader, LineMap) {
        let map = LineMap::default();
        (RejectFileReader::new(Box::new(io::Cursor::new(text.to_owned())), map.clone()), map)
    }

    const LOAD: &str = r#""load":{"table":"t","columns":["a",null,"B \"x\""],"format":"csv"}"#;

    #[test]
    fn records_come_back_behind_a_header_and_know_their_lines() {
        let text = format!(
            "{{\"raw\":\"1,2,\\\"x\\ny\\\"\",{LOAD}}}\n\n{{\"raw_base64\":\"Miwz/w==\",{LOAD}}}\n{{\"raw\":\"4\"}}\n"
        );
        let (mut reader, map) = reader(&text);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        let expected =
            [&b"\"a\",\"howdah skipped field 1\",\"B \"\"x\"\"\"\n1,2,\"x\ny\"\n2,3"[..], &[0xff], b"\n4\n"];
        assert_eq!(bytes, expected.concat());
        assert_eq!([2, 4, 5].map(|physical| map.line(physical)), [1, 3, 4]);
    }

    #[test]
    fn records_of_json_come_back_one_a_line_and_a_line_end_in_a_string_stays_an_error() {
        let load = r#""load":{"table":"t","columns":["a"],"keys":["a"],"format":"ndjson","file_column":"f"}"#;
        let text = format!(
            "{{\"file\":\"x\",\"raw\":\"{{\\n\\\"a\\\": \\\"1\\n\\\"}}\",{load}}}\n{{\"file\":\"y\\\"\",\"raw\":\" {{ }}\",{load}}}\n{{\"raw\":\"[\"}}\n"
        );
        let (mut reader, map) = reader(&text);
        let mut bytes = String::new();
        reader.read_to_string(&mut bytes).unwrap();
        assert_eq!(bytes, "{\"f\":\"x\",\r\"a\": \"1\r\"}\n {\"f\":\"y\\\"\" }\n[\n");
        assert_eq!([1, 2, 3].map(|physical| map.line(physical)), [1, 2, 3]);
    }

    #[test]
    fn what_is_no_reject_is_refused_with_its_line() {
        for (text, says) in [
            ("x", "line 1 is not a reject"),
            ("{\"raw\":\"1\"}", "line 1 does not say which load"),
            (&format!("{{\"raw\":\"1\",{LOAD}}}\n{{}}"), "line 2 needs exactly one"),
            (
                &format!("{{\"raw\":\"1\",{LOAD}}}\n{{\"raw\":\"1\",{}}}", LOAD.replace("\"t\"", "\"u\"")),
                "line 2 comes from another load",
            ),
        ] {
            let error = reader(text).0.read_to_end(&mut Vec::new()).unwrap_err();
            assert!(error.to_string().starts_with(says), "{error}");
        }
    }
}
