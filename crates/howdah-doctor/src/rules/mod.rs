//! All rules, a file for each family.

mod activity;
mod app;
mod column;
mod commit;
mod connections;
mod constraint;
mod disk;
mod foreign_key;
mod index;
mod key_order;
mod log_files;
mod measured;
mod path;
mod replication;
mod server;
mod session;
mod table;
mod toast;
mod trigger;
mod upkeep;
mod wal;
mod watch;

use crate::rule::Rule;

pub(crate) use key_order::{comes_in_random_order, sorted_by};
pub(crate) use measured::{CHECKS_COST, INDEX_COST, LOG_COST};
pub(crate) use toast::TOAST;

/// Every rule, in the order in which a reader meets their findings.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        server::RULES,
        activity::RULES,
        table::RULES,
        upkeep::RULES,
        replication::RULES,
        disk::RULES,
        column::RULES,
        toast::RULES,
        index::RULES,
        key_order::RULES,
        foreign_key::RULES,
        trigger::RULES,
        constraint::RULES,
        commit::RULES,
        wal::RULES,
        log_files::RULES,
        watch::RULES,
        app::RULES,
        session::RULES,
        measured::RULES,
        path::RULES,
        connections::RULES,
    ]
    .into_iter()
    .flatten()
}

/// The rule of that name.
pub fn find(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use howdah::facts::{Facts, TableFacts};

    use super::*;
    use crate::case::{Ask, Case};
    use crate::testing::healthy;
    use crate::verdict::Verdict;

    #[test]
    fn names_are_unique_and_texts_are_sentences_for_a_reader() {
        let ids: BTreeSet<&str> = all().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), all().count());
        assert!(ids.len() >= 25);
        for rule in all() {
            for text in [rule.title, rule.condition, rule.why, rule.remedy] {
                assert!(
                    !text.is_empty() && !text.ends_with('.') && !text.contains("  "),
                    "{}: {text}",
                    rule.id
                );
            }
        }
    }

    #[test]
    fn nothing_is_found_and_nothing_is_fine_where_nothing_was_seen() {
        let mut facts = Facts::default();
        for table in [None, Some(TableFacts::default())] {
            facts.table = table;
            let ask = Ask::default();
            let case = Case { facts: &facts, ask: &ask, trials: None };
            for rule in all() {
                let verdict = rule.verdict(&case);
                assert!(
                    matches!(verdict, Verdict::NotSeen(_) | Verdict::DoesNotApply),
                    "{}: {verdict:?}",
                    rule.id
                );
            }
        }
    }

    #[test]
    fn nothing_is_found_on_a_server_and_a_table_that_are_well() {
        let (facts, ask) = (healthy(), Ask::default());
        let case = Case { facts: &facts, ask: &ask, trials: None };
        for rule in all() {
            let verdict = rule.verdict(&case);
            assert!(matches!(verdict, Verdict::Fine | Verdict::DoesNotApply), "{}: {verdict:?}", rule.id);
        }
    }
}
