//! How many rows a commit brings.

use super::{OFTEN, ONE, brings_rows, calls, costs, each, nothing, of_one_row, programs, sent, with_texts};
use crate::case::Case;
use crate::figures::rate;
use crate::finding::Remedy;
use crate::remedies::in_program;
use crate::verdict::{Judged, Verdict};
use crate::watched;

/// A commit for nearly each row.
pub(super) const COMMITS: f64 = 0.8;
/// Seconds until a session that is at work has its commits counted; numbers of transactions are given at once.
const LATE: f64 = 1.0;

pub(super) fn commit_per_row(case: &Case<'_>) -> Judged {
    let (programs, sent) = match sent(case) {
        Err(not_seen) => return by_counters(case, not_seen),
        Ok(sent) => sent,
    };
    let statements = of_one_row(sent);
    let came = each(programs, calls(&statements));
    if came <= OFTEN {
        return match nothing(case, sent) {
            not_seen @ Verdict::NotSeen(_) => by_counters(case, not_seen),
            verdict => Ok(verdict),
        };
    }
    let commits = commits(case)?;
    if commits <= COMMITS * came {
        return Ok(Verdict::Fine);
    }
    let rows: f64 = sent.statements.iter().filter(|it| brings_rows(it)).map(|it| it.rows).sum();
    let finding = costs("rows are committed one by one").seen(format!(
        "{} commits a second, and {} rows a second in {} statements of one row and whatever else brings rows",
        rate(commits),
        rate(each(programs, rows)),
        rate(came)
    ));
    Ok(Verdict::of(vec![with_texts(finding, &statements).remedy(more_rows_a_commit())]))
}

/// Where the statements are not seen, or not those of others, counters tell commits and rows all the same, if not that the rows were inserted.
fn by_counters(case: &Case<'_>, not_seen: Verdict) -> Judged {
    let (watched, programs) = programs(case)?;
    let (Some(work), Ok(database)) = (watched.work.seen(), case.see(&programs.database, "transactions"))
    else {
        return Err(not_seen);
    };
    // Both are of the same readings.
    let a_second = |n: f64| n / watched::counted(watched, work);
    let (commits, rows) = (a_second(work.commits).min(each(programs, database.writing)), a_second(work.rows));
    if commits <= OFTEN || rows <= OFTEN || rows >= ONE * commits {
        return Err(not_seen);
    }
    let finding = costs("rows are committed one by one")
        .seen(format!(
            "{} commits a second of transactions that write, and {} rows a second inserted, updated or deleted",
            rate(commits),
            rate(rows)
        ))
        .seen("by which statements was not seen");
    Ok(Verdict::of(vec![finding.remedy(more_rows_a_commit())]))
}

fn more_rows_a_commit() -> Remedy {
    in_program(
        "howdah's Writer takes single rows and commits many at once, without giving up that a row which was confirmed is \
         safe; or 100 rows, or 10 ms, a commit",
        "a row waits for the others of its batch, some milliseconds",
    )
}

/// Transactions a second that wrote and were committed, at most: each is a commit of the database, and has a number of the
/// server's.
pub(super) fn commits(case: &Case<'_>) -> Result<f64, Verdict> {
    let (_, programs) = programs(case)?;
    let database = case.see(&programs.database, "how many transactions a database commits")?;
    let counted = (programs.seconds - LATE).max(LATE);
    Ok((database.commits / counted).min(each(programs, database.writing)))
}

#[cfg(test)]
mod tests {
    use howdah::facts::{DatabaseFacts, Fact, WorkFacts};

    use super::super::testing::{insert, programs, sends};
    use crate::testing::{fine, found, hidden, unseen};

    fn database(commits: f64, writing: f64) -> DatabaseFacts {
        DatabaseFacts { commits, writing, ..DatabaseFacts::default() }
    }

    #[test]
    fn a_commit_for_each_row_is_told_from_many_rows_a_commit() {
        let with = |calls: f64, rows: f64, commits: f64, writing: f64| {
            sends(vec![insert(calls, rows)], database(commits, writing))
        };
        let finding = found("app.commit-per-row", with(5000.0, 5000.0, 4900.0, 5000.0));
        assert_eq!(
            finding.evidence,
            [
                "500 commits a second, and 500 rows a second in 500 statements of one row and whatever else brings rows",
                "5,000 times, 100 µs each: INSERT INTO t VALUES ($1)"
            ]
        );
        fine("app.commit-per-row", with(500.0, 500.0, 500.0, 500.0));
        fine("app.commit-per-row", with(5000.0, 7500.0, 5000.0, 5000.0));
        // Those are of readers: few transactions write. Or they are of another database.
        fine("app.commit-per-row", with(5000.0, 5000.0, 50_000.0, 4000.0));
        fine("app.commit-per-row", with(5000.0, 5000.0, 3500.0, 50_000.0));
        for id in ["app.commit-per-row", "app.one-row-statements"] {
            unseen(id, |facts| {
                with(5000.0, 5000.0, 0.0, 0.0)(facts);
                programs(facts).database = hidden();
            });
        }
    }

    #[test]
    fn counters_tell_it_where_nobody_sees_the_statements() {
        let with = |rows: f64, commits: f64, writing: f64| {
            move |facts: &mut howdah::facts::Facts| {
                sends(Vec::new(), database(commits, writing))(facts);
                programs(facts).statements = hidden();
                let watched = facts.watched.as_mut().unwrap();
                watched.work = Fact::Seen(WorkFacts { commits, rows, ..WorkFacts::default() });
            }
        };
        let finding = found("app.commit-per-row", with(5000.0, 4900.0, 5000.0));
        assert_eq!(
            finding.evidence,
            [
                "490 commits a second of transactions that write, and 500 rows a second inserted, updated or deleted",
                "by which statements was not seen"
            ]
        );
        // Many rows a commit, commits of readers, and few of either: who knows.
        for (rows, commits, writing) in
            [(8000.0, 4900.0, 5000.0), (5000.0, 50_000.0, 400.0), (400.0, 400.0, 400.0)]
        {
            unseen("app.commit-per-row", with(rows, commits, writing));
        }
    }
}
