//! A load's plan as text: header, columns, what the input does not fill, connections, statements.

use howdah::report::{CommitUnit, PlanSummary, Report};

use crate::figures::{counted, visible, visible_lines};
use crate::spelling::Terminal;

/// The plan in a few indented blocks.
pub(crate) fn text(plan: &PlanSummary, report: &Report) -> String {
    let what = if plan.creates_table { "made by this load" } else { "exists" };
    let mut out = format!("plan for {} ({what})\n", visible(&plan.table));
    out.push_str(&format!("  format: {}\n", visible(&plan.dialect.message().spelled(&Terminal))));
    out.push_str(&format!("  header: {}\n", visible(&plan.header)));
    out.push_str("  columns:\n");
    out.push_str(&columns(plan));
    if !plan.unfilled.is_empty() {
        out.push_str("  not in the input:\n");
        for column in &plan.unfilled {
            out.push_str(&format!("    {}\n", visible(column)));
        }
    }
    out.push_str(&format!("  jobs: {}\n", jobs(report)));
    if let Some(path) = report.write_path {
        out.push_str(&format!("  write path: {path}\n"));
    }
    if let Some(alter) = &plan.alter_table {
        out.push_str(&format!("  columns that the table gets: {}\n", visible(alter)));
    }
    if !plan.rebuilt.is_empty() {
        out.push_str(&format!("  built again after the rows: {}\n", visible(&plan.rebuilt.join(", "))));
    }
    if !plan.disabled_triggers.is_empty() {
        let names = visible(&plan.disabled_triggers.join(", "));
        out.push_str(&format!("  triggers that do not fire: {names}\n"));
    }
    match plan.sort.as_slice() {
        [] => {}
        [index] => out.push_str(&format!("  sorted: 16 MiB at a time, by {}\n", visible(index))),
        indexes => out.push_str(&format!(
            "  sorted: 16 MiB at a time, by the one that pays most of {}\n",
            visible(&indexes.join(", "))
        )),
    }
    if report.commit == Some(CommitUnit::Row) {
        out.push_str("  commit: each row by itself; a failure leaves the rows before it in the table\n");
    }
    if let Some(compression) = &plan.compression {
        out.push_str(&format!("  compression: {}\n", visible(&compression.spelled(&Terminal))));
    }
    if let Some(staging) = &plan.staging {
        out.push_str(&format!("  staging: {}\n", visible(&staging.spelled(&Terminal))));
    }
    if let Some(script) = &plan.create_table {
        // Not indented: it is there to be copied.
        out.push_str(&format!("  the table:\n\n{}\n\n", visible_lines(&script.spelled(&Terminal), "")));
    }
    out.push_str("  statements:\n");
    for statement in &plan.statements {
        out.push_str(&format!("    {}\n", visible_lines(statement, "    ")));
    }
    out
}

/// The reason of a choice that was not plain is a sentence that has the number in it.
fn jobs(report: &Report) -> String {
    let plain = || counted(report.jobs as u64, "connection", "connections");
    report.jobs_reason.as_ref().map_or_else(plain, |reason| visible(&reason.spelled(&Terminal)))
}

/// Source, column, type and form under each other; the last cell of a line is not padded.
fn columns(plan: &PlanSummary) -> String {
    let rows: Vec<[String; 4]> = std::iter::once(["source", "column", "type", "sent as"].map(str::to_owned))
        .chain(
            plan.columns
                .iter()
                .map(|c| [visible(&c.source), visible(&c.target), visible(&c.r#type), c.form.to_string()]),
        )
        .collect();
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let (a, b, c) = (width(0), width(1), width(2));
    rows.iter()
        .map(|[source, target, r#type, form]| format!("    {source:a$}  {target:b$}  {type:c$}  {form}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use howdah::options::WritePath;
    use howdah::report::{CopyFormat, DialectSummary, PlannedColumn};

    #[test]
    fn the_plan_shows_every_decision_in_line() {
        let plan = PlanSummary {
            table: "public.people".into(),
            creates_table: true,
            dialect: DialectSummary {
                format: "csv",
                delimiter: Some("\t".to_owned()),
                quote: Some('\''),
                escape: Some('\\'),
                null: Some(String::new()),
                encoding: "UTF8",
                guessed: vec!["quote", "escape"],
            },
            header: "record 1: its fields are distinct and age does not fit bigint".into(),
            columns: vec![
                PlannedColumn {
                    source: "name".into(),
                    target: "name".into(),
                    r#type: "text".into(),
                    form: CopyFormat::Binary,
                    because: None,
                },
                PlannedColumn {
                    source: "Age\x1b".into(),
                    target: "\"Age\"".into(),
                    r#type: "interval".into(),
                    form: CopyFormat::Text,
                    because: None,
                },
            ],
            unfilled: vec!["id: identity".into()],
            create_table: Some("CREATE TABLE people (\n    name text\n);".into()),
            alter_table: Some("ALTER TABLE people ADD COLUMN height numeric".into()),
            rebuilt: vec!["t_name".into()],
            rebuild_gain: Some(3.0),
            disabled_triggers: vec!["stamp".into(), "audit".into()],
            compression: Some("lz4 for payload".into()),
            sort: vec!["t_pkey".into(), "t_at".into()],
            staging: Some("in a temporary table; rows are matched by id".into()),
            statements: vec!["CREATE TABLE t (\n  a text\n)".into(), "COMMIT".into()],
        };
        let mut report = Report::default();
        report.jobs = 1;
        report.jobs_reason = Some("one connection: the table has a unique index".into());
        report.write_path = Some(WritePath::CopyBinary);
        assert_eq!(
            text(&plan, &report),
            "\
plan for public.people (made by this load)
  format: csv, delimiter tab, quote \"'\", escape \"\\\" (guessed; --quote, --escape override)
  header: record 1: its fields are distinct and age does not fit bigint
  columns:
    source     column  type      sent as
    name       name    text      binary
    Age\\u{1b}  \"Age\"   interval  text
  not in the input:
    id: identity
  jobs: one connection: the table has a unique index
  write path: copy-binary
  columns that the table gets: ALTER TABLE people ADD COLUMN height numeric
  built again after the rows: t_name
  triggers that do not fire: stamp, audit
  sorted: 16 MiB at a time, by the one that pays most of t_pkey, t_at
  compression: lz4 for payload
  staging: in a temporary table; rows are matched by id
  the table:

CREATE TABLE people (
    name text
);

  statements:
    CREATE TABLE t (
      a text
    )
    COMMIT
"
        );
    }
}
