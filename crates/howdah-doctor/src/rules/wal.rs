//! The write-ahead log.

use howdah::facts::{Service, SettingFacts};
use howdah::report::Durability;

use crate::case::Case;
use crate::figures::{bytes, count};
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::for_server;
use crate::rule::Rule;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "wal.unsafe",
        title: "a crash may cost the whole cluster",
        condition: "fsync or full_page_writes is off (but not on Neon, whose storage does without)",
        why: "after a crash of the machine all databases may be beyond repair, not only what was loaded",
        remedy: "switch it on",
        judge: unsafe_settings,
    },
    Rule {
        id: "wal.archive",
        title: "the log is not archived",
        condition: "archive_mode is on and the last attempt to archive a file failed",
        why: "the log is kept until it is archived: a load fills the disk with it, and then the server stops",
        remedy: "mend what archive_command or archive_library does, before the load",
        judge: archive,
    },
    Rule {
        id: "wal.checkpoints",
        title: "checkpoints come often",
        condition: "the bytes to come are more than three times max_wal_size ÷ (1 + checkpoint_completion_target), after which a \
                    checkpoint begins; or more than 30 % of at least ten checkpoints were requested, and the log is as long as that \
                    takes. The bytes stand for the log that the load writes, which is rather more. Not on Aurora, AlloyDB and Neon, \
                    which have no such checkpoints",
        why: "after each checkpoint every page that changes is logged whole again, and written twice. That is much for keys in random \
              order and little for rows that are only added",
        remedy: "let the log grow further between checkpoints",
        judge: checkpoints,
    },
    Rule {
        id: "wal.compression",
        title: "whole pages are logged uncompressed",
        condition: "wal_compression is off, the server can do lz4 or zstd, and whole pages were more than 40 % of what was logged \
                    (an upper bound: pages ÷ bytes) in at least 1 GB",
        why: "pages that are logged whole after a checkpoint can be compressed to a part of their size; what that saves here was not \
              measured",
        remedy: "compress them, and see to checkpoints and to the order of keys",
        judge: compression,
    },
];

fn unsafe_settings(case: &Case<'_>) -> Judged {
    let settings = [case.see_setting("fsync")?, case.see_setting("full_page_writes")?];
    if case.facts.session.service == Some(Service::Neon) {
        return Ok(Verdict::DoesNotApply);
    }
    let findings = settings.into_iter().filter(|setting| !setting.is_on()).map(|setting| {
        Finding::new(Severity::Fails, Basis::Seen, format!("{} is off", setting.name))
            .seen(format!("{} = {}: {}", setting.name, setting.value, Durability::LabOnly))
            .remedy(for_server(case, &[(&setting.name, "on")], "loads wait for the disk"))
    });
    Ok(Verdict::of(findings.collect()))
}

fn archive(case: &Case<'_>) -> Judged {
    if case.see_setting("archive_mode")?.value == "off" {
        return Ok(Verdict::DoesNotApply);
    }
    let archiver = case.see(&case.facts.archiver, "whether the log is archived")?;
    if !archiver.is_failing {
        return Ok(Verdict::Fine);
    }
    let action = Action::Elsewhere(
        "mend the archiving (the server's log has its words), until pg_stat_archiver counts no more failures"
            .to_owned(),
    );
    Ok(Verdict::of(vec![
        Finding::new(Severity::Fails, Basis::Counted, "archiving of the log fails")
            .seen(format!(
                "{} files archived, {} attempts failed",
                count(archiver.archived),
                count(archiver.failed)
            ))
            .remedy(Remedy::new(action, Undo::NotNeeded, "none").needs("whoever runs the server")),
    ]))
}

pub(super) const MIB: f64 = 1024.0 * 1024.0;
/// More often they need not come by themselves.
const HALF_AN_HOUR_S: f64 = 1800.0;
/// Fewer checkpoints in a load are not worth a word.
const MANY_CHECKPOINTS: f64 = 3.0;
/// What of all checkpoints may be requested.
const REQUESTED: f64 = 0.3;
/// The part of what may be logged between two checkpoints that has to be there for each that was requested.
const HALF: f64 = 0.5;
/// A share of fewer says nothing.
const COUNTED: f64 = 10.0;

fn checkpoints(case: &Case<'_>) -> Judged {
    if case.facts.session.service.is_some_and(Service::has_own_storage)
        || case.table().is_some_and(|table| table.is_unlogged)
    {
        return Ok(Verdict::DoesNotApply);
    }
    let size = case.see_setting("max_wal_size")?;
    let target = case.see_setting("checkpoint_completion_target")?.number().unwrap_or(0.9);
    let Some(most) = size.bytes() else { return Err(case.hidden_setting("max_wal_size")) };
    let distance = most / (1.0 + target);
    let incoming = case.incoming();
    let expected = incoming.bytes / distance;
    let mut evidence = Vec::new();
    let mut basis = Basis::Computed;
    if expected > MANY_CHECKPOINTS {
        evidence.push(incoming.said());
        evidence.push(format!(
            "a checkpoint every {} of the log: at least {} of them",
            bytes(distance),
            count(expected)
        ));
    }
    if let Some(counted) = case.facts.checkpoints.seen() {
        let all = counted.timed + counted.requested;
        // Somebody asks for one too, with CHECKPOINT or CREATE DATABASE: those come with little in the log.
        let logged = case.facts.log.seen().map_or(f64::INFINITY, |log| log.bytes);
        let is_for_size = logged >= counted.requested * distance * HALF;
        if all >= COUNTED && counted.requested / all > REQUESTED && is_for_size {
            evidence.push(format!(
                "{} of {} checkpoints were requested",
                count(counted.requested),
                count(all)
            ));
            basis = if expected > MANY_CHECKPOINTS { basis } else { Basis::Counted };
        }
    }
    if evidence.is_empty() {
        return Ok(Verdict::Fine);
    }
    let mut finding = Finding::new(Severity::Costs, basis, format!("max_wal_size is {}", bytes(most)));
    finding.evidence = evidence;
    Ok(Verdict::of(vec![finding.remedy(rarer_checkpoints(case, incoming.bytes * (1.0 + target)))]))
}

/// A checkpoint after so many bytes of the log only, or rather more, and not by the clock either.
pub(super) fn rarer_checkpoints(case: &Case<'_>, wanted: f64) -> Remedy {
    let now = case.setting("max_wal_size").and_then(SettingFacts::bytes);
    let wanted = wanted_size(case, wanted, now.unwrap_or(0.0));
    let price =
        format!("up to {} of the log on the disk, and a longer recovery after a crash", bytes(wanted * MIB));
    let size = format!("{wanted:.0}MB");
    let mut settings = Vec::new();
    if now.is_none_or(|now| wanted > (now / MIB).floor()) {
        settings.push(("max_wal_size", size.as_str()));
    }
    if case.number("checkpoint_timeout").is_none_or(|seconds| seconds < HALF_AN_HOUR_S) {
        settings.push(("checkpoint_timeout", "30min"));
    }
    // What is set already would change nothing.
    if settings.is_empty() {
        let text = "more room for the log: it may take a quarter of what is free".to_owned();
        return Remedy::new(Action::Elsewhere(text), Undo::NotNeeded, "a larger disk")
            .needs("whoever runs the server");
    }
    for_server(case, &settings, &price)
}

/// The size in MB at which the load takes one checkpoint: at least twice what it is, a quarter of the free disk where that was
/// seen, and no more than services take.
pub(super) fn wanted_size(case: &Case<'_>, wanted: f64, now: f64) -> f64 {
    const MOST: f64 = 64.0 * 1024.0 * 1024.0 * 1024.0;
    let room = case.facts.disk.seen().map_or(MOST, |disk| disk.free / 4.0);
    (wanted.max(now * 2.0).min(room).min(MOST).max(now) / MIB).floor()
}

/// What of the log may be whole pages.
const FULL_PAGES: f64 = 0.4;
/// Less says nothing.
const ENOUGH_LOG: f64 = 1e9;

fn compression(case: &Case<'_>) -> Judged {
    let setting = case.see_setting("wal_compression")?;
    let method = ["lz4", "zstd"].into_iter().find(|method| setting.can_be(method));
    let (true, Some(method)) = (setting.value == "off", method) else { return Ok(Verdict::Fine) };
    let log = case.see(&case.facts.log, "what was logged")?;
    let share = log.full_pages * 8192.0 / log.bytes.max(1.0);
    if log.bytes < ENOUGH_LOG || share <= FULL_PAGES {
        return Ok(Verdict::Fine);
    }
    Ok(Verdict::of(vec![
        Finding::new(Severity::Costs, Basis::Counted, "whole pages are logged uncompressed")
            .seen(format!(
                "{} whole pages in {} of the log: at most {:.0} %",
                count(log.full_pages),
                bytes(log.bytes),
                share.min(1.0) * 100.0
            ))
            .remedy(for_server(case, &[("wal_compression", method)], "time of the server's processors")),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Ask;
    use crate::testing::{
        fine, fine_for, found, found_for, hidden, hide_setting, seen, set, statements, table, unseen,
    };

    #[test]
    fn a_server_that_a_crash_may_destroy() {
        let finding = found("wal.unsafe", |facts| set(facts, "fsync", "off"));
        assert_eq!(finding.severity, Severity::Fails);
        assert!(finding.evidence[0].ends_with("lab only"));
        found("wal.unsafe", |facts| set(facts, "full_page_writes", "off"));
        fine("wal.unsafe", |facts| {
            set(facts, "fsync", "off");
            facts.session.service = Some(Service::Neon);
        });
        unseen("wal.unsafe", |facts| hide_setting(facts, "fsync"));
    }

    #[test]
    fn a_log_that_is_not_archived() {
        let finding = found("wal.archive", |facts| {
            set(facts, "archive_mode", "on");
            *seen(&mut facts.archiver) =
                howdah::facts::ArchiverFacts { archived: 3.0, failed: 7.0, is_failing: true };
        });
        assert_eq!(finding.evidence, ["3 files archived, 7 attempts failed"]);
        fine("wal.archive", |facts| {
            set(facts, "archive_mode", "on");
            seen(&mut facts.archiver).failed = 7.0;
        });
        unseen("wal.archive", |facts| {
            set(facts, "archive_mode", "on");
            facts.archiver = hidden();
        });
    }

    #[test]
    fn three_checkpoints_are_few() {
        // A checkpoint every 565 million bytes.
        let of = |tenths: u64| Ask { bytes: Some(56_512_727 * tenths), ..Ask::default() };
        let finding = found_for("wal.checkpoints", &of(31), |_| {});
        assert_eq!(finding.basis, Basis::Computed);
        assert_eq!(
            statements(&finding, 0),
            "ALTER SYSTEM SET max_wal_size = '3174MB'; ALTER SYSTEM SET checkpoint_timeout = '30min'; SELECT pg_reload_conf();"
        );
        assert_eq!(
            finding.remedies[0].undo.to_string(),
            "ALTER SYSTEM RESET max_wal_size; ALTER SYSTEM RESET checkpoint_timeout; SELECT pg_reload_conf();"
        );
        fine_for("wal.checkpoints", &of(29), |_| {});
        // A disk of which a quarter is less than that: what is set already is no remedy.
        let full = found_for("wal.checkpoints", &of(90), |facts| {
            seen(&mut facts.disk).free = 1e9;
            set(facts, "checkpoint_timeout", "1800");
        });
        let Action::Elsewhere(text) = &full.remedies[0].action else { panic!("{full:?}") };
        assert!(text.starts_with("more room for the log"), "{text}");
        fine_for("wal.checkpoints", &of(90), |facts| table(facts).is_unlogged = true);
        fine_for("wal.checkpoints", &of(90), |facts| facts.session.service = Some(Service::Aurora));
        let on_rds =
            found_for("wal.checkpoints", &of(90), |facts| facts.session.service = Some(Service::Rds));
        let Action::Elsewhere(text) = &on_rds.remedies[0].action else { panic!("{on_rds:?}") };
        assert!(text.starts_with("in the instance's parameter group: max_wal_size = "), "{text}");
        let requested = |log: f64| {
            move |facts: &mut howdah::facts::Facts| {
                (seen(&mut facts.checkpoints).requested, seen(&mut facts.log).bytes) = (44.0, log);
            }
        };
        let counted = found("wal.checkpoints", requested(2e10));
        assert_eq!(
            (counted.basis, &*counted.evidence[0]),
            (Basis::Counted, "44 of 144 checkpoints were requested")
        );
        fine("wal.checkpoints", |facts| seen(&mut facts.checkpoints).requested = 42.0);
        // Somebody made databases.
        fine("wal.checkpoints", requested(1e10));
        unseen("wal.checkpoints", |facts| hide_setting(facts, "max_wal_size"));
    }

    #[test]
    fn pages_that_are_logged_whole_can_be_compressed() {
        let pages = |share: f64| share * 1e10 / 8192.0;
        let finding = found("wal.compression", |facts| seen(&mut facts.log).full_pages = pages(0.41));
        assert!(finding.evidence[0].ends_with("at most 41 %"), "{:?}", finding.evidence);
        fine("wal.compression", |facts| seen(&mut facts.log).full_pages = pages(0.39));
        fine("wal.compression", |facts| {
            seen(&mut facts.log).full_pages = pages(0.9);
            set(facts, "wal_compression", "lz4");
        });
        unseen("wal.compression", |facts| facts.log = hidden());
    }
}
