//! `summary.csv`: one line a cell, for spreadsheets and data frames.

use super::summary::{ReportCell, SectionSummary, Summary};
use crate::latency::Latency;

const HEADER: &str = "scenario,section,series,x,runs,outcome,rows,seconds,rows_per_s,rows_per_s_min,rows_per_s_max,\
                      interval_low,interval_high,interval_confidence,times_slowest,share_of_best,times_step_before,\
                      near_harness_ceiling,durability,client_cpu_s,server_cpu_s,peak_rss_bytes,wal_bytes,\
                      checkpoints,latency_mean_ms,latency_p50_ms,latency_p90_ms,latency_p95_ms,latency_p99_ms,\
                      latency_p99_9_ms,latency_max_ms,batch_rows,published_rows_per_s,command";

pub(super) fn render(summary: &Summary) -> String {
    let mut text = format!("{HEADER}\n");
    for (scenario, section, cell) in summary.cells() {
        let mut fields = vec![scenario.name.clone(), section.name.clone()];
        fields.extend(fields_of(section, cell));
        let quoted: Vec<String> = fields.iter().map(|field| quote(field)).collect();
        text += &quoted.join(",");
        text.push('\n');
    }
    text
}

fn fields_of(section: &SectionSummary, cell: &ReportCell) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let latency = |of: fn(Latency) -> Option<f64>| figure(cell.latency.and_then(of));
    let published = section.published.iter().find(|it| {
        it.series == cell.series && (it.x.is_none() || it.x == cell.x || section.chart == "waterfall")
    });
    let outcome = match (cell.runs, cell.marks().join("; ")) {
        (0, marks) => marks,
        (_, marks) if marks.is_empty() => "verified".to_owned(),
        (_, marks) => format!("verified; {marks}"),
    };
    vec![
        cell.series.clone(),
        figure(cell.x),
        cell.runs.to_string(),
        outcome,
        figure(cell.rows),
        figure(cell.seconds.map(|it| it.median)),
        figure(cell.median()),
        figure(cell.rate.map(|it| it.min)),
        figure(cell.rate.map(|it| it.max)),
        figure(cell.interval.map(|it| it.low)),
        figure(cell.interval.map(|it| it.high)),
        figure(cell.interval.map(|it| it.confidence)),
        figure(cell.to_slowest),
        figure(cell.of_best),
        figure(cell.step),
        cell.near_ceiling.to_string(),
        cell.conditions.durability.label().to_owned(),
        figure(cell.client_cpu_s),
        figure(cell.server_cpu_s),
        figure(cell.peak_rss_bytes),
        figure(cell.wal_bytes),
        figure(cell.checkpoints),
        latency(|it| Some(it.mean_ms)),
        latency(|it| Some(it.p50_ms)),
        latency(|it| Some(it.p90_ms)),
        latency(|it| it.p95_ms),
        latency(|it| Some(it.p99_ms)),
        latency(|it| it.p99_9_ms),
        latency(|it| Some(it.max_ms)),
        figure(cell.batch_rows),
        figure(published.map(|it| it.rows_per_s)),
        cell.conditions.command.clone(),
    ]
}

fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
