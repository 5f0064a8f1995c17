//! Remedies that somebody wants tried: the findings that they are of, and what copies of the table lack then.

use howdah::Error;
use howdah::facts::Facts;

use crate::attachment::Attachment;
use crate::case::Ask;
use crate::diagnosis::diagnose;
use crate::finding::Finding;
use crate::rules::{CHECKS_COST, INDEX_COST, LOG_COST, TOAST};
use crate::sql;

/// Findings of a table whose remedies are to be tried together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub(crate) ids: Vec<String>,
}

impl Attempt {
    /// Those with the names `ids`, of a table that was looked at, for the load `ask`.
    ///
    /// # Errors
    /// One of them is not found there, or is about nothing that a copy of the table can be without; the hint names those that
    /// can be tried.
    pub fn new(ids: &[String], facts: &Facts, ask: &Ask) -> Result<Attempt, Error> {
        let possible = possible(facts, ask);
        let Some(wrong) = ids.iter().find(|id| !possible.contains(&id.as_str())) else {
            let mut ids = ids.to_vec();
            let mut seen = std::collections::BTreeSet::new();
            ids.retain(|id| seen.insert(id.clone()));
            return Ok(Attempt { ids });
        };
        let table = facts.table.as_ref().map_or_else(|| "a server alone".to_owned(), sql::table);
        let error = Error::usage(format!(
            "{wrong:?} cannot be tried on {table}: nothing was found under this name that a copy can be without"
        ));
        Err(match possible.is_empty() {
            true => error,
            false => error.with_hint(format!("what can be tried: {}", possible.join(", "))),
        })
    }

    /// What copies lack: all that these findings are about.
    pub(crate) fn left_out(&self, findings: &[Finding]) -> Vec<Attachment> {
        let is_tried = |id: &str| self.ids.iter().any(|tried| tried == id);
        let found = findings.iter().filter(|finding| is_tried(finding.id));
        let found = found.filter_map(|finding| finding.attachment.clone());
        // Whether these cost anything is what is to be tried.
        let whole = [(CHECKS_COST, Attachment::Checks), (LOG_COST, Attachment::Log)];
        let whole = whole.into_iter().filter(|(id, _)| is_tried(id)).map(|(_, attachment)| attachment);
        let mut left_out: Vec<Attachment> = Vec::new();
        for attachment in found.chain(whole) {
            if !left_out.contains(&attachment) {
                left_out.push(attachment);
            }
        }
        left_out
    }
}

/// The findings of a table that can be tried: those that were looked at, and those that only measuring makes.
fn possible(facts: &Facts, ask: &Ask) -> Vec<&'static str> {
    let Some(table) = &facts.table else { return Vec::new() };
    let findings = diagnose(facts, ask, None).findings;
    let mut ids: Vec<&'static str> =
        findings.iter().filter(|finding| finding.attachment.is_some()).map(|finding| finding.id).collect();
    let attachments = Attachment::all_of(table);
    if attachments.iter().any(|attachment| matches!(attachment, Attachment::Index(_))) {
        ids.push(INDEX_COST);
    }
    if attachments.contains(&Attachment::Checks) {
        ids.push(CHECKS_COST);
    }
    // What compresses well is seen in a copy only.
    if table.columns.seen().is_some_and(|columns| columns.iter().any(|column| column.uses_pglz)) {
        ids.push(TOAST);
    }
    if !table.is_unlogged {
        ids.push(LOG_COST);
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use howdah::facts::{CheckFacts, IndexFacts, TriggerFacts};

    use super::*;
    use crate::testing::{healthy, index, seen, table, trial};
    use crate::trials::Trials;

    fn facts() -> Facts {
        let mut facts = healthy();
        let table = table(&mut facts);
        let covered = |name: &str| IndexFacts { covered_by: Some("longer".into()), ..index(name, "at") };
        seen(&mut table.indexes).extend([covered("short"), covered("again"), index("longer", "at")]);
        seen(&mut table.triggers).push(TriggerFacts {
            name: "stamp".into(),
            is_for_rows: true,
            ..TriggerFacts::default()
        });
        seen(&mut table.checks).push(CheckFacts { name: "sane".into(), ..CheckFacts::default() });
        facts
    }

    fn attempt(ids: &[&str], facts: &Facts) -> Result<Attempt, Error> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        Attempt::new(&ids, facts, &Ask::default())
    }

    fn of(name: &str) -> Attachment {
        Attachment::Index(name.into())
    }

    #[test]
    fn what_a_finding_is_about_is_left_out_once() {
        let facts = facts();
        let findings = diagnose(&facts, &Ask::default(), None).findings;
        let left_out = |ids: &[&str]| attempt(ids, &facts).unwrap().left_out(&findings);
        assert_eq!(left_out(&["index.duplicate", "index.duplicate"]), [of("short"), of("again")]);
        assert_eq!(
            left_out(&["wal.unlogged", "trigger.row", "constraint.cost"]),
            [Attachment::Trigger("stamp".into()), Attachment::Checks, Attachment::Log]
        );
        // Which indexes cost anything is measured first.
        assert_eq!(left_out(&["index.cost"]), []);
        let trials =
            Trials { table: Some(trial(&[(of("longer"), 0.3), (of("short"), 0.3)])), ..Trials::default() };
        let findings = diagnose(&facts, &Ask::default(), Some(&trials)).findings;
        assert_eq!(attempt(&["index.cost"], &facts).unwrap().left_out(&findings), [of("longer")]);
    }

    #[test]
    fn what_cannot_be_tried_is_an_error_that_says_what_can() {
        let error = attempt(&["index.duplicate", "fk.cost"], &facts()).unwrap_err();
        assert_eq!(
            error.message(),
            "\"fk.cost\" cannot be tried on public.events: nothing was found under this name that a copy can be without"
        );
        assert_eq!(
            error.hint(),
            Some(
                "what can be tried: constraint.cost, index.cost, index.duplicate, trigger.row, wal.unlogged"
            )
        );
        let mut bare = healthy();
        table(&mut bare).is_unlogged = true;
        seen(&mut table(&mut bare).indexes).clear();
        assert_eq!(attempt(&["wal.unlogged"], &bare).unwrap_err().hint(), None);
        bare.table = None;
        let error = attempt(&["index.cost"], &bare).unwrap_err();
        assert!(error.message().contains(" on a server alone: "), "{error}");
    }
}
