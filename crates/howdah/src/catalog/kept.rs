//! Names as the input has them, and others only where PostgreSQL could not take these: there is none, it stands twice, it is that of
//! a column which every table has, or it is too long.

use std::collections::HashSet;

use crate::catalog::fitting::{Marks, fit, unused};
use crate::catalog::name::{MAX_NAME_BYTES, SYSTEM_COLUMNS};

/// Of a long name.
const MARKS: Marks = Marks { gap: "...", sum: "~" };

/// What a person takes for no name.
pub(crate) fn is_missing(name: &str) -> bool {
    name.trim().is_empty()
}

/// A name for each column of a new table, in order: each its own, never empty. One that PostgreSQL can take stays where it stands
/// first; those that are made are none of those in `taken`.
pub(crate) fn distinct<S: AsRef<str>>(names: &[S], taken: &[&str]) -> Vec<String> {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let can_stay = |at: usize| {
        let name = names[at];
        let is_free = !names[..at].contains(&name) && !SYSTEM_COLUMNS.contains(&name);
        is_free && !is_missing(name) && name.len() <= MAX_NAME_BYTES
    };
    let stays: Vec<bool> = (0..names.len()).map(can_stay).collect();
    let staying = names.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(name, _)| *name);
    let taken = taken.iter().copied().chain(SYSTEM_COLUMNS);
    let mut used: HashSet<String> = staying.chain(taken).map(str::to_owned).collect();
    let made =
        names.iter().zip(stays).enumerate().map(|(at, (name, stays))| match (stays, is_missing(name)) {
            (true, _) => (*name).to_owned(),
            (false, true) => unused(format!("column{}", at + 1), &mut used),
            (false, false) => unused(fit(name, &MARKS), &mut used),
        });
    made.collect()
}

/// The names of one of several files, each its own: those that are made are what the file would get alone, so that it finds the
/// same columns then. A nameless last field may be the end of a trailing delimiter, and stays what it is.
pub(crate) fn alone(names: &[String]) -> Vec<String> {
    let last = names.len().saturating_sub(1);
    let own = names.iter().zip(distinct(names, &[])).enumerate().map(|(at, (name, made))| {
        let is_end = at == last && is_missing(name);
        if is_end || name.len() > MAX_NAME_BYTES { name.clone() } else { made }
    });
    own.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_postgresql_could_not_take_gets_another_name() {
        for (names, expected) in [
            (vec!["Id", "id", "a b"], vec!["Id", "id", "a b"]),
            (vec!["", "n"], vec!["column1", "n"]),
            (vec!["ctid", "CTID", "oid"], vec!["ctid_2", "CTID", "oid"]),
            (vec!["", "column1", " "], vec!["column1_2", "column1", "column3"]),
            (vec!["name", "name", "name_2", "name"], vec!["name", "name_3", "name_2", "name_4"]),
        ] {
            assert_eq!(distinct(&names, &[]), expected);
        }
        assert_eq!(distinct(&["", "b"], &["column1", "b"]), ["column1_2", "b"]);
    }

    #[test]
    fn a_file_among_others_has_the_names_that_it_has_alone() {
        let long = "x".repeat(64);
        for (names, expected) in [
            (vec!["", "name"], vec!["column1", "name"]),
            (vec!["a", "", "c", ""], vec!["a", "column2", "c", ""]),
            (vec!["a", "a", "ctid", &long], vec!["a", "a_2", "ctid_2", &long]),
        ] {
            let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            assert_eq!(alone(&names), expected);
        }
    }

    #[test]
    fn long_names_keep_what_tells_them_apart() {
        let question = "Which of these side dishes are typically served at your Thanksgiving dinner?";
        let names = [format!("{question} Yams"), format!("{question} Rolls"), question.to_owned()];
        let found = distinct(&names, &[]);
        assert_eq!(found[0], "Which of these side dishes...dinner? Yams~89a21d0a");
        assert!(found[1].contains("dinner? Rolls~"), "{found:?}");
        assert!(found.iter().all(|name| name.len() <= MAX_NAME_BYTES), "{found:?}");
        // Whatever else is there, and in whichever order.
        assert_eq!(distinct(&[&names[2], "id", &names[1]], &[]), [&found[2], "id", &found[1]]);
        let other = format!("{question} Yams, really: Yams");
        assert_ne!(distinct(&[other], &[]), [found[0].clone()]);
        let wide = distinct(
            &[
                "您对我们公司提供的产品和服务的总体满意程度如何价格",
                "您对我们公司提供的产品和服务的总体满意程度如何质量",
            ],
            &[],
        );
        assert!(wide[0] != wide[1] && wide.iter().all(|name| name.len() <= MAX_NAME_BYTES), "{wide:?}");
    }

    proptest! {
        #[test]
        fn whatever_the_header_holds_postgresql_takes_the_names(names in proptest::collection::vec("[^\\x00]{0,80}", 1..20)) {
            let found = distinct(&names, &[]);
            let different: HashSet<&String> = found.iter().collect();
            prop_assert_eq!(different.len(), names.len());
            for name in &found {
                prop_assert!(crate::catalog::name::check(name).is_ok(), "{:?}", name);
            }
        }
    }
}
