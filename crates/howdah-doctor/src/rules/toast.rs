//! What compressing wide values costs: pages hold rows of some 2 kB, and what is wider is compressed, and then led elsewhere.

use howdah::facts::{ColumnFacts, TableFacts};

use super::column::columns;
use crate::attachment::Attachment;
use crate::case::Case;
use crate::figures::{bytes, count};
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::owner;
use crate::rule::Rule;
use crate::sql;
use crate::trials::TableTrial;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

/// The rule that knows what compressing wide values costs.
pub(crate) const TOAST: &str = "column.toast";

pub(super) const RULES: &[Rule] = &[Rule {
    id: TOAST,
    title: "wide values are compressed by pglz",
    condition: "columns are compressed by pglz, and the table has more than 1 kB a row in TOAST, or pg_stats more than 1 kB a value \
                (what compresses well is smaller there, and found by measuring only). Measured where a tenth of the rows has values \
                that are compressed or wider than 2 kB: once with lz4, once not compressed",
    why: "the server compresses each of them as it comes, also where that gains nothing, and lz4 takes less time for it",
    remedy: "lz4, for new rows; EXTERNAL for what is compressed already",
    judge: toast,
}];

/// Bytes of what is stored: the values are larger.
const WIDE: f64 = 1000.0;

/// Bytes of values that are not wide.
const SHORT: f64 = 15.0;

fn toast(case: &Case<'_>) -> Judged {
    let (table, columns) = columns(case)?;
    let known = known(table, columns);
    let trial = case.trials.and_then(|trials| trials.table.as_ref());
    let measured = trial.and_then(|trial| Some((trial, dearest(trial)?)));
    let is_clear = |(trial, dearest): &(&TableTrial, Attachment)| {
        trial.cost(dearest).is_some_and(|cost| trial.is_clear(cost))
    };
    let (attachment, evidence): (_, Vec<String>) = match (measured, known) {
        (Some(measured), None) if !is_clear(&measured) => return Ok(Verdict::Fine),
        (Some((trial, dearest)), known) => {
            (dearest, known.map(|(_, seen)| seen).into_iter().chain([ways(trial)]).collect())
        }
        (None, Some((columns, seen))) => (Attachment::Pglz(columns), vec![seen]),
        (None, None) => return unknown(case, table, columns),
    };
    let (Attachment::Pglz(wide) | Attachment::Compression(wide)) = &attachment else {
        return Ok(Verdict::Fine);
    };
    let wide: Vec<&ColumnFacts> = columns.iter().filter(|column| wide.contains(&column.name)).collect();
    let names = wide.iter().map(|column| sql::name(&column.name)).collect::<Vec<_>>().join(", ");
    let title = format!("wide values of {} are compressed by pglz: {names}", sql::table(table));
    let has_lz4 = case.setting("default_toast_compression").is_some_and(|setting| setting.can_be("lz4"));
    let mut remedies = vec![as_they_are(table, &wide)];
    if has_lz4 {
        let at = usize::from(matches!(attachment, Attachment::Compression(_)));
        remedies.insert(at, by_lz4(table, &wide));
    }
    if table.kind == "p" {
        remedies = vec![in_partitions(table, has_lz4)];
    }
    let finding = Finding::new(Severity::Costs, Basis::Known, title).about(attachment);
    let finding = evidence.into_iter().fold(finding, Finding::seen);
    Ok(Verdict::of(vec![remedies.into_iter().fold(finding, Finding::remedy)]))
}

/// The columns that the catalog shows to be wide, and how.
fn known(table: &TableFacts, columns: &[ColumnFacts]) -> Option<(Vec<String>, String)> {
    // Of a value in TOAST pg_stats counts 18 bytes: what is shorter on average is not there.
    let may_be_wide = |column: &&ColumnFacts| column.width.is_none_or(|width| width > SHORT);
    let compressed: Vec<&ColumnFacts> =
        columns.iter().filter(|column| column.uses_pglz).filter(may_be_wide).collect();
    let names = |columns: Vec<&ColumnFacts>| columns.iter().map(|column| column.name.clone()).collect();
    let is_wide = |column: &&&ColumnFacts| column.width.is_some_and(|width| width > WIDE);
    let wide: Vec<&ColumnFacts> = compressed.iter().filter(is_wide).copied().collect();
    if let Some(width) = wide.iter().filter_map(|column| column.width).reduce(f64::max) {
        return Some((names(wide), format!("{} a value in pg_stats, as it is stored", bytes(width))));
    }
    let rows = table.rows.filter(|rows| *rows > 0.0)?;
    let a_row = table.size.seen()?.toast / rows;
    let said = || format!("{} in TOAST, {} rows: {} a row", bytes(a_row * rows), count(rows), bytes(a_row));
    (!compressed.is_empty() && a_row > WIDE).then(|| (names(compressed), said()))
}

/// That without which copies of the table were fastest.
fn dearest(trial: &TableTrial) -> Option<Attachment> {
    let ways = trial.attachments().into_iter();
    let ways = ways.filter(|it| matches!(it, Attachment::Pglz(_) | Attachment::Compression(_)));
    let low = |way: &Attachment| trial.cost(way).map_or(f64::NEG_INFINITY, |cost| cost.low);
    ways.max_by(|a, b| low(a).total_cmp(&low(b)))
}

/// What both ways came to.
fn ways(trial: &TableTrial) -> String {
    let ways = trial.attachments().into_iter().filter_map(|way| {
        let then = match way {
            Attachment::Pglz(_) => "with lz4",
            Attachment::Compression(_) => "not compressed",
            _ => return None,
        };
        Some(format!("{then} {} of the time goes", trial.cost(&way)?.percent()))
    });
    ways.collect::<Vec<_>>().join(", ")
}

/// Without statistics nobody knows how wide values are: of an empty table that is fine.
fn unknown(case: &Case<'_>, table: &TableFacts, columns: &[ColumnFacts]) -> Judged {
    let is_unknown = columns.iter().any(|column| column.uses_pglz && column.width.is_none());
    let is_readable = table.rights.iter().any(|right| right == "SELECT");
    if !is_unknown || is_readable {
        return Ok(Verdict::Fine);
    }
    let grant = format!("GRANT SELECT ON {} TO {};", sql::table(table), case.role());
    let what = "how wide the table's values are";
    Err(Verdict::NotSeen(case.gap(what, howdah::facts::Unseen::NoRight, grant)))
}

/// Partitions store their rows, each in its own way, and what becomes of their parent is not handed on.
fn in_partitions(table: &TableFacts, has_lz4: bool) -> Remedy {
    let ways = if has_lz4 { "SET COMPRESSION lz4, or SET STORAGE EXTERNAL" } else { "SET STORAGE EXTERNAL" };
    let text = format!(
        "ALTER TABLE … ALTER COLUMN … {ways}, for each partition, and for {} for those to come",
        sql::table(table)
    );
    Remedy::new(Action::Elsewhere(text), "what each partition has now", "values take more bytes")
        .needs(owner(table))
}

fn by_lz4(table: &TableFacts, wide: &[&ColumnFacts]) -> Remedy {
    let before = |column: &ColumnFacts| if column.asks_for_pglz { "pglz" } else { "default" };
    Remedy::sql(
        [altered(table, wide, |_| "SET COMPRESSION lz4".to_owned())],
        Undo::sql(altered(table, wide, |column| format!("SET COMPRESSION {}", before(column)))),
        "values get a little larger, as a rule",
    )
    .needs(owner(table))
}

fn as_they_are(table: &TableFacts, wide: &[&ColumnFacts]) -> Remedy {
    let before = |column: &ColumnFacts| if column.stays_in_row { "MAIN" } else { "EXTENDED" };
    Remedy::sql(
        [altered(table, wide, |_| "SET STORAGE EXTERNAL".to_owned())],
        Undo::sql(altered(table, wide, |column| format!("SET STORAGE {}", before(column)))),
        "values take all of their bytes in the table, in the log and in backups",
    )
    .needs(owner(table))
}

fn altered(table: &TableFacts, columns: &[&ColumnFacts], how: impl Fn(&ColumnFacts) -> String) -> String {
    let alters =
        columns.iter().map(|column| format!("ALTER COLUMN {} {}", sql::name(&column.name), how(column)));
    // Children of its, which nobody asked about, stay as they are.
    format!("ALTER TABLE ONLY {} {};", sql::table(table), alters.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use howdah::facts::{ColumnFacts, Facts, TableSize};

    use super::*;
    use crate::testing::{fine, found, healthy, seen, statements, table, trial, unseen};
    use crate::trials::Trials;
    use crate::{Ask, diagnose};

    fn column(name: &str) -> ColumnFacts {
        ColumnFacts { name: name.into(), uses_pglz: true, width: Some(18.0), ..ColumnFacts::default() }
    }

    fn with(facts: &mut Facts, columns: impl IntoIterator<Item = ColumnFacts>, toast: f64) {
        let table = table(facts);
        seen(&mut table.columns).extend(columns);
        *seen(&mut table.size) = TableSize { table: 1e9 + toast, toast, indexes: 0.0 };
    }

    fn lz4(facts: &mut Facts) {
        let settings = seen(&mut facts.settings).iter_mut();
        settings.filter(|setting| setting.name == "default_toast_compression").for_each(|setting| {
            setting.choices = Some(vec!["pglz".into(), "lz4".into()]);
        });
    }

    #[test]
    fn the_catalog_shows_what_is_stored_and_nothing_else() {
        // Ten million rows.
        let finding = found("column.toast", |facts| with(facts, [column("a"), column("b")], 1.1e10));
        assert_eq!(finding.title, "wide values of public.events are compressed by pglz: a, b");
        assert_eq!(finding.evidence, ["11 GB in TOAST, 10,000,000 rows: 1.1 kB a row"]);
        assert_eq!(
            statements(&finding, 0),
            "ALTER TABLE ONLY public.events ALTER COLUMN a SET STORAGE EXTERNAL, ALTER COLUMN b SET STORAGE EXTERNAL;"
        );
        fine("column.toast", |facts| with(facts, [column("a")], 9e9));
        let short = || ColumnFacts { width: Some(9.0), ..column("short") };
        let finding = found("column.toast", |facts| with(facts, [column("a"), short()], 1.1e10));
        assert!(finding.title.ends_with(": a"), "{finding:?}");
        // Each partition has its own.
        let finding = found("column.toast", |facts| {
            with(facts, [column("a")], 1.1e10);
            table(facts).kind = "p".into();
        });
        assert!(
            matches!(&finding.remedies[0].action, Action::Elsewhere(text) if text.contains("for each partition"))
        );
        // One that is not compressed by pglz.
        fine("column.toast", |facts| with(facts, [ColumnFacts { uses_pglz: false, ..column("a") }], 1e12));
        let wide = |width| ColumnFacts { width: Some(width), asks_for_pglz: true, ..column("c") };
        let finding = found("column.toast", |facts| {
            with(facts, [column("a"), wide(1001.0)], 0.0);
            lz4(facts);
        });
        assert_eq!(
            statements(&finding, 0),
            "ALTER TABLE ONLY public.events ALTER COLUMN c SET COMPRESSION lz4;"
        );
        let undo = |at: usize| finding.remedies[at].undo.to_string();
        assert_eq!(undo(0), "ALTER TABLE ONLY public.events ALTER COLUMN c SET COMPRESSION pglz;");
        assert_eq!(undo(1), "ALTER TABLE ONLY public.events ALTER COLUMN c SET STORAGE EXTENDED;");
        fine("column.toast", |facts| with(facts, [wide(1000.0)], 0.0));
    }

    #[test]
    fn who_may_not_read_the_table_does_not_know_how_wide_it_is() {
        let hidden = || ColumnFacts { width: None, ..column("a") };
        fine("column.toast", |facts| with(facts, [hidden()], 0.0));
        let gap = unseen("column.toast", |facts| {
            with(facts, [hidden()], 0.0);
            table(facts).rights = vec!["INSERT".into()];
        });
        assert_eq!(gap.shown_by.as_deref(), Some("GRANT SELECT ON public.events TO loader;"));
    }

    #[test]
    fn what_gains_more_comes_first_and_what_gains_nothing_is_no_finding() {
        let judged = |lz4_gains: f64, none_gains: f64, toast: f64| {
            let mut facts = healthy();
            with(&mut facts, [column("a"), column("b")], toast);
            lz4(&mut facts);
            let wide = || vec!["b".to_owned()];
            let costs =
                [(Attachment::Pglz(wide()), lz4_gains), (Attachment::Compression(wide()), none_gains)];
            let trials = Trials { table: Some(trial(&costs)), ..Trials::default() };
            let mut findings = diagnose(&facts, &Ask::default(), Some(&trials)).findings;
            findings.retain(|finding| finding.id == "column.toast");
            findings
        };
        let found = &judged(0.2, 0.4, 0.0)[0];
        assert_eq!(
            (found.cost.unwrap().percent().as_str(), found.basis),
            ("40 % (40 to 40)", Basis::Measured)
        );
        assert_eq!(
            found.evidence,
            ["with lz4 20 % (20 to 20) of the time goes, not compressed 40 % (40 to 40) of the time goes"]
        );
        assert!(statements(found, 0).ends_with("ALTER COLUMN b SET STORAGE EXTERNAL;"));
        assert!(statements(&judged(0.3, 0.1, 0.0)[0], 0).ends_with("SET COMPRESSION lz4;"));
        assert_eq!(judged(0.02, 0.01, 0.0), []);
        // Where the catalog says so all the same, it is good to know.
        assert_eq!(judged(0.02, 0.01, 1e11)[0].severity, Severity::Notice);
    }
}
