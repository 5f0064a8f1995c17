//! From a record to the fields of the plan, as `json_populate_record` reads it: the last of equal keys counts, what is
//! missing is NULL.

use std::ops::Range;

use howdah_encode::json::{Member, Members, Value, ValueKind, unescape};
use howdah_message::setting;

use super::Refusal;
use super::keys::{Habit, KeyRole, Keys, Target};
use super::literal;
use super::path::Path;
use crate::field::{Field, Form, MOST_BYTES};

/// Reads records, with the memory that it reuses.
#[derive(Debug)]
pub struct Reader {
    habit: Habit,
    key: Vec<u8>,
    /// What was found at the steps of paths.
    steps: Vec<Option<Value>>,
    /// A record whose values are not all spelled as COPY would spell them, and behind it those that are not.
    altered: Vec<u8>,
}

impl Reader {
    /// A reader of records with these keys.
    pub fn new(keys: &Keys) -> Reader {
        Reader {
            habit: Habit::new(keys.names.len()),
            key: Vec::new(),
            steps: Vec::new(),
            altered: Vec::new(),
        }
    }

    /// Puts the values of the record at `record` of `bytes` into `fields`; whether these are ranges of [`Reader::altered`]
    /// instead of `bytes`. `drops_nul`: escapes for NUL stand for nothing.
    ///
    /// # Errors
    /// What stands between the record and a row.
    pub fn read(
        &mut self,
        keys: &Keys,
        bytes: &[u8],
        record: Range<usize>,
        drops_nul: bool,
        fields: &mut Vec<Field>,
    ) -> Result<bool, Refusal> {
        let base = record.start;
        let text = &bytes[record];
        fields.clear();
        fields.resize(keys.width, Field::NULL);
        let is_altered = if keys.paths.is_empty() {
            self.members::<false>(keys, text, base, fields)?
        } else {
            self.paths(keys, text, base, fields)?
        };
        if is_altered {
            self.alter(keys, text, base, drops_nul, fields)?;
        }
        Ok(is_altered)
    }

    /// Puts the values of the members into `fields`, and with `HAS_PATHS` those that paths go through aside; whether some must
    /// be spelled otherwise.
    #[inline]
    fn members<const HAS_PATHS: bool>(
        &mut self,
        keys: &Keys,
        text: &[u8],
        base: usize,
        fields: &mut [Field],
    ) -> Result<bool, Refusal> {
        self.habit.start();
        let mut is_altered = false;
        // What is no JSON has no keys.
        let (mut stranger, mut alike) = (None, None);
        let mut members = Members::of(text).map_err(|error| Refusal::not_json(error, base))?;
        while let Some(member) = members.next().map_err(|error| Refusal::not_json(error, base))? {
            let Some(key) = self.find(keys, &member)? else {
                stranger = stranger.or(Some(member.key));
                continue;
            };
            if HAS_PATHS {
                match keys.parts[key] {
                    KeyRole::Key => {}
                    KeyRole::Root(step) => self.steps[step] = Some(member.value),
                    KeyRole::UnknownRoot(step) => {
                        self.steps[step] = Some(member.value);
                        stranger = stranger.or(Some(member.key));
                    }
                    KeyRole::SpelledAlike => alike = Some(key),
                }
            }
            let target = &keys.targets[key];
            if *target != Target::Skipped {
                let (field, alters) = place(target, member.value, base);
                fields[key] = field;
                is_altered |= alters;
            }
        }
        if let Some(key) = stranger.filter(|_| !keys.passes_over) {
            return Err(unknown(key));
        }
        if let Some(key) = alike {
            return Err(spelled_alike(&keys.names[key]));
        }
        Ok(is_altered)
    }

    /// The same with the values at the ends of paths.
    #[inline(never)]
    fn paths(
        &mut self,
        keys: &Keys,
        text: &[u8],
        base: usize,
        fields: &mut [Field],
    ) -> Result<bool, Refusal> {
        keys.paths.begin(&mut self.steps);
        let mut is_altered = self.members::<true>(keys, text, base, fields)?;
        keys.paths.follow(text, &mut self.steps, |blocked| Err(blocked.refusal()))?;
        for (at, value) in keys.paths.found(&self.steps) {
            if let Some(value) = value {
                let (field, alters) = place(&keys.targets[at], value, base);
                fields[at] = field;
                is_altered |= alters;
            }
        }
        Ok(is_altered)
    }

    /// What the fields of the last record are ranges of, when it was altered.
    pub fn altered(&self) -> &[u8] {
        &self.altered
    }

    #[inline]
    fn find(&mut self, keys: &Keys, member: &Member<'_>) -> Result<Option<usize>, Refusal> {
        let expected = self.habit.expected();
        if !member.key_is_escaped && keys.names.get(expected).is_some_and(|name| **name == *member.key) {
            self.habit.came(expected);
            return Ok(Some(expected));
        }
        let found = if member.key_is_escaped {
            self.key.clear();
            unescape(member.key, false, &mut self.key)?;
            keys.find(&self.key)
        } else {
            keys.find(member.key)
        };
        if let Some(key) = found {
            self.habit.came(key);
        }
        Ok(found)
    }

    /// Spells the values as COPY would, behind a copy of the record, where the others are.
    fn alter(
        &mut self,
        keys: &Keys,
        text: &[u8],
        base: usize,
        drops_nul: bool,
        fields: &mut [Field],
    ) -> Result<(), Refusal> {
        let out = &mut self.altered;
        out.clear();
        out.extend_from_slice(text);
        for (at, (field, target)) in fields.iter_mut().zip(&keys.targets).enumerate() {
            let form = field.form();
            if form == Form::Null {
                continue;
            }
            let (start, end) = (field.range().start - base, field.range().end - base);
            let (raw, from) = (&text[start..end], out.len());
            let spelled = match target {
                Target::Shaped(shape) if form != Form::Quoted => literal::put(shape, raw, drops_nul, out),
                _ if form == Form::Quoted && memchr::memchr(b'\\', raw).is_some() => {
                    unescape(raw, drops_nul, out).map_err(Refusal::from)
                }
                _ => {
                    *field = Field::new(start, end, form);
                    continue;
                }
            };
            spelled.map_err(|refusal| Refusal { field: Some(at), ..refusal })?;
            if out.len() > MOST_BYTES {
                return Err(Refusal {
                    field: Some(at),
                    ..Refusal::new("54000", "the record and what its escapes spell have more than 1 GiB")
                });
            }
            *field = Field::new(from, out.len(), Form::Quoted);
        }
        Ok(())
    }
}

/// The field of a value, and whether it must be spelled otherwise.
#[inline]
fn place(target: &Target, value: Value, base: usize) -> (Field, bool) {
    let (start, end) = (base + value.start, base + value.end);
    match (value.kind, target) {
        (ValueKind::Null, _) => (Field::NULL, false),
        // A string is a document with its quotes.
        (ValueKind::String { .. }, Target::Document) => (Field::new(start - 1, end + 1, Form::Nested), false),
        (ValueKind::String { is_escaped }, _) => (Field::new(start, end, Form::Quoted), is_escaped),
        (ValueKind::Scalar, Target::Shaped(_)) => (Field::new(start, end, Form::Plain), true),
        (ValueKind::Scalar, _) => (Field::new(start, end, Form::Plain), false),
        (ValueKind::Container, Target::Shaped(_)) => (Field::new(start, end, Form::Nested), true),
        (ValueKind::Container, _) => (Field::new(start, end, Form::Nested), false),
    }
}

/// The refusal of a key that is spelled like a path, where the records before had none.
#[cold]
fn spelled_alike(key: &[u8]) -> Refusal {
    let key = String::from_utf8_lossy(key);
    let path = Path::parse(&key).map_or_else(|| key.clone().into_owned(), |path| path.quoted());
    Refusal {
        hint: Some(Box::new(message![
            setting::MAP.entry_of(path, "COLUMN"),
            " is the path whatever keys there are, and ",
            setting::SKIP_COLUMNS.text(key.clone()),
            " leaves the key out"
        ])),
        ..Refusal::new("42702", format!("key \"{key}\" is spelled like a path that is loaded"))
    }
}

#[cold]
fn unknown(key: &[u8]) -> Refusal {
    let key = String::from_utf8_lossy(key);
    Refusal {
        hint: Some(Box::new(message![
            setting::SKIP_COLUMNS.text(key.clone()),
            " leaves it out, ",
            setting::MAP.entry_of(key.clone(), "COLUMN"),
            " names its column, ",
            setting::COLUMNS,
            " lists all keys to load"
        ])),
        ..Refusal::new("42703", format!("unknown key \"{key}\""))
    }
}
