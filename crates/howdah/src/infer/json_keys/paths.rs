//! The paths into objects that a scan looks for, and which of them are paths in the end.

use howdah_source::json::{Paths, Refusal};
use howdah_source::{Piece, Span};

use super::key::JsonKey;
use super::{KeyQuestion, KeyScan};
use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::{HeaderOption, LoadOptions};
use crate::plan::keys::{KeyPaths, MappedPath, mapped_paths};
use crate::read::faults;

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
        self.asked.iter().map(|path| JsonKey::new(path.name.as_bytes())).collect()
    }
}

/// The first record with something that has no keys on the way of a path.
pub(super) struct BlockedPath {
    at: (u64, usize),
    error: Error,
}

impl BlockedPath {
    /// Keeps in `first` the earlier one of two.
    fn keep(first: &mut Option<BlockedPath>, at: (u64, usize), error: impl FnOnce() -> Error) {
        if first.as_ref().is_none_or(|first| at < first.at) {
            *first = Some(BlockedPath { at, error: error() });
        }
    }
}

impl KeyScan {
    /// Finds the values of paths in the record `text`, which is `span` of `piece`; whether something blocks one of them.
    ///
    /// # Errors
    /// It is no record.
    pub(super) fn find_paths(
        &mut self,
        question: &KeyQuestion,
        piece: &Piece,
        span: Span,
        text: &[u8],
    ) -> Result<bool, Refusal> {
        let at = (piece.ordinal, span.start);
        let mut is_blocked = false;
        question.paths.tree.read(text, span.start, &mut self.steps, |blocked| {
            is_blocked = true;
            for path in blocked.fields() {
                BlockedPath::keep(&mut self.blocked[path], at, || {
                    faults::refused(piece, span, blocked.refusal(), None)
                });
            }
            Ok(())
        })?;
        Ok(is_blocked)
    }

    /// Looks at what was found at the ends of paths in the record that starts at `at`.
    pub(super) fn take_paths(
        &mut self,
        question: &KeyQuestion,
        text: &[u8],
        at: (u64, usize),
        is_blocked: bool,
    ) {
        for (path, value) in question.paths.tree.found(&self.steps) {
            let Some(value) = value else { continue };
            let values = self.paths[path].values_where(is_blocked);
            values.meet((at.0, at.1 + value.start));
            if question.with_types {
                let (form, value) = self.memory.look(text, value, &question.options);
                values.see(form, value);
            }
        }
    }

    /// Adds what another saw of paths.
    pub(super) fn merge_paths(&mut self, other: &mut KeyScan) {
        for (into, from) in self.paths.iter_mut().zip(&other.paths) {
            into.merge(from);
        }
        for (into, from) in self.blocked.iter_mut().zip(&mut other.blocked) {
            if let Some(BlockedPath { at, error }) = from.take() {
                BlockedPath::keep(into, at, || error);
            }
        }
    }

    /// Which of the names that were asked for are keys. Records in which something blocks one of the others are bad.
    ///
    /// # Errors
    /// The first of these, unless such records are passed over and there are others.
    pub(super) fn judge_paths(&mut self) -> Result<Vec<bool>, Error> {
        let question = self.question.clone();
        let asked = &question.paths.asked;
        let is_key = |path: &MappedPath| !path.is_certain && self.by_name.contains_key(path.name.as_bytes());
        let are_keys: Vec<bool> = asked.iter().map(is_key).collect();
        let paths = self.blocked.iter_mut().zip(&are_keys).filter(|(_, is_key)| !**is_key);
        let first = paths.filter_map(|(blocked, _)| blocked.take()).min_by_key(|blocked| blocked.at);
        let has_bad = first.is_some();
        let has_others = self.records > 0 || !question.with_types;
        if let Some(blocked) = first.filter(|_| !question.is_tolerant || !has_others) {
            return Err(blocked.error);
        }
        if !has_bad {
            self.records += self.blocked_records;
        }
        let names = asked.iter().zip(&are_keys).filter(|(_, is_key)| **is_key);
        let names: Vec<&[u8]> = names.map(|(path, _)| path.name.as_bytes()).collect();
        for key in self.keys.iter_mut().chain(&mut self.paths) {
            // Where a key is spelled like a path, the records that seemed to block this are its own.
            if !has_bad || names.contains(&&*key.name) {
                key.accept_blocked();
            }
        }
        Ok(are_keys)
    }

    /// The keys to load, and the paths that are none of them.
    pub(super) fn with_paths(&self, are_keys: &[bool]) -> (Vec<&JsonKey>, KeyPaths) {
        let question = &self.question;
        let mut keys: Vec<&JsonKey> = self.keys.iter().filter(|key| key.is_seen()).collect();
        let mut paths = KeyPaths::default();
        for ((path, seen), is_key) in question.paths.asked.iter().zip(&self.paths).zip(are_keys) {
            let name = path.name.clone();
            if *is_key {
                paths.ambiguous.extend(seen.is_seen().then_some(name));
                continue;
            }
            keys.retain(|key| key.name != seen.name);
            if !seen.is_seen() && !question.paths.is_lenient {
                continue;
            }
            if !seen.is_seen() && question.options.columns.header != HeaderOption::Yes {
                paths.unseen.push(name.clone());
            }
            paths.taken.push(name);
            let root = path.path.root();
            if path.is_root_loaded && !self.by_name.contains_key(root.as_bytes()) {
                paths.unknown_roots.push(root.to_owned());
            }
            if !path.is_root_loaded {
                keys.retain(|key| *key.name != *path.path.root().as_bytes());
            }
            keys.push(seen);
        }
        (keys, paths)
    }
}
