//! What sessions that write wait for, while somebody watches.

use howdah::facts::{Unseen, WatchFacts, WriterFacts};

use super::wal::rarer_checkpoints;
use crate::case::Case;
use crate::figures::bytes;
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::in_program;
use crate::rule::Rule;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};
use crate::watched;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "watch.program",
        title: "transactions wait for the program (with watching only)",
        condition: "watched: sessions that have written something are idle in their transactions for more than 30 % of the time",
        why: "while a transaction stands still its locks are held and nothing is written; each statement costs a round trip",
        remedy: "send several statements at once (a pipeline, or one statement for many rows), and think before BEGIN",
        judge: program,
    },
    Rule {
        id: "watch.rows",
        title: "the server waits for rows (with watching only)",
        condition: "watched: running statements that write wait for the client for more than 25 % of the time, as COPY does",
        why: "the server is idle meanwhile: nothing that is done to it makes these loads faster",
        remedy: "read and send faster: several connections, another machine for the client, a shorter way to the server",
        judge: rows,
    },
    Rule {
        id: "watch.commits",
        title: "writers wait for commits (with watching only)",
        condition: "watched: sessions that write wait for the log to reach the disk, or a standby, for more than 25 % of the time",
        why: "each commit waits for that, however few rows are in it",
        remedy: "more rows in a transaction; more connections share a flush",
        judge: commits,
    },
    Rule {
        id: "wal.full-pages",
        title: "much of the log is whole pages (with watching only)",
        condition: "watched: more than 16 MB were logged, and more than 40 % of that were pages logged whole, before compression",
        why: "after a checkpoint the first change of each page logs all of it",
        remedy: "fewer checkpoints: more log between them, keys in order",
        judge: full_pages,
    },
    Rule {
        id: "watch.locks",
        title: "writers wait for each other (with watching only)",
        condition: "watched: sessions that write wait for locks of others for more than 10 % of the time",
        why: "they change the same rows, keys or tables, and do so one after the other",
        remedy: "end transactions sooner, change rows in one order, fewer connections for the same keys",
        judge: locks,
    },
    Rule {
        id: "watch.reads",
        title: "writers wait for pages to be read (with watching only)",
        condition: "watched: sessions that write wait for reads of tables and indexes for more than 10 % of the time",
        why: "the indexes that rows go into are larger than what the server keeps in memory",
        remedy: "load in the order of the largest index, drop indexes that nobody needs, partition by time, more shared_buffers",
        judge: reads,
    },
];

/// The share that has to be exceeded for sure.
const OTHERS: f64 = 0.1;
const WAITS: f64 = 0.25;
const IDLE: f64 = 0.3;

/// Less log says nothing of pages.
const LEAST_LOG: f64 = 16e6;
const FULL_PAGES: f64 = 0.4;
const PAGE: f64 = 8192.0;
/// Bytes of the log after which a checkpoint comes, where nobody knows how many are to come.
const MUCH: f64 = 16.0 * 1024.0 * 1024.0 * 1024.0;

/// What was seen, if anybody watched.
fn watched<'c>(case: &Case<'c>) -> Result<&'c WatchFacts, Verdict> {
    case.facts.watched.as_ref().ok_or(Verdict::DoesNotApply)
}

/// The `finding`, with its share, where sessions spend more than `most` of their time as `is` says.
pub(super) fn waiting(
    case: &Case<'_>,
    most: f64,
    is: impl Fn(&WriterFacts) -> bool,
    finding: Finding,
) -> Judged {
    let seen = watched(case)?;
    let writers = case.see(&seen.writers, "what sessions wait for")?;
    let Some(share) = watched::share(seen, is) else {
        return Err(match case.facts.session.reads_activity {
            true => Verdict::DoesNotApply,
            false => Verdict::NotSeen(case.gap(
                "what sessions of other roles wait for",
                Unseen::NoRight,
                case.monitor(),
            )),
        });
    };
    if share.low <= most {
        return Ok(Verdict::Fine);
    }
    let all: u64 = writers.iter().map(|writer| writer.seen).sum();
    let evidence = format!("{} of the time, in {} looks at {all} sessions", share.percent(), seen.looks);
    Ok(Verdict::of(vec![finding.seen(evidence)]))
}

pub(super) fn costs(title: &str) -> Finding {
    Finding::new(Severity::Costs, Basis::Counted, title)
}

/// Something that is done to the program that writes.
fn in_the_program(finding: Finding, what: &str, price: &str) -> Finding {
    finding.remedy(in_program(what, price))
}

pub(super) fn is(writer: &WriterFacts, events: &[&str]) -> bool {
    // PostgreSQL 15 to 19 write them with other capitals.
    writer.is_active && events.iter().any(|event| writer.event.eq_ignore_ascii_case(event))
}

fn program(case: &Case<'_>) -> Judged {
    // Another rule says it with what came meanwhile.
    if watched(case)?.programs.is_some() {
        return Err(Verdict::DoesNotApply);
    }
    let finding = in_the_program(
        costs("transactions stand still and wait for the program"),
        "send many rows in a statement or a pipeline, as howdah's Writer and bulk writer do; begin the transaction when all is \
         there",
        "the program is changed",
    );
    waiting(case, IDLE, |writer| !writer.is_active, finding)
}

fn rows(case: &Case<'_>) -> Judged {
    let finding = in_the_program(
        costs("the server waits for rows to come"),
        "read the input faster, or over more connections; a client on another machine, or nearer to the server",
        "more of the client's processors, or another machine",
    );
    waiting(case, WAITS, |writer| is(writer, &["ClientRead"]), finding)
}

fn commits(case: &Case<'_>) -> Judged {
    let finding = in_the_program(
        costs("writers wait for their commits"),
        "100 to 1,000 rows, or 10 ms, a commit, as howdah's Writer does; several connections share a flush",
        "a row waits for the others of its batch",
    );
    waiting(case, WAITS, |writer| is(writer, &["WALSync", "WALWrite", "SyncRep"]), finding)
}

fn locks(case: &Case<'_>) -> Judged {
    let finding = in_the_program(
        costs("writers wait for each other's locks"),
        "end transactions sooner; change rows in the order of their keys; one connection for rows of one key",
        "the program is changed",
    );
    let waits = |writer: &WriterFacts| writer.is_active && writer.kind == "Lock" && writer.event != "extend";
    waiting(case, OTHERS, waits, finding)
}

fn reads(case: &Case<'_>) -> Judged {
    let action = Action::Elsewhere(
        "look at the table's indexes (name it), at their sizes beside shared_buffers; rows in the order of the largest one read \
         each of its pages once"
            .to_owned(),
    );
    let finding =
        costs("writers wait for pages to be read").remedy(Remedy::new(action, Undo::NotNeeded, "none"));
    waiting(case, OTHERS, |writer| is(writer, &["DataFileRead"]), finding)
}

fn full_pages(case: &Case<'_>) -> Judged {
    let seen = watched(case)?;
    let work = case.see(&seen.work, "what was logged")?;
    let share = work.full_pages * PAGE / work.log.max(1.0);
    if work.log < LEAST_LOG || share <= FULL_PAGES {
        return Ok(Verdict::Fine);
    }
    Ok(Verdict::of(vec![
        costs("pages are logged whole again and again")
            .seen(format!(
                "{:.0} whole pages in {} of the log: at most {:.0} %",
                work.full_pages,
                bytes(work.log),
                share.min(1.0) * 100.0
            ))
            .remedy(rarer_checkpoints(case, MUCH)),
    ]))
}

#[cfg(test)]
mod tests {
    use howdah::facts::{Fact, Facts, WorkFacts};

    use super::*;
    use crate::testing::{fine, found, unseen};

    fn writers(facts: &mut Facts, seen: &[(bool, &str, &str, u64)]) {
        let writer = |(is_active, kind, event, seen): &(bool, &str, &str, u64)| WriterFacts {
            is_active: *is_active,
            kind: (*kind).to_owned(),
            event: (*event).to_owned(),
            seen: *seen,
        };
        facts.watched = Some(WatchFacts {
            seconds: 10.0,
            looks: 100,
            writers: Fact::Seen(seen.iter().map(writer).collect()),
            work: Fact::Seen(WorkFacts::default()),
            programs: None,
        });
    }

    #[test]
    fn each_wait_has_its_finding_and_fires_only_for_sure() {
        for (id, is_active, kind, event, fires, just_not) in [
            ("watch.program", false, "Client", "ClientRead", 45, 35),
            ("watch.rows", true, "Client", "ClientRead", 40, 30),
            ("watch.commits", true, "IO", "WalSync", 40, 30),
            ("watch.commits", true, "IPC", "SyncRep", 40, 30),
            ("watch.locks", true, "Lock", "transactionid", 20, 13),
            ("watch.reads", true, "IO", "DataFileRead", 20, 13),
        ] {
            let finding = found(id, |facts| {
                writers(facts, &[(is_active, kind, event, fires), (true, "", "", 100 - fires)]);
            });
            assert!(finding.evidence[0].contains(" % ("), "{finding:?}");
            fine(id, |facts| {
                writers(facts, &[(is_active, kind, event, just_not), (true, "", "", 100 - just_not)]);
            });
        }
    }

    #[test]
    fn who_sees_nobody_write_knows_nothing_unless_nobody_hides() {
        fine("watch.commits", |facts| writers(facts, &[]));
        let gap = unseen("watch.commits", |facts| {
            facts.session.reads_activity = false;
            writers(facts, &[]);
        });
        assert!(gap.shown_by.unwrap().contains("pg_monitor"));
        unseen("watch.locks", |facts| {
            facts.watched = Some(WatchFacts { looks: 3, ..WatchFacts::default() });
        });
        fine("watch.commits", |facts| facts.watched = None);
    }

    #[test]
    fn whole_pages_are_a_share_of_what_was_logged() {
        let of = |log: f64, full_pages: f64| {
            move |facts: &mut Facts| {
                let work = WorkFacts { log, full_pages, ..WorkFacts::default() };
                facts.watched = Some(WatchFacts { work: Fact::Seen(work), ..WatchFacts::default() });
            }
        };
        let finding = found("wal.full-pages", of(81.92e6, 5000.0));
        assert_eq!(finding.evidence, ["5000 whole pages in 82 MB of the log: at most 50 %"]);
        fine("wal.full-pages", of(81.92e6, 4000.0));
        fine("wal.full-pages", of(8e6, 900.0));
    }
}
