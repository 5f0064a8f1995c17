//! Liquibase's formatted SQL: changesets between comments.

use std::ops::Range;

use super::section::{Section, SectionError, first_sql, lines};

/// The words behind `--`, if a line is a comment of that.
fn said(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("--").map(str::trim_start)
}

/// What stands behind a word, in any case of letters.
fn behind<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

/// Whether a file is formatted SQL.
pub(super) fn is_formatted(text: &str) -> bool {
    let first = lines(text).map(|(_, line)| line).find(|line| !line.trim().is_empty());
    first.and_then(said).and_then(|said| behind(said, "liquibase")).is_some_and(|rest| {
        let words = rest.split_ascii_whitespace().collect::<Vec<_>>();
        words.first().is_some_and(|word| word.eq_ignore_ascii_case("formatted"))
            && words.get(1).is_some_and(|word| word.eq_ignore_ascii_case("sql"))
    })
}

/// The changesets that run on PostgreSQL.
pub(super) fn sections(text: &str) -> Result<Vec<Section>, SectionError> {
    if !is_formatted(text) {
        let help = "begin the file with it, or name the tool: `schema: [{path: …, tool: …}]`";
        return Err(SectionError::broken(0..0, "there is no line `--liquibase formatted sql`", help));
    }
    let mut sections: Vec<Section> = Vec::new();
    let mut open: Option<Section> = None;
    let mut seen = false;
    // Changesets for other databases may have the names of those that run.
    let mut names: Vec<(String, usize)> = Vec::new();
    for (number, (start, line)) in (1..).zip(lines(text)) {
        let range = start..start + line.len();
        let Some(said) = said(line) else { continue };
        if let Some(rest) = behind(said, "changeset").filter(|rest| rest.starts_with([' ', '\t', ':'])) {
            if !seen && let Some(sql) = first_sql(text, 0..start) {
                return Err(SectionError::broken(
                    sql,
                    "there is SQL above the first changeset",
                    "move it below",
                ));
            }
            seen = true;
            close(&mut open, start, &mut sections);
            open = changeset(rest, &range, text.len())?;
            if let Some(Section { name, .. }) = &open {
                let known_by = identity(rest, name);
                if let Some((_, before)) = names.iter().find(|(known, _)| *known == known_by) {
                    let message = format!("the changeset `{name}` is there already, in line {before}");
                    return Err(SectionError::broken(range, message, "give it an id of its own"));
                }
                names.push((known_by.to_owned(), number));
            }
        } else {
            refused(said, &range)?;
        }
    }
    close(&mut open, text.len(), &mut sections);
    if !seen && let Some(sql) = first_sql(text, 0..text.len()) {
        return Err(SectionError::broken(
            sql,
            "this is in no changeset",
            "write `--changeset author:id` above it",
        ));
    }
    Ok(sections)
}

fn close(open: &mut Option<Section>, end: usize, sections: &mut Vec<Section>) {
    if let Some(section) = open.take() {
        sections.push(Section { range: section.range.start..end, ..section });
    }
}

/// Reads what stands behind `changeset`; nothing, if it does not run on PostgreSQL.
fn changeset(rest: &str, line: &Range<usize>, length: usize) -> Result<Option<Section>, SectionError> {
    let mut words = rest.trim_start_matches(':').split_ascii_whitespace();
    let name = words.next().unwrap_or_default();
    if name.split(':').filter(|part| !part.is_empty()).count() < 2 {
        return Err(SectionError::broken(
            line.clone(),
            "a changeset has no author and id",
            "write `author:id`",
        ));
    }
    let mut alone = false;
    for word in words {
        let Some((key, value)) = word.split_once(':') else { continue };
        let value = value.trim_matches('"');
        match key.to_ascii_lowercase().as_str() {
            "dbms" if !runs_on_postgresql(value) => return Ok(None),
            "ignore" if value.eq_ignore_ascii_case("true") => return Ok(None),
            "runintransaction" => alone = value.eq_ignore_ascii_case("false"),
            "enddelimiter" if value != ";" => {
                let help = "end statements by semicolons; bodies of functions may have them";
                return Err(SectionError::unsupported(
                    line.clone(),
                    "another endDelimiter is not read",
                    help,
                ));
            }
            _ => {}
        }
    }
    Ok(Some(Section { range: (line.end + 1).min(length)..length, alone, name: name.to_owned() }))
}

/// By what Liquibase knows a changeset: its name, unless it stands for another file, or for runs that may not have the others.
fn identity<'t>(rest: &'t str, name: &'t str) -> &'t str {
    const APART: [&str; 4] = ["context", "contextfilter", "labels", "logicalfilepath"];
    let keys = rest.split_ascii_whitespace().filter_map(|word| word.split_once(':'));
    let is_apart = keys.into_iter().any(|(key, _)| APART.contains(&key.to_ascii_lowercase().as_str()));
    if is_apart { rest.trim() } else { name }
}

/// `dbms:postgresql,h2`, `dbms:!oracle`.
fn runs_on_postgresql(value: &str) -> bool {
    let names = value.split(',').map(|name| name.trim().to_ascii_lowercase()).collect::<Vec<_>>();
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    let only_excludes = names.iter().all(|name| name.starts_with('!'));
    !has("none") && !has("!postgresql") && (has("postgresql") || has("all") || only_excludes)
}

/// What decides about SQL elsewhere than in this file.
fn refused(said: &str, line: &Range<usize>) -> Result<(), SectionError> {
    let begins = |word: &str| {
        behind(said, word).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', ':', '-']))
    };
    let what = if begins("preconditions") || begins("precondition") {
        "preconditions of Liquibase are not evaluated here"
    } else if begins("ignoreLines") {
        "ignoreLines of Liquibase is not read"
    } else if begins("property") {
        "properties of Liquibase are not filled in here"
    } else {
        return Ok(());
    };
    let help = "name a dump instead: `schema: [dump.sql]`, made by `pg_dump --schema-only`";
    Err(SectionError::unsupported(line.clone(), what, help))
}
