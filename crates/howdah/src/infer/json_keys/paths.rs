//! The paths into objects that a scan looks for, and which of them are paths in the end.

use howdah_source::json::Paths;

use super::key::JsonKey;
use super::{KeyQuestion, KeyScan};
use crate::catalog::table::Table;
use crate::options::{HeaderOption, LoadOptions};
use crate::plan::keys::{KeyPaths, MappedPath, mapped_paths};

/// The paths that options name.
pub(super) struct AskedPaths {
    pub(super) tree: Paths,
    pub(super) asked: Vec<MappedPath>,
    /// Not all records are looked at: what is nowhere in them is taken all the same.
    is_lenient: bool,
}

impl AskedPaths {
    /// Those of a load into `existing` that are wanted.
    pub(super) fn new(
        existing: Option<&Table>,
        options: &LoadOptions,
        is_lenient: bool,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> AskedPaths {
        let mut asked = mapped_paths(existing, options);
        asked.retain(|path| is_wanted(path.name.as_bytes()));
        let paths = asked.iter().enumerate();
        let tree = Paths::new(paths.map(|(at, path)| (&*path.name, path.path.clone(), at)));
        AskedPaths { tree, asked, is_lenient }
    }

    /// What a scan is to see of them.
    pub(super) fn keys(&self) -> Vec<JsonKey> {
        let unseen = (u64::MAX, usize::MAX);
        self.asked.iter().map(|path| JsonKey::new(path.name.as_bytes(), unseen)).collect()
    }
}

impl JsonKey {
    /// Whether a path's end was in some record.
    fn is_seen(&self) -> bool {
        self.first.0 != u64::MAX
    }
}

impl KeyScan {
    /// Looks at what was found at the ends of paths in the record that starts at `at`.
    pub(super) fn take_paths(&mut self, question: &KeyQuestion, text: &[u8], at: (u64, usize)) {
        for (path, value) in question.paths.tree.found(&self.steps) {
            let Some(value) = value else { continue };
            let key = &mut self.paths[path];
            key.first = key.first.min((at.0, at.1 + value.start));
            if question.with_types {
                let (form, value) = self.memory.look(text, value, &question.options);
                key.see(form, value);
            }
        }
    }

    /// The keys to load, and the paths that are none of them.
    pub(super) fn with_paths(&self) -> (Vec<&JsonKey>, KeyPaths) {
        let mut keys: Vec<&JsonKey> = self.keys.iter().collect();
        let mut paths = KeyPaths::default();
        let asked = &self.question.paths;
        for (path, seen) in asked.asked.iter().zip(&self.paths) {
            let name = path.name.clone();
            if self.by_name.contains_key(&seen.name) {
                paths.ambiguous.extend(seen.is_seen().then_some(name));
                continue;
            }
            if !seen.is_seen() && !asked.is_lenient {
                continue;
            }
            if !seen.is_seen() && self.question.options.columns.header != HeaderOption::Yes {
                paths.unseen.push(name.clone());
            }
            paths.taken.push(name);
            if !path.is_root_loaded {
                keys.retain(|key| *key.name != *path.path.root().as_bytes());
            }
            keys.push(seen);
        }
        (keys, paths)
    }
}
