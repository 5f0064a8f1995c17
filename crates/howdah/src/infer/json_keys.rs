//! Which keys records have, in the order in which they appear, and which types all of their values fit: what a header and the
//! lattice are to CSV. `paths` are looked for within objects.

mod key;
mod paths;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use howdah_encode::json::{Member, Members, Value, unescape};
use howdah_message::setting;
use howdah_source::json::{Habit, Refusal};
use howdah_source::{Dialect, Form, Piece, Splitter};

use self::key::{JsonKey, ValueMemory};
use self::paths::{AskedPaths, BlockedPath};
use crate::catalog::table::Table;
use crate::error::Error;
use crate::infer::lattice::WIDE;
use crate::infer::lattice::ascent::{Ascent, PieceAscent};
use crate::options::{HeaderOption, LoadOptions, OnError};
use crate::plan::keys::SeenKeys;
use crate::read::{faults, records, text_check};

/// Columns that a table of PostgreSQL can have.
const MOST_KEYS: usize = 1600;

/// What is asked of a scan.
pub(crate) struct KeyQuestion {
    dialect: Arc<Dialect>,
    options: LoadOptions,
    /// The values are looked at too.
    with_types: bool,
    /// Records that are none are passed over, instead of ending it.
    is_tolerant: bool,
    /// The key that could be the table's.
    first: Option<String>,
    paths: AskedPaths,
    ascent: Mutex<Ascent>,
}

impl KeyQuestion {
    /// About the keys alone, in an input that may have bad records; those are judged later. `is_part`: not all records are
    /// looked at.
    pub(crate) fn about_names(
        dialect: &Arc<Dialect>,
        options: &LoadOptions,
        existing: Option<&Table>,
        is_part: bool,
    ) -> Arc<KeyQuestion> {
        let question = KeyQuestion::new(dialect, options, existing, is_part);
        Arc::new(KeyQuestion { is_tolerant: true, ..question })
    }

    /// About keys and types; `first` is the first key of all.
    pub(crate) fn about_types(
        dialect: &Arc<Dialect>,
        options: &LoadOptions,
        existing: Option<&Table>,
        first: Option<&String>,
    ) -> Arc<KeyQuestion> {
        let question = KeyQuestion::new(dialect, options, existing, false);
        Arc::new(KeyQuestion { with_types: true, first: first.cloned(), ..question })
    }

    fn new(
        dialect: &Arc<Dialect>,
        options: &LoadOptions,
        existing: Option<&Table>,
        is_part: bool,
    ) -> KeyQuestion {
        // The keys of a corrected reject file are those of the load before, and it may have none with some of them.
        let is_part = is_part || options.columns.header == HeaderOption::Yes;
        KeyQuestion {
            dialect: dialect.clone(),
            options: options.clone(),
            with_types: false,
            is_tolerant: options.tolerance.on_error == OnError::Ignore,
            first: None,
            paths: AskedPaths::new(existing, options, is_part, |name| is_wanted(name, options)),
            ascent: Mutex::default(),
        }
    }
}

/// Whether a key is to be loaded.
fn is_wanted(name: &[u8], options: &LoadOptions) -> bool {
    let is = |other: &String| other.as_bytes() == name;
    !options.columns.skip_columns.iter().any(is)
        && options.columns.column_list.as_ref().is_none_or(|columns| columns.iter().any(is))
}

/// One thread's part of a scan.
pub(crate) struct KeyScan {
    question: Arc<KeyQuestion>,
    keys: Vec<JsonKey>,
    by_name: HashMap<Box<[u8]>, usize>,
    habit: Habit,
    records: u64,
    /// Further ones, in which something blocks a path.
    blocked_records: u64,
    /// In the order of the question.
    paths: Vec<JsonKey>,
    /// In the same order.
    blocked: Vec<Option<BlockedPath>>,
    /// What was found at the steps of paths.
    steps: Vec<Option<Value>>,
    stripped: Vec<u8>,
    memory: ValueMemory,
}

impl KeyScan {
    pub(crate) fn new(question: Arc<KeyQuestion>) -> KeyScan {
        KeyScan {
            paths: question.paths.keys(),
            blocked: question.paths.asked.iter().map(|_| None).collect(),
            steps: Vec::new(),
            question,
            keys: Vec::new(),
            by_name: HashMap::new(),
            habit: Habit::new(0),
            records: 0,
            blocked_records: 0,
            stripped: Vec::new(),
            memory: ValueMemory::default(),
        }
    }

    /// Looks at all records of a piece.
    ///
    /// # Errors
    /// The first that is none, unless such records are passed over; more keys than a table has columns.
    pub(crate) fn see(&mut self, piece: &Piece) -> Result<(), Error> {
        let question = self.question.clone();
        let on_nul = question.options.tolerance.on_nul;
        let suspect = text_check::is_suspect(piece);
        let mut stripped = std::mem::take(&mut self.stripped);
        let mut ascending = PieceAscent::Empty;
        let mut splitter = Splitter::of(piece, &question.dialect);
        loop {
            let span = match splitter.next_record(&mut Vec::new()) {
                Ok(None) => break,
                Ok(Some(span)) => span,
                Err(_) if question.is_tolerant => continue,
                Err(fault) => return Err(faults::faulty(piece, &fault)),
            };
            let text = match records::json_text(piece, span, suspect, on_nul, true, &mut stripped) {
                Ok((bytes, range)) => &bytes[range],
                Err(_) if question.is_tolerant => continue,
                Err(error) => return Err(error),
            };
            // Keys of a record that is none must not become columns.
            if question.is_tolerant && !is_record(text) {
                continue;
            }
            let refused = |refusal| faults::refused(piece, span, refusal, None);
            let is_blocked = !question.paths.asked.is_empty()
                && self.find_paths(&question, piece, span, text).map_err(refused)?;
            let at = (piece.ordinal, span.start);
            self.take(&question, text, at, is_blocked, &mut ascending).map_err(refused)?;
            *(if is_blocked { &mut self.blocked_records } else { &mut self.records }) += 1;
        }
        self.stripped = stripped;
        question.ascent.lock().add(piece.ordinal, ascending);
        Ok(())
    }

    /// Looks at one record, which starts at `at`.
    fn take(
        &mut self,
        question: &KeyQuestion,
        text: &[u8],
        at: (u64, usize),
        is_blocked: bool,
        ascending: &mut PieceAscent,
    ) -> Result<(), Refusal> {
        self.habit.start();
        let mut has_first = false;
        let mut members = Members::of(text).map_err(|error| Refusal::not_json(error, at.1))?;
        while let Some(member) = members.next().map_err(|error| Refusal::not_json(error, at.1))? {
            let Some(key) = self.find(question, &member)? else { continue };
            self.keys[key].values_where(is_blocked).meet((at.0, at.1 + member.value.start));
            if !question.with_types {
                continue;
            }
            let (form, value) = self.memory.look(text, member.value, &question.options);
            self.keys[key].values_where(is_blocked).see(form, value);
            if question.first.as_ref().is_some_and(|first| first.as_bytes() == &*self.keys[key].name) {
                ascending.see(value.filter(|_| form == Form::Plain));
                has_first = true;
            }
        }
        if !has_first {
            ascending.see(None);
        }
        self.take_paths(question, text, at, is_blocked);
        Ok(())
    }

    /// Which key it is; a new one where it was not met before. `None`: nobody wants it.
    fn find(&mut self, question: &KeyQuestion, member: &Member<'_>) -> Result<Option<usize>, Refusal> {
        let expected = self.habit.expected();
        let is_expected = |key: &JsonKey| !member.key_is_escaped && *key.name == *member.key;
        let key = if self.keys.get(expected).is_some_and(is_expected) {
            expected
        } else {
            let mut unescaped = Vec::new();
            let mut name = member.key;
            if member.key_is_escaped {
                unescape(name, false, &mut unescaped)?;
                name = &unescaped;
            }
            match self.by_name.get(name) {
                Some(key) => *key,
                None if is_wanted(name, &question.options) => self.add(name)?,
                None => return Ok(None),
            }
        };
        self.habit.came(key);
        Ok(Some(key))
    }

    fn add(&mut self, name: &[u8]) -> Result<usize, Refusal> {
        if self.keys.len() >= MOST_KEYS {
            return Err(too_many());
        }
        self.by_name.insert(name.into(), self.keys.len());
        self.keys.push(JsonKey::new(name));
        Ok(self.keys.len() - 1)
    }

    /// Adds what another saw of the same input.
    fn merge(&mut self, mut other: KeyScan) -> Result<(), Refusal> {
        self.records += other.records;
        self.blocked_records += other.blocked_records;
        self.merge_paths(&mut other);
        for from in other.keys {
            let at = match self.by_name.get(&from.name) {
                Some(at) => *at,
                None => self.add(&from.name)?,
            };
            self.keys[at].merge(&from);
        }
        Ok(())
    }
}

/// What all parts of a scan saw.
///
/// # Errors
/// More keys than a table has columns; a path that leads into what has no keys, unless such records are passed over.
pub(crate) fn conclude(parts: Vec<KeyScan>) -> Result<SeenKeys, Error> {
    let mut parts = parts.into_iter();
    let Some(mut whole) = parts.next() else { return Ok(SeenKeys::default()) };
    for part in parts {
        whole.merge(part).map_err(faults::without_place)?;
    }
    let are_keys = whole.judge_paths()?;
    let (mut keys, paths) = whole.with_paths(&are_keys);
    let (question, records) = (&whole.question, whole.records);
    let columns = question.options.columns.column_list.as_deref().unwrap_or_default();
    let asked = |key: &JsonKey| columns.iter().position(|column| column.as_bytes() == &*key.name);
    keys.sort_by_key(|key| (asked(key), key.values.first));
    Ok(SeenKeys {
        names: keys.iter().map(|key| String::from_utf8_lossy(&key.name).into_owned()).collect(),
        types: keys.iter().map(|key| key.values.decide()).collect(),
        never_null: keys.iter().map(|key| key.values.present >= records && key.values.nulls == 0).collect(),
        has_wide: keys.iter().map(|key| key.values.longest >= WIDE).collect(),
        first_ascends: question.ascent.lock().holds(),
        paths,
    })
}

/// Whether the text is an object whose keys can be read.
fn is_record(text: &[u8]) -> bool {
    let Ok(mut members) = Members::of(text) else { return false };
    loop {
        match members.next() {
            Ok(None) => return true,
            Ok(Some(member))
                if member.key_is_escaped && unescape(member.key, false, &mut Vec::new()).is_err() =>
            {
                return false;
            }
            Ok(Some(_)) => {}
            Err(_) => return false,
        }
    }
}

#[cold]
fn too_many() -> Refusal {
    Refusal {
        hint: Some(Box::new(message![
            setting::COLUMNS.list(&["a", "b", "…"]),
            " names the keys to load; objects whose keys are data are best loaded whole: docs/ndjson.md"
        ])),
        ..Refusal::new(
            "54011",
            format!("the records have more than {MOST_KEYS} different keys, and a table no more columns"),
        )
    }
}

#[cfg(test)]
mod tests;
