//! Made-up programs for these rules' tests.

use howdah::facts::{
    DatabaseFacts, Fact, Facts, ProgramFacts, SentFacts, StatementFacts, StatementText, WatchFacts, WorkFacts,
};

/// A statement that came so often and brought so many rows, in a tenth of a millisecond each.
pub(super) fn statement(text: &str, calls: f64, rows: f64) -> StatementFacts {
    StatementFacts {
        said: StatementText::read(text).unwrap(),
        role: "shop".into(),
        calls,
        rows,
        ran_ms: calls / 10.0,
        ..StatementFacts::default()
    }
}

/// An INSERT.
pub(super) fn insert(calls: f64, rows: f64) -> StatementFacts {
    statement("INSERT INTO t VALUES ($1)", calls, rows)
}

/// Programs that sent these statements in ten seconds.
pub(super) fn sends(statements: Vec<StatementFacts>, database: DatabaseFacts) -> impl FnOnce(&mut Facts) {
    move |facts| {
        facts.watched = Some(WatchFacts {
            seconds: 10.0,
            looks: 100,
            writers: Fact::Seen(Vec::new()),
            work: Fact::Seen(WorkFacts::default()),
            programs: Some(ProgramFacts {
                seconds: 10.0,
                schema: Some("public".into()),
                statements: Fact::Seen(SentFacts { statements, ..SentFacts::default() }),
                database: Fact::Seen(database),
                updates: Fact::Seen(Vec::new()),
            }),
        });
    }
}

/// What was seen of programs.
pub(super) fn programs(facts: &mut Facts) -> &mut ProgramFacts {
    facts.watched.as_mut().unwrap().programs.as_mut().unwrap()
}
