//! The order in which rows come to an index, and whether it stays in memory.

use howdah::facts::{ColumnFacts, IndexFacts, TableFacts, Unseen};

use super::index::{indexes, named};
use crate::case::Case;
use crate::figures::bytes;
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::{for_server, owner};
use crate::rule::Rule;
use crate::sql;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "index.random-key",
        title: "rows come to an index in random order",
        condition: "an index of at least 64 MB whose leading column has a correlation below 0.1, or one whose leading column gets random \
                    UUIDs by default",
        why: "each row goes into another page of the index: pages have to be read, and are logged whole after each checkpoint. A \
              load sorts the rows of a part by such an index",
        remedy: "keys that grow: uuidv7() (PostgreSQL 18), or a bigint identity",
        judge: random_key,
    },
    Rule {
        id: "index.cache",
        title: "indexes are larger than the server's memory for pages",
        condition: "the indexes together are larger than three quarters of shared_buffers, and one of them gets rows in random order",
        why: "pages that a row needs have to be read, by the operating system's memory at best",
        remedy: "partitions by time, keys that grow, fewer indexes; or more shared_buffers",
        judge: cache,
    },
];

/// A smaller index is in memory anyway.
const LARGE: f64 = 64.0 * 1024.0 * 1024.0;

const NO_ORDER: f64 = 0.1;

const RANDOM_KEYS: [&str; 2] = ["gen_random_uuid", "uuid_generate_v4"];

/// The rest is for the table, and for others.
const SHARE_OF_MEMORY: f64 = 0.75;

/// The column by which the index is ordered first.
fn leading<'t>(table: &'t TableFacts, index: &IndexFacts) -> Option<&'t ColumnFacts> {
    let leading = index.columns.first()?.as_deref();
    table.columns.seen()?.iter().find(|column| Some(column.name.as_str()) == leading)
}

fn gets_random_keys(column: &ColumnFacts) -> bool {
    column.default_calls.iter().any(|call| RANDOM_KEYS.contains(&call.as_str()))
}

/// Whether entries come to the index in random order for sure, however small it is.
pub(crate) fn comes_in_random_order(table: &TableFacts, index: &IndexFacts) -> bool {
    let has_no_order = |correlation: Option<f64>| correlation.is_some_and(|it| it.abs() < NO_ORDER);
    let is_unordered = |column: &ColumnFacts| gets_random_keys(column) || has_no_order(column.correlation);
    let has = has_no_order(index.correlation) || leading(table, index).is_some_and(is_unordered);
    index.method == "btree" && has
}

/// Types by whose values a load sorts.
const SORTABLE: [&str; 17] = [
    "smallint",
    "integer",
    "bigint",
    "money",
    "date",
    "time",
    "real",
    "double",
    "numeric",
    "text",
    "character",
    "boolean",
    "oid",
    "uuid",
    "bytea",
    "macaddr",
    "timestamp",
];

/// The index in whose order a load sends the rows of a part: the largest to which they come in random order.
pub(crate) fn sorted_by(table: &TableFacts) -> Option<&IndexFacts> {
    let indexes = table.indexes.seen()?.iter().filter(|index| {
        let is_sortable =
            |column: &ColumnFacts| SORTABLE.iter().any(|known| column.r#type.starts_with(known));
        comes_in_random_order(table, index) && leading(table, index).is_some_and(is_sortable)
    });
    indexes.max_by(|a, b| a.bytes.total_cmp(&b.bytes))
}

/// Whether rows come to the index in random order, and it is large enough for that to matter; `None`: nobody knows.
fn is_random(case: &Case<'_>, table: &TableFacts, index: &IndexFacts) -> Option<bool> {
    let column = leading(table, index)?;
    if gets_random_keys(column) {
        return Some(true);
    }
    let is_readable = table.rights.iter().any(|right| right == "SELECT") || case.facts.session.is_superuser;
    match column.correlation {
        Some(correlation) => Some(index.bytes >= LARGE && correlation.abs() < NO_ORDER),
        // Nobody analysed it, or it has no order: then it is small, or not a matter of order.
        None if is_readable || index.bytes < LARGE => Some(false),
        None => None,
    }
}

fn random_key(case: &Case<'_>) -> Judged {
    let (table, indexes) = indexes(case)?;
    case.see(&table.columns, "the table's columns")?;
    let mut findings = Vec::new();
    let mut is_hidden = false;
    for index in indexes.iter().filter(|index| index.method == "btree") {
        match is_random(case, table, index) {
            Some(true) => findings.push(random(case, table, index)),
            Some(false) => {}
            None => is_hidden |= index.columns.first().is_some_and(Option::is_some),
        }
    }
    if findings.is_empty() && is_hidden {
        let grant = format!("GRANT SELECT ON {} TO {};", sql::table(table), case.role());
        return Err(Verdict::NotSeen(case.gap("in which order keys come", Unseen::NoRight, grant)));
    }
    Ok(Verdict::of(findings))
}

fn random(case: &Case<'_>, table: &TableFacts, index: &IndexFacts) -> Finding {
    let column = leading(table, index);
    let (on, name) = (sql::table(table), sql::name(column.map_or("", |column| &column.name)));
    let mut finding =
        Finding::new(Severity::Costs, Basis::Known, format!("rows come to {} in random order", named(index)))
            .seen(format!("{}, led by {name}", bytes(index.bytes)));
    if let Some(correlation) = column.and_then(|column| column.correlation) {
        finding = finding.seen(format!("correlation {correlation:.2} in pg_stats"));
    }
    let call = column
        .and_then(|column| column.default_calls.iter().find(|call| RANDOM_KEYS.contains(&call.as_str())));
    if let Some(call) = call {
        finding = finding.seen(format!("its default is {}()", sql::name(call)));
    }
    match call {
        Some(call) if case.version() >= 180_000 => finding.remedy(
            Remedy::sql(
                [format!("ALTER TABLE {on} ALTER COLUMN {name} SET DEFAULT uuidv7();")],
                Undo::sql(format!("ALTER TABLE {on} ALTER COLUMN {name} SET DEFAULT {}();", sql::name(call))),
                "new keys tell when they were made",
            )
            .needs(owner(table)),
        ),
        _ => {
            let action =
                Action::Elsewhere(format!("keys for {on}.{name} that grow: UUIDs of version 7, or numbers"));
            finding.remedy(Remedy::new(action, "the keys of today", "whoever makes the keys has to change"))
        }
    }
}

fn cache(case: &Case<'_>) -> Judged {
    let (table, indexes) = indexes(case)?;
    let memory = case.see_setting("shared_buffers")?;
    let all: f64 = indexes.iter().map(|index| index.bytes).sum();
    let Some(room) = memory.bytes() else { return Err(case.hidden_setting("shared_buffers")) };
    let is_random = indexes.iter().any(|index| is_random(case, table, index) == Some(true));
    if all <= room * SHARE_OF_MEMORY || !is_random {
        return Ok(Verdict::Fine);
    }
    let wanted = format!("{:.0}MB", (all / SHARE_OF_MEMORY / (1024.0 * 1024.0)).ceil());
    let price = "memory that the operating system and the sessions no longer have; how much the machine has is not seen from here";
    Ok(Verdict::of(vec![
        Finding::new(
            Severity::Costs,
            Basis::Computed,
            format!("the indexes of {} do not fit shared_buffers", sql::table(table)),
        )
        .seen(format!("{} of indexes, {} of shared_buffers", bytes(all), bytes(room)))
        .remedy(for_server(case, &[("shared_buffers", &wanted)], price)),
    ]))
}

#[cfg(test)]
mod tests {
    use howdah::facts::Facts;

    use crate::testing::{fine, found, hidden, index, seen, set, statements, table, unseen};

    fn correlated(by: Option<f64>) -> impl Fn(&mut Facts) {
        move |facts| {
            seen(&mut table(facts).columns)[0].correlation = by;
            seen(&mut table(facts).indexes).push(index("second", "id"));
        }
    }

    #[test]
    fn keys_without_an_order_and_random_uuids_are_named() {
        let finding = found("index.random-key", correlated(Some(-0.09)));
        assert!(finding.evidence.contains(&"correlation -0.09 in pg_stats".to_owned()));
        fine("index.random-key", correlated(Some(-0.1)));
        fine("index.random-key", |facts| {
            correlated(Some(0.0))(facts);
            seen(&mut table(facts).indexes).iter_mut().for_each(|index| index.bytes = 1e6);
        });
        let uuid = found("index.random-key", |facts| {
            seen(&mut table(facts).columns)[0].default_calls = vec!["gen_random_uuid".into()];
        });
        assert_eq!(statements(&uuid, 0), "ALTER TABLE public.events ALTER COLUMN id SET DEFAULT uuidv7();");
        assert_eq!(
            uuid.remedies[0].undo.to_string(),
            "ALTER TABLE public.events ALTER COLUMN id SET DEFAULT gen_random_uuid();"
        );
        let gap = unseen("index.random-key", |facts| {
            correlated(None)(facts);
            table(facts).rights = vec!["INSERT".into()];
        });
        assert_eq!(gap.shown_by.as_deref(), Some("GRANT SELECT ON public.events TO loader;"));
    }

    #[test]
    fn indexes_are_held_against_the_memory_for_pages() {
        let finding = found("index.cache", |facts| {
            correlated(Some(0.0))(facts);
            set(facts, "shared_buffers", "16384");
        });
        assert_eq!(finding.evidence, ["200 MB of indexes, 134 MB of shared_buffers"]);
        assert_eq!(finding.remedies[0].effect, crate::finding::Effect::Restart);
        fine("index.cache", |facts| {
            correlated(Some(0.0))(facts);
            set(facts, "shared_buffers", "32768");
            seen(&mut table(facts).indexes).truncate(1);
        });
        fine("index.cache", correlated(Some(1.0)));
        unseen("index.cache", |facts| table(facts).indexes = hidden());
    }
}
