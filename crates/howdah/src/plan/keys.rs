//! The keys of JSON records, which take the place of a header, and the paths into objects that stand beside them.

use howdah_message::{Message, setting};
use howdah_source::json::Path;
use howdah_source::listing::beginning;

use crate::catalog::inferred_type::InferredType;
use crate::catalog::table::Table;
use crate::options::LoadOptions;
use crate::plan::columns::find_column;

/// What was seen of the keys, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SeenKeys {
    /// Also of paths, as the user spells them.
    pub(crate) names: Vec<String>,
    pub(crate) types: Vec<InferredType>,
    /// Whether every record has a value that is not null.
    pub(crate) never_null: Vec<bool>,
    /// Whether a value was seen that the server would compress.
    pub(crate) has_wide: Vec<bool>,
    /// The first key's integers grow from record to record.
    pub(crate) first_ascends: bool,
    pub(crate) paths: KeyPaths,
}

/// Which names are paths into objects instead of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyPaths {
    pub(crate) taken: Vec<String>,
    /// Paths with something at their end that are keys too, and taken for these.
    pub(crate) ambiguous: Vec<String>,
    /// Of those that are taken: nothing was seen there.
    pub(crate) unseen: Vec<String>,
    /// Keys that they go through, which are loaded too and were not seen.
    pub(crate) unknown_roots: Vec<String>,
}

impl KeyPaths {
    /// What is to be said of them.
    pub(crate) fn notices(&self) -> impl Iterator<Item = Message> {
        let list = |names: &[String]| beginning(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let ambiguous = self.ambiguous.first().and_then(|first| Path::parse(first)).map(|path| {
            message![
                "taken for the key, although there is a path of that name too: ",
                list(&self.ambiguous),
                "; ",
                setting::MAP.entry_of(path.quoted(), "COLUMN"),
                " takes the path"
            ]
        });
        let unseen = (!self.unseen.is_empty()).then(|| {
            message!["no record that was looked at has ", list(&self.unseen), ": NULL until one has it"]
        });
        ambiguous.into_iter().chain(unseen)
    }
}

/// A name that options map to a column, as a path.
pub(crate) struct MappedPath {
    pub(crate) name: String,
    pub(crate) path: Path,
    /// It is a path whatever keys there are.
    pub(crate) is_certain: bool,
    /// The key that it goes through is loaded itself: it is named, or an existing table has a column for it alone.
    pub(crate) is_root_loaded: bool,
}

/// The names that options map to columns and that are paths, or are paths unless they are keys.
pub(crate) fn mapped_paths(existing: Option<&Table>, options: &LoadOptions) -> Vec<MappedPath> {
    let columns = &options.columns;
    let column = |name: &str| {
        let column = existing.and_then(|table| find_column(table, name, columns.column_names));
        column.filter(|column| !column.generated).map(|column| &column.name)
    };
    let is_own = |name: &String| columns.map.iter().all(|(_, target)| column(target) != Some(name));
    let mut paths: Vec<MappedPath> = Vec::new();
    for (name, _) in &columns.map {
        let Some(path) = Path::parse(name) else { continue };
        if paths.iter().any(|known| known.name == *name) {
            continue;
        }
        let is_certain =
            name.starts_with('"') || columns.known_paths.iter().flatten().any(|path| path == name);
        if columns.known_paths.is_some() && !is_certain {
            continue;
        }
        let is_named = columns.map.iter().any(|(source, _)| source == path.root())
            || columns.column_list.iter().flatten().any(|column| column == path.root());
        let is_root_loaded = is_named || column(path.root()).is_some_and(is_own);
        paths.push(MappedPath { name: name.clone(), path, is_certain, is_root_loaded });
    }
    paths
}
