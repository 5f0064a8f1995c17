//! The statements of a database, as `pg_stat_statements` counts them, in whatever schema it is and of whatever version.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use howdah_connect::tokio_postgres::Client;
use serde::{Deserialize, Serialize};

use super::moved;
use super::text::StatementText;
use crate::catalog::name::quote;
use crate::error::Error;
use crate::facts::fact::{self, Fact, Unseen};

/// The statements that came.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SentFacts {
    /// Those that read or write a table, the most frequent ones first. What functions run themselves is not among them.
    pub statements: Vec<StatementFacts>,
    /// How often statements of other roles came, where the role may not see which.
    pub hidden: f64,
    /// The server counts how often it plans.
    pub counts_plans: bool,
    /// Statements that were forgotten because others came; `None`: unknown.
    pub forgotten: Option<f64>,
}

/// A statement, and how often it came.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatementFacts {
    /// What its text says.
    #[serde(flatten)]
    pub said: StatementText,
    /// The role that sent it.
    pub role: String,
    /// How often it was run.
    pub calls: f64,
    /// Rows that it wrote, or returned.
    pub rows: f64,
    /// Milliseconds in which it ran.
    pub ran_ms: f64,
    /// How often it was planned, where that is counted.
    pub plans: f64,
    /// Milliseconds in which it was planned.
    pub planned_ms: f64,
    /// How often a plan that was kept was used or made; `None`: the server does not count it.
    pub kept_plans: Option<f64>,
}

/// Texts that are asked for. More different ones say no more.
const MOST_TEXTS: usize = 300;

/// Longer texts are cut.
const MOST_CHARACTERS: usize = 20_000;

/// Where is counted, and what.
#[derive(Debug)]
pub(super) struct Counter {
    /// The schema, for SQL.
    schema: String,
    counts_plans: bool,
    /// It tells statements of clients from those of functions.
    has_toplevel: bool,
    /// It counts plans that are kept: from PostgreSQL 19 on.
    has_kept_plans: bool,
    /// It counts what it forgot.
    has_forgotten: bool,
}

/// The schema of the extension, and what it counts.
///
/// # Errors
/// The connection is lost.
pub(super) async fn counter(client: &Client) -> Result<(Option<String>, Fact<Counter>), Error> {
    #[derive(Deserialize)]
    struct Found {
        schema: Option<String>,
        is_loaded: bool,
        counts_plans: bool,
        columns: Vec<String>,
        has_forgotten: bool,
    }
    // Its settings are there where the server has loaded it. Which columns it has is its own version's affair.
    let sql = "select n.nspname as schema,
                      exists(select from pg_settings where name = 'pg_stat_statements.max') as is_loaded,
                      exists(select from pg_settings where name = 'pg_stat_statements.track_planning' and setting = 'on') as counts_plans,
                      array(select a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
                             where c.relname = 'pg_stat_statements' and c.relnamespace = n.oid) as columns,
                      exists(select from pg_class c
                              where c.relname = 'pg_stat_statements_info' and c.relnamespace = n.oid) as has_forgotten
                 from (select) it left join pg_extension e on e.extname = 'pg_stat_statements'
                 left join pg_namespace n on n.oid = e.extnamespace";
    let found: Found = match fact::row(client, sql).await? {
        Fact::Seen(found) => found,
        Fact::Hidden(why) => return Ok((None, Fact::Hidden(why))),
    };
    let has = |column: &str| found.columns.iter().any(|name| name == column);
    let counter = match &found.schema {
        _ if !found.is_loaded => Fact::Hidden(Unseen::NotLoaded),
        None => Fact::Hidden(Unseen::NotInstalled),
        // The extension is older than any server that is looked at.
        Some(_) if !has("total_exec_time") => Fact::Hidden(Unseen::Failed),
        Some(schema) => Fact::Seen(Counter {
            schema: quote(schema),
            counts_plans: found.counts_plans,
            has_toplevel: has("toplevel"),
            has_kept_plans: has("generic_plan_calls") && has("custom_plan_calls"),
            has_forgotten: found.has_forgotten,
        }),
    };
    Ok((found.schema, counter))
}

/// A statement's counters.
#[derive(Debug, Clone, Copy, Deserialize)]
struct StatementCount {
    role: i64,
    /// `None`: the role may not see it.
    id: Option<i64>,
    calls: f64,
    rows: f64,
    ran_ms: f64,
    plans: f64,
    planned_ms: f64,
    kept_plans: Option<f64>,
}

/// All counters at a look.
#[derive(Debug)]
pub(super) struct Counted {
    statements: Vec<StatementCount>,
    forgotten: Option<f64>,
}

/// Looks at the counters, and not at the texts, which can be long.
///
/// # Errors
/// The connection is lost.
pub(super) async fn counted(client: &Client, counter: &Counter) -> Result<Fact<Counted>, Error> {
    #[derive(Deserialize)]
    struct Forgotten {
        forgotten: f64,
    }
    let schema = &counter.schema;
    let kept =
        if counter.has_kept_plans { "(generic_plan_calls + custom_plan_calls)::float8" } else { "null" };
    let sql = format!(
        "select userid::int8 as role, queryid as id, calls::float8 as calls, rows::float8 as rows, total_exec_time as ran_ms,
                plans::float8 as plans, total_plan_time as planned_ms, {kept} as kept_plans
           from {schema}.pg_stat_statements(false) where {}",
        counter.of_clients()
    );
    let statements = fact::rows::<StatementCount>(client, &sql).await?;
    let forgotten = match counter.has_forgotten {
        true => {
            let sql = format!("select dealloc::float8 as forgotten from {schema}.pg_stat_statements_info");
            fact::row::<Forgotten>(client, &sql).await?.seen().map(|found| found.forgotten)
        }
        false => None,
    };
    Ok(statements.map(|statements| Counted { statements, forgotten }))
}

impl Counter {
    /// What clients of the database sent.
    fn of_clients(&self) -> String {
        let toplevel = if self.has_toplevel { "toplevel and " } else { "" };
        format!("{toplevel}dbid = (select oid from pg_database where datname = current_database())")
    }
}

/// What came since `before`, with its texts.
///
/// # Errors
/// The connection is lost.
pub(super) async fn since(
    client: &Client,
    counter: &Counter,
    before: &Counted,
    now: Counted,
) -> Result<Fact<SentFacts>, Error> {
    #[derive(Deserialize)]
    struct Text {
        role: i64,
        id: i64,
        name: String,
        text: Option<String>,
    }
    let forgotten = now.forgotten.zip(before.forgotten).map(|(now, before)| moved(now, before));
    let (counts, hidden) = moved_since(&before.statements, now.statements);
    let mut facts =
        SentFacts { statements: Vec::new(), hidden, counts_plans: counter.counts_plans, forgotten };
    let Some(wanted) = wanted(&counts) else { return Ok(Fact::Seen(facts)) };
    let sql = format!(
        "select userid::int8 as role, queryid as id, pg_get_userbyid(userid) as name, left(query, {MOST_CHARACTERS}) as text
           from {}.pg_stat_statements(true) where {} and (userid, queryid) in ({wanted})",
        counter.schema,
        counter.of_clients()
    );
    let texts = match fact::rows::<Text>(client, &sql).await? {
        Fact::Seen(texts) => texts,
        Fact::Hidden(why) => return Ok(Fact::Hidden(why)),
    };
    for count in counts {
        let Some(text) = texts.iter().find(|text| (text.role, Some(text.id)) == (count.role, count.id))
        else {
            continue;
        };
        if let Some(said) = text.text.as_deref().and_then(StatementText::read) {
            facts.statements.push(count.with(said, &text.name));
        }
    }
    Ok(Fact::Seen(facts))
}

/// The statements whose texts are asked for.
fn wanted(counts: &[StatementCount]) -> Option<String> {
    let mut pairs = String::new();
    for (count, id) in counts.iter().filter_map(|count| Some((count, count.id?))).take(MOST_TEXTS) {
        let comma = if pairs.is_empty() { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(pairs, "{comma}({}, {id})", count.role);
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// Statements that came meanwhile, the most frequent ones first, and how often those came that are hidden.
fn moved_since(before: &[StatementCount], now: Vec<StatementCount>) -> (Vec<StatementCount>, f64) {
    let calls_of_hidden = |counts: &[StatementCount]| -> f64 {
        counts.iter().filter(|count| count.id.is_none()).map(|count| count.calls).sum()
    };
    let hidden = moved(calls_of_hidden(&now), calls_of_hidden(before));
    let before: BTreeMap<(i64, Option<i64>), &StatementCount> =
        before.iter().map(|count| ((count.role, count.id), count)).collect();
    let seen = now.into_iter().filter(|count| count.id.is_some());
    let mut counts: Vec<StatementCount> = seen
        .map(|count| before.get(&(count.role, count.id)).map_or(count, |before| count.since(before)))
        .filter(|count| count.calls > 0.0)
        .collect();
    counts.sort_by(|a, b| b.calls.total_cmp(&a.calls));
    (counts, hidden)
}

impl StatementCount {
    fn since(self, before: &StatementCount) -> StatementCount {
        // It was forgotten meanwhile, and came again.
        if self.calls < before.calls {
            return self;
        }
        StatementCount {
            calls: self.calls - before.calls,
            rows: self.rows - before.rows,
            ran_ms: self.ran_ms - before.ran_ms,
            plans: self.plans - before.plans,
            planned_ms: self.planned_ms - before.planned_ms,
            kept_plans: self.kept_plans.zip(before.kept_plans).map(|(now, before)| now - before),
            ..self
        }
    }

    fn with(self, said: StatementText, role: &str) -> StatementFacts {
        StatementFacts {
            said,
            role: role.to_owned(),
            calls: self.calls,
            rows: self.rows,
            ran_ms: self.ran_ms,
            plans: self.plans,
            planned_ms: self.planned_ms,
            kept_plans: self.kept_plans,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(id: Option<i64>, calls: f64) -> StatementCount {
        StatementCount {
            role: 10,
            id,
            calls,
            rows: calls,
            ran_ms: calls,
            plans: 0.0,
            planned_ms: 0.0,
            kept_plans: None,
        }
    }

    #[test]
    fn only_what_came_meanwhile_counts() {
        let before = [count(Some(1), 5.0), count(Some(2), 7.0), count(Some(3), 9.0), count(None, 4.0)];
        let now = vec![
            count(Some(1), 5.0),
            count(Some(2), 10.0),
            // Forgotten, and there again.
            count(Some(3), 2.0),
            count(Some(-4), 8.0),
            count(None, 5.0),
            count(None, 1.0),
        ];
        let (counts, hidden) = moved_since(&before, now);
        let seen: Vec<_> = counts.iter().map(|count| (count.id.unwrap(), count.calls, count.rows)).collect();
        assert_eq!(seen, [(-4, 8.0, 8.0), (2, 3.0, 3.0), (3, 2.0, 2.0)]);
        assert_eq!(hidden, 2.0);
        assert_eq!(wanted(&counts).as_deref(), Some("(10, -4), (10, 2), (10, 3)"));
        assert_eq!(wanted(&[]), None);
    }
}
