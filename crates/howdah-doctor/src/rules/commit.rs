//! What a commit waits for.

use howdah::report::Durability;

use super::server::source;
use crate::case::Case;
use crate::figures::count;
use crate::finding::{Basis, Finding, Remedy, Severity};
use crate::remedies::{for_role, for_server};
use crate::rule::Rule;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "commit.standby",
        title: "commits wait for a standby",
        condition: "synchronous_standby_names is set and synchronous_commit is neither off nor local; it is bad where no standby \
                    is connected that commits wait for",
        why: "each commit waits until a standby has it, and for ever where none is there. A load of one transaction waits once; rows \
              that are committed one by one wait each",
        remedy: "start the standby, or take it out of the list; where rows may be lost at a failover, wait for this server alone",
        judge: standby,
    },
    Rule {
        id: "commit.delay",
        title: "commits are held back",
        condition: "commit_delay is greater than 0",
        why: "a commit waits for others that might come, which none of a load's few connections gains from",
        remedy: "set it back",
        judge: delay,
    },
    Rule {
        id: "commit.already-off",
        title: "commits do not wait for the disk",
        condition: "synchronous_commit is off, for whatever reason",
        why: "a crash of the server takes the last commits with it, although they were reported as done",
        remedy: "switch it on where that is not wanted",
        judge: already_off,
    },
];

fn standby(case: &Case<'_>) -> Judged {
    let names = case.see_setting("synchronous_standby_names")?;
    let commit = case.see_setting("synchronous_commit")?;
    if names.value.trim().is_empty() || matches!(commit.value.as_str(), "off" | "local") {
        return Ok(Verdict::Fine);
    }
    let standbys = case.see(&case.facts.standbys, "whether a standby is connected that commits wait for")?;
    let (severity, title) = match standbys.synchronous {
        0 => (Severity::Fails, "commits wait for a standby, and none is connected".to_owned()),
        n => (Severity::Notice, format!("commits wait for standbys, of which {n} are connected")),
    };
    let price = "the rows may be lost if another server takes over before it has them";
    let waits = Finding::new(severity, Basis::Seen, title)
        .seen(format!("synchronous_commit = {}", commit.value))
        .seen(format!(
            "synchronous_standby_names is set; {} standbys stream",
            count(f64::from(standbys.streaming))
        ));
    let local = Remedy::session("synchronous_commit", "local", price).label(Durability::Unconfirmed);
    let finding = match standbys.synchronous {
        0 => waits
            .remedy(
                for_server(case, &[("synchronous_standby_names", "")], price).label(Durability::Unconfirmed),
            )
            .remedy(local),
        _ => waits.remedy(local),
    };
    Ok(Verdict::of(vec![finding]))
}

fn delay(case: &Case<'_>) -> Judged {
    let setting = case.see_setting("commit_delay")?;
    let micros = setting.number().unwrap_or(0.0);
    if micros <= 0.0 {
        return Ok(Verdict::Fine);
    }
    Ok(Verdict::of(vec![
        Finding::new(
            Severity::Costs,
            Basis::Known,
            format!("commit_delay is {} microseconds", count(micros)),
        )
        .seen(format!("commit_delay = {}", setting.value))
        .remedy(for_server(
            case,
            &[("commit_delay", "0")],
            "many sessions that commit at once share fewer flushes",
        )),
    ]))
}

fn already_off(case: &Case<'_>) -> Judged {
    let setting = case.see_setting("synchronous_commit")?;
    if setting.value != "off" {
        return Ok(Verdict::Fine);
    }
    let price = "each commit waits for the disk";
    Ok(Verdict::of(vec![
        Finding::new(Severity::Notice, Basis::Seen, "synchronous_commit is off")
            .seen(source(setting))
            .remedy(Remedy::session("synchronous_commit", "on", price))
            .remedy(for_role(case, setting, "on", price)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Action;
    use crate::testing::{fine, found, hidden, hide_setting, seen, set, statements, unseen};

    #[test]
    fn a_standby_that_is_not_there_is_waited_for_for_ever() {
        let finding = found("commit.standby", |facts| set(facts, "synchronous_standby_names", "other"));
        assert_eq!(finding.severity, Severity::Fails);
        assert_eq!(finding.remedies[1].action, Action::Session("synchronous_commit".into(), "local".into()));
        assert_eq!(finding.remedies[1].label, Durability::Unconfirmed);
        // The list of names is the installation's own affair.
        assert!(!format!("{:?}", finding.evidence).contains("other"));
        let there = found("commit.standby", |facts| {
            set(facts, "synchronous_standby_names", "other");
            seen(&mut facts.standbys).synchronous = 1;
        });
        assert_eq!(there.severity, Severity::Notice);
        fine("commit.standby", |facts| {
            set(facts, "synchronous_standby_names", "other");
            set(facts, "synchronous_commit", "local");
        });
        let gap = unseen("commit.standby", |facts| {
            set(facts, "synchronous_standby_names", "other");
            facts.standbys = hidden();
        });
        assert!(gap.shown_by.unwrap().contains("pg_monitor"));
    }

    #[test]
    fn a_delay_of_commits_is_named() {
        let finding = found("commit.delay", |facts| set(facts, "commit_delay", "1"));
        assert_eq!(statements(&finding, 0), "ALTER SYSTEM SET commit_delay = '0'; SELECT pg_reload_conf();");
        assert_eq!(
            finding.remedies[0].undo.to_string(),
            "ALTER SYSTEM SET commit_delay = '1'; SELECT pg_reload_conf();"
        );
        fine("commit.delay", |facts| set(facts, "commit_delay", "0"));
        unseen("commit.delay", |facts| hide_setting(facts, "commit_delay"));
    }

    #[test]
    fn commits_that_a_crash_may_lose_are_named() {
        let finding = found("commit.already-off", |facts| set(facts, "synchronous_commit", "off"));
        assert_eq!(finding.evidence, ["synchronous_commit = off, set for the whole server"]);
        fine("commit.already-off", |facts| set(facts, "synchronous_commit", "local"));
        unseen("commit.already-off", |facts| hide_setting(facts, "synchronous_commit"));
    }
}
