//! The parts of a file that a tool runs forwards, found by the lines that it looks for; what undoes them is not among them.

use std::ops::Range;

use super::liquibase;
use super::section::{Section, SectionError, first_sql, lines};
use crate::config::Tool;
use crate::diagnostic::Code;

/// What a line means to a tool.
enum Marker {
    /// Forwards, from the next line on; without a transaction.
    Up(bool),
    /// Backwards.
    Down,
    /// The whole file is without a transaction.
    Alone,
    /// Nothing that matters here.
    Other,
}

/// The end of what tern runs forwards.
pub(super) const TERN: &str = "---- create above / drop below ----";

/// Whether `${x}` is replaced, wherever it stands.
pub(super) fn has_placeholders(tool: Tool) -> bool {
    matches!(tool, Tool::Flyway | Tool::Liquibase)
}

/// The parts that a tool runs.
pub(super) fn sections(tool: Tool, text: &str) -> Result<Vec<Section>, SectionError> {
    let whole = |alone: bool| Ok(vec![Section { range: 0..text.len(), alone, name: String::new() }]);
    match tool {
        Tool::Goose => marked(text, "-- +goose Up", goose),
        Tool::Dbmate => marked(text, "-- migrate:up", |line| Ok(dbmate(line))),
        Tool::SqlMigrate => marked(text, "-- +migrate Up", sql_migrate),
        Tool::Tern => tern(text),
        Tool::Liquibase => liquibase::sections(text),
        Tool::Sqlx | Tool::GolangMigrate => whole(text.starts_with("-- no-transaction")),
        Tool::Atlas => atlas(text),
        Tool::Flyway | Tool::PgDump | Tool::Plain => whole(false),
    }
}

/// The words behind a comment mark, if the line is one.
fn comment(line: &str) -> Option<&str> {
    line.strip_prefix("--")
}

fn goose(line: &str) -> Result<Option<Marker>, (Code, String)> {
    if !line.starts_with("--") || !line.contains("+goose") {
        return Ok(None);
    }
    let command = line.replace("--", "").replacen("+goose", "", 1).trim().to_ascii_lowercase();
    Ok(Some(match command.as_str() {
        "up" => Marker::Up(false),
        "down" => Marker::Down,
        "no transaction" => Marker::Alone,
        "statementbegin" | "statementend" | "envsub off" => Marker::Other,
        "envsub on" => {
            let message = "goose's ENVSUB puts variables of the environment into SQL, which nobody has here";
            return Err((Code::NotSupported, message.to_owned()));
        }
        _ => return Err((Code::SqlParseError, format!("goose has no annotation `{command}`"))),
    }))
}

fn dbmate(line: &str) -> Option<Marker> {
    let rest = comment(line)?.trim_start();
    let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t']);
    if let Some(options) = rest.strip_prefix("migrate:up").filter(|rest| ends(rest)) {
        return Some(Marker::Up(options.split_ascii_whitespace().any(|word| word == "transaction:false")));
    }
    rest.strip_prefix("migrate:down").filter(|rest| ends(rest)).map(|_| Marker::Down)
}

fn sql_migrate(line: &str) -> Result<Option<Marker>, (Code, String)> {
    let Some(command) = comment(line).and_then(|rest| rest.trim_start().strip_prefix("+migrate ")) else {
        return Ok(None);
    };
    let mut words = command.split_ascii_whitespace();
    Ok(Some(match words.next().unwrap_or_default() {
        "Up" => Marker::Up(words.any(|word| word == "notransaction")),
        "Down" => Marker::Down,
        "StatementBegin" | "StatementEnd" => Marker::Other,
        other => return Err((Code::SqlParseError, format!("sql-migrate has no command `{other}`"))),
    }))
}

/// The parts below the lines that say so. SQL above the first of them belongs to nothing.
fn marked(
    text: &str,
    up: &str,
    marker: impl Fn(&str) -> Result<Option<Marker>, (Code, String)>,
) -> Result<Vec<Section>, SectionError> {
    let mut sections: Vec<Section> = Vec::new();
    // Where a part that is run begins, and whether it is without a transaction.
    let mut open: Option<(usize, bool)> = None;
    let mut alone = false;
    let mut seen = false;
    let mut close = |open: &mut Option<(usize, bool)>, end: usize| {
        if let Some((start, alone)) = open.take() {
            sections.push(Section { range: start..end, alone, name: String::new() });
        }
    };
    for (start, line) in lines(text) {
        let range = start..start + line.len();
        let found = marker(line).map_err(|(code, message)| {
            SectionError::new(code, range.clone(), message, "write it as the tool's documents do")
        })?;
        let directed = matches!(found, Some(Marker::Up(_) | Marker::Down));
        if directed && !seen {
            if let Some(sql) = first_sql(text, 0..start) {
                return Err(above(sql, up));
            }
            seen = true;
        }
        match found {
            Some(Marker::Up(alone)) => {
                close(&mut open, start);
                open = Some(((range.end + 1).min(text.len()), alone));
            }
            Some(Marker::Down) => close(&mut open, start),
            Some(Marker::Alone) => alone = true,
            Some(Marker::Other) | None => {}
        }
    }
    close(&mut open, text.len());
    if !seen {
        let message = format!("there is no line `{up}`");
        return Err(SectionError::new(
            Code::SqlParseError,
            0..0,
            message,
            "the tool would not run this file either",
        ));
    }
    for section in &mut sections {
        section.alone |= alone;
    }
    Ok(sections)
}

fn above(sql: Range<usize>, up: &str) -> SectionError {
    let message = format!("there is SQL above the first line `{up}`");
    SectionError::new(Code::SqlParseError, sql, message, "move it below that line")
}

fn tern(text: &str) -> Result<Vec<Section>, SectionError> {
    let end = text.find(TERN).unwrap_or(text.len());
    if let Some(at) = text[..end].find("{{") {
        let message = "tern's templates are not filled in here";
        let help = "write the SQL that `tern` makes of it, or name a dump: `schema: [dump.sql]`";
        return Err(SectionError::new(Code::NotSupported, at..at + 2, message, help));
    }
    let alone = lines(&text[..end]).any(|(_, line)| line.trim_end() == "---- tern: disable-tx ----");
    Ok(vec![Section { range: 0..end, alone, name: String::new() }])
}

/// The directives above the first SQL of a file of atlas.
pub(super) fn atlas_directives(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let heads = lines(text).take_while(|(_, line)| line.trim().is_empty() || line.starts_with("--"));
    heads.filter_map(|(start, line)| {
        let rest = comment(line)?.trim_start().strip_prefix("atlas:")?;
        let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
        Some((start, name.trim(), value.trim()))
    })
}

fn atlas(text: &str) -> Result<Vec<Section>, SectionError> {
    let mut alone = false;
    for (start, name, value) in atlas_directives(text) {
        match name {
            "txmode" => alone = value == "none",
            "delimiter" => {
                let message = "another delimiter of atlas is not read";
                let help = "end statements by semicolons; bodies of functions may have them";
                return Err(SectionError::new(Code::NotSupported, start..start + 1, message, help));
            }
            _ => {}
        }
    }
    Ok(vec![Section { range: 0..text.len(), alone, name: String::new() }])
}
