//! What the values of a new table's columns make worth saying: a line a kind, however many columns it is about.

use howdah_encode::TypeShape;
use howdah_message::{Mention, Message, setting};
use howdah_source::listing::listing;
use howdah_source::spelling::Spelled;

use crate::catalog::name::display;
use crate::catalog::table::{Column, Table};
use crate::infer::lattice::ColumnLattice;
use crate::infer::lattice::mostly::KeptFrom;
use crate::infer::spelling_advice::{self, SeenColumn};
use crate::load::Load;
use crate::options::{Inference, LoadOptions};
use crate::plan::Plan;

/// So many columns are named in a line.
const NAMED: usize = 3;

/// So many kinds of values that keep columns from a type have a line each.
const KINDS: usize = 5;

impl Load<'_> {
    /// Says which columns of text would be numbers or dates under an option, and keeps it for the report.
    pub(super) fn advise_spelling(&mut self, plan: &Plan, lattices: &[ColumnLattice]) {
        let columns: Vec<SeenColumn<'_>> = plan
            .columns
            .iter()
            .zip(lattices)
            .map(|(column, lattice)| SeenColumn {
                name: &column.name,
                lattice,
                declared: column.is_declared.then_some(column.base_type.0),
            })
            .collect();
        for advice in spelling_advice::of(&columns, &plan.reading.dialect, self.options) {
            let message = advice.message();
            self.control.notice(message.clone());
            self.because.extend(advice.columns.iter().map(|name| ((*name).to_owned(), message.clone())));
        }
    }

    /// Says of columns of text that would have a narrower type but for few values what these are, or that these are rejected, and
    /// keeps it for the report.
    pub(in crate::load) fn say_what_keeps(&mut self, plan: &Plan, lattices: &[ColumnLattice]) {
        let is_one_input = self.inputs.len() == 1;
        let rejects = self.options.columns.infer == Inference::Mostly;
        let mut kept: Vec<(&str, KeptFrom)> = Vec::new();
        for (column, lattice) in plan.columns.iter().zip(lattices).filter(|(column, _)| !column.is_declared) {
            let name = &*column.name;
            if let Some(mostly) = lattice.mostly().filter(|_| rejects) {
                let said = mostly.rejection(name, is_one_input);
                self.control.notice(said.clone());
                self.because.retain(|of| of.0 != name);
                self.because.push((name.to_owned(), said));
            } else if let Some(few) = lattice.kept_from()
                // Markers that are frequent are said already, with what to do, and so is another spelling.
                && lattice.null_markers().is_none()
                && self.because.iter().all(|of| of.0 != name)
            {
                kept.push((name, few));
            }
        }
        what_keeps(&kept, is_one_input).into_iter().for_each(|note| self.control.notice(note));
        let because =
            |(name, kept): &(&str, KeptFrom)| ((*name).to_owned(), kept.message(name, is_one_input));
        self.because.extend(kept.iter().map(because));
    }

    /// Says where values of `table` are not read as the options say: within arrays and the like, and where no column that is loaded
    /// has a type that an option is about.
    pub(super) fn say_unreached(&self, plan: &Plan, table: &Table) {
        let spelling = &plan.reading.spelling;
        let options = spelled_options(self.options);
        if options.is_empty() {
            return;
        }
        let is_planned = |column: &&Column| plan.columns.iter().any(|planned| planned.name == column.name);
        let within = table.columns.iter().filter(is_planned).filter(|column| {
            is_within(&column.shape, &|oid| spelling.of_type(oid) != Spelled::AsPostgresDoes)
        });
        let within: Vec<&str> = within.map(|column| column.name.as_str()).collect();
        let mentions = Message::joined(options.iter().map(|(option, ..)| option.clone().into()), " ");
        if !within.is_empty() {
            self.control.notice(message![
                mentions,
                " does not hold within arrays, ranges and composite values: those of ",
                listing(&within),
                " are read as PostgreSQL reads them"
            ]);
        }
        for (option, kind, is_meant) in options {
            if plan.columns.iter().any(|column| is_meant(column.spelled)) || !within.is_empty() {
                continue;
            }
            self.control.notice(message![
                option,
                " changes nothing: no column of ",
                table.display(),
                " that is loaded holds {kind}; ",
                setting::MODE.word("replace"),
                " with ",
                setting::TYPES.list(&["COLUMN=TYPE"]),
                " gives columns other types"
            ]);
        }
    }

    /// Says which columns hold what may stand for NULL.
    pub(in crate::load) fn hint_null_markers(&self, plan: &Plan, lattices: &[ColumnLattice]) {
        let of = plan.columns.iter().zip(lattices);
        let marked: Vec<(&str, &str, f64)> = of
            .filter_map(|(column, lattice)| {
                let (marker, share) = lattice.null_markers()?;
                Some((&*column.name, marker, share))
            })
            .collect();
        null_markers(&marked).into_iter().for_each(|note| self.control.notice(note));
    }
}

/// An option that says how values are written, what it is about, and whether a column is written so.
type SpelledOption = (Mention, &'static str, fn(Spelled) -> bool);

/// Those that are given.
fn spelled_options(options: &LoadOptions) -> Vec<SpelledOption> {
    let input = &options.input;
    let as_numbers: fn(Spelled) -> bool = |spelled| matches!(spelled, Spelled::AsNumbers(_));
    let mut given: Vec<SpelledOption> = Vec::new();
    if input.decimal_comma {
        given.push((setting::DECIMAL.word(","), "numbers", as_numbers));
    }
    if let Some(thousands) = input.thousands {
        given.push((thousands.mention(), "numbers", as_numbers));
    }
    if let Some(format) = &input.date_format {
        given.push((setting::DATE_FORMAT.text(format.as_str()), "dates", |spelled| {
            spelled == Spelled::InDateFormat
        }));
    }
    if !input.booleans.is_empty() {
        given.push((setting::BOOLEANS.into(), "booleans", |spelled| spelled == Spelled::InWords));
    }
    given
}

/// Whether values of a type that is made of others are made of some that are `concerned`.
fn is_within(shape: &TypeShape, concerned: &dyn Fn(u32) -> bool) -> bool {
    let is_made_of = |part: &TypeShape| match part {
        TypeShape::Base { oid } => concerned(*oid),
        other => is_within(other, concerned),
    };
    match shape {
        TypeShape::Domain { over, .. } => is_within(over, concerned),
        TypeShape::Array { element, .. } => is_made_of(element),
        TypeShape::Range { subtype, .. } | TypeShape::Multirange { subtype, .. } => is_made_of(subtype),
        TypeShape::Composite { fields } => fields.iter().any(|field| is_made_of(&field.shape)),
        _ => false,
    }
}

/// A line for each marker; of columns, their markers and the shares of these.
fn null_markers(marked: &[(&str, &str, f64)]) -> Vec<Message> {
    let of_a_marker = |columns: Vec<&(&str, &str, f64)>| {
        let (first, marker, share) = columns[0];
        let percents = || columns.iter().map(|(_, _, share)| (share * 100.0).round());
        let said = match columns.len() {
            1 => format!("{:.0} % of column {first:?} are exactly {marker}", share * 100.0),
            number => {
                let (least, most) = (percents().fold(100.0, f64::min), percents().fold(0.0, f64::max));
                let share = if least < most { format!("{least} to {most} %") } else { format!("{most} %") };
                let names = named(columns.iter().map(|(name, ..)| *name));
                format!("{share} of {number} columns ({names}) are exactly {marker}")
            }
        };
        message![said, ": if that means NULL, add ", setting::NULL.text(*marker)]
    };
    grouped(marked, |(_, marker, _)| *marker).into_iter().map(of_a_marker).collect()
}

/// A line for each value that keeps columns from a type; one for all where there are many such values.
fn what_keeps(kept: &[(&str, KeptFrom)], is_one_input: bool) -> Vec<Message> {
    let mut groups = grouped(kept, |(_, kept)| (kept.ty, kept.shown.as_str()));
    let others: Vec<&(&str, KeptFrom)> =
        if groups.len() > KINDS { groups.split_off(KINDS - 1).concat() } else { Vec::new() };
    let mut notes: Vec<Message> = groups
        .into_iter()
        .map(|columns| match columns[..] {
            [(name, kept)] => kept.message(name, is_one_input),
            _ => kept_alike(&columns, is_one_input),
        })
        .collect();
    if !others.is_empty() {
        let (number, names) = (others.len(), named(others.iter().map(|(name, _)| *name)));
        notes.push(message![
            format!(
                "{number} more columns ({names}) are text because of few values: the report says which; "
            ),
            setting::TYPES.entry("COLUMN", "TYPE")
        ]);
    }
    notes
}

/// What is said of columns that the same value keeps from the same type: it may well stand for NULL.
fn kept_alike(columns: &[&(&str, KeptFrom)], is_one_input: bool) -> Message {
    let (first, kept) = columns[0];
    let (number, names) = (columns.len(), named(columns.iter().map(|(name, _)| *name)));
    let (ty, shown, place) = (kept.ty.word(), &kept.shown, kept.place(is_one_input));
    message![
        format!("{number} columns ({names}) are {ty} but for few values; {place} has '{shown}' in {first}: "),
        setting::NULL.text(shown.as_str()),
        " if that means NULL, else ",
        setting::TYPES.entry_to(*first, ty)
    ]
}

/// Items with the same key, in the order of their first.
fn grouped<'i, T, K: PartialEq>(items: &'i [T], key: impl Fn(&'i T) -> K) -> Vec<Vec<&'i T>> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let of = key(item);
        match groups.iter_mut().find(|(known, _)| *known == of) {
            Some((_, group)) => group.push(item),
            None => groups.push((of, vec![item])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The first of `names`, and how many more there are.
fn named<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let first: Vec<String> = names.take(NAMED).map(display).collect();
    if more == 0 { first.join(", ") } else { format!("{} and {more} more", first.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::inferred_type::InferredType;
    use crate::error::Location;

    fn told(notes: &[Message]) -> Vec<&str> {
        notes.iter().map(Message::as_str).collect()
    }

    fn kept(ty: InferredType, shown: &str) -> KeptFrom {
        let first = Location::of_text("t.csv".into(), 52, None);
        KeptFrom { ty, fit: 99, values: 100, first, shown: shown.to_owned() }
    }

    #[test]
    fn columns_that_hold_one_marker_are_one_line_with_their_number() {
        let one = [("Score 1", "NA", 0.171), ("b", r"\N", 0.02)];
        assert_eq!(
            told(&null_markers(&one)),
            [
                r#"17 % of column "Score 1" are exactly NA: if that means NULL, add null="NA""#,
                r#"2 % of column "b" are exactly \N: if that means NULL, add null="\\N""#
            ]
        );
        let names: Vec<String> = (0..31).map(|at| format!("s{at}")).collect();
        let mut many: Vec<_> = names.iter().map(|name| (&**name, "NA", 0.2)).collect();
        assert!(told(&null_markers(&many))[0].starts_with("20 % of 31 columns (s0, s1, s2 and 28 more) are"));
        many[7].2 = 0.36;
        assert_eq!(
            told(&null_markers(&many)),
            [
                "20 to 36 % of 31 columns (s0, s1, s2 and 28 more) are exactly NA: if that means NULL, add null=\"NA\""
            ]
        );
    }

    #[test]
    fn columns_that_one_value_keeps_from_a_type_are_one_line() {
        let (number, date) = (InferredType::DoublePrecision, InferredType::Date);
        let columns = [("a", kept(number, "n/a")), ("b", kept(date, "x")), ("c", kept(number, "n/a"))];
        assert_eq!(
            told(&what_keeps(&columns, true)),
            [
                "2 columns (a, c) are double precision but for few values; line 52 has 'n/a' in a: \
                 null=\"n/a\" if that means NULL, else types[\"a\"]=double precision",
                "b: 99 of 100 are date; line 52 has 'x': types[\"b\"]=date",
            ]
        );
    }

    #[test]
    fn many_different_values_have_few_lines_and_no_column_is_left_out_of_the_count() {
        let names: Vec<String> = (0..31).map(|at| format!("s{at}")).collect();
        let columns: Vec<_> =
            names.iter().map(|name| (&**name, kept(InferredType::Date, &format!("in {name}")))).collect();
        let notes = what_keeps(&columns, true);
        assert_eq!(notes.len(), KINDS);
        assert_eq!(
            notes[KINDS - 1].as_str(),
            "27 more columns (s4, s5, s6 and 24 more) are text because of few values: the report says which; \
             types[COLUMN]=TYPE"
        );
        assert_eq!(what_keeps(&columns[..KINDS], true).len(), KINDS);
    }
}
