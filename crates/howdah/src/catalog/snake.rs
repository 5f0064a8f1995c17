//! `--names snake`: names that need no quotes, made of whatever a header holds. Letters of every script stay.

use std::collections::HashSet;

use crate::catalog::fitting::{Marks, fit, unused};
use crate::catalog::name::{MAX_NAME_BYTES, SYSTEM_COLUMNS};

/// Of a long name.
const MARKS: Marks = Marks { gap: "_", sum: "_" };

/// A name in lower case, its words joined by `_`, at most as long as PostgreSQL takes; empty where `name` holds no letter or
/// digit.
pub(crate) fn snake(name: &str) -> String {
    fit(&words(name), &MARKS)
}

/// Whether a friendly name for `name` had to be shortened.
pub(crate) fn is_long(name: &str) -> bool {
    words(name).len() > MAX_NAME_BYTES
}

/// The words in lower case, joined by `_`.
fn words(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut words = String::new();
    for (at, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() && !is_mark(c) {
            continue;
        }
        let before = at.checked_sub(1).map(|at| chars[at]);
        let after = chars.get(at + 1).copied();
        if !words.is_empty() && starts_word(before, c, after) {
            words.push('_');
        }
        words.extend(c.to_lowercase());
    }
    if words.starts_with(|c: char| c.is_ascii_digit()) {
        words.insert(0, '_');
    }
    words
}

/// `flightDate`, `Flight Date` and `HTTPServer` have two words each, `Area 51` and `area51` are as they are written.
fn starts_word(before: Option<char>, c: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    if !before.is_alphanumeric() && !is_mark(before) {
        return true;
    }
    c.is_uppercase()
        && (before.is_lowercase() || before.is_uppercase() && after.is_some_and(char::is_lowercase))
}

/// What belongs to the letter before it: accents, vowel signs, viramas.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36F}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5BD}' | '\u{610}'..='\u{61A}'
        | '\u{64B}'..='\u{65F}' | '\u{900}'..='\u{963}' | '\u{966}'..='\u{DF3}' | '\u{E31}'..='\u{E4E}'
        | '\u{EB1}'..='\u{ECE}' | '\u{F71}'..='\u{F84}' | '\u{102B}'..='\u{103E}' | '\u{17B4}'..='\u{17D3}')
}

/// Friendly names for the columns of a new table, in order: each its own, none of those in `taken`, never empty. Names that have
/// one of their own keep it, whatever is made of others: they find it again.
pub(crate) fn distinct<'n>(names: impl Iterator<Item = &'n str>, taken: &[&str]) -> Vec<String> {
    let bases: Vec<String> = names.map(snake).collect();
    let taken = || taken.iter().copied().chain(SYSTEM_COLUMNS);
    let mut used: HashSet<String> = taken().map(str::to_owned).collect();
    let firsts: Vec<bool> = bases.iter().map(|base| !base.is_empty() && used.insert(base.clone())).collect();
    let found = bases.into_iter().zip(firsts).enumerate().map(|(at, (base, is_first))| match is_first {
        true => base,
        false if base.is_empty() => unused(format!("column{}", at + 1), &mut used),
        false => unused(base, &mut used),
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_told_apart_and_letters_stay() {
        for (name, expected) in [
            ("Airport Name", "airport_name"),
            ("Cost Total $", "cost_total"),
            ("flightDate", "flight_date"),
            ("HTTPServer ID", "http_server_id"),
            ("already_fine", "already_fine"),
            ("  % of Total (2020)  ", "of_total_2020"),
            ("2020 sales", "_2020_sales"),
            ("Größe/Länge", "größe_länge"),
            ("Cafe\u{301} No.", "cafe\u{301}_no"),
            ("ΑΒΓ δεζ", "αβγ_δεζ"),
            ("名前", "名前"),
            ("हिन्दी नाम", "हिन्दी_नाम"),
            ("a__b--c", "a_b_c"),
            ("$$$", ""),
            ("", ""),
        ] {
            assert_eq!(snake(name), expected, "{name:?}");
        }
    }

    #[test]
    fn names_are_distinct_and_none_is_empty_or_cut_inside_a_character() {
        let long = "ä".repeat(40);
        let names = ["a", "A", "a 2", "", "%", &long, &long.to_uppercase(), "mapped"];
        let expected = [
            "a",
            "a_3",
            "a_2",
            "column4",
            "column5",
            "ääääääääääääää_ääääääääääää_437be29e",
            "ääääääääääääää_ääääääääääää_437be29_2",
            "mapped_2",
        ];
        assert_eq!(distinct(names.into_iter(), &["mapped"]), expected);
        // What has a name of its own keeps it.
        let names = ["a b", "A-B", "a_b_2", "a.b"];
        assert_eq!(distinct(names.into_iter(), &[]), ["a_b", "a_b_3", "a_b_2", "a_b_4"]);
    }

    #[test]
    fn a_long_name_is_its_own_whatever_stands_beside_it() {
        let question = "Which of these side dishes are typically served at your Thanksgiving dinner?";
        let dishes = ["Mashed potatoes", "Rolls/biscuits", "Yams/sweet potato casserole"];
        let names: Vec<String> = dishes.iter().map(|dish| format!("{question} - {dish}")).collect();
        let found = distinct(names.iter().map(String::as_str), &[]);
        assert!(found[1].contains("_rolls_biscuits_"), "{found:?}");
        for (found, name) in found.iter().zip(&names) {
            assert!(found.len() <= MAX_NAME_BYTES, "{found}");
            assert!(found.starts_with("which_of_these_side_dishes_"), "{found}");
            assert_eq!(distinct([name.as_str()].into_iter(), &[])[0], *found);
        }
        // However it is written.
        assert_eq!(snake(&names[0].to_uppercase()), found[0]);
        assert_ne!(snake(&format!("{question} - No mashed potatoes")), found[0]);
    }

    proptest! {
        #[test]
        fn whatever_the_header_holds_postgresql_takes_the_names(names in proptest::collection::vec(".{0,80}", 1..20)) {
            let found = distinct(names.iter().map(String::as_str), &[]);
            let different: HashSet<&String> = found.iter().collect();
            prop_assert_eq!(different.len(), names.len());
            for name in &found {
                prop_assert!(crate::catalog::name::check(name).is_ok() && !name.contains(|c: char| c.is_ascii_uppercase() || c == ' '));
            }
        }
    }
}
