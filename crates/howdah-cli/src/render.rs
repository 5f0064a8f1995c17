//! The only place that prints. Results and JSON go to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use howdah::message::Respell;
use howdah::options::{Mode, WritePath};
use howdah::report::{Durability, Outcome, PlannedColumn, Report, SharedLoad};
use howdah::stream::{StreamPlan, StreamReport};
use howdah::{Error, ErrorKind, PromoteReport};

use crate::figures::{bytes, counted, rate, seconds, visible, visible_lines};
use crate::spelling::Terminal;

/// A result could not be written.
static LOST_OUTPUT: AtomicBool = AtomicBool::new(false);

/// How much is said, and whether in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Console {
    quiet: bool,
    colour: bool,
    live: bool,
}

impl Console {
    /// Colours only for a terminal that can show them and a user who has not said no.
    pub(crate) fn new(quiet: bool) -> Self {
        let live = io::stderr().is_terminal() && !matches!(variable("TERM").as_str(), "" | "dumb");
        Console { quiet, colour: live && !is_set("NO_COLOR"), live }
    }

    /// Whether messages are wanted.
    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Whether a line can be drawn over: not in logs, nor on terminals that only print.
    pub(crate) fn is_live(self) -> bool {
        self.live
    }

    /// A result: one line or more on standard output.
    pub(crate) fn result(self, text: &str) {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()) {
            // A reader that has seen enough (`| head -1`) is no failure, and what was done stays done.
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => {
                LOST_OUTPUT.store(true, Ordering::Relaxed);
                self.error(&Error::new(
                    ErrorKind::Source,
                    format!("the result could not be written to standard output: {error}"),
                ));
            }
        }
    }

    /// Whether something that was asked for could not be written since this was last asked: no command that lost it
    /// has done all that it was to do.
    pub(crate) fn has_lost_output() -> bool {
        LOST_OUTPUT.swap(false, Ordering::Relaxed)
    }

    /// A message for a person; silent under `--quiet`.
    pub(crate) fn say(self, text: &str) {
        if !self.quiet {
            write_err(text);
        }
    }

    /// A labelled message (`warning: …`) with foreign text in it.
    pub(crate) fn labelled(self, label: &str, text: &str) {
        self.say(&self.line(label, CYAN, text));
    }

    /// A failure; never silent.
    pub(crate) fn error(self, error: &Error) {
        write_err(&self.error_text(error));
    }

    /// Help, version or a complaint of the option parser, which writes them where they belong.
    pub(crate) fn parser(error: &clap::Error) {
        let printed = error.print().and_then(|()| io::stdout().flush());
        if !error.use_stderr() && printed.is_err_and(|lost| lost.kind() != io::ErrorKind::BrokenPipe) {
            LOST_OUTPUT.store(true, Ordering::Relaxed);
        }
    }

    fn error_text(self, error: &Error) -> String {
        let error = &error.respelled(&Terminal);
        let mut message = error.message().to_owned();
        if let Some(sqlstate) = error.sqlstate() {
            message.push_str(&format!(" (SQLSTATE {sqlstate})"));
        }
        let mut lines = vec![self.line("error", RED, &message)];
        if let Some(place) = place(error) {
            lines.push(self.line("where", CYAN, &place));
        }
        let more = [("detail", error.detail()), ("hint", error.hint()), ("now", error.visible())];
        for (label, text) in more {
            if let Some(text) = text {
                lines.push(self.line(label, CYAN, text));
            }
        }
        lines.join("\n")
    }

    fn line(self, label: &str, style: &str, text: &str) -> String {
        let text = visible_lines(text, "  ");
        if self.colour { format!("{style}{label}:{RESET} {text}") } else { format!("{label}: {text}") }
    }
}

const RED: &str = "\x1b[1;31m";
const CYAN: &str = "\x1b[36m";
const RESET: &str = "\x1b[0m";

/// The line that ends a successful load on standard output.
pub(crate) fn result(report: &Report) -> String {
    let counts = match report.mode {
        Mode::Upsert => [("inserted", report.rows_inserted), ("updated", report.rows_updated)],
        Mode::Ignore => [("inserted", report.rows_inserted), ("skipped", report.rows_skipped)],
        Mode::Update => [("updated", report.rows_updated), ("not there", report.rows_skipped)],
        Mode::Delete => [("deleted", report.rows_deleted), ("not there", report.rows_skipped)],
        _ => return format!("COPY {}", report.rows),
    };
    let mut counts: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    if report.mode == Mode::Upsert && report.rows_skipped > 0 {
        counts.push(format!("{} skipped", report.rows_skipped));
    }
    if report.rows_duplicate > 0 {
        counts.push(format!("{} duplicate", report.rows_duplicate));
    }
    format!("{} {}: {}", report.mode.to_string().to_uppercase(), report.rows, counts.join(", "))
}

/// The lines that end a successful load on standard error; `look` is a command that shows the rows.
pub(crate) fn summary(report: &Report, look: &str) -> String {
    let connections = counted(report.jobs as u64, "connection", "connections");
    let way = if report.mode.matches_rows() { "applied to" } else { "into" };
    format!(
        "{} ({}) {way} {} in {}: {} rows/s, {connections}, {}, {}{}\nlook: {}",
        counted(report.rows, "row", "rows"),
        bytes(report.bytes_read),
        visible(&report.table),
        seconds(report.elapsed_s),
        rate(report.rows_per_s),
        report.write_path.map_or("", WritePath::name),
        report.durability.map_or("", Durability::name),
        match report.rows_dropped {
            0 => String::new(),
            rows => format!("; triggers dropped {}", counted(rows, "row", "rows")),
        } + &report.shared.as_ref().map(shared).unwrap_or_default(),
        visible(look),
    )
}

/// What others loaded of a load that was shared.
fn shared(of: &SharedLoad) -> String {
    format!(
        "\nshared: {} of {} here, {} elsewhere with {}{}",
        of.parts_here,
        counted(of.parts, "part", "parts"),
        of.parts_elsewhere,
        counted(of.rows_elsewhere, "row", "rows"),
        match of.rejected_elsewhere {
            0 => String::new(),
            records => format!(", {} rejected", counted(records, "record", "records")),
        }
    )
}

/// The lines that end a stream on standard error; `look` is a command that shows the rows.
pub(crate) fn streamed(report: &StreamReport, look: &str) -> String {
    format!(
        "{} ({}) into {} in {}: {} rows/s, {}{}\nlook: {}",
        counted(report.rows, "row", "rows"),
        bytes(report.bytes_read),
        visible(&report.table),
        seconds(report.elapsed_s),
        rate(report.rows_per_s),
        report.durability.map_or("", Durability::name),
        if report.outcome == Outcome::Stopped {
            "; stopped, and everything that was read is written"
        } else {
            ""
        },
        visible(look),
    )
}

/// How a stream's records are read, and where their fields go.
pub(crate) fn stream_plan(plan: &StreamPlan) -> String {
    let mut lines = vec![
        format!("format: {}", visible(&plan.dialect.message().spelled(&Terminal))),
        visible(&plan.header),
    ];
    let column = |column: &PlannedColumn| {
        visible(&format!("  {} -> {} ({})", column.source, column.target, column.r#type))
    };
    lines.extend(plan.columns.iter().map(column));
    lines.join("\n")
}

/// What a dry run found.
pub(crate) fn judged(report: &Report) -> String {
    let good = counted(report.rows_read - report.rows_rejected.min(report.rows_read), "record", "records");
    format!("dry run: {good} would be sent; nothing was changed")
}

/// Where rejected records are and what can be done with them.
pub(crate) fn rejects(report: &Report) -> Option<String> {
    let places = [
        report.rejects_path.as_deref().map(str::to_owned),
        report.rejects_table.as_deref().map(|table| format!("the table {}", visible(table))),
    ];
    let path = places.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    rejected(report.rows_rejected, &path, report.error.is_some())
}

/// The same for `rows` records in `path`; empty: there are none.
pub(crate) fn rejected(rows: u64, path: &str, has_failed: bool) -> Option<String> {
    let count = counted(rows, "record was", "records were");
    Some(match has_failed {
        _ if path.is_empty() => return None,
        false => format!("{count} rejected, with the reasons in {path}"),
        // The file may lack some: it can have been the failure.
        true => format!("{count} rejected so far; what was kept of them is in {path}"),
    })
}

/// Where rows are that could not be promoted.
pub(crate) fn promote_rejects(report: &PromoteReport) -> Option<String> {
    let table = visible(report.rejects_table.as_deref()?);
    let count = counted(report.rows_rejected, "row does", "rows do");
    Some(format!("{count} not fit: kept in {table}, with the reasons"))
}

/// The lines that end a promotion on standard error; `look` is a command that shows the rows.
pub(crate) fn promoted(report: &PromoteReport, look: &str) -> String {
    format!(
        "{} from {} into {} in {}: {} rows/s\nlook: {}",
        counted(report.rows, "row", "rows"),
        visible(&report.landing),
        visible(&report.table),
        seconds(report.elapsed_s),
        rate(report.rows_per_s),
        visible(look),
    )
}

/// Moves when a key goes or means something else; new keys do not move it.
pub(crate) const REPORT_FORMAT: u32 = 1;

#[derive(serde::Serialize)]
struct Numbered<R> {
    report_format: u32,
    #[serde(flatten)]
    report: R,
}

/// A report as one line of JSON: easy to append to a log, and every reader takes it.
pub(crate) fn json(report: &(impl serde::Serialize + Respell + Clone)) -> String {
    serde_json::to_string(&Numbered { report_format: REPORT_FORMAT, report: report.respelled(&Terminal) })
        .unwrap_or_else(|error| format!("{{\"outcome\":\"failed\",\"error\":\"{error}\"}}"))
}

fn place(error: &Error) -> Option<String> {
    let place = error.location().map(|at| {
        let mut at = at.clone();
        if &*at.source == "-" {
            at.source = "standard input".into();
        }
        visible(&at.to_string())
    });
    let column = error.column().map(|name| format!("column {}", visible(name)));
    let parts: Vec<String> = place.into_iter().chain(column).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn write_err(text: &str) {
    let mut err = io::stderr().lock();
    // One write a message, so that lines of two threads do not mix; nowhere to complain when it fails.
    let _ = err.write_all(format!("{text}\n").as_bytes());
}

fn is_set(name: &str) -> bool {
    !variable(name).is_empty()
}

#[expect(
    clippy::disallowed_methods,
    reason = "NO_COLOR and TERM concern the terminal, which only this file knows"
)]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use howdah::Location;

    const PLAIN: Console = Console { quiet: false, colour: false, live: false };

    #[test]
    fn an_error_says_where_why_what_to_do_and_what_is_visible() {
        let error = Error::new(ErrorKind::Data, "invalid input syntax for type integer: \"x\x1b[2J\"")
            .with_sqlstate("22P02")
            .at(Location::of_text("a\nb.csv".into(), 7, Some(123)))
            .in_column("age\t")
            .with_detail("first line\nhint: a faked one")
            .with_hint("use --skip-columns age")
            .nothing_changed();
        assert_eq!(
            PLAIN.error_text(&error),
            "\
error: invalid input syntax for type integer: \"x\\u{1b}[2J\" (SQLSTATE 22P02)
where: a\\nb.csv, line 7 (byte 123), column age\\t
detail: first line
  hint: a faked one
hint: use --skip-columns age
now: nothing was changed"
        );
    }

    #[test]
    fn an_error_without_extras_is_one_line() {
        assert_eq!(PLAIN.error_text(&Error::usage("no such file")), "error: no such file");
        let coloured = Console { quiet: false, colour: true, live: true };
        assert_eq!(coloured.error_text(&Error::usage("no")), "\x1b[1;31merror:\x1b[0m no");
    }

    #[test]
    fn standard_input_is_not_called_a_dash() {
        let error = Error::new(ErrorKind::Data, "no").at(Location::of_source("-".into()));
        assert_eq!(PLAIN.error_text(&error), "error: no\nwhere: standard input");
        assert_eq!(PLAIN.error_text(&Error::usage("no").in_column("c")), "error: no\nwhere: column c");
    }

    #[test]
    fn the_result_line_counts_what_the_mode_can_do() {
        let mut report = Report::default();
        report.mode = Mode::Upsert;
        report.rows = 6;
        report.rows_inserted = 2;
        report.rows_updated = 3;
        report.rows_duplicate = 1;
        assert_eq!(result(&report), "UPSERT 6: 2 inserted, 3 updated, 1 duplicate");
        (report.mode, report.rows_skipped) = (Mode::Update, 1);
        assert_eq!(result(&report), "UPDATE 6: 3 updated, 1 not there, 1 duplicate");
        report.mode = Mode::Append;
        assert_eq!(result(&report), "COPY 6");
    }

    #[test]
    fn the_summary_names_the_table_the_speed_and_the_next_command() {
        let mut report = Report::default();
        report.rows = 1_000_000;
        report.bytes_read = 248_123_456;
        report.table = "public.events".into();
        report.elapsed_s = 1.417;
        report.rows_per_s = 705_716.3;
        report.jobs = 2;
        report.write_path = Some(WritePath::CopyBinary);
        report.durability = Some(Durability::Durable);
        assert_eq!(
            summary(&report, "howdah server psql"),
            "1,000,000 rows (248 MB) into public.events in 1.42 s: 706,000 rows/s, 2 connections, copy-binary, durable\n\
             look: howdah server psql"
        );
    }

    #[test]
    fn the_json_report_is_one_line_with_the_keys_that_scripts_read() {
        let mut report = Report::default();
        report.outcome = Outcome::Loaded;
        report.rows = 5;
        report.table = "a\nb".into();
        let text = json(&report);
        assert!(!text.contains('\n'));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        for key in
            "outcome table rows rows_read rows_rejected rejects_path bytes_read elapsed_s rows_per_s jobs \
                    write_path copy_format commit parts durability phases client_cpu_s peak_rss_bytes \
                    server_version load_id error"
                .split_whitespace()
        {
            assert!(value.get(key).is_some(), "{key} is missing");
        }
        assert_eq!(value["table"], "a\nb");
    }
}
