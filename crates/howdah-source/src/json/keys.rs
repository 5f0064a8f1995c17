//! Which key is which field of the plan, and what its values become.

use std::collections::HashMap;

use howdah_encode::TypeShape;

use super::path::{Path, Paths};

/// OIDs of `json` and `jsonb`.
const DOCUMENTS: [u32; 2] = [114, 3802];

/// What becomes of a key's values.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// They are not loaded.
    Skipped,
    /// Literals of a type that JSON knows nothing of.
    Literal,
    /// They stay JSON.
    Document,
    /// JSON's arrays and objects become those of PostgreSQL.
    Shaped(TypeShape),
}

impl Target {
    fn of(shape: &TypeShape) -> Target {
        match below_domains(shape) {
            TypeShape::Array { .. } | TypeShape::Composite { .. } => Target::Shaped(shape.clone()),
            _ if is_document(shape) => Target::Document,
            _ => Target::Literal,
        }
    }
}

/// The type below all domains.
pub(crate) fn below_domains(mut shape: &TypeShape) -> &TypeShape {
    while let TypeShape::Domain { over, .. } = shape {
        shape = over;
    }
    shape
}

/// Whether values of the type are JSON themselves.
pub(crate) fn is_document(shape: &TypeShape) -> bool {
    matches!(below_domains(shape), TypeShape::Base { oid } if DOCUMENTS.contains(oid))
}

/// What a key has to do with paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyRole {
    /// Nothing.
    Key,
    /// Paths go through its value: the step that it is.
    Root(usize),
    /// The same, of a key that has a column and no field: it is as unknown as any other.
    UnknownRoot(usize),
    /// A path is spelled like it.
    SpelledAlike,
}

/// The names of a load that are paths.
#[derive(Debug, Clone, Copy, Default)]
pub struct PathNames<'n> {
    /// As the user spells them.
    pub taken: &'n [String],
    /// The keys that they go through and that are to be loaded, but were in no record that was looked at.
    pub unknown_roots: &'n [String],
}

/// The keys of a load.
#[derive(Debug, Clone)]
pub struct Keys {
    /// The names of the fields, in the plan's order; of those that are paths, their spelling.
    pub names: Vec<Box<[u8]>>,
    /// In the order of the names.
    pub targets: Vec<Target>,
    by_name: HashMap<Box<[u8]>, usize>,
    /// Those of the names that are paths.
    pub(super) paths: Paths,
    /// In the order of the names, where there are paths.
    pub(super) parts: Vec<KeyRole>,
    /// Fields of a record, what is in no record included.
    pub width: usize,
    /// Keys without a name here are not loaded, and nobody minds.
    pub passes_over: bool,
}

impl Keys {
    /// `names` in the plan's order, of which some are paths, then those that are skipped; `shape` tells the type of the column
    /// that a field goes into.
    pub fn new<'s>(
        names: &[String],
        paths: PathNames<'_>,
        skipped: &[String],
        width: usize,
        passes_over: bool,
        shape: impl Fn(usize) -> Option<&'s TypeShape>,
    ) -> Keys {
        let more = skipped.iter().filter(|name| !names.contains(name));
        let mut all: Vec<Box<[u8]>> = names.iter().chain(more).map(|name| name.as_bytes().into()).collect();
        let is_among = |names: &[String], name: &[u8]| names.iter().any(|other| other.as_bytes() == name);
        let is_path = |name: &[u8]| is_among(paths.taken, name);
        let (paths, parts) = if paths.taken.is_empty() {
            Default::default()
        } else {
            let of_names = names.iter().enumerate().filter(|(_, name)| is_path(name.as_bytes()));
            let is_known = |name: &[u8]| is_among(names, name) || is_among(skipped, name);
            let is_unknown = |name: &[u8]| is_among(paths.unknown_roots, name) && !is_known(name);
            let paths = Paths::new(of_names.filter_map(|(at, name)| Some((&**name, Path::parse(name)?, at))));
            for (root, _) in paths.roots() {
                if !all.iter().any(|name| **name == *root) {
                    all.push(root.into());
                }
            }
            let part = |name: &[u8]| match paths.roots().find(|(root, _)| *root == name) {
                _ if is_path(name) => KeyRole::SpelledAlike,
                Some((_, step)) if is_unknown(name) => KeyRole::UnknownRoot(step),
                Some((_, step)) => KeyRole::Root(step),
                None => KeyRole::Key,
            };
            let parts = all.iter().map(|name| part(name)).collect();
            (paths, parts)
        };
        let targets = (0..all.len()).map(|field| {
            let shape = shape(field).filter(|_| field < names.len());
            shape.map_or(Target::Skipped, Target::of)
        });
        Keys {
            targets: targets.collect(),
            by_name: all.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect(),
            names: all,
            paths,
            parts,
            width,
            passes_over,
        }
    }

    /// The number of the key `name`, if it is known.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

/// Finds keys by what followed the key before them last time: records mostly look alike.
#[derive(Debug)]
pub struct Habit {
    /// For the start of a record and for each key: which key came next.
    next: Vec<usize>,
    last: usize,
}

impl Habit {
    /// Keys are expected in the order in which they are numbered.
    pub fn new(keys: usize) -> Habit {
        Habit { next: (0..=keys).collect(), last: 0 }
    }

    /// A record starts.
    #[inline]
    pub fn start(&mut self) {
        self.last = 0;
    }

    /// The key that is expected now.
    #[inline]
    pub fn expected(&self) -> usize {
        self.next[self.last]
    }

    /// The key that came.
    #[inline]
    pub fn came(&mut self, key: usize) {
        if self.next.len() < key + 2 {
            let known = self.next.len();
            self.next.extend(known..key + 2);
        }
        self.next[self.last] = key;
        self.last = key + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_habit_changes_with_the_records() {
        let mut habit = Habit::new(2);
        for order in [[0, 1, 2], [2, 0, 1], [2, 0, 1]] {
            habit.start();
            for key in order {
                habit.came(key);
            }
        }
        habit.start();
        for key in [2, 0, 1] {
            assert_eq!(habit.expected(), key);
            habit.came(key);
        }
    }

    #[test]
    fn skipped_keys_are_known_and_their_values_are_nothing() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let text = TypeShape::Base { oid: 25 };
        let keys =
            Keys::new(&names(&["a", "b"]), PathNames::default(), &names(&["b", "c"]), 2, false, |field| {
                (field == 0).then_some(&text)
            });
        let target = |name: &str| keys.find(name.as_bytes()).map(|key| keys.targets[key].clone());
        assert_eq!(target("a"), Some(Target::Literal));
        assert_eq!((target("b"), target("c")), (Some(Target::Skipped), Some(Target::Skipped)));
        assert_eq!(target("d"), None);
    }

    #[test]
    fn keys_that_paths_go_through_are_known_and_paths_are_no_keys() {
        let names = ["a.b", "c", "c.d"].map(str::to_owned);
        let text = TypeShape::Base { oid: 25 };
        let (taken, unknown_roots) = ([names[0].clone(), names[2].clone()], []);
        let paths = PathNames { taken: &taken, unknown_roots: &unknown_roots };
        let keys = Keys::new(&names, paths, &[], 3, false, |_| Some(&text));
        let part = |name: &str| {
            let key = keys.find(name.as_bytes()).unwrap();
            (keys.parts[key], keys.targets[key].clone())
        };
        assert_eq!(part("a"), (KeyRole::Root(0), Target::Skipped));
        assert_eq!(part("c"), (KeyRole::Root(2), Target::Literal));
        assert_eq!(part("a.b").0, KeyRole::SpelledAlike);
        assert_eq!(keys.find(b"b"), None);
    }
}
