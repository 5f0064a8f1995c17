//! Whose files they are: what their names and lines say, and nothing where that is unclear.

use super::FolderError;
use super::file::ToolFile;
use super::liquibase::is_formatted;
use super::order::{GolangMigrate, flyway, number, numbered};
use super::section::lines;
use super::sections::TERN;
use crate::config::Tool;
use crate::diagnostic::Code;

/// Whether a file that is no SQL says whose the folder is, or how a file of it is run.
pub(super) fn is_evidence(name: &str) -> bool {
    [".xml", ".yaml", ".yml", ".json", ".sql.conf"].iter().any(|end| name.ends_with(end))
}

/// Whether a text is a dump of a database in plain format.
pub(super) fn is_dump(text: &str) -> bool {
    lines(text).take(20).any(|(_, line)| line.trim() == "-- PostgreSQL database dump")
}

/// Finds the tool, or takes the one that is said.
pub(super) fn tool(files: &[ToolFile], said: Option<Tool>, is_folder: bool) -> Result<Tool, FolderError> {
    refused(files)?;
    if let Some(tool) = said {
        return Ok(tool);
    }
    let sql = files.iter().filter(|file| file.is_sql() || !is_folder).collect::<Vec<_>>();
    if sql.is_empty() {
        let help = "name the folder of the files themselves";
        return Err(FolderError::new(Code::FileNotFound, "there is no SQL file in it", help));
    }
    let mut found: Vec<(Tool, &str)> = Vec::new();
    for file in &sql {
        for tool in marks(file) {
            if !found.iter().any(|(before, _)| *before == tool) {
                found.push((tool, &file.name));
            }
        }
    }
    if found.is_empty() && files.iter().any(|file| file.name == "tern.conf") {
        found.push((Tool::Tern, "tern.conf"));
    }
    match found[..] {
        [(Tool::GolangMigrate, up)] => mixed(&sql, up),
        [(tool, _)] => Ok(tool),
        [] => plain(&sql, files, is_folder),
        [(first, here), (second, there), ..] => {
            let (first, second) = (first.name(), second.name());
            let message = format!("`{here}` is a file of {first}, and `{there}` one of {second}");
            Err(FolderError::new(Code::ConfigValidationError, message, which()))
        }
    }
}

/// Files that can be undone, unless there are others of another tool's beside them.
fn mixed(sql: &[&ToolFile], up: &str) -> Result<Tool, FolderError> {
    let other = sql.iter().find(|file| {
        file.is_top() && numbered(&file.name).is_some() && GolangMigrate::of(&file.name).is_none()
    });
    let Some(other) = other else { return Ok(Tool::GolangMigrate) };
    let message = format!("`{up}` can be undone, and `{}` beside it cannot", other.name);
    Err(FolderError::new(Code::ConfigValidationError, message, which()))
}

fn which() -> String {
    format!("say whose it is, `schema: [{{path: …, tool: goose}}]`; there are {}", Tool::names())
}

/// What a file says of its tool, by its lines, or else by its name.
fn marks(file: &ToolFile) -> Vec<Tool> {
    let mut marks = Vec::new();
    let begins = |line: &str, word: &str| {
        line.strip_prefix("--").is_some_and(|rest| rest.trim_start().starts_with(word))
    };
    if is_formatted(&file.text) {
        marks.push(Tool::Liquibase);
    }
    for (_, line) in lines(&file.text) {
        let tool = match line {
            _ if begins(line, "+goose ") => Tool::Goose,
            _ if begins(line, "migrate:up") => Tool::Dbmate,
            _ if begins(line, "+migrate ") => Tool::SqlMigrate,
            _ if line.trim_end() == TERN => Tool::Tern,
            _ => continue,
        };
        if !marks.contains(&tool) {
            marks.push(tool);
        }
    }
    if marks.is_empty() {
        if flyway(file.base()).is_some() {
            marks.push(Tool::Flyway);
        } else if GolangMigrate::of(file.base()).is_some() {
            marks.push(Tool::GolangMigrate);
        }
    }
    marks
}

/// A folder without a tool's marks: it is read in the order of names, if no other order is possible.
fn plain(sql: &[&ToolFile], files: &[ToolFile], is_folder: bool) -> Result<Tool, FolderError> {
    if !is_folder {
        return Ok(if is_dump(&sql[0].text) { Tool::PgDump } else { Tool::Plain });
    }
    if files.iter().any(|file| file.name == "atlas.sum") {
        return Ok(Tool::Atlas);
    }
    let unclear = |message: &str| Err(FolderError::new(Code::ConfigValidationError, message, which()));
    let top = sql.iter().filter(|file| file.is_top()).collect::<Vec<_>>();
    if top.len() < sql.len() {
        return unclear("it is unclear in which order the files of these folders are run");
    }
    if let [one] = top[..] {
        return Ok(if is_dump(&one.text) { Tool::PgDump } else { Tool::Plain });
    }
    let numbers = top.iter().map(|file| numbered(&file.name)).collect::<Option<Vec<_>>>();
    let Some(numbers) = numbers else {
        return unclear("it is unclear whose files these are, and in which order they are run");
    };
    // Files come in the order of their names.
    if !numbers.is_sorted_by(|(a, _), (b, _)| number(a) < number(b)) {
        return unclear("the order of these files by name is not that of their numbers");
    }
    let is_sqlx = top.iter().any(|file| file.text.starts_with("-- no-transaction"));
    Ok(if is_sqlx { Tool::Sqlx } else { Tool::Plain })
}

/// What cannot be read by name.
fn refused(files: &[ToolFile]) -> Result<(), FolderError> {
    let dump = "name a dump instead: `schema: [dump.sql]`, made by `pg_dump --schema-only`";
    for file in files {
        let (name, text) = (&file.name, &file.text);
        let form = match name.rsplit('.').next().unwrap_or_default() {
            "xml" if text.contains("databaseChangeLog") => "XML",
            "yaml" | "yml" if text.contains("databaseChangeLog:") => "YAML",
            "json" if text.contains("\"databaseChangeLog\"") => "JSON",
            _ => "",
        };
        if !form.is_empty() {
            let message = format!("`{name}` is a changelog of Liquibase's in {form}, which is not read");
            let help = format!("name formatted SQL, file by file in its order, or {dump}");
            return Err(FolderError::new(Code::NotSupported, message, help));
        }
        if lines(text).take(20).any(|(_, line)| line.trim() == "-- PostgreSQL database cluster dump") {
            let message = format!("`{name}` is a dump of a whole server, with roles and many databases");
            return Err(FolderError::new(Code::NotSupported, message, dump));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Result<&'static str, String> {
        let file = |(name, text): &(&str, &str)| ToolFile {
            name: (*name).to_owned(),
            shown: (*name).to_owned(),
            text: (*text).to_owned(),
        };
        let files = files.iter().map(file).collect::<Vec<_>>();
        tool(&files, None, true).map(Tool::name).map_err(|wrong| wrong.message)
    }

    #[test]
    fn a_tool_is_found_or_it_is_unclear() {
        assert_eq!(found(&[("1_a.sql", "-- +goose Up\n")]), Ok("goose"));
        assert_eq!(found(&[("1_a.sql", "--migrate:up\n"), ("notes.sql", "")]), Ok("dbmate"));
        assert_eq!(found(&[("1_a.sql", "-- +migrate Up\n")]), Ok("sql-migrate"));
        assert_eq!(found(&[("1_a.sql", ""), ("2_b.sql", TERN)]), Ok("tern"));
        assert_eq!(found(&[("1_a.sql", ""), ("tern.conf", "")]), Ok("tern"));
        assert_eq!(found(&[("V1_2__a.sql", ""), ("sub/R__b.sql", "")]), Ok("flyway"));
        assert_eq!(found(&[("1_a.down.sql", ""), ("1_a.up.sql", "")]), Ok("golang-migrate"));
        assert_eq!(found(&[("10_a.sql", ""), ("2_b.sql", ""), ("atlas.sum", "h1:")]), Ok("atlas"));
        assert_eq!(found(&[("a.sql", "\n--LIQUIBASE formatted SQL\n")]), Ok("liquibase"));
        assert_eq!(found(&[("1_a.sql", "-- no-transaction\n"), ("2_b.sql", "")]), Ok("sqlx"));
        assert_eq!(found(&[("1_a.sql", ""), ("2_b.sql", "")]), Ok("plain"));
        assert_eq!(found(&[("a.sql", "--\n-- PostgreSQL database dump\n--\n")]), Ok("pg_dump"));
        for unclear in [
            &[("10_a.sql", ""), ("2_b.sql", "")][..],
            &[("1_a.sql", ""), ("1_b.sql", "")],
            &[("1_a.sql", ""), ("2_b.up.sql", "")],
            &[("a.sql", ""), ("b.sql", "")],
            &[("x/migration.sql", ""), ("y/migration.sql", "")],
            &[("1_a.sql", "-- +goose Up\n"), ("2_b.sql", "-- migrate:up\n")],
            &[("1_a.sql", "-- +goose Up\n"), ("V2__b.sql", "")],
            &[("readme.md", "")],
            &[("a.xml", "<databaseChangeLog>"), ("1_a.sql", "")],
            &[("a.yaml", "databaseChangeLog:\n")],
        ] {
            assert!(found(unclear).is_err(), "{unclear:?}");
        }
    }
}
