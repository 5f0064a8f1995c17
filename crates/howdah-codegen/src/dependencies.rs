//! Which files the code of a project is made of, to see when one of them changes.

use std::path::{Path, PathBuf};

use crate::config::{Backend, Config, NAMES};
use crate::schema;

/// The configuration, SQL files, folders of a schema with their files, templates, and what of the words of a `command` are
/// files. What is not there is among them, since it may come.
#[must_use]
pub fn dependencies(config: &Config) -> Vec<PathBuf> {
    let own = config.text.iter().map(|(name, _)| name.as_str());
    let files = config.groups.iter().flat_map(|group| group.files.iter().map(|file| file.path.as_str()));
    let templates = config.templates().map(|template| template.path.as_str());
    let named = own.chain(files).chain(templates).map(|name| config.folder.join(name));
    let outputs = config.groups.iter().flat_map(|group| &group.outputs);
    let words = outputs.flat_map(|output| match &output.backend {
        Backend::Program(words) => words.as_slice(),
        Backend::Generator(_) => &[],
    });
    let programs = words.map(|word| config.folder.join(word)).filter(|path| path.is_file());
    let mut all = named.chain(programs).chain(schema::dependencies(config)).collect::<Vec<_>>();
    all.sort();
    all.dedup();
    all
}

/// Whether a file is one of those, or a configuration that was not asked for, by whatever path.
pub(crate) fn reads(config: &Config, path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let own = NAMES.iter().map(|name| config.folder.join(name));
    let given = config.text.iter().map(|(name, _)| PathBuf::from(name));
    let all = own.chain(given).chain(dependencies(config));
    all.into_iter().any(|read| read.canonicalize().is_ok_and(|read| read == path))
}
