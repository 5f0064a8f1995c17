//! What keeps a column from a narrower type: how many of its values each type takes, and the first that it does not.

use howdah_message::{Message, setting};

use super::{ColumnLattice, NULL_MARKERS, TypeSet};
use crate::catalog::inferred_type::InferredType;
use crate::error::Location;

/// So few values are few in any column.
const FEW: u64 = 3;

/// One value of so many is rare, in a column with many.
const RARE_ONE_IN: u64 = 100;

/// Where more than one value of so many does not fit, the column was never meant to be of the type.
const MEANT_ONE_IN: u64 = 10;

/// Characters of a value that are kept to be shown.
const SHOWN_CHARS: usize = 40;

/// Where a value stands, so that places of several threads can be compared.
#[derive(Debug, Clone)]
pub(crate) struct ValuePosition {
    /// The piece, and the record's first byte in it.
    pub(crate) order: (u64, usize),
    pub(crate) location: Location,
}

/// Values that the same types take. There are fewer than twenty such sets, whatever a column holds.
#[derive(Debug, Clone)]
pub(super) struct Class {
    types: TypeSet,
    values: u64,
    first: ValuePosition,
    shown: String,
}

/// A column of text that would have a narrower type but for few values.
#[derive(Debug, Clone)]
pub(crate) struct KeptFrom {
    pub(crate) ty: InferredType,
    /// Values that the type takes.
    pub(crate) fit: u64,
    /// All but NULL.
    pub(crate) values: u64,
    /// Where the first stands that it does not take.
    pub(crate) first: Location,
    /// That value, or its beginning.
    pub(crate) shown: String,
}

/// Counts `value`, which `types` take.
#[inline]
pub(super) fn count(
    classes: &mut Vec<Class>,
    types: TypeSet,
    value: &[u8],
    spot: impl FnOnce() -> ValuePosition,
) {
    match classes.iter_mut().find(|class| class.types == types) {
        Some(class) => class.values += 1,
        None => classes.push(Class { types, values: 1, first: spot(), shown: shown(value) }),
    }
}

/// Adds what another saw.
pub(super) fn merge(classes: &mut Vec<Class>, others: &[Class]) {
    for other in others {
        match classes.iter_mut().find(|class| class.types == other.types) {
            None => classes.push(other.clone()),
            Some(class) => {
                let values = class.values + other.values;
                if other.first.order < class.first.order {
                    *class = other.clone();
                }
                class.values = values;
            }
        }
    }
}

/// As much of a value as a line has room for.
fn shown(value: &[u8]) -> String {
    let value = String::from_utf8_lossy(value);
    match value.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.into_owned(),
    }
}

impl ColumnLattice {
    /// The type that 99 % of the values of this column of text fit, if there is one, and those that do not.
    pub(crate) fn mostly(&self) -> Option<KeptFrom> {
        let kept = self.nearest()?;
        ((kept.values - kept.fit) * RARE_ONE_IN <= kept.values).then_some(kept)
    }

    /// What keeps this column of text from a narrower type, if that is only few values.
    pub(crate) fn kept_from(&self) -> Option<KeptFrom> {
        let kept = self.nearest()?;
        let others = kept.values - kept.fit;
        let are_few = others <= FEW.max(kept.values / RARE_ONE_IN) && others * MEANT_ONE_IN <= kept.values;
        are_few.then_some(kept)
    }

    /// The type that takes most values of this column of text.
    fn nearest(&self) -> Option<KeptFrom> {
        let values: u64 = self.classes.iter().map(|class| class.values).sum();
        if self.possible != TypeSet::NONE {
            return None;
        }
        let takes = |ty: InferredType| self.classes.iter().filter(move |class| class.types.has(ty));
        let fit = |ty: InferredType| takes(ty).map(|class| class.values).sum::<u64>();
        // Of types that take as many, the first is the narrowest.
        let ty = InferredType::SPECIFIC.into_iter().rev().max_by_key(|ty| fit(*ty))?;
        let fit = fit(ty);
        let misfits = self.classes.iter().filter(|class| !class.types.has(ty));
        let first = misfits.min_by_key(|class| class.first.order)?;
        let (shown, first) = (first.shown.clone(), first.first.location.clone());
        Some(KeptFrom { ty, fit, values, first, shown })
    }
}

impl KeptFrom {
    /// That the column has the type all the same, and the others are rejected.
    pub(crate) fn rejection(&self, column: &str, is_one_input: bool) -> Message {
        let KeptFrom { ty, fit, values, shown, .. } = self;
        let (ty, all, place) = (ty.word(), thousands(*values), self.place(is_one_input));
        let said = match values - fit {
            1 => format!("{column}: {ty}; 1 of {all} values is not: it is rejected ({place} '{shown}')"),
            several => format!(
                "{column}: {ty}; {} of {all} values are not: they are rejected ({place} '{shown}' is the first)",
                thousands(several)
            ),
        };
        match NULL_MARKERS.contains(&shown.as_str()) {
            true => message![said, "; ", setting::NULL.text(shown.as_str()), " if that means NULL"],
            false => said.into(),
        }
    }

    /// The reason with the option to type; `is_one_input`: its name need not be said.
    pub(crate) fn message(&self, column: &str, is_one_input: bool) -> Message {
        let KeptFrom { ty, fit, values, shown, .. } = self;
        let place = self.place(is_one_input);
        let (fit, all, ty) = (thousands(*fit), thousands(*values), ty.word());
        let others = match self.values - self.fit {
            1 => String::new(),
            several => format!(", the first of {}", thousands(several)),
        };
        let cure = if NULL_MARKERS.contains(&shown.as_str()) {
            message![setting::NULL.text(shown.as_str()), " if that means NULL"]
        } else {
            message![setting::TYPES.entry_to(column, ty)]
        };
        message![format!("{column}: {fit} of {all} are {ty}; {place} has '{shown}'{others}: "), cure]
    }

    /// Where the first value stands that the type does not take; the name of the only input need not be said.
    pub(crate) fn place(&self, is_one_input: bool) -> String {
        let line = self.first.line.map(|line| format!("line {line}"));
        match (line, is_one_input) {
            (Some(line), true) => line,
            (Some(line), false) => format!("{}, {line}", self.first.source),
            (None, _) => self.first.to_string(),
        }
    }
}

/// A number with a comma between groups of three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn spot(at: usize) -> ValuePosition {
        let location = Location::of_text(Arc::from("t.csv"), at as u64 + 2, None);
        ValuePosition { order: (0, at), location }
    }

    /// The values of one column, seen by `threads` in turn.
    fn seen(values: &[&str], threads: usize) -> ColumnLattice {
        let mut parts = vec![ColumnLattice::default(); threads];
        for (at, value) in values.iter().enumerate() {
            parts[at % threads].observe_at(Some(value.as_bytes().into()), || spot(at));
        }
        // The last thread is done first.
        parts.into_iter().rev().fold(ColumnLattice::default(), |mut all, part| {
            all.merge(&part);
            all
        })
    }

    fn said(values: &[&str]) -> Option<String> {
        let of = |threads| seen(values, threads).kept_from().map(|kept| kept.message("amount", true));
        let alone = of(1);
        assert_eq!(alone, of(3), "threads see another reason");
        alone.map(|message| message.as_str().to_owned())
    }

    #[test]
    fn few_values_that_keep_a_column_from_a_type_are_counted_and_the_first_is_shown() {
        let mut values = vec!["2.50"; 1000];
        assert_eq!(said(&values), None);
        values[99] = "abc";
        let one = "amount: 999 of 1,000 are numeric; line 101 has 'abc': types[\"amount\"]=numeric";
        assert_eq!(said(&values).unwrap(), one);
        values[40] = "1,5";
        values[700] = "n/a";
        let three =
            "amount: 997 of 1,000 are numeric; line 42 has '1,5', the first of 3: types[\"amount\"]=numeric";
        assert_eq!(said(&values).unwrap(), three);
        let mut dates = vec!["2024-01-02"; 12];
        dates[0] = "2024-02-30";
        assert!(said(&dates).unwrap().starts_with("amount: 11 of 12 are date; line 2 has '2024-02-30'"));
        let mut mixed = ["1", "2.5", "2.50"].repeat(10);
        mixed.push("NA");
        assert_eq!(
            said(&mixed).unwrap(),
            "amount: 30 of 31 are numeric; line 32 has 'NA': null=\"NA\" if that means NULL"
        );
    }

    #[test]
    fn a_column_that_is_text_on_its_own_has_no_reason() {
        assert_eq!(said(&["a", "b"]), None);
        assert_eq!(said(&[]), None);
        assert_eq!(said(&["1", "2", "x"]), None);
        let mut codes = vec!["123"; 90];
        codes.extend(["A1"; 10]);
        assert_eq!(said(&codes), None);
    }

    #[test]
    fn a_long_value_is_shown_by_its_beginning_and_a_file_by_its_name_among_several() {
        let long = "ä".repeat(1000);
        let mut values = vec!["1"; 20];
        values[3] = &long;
        let kept = seen(&values, 2).kept_from().unwrap();
        assert_eq!(kept.shown, "ä".repeat(40) + "…");
        assert!(kept.message("a", false).as_str().contains("; t.csv, line 5 has 'ää"));
    }
}
