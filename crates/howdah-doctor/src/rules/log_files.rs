//! Files of the log, which are kept for use or made anew.

use howdah::facts::{Service, SettingFacts};

use super::wal::{MIB, wanted_size};
use super::watch::{costs, is, waiting};
use crate::case::Case;
use crate::figures::{bytes, count};
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::measured::Measured;
use crate::remedies::for_server;
use crate::rule::Rule;
use crate::trials::{LogTrial, TableTrial, Trials};
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[Rule {
    id: "wal.new-files",
    title: "new files of the log are made (with watching or measurements only)",
    condition: "watched: sessions that write wait for new files of the log (WALInit…) for more than 5 % of the time. Measured: four \
                files were filled, and waiting for new ones would take more than 5 % of the time of a load that logs what a row of the \
                table does; or more than half of the time in which they were filled, where no table was measured. Not on Aurora, \
                AlloyDB and Neon, which have no such files",
    why: "all commits wait while the server fills a new file with zeros; files that are kept are used again",
    remedy: "keep more files of the log",
    judge: new_files,
}];

/// The share of the time that has to be exceeded for sure.
const MUCH: f64 = 0.05;
/// The same of the time in which nothing but the log is written.
const MUCH_OF_LOG: f64 = 0.5;

fn new_files(case: &Case<'_>) -> Judged {
    if case.facts.session.service.is_some_and(Service::has_own_storage) {
        return Ok(Verdict::DoesNotApply);
    }
    let measured = case.trials.and_then(|trials| measured(case, trials));
    match (measured, case.facts.watched.is_some()) {
        (Some(found @ Verdict::Found(_)), _) | (Some(found), false) => Ok(found),
        (_, true) => {
            let finding = costs(TITLE).remedy(more_files(case));
            waiting(case, MUCH, |writer| is(writer, &["WALInitWrite", "WALInitSync"]), finding)
        }
        (None, false) => Ok(Verdict::DoesNotApply),
    }
}

const TITLE: &str = "writers wait for new files of the log";

/// What filling files of the log shows, if it was measured.
fn measured(case: &Case<'_>, trials: &Trials) -> Option<Verdict> {
    let trial = trials.log.as_ref()?;
    let share = trial.share()?;
    let filled = format!(
        "{} files of {} were filled: {} of the time",
        trial.files.len(),
        bytes(trial.bytes),
        share.percent()
    );
    let table = trials.table.as_ref();
    let cost = table.and_then(|table| of_load(trial, table));
    if cost.map_or(share.low <= MUCH_OF_LOG, |cost| cost.low <= MUCH) {
        return Some(Verdict::Fine);
    }
    let severity = if cost.is_some() { Severity::Costs } else { Severity::Notice };
    let mut finding = Finding::new(severity, Basis::Measured, TITLE).seen(filled).remedy(more_files(case));
    if let Some(log) = table.and_then(TableTrial::log_per_row) {
        finding = finding.seen(format!("a row is {} of the log", bytes(log)));
    }
    finding.cost = cost;
    Some(Verdict::of(vec![finding]))
}

/// The share of the time of a load that logs as many bytes a row, at its rate.
fn of_load(log: &LogTrial, table: &TableTrial) -> Option<Measured> {
    let (seconds, bytes_a_second) = (log.seconds_per_byte()?, table.log_per_row()? * table.rate()?.median);
    let of = |seconds: f64| (seconds * bytes_a_second).min(1.0);
    Some(Measured {
        median: of(seconds.median),
        low: of(seconds.low),
        high: of(seconds.high),
        rounds: seconds.rounds,
    })
}

/// What loads use again, if nobody knows how much they log.
const MANY: f64 = 4.0 * 1024.0 * 1024.0 * 1024.0;

fn more_files(case: &Case<'_>) -> Remedy {
    let size = |name: &str| case.setting(name).and_then(SettingFacts::bytes).unwrap_or(0.0);
    let now = size("min_wal_size");
    let wanted = wanted_size(case, MANY, now);
    // What is set already would change nothing.
    if wanted <= (now / MIB).floor() {
        let text = format!(
            "more room for the log ({} MB of its files are kept already), or, on a disk that copies what is written anew, \
             wal_init_zero = off and wal_recycle = off",
            count((now / MIB).floor())
        );
        return Remedy::new(Action::Elsewhere(text), Undo::NotNeeded, "a larger disk")
            .needs("whoever runs the server");
    }
    let kept = format!("{wanted:.0}MB");
    let mut settings = vec![("min_wal_size", kept.as_str())];
    // Not more than may be there at all.
    if wanted > (size("max_wal_size") / MIB).floor() {
        settings.push(("max_wal_size", kept.as_str()));
    }
    let price = format!("{} of the disk, always; it fills over the next checkpoints", bytes(wanted * MIB));
    for_server(case, &settings, &price)
}

#[cfg(test)]
mod tests {
    use howdah::facts::{Fact, Facts, WatchFacts, WriterFacts};

    use super::*;
    use crate::testing::{fine, found, healthy, seen, set, statements, trial};
    use crate::trials::LogFile;
    use crate::{Ask, diagnose};

    fn waits(waits: u64) -> impl Fn(&mut Facts) {
        move |facts| {
            let writer = |event: &str, seen| WriterFacts {
                is_active: true,
                kind: "IO".into(),
                event: event.into(),
                seen,
            };
            facts.watched = Some(WatchFacts {
                seconds: 10.0,
                looks: 100,
                writers: Fact::Seen(vec![writer("WALInitWrite", waits), writer("", 100 - waits)]),
                ..WatchFacts::default()
            });
        }
    }

    #[test]
    fn who_watches_sees_that_writers_wait_and_the_remedy_is_more_than_there_is() {
        let finding = found("wal.new-files", waits(12));
        assert!(finding.evidence[0].contains(" % ("), "{finding:?}");
        assert!(statements(&finding, 0).starts_with(
            "ALTER SYSTEM SET min_wal_size = '4096MB'; ALTER SYSTEM SET max_wal_size = '4096MB';"
        ));
        fine("wal.new-files", waits(8));
        fine("wal.new-files", |facts| {
            waits(100)(facts);
            facts.session.service = Some(Service::Neon);
        });
        let with = |min: &'static str, max: &'static str, free: f64| {
            found("wal.new-files", move |facts| {
                waits(100)(facts);
                set(facts, "min_wal_size", min);
                set(facts, "max_wal_size", max);
                seen(&mut facts.disk).free = free;
            })
        };
        let more = with("4096", "10240", 1e12);
        assert!(
            statements(&more, 0).starts_with("ALTER SYSTEM SET min_wal_size = '8192MB'; SELECT"),
            "{more:?}"
        );
        let full = with("4096", "10240", 1e9);
        assert!(
            matches!(&full.remedies[0].action, Action::Elsewhere(text) if text.contains("4,096 MB of its files"))
        );
    }

    #[test]
    fn what_was_measured_is_a_share_of_a_load_s_time() {
        // 2 MB of the log a second.
        let with = |seconds: f64, waits: u32, has_table: bool| {
            let file = LogFile { seconds, looks: 100, waits };
            let log = LogTrial { bytes: 16e6, files: vec![file; 4] };
            let trials = Trials { log: Some(log), table: has_table.then(|| trial(&[])), ..Trials::default() };
            let mut findings = diagnose(&healthy(), &Ask::default(), Some(&trials)).findings;
            findings.retain(|finding| finding.id == "wal.new-files");
            findings
        };
        // Of two seconds half, for 16 MB: 6 % of the time in which a load logs 2 MB.
        let found = &with(1.0, 50, true)[0];
        assert_eq!(found.cost.unwrap().percent(), "6 % (6 to 6)");
        assert_eq!(
            found.evidence,
            ["4 files of 16 MB were filled: 50 % (50 to 50) of the time", "a row is 200 B of the log"]
        );
        assert_eq!(with(0.1, 90, true), []);
        // What others wait for is seen all the same.
        let mut facts = healthy();
        waits(12)(&mut facts);
        let file = LogFile { seconds: 0.1, looks: 100, waits: 0 };
        let log = LogTrial { bytes: 16e6, files: vec![file; 4] };
        let trials = Trials { log: Some(log), ..Trials::default() };
        let findings = diagnose(&facts, &Ask::default(), Some(&trials)).findings;
        assert!(findings.iter().any(|finding| finding.id == "wal.new-files"), "{findings:?}");
        assert_eq!(with(0.1, 50, false), []);
        assert_eq!(with(0.1, 51, false)[0].severity, Severity::Notice);
    }
}
