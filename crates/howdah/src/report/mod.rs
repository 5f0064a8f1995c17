//! What came of a load, as data: printed by the command line, returned by libraries, the same keys on failure.

pub(crate) mod advice;
mod outcome;
mod shared;
pub(crate) mod usage;

use std::collections::BTreeMap;

use serde::Serialize;

pub use crate::catalog::session::Durability;
use crate::error::Error;
pub use crate::error::{ReportedError, ReportedLocation};
use crate::options::{Format, Mode, WritePath};
use crate::words::or_empty;
use howdah_message::{Message, Respell, Setting, Spelling};
use howdah_source::text::sniff::shown;
use howdah_source::{Dialect, Encoding, Family};
pub use outcome::{CommitUnit, CopyFormat, Outcome};
pub use shared::SharedLoad;

/// The figures of one load. Serialises to the JSON report.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Schema-qualified, quoted where needed.
    pub table: String,
    /// What the load did with rows that the table had.
    pub mode: Mode,
    /// Rows of the input that were carried and committed; in the modes that match rows also those which changed nothing.
    pub rows: u64,
    /// Data records read.
    pub rows_read: u64,
    /// Records refused and kept apart.
    pub rows_rejected: u64,
    /// Rows that triggers of the table dropped: `rows_read` = `rows` + `rows_rejected` + `rows_dropped` once all is loaded.
    pub rows_dropped: u64,
    /// Rows that are new in the table.
    pub rows_inserted: u64,
    /// Rows of the table that were changed.
    pub rows_updated: u64,
    /// Rows of the table that were deleted.
    pub rows_deleted: u64,
    /// Rows of the input that changed nothing: their key was there, or was not, as the mode has it, or a trigger let them go.
    pub rows_skipped: u64,
    /// Rows of the input that gave way to another row of the input with their key.
    pub rows_duplicate: u64,
    /// The file that holds them.
    pub rejects_path: Option<String>,
    /// The table that holds those which landed and could not be promoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejects_table: Option<String>,
    /// Bytes of input read, as on disk.
    pub bytes_read: u64,
    /// Wall-clock seconds of the whole load, connecting included.
    pub elapsed_s: f64,
    /// `rows / elapsed_s`.
    pub rows_per_s: f64,
    /// Connections that wrote.
    pub jobs: usize,
    /// Connections that applied staged rows to the table. `None`: none were staged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apply_jobs: Option<usize>,
    /// Why so many, when the choice was ours and not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs_reason: Option<Message>,
    /// How rows were written; [`WritePath::CopyText`] too where not a value could be encoded here. `None`: it did not come
    /// to a plan.
    #[serde(serialize_with = "or_empty")]
    pub write_path: Option<WritePath>,
    /// What COPY carried. `None`: it did not come to a plan.
    #[serde(serialize_with = "or_empty")]
    pub copy_format: Option<CopyFormat>,
    /// What was to be committed together. `None`: the load did not begin.
    #[serde(serialize_with = "or_empty")]
    pub commit: Option<CommitUnit>,
    /// COPY statements run.
    pub parts: u64,
    /// How many of them sent rows in the order of an index, by its name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sorted_parts: BTreeMap<String, u64>,
    /// What a crash of the server right after the commit costs. `None`: it did not come to a plan.
    #[serde(serialize_with = "or_empty")]
    pub durability: Option<Durability>,
    /// Seconds per phase.
    pub phases: Phases,
    /// User and system CPU seconds of this process.
    pub client_cpu_s: f64,
    /// Peak resident memory of this process.
    pub peak_rss_bytes: u64,
    /// As the server names it.
    pub server_version: String,
    /// Sixteen hexadecimal digits, new for every load.
    pub load_id: String,
    /// What others did of a load that several processes share. `None`: it was not shared, or did not come so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedLoad>,
    /// The plan: always there once it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanSummary>,
    /// Why it failed.
    pub error: Option<ReportedError>,
}

impl Report {
    /// The report of a load that failed with `error`: the one that the error carries, or that of a load that did not begin.
    pub fn of_failure(error: &Error) -> Report {
        error.load_report().cloned().unwrap_or_else(|| Report {
            outcome: Outcome::of(error),
            error: Some(ReportedError::from(&error.clone().or_nothing_changed())),
            ..Report::default()
        })
    }
}

impl Error {
    /// What a load did until it failed. `None`: it did not begin, or another call failed.
    ///
    /// ```
    /// # fn look(error: &howdah::Error) {
    /// if let Some(report) = error.load_report() {
    ///     eprintln!("{} records were read, {} rejected", report.rows_read, report.rows_rejected);
    /// }
    /// # }
    /// ```
    pub fn load_report(&self) -> Option<&Report> {
        self.report_of()
    }
}

/// Seconds per phase.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[non_exhaustive]
pub struct Phases {
    /// Reading the input for the types of a new table.
    pub infer_s: f64,
    /// Connecting, catalog, plan.
    pub plan_s: f64,
    /// From the first byte read to the last COPY finished.
    pub load_s: f64,
    /// Of `load_s`, as the mean of the connections: reading, decompressing and cutting the input.
    pub read_s: f64,
    /// Splitting and encoding, which is CPU time of ours, and asking the server about unsure values.
    pub encode_s: f64,
    /// Sending, and waiting for the server. With the two above it makes `load_s`, but for the setting out.
    pub wait_s: f64,
    /// The commit.
    pub commit_s: f64,
    /// Indexes and constraints built after the load.
    pub index_s: f64,
    /// Taking a table out of the write-ahead log, and writing it into the log in the end.
    pub logging_s: f64,
    /// Applying staged rows to the table.
    pub apply_s: f64,
    /// Promoting landed rows into the table.
    pub promote_s: f64,
    /// ANALYZE.
    pub analyze_s: f64,
}

/// What a load will do, or did.
#[derive(Debug, Clone, Serialize)]
pub struct PlanSummary {
    /// Schema-qualified, quoted where needed.
    pub table: String,
    /// Whether this load makes the table.
    pub creates_table: bool,
    /// How records are written.
    pub dialect: DialectSummary,
    /// Whether record 1 was taken as a header, and why.
    pub header: String,
    /// One entry a loaded column, in the order of the input.
    pub columns: Vec<PlannedColumn>,
    /// Table columns that the input does not fill, with what they get.
    pub unfilled: Vec<String>,
    /// For a new table: the script that makes it, empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_table: Option<Message>,
    /// For a table that gets columns which the input has: the statement that adds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alter_table: Option<String>,
    /// How columns of a new table are compressed, and why; most are as the server has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Message>,
    /// Where rows wait before a statement applies them, and why; most go straight into the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staging: Option<Message>,
    /// In whose order the rows of a part may be sent: indexes of the table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sort: Vec<String>,
    /// Indexes and foreign keys that are dropped before the rows come and built again behind them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rebuilt: Vec<String>,
    /// How many times as fast the load was estimated to be that builds indexes again; `None` where that was not weighed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_gain: Option<f64>,
    /// Triggers that do not fire for the rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled_triggers: Vec<String>,
    /// The statements, in order, that will be or were run.
    pub statements: Vec<String>,
}

/// The dialect in which records are written, and what of it was guessed.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DialectSummary {
    /// `csv`, `text`, `ndjson`, `json array`, `json objects`, or what else the inputs are.
    pub format: &'static str,
    /// Between fields of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// CSV: the quote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<char>,
    /// CSV: what escapes a quote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escape: Option<char>,
    /// What stands for NULL in text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null: Option<String>,
    /// What the first input is written in, by PostgreSQL's name.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub encoding: &'static str,
    /// The options that nobody gave and whose values are not COPY's defaults.
    pub guessed: Vec<&'static str>,
}

impl DialectSummary {
    /// Of inputs whose values are not text.
    pub(crate) fn of(format: Format) -> Self {
        DialectSummary { format: format.name(), ..DialectSummary::default() }
    }

    pub(crate) fn new(dialect: &Dialect, usual: &Dialect, (encoding, is_guessed): (Encoding, bool)) -> Self {
        let is_csv = dialect.family == Family::Csv;
        let differs = [
            ("delimiter", dialect.delimiter != usual.delimiter),
            ("quote", dialect.quote != usual.quote),
            ("escape", dialect.escape != usual.escape && dialect.escape != dialect.quote),
            ("null", dialect.null != usual.null),
            ("encoding", is_guessed),
        ];
        DialectSummary {
            format: match dialect.family {
                Family::Csv => "csv",
                Family::Text => "text",
                Family::Json | Family::Ndjson => "ndjson",
            },
            delimiter: (!dialect.family.is_json()).then(|| dialect.delimiter.to_string()),
            quote: is_csv.then_some(char::from(dialect.quote)),
            escape: is_csv.then_some(char::from(dialect.escape)),
            null: Some(String::from_utf8_lossy(&dialect.null).into_owned()),
            encoding: encoding.name(),
            guessed: differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect(),
        }
    }
}

impl DialectSummary {
    /// The dialect in one line, with the options that override what was guessed.
    pub fn message(&self) -> Message {
        let mut out = Message::from(self.format);
        // What was guessed stands last: the options that override it follow.
        let encoding =
            (!matches!(self.encoding, "" | "UTF8")).then(|| format!(", encoding {}", self.encoding));
        let (told, guessed) =
            if self.guessed.contains(&"encoding") { (None, encoding) } else { (encoding, None) };
        out.push(told.unwrap_or_default());
        if let Some(delimiter) = &self.delimiter {
            out.push(format!(", delimiter {}", shown(delimiter)));
        }
        if let Some(quote) = self.quote.filter(|quote| *quote != '"') {
            out.push(format!(", quote {}", shown(&quote.to_string())));
        }
        if let Some(escape) = self.escape.filter(|_| self.escape != self.quote) {
            out.push(format!(", escape {}", shown(&escape.to_string())));
        }
        if let Some(null) = self.null.as_ref().filter(|_| self.guessed.contains(&"null")) {
            out.push(format!(", null \"{null}\""));
        }
        out.push(guessed.unwrap_or_default());
        let options = self.guessed.iter().map(|name| Setting::new(name).into());
        let options = Message::joined(options, ", ");
        match self.guessed.len() {
            0 => {}
            1 => out.push(message![" (guessed; ", options, " overrides)"]),
            _ => out.push(message![" (guessed; ", options, " override)"]),
        }
        out
    }
}

/// One column's way.
#[derive(Debug, Clone, Serialize)]
pub struct PlannedColumn {
    /// Header name, or `field N` when there is no header.
    pub source: String,
    /// The table's column.
    pub target: String,
    /// The column's type as PostgreSQL writes it.
    pub r#type: String,
    /// `binary` (encoded by us) or `text` (parsed by the server).
    pub form: CopyFormat,
    /// Why a new column is text: the few values that keep it from a narrower type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<Message>,
}

impl Respell for PlanSummary {
    fn respell(&mut self, spelling: &dyn Spelling) {
        self.create_table.respell(spelling);
        self.compression.respell(spelling);
        self.staging.respell(spelling);
        for column in &mut self.columns {
            column.because.respell(spelling);
        }
    }
}

impl Respell for Report {
    fn respell(&mut self, spelling: &dyn Spelling) {
        self.jobs_reason.respell(spelling);
        self.plan.respell(spelling);
        self.error.respell(spelling);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_guessed_stands_before_the_options_that_override_it() {
        let said = |guessed: &[&'static str]| {
            let summary = DialectSummary {
                format: "csv",
                delimiter: Some(";".to_owned()),
                encoding: "WIN1252",
                guessed: guessed.to_vec(),
                ..DialectSummary::default()
            };
            summary.message().as_str().to_owned()
        };
        let delimiter = "csv, encoding WIN1252, delimiter \";\" (guessed; delimiter overrides)";
        assert_eq!(said(&["delimiter"]), delimiter);
        let encoding = "csv, delimiter \";\", encoding WIN1252 (guessed; encoding overrides)";
        assert_eq!(said(&["encoding"]), encoding);
    }
}
