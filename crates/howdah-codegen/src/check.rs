//! Reads all files of a project and says all that is wrong with them, before any server is asked.

use crate::config::{Backend, Config, Output};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Place};
use crate::languages::{Generator, Template, template, writers};
use crate::schema::{self, Schema};
use crate::source::{self, Block, BlockKind};
use crate::sql_file::load;
use std::collections::{BTreeMap, HashMap};

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
    /// What other tools' files make before the blocks of every group.
    pub schema: Schema,
    /// The files of each group of the configuration, in its order.
    pub groups: Vec<Vec<Source>>,
    /// The user's templates.
    pub templates: Vec<Template>,
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
    let schema = schema::load(config, &mut diagnostics);
    let mut read: BTreeMap<&str, Source> = BTreeMap::new();
    let mut groups = Vec::new();
    for group in &config.groups {
        let mut sources = Vec::new();
        for named in &group.files {
            // A file of two groups is reported once.
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
        let blocks = sources.iter().flat_map(|source| &source.blocks);
        diagnostics.extend(writers::refused(&generators(&group.outputs), blocks));
        groups.push(sources);
    }
    let templates = templates(config, &mut diagnostics);
    if diagnostics.errors() > 0 {
        return Err(diagnostics);
    }
    Ok(Checked { schema, groups, templates, diagnostics })
}

/// The generators of a group, and whether each has `runtime: howdah`.
fn generators(outputs: &[Output]) -> Vec<(Generator, bool)> {
    let named = outputs.iter().filter_map(|output| match output.backend {
        Backend::Generator(name) => Some((Generator::named(name)?, output.options.runtime == Some(true))),
        Backend::Program(_) => None,
    });
    named.collect()
}

/// Reads the user's templates, each once.
fn templates(config: &Config, diagnostics: &mut Diagnostics) -> Vec<Template> {
    let mut read: Vec<Template> = Vec::new();
    for named in config.templates() {
        if read.iter().any(|before| before.file == named.path) {
            continue;
        }
        match std::fs::read_to_string(config.folder.join(&named.path)) {
            Ok(text) => {
                diagnostics.remember(&named.path, &text);
                let template = Template { file: named.path.clone(), text };
                diagnostics.extend(template::check(&template));
                read.push(template);
            }
            Err(error) => {
                let message = format!("`{}` cannot be read: {error}", named.path);
                let nowhere = Place { file: named.path.clone(), line: 1, column: 1, length: 1 };
                let place = named.place.clone().unwrap_or(nowhere);
                diagnostics.extend(vec![Diagnostic::error(Code::FileNotFound, place, message)]);
            }
        }
    }
    read
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
