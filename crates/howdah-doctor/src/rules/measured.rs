//! What only a measurement can find.

use howdah::message;
use howdah::message::setting;
use howdah::report::Durability;

use crate::attachment::Attachment;
use crate::case::Case;
use crate::figures::{bytes, count, time};
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::{drop_index, rebuild};
use crate::rule::Rule;
use crate::sql;
use crate::trials::{CommitTrial, TableTrial, Trials};
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

/// The rule that knows of an index nothing but what it costs.
pub(crate) const INDEX_COST: &str = "index.cost";
/// The rule that knows what all CHECKs cost together.
pub(crate) const CHECKS_COST: &str = "constraint.cost";
/// The rule that knows what the log costs.
pub(crate) const LOG_COST: &str = "wal.unlogged";

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: INDEX_COST,
        title: "an index takes time of each row (with measurements only)",
        condition: "copies of the table without the index take rows faster: the interval excludes 0, and the median is more than 5 % and \
                    more than the machine's noise",
        why: "each row is led into it. The copy begins empty: an index that is larger than the server's memory costs more",
        remedy: "have it dropped and built again in the load's transaction; or do without it",
        judge: index_cost,
    },
    Rule {
        id: CHECKS_COST,
        title: "CHECKs take time of each row (with measurements only)",
        condition: "copies of the table without its CHECKs take rows faster, as of index.cost",
        why: "each row is held against each of them. Those that call functions are not measured",
        remedy: "have them taken out and all rows checked at once, in the load's transaction",
        judge: checks_cost,
    },
    Rule {
        id: LOG_COST,
        title: "the log takes time of each row (with measurements only)",
        condition: "unlogged copies of the table take rows faster, as of index.cost",
        why: "each row is written to the log and then to the table",
        remedy: "for rows that can be loaded again: an unlogged table, at least while it is filled",
        judge: log_cost,
    },
    Rule {
        id: "net.round-trip",
        title: "the server is far away (with measurements only)",
        condition: "a round trip takes at least a millisecond",
        why: "whoever waits for an answer to each row writes no more rows a second than there are round trips. COPY does not wait",
        remedy: "COPY, or a thousand rows a statement; a program that runs near the server",
        judge: round_trip,
    },
    Rule {
        id: "net.bandwidth",
        title: "the network is the limit (with measurements only)",
        condition: "sending the rows alone takes more than half of the time in which the table takes them",
        why: "the server waits for rows, so nothing that is done to table or server makes a load faster",
        remedy: "load from a machine that is nearer to the server",
        judge: bandwidth,
    },
    Rule {
        id: "commit.flush",
        title: "commits wait for the disk (with measurements only)",
        condition: "a commit that waits for the disk takes at least a millisecond more than one that does not",
        why: "rows that are committed one by one wait each; a load waits once",
        remedy: "more rows a commit, or more connections at once: they share the wait",
        judge: flush,
    },
    Rule {
        id: "commit.flush-too-fast",
        title: "the disk answers before it can have written (with measurements only)",
        condition: "fsync is on, and a commit waits less than 20 microseconds for the disk",
        why: "a disk that answers so fast has a cache with a battery, or loses what it was given when the power goes",
        remedy: "look at the disk's write cache; pg_test_fsync measures it",
        judge: flush_too_fast,
    },
];

/// What was measured, or that the rule does not apply.
fn trials<'f>(case: &Case<'f>) -> Result<&'f Trials, Verdict> {
    case.trials.ok_or(Verdict::DoesNotApply)
}

fn table_trial<'f>(case: &Case<'f>) -> Result<&'f TableTrial, Verdict> {
    trials(case)?.table.as_ref().ok_or(Verdict::DoesNotApply)
}

/// How it was measured, as evidence.
fn how(trial: &TableTrial) -> String {
    format!("{} rounds of {} rows into copies that begin empty", trial.rounds(), count(trial.rows as f64))
}

fn index_cost(case: &Case<'_>) -> Judged {
    let trial = table_trial(case)?;
    let table = case.see_table()?;
    let indexes = case.see(&table.indexes, "the table's indexes")?;
    let findings = indexes.iter().filter_map(|index| {
        let attachment = Attachment::Index(index.name.clone());
        trial.cost(&attachment).filter(|cost| trial.is_clear(*cost))?;
        let columns: Vec<String> = index
            .columns
            .iter()
            .map(|column| column.as_deref().map_or("an expression".to_owned(), sql::name))
            .collect();
        let name = sql::qualified(&index.schema, &index.name);
        let mut finding = Finding::new(Severity::Costs, Basis::Measured, format!("rows are led into {name}"))
            .about(attachment)
            .seen(format!(
                "method {}, {}, {}",
                sql::name(&index.method),
                columns.join(", "),
                bytes(index.bytes)
            ))
            .seen(how(trial));
        finding = match table.kind.as_str() {
            "r" => finding.remedy(rebuild(table)),
            _ => {
                let text = "fill partitions before they get their indexes and are attached".to_owned();
                finding.remedy(Remedy::new(
                    Action::Elsewhere(text),
                    Undo::NotNeeded,
                    "readers see them later",
                ))
            }
        };
        Some(if index.is_key {
            finding
        } else {
            finding.remedy(drop_index(table, index, "queries that need it are slower"))
        })
    });
    Ok(Verdict::of(findings.collect()))
}

fn checks_cost(case: &Case<'_>) -> Judged {
    let trial = table_trial(case)?;
    let table = case.see_table()?;
    let Some(_) = trial.cost(&Attachment::Checks).filter(|cost| trial.is_clear(*cost)) else {
        return Ok(Verdict::Fine);
    };
    let finding = Finding::new(
        Severity::Costs,
        Basis::Measured,
        format!("rows are held against the CHECKs of {}", sql::table(table)),
    )
    .about(Attachment::Checks)
    .seen(how(trial));
    Ok(Verdict::of(vec![finding.remedy(Remedy::new(
        Action::Elsewhere("leave to fewer CHECKs what one of them can say".to_owned()),
        "the CHECKs of today",
        "rows that are there are read again",
    ))]))
}

fn log_cost(case: &Case<'_>) -> Judged {
    let trial = table_trial(case)?;
    let Some(cost) = trial.log_cost().filter(|cost| trial.is_clear(*cost)) else { return Ok(Verdict::Fine) };
    let price = "a crash empties the table, and standbys never have its rows";
    let mut finding = Finding::new(Severity::Costs, Basis::Measured, "rows are written to the log")
        .about(Attachment::Log)
        .seen(how(trial))
        .remedy(
            Remedy::load(message![setting::UNLOGGED.bool(true), ", into a new table"], price)
                .label(Durability::NotCrashSafe),
        );
    if let Some(log) = trial.log_per_row() {
        finding = finding.seen(format!("{} of log a row, its indexes' entries with it", bytes(log)));
    }
    finding.cost = Some(cost);
    Ok(Verdict::of(vec![finding]))
}

/// Less is not far.
const FAR: f64 = 1e-3;

fn round_trip(case: &Case<'_>) -> Judged {
    let network = trials(case)?.network.as_ref().ok_or(Verdict::DoesNotApply)?;
    let Some(seconds) = network.round_trip().filter(|seconds| *seconds >= FAR) else {
        return Ok(Verdict::Fine);
    };
    let action = Action::Elsewhere(
        "COPY, or a thousand rows a statement, or a program that runs near the server".to_owned(),
    );
    Ok(Verdict::of(vec![
        Finding::new(Severity::Notice, Basis::Measured, format!("the server is {} away", time(seconds)))
            .seen(format!("the median of {} round trips", network.round_trips.len()))
            .seen(format!(
                "at a statement a row at most {} rows a second and connection",
                count((1.0 / seconds).floor())
            ))
            .remedy(Remedy::new(action, Undo::NotNeeded, "rows of a batch are there together, and later")),
    ]))
}

fn bandwidth(case: &Case<'_>) -> Judged {
    let trial = table_trial(case)?;
    // Nothing is nearer.
    if case.facts.session.is_local {
        return Ok(Verdict::DoesNotApply);
    }
    let upload =
        trials(case)?.network.as_ref().and_then(|network| network.upload).ok_or(Verdict::DoesNotApply)?;
    let rows_a_second = trial.rate().ok_or(Verdict::DoesNotApply)?.median;
    let seconds = trial.rows as f64 / rows_a_second;
    let share = trial.bytes as f64 / upload / seconds;
    if share <= 0.5 {
        return Ok(Verdict::Fine);
    }
    let action = Action::Elsewhere("load from a machine that is nearer to the server".to_owned());
    Ok(Verdict::of(vec![
        Finding::new(
            Severity::Costs,
            Basis::Measured,
            format!("the network takes {} a second", bytes(upload)),
        )
        .seen(format!("{} rows are {}", count(trial.rows as f64), bytes(trial.bytes as f64)))
        .seen(format!(
            "sending them alone takes {:.0} % of the time in which the table takes them",
            (share * 100.0).min(100.0)
        ))
        .remedy(Remedy::new(action, Undo::NotNeeded, "the files have to get there")),
    ]))
}

/// A commit waits so long.
fn waits(commit: &CommitTrial, seconds: f64) -> Finding {
    let title = format!("a commit waits {} for the disk", time(seconds));
    Finding::new(Severity::Notice, Basis::Measured, title)
        .seen(format!("the difference of the medians of {} commits of each kind", commit.local.len()))
}

fn flush(case: &Case<'_>) -> Judged {
    let commit = trials(case)?.commit.as_ref().ok_or(Verdict::DoesNotApply)?;
    let Some(seconds) = commit.flush().filter(|seconds| *seconds >= FAR) else { return Ok(Verdict::Fine) };
    let action =
        Action::Elsewhere("more rows a commit; or more connections, which share the wait".to_owned());
    let price = "a crash of the server takes the last commits with it, although they were reported as done";
    Ok(Verdict::of(vec![
        waits(commit, seconds)
            .seen(format!("at most {} commits a second and connection", count((1.0 / seconds).floor())))
            .remedy(Remedy::new(action, Undo::NotNeeded, "rows of a commit are there together, and later"))
            .remedy(Remedy::session("synchronous_commit", "off", price).label(Durability::LosesLastCommits)),
    ]))
}

/// No disk writes in less.
const TOO_FAST: f64 = 20e-6;

fn flush_too_fast(case: &Case<'_>) -> Judged {
    let commit = trials(case)?.commit.as_ref().ok_or(Verdict::DoesNotApply)?;
    let fsync = case.see_setting("fsync")?;
    // Where the log lies elsewhere, the disk that is meant is not this one.
    let is_elsewhere = case.facts.session.service.is_some_and(howdah::facts::Service::has_own_storage);
    let Some(seconds) = commit.flush().filter(|seconds| *seconds < TOO_FAST) else {
        return Ok(Verdict::Fine);
    };
    if fsync.value != "on" || is_elsewhere {
        return Ok(Verdict::DoesNotApply);
    }
    let action = Action::Elsewhere("look whether the disk's write cache outlives a power cut".to_owned());
    Ok(Verdict::of(vec![waits(commit, seconds).seen("fsync is on").remedy(Remedy::new(
        action,
        Undo::NotNeeded,
        "none",
    ))]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{healthy, measured, statements, trial};
    use crate::trials::NetworkTrial;

    fn finding(id: &str, trials: &Trials) -> Finding {
        match measured(id, trials) {
            Verdict::Found(mut findings) => findings.remove(0),
            other => panic!("{id}: {other:?}"),
        }
    }

    fn with_table(costs: &[(Attachment, f64)]) -> Trials {
        Trials { table: Some(trial(costs)), ..Trials::default() }
    }

    #[test]
    fn an_index_that_costs_is_named_whether_or_not_it_can_go() {
        let key = Attachment::Index("events_pkey".into());
        let found = finding(INDEX_COST, &with_table(&[(key.clone(), 0.3)]));
        assert_eq!(found.title, "rows are led into public.events_pkey");
        assert_eq!(found.evidence[1], "7 rounds of 10,000 rows into copies that begin empty");
        assert_eq!(found.remedies.len(), 1);
        assert_eq!(measured(INDEX_COST, &with_table(&[(key, 0.04)])), Verdict::Fine);
        assert_eq!(measured(INDEX_COST, &Trials::default()), Verdict::DoesNotApply);

        let mut facts = healthy();
        crate::testing::seen(&mut crate::testing::table(&mut facts).indexes)
            .push(crate::testing::index("at", "at"));
        let trials = with_table(&[(Attachment::Index("at".into()), 0.3)]);
        let diagnosis = crate::diagnose(&facts, &crate::Ask::default(), Some(&trials));
        assert_eq!(statements(&diagnosis.findings[0], 1), "DROP INDEX CONCURRENTLY public.at;");
    }

    #[test]
    fn checks_that_cost_are_named() {
        let found = finding("constraint.cost", &with_table(&[(Attachment::Checks, 0.2)]));
        assert_eq!(found.title, "rows are held against the CHECKs of public.events");
        assert_eq!(measured("constraint.cost", &with_table(&[(Attachment::Checks, 0.01)])), Verdict::Fine);
    }

    #[test]
    fn the_log_has_its_price() {
        let mut table = trial(&[]);
        let unlogged = |seconds: f64| {
            move |round| crate::trials::Run {
                round,
                variant: crate::attachment::Variant::Unlogged,
                seconds,
                log: 0.0,
            }
        };
        let logged = table.runs.clone();
        table.runs.extend((0..=7).map(unlogged(0.8)));
        let found = finding("wal.unlogged", &Trials { table: Some(table.clone()), ..Trials::default() });
        assert_eq!(found.cost.unwrap().percent(), "20 % (20 to 20)");
        assert_eq!(found.evidence[1], "200 B of log a row, its indexes' entries with it");
        assert_eq!(found.remedies[0].label, Durability::NotCrashSafe);
        table.runs = logged;
        table.runs.extend((0..=7).map(unlogged(1.0)));
        assert_eq!(
            measured("wal.unlogged", &Trials { table: Some(table), ..Trials::default() }),
            Verdict::Fine
        );
    }

    #[test]
    fn a_server_is_far_from_a_millisecond_on() {
        let at = |seconds: f64| Trials {
            network: Some(NetworkTrial { round_trips: vec![seconds; 3], upload: None }),
            ..Trials::default()
        };
        let found = finding("net.round-trip", &at(2.1e-3));
        assert_eq!(found.title, "the server is 2.1 ms away");
        assert_eq!(found.evidence[1], "at a statement a row at most 476 rows a second and connection");
        assert_eq!(measured("net.round-trip", &at(0.99e-3)), Verdict::Fine);
        assert_eq!(measured("net.round-trip", &Trials::default()), Verdict::DoesNotApply);
    }

    #[test]
    fn the_network_is_the_limit_where_sending_takes_most_of_the_time() {
        let at = |upload: f64| Trials {
            network: Some(NetworkTrial { round_trips: vec![1e-4; 3], upload: Some(upload) }),
            table: Some(TableTrial { bytes: 1_000_000, ..trial(&[]) }),
            ..Trials::default()
        };
        // A megabyte of rows in a second.
        let found = finding("net.bandwidth", &at(1.25e6));
        assert_eq!(found.title, "the network takes 1.2 MB a second");
        assert_eq!(
            found.evidence[1],
            "sending them alone takes 80 % of the time in which the table takes them"
        );
        assert_eq!(measured("net.bandwidth", &at(2e6)), Verdict::Fine);
        assert_eq!(measured("net.bandwidth", &with_table(&[])), Verdict::DoesNotApply);
    }

    #[test]
    fn a_disk_is_slow_from_a_millisecond_on_and_too_fast_below_twenty_microseconds() {
        let at = |flush: f64| Trials {
            commit: Some(CommitTrial {
                off: vec![1e-4; 3],
                local: vec![1e-4 + flush; 3],
                standby: Vec::new(),
            }),
            ..Trials::default()
        };
        let found = finding("commit.flush", &at(4e-3));
        assert_eq!(found.title, "a commit waits 4.0 ms for the disk");
        assert_eq!(found.evidence[1], "at most 250 commits a second and connection");
        assert_eq!(found.remedies[1].label, Durability::LosesLastCommits);
        assert_eq!(measured("commit.flush", &at(0.9e-3)), Verdict::Fine);
        assert_eq!(finding("commit.flush-too-fast", &at(12e-6)).title, "a commit waits 12 µs for the disk");
        assert_eq!(measured("commit.flush-too-fast", &at(30e-6)), Verdict::Fine);
        assert_eq!(measured("commit.flush", &Trials::default()), Verdict::DoesNotApply);
    }
}
