//! What programs that write do, while somebody watches the statements that they send.

mod batch;
mod commits;
mod rows;
#[cfg(test)]
mod testing;
mod trips;

use std::collections::BTreeMap;

use howdah::facts::{
    ConflictAction, Fact, ProgramFacts, SentFacts, StatementFacts, StatementKind, Unseen, WatchFacts,
};

use crate::case::Case;
use crate::figures::{count, time};
use crate::finding::{Basis, Finding, Severity};
use crate::rule::Rule;
use crate::sql;
use crate::verdict::Verdict;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "app.commit-per-row",
        title: "rows are committed one by one (with programs watched only)",
        condition: "watched: more than 50 INSERTs a second bring fewer than 1.5 rows each, and for 100 of them there are more than 80 \
                    commits, and as many transactions that write; or, where the statements are not seen, more than 50 such commits \
                    and 50 rows a second, and fewer than 1.5 rows a commit",
        why: "each commit waits for the log to reach the disk, unless synchronous_commit is off or its tables are not logged, and for a \
              round trip, for the sake of one row",
        remedy: "100 rows, or 10 ms, a commit, as howdah's Writer does",
        judge: commits::commit_per_row,
    },
    Rule {
        id: "app.one-row-statements",
        title: "statements bring one row each (with programs watched only)",
        condition: "watched: more than 50 INSERTs a second bring fewer than 1.5 rows each, several in a transaction",
        why: "each row costs a round trip, and the start and the end of a statement",
        remedy: "many rows in a statement: COPY, or INSERT from arrays (unnest), also with RETURNING",
        judge: rows::one_row_statements,
    },
    Rule {
        id: "app.unprepared",
        title: "statements are planned each time (with programs watched only)",
        condition: "watched: statements that write come more than 50 times a second and are planned more than 9 times in 10, which \
                    takes more than 5 % of their time (pg_stat_statements.track_planning); or, from PostgreSQL 19 on, fewer than 1 in \
                    10 has a plan that is kept",
        why: "a statement that was prepared is parsed once and soon planned no more",
        remedy: "prepare statements that come again: most drivers do it if told, poolers have to let them",
        judge: trips::unprepared,
    },
    Rule {
        id: "app.chatty-transaction",
        title: "transactions wait for their program (with programs watched only)",
        condition: "watched: sessions that have written something are idle in their transactions for more than 30 % of the time",
        why: "while a transaction stands still its locks are held and nothing is written; each statement costs a round trip",
        remedy: "send several statements at once (a pipeline, or one statement for many rows), and think before BEGIN",
        judge: trips::chatty_transaction,
    },
    Rule {
        id: "app.lookup-before-insert",
        title: "each row is looked up before it is inserted (with programs watched only)",
        condition: "watched: more than 50 INSERTs a second bring fewer than 1.5 rows each, and a SELECT of the same role that returns \
                    at most one row comes as often, within 20 %",
        why: "that is two round trips a row, and two programs that look at once both find nothing",
        remedy: "INSERT … ON CONFLICT, or one query for all rows of a batch",
        judge: trips::lookup_before_insert,
    },
    Rule {
        id: "app.values-shapes",
        title: "one statement comes in many shapes (with programs watched only)",
        condition: "watched: more than 20 statements differ only in how many rows their VALUES have",
        why: "each shape is parsed and planned anew, and pushes others out of what drivers and pg_stat_statements keep",
        remedy: "one text for any number of rows: INSERT … SELECT from arrays (unnest), or COPY",
        judge: rows::values_shapes,
    },
    Rule {
        id: "app.upsert-rewrites",
        title: "upserts write rows and their index entries anew (with programs watched only)",
        condition: "watched: INSERT … ON CONFLICT DO UPDATE came, 100 rows a second of its table were updated, and for fewer than half of \
                    them no index was touched (HOT)",
        why: "a row that is equal is rewritten all the same, and one that does not fit on its page has all its index entries made \
              again",
        remedy: "update only what differs, leave room on the pages, no indexes on columns that change",
        judge: rows::upsert_rewrites,
    },
    Rule {
        id: "app.batch-size",
        title: "how many rows a batch should have (with programs watched and measurements only)",
        condition: "measured: statements of 1, 10, 100 and 1,000 rows, by INSERT with literals, prepared INSERT, INSERT from arrays and \
                    COPY, over one connection and over four, with a commit for each. Their times are a + b × rows: from that, and no \
                    further than 25 % off, follow the sizes at which 50 % and 90 % of the most rows a second are reached. It costs time \
                    if the statements that were watched reach less than 50 %",
        why: "a statement and its commit take time however few rows they bring; beyond some size more rows only wait longer",
        remedy: "batches of the size at which 90 % is reached, or the Writer's latency_target, which finds it",
        judge: batch::batch_size,
    },
    Rule {
        id: "app.connections",
        title: "connections come and go, or are too many (with programs watched only)",
        condition: "watched: more than 5 sessions a second begin; or, with measurements, more than 1.3 times as many sessions write at \
                    once as connections are faster than one",
        why: "a new session costs a process and many round trips; beyond some number sessions only wait for each other",
        remedy: "a pool that keeps its connections, of the size that pays",
        judge: trips::connections,
    },
];

/// Fewer statements a second cost little.
const OFTEN: f64 = 50.0;
/// A statement that brings fewer rows brings one.
const ONE: f64 = 1.5;

/// What was seen of programs, if anybody watched them.
fn programs<'c>(case: &Case<'c>) -> Result<(&'c WatchFacts, &'c ProgramFacts), Verdict> {
    let watched = case.facts.watched.as_ref().ok_or(Verdict::DoesNotApply)?;
    Ok((watched, watched.programs.as_ref().ok_or(Verdict::DoesNotApply)?))
}

/// The statements that they sent.
fn sent<'c>(case: &Case<'c>) -> Result<(&'c ProgramFacts, &'c SentFacts), Verdict> {
    let (_, programs) = programs(case)?;
    match &programs.statements {
        Fact::Seen(sent) => Ok((programs, sent)),
        Fact::Hidden(why) => {
            let shown_by = shown_by(case, programs, *why);
            Err(Verdict::NotSeen(case.gap("what statements programs send", *why, shown_by)))
        }
    }
}

/// What shows the statements.
fn shown_by(case: &Case<'_>, programs: &ProgramFacts, why: Unseen) -> String {
    const CREATE: &str = "CREATE EXTENSION pg_stat_statements;";
    let schema = programs.schema.as_deref().map(sql::name);
    match (why, schema) {
        (Unseen::NotLoaded, None) => {
            format!("pg_stat_statements in shared_preload_libraries, with a restart, and then {CREATE}")
        }
        (Unseen::NotLoaded, Some(_)) => {
            "pg_stat_statements in shared_preload_libraries, with a restart,".to_owned()
        }
        (Unseen::NoRight, Some(schema)) => format!("GRANT USAGE ON SCHEMA {schema} TO {};", case.role()),
        _ => CREATE.to_owned(),
    }
}

/// What follows where nothing was found: fine, or who knows.
fn nothing(case: &Case<'_>, sent: &SentFacts) -> Verdict {
    if sent.hidden > 0.0 {
        let gap = case.gap("what statements other roles send", Unseen::NoRight, case.monitor());
        return Verdict::NotSeen(gap);
    }
    Verdict::Fine
}

/// Statements that are shown.
const SHOWN: usize = 3;

/// Adds the most frequent statements.
fn with_texts(finding: Finding, statements: &[&StatementFacts]) -> Finding {
    statements.iter().take(SHOWN).fold(finding, |finding, statement| {
        let ran = time(statement.ran_ms / statement.calls.max(1.0) / 1000.0);
        finding.seen(format!("{} times, {ran} each: {}", count(statement.calls), shown(statement)))
    })
}

/// So many a second.
fn each(programs: &ProgramFacts, n: f64) -> f64 {
    n / programs.seconds.max(0.001)
}

/// Rows that one call brings.
fn rows_each(statement: &StatementFacts) -> f64 {
    statement.rows / statement.calls.max(1.0)
}

/// It brings rows to a table.
fn brings_rows(statement: &StatementFacts) -> bool {
    matches!(statement.said.kind, StatementKind::Insert | StatementKind::Copy)
}

/// Statements that bring a row each, in whatever shapes they come.
fn of_one_row(sent: &SentFacts) -> Vec<&StatementFacts> {
    let bringing: Vec<&StatementFacts> = sent.statements.iter().filter(|it| brings_rows(it)).collect();
    let mut alike: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for statement in &bringing {
        let (calls, rows) = alike.entry(shape(&shown(statement))).or_default();
        (*calls, *rows) = (*calls + statement.calls, *rows + statement.rows);
    }
    let is_of_one = |statement: &&StatementFacts| {
        alike.get(&shape(&shown(statement))).is_some_and(|(calls, rows)| rows / calls.max(1.0) < ONE)
    };
    bringing.into_iter().filter(is_of_one).collect()
}

/// A text without the numbers of its parameters and without the mark of more rows: a statement is the same however many rows its
/// VALUES have.
fn shape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_parameter = false;
    for c in text.chars() {
        is_parameter = c == '$' || (is_parameter && c.is_ascii_digit());
        if !is_parameter || c == '$' {
            out.push(c);
        }
    }
    out.replace(", …", "")
}

fn calls(statements: &[&StatementFacts]) -> f64 {
    statements.iter().map(|statement| statement.calls).sum()
}

/// The table that a statement names.
fn table(statement: &StatementFacts) -> String {
    match &statement.said.schema {
        Some(schema) => sql::qualified(schema, &statement.said.table),
        None => sql::name(&statement.said.table),
    }
}

/// A statement as a report shows it.
fn shown(statement: &StatementFacts) -> String {
    let said = &statement.said;
    said.text.clone().unwrap_or_else(|| {
        let verb = match said.kind {
            StatementKind::Insert => "INSERT INTO",
            StatementKind::Update => "UPDATE",
            StatementKind::Delete => "DELETE FROM",
            StatementKind::Merge => "MERGE INTO",
            StatementKind::Copy => "COPY",
            StatementKind::Select => "SELECT … FROM",
        };
        format!("{verb} {} …", table(statement))
    })
}

fn updates(statement: &StatementFacts) -> bool {
    matches!(statement.said.on_conflict, ConflictAction::DoUpdate | ConflictAction::DoUpdateWhere)
}

fn costs(title: impl Into<String>) -> Finding {
    Finding::new(Severity::Costs, Basis::Counted, title)
}
