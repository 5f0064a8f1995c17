//! Whether record 1 names the columns, as a person sees it who glances at it and at the records below: what each of its fields
//! speaks for is weighed.

use crate::catalog::inferred_type::InferredType;
use crate::catalog::kept;
use crate::plan::column_look::{Characters, ColumnLook};
use crate::plan::header_decision::{HeaderDecision, Likeness};
use crate::plan::header_words::{is_identifier, is_missing, is_usual_name};

/// Years that columns are named by, as 2019 and 2020.
const YEARS: std::ops::RangeInclusive<i64> = 1000..=2100;

/// A field so plainly speaks for a header that nothing but another's contradiction makes that doubtful.
const PLAIN: i32 = 3;
/// A field is more likely a name than a value.
const LIKELY: i32 = 2;
/// A number stands among numbers: names hardly are.
const NUMBER: i32 = -4;

/// Judges record 1 of an input: `first`, of fields that alone have the types `own`, above columns that look as `below` says;
/// all of it may come `again` further down.
pub(super) fn judge(
    first: &[String],
    own: &[InferredType],
    below: &[ColumnLook],
    again: bool,
) -> HeaderDecision {
    let columns = || first.iter().zip(own).zip(below);
    let mut weights: Vec<i32> = columns().map(|((name, own), column)| weight(name, *own, column)).collect();
    let numbers = numbers_as_names(first, own, below);
    if let Some(numbers) = &numbers {
        numbers.iter().for_each(|at| weights[*at] = LIKELY);
    }
    if is_lettered(first) {
        let named = weights.iter_mut().zip(first).filter(|(_, name)| !name.is_empty());
        named.for_each(|(weight, _)| *weight += LIKELY);
    }
    let is_index = is_index(first, below);
    if is_index {
        weights[0] = if below[0].counts { PLAIN } else { LIKELY };
    }
    let is_distinct = first.iter().enumerate().all(|(at, name)| !first[..at].contains(name));
    let is_named = !first.iter().any(|name| kept::is_missing(name));
    let is_usual = first.iter().any(|name| is_usual_name(name));
    let score = weights.iter().sum::<i32>() - i32::from(!is_distinct);
    let is_contradicted = weights.iter().any(|weight| *weight < 0);
    let misfit = columns().zip(&weights).find(|(((name, own), column), weight)| {
        let is_text = |ty: InferredType| ty == InferredType::Text;
        **weight >= PLAIN && is_text(**own) && !is_text(column.ty) && !name.is_empty()
    });
    if score > 0 {
        return match misfit {
            _ if numbers.is_some() => HeaderDecision::Likely(Likeness::Numbers),
            Some((((name, _), column), _)) if !is_contradicted => {
                HeaderDecision::DoesNotFit { name: name.clone(), below: column.ty }
            }
            _ if is_index => HeaderDecision::Likely(Likeness::Index),
            None if is_named && is_distinct && is_usual && weights.iter().all(|weight| *weight >= LIKELY) => {
                HeaderDecision::Identifiers
            }
            _ => HeaderDecision::Likely(Likeness::Names),
        };
    }
    let is_text = own.iter().all(|own| *own == InferredType::Text);
    if !is_distinct || !is_named {
        return HeaderDecision::NotDistinct;
    }
    if score < 0 || is_contradicted || !is_text || again {
        return HeaderDecision::Alike;
    }
    HeaderDecision::AllText
}

/// What a field of record 1 speaks for: above 0 that it is a name, below 0 that it is one more value of its column.
fn weight(name: &str, own: InferredType, column: &ColumnLook) -> i32 {
    if is_missing(name) {
        // Values are missing here and there; names are hardly so where values are.
        return -i32::from(column.has_gaps && column.values > 0);
    }
    if column.values == 0 {
        return if is_usual_name(name) { LIKELY } else { 0 };
    }
    match (own, column.ty) {
        (InferredType::Text, InferredType::Text) => weight_of_text(name, column),
        (InferredType::Text, _) => weight_above_values(name),
        // The one value that keeps a column of numbers from being one may stand further down.
        (_, InferredType::Text) => -1,
        (own, below) if is_moment(own) && is_number(below) => LIKELY,
        // A year alone is no name and no value for certain.
        _ if is_year(name) && !has_years(column) => 0,
        _ => NUMBER,
    }
}

/// Values of numbers and times in PostgreSQL that look like words.
const WORDS: [&str; 9] =
    ["infinity", "inf", "-infinity", "-inf", "nan", "today", "now", "tomorrow", "yesterday"];

/// The same of text above numbers, dates and the like.
fn weight_above_values(name: &str) -> i32 {
    if WORDS.iter().any(|word| name.trim().eq_ignore_ascii_case(word)) {
        return NUMBER;
    }
    let characters = Characters::of(name);
    if characters.has_letters() {
        // Or a value with its unit.
        return if name.trim_start().starts_with(|c: char| c.is_ascii_digit()) { 1 } else { PLAIN };
    }
    let is_date = name.split(['/', '.', '-']).filter(|part| part.parse::<u16>().is_ok()).count() == 3;
    match is_date || !characters.has_digits() {
        true => LIKELY,
        false => 0,
    }
}

/// The same of text above text.
fn weight_of_text(name: &str, column: &ColumnLook) -> i32 {
    let characters = Characters::of(name);
    let mut weight = 0;
    if column.recurs {
        weight -= 3;
    }
    if is_usual_name(name) || is_identifier(name) && !column.has_identifiers() {
        weight += LIKELY;
    }
    if characters.has_letters() && !column.characters.has_letters() {
        weight += PLAIN;
    } else if !characters.are_in(column.characters) && !characters.has_digits() {
        weight += 1;
    }
    if column.has_digits() && !characters.has_digits() {
        weight += 1;
    }
    match column.usual_length() {
        Some(length) if length == name.len() && characters.are_in(column.characters) => weight -= 2,
        Some(length) if length != name.len() => weight += 1,
        _ => {}
    }
    // A question, or another text, above short answers.
    if name.len() >= 24 && name.len() > 3 * column.longest {
        weight += LIKELY;
    }
    weight
}

fn is_number(ty: InferredType) -> bool {
    matches!(ty, InferredType::Bigint | InferredType::DoublePrecision | InferredType::Numeric)
}

fn is_moment(ty: InferredType) -> bool {
    matches!(ty, InferredType::Date | InferredType::Timestamp | InferredType::Timestamptz)
}

fn is_year(name: &str) -> bool {
    name.parse().is_ok_and(|year| YEARS.contains(&year))
}

fn has_years(column: &ColumnLook) -> bool {
    column.integers.is_some_and(|(least, greatest)| YEARS.contains(&least) && YEARS.contains(&greatest))
}

/// Single letters in their order.
fn is_lettered(first: &[String]) -> bool {
    let mut letters = Vec::new();
    for name in first.iter().filter(|name| !name.is_empty()) {
        match name.as_bytes() {
            [letter] if letter.is_ascii_alphabetic() => letters.push(*letter),
            _ => return false,
        }
    }
    let follow = letters.windows(2).all(|two| two[1] == two[0] + 1);
    follow && matches!(letters[..], [b'a' | b'A' | b'x' | b'X', ..])
}

/// A first column without a name, in which every record has a value: what R and pandas number or name rows by.
fn is_index(first: &[String], below: &[ColumnLook]) -> bool {
    let (Some(name), Some(column)) = (first.first(), below.first()) else { return false };
    kept::is_missing(name) && first.len() > 1 && column.values > 0 && !column.has_gaps
}

/// The fields of record 1 that are numbers as names, where they are: at least two years, or three numbers from 0 or 1, that follow
/// each other above values which do not.
fn numbers_as_names(first: &[String], own: &[InferredType], below: &[ColumnLook]) -> Option<Vec<usize>> {
    let places: Vec<usize> = (0..first.len()).filter(|at| own[*at] == InferredType::Bigint).collect();
    let numbers: Vec<i64> = places.iter().map(|at| first[*at].parse().ok()).collect::<Option<_>>()?;
    let step = numbers.get(1)?.checked_sub(numbers[0])?;
    let follows = step != 0 && numbers.windows(2).all(|two| two[1].checked_sub(two[0]) == Some(step));
    let others_are_text = own.iter().all(|own| matches!(own, InferredType::Bigint | InferredType::Text));
    if !follows || !others_are_text {
        return None;
    }
    let seen = || places.iter().map(|at| &below[*at]).filter(|column| column.values > 0);
    let is_above_values = if numbers.iter().all(|year| YEARS.contains(year)) {
        seen().count() > 0 && seen().all(|column| !has_years(column))
    } else {
        let is_counted = step == 1 && matches!(numbers[0], 0 | 1) && numbers.len() >= 3;
        // Whole numbers could be a row of a table of them.
        let others = seen().filter(|column| column.integers.is_none()).count();
        is_counted && 2 * others > places.len()
    };
    is_above_values.then_some(places)
}
