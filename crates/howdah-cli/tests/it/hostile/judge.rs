//! One input given to the command and to psql, and what must hold between what the two make of it.
//!
//! Where psql takes it, our rows are its rows, byte for byte. Where psql refuses, so do we, at the same record and with
//! a SQLSTATE of the same class. Where bad records are ignored, the account adds up: every reject stands in the input
//! where it says, and psql stores of the input without the rejects what we stored of it all.

use std::borrow::Cow;
use std::ops::Range;

use howdah_testkit::Database;
use serde_json::Value;

use super::command::{Run, howdah};
use super::reference::strays::read_confined;
use super::reference::{self, Dialect, Grammar, Reading};

/// An input, and how it is to be read.
pub(crate) struct Sample<'a> {
    /// The table's columns, for CREATE TABLE.
    pub(crate) columns: &'a str,
    pub(crate) dialect: Dialect,
    /// Record 1 is a header. Its names count when `by_name`, otherwise it is passed over as psql passes over it.
    pub(crate) header: bool,
    pub(crate) by_name: bool,
    pub(crate) bytes: &'a [u8],
    pub(crate) jobs: usize,
}

impl Sample<'_> {
    /// Whether a CSV record has several fields.
    fn is_several(&self) -> bool {
        self.dialect.format == Grammar::Csv && self.columns.contains(", ")
    }

    /// A CSV file without a header.
    pub(crate) fn csv<'a>(columns: &'a str, bytes: &'a [u8]) -> Sample<'a> {
        Sample { columns, dialect: Dialect::csv(), header: false, by_name: false, bytes, jobs: 1 }
    }
}

/// What became of a sample that was judged.
pub(crate) struct Verdict {
    /// The SQLSTATE with which psql refused it; `None` where it was taken, or psql cannot be asked.
    pub(crate) refused: Option<String>,
    pub(crate) rejects: Vec<Reject>,
}

/// One line of a reject file.
#[derive(Debug)]
pub(crate) struct Reject {
    pub(crate) line: u64,
    pub(crate) offset: usize,
    pub(crate) column: Option<String>,
    pub(crate) sqlstate: String,
    pub(crate) raw: Vec<u8>,
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Gives `sample` to both.
///
/// # Errors
/// What does not hold, for a person.
pub(crate) fn judge(database: &Database, sample: &Sample<'_>) -> Result<Verdict, String> {
    let file = database.file("input", sample.bytes);
    // From here on it is UTF-8: psql is given that, and places are those in it.
    let decoded = decoded(sample.bytes);
    let bytes = without_empty_end(&decoded, sample.columns.contains(", "), &sample.dialect);
    let sample = &Sample { bytes, columns: sample.columns, dialect: sample.dialect.clone(), ..*sample };
    let by_psql = load_by_psql(database, sample)?;
    let stopped = howdah(database, &load_args(sample, &file, "stopped", &[])).check(sample.bytes)?;
    let path = database.path("rejects.jsonl");
    let _ = std::fs::remove_file(&path);
    let tolerance = ["--on-error", "ignore", "--rejects", &path];
    let ignored = howdah(database, &load_args(sample, &file, "ignored", &tolerance)).check(sample.bytes)?;
    let rejects = if ignored.code == 3 { read_rejects(&path)? } else { Vec::new() };
    if sample.header && !sample.by_name && !is_text(first_record(sample)) {
        // A header whose names are not asked for is passed over, whatever it is; psql reads it first.
        return Ok(Verdict { refused: None, rejects });
    }
    if sample.header
        && is_about_the_whole(&stopped, sample)
        && first_record(sample).len() == sample.bytes.len()
    {
        // A quote that is opened in the header and never closed: psql takes all of the file for the header, and is content.
        return Ok(Verdict { refused: None, rejects });
    }
    match &by_psql {
        Answer::Taken if stopped.code != 0 => {
            return Err(format!("psql takes it, we refuse: {}", stopped.said()));
        }
        // A record over several lines with text outside of its quotes is one for psql, and a stray quote for us.
        Answer::Taken if !rejects.is_empty() && !has_stray_quotes(sample) => {
            return Err(format!("psql takes it, we reject: {:?}", rejects[0]));
        }
        Answer::Taken => {}
        Answer::Refused(refusal) => same_refusal(&stopped, refusal, sample)?,
        Answer::Unknown if stopped.code == 0 => return Err("a NUL was let through".to_owned()),
        Answer::Unknown => {}
    }
    if !matches!(ignored.code, 0 | 3) {
        let at_once = is_about_the_whole(&ignored, sample) && ignored.code == stopped.code;
        let said = || format!("ignoring bad records, the load fails: {}", ignored.said());
        return if at_once { Ok(Verdict { refused: None, rejects }) } else { Err(said()) };
    }
    let same_for_both = matches!(by_psql, Answer::Taken) && rejects.is_empty();
    account(database, sample, &ignored, &rejects, same_for_both)?;
    let refused = match by_psql {
        Answer::Refused(refusal) => Some(refusal.sqlstate),
        _ => None,
    };
    Ok(Verdict { refused, rejects })
}

/// UTF-16 with a byte order mark as UTF-8, with characters in the place of what is none.
pub(crate) fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    let order: fn([u8; 2]) -> u16 = match bytes {
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => return Cow::Borrowed(bytes),
    };
    let units = bytes.as_chunks().0.iter().map(|pair| order(*pair));
    let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Cow::Owned(text.into_bytes())
}

/// The input without the empty lines at its end, which for psql are records and for us are none where there are `several`
/// columns.
pub(crate) fn without_empty_end<'b>(bytes: &'b [u8], several: bool, dialect: &Dialect) -> &'b [u8] {
    let mut end = bytes.len();
    if several && dialect.format == Grammar::Csv {
        let bom = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        for reading in reference::read(&bytes[bom..], dialect).into_iter().skip(1).rev() {
            match reading {
                Ok(record) if record.raw.is_empty() => end = bom + record.raw.start,
                _ => break,
            }
        }
    }
    &bytes[..end]
}

/// The records as they are where bad ones are ignored.
fn confined(sample: &Sample<'_>) -> Vec<Reading> {
    let bytes = sample.bytes.strip_prefix(BOM).unwrap_or(sample.bytes);
    match sample.dialect.format {
        Grammar::Csv => read_confined(bytes, &sample.dialect, Some(sample.columns.split(", ").count())),
        Grammar::Text => reference::read(bytes, &sample.dialect),
    }
}

fn has_stray_quotes(sample: &Sample<'_>) -> bool {
    let bytes = sample.bytes.strip_prefix(BOM).unwrap_or(sample.bytes);
    confined(sample) != reference::read(bytes, &sample.dialect)
}

/// A file whose very header is faulty is refused as a whole.
fn is_about_the_whole(run: &Run, sample: &Sample<'_>) -> bool {
    let offset = run.report["error"]["location"]["byte_offset"].as_u64();
    sample.header && offset.is_some_and(|offset| offset <= (BOM.len() + first_record(sample).len()) as u64)
}

fn first_record<'s>(sample: &'s Sample<'_>) -> &'s [u8] {
    let bytes = sample.bytes.strip_prefix(BOM).unwrap_or(sample.bytes);
    let raw = reference::read(bytes, &sample.dialect).into_iter().next().map(|reading| match reading {
        Ok(record) => record.raw,
        Err(fault) => fault.raw,
    });
    &bytes[raw.unwrap_or_default()]
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0)
}

/// What psql made of a sample.
enum Answer {
    Taken,
    Refused(Refusal),
    /// psql itself drops NULs.
    Unknown,
}

struct Refusal {
    sqlstate: String,
    /// As COPY counts: where the record ends.
    line: Option<u64>,
    said: String,
}

fn load_by_psql(database: &Database, sample: &Sample<'_>) -> Result<Answer, String> {
    let columns = sample.columns;
    let mut script = String::from("\\set VERBOSITY verbose\n");
    for table in ["by_psql", "stopped", "ignored", "kept"] {
        script += &format!("DROP TABLE IF EXISTS {table}; CREATE TABLE {table} ({columns});\n");
    }
    database.try_sql(&script).map_err(|error| format!("the sample's table is wrong: {error}"))?;
    if sample.bytes.contains(&0) {
        return Ok(Answer::Unknown);
    }
    let file = database.file("for_psql", sample.bytes.strip_prefix(BOM).unwrap_or(sample.bytes));
    let copy = copy_command("by_psql", &file, sample);
    let Err(said) = database.try_sql(&format!("\\set VERBOSITY verbose\n{copy}")) else {
        return Ok(Answer::Taken);
    };
    let behind = |mark: &str| said.split_once(mark).map(|(_, rest)| rest);
    let sqlstate = behind("ERROR:  ").and_then(|rest| rest.get(..5)).ok_or(&said)?.to_owned();
    let line = behind("\nCONTEXT:  COPY by_psql, line ").or_else(|| behind("COPY by_psql, line "));
    let line = line.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    Ok(Answer::Refused(Refusal { sqlstate, line: line.and_then(|digits| digits.parse().ok()), said }))
}

fn copy_command(table: &str, file: &str, sample: &Sample<'_>) -> String {
    let Dialect { format, delimiter, quote, escape, null } = &sample.dialect;
    let literal = |bytes: &[u8]| {
        let escaped = bytes.iter().map(|byte| match byte {
            b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
            b'\t' => "\\t".to_owned(),
            other => char::from(*other).to_string(),
        });
        format!("E'{}'", escaped.collect::<String>())
    };
    let mut options = format!("DELIMITER {}, NULL {}", literal(&[*delimiter]), literal(null));
    if *format == Grammar::Csv {
        options += &format!(", FORMAT csv, QUOTE {}, ESCAPE {}", literal(&[*quote]), literal(&[*escape]));
    }
    if sample.header {
        options += ", HEADER";
    }
    format!("\\copy {table} FROM '{file}' ({options})\n")
}

fn load_args(sample: &Sample<'_>, file: &str, table: &str, more: &[&str]) -> Vec<String> {
    let Dialect { format, delimiter, quote, escape, null } = &sample.dialect;
    let text = |byte: u8| char::from(byte).to_string();
    let mut args: Vec<String> = vec!["load".into(), file.into(), "--table".into(), table.into()];
    let mut push = |option: &str, value: String| args.extend([option.to_owned(), value]);
    push("--format", if *format == Grammar::Csv { "csv".into() } else { "text".into() });
    push("--delimiter", text(*delimiter));
    push("--null", String::from_utf8_lossy(null).into_owned());
    if *format == Grammar::Csv {
        push("--quote", text(*quote));
        push("--escape", text(*escape));
    }
    push("--jobs", sample.jobs.to_string());
    args.push(format!("--header={}", sample.header));
    if sample.header && !sample.by_name {
        let names = sample.columns.split(", ").map(|column| column.split(' ').next().unwrap_or(column));
        args.extend(["--columns".to_owned(), names.collect::<Vec<_>>().join(",")]);
    }
    args.extend(more.iter().map(|arg| (*arg).to_owned()));
    args
}

/// We refuse the record that psql refuses, and for a reason of the same kind.
fn same_refusal(stopped: &Run, refusal: &Refusal, sample: &Sample<'_>) -> Result<(), String> {
    let psql = &refusal.said;
    if stopped.code == 0 {
        return Err(format!("we take what psql refuses: {psql}"));
    }
    let error = &stopped.report["error"];
    let offset = error["location"]["byte_offset"].as_u64();
    let bom = if sample.bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let offset = offset.and_then(|offset| usize::try_from(offset).ok()?.checked_sub(bom));
    let lines = lines_as_copy_counts(&sample.bytes[bom..], &sample.dialect);
    // Of a quote that is left open the place is its own, in the record.
    let is_quote = error["message"].as_str().is_some_and(|message| message.contains("unterminated"));
    let found = lines.iter().rev().find(|(start, ..)| match offset {
        Some(offset) if is_quote => *start <= offset,
        _ => Some(*start) == offset,
    });
    // Where the server reads the values, it has not read the records before one that we refuse ourselves.
    let left_to_the_server = psql.contains("json") || stopped.stderr.contains("rows travel as text");
    if let (Some((.., as_copy)), Some(psql_line)) = (found, refusal.line)
        && left_to_the_server
        && psql_line < as_copy.start
    {
        return Ok(());
    }
    let sqlstate = error["sqlstate"].as_str().unwrap_or("none");
    // The server alone judges json, and is not asked about a row that lacks a value it must have.
    let json_was_not_reached = sqlstate == "23502" && psql.contains("json");
    if sqlstate.get(..2) != refusal.sqlstate.get(..2) && !json_was_not_reached {
        return Err(format!("another class than psql's: {}; psql: {psql}", stopped.said()));
    }
    let Some(psql_line) = refusal.line else { return Ok(()) };
    match found {
        Some((start, line, as_copy)) if as_copy.contains(&psql_line) => {
            let before = &sample.bytes[bom + start..bom + offset.unwrap_or(*start)];
            let lines = |byte| before.iter().filter(|found| **found == byte).count() as u64;
            // Lines end as the input's do, with one or the other.
            let named = error["location"]["line"].as_u64();
            if [b'\n', b'\r'].into_iter().any(|byte| named == Some(*line + lines(byte))) {
                return Ok(());
            }
            Err(format!("the record starts on line {line}: {}", stopped.said()))
        }
        // COPY looks one byte past a carriage return, and names the line before for what it finds there.
        Some((start, _, as_copy))
            if refusal.sqlstate == "22021"
                && psql_line + 1 == as_copy.start
                && sample.bytes[..bom + start].ends_with(b"\r") =>
        {
            Ok(())
        }
        _ => Err(format!("at another record than psql: {}; psql: {psql}", stopped.said())),
    }
}

/// Of every record where it starts, on which line, and on which lines COPY may say that it is: COPY counts as it reads,
/// and within quotes it counts carriage returns until it knows that newlines end the records.
fn lines_as_copy_counts(bytes: &[u8], dialect: &Dialect) -> Vec<(usize, u64, Range<u64>)> {
    let mut copy_line = 0;
    let mut line_end = b'\r';
    let places = reference::read(bytes, dialect).into_iter().map(|reading| match reading {
        Ok(record) => (record.raw, record.line),
        Err(fault) => (fault.raw, fault.line),
    });
    places
        .map(|(raw, line)| {
            copy_line += 1;
            let first = copy_line;
            if dialect.format == Grammar::Csv {
                copy_line += bytes[raw.clone()].iter().filter(|byte| **byte == line_end).count() as u64;
            }
            if bytes.get(raw.end) == Some(&b'\n') {
                line_end = b'\n';
            }
            (raw.start, line, first..copy_line + 1)
        })
        .collect()
}

fn read_rejects(path: &str) -> Result<Vec<Reject>, String> {
    use base64::Engine;
    let text = std::fs::read_to_string(path).map_err(|error| format!("no rejects: {error}"))?;
    let parse = |line: &str| {
        let value: Value = serde_json::from_str(line).ok()?;
        Some(Reject {
            line: value["line"].as_u64()?,
            offset: usize::try_from(value["byte_offset"].as_u64()?).ok()?,
            column: value["column"].as_str().map(str::to_owned),
            sqlstate: value["sqlstate"].as_str()?.to_owned(),
            raw: match value["raw"].as_str() {
                Some(raw) => raw.as_bytes().to_vec(),
                None => {
                    base64::engine::general_purpose::STANDARD.decode(value["raw_base64"].as_str()?).ok()?
                }
            },
        })
    };
    let rejects: Option<Vec<Reject>> = text.lines().map(parse).collect();
    let mut rejects = rejects.ok_or("a line of the reject file cannot be read")?;
    rejects.sort_by_key(|reject| reject.offset);
    Ok(rejects)
}

/// Accepted and rejected are the whole, and the accepted are psql's.
fn account(
    database: &Database,
    sample: &Sample<'_>,
    ignored: &Run,
    rejects: &[Reject],
    same_for_both: bool,
) -> Result<(), String> {
    let count = |key: &str| ignored.report[key].as_u64().unwrap_or(u64::MAX);
    let (rows, read, rejected) = (count("rows"), count("rows_read"), count("rows_rejected"));
    if read != rows + rejected || rejected != rejects.len() as u64 {
        return Err(format!("{read} read, {rows} loaded, {rejected} rejected, {} kept", rejects.len()));
    }
    let bytes = sample.bytes;
    let bom = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let mut readings = confined(sample);
    // An empty line at the end is no record of several columns, nor does it belong to a quote that is open.
    let is_empty = |reading: &Reading| reading.as_ref().is_ok_and(|record| record.raw.is_empty());
    while readings.len() > 1 && sample.is_several() && readings.last().is_some_and(is_empty) {
        readings.pop();
    }
    let data: Vec<(usize, usize, u64)> = readings
        .into_iter()
        .map(|reading| match reading {
            Ok(record) => (bom + record.raw.start, bom + record.raw.end, record.line),
            Err(fault) => (bom + fault.raw.start, bom + fault.raw.end, fault.line),
        })
        .collect();
    if read != data.len() as u64 - u64::from(sample.header && !data.is_empty()) {
        return Err(format!("{read} records were read, {} are there", data.len()));
    }
    let mut kept = Vec::new();
    let mut from = bom;
    for reject in rejects {
        let end = reject.offset + reject.raw.len();
        if data.binary_search(&(reject.offset, end, reject.line)).is_err()
            || bytes.get(reject.offset..end) != Some(&reject.raw[..])
        {
            return Err(format!("there is no such record in the input: {reject:?}"));
        }
        kept.extend_from_slice(&bytes[from..reject.offset]);
        let next = data.partition_point(|record| record.0 <= reject.offset);
        // Behind the last record stands its line end, and in the text format perhaps the end of the data.
        from = data.get(next).map_or_else(|| end + line_end(&bytes[end..]), |record| record.0);
    }
    kept.extend_from_slice(&bytes[from..]);
    let kept = database.file("kept", kept);
    let mut script = copy_command("kept", &kept, sample);
    let tables: &[&str] =
        if same_for_both { &["ignored", "kept", "stopped", "by_psql"] } else { &["ignored", "kept"] };
    for table in tables {
        let to = database.path(&format!("{table}.rows"));
        script += &format!(
            "\\copy (SELECT * FROM {table} AS t ORDER BY t::text COLLATE \"C\") TO '{to}' (FORMAT binary)\n"
        );
    }
    database.try_sql(&script).map_err(|error| format!("psql refuses what we did not reject: {error}"))?;
    let stored = |table: &str| std::fs::read(database.path(&format!("{table}.rows"))).unwrap_or_default();
    for pair in tables.chunks(2) {
        if stored(pair[0]) != stored(pair[1]) {
            return Err(format!("{} and {} differ", pair[0], pair[1]));
        }
    }
    Ok(())
}

fn line_end(behind: &[u8]) -> usize {
    match behind {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}
