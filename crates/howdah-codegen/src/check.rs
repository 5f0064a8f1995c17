//! Reads all files of a project and says all that is wrong with them, before any server is asked.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::config::{Config, Named};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Place, nearest};
use crate::source::{self, Block, BlockKind};

/// A file of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// As the configuration names it; so do the places of its blocks.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Its blocks, in order.
    pub blocks: Vec<Block>,
}

/// A project that can be described.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The files of each group of the configuration, in its order.
    pub groups: Vec<Vec<Source>>,
    /// What is worth a warning, and the texts for messages to come.
    pub diagnostics: Diagnostics,
}

/// Reads the files of a project.
///
/// # Errors
///
/// All errors and warnings of all files.
pub fn check(config: &Config) -> Result<Checked, Diagnostics> {
    let mut diagnostics = Diagnostics::new(&config.folder);
    if let Some((file, text)) = &config.text {
        diagnostics.remember(file, text);
    }
    diagnostics.extend(config.warnings.clone());
    let mut read: BTreeMap<&str, Source> = BTreeMap::new();
    let mut groups = Vec::new();
    for group in &config.groups {
        let mut sources = Vec::new();
        for named in &group.files {
            // A file of two groups is told of once.
            if let Some(source) = read.get(named.path.as_str()) {
                sources.push(source.clone());
                continue;
            }
            match load(&config.folder, named) {
                Ok(text) => {
                    let (blocks, messages) = source::parse(&named.path, &text);
                    diagnostics.remember(&named.path, &text);
                    diagnostics.extend(messages);
                    let source = Source { file: named.path.clone(), text, blocks };
                    read.insert(&named.path, source.clone());
                    sources.push(source);
                }
                Err((message, text)) => {
                    if let Some(text) = text {
                        diagnostics.remember(&named.path, &text);
                    }
                    diagnostics.extend(vec![*message]);
                }
            }
        }
        diagnostics.extend(duplicates(&sources));
        groups.push(sources);
    }
    if diagnostics.errors() > 0 {
        return Err(diagnostics);
    }
    Ok(Checked { groups, diagnostics })
}

/// The text of a file; or what is wrong with it, and what of it can be shown.
fn load(folder: &Path, named: &Named) -> Result<String, (Box<Diagnostic>, Option<String>)> {
    let path = folder.join(&named.path);
    let nowhere = Place { file: named.path.clone(), line: 1, column: 1, length: 1 };
    let bytes = std::fs::read(&path).map_err(|error| {
        let place = named.place.clone().unwrap_or_else(|| nowhere.clone());
        let mut message =
            Diagnostic::error(Code::FileNotFound, place, format!("`{}` cannot be read: {error}", named.path));
        message.suggestion = sibling(&path).map(|near| format!("perhaps you meant `{near}`"));
        (Box::new(message), None)
    })?;
    let (text, wrong) = match String::from_utf8(bytes) {
        Ok(mut text) => {
            // A byte order mark is no character of the first line.
            if text.starts_with('\u{feff}') {
                text.remove(0);
            }
            let nul = text.find('\0').map(|at| (at, "the server takes no NUL characters"));
            (text, nul)
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (text, Some((at, "the file is not UTF-8")))
        }
    };
    match wrong {
        None => Ok(text),
        Some((at, message)) => {
            let place = crate::diagnostic::Lines::new(&text).place(&named.path, at..at);
            Err((Box::new(Diagnostic::error(Code::SqlParseError, place, message)), Some(text)))
        }
    }
}

/// The file beside a missing one that was probably meant.
fn sibling(path: &Path) -> Option<String> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names =
        std::fs::read_dir(parent).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names = names.filter(|name| name.ends_with(".sql")).collect::<Vec<_>>();
    names.sort();
    let wanted = path.file_name()?.to_str()?;
    nearest(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}

/// What shares a name with a block of its kind: methods of one class, or steps of one history.
fn duplicates(sources: &[Source]) -> Vec<Diagnostic> {
    let mut first: HashMap<(Option<BlockKind>, &str), &Place> = HashMap::new();
    let mut messages = Vec::new();
    for block in sources.iter().flat_map(|source| &source.blocks) {
        let space = match block.kind {
            BlockKind::Query | BlockKind::Exec | BlockKind::Table => None,
            kind => Some(kind),
        };
        let Some(before) = first.get(&(space, block.name.as_str())) else {
            first.insert((space, &block.name), &block.place);
            continue;
        };
        let what = space.map_or("QUERY, EXEC and TABLE", BlockKind::word);
        let message = format!("there is a `{}` already in {}:{}", block.name, before.file, before.line);
        let error = Diagnostic::error(Code::DuplicateQuery, block.place.clone(), message)
            .help(format!("names of {what} differ within an entry of `sql`"));
        messages.push(Diagnostic { block: Some(format!("{} {}", block.kind.word(), block.name)), ..error });
    }
    messages
}
