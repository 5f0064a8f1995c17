//! What programs and server say to each other beside rows: plans, waits within transactions, lookups, connections.

use howdah::facts::{StatementFacts, StatementKind, Unseen};

use super::{OFTEN, ONE, costs, each, nothing, of_one_row, programs, rows_each, sent, shown};
use crate::case::Case;
use crate::figures::{count, rate, time};
use crate::finding::{Basis, Finding};
use crate::remedies::in_program;
use crate::verdict::{Judged, Verdict};
use crate::watched;

/// Of so many calls one is planned at least, where none is prepared ...
const PLANNED: f64 = 0.9;
/// ... and that is worth a word if it takes more of the time.
const PLANNING: f64 = 0.05;
/// The share of calls with a plan that is kept, where none is prepared.
const KEPT: f64 = 0.1;
/// The share of their time that transactions may stand still.
const IDLE: f64 = 0.3;
/// Two statements that belong together come as often, to this.
const APART: f64 = 0.2;
/// More sessions a second are opened for a statement or two each.
const SESSIONS: f64 = 5.0;
/// So many times as many connections as pay are too many.
const BEYOND: f64 = 1.3;

pub(super) fn unprepared(case: &Case<'_>) -> Judged {
    let (programs, sent) = sent(case)?;
    let frequent: Vec<&StatementFacts> = sent
        .statements
        .iter()
        .filter(|it| it.said.kind != StatementKind::Copy && it.said.kind != StatementKind::Select)
        .filter(|it| each(programs, it.calls) > OFTEN)
        .collect();
    if frequent.is_empty() {
        return Ok(nothing(case, sent));
    }
    let counts_kept = frequent.iter().all(|it| it.kept_plans.is_some());
    let mut found = Vec::new();
    for statement in frequent {
        let planning =
            statement.planned_ms / (statement.planned_ms + statement.ran_ms).max(f64::MIN_POSITIVE);
        let each_ms = time(statement.planned_ms / statement.plans.max(1.0) / 1000.0);
        if sent.counts_plans && statement.plans > PLANNED * statement.calls && planning > PLANNING {
            found.push(costs("a statement is planned each time that it comes").seen(format!(
                "planned {} times in {}, {each_ms} each, {:.0} % of its time: {}",
                count(statement.plans),
                count(statement.calls),
                planning * 100.0,
                shown(statement)
            )));
        } else if statement.kept_plans.is_some_and(|kept| kept < KEPT * statement.calls) {
            found.push(costs("a statement comes as text each time").seen(format!(
                "{} of {} calls had a plan that is kept: {}",
                count(statement.kept_plans.unwrap_or_default()),
                count(statement.calls),
                shown(statement)
            )));
        }
    }
    if found.is_empty() && !sent.counts_plans && !counts_kept {
        let count = "ALTER SYSTEM SET pg_stat_statements.track_planning = on; SELECT pg_reload_conf();";
        return Ok(Verdict::NotSeen(case.gap(
            "whether statements are prepared",
            Unseen::NotCounted,
            count.to_owned(),
        )));
    }
    if found.is_empty() {
        return Ok(nothing(case, sent));
    }
    let remedy = |finding: Finding| {
        finding.remedy(in_program(
            "prepare it: psycopg does from the fifth time on, JDBC with prepareThreshold, asyncpg and most others at once; \
             PgBouncer lets them from 1.21 on with max_prepared_statements",
            "the session keeps the statement in its memory",
        ))
    };
    Ok(Verdict::of(found.into_iter().map(remedy).collect()))
}

pub(super) fn chatty_transaction(case: &Case<'_>) -> Judged {
    let (watched, programs) = programs(case)?;
    let writers = case.see(&watched.writers, "what sessions wait for")?;
    let Some(share) = watched::share(watched, |writer| !writer.is_active) else {
        let of_others = "what sessions of other roles wait for";
        return Err(match case.facts.session.reads_activity {
            true => Verdict::DoesNotApply,
            false => Verdict::NotSeen(case.gap(of_others, Unseen::NoRight, case.monitor())),
        });
    };
    if share.low <= IDLE {
        return Ok(Verdict::Fine);
    }
    let all: u64 = writers.iter().map(|writer| writer.seen).sum();
    let mut finding = costs("transactions stand still and wait for their program").seen(format!(
        "{} of the time of transactions that write, in {} looks at {all} sessions",
        share.percent(),
        watched.looks
    ));
    if let Some(database) = programs.database.seen() {
        finding = finding.seen(format!(
            "of the database's sessions, all together: {} at work, {} idle in a transaction",
            time(database.active_s),
            time(database.idle_s)
        ));
    }
    let finding = finding.remedy(in_program(
        "send many rows in a statement or a pipeline, as howdah's Writer and bulk writer do; begin the transaction when all is \
         there, and ask nobody else within it",
        "the program is changed",
    ));
    Ok(Verdict::of(vec![finding]))
}

pub(super) fn lookup_before_insert(case: &Case<'_>) -> Judged {
    let (programs, sent) = sent(case)?;
    let inserts = of_one_row(sent).into_iter().filter(|it| it.said.kind == StatementKind::Insert);
    let found = inserts.filter(|insert| each(programs, insert.calls) > OFTEN).filter_map(|insert| {
        let lookup = sent.statements.iter().find(|it| looks_up_for(it, insert))?;
        let (asked, said) = (&lookup.said, &insert.said);
        let is_one_schema = asked.schema.is_none() || said.schema.is_none() || asked.schema == said.schema;
        let finding = if asked.table == said.table && is_one_schema {
            costs("each row is looked up before it is inserted").remedy(in_program(
                "INSERT … ON CONFLICT DO NOTHING, or DO UPDATE, looks by itself",
                "the program is changed; ON CONFLICT needs a unique index",
            ))
        } else {
            costs("a query of another table comes with each row that is inserted").remedy(in_program(
                "if it is what the row refers to: that is found for all rows of a batch by one query: … JOIN unnest($1::…[]) …",
                "the program is changed",
            ))
        };
        let came = |it: &StatementFacts| format!("{} times: {}", count(it.calls), shown(it));
        Some(finding.seen(came(lookup)).seen(came(insert)))
    });
    let found: Vec<Finding> = found.collect();
    if found.is_empty() { Ok(nothing(case, sent)) } else { Ok(Verdict::of(found)) }
}

/// A query of the same role that comes as often as the INSERT and returns a row at most.
fn looks_up_for(query: &StatementFacts, insert: &StatementFacts) -> bool {
    let most = query.calls.max(insert.calls);
    query.said.kind == StatementKind::Select
        && query.role == insert.role
        && rows_each(query) < ONE
        && (query.calls - insert.calls).abs() <= APART * most
}

pub(super) fn connections(case: &Case<'_>) -> Judged {
    let (watched, programs) = programs(case)?;
    let database = case.see(&programs.database, "how many sessions begin")?;
    let mut found = Vec::new();
    let sessions = each(programs, database.sessions);
    if sessions > SESSIONS {
        let commits = database.commits / database.sessions.max(1.0);
        found.push(
            costs("connections are opened again and again")
                .seen(format!("{} sessions a second begin, {commits:.1} commits in each", rate(sessions)))
                .remedy(in_program(
                    "keep connections: a pool in the program, or PgBouncer between",
                    "connections that are idle take memory of the server",
                )),
        );
    }
    let knee = case.trials.and_then(|trials| trials.connections.as_ref()?.knee());
    let active = watched.writers.seen().map(|writers| {
        let seen: u64 = writers.iter().filter(|writer| writer.is_active).map(|writer| writer.seen).sum();
        seen as f64 / f64::from(watched.looks.max(1))
    });
    if let Some((knee, active)) =
        knee.zip(active).filter(|(knee, active)| *active > BEYOND * f64::from(*knee))
    {
        let mut finding = costs("more sessions write at once than pay")
            .seen(format!(
                "{active:.1} write at a time, and {knee} connections take in as many rows as more do"
            ))
            .remedy(in_program(
                &format!("a pool of {knee} connections for what writes"),
                "rows wait in the program instead of in the server",
            ));
        finding.basis = Basis::Measured;
        found.push(finding);
    }
    Ok(Verdict::of(found))
}

#[cfg(test)]
mod tests {
    use howdah::facts::{DatabaseFacts, Fact, Facts, SentFacts, WriterFacts};

    use super::super::testing::{insert, programs, sends, statement};
    use super::*;
    use crate::case::Ask;
    use crate::rules;
    use crate::testing::{connections as measured, fine, found, healthy, hidden, unseen};
    use crate::trials::Trials;

    fn of(statements: Vec<StatementFacts>) -> impl FnOnce(&mut Facts) {
        sends(statements, DatabaseFacts::default())
    }

    #[test]
    fn what_is_planned_each_time_is_found_where_that_is_counted() {
        let planned = |plans: f64, planned_ms: f64, counts_plans: bool| {
            move |facts: &mut Facts| {
                of(vec![StatementFacts { plans, planned_ms, ..insert(1000.0, 1000.0) }])(facts);
                let Fact::Seen(sent) = &mut programs(facts).statements else { panic!() };
                sent.counts_plans = counts_plans;
            }
        };
        let finding = found("app.unprepared", planned(950.0, 50.0, true));
        assert_eq!(
            finding.evidence,
            ["planned 950 times in 1,000, 53 µs each, 33 % of its time: INSERT INTO t VALUES ($1)"]
        );
        fine("app.unprepared", planned(900.0, 50.0, true));
        fine("app.unprepared", planned(950.0, 4.0, true));
        let gap = unseen("app.unprepared", planned(0.0, 0.0, false));
        assert!(gap.shown_by.unwrap().contains("track_planning"), "{}", gap.what);
        // PostgreSQL 19 counts plans that are kept.
        let kept = |kept| of(vec![StatementFacts { kept_plans: Some(kept), ..insert(1000.0, 1000.0) }]);
        found("app.unprepared", kept(99.0));
        fine("app.unprepared", kept(100.0));
        fine("app.unprepared", of(vec![insert(500.0, 500.0)]));
        fine("app.unprepared", of(vec![statement("SELECT a FROM t", 1e4, 1e4)]));
    }

    #[test]
    fn transactions_that_stand_still_are_found() {
        let idle = |idle: u64, active: u64| {
            move |facts: &mut Facts| {
                sends(Vec::new(), DatabaseFacts { active_s: 1.5, idle_s: 4.0, ..DatabaseFacts::default() })(
                    facts,
                );
                let writer = |is_active, seen| WriterFacts { is_active, seen, ..WriterFacts::default() };
                let writers = vec![writer(false, idle), writer(true, active)];
                facts.watched.as_mut().unwrap().writers = Fact::Seen(writers);
            }
        };
        let finding = found("app.chatty-transaction", idle(45, 55));
        assert_eq!(
            finding.evidence[1],
            "of the database's sessions, all together: 1.5 s at work, 4.0 s idle in a transaction"
        );
        fine("app.chatty-transaction", idle(35, 65));
        fine("app.chatty-transaction", idle(10, 5));
        fine("watch.program", idle(45, 55));
        unseen("app.chatty-transaction", |facts| {
            idle(1, 1)(facts);
            facts.session.reads_activity = false;
        });
        unseen("app.chatty-transaction", |facts| {
            idle(45, 55)(facts);
            facts.watched.as_mut().unwrap().writers = hidden();
        });
    }

    #[test]
    fn a_lookup_that_comes_with_each_row_is_found() {
        let with = |lookups: f64, returned: f64, role: &str| {
            let lookup = statement("SELECT id FROM customers WHERE name = $1", lookups, returned);
            of(vec![StatementFacts { role: role.into(), ..lookup }, insert(1000.0, 1000.0)])
        };
        let finding = found("app.lookup-before-insert", with(1200.0, 900.0, "shop"));
        assert_eq!(finding.evidence[0], "1,200 times: SELECT id FROM customers WHERE name = $1");
        assert_eq!(finding.title, "a query of another table comes with each row that is inserted");
        let own = statement("SELECT id FROM public.t WHERE name = $1", 1000.0, 0.0);
        let finding = found("app.lookup-before-insert", of(vec![own, insert(1000.0, 1000.0)]));
        assert_eq!(finding.title, "each row is looked up before it is inserted");
        found("app.lookup-before-insert", with(810.0, 0.0, "shop"));
        fine("app.lookup-before-insert", with(1300.0, 900.0, "shop"));
        fine("app.lookup-before-insert", with(700.0, 700.0, "shop"));
        fine("app.lookup-before-insert", with(1000.0, 2000.0, "shop"));
        fine("app.lookup-before-insert", with(1000.0, 1000.0, "other"));
        unseen("app.lookup-before-insert", |facts| {
            of(Vec::new())(facts);
            programs(facts).statements = Fact::Seen(SentFacts { hidden: 1.0, ..SentFacts::default() });
        });
    }

    #[test]
    fn sessions_that_come_and_go_are_found_and_those_beyond_what_pays() {
        let with = |sessions| {
            sends(Vec::new(), DatabaseFacts { sessions, commits: 120.0, ..DatabaseFacts::default() })
        };
        let finding = found("app.connections", with(60.0));
        assert_eq!(finding.evidence, ["6 sessions a second begin, 2.0 commits in each"]);
        fine("app.connections", with(50.0));
        unseen("app.connections", |facts| {
            with(60.0)(facts);
            programs(facts).database = hidden();
        });
        let judged = |active: u64| {
            let mut facts = healthy();
            with(0.0)(&mut facts);
            let writers = vec![WriterFacts { is_active: true, seen: active, ..WriterFacts::default() }];
            facts.watched.as_mut().unwrap().writers = Fact::Seen(writers);
            let trials = Trials { connections: Some(measured(&[(2, 0.6), (4, 0.59)])), ..Trials::default() };
            let ask = Ask::default();
            let case = Case { facts: &facts, ask: &ask, trials: Some(&trials) };
            rules::find("app.connections").unwrap().verdict(&case)
        };
        let Verdict::Found(found) = judged(270) else { panic!("nothing is found") };
        assert_eq!(
            found[0].evidence,
            ["2.7 write at a time, and 2 connections take in as many rows as more do"]
        );
        assert_eq!(judged(250), Verdict::Fine);
    }
}
