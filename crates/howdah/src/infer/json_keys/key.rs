//! One key, or the end of one path: what a scan sees of its values.

use howdah_encode::json::{Value, ValueKind, is_jsonb, unescape};
use howdah_source::Form;

use crate::catalog::inferred_type::InferredType;
use crate::infer::lattice::ColumnLattice;
use crate::options::LoadOptions;

/// Where a key is that was in no record.
const NOWHERE: (u64, usize) = (u64::MAX, usize::MAX);

/// One key.
#[derive(Debug, Clone)]
pub(super) struct JsonKey {
    pub(super) name: Box<[u8]>,
    pub(super) values: KeyValues,
    /// Those of records in which something blocks a path: bad ones, unless the path is a key in the end.
    blocked: KeyValues,
}

impl JsonKey {
    pub(super) fn new(name: &[u8]) -> JsonKey {
        JsonKey { name: name.into(), values: KeyValues::default(), blocked: KeyValues::default() }
    }

    /// Its values in records with a path that is blocked, or in all others.
    pub(super) fn values_where(&mut self, is_blocked: bool) -> &mut KeyValues {
        if is_blocked { &mut self.blocked } else { &mut self.values }
    }

    /// Whether a record had it.
    pub(super) fn is_seen(&self) -> bool {
        self.values.first != NOWHERE
    }

    /// Takes records with a path that is blocked for good ones.
    pub(super) fn accept_blocked(&mut self) {
        self.values.merge(&std::mem::take(&mut self.blocked));
    }

    /// Adds what another scan saw of it.
    pub(super) fn merge(&mut self, other: &JsonKey) {
        self.values.merge(&other.values);
        self.blocked.merge(&other.blocked);
    }
}

/// The values of a key.
#[derive(Debug, Clone)]
pub(super) struct KeyValues {
    /// The piece and the place in it where the key appeared first.
    pub(super) first: (u64, usize),
    pub(super) present: u64,
    pub(super) nulls: u64,
    /// Bytes of the longest value.
    pub(super) longest: usize,
    /// Of values that are neither arrays nor objects.
    lattice: ColumnLattice,
    is_nested: bool,
    /// What jsonb does not take is among the values.
    is_no_document: bool,
}

impl Default for KeyValues {
    fn default() -> KeyValues {
        KeyValues {
            first: NOWHERE,
            present: 0,
            nulls: 0,
            longest: 0,
            lattice: ColumnLattice::default(),
            is_nested: false,
            is_no_document: false,
        }
    }
}

impl KeyValues {
    /// The key is in a record, at this place.
    pub(super) fn meet(&mut self, at: (u64, usize)) {
        self.first = self.first.min(at);
    }

    /// Arrays and objects make a document of everything that stands beside them.
    pub(super) fn decide(&self) -> InferredType {
        match (self.is_nested, self.is_no_document) {
            (true, false) => InferredType::Jsonb,
            (true, true) => InferredType::Text,
            (false, _) => self.lattice.decide(),
        }
    }

    pub(super) fn see(&mut self, form: Form, value: Option<&[u8]>) {
        self.present += u64::from(value.is_some());
        self.longest = self.longest.max(value.map_or(0, <[u8]>::len));
        self.nulls += u64::from(value.is_none());
        if form == Form::Nested {
            self.is_nested = true;
            self.is_no_document |= !value.is_some_and(is_jsonb);
        } else {
            self.lattice.observe_json(form, value);
        }
    }

    fn merge(&mut self, other: &KeyValues) {
        self.first = self.first.min(other.first);
        self.present += other.present;
        self.nulls += other.nulls;
        self.longest = self.longest.max(other.longest);
        self.lattice.merge(&other.lattice);
        self.is_nested |= other.is_nested;
        self.is_no_document |= other.is_no_document;
    }
}

/// Memory for values as they are looked at.
#[derive(Default)]
pub(super) struct ValueMemory {
    unescaped: Vec<u8>,
    spelled: Vec<u8>,
}

impl ValueMemory {
    /// How `value` of `text` is written, and what it is without escapes, dates as PostgreSQL writes them.
    pub(super) fn look<'v>(
        &'v mut self,
        text: &'v [u8],
        value: Value,
        options: &LoadOptions,
    ) -> (Form, Option<&'v [u8]>) {
        let raw = &text[value.range()];
        match value.kind {
            ValueKind::Null => (Form::Null, None),
            ValueKind::Scalar => (Form::Plain, Some(raw)),
            ValueKind::Container => (Form::Nested, Some(raw)),
            ValueKind::String { is_escaped } => {
                self.unescaped.clear();
                // What spells nothing is refused when it is loaded, and no type but text keeps it.
                let is_spelled = is_escaped && unescape(raw, true, &mut self.unescaped).is_ok();
                let value = if is_spelled { &self.unescaped[..] } else { raw };
                let date_format = options.input.date_format.as_ref();
                let moment = date_format.map_or(value, |format| format.as_moment(value, &mut self.spelled));
                (Form::Quoted, Some(moment))
            }
        }
    }
}
