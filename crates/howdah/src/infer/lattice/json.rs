//! What JSON says of a value's type by itself: quotes make text of digits, and numbers are numbers however they are written.

use howdah_source::Form;

use super::{ColumnLattice, InferredType, TypeSet, classify, number};

/// Types whose values JSON can only write as strings.
const STRINGS: TypeSet = TypeSet::of(&[
    InferredType::Date,
    InferredType::Timestamp,
    InferredType::Timestamptz,
    InferredType::Uuid,
]);

impl ColumnLattice {
    /// Takes one value of a JSON record into account, as [`ColumnLattice::observe`] does a field.
    #[inline]
    pub(crate) fn observe_json(&mut self, form: Form, value: Option<&[u8]>) {
        self.fields += 1;
        let Some(value) = value else {
            self.nulls += 1;
            return;
        };
        if self.possible != TypeSet::NONE {
            self.possible = self.possible.intersection(fits(form, value));
        }
    }
}

/// The types that take `value`.
#[inline]
fn fits(form: Form, value: &[u8]) -> TypeSet {
    match (form, value) {
        (Form::Plain, b"true" | b"false") => TypeSet::of(&[InferredType::Boolean]),
        (Form::Plain, literal) => match number::classify(literal) {
            // Spelled in a way of its own, such as 1e3: the value is what counts.
            TypeSet::NONE if howdah_encode::json::is_jsonb(literal) => TypeSet::of(&[InferredType::Numeric]),
            types => types,
        },
        (Form::Nested, document) if howdah_encode::json::is_jsonb(document) => {
            TypeSet::of(&[InferredType::Jsonb])
        }
        (Form::Nested, _) => TypeSet::NONE,
        (_, [first, ..]) if first.is_ascii_hexdigit() => classify(value).intersection(STRINGS),
        _ => TypeSet::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(values: &[(Form, &str)]) -> InferredType {
        let mut lattice = ColumnLattice::default();
        for (form, value) in values {
            lattice.observe_json(*form, Some(value.as_bytes()));
        }
        lattice.decide()
    }

    #[test]
    fn quotes_make_text_of_numbers_and_words_and_dates_stay_dates() {
        use Form::{Nested, Plain, Quoted};
        use InferredType::{Bigint, Boolean, Date, DoublePrecision, Jsonb, Numeric, Text, Timestamptz, Uuid};
        for (values, expected) in [
            (&[(Plain, "1"), (Plain, "-7")][..], Bigint),
            (&[(Plain, "1"), (Plain, "1.5")], DoublePrecision),
            (&[(Plain, "1.50"), (Plain, "2")], Numeric),
            (&[(Plain, "1e3")], Numeric),
            (&[(Plain, "1E-400000")], Text),
            (&[(Plain, "12345678901234567890")], Numeric),
            (&[(Plain, "true"), (Plain, "false")], Boolean),
            (&[(Plain, "true"), (Plain, "1")], Text),
            (&[(Quoted, "1")], Text),
            (&[(Quoted, "true")], Text),
            (&[(Quoted, "{}")], Text),
            (&[(Quoted, "2024-01-01")], Date),
            (&[(Quoted, "2024-01-01T10:00:00Z")], Timestamptz),
            (&[(Quoted, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")], Uuid),
            (&[(Quoted, "2024-01-01"), (Plain, "1")], Text),
            (&[(Quoted, "")], Text),
            (&[(Nested, "[1]"), (Nested, "{\"a\":1}")], Jsonb),
            (&[(Nested, "[\"\\u0000\"]")], Text),
        ] {
            assert_eq!(decided(values), expected, "{values:?}");
        }
    }
}
