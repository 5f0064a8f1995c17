//! Which files a tool runs, in which order.

use std::cmp::Ordering;

use super::FolderError;
use super::file::ToolFile;
use super::sections::atlas_directives;
use crate::config::Tool;
use crate::diagnostic::Code;

/// Files by their indexes.
pub(super) struct Ordered {
    pub(super) steps: Vec<usize>,
    /// SQL files that the tool does not run, by name; those that undo others excepted.
    pub(super) passed_over: Vec<String>,
}

/// What a tool does with a file.
enum FileRole<K> {
    Step(K),
    /// It undoes another.
    Undo,
    PassedOver,
}

/// Orders the files of a folder; a file that is named itself is run whatever its name is.
pub(super) fn order(tool: Tool, files: &[ToolFile], is_folder: bool) -> Result<Ordered, FolderError> {
    if !is_folder {
        return Ok(Ordered { steps: (0..files.len()).collect(), passed_over: Vec::new() });
    }
    code(tool, files)?;
    let ordered = match tool {
        Tool::Flyway => by_flyway(files)?,
        Tool::Goose => numbers(files, tool, |name| step(numbered(name)))?,
        Tool::Sqlx => numbers(files, tool, |name| match numbered(name) {
            Some(_) if name.ends_with(".down.sql") => FileRole::Undo,
            found => step(found),
        })?,
        Tool::GolangMigrate => numbers(files, tool, |name| match GolangMigrate::of(name) {
            Some(GolangMigrate::Up(digits)) => FileRole::Step(digits),
            Some(GolangMigrate::Down) => FileRole::Undo,
            None => FileRole::PassedOver,
        })?,
        Tool::Tern => without_gaps(files)?,
        Tool::Dbmate => sorted(files, |file| match file.base() {
            name if file.is_top() && name.starts_with(|c: char| c.is_ascii_digit()) => {
                FileRole::Step(name.to_owned())
            }
            _ => FileRole::PassedOver,
        }),
        Tool::SqlMigrate => by_sql_migrate(files),
        Tool::Atlas => from_checkpoint(files),
        Tool::Liquibase => sorted(files, |file| FileRole::Step(file.name.clone())),
        Tool::PgDump | Tool::Plain => sorted(files, |file| match file.is_top() {
            true => FileRole::Step(file.name.clone()),
            false => FileRole::PassedOver,
        }),
    };
    if ordered.steps.is_empty() {
        let message = format!("there is no file in it that {} runs", tool.name());
        return Err(FolderError::new(Code::FileNotFound, message, "name the folder of the files themselves"));
    }
    Ok(ordered)
}

fn step<'n>(found: Option<(&'n str, &'n str)>) -> FileRole<&'n str> {
    found.map_or(FileRole::PassedOver, |(digits, _)| FileRole::Step(digits))
}

/// Steps that are programs: what comes behind them builds on them.
fn code(tool: Tool, files: &[ToolFile]) -> Result<(), FolderError> {
    let is_code = |file: &&ToolFile| {
        let base = file.base();
        match tool {
            Tool::Goose => {
                let go = base.strip_suffix(".go").filter(|name| !name.ends_with("_test"));
                go.is_some_and(|name| file.is_top() && digits_before(name, '_').is_some())
            }
            Tool::Flyway => [".java", ".kt", ".class"].iter().any(|end| {
                base.strip_suffix(end).is_some_and(|name| flyway(&format!("{name}.sql")).is_some())
            }),
            _ => false,
        }
    };
    let Some(file) = files.iter().find(is_code) else { return Ok(()) };
    let message = format!("`{}` is a step of {} that is a program", file.name, tool.name());
    let help = "name a dump instead: `schema: [dump.sql]`, made by `pg_dump --schema-only`";
    Err(FolderError::new(Code::NotSupported, message, help))
}

/// Digits without zeros before them, which sort as numbers do: the longer is the larger.
pub(super) fn number(digits: &str) -> (usize, &str) {
    let digits = digits.trim_start_matches('0');
    (digits.len(), digits)
}

/// The digits at the beginning of a name, if there are some and this is behind them.
fn digits_before(name: &str, end: char) -> Option<&str> {
    let length = name.find(|c: char| !c.is_ascii_digit())?;
    (length > 0 && name[length..].starts_with(end)).then(|| &name[..length])
}

/// `1_name.sql`: its digits and what is behind `_`.
pub(super) fn numbered(name: &str) -> Option<(&str, &str)> {
    let digits = digits_before(name, '_')?;
    let rest = name[digits.len() + 1..].strip_suffix(".sql")?;
    (!name.contains('/')).then_some((digits, rest))
}

/// What golang-migrate does with `1_name.up.sql` and `1_name.down.sql`.
pub(super) enum GolangMigrate<'n> {
    Up(&'n str),
    Down,
}

impl<'n> GolangMigrate<'n> {
    pub(super) fn of(name: &'n str) -> Option<Self> {
        let (digits, rest) = numbered(name)?;
        if rest.ends_with(".down") {
            return Some(Self::Down);
        }
        rest.ends_with(".up").then_some(Self::Up(digits))
    }
}

/// A name of Flyway's.
#[derive(Debug, PartialEq)]
pub(super) enum Flyway<'n> {
    /// A version's numbers.
    Versioned(Vec<&'n str>),
    Baseline(Vec<&'n str>),
    /// Its description.
    Repeatable(&'n str),
    Undo,
}

/// Reads a file's name as Flyway does: `V1_2__what.sql`.
pub(super) fn flyway(name: &str) -> Option<Flyway<'_>> {
    let stem = name.strip_suffix(".sql")?;
    let (version, description) = stem.get(1..)?.split_once("__").unwrap_or((stem.get(1..)?, ""));
    if stem.starts_with('R') {
        return (version.is_empty() && stem.contains("__")).then_some(Flyway::Repeatable(description));
    }
    let mut numbers = version.split(['.', '_']).collect::<Vec<_>>();
    if numbers.iter().any(|part| part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    // 1.0 is 1.
    while numbers.len() > 1 && numbers.last().is_some_and(|last| number(last).0 == 0) {
        numbers.pop();
    }
    match stem.as_bytes()[0] {
        b'V' => Some(Flyway::Versioned(numbers)),
        b'B' => Some(Flyway::Baseline(numbers)),
        b'U' => Some(Flyway::Undo),
        _ => None,
    }
}

fn versions(a: &[&str], b: &[&str]) -> Ordering {
    a.iter().map(|part| number(part)).cmp(b.iter().map(|part| number(part)))
}

fn by_flyway(files: &[ToolFile]) -> Result<Ordered, FolderError> {
    let mut versioned = Vec::new();
    let mut baselines = Vec::new();
    let mut repeatable = Vec::new();
    let mut passed_over = Vec::new();
    for (index, file) in files.iter().enumerate().filter(|(_, file)| file.is_sql()) {
        match flyway(file.base()) {
            Some(Flyway::Versioned(version)) => versioned.push((version, index)),
            Some(Flyway::Baseline(version)) => baselines.push((version, index)),
            Some(Flyway::Repeatable(description)) => repeatable.push((description, index)),
            Some(Flyway::Undo) => {}
            None => passed_over.push(file.name.clone()),
        }
    }
    versioned.sort_by(|(a, _), (b, _)| versions(a, b));
    for pair in versioned.windows(2) {
        if versions(&pair[0].0, &pair[1].0) == Ordering::Equal {
            return Err(twice(&files[pair[0].1], &files[pair[1].1]));
        }
    }
    repeatable.sort();
    // An empty database begins with the last baseline.
    let baseline = baselines.into_iter().max_by(|(a, _), (b, _)| versions(a, b));
    if let Some((version, _)) = &baseline {
        versioned.retain(|(other, _)| versions(other, version) == Ordering::Greater);
    }
    let steps = baseline.into_iter().chain(versioned).map(|(_, index)| index);
    Ok(Ordered { steps: steps.chain(repeatable.into_iter().map(|(_, index)| index)).collect(), passed_over })
}

fn twice(first: &ToolFile, second: &ToolFile) -> FolderError {
    let message = format!("`{}` and `{}` have one version", first.name, second.name);
    FolderError::new(
        Code::ConfigValidationError,
        message,
        "the tool would run neither; give one another version",
    )
}

/// The order of the numbers at the beginning of names, of which none is there twice.
fn numbers<'f>(
    files: &'f [ToolFile],
    tool: Tool,
    role: impl Fn(&'f str) -> FileRole<&'f str>,
) -> Result<Ordered, FolderError> {
    let mut steps: Vec<(&str, usize)> = Vec::new();
    let mut passed_over = Vec::new();
    for (index, file) in files.iter().enumerate().filter(|(_, file)| file.is_sql()) {
        match role(&file.name) {
            FileRole::Step(digits) => steps.push((digits, index)),
            FileRole::Undo => {}
            FileRole::PassedOver => passed_over.push(file.name.clone()),
        }
    }
    steps.sort_by_key(|(digits, _)| number(digits));
    for pair in steps.windows(2) {
        if number(pair[0].0) == number(pair[1].0) {
            return Err(twice(&files[pair[0].1], &files[pair[1].1]));
        }
    }
    if tool == Tool::Tern {
        gaps(&steps, files)?;
    }
    Ok(Ordered { steps: steps.into_iter().map(|(_, index)| index).collect(), passed_over })
}

fn without_gaps(files: &[ToolFile]) -> Result<Ordered, FolderError> {
    numbers(files, Tool::Tern, |name| step(numbered(name)))
}

/// Tern counts from 1 and leaves out none.
fn gaps(steps: &[(&str, usize)], files: &[ToolFile]) -> Result<(), FolderError> {
    for (at, (digits, index)) in steps.iter().enumerate() {
        let expected = (at + 1).to_string();
        if number(digits) != number(&expected) {
            let message = format!("there is no step {expected} before `{}`", files[*index].name);
            return Err(FolderError::new(Code::ConfigValidationError, message, "tern counts steps from 1"));
        }
    }
    Ok(())
}

fn sorted<K: Ord>(files: &[ToolFile], role: impl Fn(&ToolFile) -> FileRole<K>) -> Ordered {
    let mut steps = Vec::new();
    let mut passed_over = Vec::new();
    for (index, file) in files.iter().enumerate().filter(|(_, file)| file.is_sql()) {
        match role(file) {
            FileRole::Step(key) => steps.push((key, index)),
            FileRole::Undo => {}
            FileRole::PassedOver => passed_over.push(file.name.clone()),
        }
    }
    steps.sort();
    Ordered { steps: steps.into_iter().map(|(_, index)| index).collect(), passed_over }
}

/// Names with numbers by these, before the others.
fn by_sql_migrate(files: &[ToolFile]) -> Ordered {
    sorted(files, |file| {
        if !file.is_top() {
            return FileRole::PassedOver;
        }
        let digits = file.name.bytes().take_while(u8::is_ascii_digit).count();
        let (length, value) = number(&file.name[..digits]);
        FileRole::Step((digits == 0, length, value.to_owned(), file.name.clone()))
    })
}

/// Files from the last checkpoint on, which has what the files before it make.
fn from_checkpoint(files: &[ToolFile]) -> Ordered {
    let mut ordered = sorted(files, |file| match file.is_top() {
        true => FileRole::Step(file.name.clone()),
        false => FileRole::PassedOver,
    });
    let is_checkpoint =
        |index: &usize| atlas_directives(&files[*index].text).any(|(_, name, _)| name == "checkpoint");
    if let Some(at) = ordered.steps.iter().rposition(is_checkpoint) {
        ordered.steps.drain(..at);
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(tool: Tool, names: &[&str]) -> Result<Vec<String>, String> {
        let file = |name: &&str| {
            let text = if name.contains("checkpoint") { "-- atlas:checkpoint\n\nSELECT 1;" } else { "" };
            ToolFile { name: (*name).to_owned(), shown: (*name).to_owned(), text: text.to_owned() }
        };
        let files = names.iter().map(file).collect::<Vec<_>>();
        let ordered = order(tool, &files, true).map_err(|wrong| wrong.message)?;
        Ok(ordered.steps.into_iter().map(|index| files[index].name.clone()).collect())
    }

    #[test]
    fn files_are_in_the_order_of_their_tool() {
        let cases: [(Tool, &[&str], &[&str]); 9] = [
            (
                Tool::Flyway,
                &[
                    "R__b.sql",
                    "R__a.sql",
                    "V10__x.sql",
                    "V2__x.sql",
                    "sub/V2_1__x.sql",
                    "U2__x.sql",
                    "V2.0.2__x.sql",
                ],
                &["V2__x.sql", "V2.0.2__x.sql", "sub/V2_1__x.sql", "V10__x.sql", "R__a.sql", "R__b.sql"],
            ),
            (
                Tool::Flyway,
                &["V1__a.sql", "B2__b.sql", "V2__c.sql", "B1__d.sql", "V3__e.sql", "afterMigrate.sql"],
                &["B2__b.sql", "V3__e.sql"],
            ),
            (Tool::Goose, &["10_a.sql", "9_b.sql", "x.sql", "sub/1_c.sql"], &["9_b.sql", "10_a.sql"]),
            (
                Tool::GolangMigrate,
                &["10_a.up.sql", "9_b.up.sql", "9_b.down.sql", "8_c.sql"],
                &["9_b.up.sql", "10_a.up.sql"],
            ),
            (Tool::Sqlx, &["10_a.sql", "9_b.up.sql", "9_b.down.sql", "c.sql"], &["9_b.up.sql", "10_a.sql"]),
            (Tool::Dbmate, &["2_a.sql", "10_b.sql", "schema.sql"], &["10_b.sql", "2_a.sql"]),
            (
                Tool::SqlMigrate,
                &["b.sql", "10_a.sql", "9-b.sql", "a.sql"],
                &["9-b.sql", "10_a.sql", "a.sql", "b.sql"],
            ),
            (
                Tool::Atlas,
                &["1_a.sql", "2_checkpoint.sql", "3_b.sql", "sub/4_c.sql"],
                &["2_checkpoint.sql", "3_b.sql"],
            ),
            (Tool::Liquibase, &["b/a.sql", "a/b.sql"], &["a/b.sql", "b/a.sql"]),
        ];
        for (tool, names, expected) in cases {
            assert_eq!(
                ordered(tool, names),
                Ok(expected.iter().map(|n| (*n).to_owned()).collect()),
                "{tool:?}"
            );
        }
        assert_eq!(
            ordered(Tool::Tern, &["002_b.sql", "001_a.sql"]),
            ordered(Tool::Goose, &["001_a.sql", "002_b.sql"])
        );
    }

    #[test]
    fn what_a_tool_would_not_run_is_refused() {
        for (tool, names) in [
            (Tool::Flyway, &["V1__a.sql", "V1_0__b.sql"][..]),
            (Tool::Flyway, &["V1__a.sql", "V2__b.java"]),
            (Tool::Goose, &["1_a.sql", "01_b.sql"]),
            (Tool::Goose, &["1_a.sql", "2_b.go"]),
            (Tool::GolangMigrate, &["1_a.up.sql", "1_b.up.sql"]),
            (Tool::Tern, &["1_a.sql", "3_b.sql"]),
            (Tool::Goose, &["a.sql"]),
        ] {
            assert!(ordered(tool, names).is_err(), "{tool:?} {names:?}");
        }
        assert!(ordered(Tool::Goose, &["1_a.sql", "2_b_test.go", "main.go"]).is_ok());
    }
}
