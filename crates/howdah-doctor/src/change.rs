//! Settings of a server that are to be changed for findings which somebody named.

use howdah::Error;
use howdah::facts::Facts;
use serde::Serialize;

use crate::case::Ask;
use crate::diagnosis::diagnose;
use crate::finding::{Basis, Effect, Finding, Remedy, Severity};
use crate::sql;

/// What a change is for, which says when it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Time that measurements of seconds show.
    Time,
    /// Time that the finding computes from what is to come, or from the server's counters: runs of seconds do not show it.
    Estimate,
    /// Something else than time: that a crash costs nothing, that a load does not fail.
    Safety,
}

impl Purpose {
    fn of(finding: &Finding) -> Purpose {
        match (finding.severity, finding.basis) {
            (Severity::Fails | Severity::Notice, _) => Purpose::Safety,
            (Severity::Costs, Basis::Computed | Basis::Counted) => Purpose::Estimate,
            (Severity::Costs, _) => Purpose::Time,
        }
    }
}

/// Settings that the remedy of a finding sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The finding.
    pub id: String,
    /// What it is for.
    pub purpose: Purpose,
    /// Whether the server has to be started again for it.
    pub is_restart: bool,
    /// The settings and their values.
    pub(crate) settings: Vec<(String, String)>,
}

impl Change {
    /// Those for the findings `ids` of a server that was looked at, for the load `ask`.
    ///
    /// # Errors
    /// One of them is not found there, or its remedy is no setting of the server, or two of them set the same; a hint names those
    /// that can be applied.
    pub fn named(ids: &[String], facts: &Facts, ask: &Ask) -> Result<Vec<Change>, Error> {
        let findings = diagnose(facts, ask, None).findings;
        let mut changes: Vec<Change> = Vec::new();
        for id in ids {
            if changes.iter().any(|change| change.id == *id) {
                continue;
            }
            let change = Change::of(id, &findings).ok_or_else(|| refused(id, &findings))?;
            let same = changes.iter().find_map(|other| Some((other, other.same(&change)?)));
            if let Some((other, setting)) = same {
                let message = format!("{} and {id} both set {}", other.id, sql::name(setting));
                return Err(Error::usage(message).with_hint("name one of them, and then the other"));
            }
            changes.push(change);
        }
        Ok(changes)
    }

    /// What all findings of that name set.
    fn of(id: &str, findings: &[Finding]) -> Option<Change> {
        let of_id = findings.iter().filter(|finding| finding.id == id);
        let with: Vec<(&Finding, &Remedy)> =
            of_id.filter_map(|finding| Some((finding, remedy(finding)?))).collect();
        let (first, _) = with.first()?;
        Some(Change {
            id: id.to_owned(),
            purpose: Purpose::of(first),
            is_restart: with.iter().any(|(_, remedy)| remedy.effect == Effect::Restart),
            settings: with.iter().flat_map(|(_, remedy)| remedy.settings.clone()).collect(),
        })
    }

    /// A setting that another change sets too.
    fn same(&self, other: &Change) -> Option<&str> {
        let names = self.names();
        names.into_iter().find(|name| other.settings.iter().any(|(theirs, _)| theirs == name))
    }

    /// The settings' names.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.settings.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// The first remedy that sets something for the whole server.
fn remedy(finding: &Finding) -> Option<&Remedy> {
    finding.remedies.iter().find(|remedy| !remedy.settings.is_empty())
}

fn refused(id: &str, findings: &[Finding]) -> Error {
    let why = match findings.iter().any(|finding| finding.id == id) {
        true => "its remedies are no settings of the server",
        false => "nothing was found under this name",
    };
    let error = Error::usage(format!("{id:?} cannot be applied: {why}"));
    let mut possible: Vec<&str> =
        findings.iter().filter(|finding| remedy(finding).is_some()).map(|finding| finding.id).collect();
    possible.sort_unstable();
    possible.dedup();
    match possible.is_empty() {
        true => error,
        false => error.with_hint(format!("what can be applied: {}", possible.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use howdah::facts::{Fact, IndexFacts, WorkFacts};

    use super::*;
    use crate::WatchFacts;
    use crate::testing::{healthy, index, seen, set, table};

    fn facts() -> Facts {
        let mut facts = healthy();
        set(&mut facts, "commit_delay", "1000");
        set(&mut facts, "fsync", "off");
        set(&mut facts, "full_page_writes", "off");
        set(&mut facts, "autovacuum", "off");
        set(&mut facts, "log_statement", "all");
        let short = IndexFacts { covered_by: Some("longer".into()), ..index("short", "at") };
        seen(&mut table(&mut facts).indexes).push(short);
        facts
    }

    fn named(ids: &[&str], ask: &Ask) -> Result<Vec<Change>, Error> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        Change::named(&ids, &facts(), ask)
    }

    #[test]
    fn what_a_change_is_for_follows_from_its_finding() {
        let ask = Ask { bytes: Some(9_000_000_000), ..Ask::default() };
        let ids = [
            "commit.delay",
            "wal.checkpoints",
            "wal.unsafe",
            "table.autovacuum",
            "server.logging",
            "commit.delay",
        ];
        let changes = named(&ids, &ask).unwrap();
        let purposes: Vec<Purpose> = changes.iter().map(|change| change.purpose).collect();
        let (time, estimate, safety) = (Purpose::Time, Purpose::Estimate, Purpose::Safety);
        assert_eq!(purposes, [time, estimate, safety, safety, time]);
        assert_eq!(changes[0].settings, [("commit_delay".to_owned(), "0".to_owned())]);
        // All that was found under a name.
        assert_eq!(changes[2].names(), ["fsync", "full_page_writes"]);
        assert!(changes.iter().all(|change| !change.is_restart));
    }

    #[test]
    fn what_cannot_be_applied_is_an_error_that_says_what_can() {
        let error = named(&["index.duplicate"], &Ask::default()).unwrap_err();
        assert_eq!(
            error.message(),
            "\"index.duplicate\" cannot be applied: its remedies are no settings of the server"
        );
        assert_eq!(
            error.hint(),
            Some("what can be applied: commit.delay, server.logging, table.autovacuum, wal.unsafe")
        );
        let error = named(&["fk.cost"], &Ask::default()).unwrap_err();
        assert_eq!(error.message(), "\"fk.cost\" cannot be applied: nothing was found under this name");
        let error = Change::named(&["fk.cost".into()], &healthy(), &Ask::default()).unwrap_err();
        assert_eq!(error.hint(), None);
    }

    #[test]
    fn two_changes_of_the_same_setting_are_told_apart_by_nobody() {
        let mut facts = facts();
        let work = WorkFacts { log: 81.92e6, full_pages: 5000.0, ..WorkFacts::default() };
        facts.watched = Some(WatchFacts { work: Fact::Seen(work), ..WatchFacts::default() });
        let ask = Ask { bytes: Some(9_000_000_000), ..Ask::default() };
        let ids = ["wal.checkpoints".to_owned(), "wal.full-pages".to_owned()];
        let error = Change::named(&ids, &facts, &ask).unwrap_err();
        assert_eq!(error.message(), "wal.checkpoints and wal.full-pages both set max_wal_size");
    }
}
