//! The schema from other tools' files: which tool's a folder is, the order of its files, and their statements without those
//! that undo them. Only `load` reads files.

mod detect;
mod file;
mod folder;
mod liquibase;
mod order;
mod section;
mod sections;
mod skipped;
mod statements;

pub use skipped::{SkipReason, SkippedStatements};

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::config::{self, Config, NamedPath, SchemaFiles, Tool};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Lines, Place};
use crate::source::Piece;
use crate::sql_file;
use folder::Listed;

/// The largest file that is read. Rows of a dump are left out, so what is larger has no use here.
const LARGEST: u64 = 256 << 20;

/// What `schema:` means.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// The steps of its files, in order.
    pub steps: Vec<SchemaStep>,
    /// What was read as what, a line an entry.
    pub said: Vec<String>,
    /// The tables are in the database that is named; nothing is made.
    pub is_there: bool,
}

/// Statements that are one transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaStep {
    /// The tool and its name for the step.
    pub title: String,
    /// Where it begins.
    pub place: Place,
    /// No transaction is around it.
    pub alone: bool,
    /// Its statements, without the semicolons between them.
    pub statements: Vec<Vec<Piece>>,
}

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Its steps: one, or for Liquibase one a changeset.
    pub steps: Vec<SchemaStep>,
    /// What of it is not run.
    pub skipped: SkippedStatements,
    /// What is wrong with it.
    pub wrong: Vec<Diagnostic>,
}

/// What is wrong with a folder as a whole.
pub(crate) struct FolderError {
    code: Code,
    message: String,
    help: String,
}

impl FolderError {
    fn new(code: Code, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: help.into() }
    }
}

/// Reads a file as a tool reads it. A dump is read as one whoever keeps it.
#[must_use]
pub fn read(tool: Tool, file: &str, text: &str) -> Reading {
    read_as(tool, file, text, "")
}

/// The same, with what Flyway's `.conf` beside the file says.
fn read_as(tool: Tool, file: &str, text: &str, conf: &str) -> Reading {
    let lines = Lines::new(text);
    let mut reading = Reading::default();
    let sections = match sections::sections(tool, text) {
        Ok(sections) => sections,
        Err(fault) => {
            let place = lines.place(file, fault.range.clone());
            reading.wrong.push(fault.at(&place));
            return reading;
        }
    };
    let is_dump = tool == Tool::PgDump || detect::is_dump(text);
    for section in sections {
        let placeholders = sections::has_placeholders(tool) && !is_off(conf, "placeholderReplacement");
        let rules = statements::Rules { placeholders, is_dump };
        let cut = statements::cut(file, text, section.range.clone(), &lines, rules);
        reading.skipped.add(&cut.skipped);
        reading.wrong.extend(cut.wrong);
        let name = if section.name.is_empty() {
            Path::new(file).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        } else {
            section.name
        };
        reading.steps.push(SchemaStep {
            title: format!("{} {name}", tool.name()),
            place: lines.place(file, section.range.start..section.range.start),
            alone: section.alone
                || is_off(conf, "executeInTransaction")
                || statements::must_be_alone(tool, &cut.statements),
            statements: cut.statements,
        });
    }
    reading
}

/// Whether `key=false` stands in a configuration of Flyway's.
fn is_off(conf: &str, key: &str) -> bool {
    conf.lines()
        .filter_map(|line| line.split_once('='))
        .any(|(name, value)| name.trim() == key && value.trim().eq_ignore_ascii_case("false"))
}

/// What `schema:` names, and the files in its folders; nothing is read.
pub(crate) fn dependencies(config: &Config) -> Vec<PathBuf> {
    let config::SchemaConfig::Files(entries) = &config.schema else { return Vec::new() };
    let mut all = Vec::new();
    for entry in entries {
        all.push(config.folder.join(&entry.path.path));
        if let Ok(listed) = folder::list(&config.folder, &entry.path.path) {
            all.extend(listed.files.iter().map(|file| config.folder.join(&file.shown)));
        }
    }
    all
}

/// Reads all that `schema:` names.
pub(crate) fn load(config: &Config, diagnostics: &mut Diagnostics) -> Schema {
    let mut schema = Schema::default();
    match &config.schema {
        config::SchemaConfig::Database => schema.is_there = true,
        config::SchemaConfig::Files(entries) => {
            for entry in entries {
                let mut errors = Vec::new();
                self::entry(&config.folder, entry, &mut schema, diagnostics, &mut errors);
                diagnostics.extend(errors);
            }
        }
    }
    schema
}

fn entry(
    root: &Path,
    entry: &SchemaFiles,
    schema: &mut Schema,
    diagnostics: &mut Diagnostics,
    errors: &mut Vec<Diagnostic>,
) {
    let named = &entry.path;
    let nowhere = || Place { file: named.path.clone(), line: 1, column: 1, length: 1 };
    let place = named.place.clone().unwrap_or_else(nowhere);
    let wrong =
        |wrong: FolderError| Diagnostic::error(wrong.code, place.clone(), wrong.message).help(wrong.help);
    let listed = match folder::list(root, &named.path) {
        Ok(listed) => listed,
        Err(error) => {
            errors.push(wrong(error));
            return;
        }
    };
    let mut files = Vec::new();
    for Listed { name, shown } in listed.files {
        if listed.is_folder && !name.ends_with(".sql") {
            let text = if detect::is_evidence(&name) { lossy(&root.join(&shown)) } else { String::new() };
            files.push(file::ToolFile { name, shown, text });
            continue;
        }
        let file = NamedPath { path: shown.clone(), place: named.place.clone() };
        match text(root, &file) {
            Ok(text) => files.push(file::ToolFile { name, shown, text }),
            Err((message, text)) => {
                if let Some(text) = text {
                    diagnostics.remember(&shown, &text);
                }
                errors.push(*message);
            }
        }
    }
    if !errors.is_empty() {
        return;
    }
    let chosen = detect::tool(&files, entry.tool, listed.is_folder)
        .and_then(|tool| Ok((tool, order::order(tool, &files, listed.is_folder)?)));
    let (tool, ordered) = match chosen {
        Ok(chosen) => chosen,
        Err(error) => {
            errors.push(wrong(error));
            return;
        }
    };
    let mut skipped = SkippedStatements::default();
    let before = schema.steps.len();
    for file in ordered.steps.iter().map(|index| &files[*index]) {
        diagnostics.remember(&file.shown, &file.text);
        let beside = files.iter().find(|other| other.name.strip_suffix(".conf") == Some(&file.name));
        let conf = beside.filter(|_| tool == Tool::Flyway).map_or("", |conf| conf.text.as_str());
        let reading = read_as(tool, &file.shown, &file.text, conf);
        skipped.add(&reading.skipped);
        errors.extend(reading.wrong);
        schema.steps.extend(reading.steps);
    }
    schema.said.push(said(&named.path, tool, schema.steps.len() - before, &ordered.passed_over, &skipped));
}

type Text = Result<String, (Box<Diagnostic>, Option<String>)>;

/// The text of a file that is SQL and no larger than what is read.
fn text(root: &Path, file: &NamedPath) -> Text {
    let nowhere = || Place { file: file.path.clone(), line: 1, column: 1, length: 1 };
    let refused = |what: String, help: &str| {
        let place = file.place.clone().unwrap_or_else(nowhere);
        let message = format!("`{}` is {what}", file.path);
        Err((Box::new(Diagnostic::error(Code::NotSupported, place, message).help(help)), None))
    };
    let full = root.join(&file.path);
    let mut head = Vec::new();
    // What cannot be read is reported below.
    let read = std::fs::File::open(&full).and_then(|opened| opened.take(5).read_to_end(&mut head));
    if read.is_ok() && head == b"PGDMP" {
        return refused("an archive of pg_dump".to_owned(), "write SQL of it: `pg_restore -s -f dump.sql`");
    }
    if std::fs::metadata(&full).is_ok_and(|found| found.len() > LARGEST) {
        let help = "rows are left out anyway: `pg_dump --schema-only`";
        return refused(format!("larger than {} MiB", LARGEST >> 20), help);
    }
    sql_file::load(root, file)
}

/// What a file says that is no SQL, as far as it says something.
fn lossy(path: &Path) -> String {
    let small = std::fs::metadata(path).is_ok_and(|found| found.len() < LARGEST);
    let bytes = if small { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What was read as what.
fn said(path: &str, tool: Tool, steps: usize, passed_over: &[String], skipped: &SkippedStatements) -> String {
    let mut line =
        format!("{path} read as {}: {steps} {}", tool.name(), if steps == 1 { "step" } else { "steps" });
    // Writing into a string does not fail.
    if !passed_over.is_empty() {
        let _ = write!(line, "; passed over: {}", passed_over.join(", "));
    }
    let skipped = skipped.to_string();
    if !skipped.is_empty() {
        let _ = write!(line, "; not run: {skipped}");
    }
    line
}
