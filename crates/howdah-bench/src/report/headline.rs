//! What a section comes to, in a sentence or two.

use super::cell::ReportCell;
use crate::number::{milliseconds, thousands, times};
use crate::record::Durability;
use crate::scenario::Chart;

/// The sentence above a section's chart; empty where nothing was measured.
pub(super) fn of(chart: Chart, cells: &[ReportCell]) -> String {
    let measured: Vec<&ReportCell> =
        cells.iter().filter(|cell| !cell.control && cell.rate.is_some()).collect();
    if measured.is_empty() {
        return "Nothing could be measured.".to_owned();
    }
    match chart {
        Chart::Curves { axis } => curves(axis, &measured),
        Chart::Bars => bars(&measured, ""),
        Chart::Tradeoff => bars(&measured, &waiting(&measured)),
        Chart::Latencies { axis } => latencies(axis, &measured),
        Chart::Course => course(&measured),
        Chart::Waterfall => waterfall(&measured),
    }
}

/// In quotation marks where it would run into the sentence.
fn name(cell: &ReportCell) -> String {
    if cell.series.contains(char::is_whitespace) {
        format!("“{}”", cell.series)
    } else {
        cell.series.clone()
    }
}

fn rate(cell: &ReportCell) -> f64 {
    cell.median().unwrap_or(0.0)
}

/// Its rows a second, as they are printed.
fn figure(cell: &ReportCell) -> String {
    cell.shown(rate(cell))
}

fn extremes<'a>(cells: &[&'a ReportCell]) -> Option<(&'a ReportCell, &'a ReportCell)> {
    let best = cells.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let slowest = cells.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    Some((best, slowest))
}

/// The fastest of them beside the slowest; `more` is said of the fastest.
fn bars(cells: &[&ReportCell], more: &str) -> String {
    let Some((best, slowest)) = extremes(cells) else { return String::new() };
    let figure = format!("{} rows/s", figure(best));
    if cells.len() == 1 {
        return format!("{} reaches {figure}.{more}", name(best));
    }
    if best.conditions.rows_asked != slowest.conditions.rows_asked {
        return format!("{} is fastest: {figure}.{more} Not all loads have as many rows.", name(best));
    }
    let ratio = times(rate(best) / rate(slowest));
    let parts = first_parts(&[best, slowest]);
    let durable = durable_instead(best, cells);
    format!("{} is {ratio} {}: {figure}.{more}{parts}{durable}", name(best), name(slowest))
}

/// Which of the cells that a sentence compares loaded a first part of the rows only.
fn first_parts(cells: &[&ReportCell]) -> String {
    let part = |cell: &&ReportCell| {
        let share = thousands(cell.first_part()?);
        Some(format!(" {} loaded only the first {share} % of the rows.", name(cell)))
    };
    cells.iter().filter_map(part).collect()
}

/// The fastest that a crash does not touch, where the fastest of all is not.
fn durable_instead(best: &ReportCell, cells: &[&ReportCell]) -> String {
    let durable: Vec<&ReportCell> =
        cells.iter().copied().filter(|cell| cell.conditions.durability == Durability::Durable).collect();
    let Some(what) = after_a_crash(best) else { return String::new() };
    let best = name(best);
    match extremes(&durable) {
        Some((cell, _)) => {
            let figure = figure(cell);
            format!(" But {best} {what}; the fastest durable way is {}, {figure} rows/s.", name(cell))
        }
        None => format!(" But {best} {what}."),
    }
}

/// What a crash does to the rows; None where they stay.
fn after_a_crash(cell: &ReportCell) -> Option<&'static str> {
    match cell.conditions.durability {
        Durability::Durable => None,
        Durability::LosesLastCommits => Some("loses the last commits on a crash"),
        Durability::NotCrashSafe => Some("is not crash-safe"),
        Durability::LabOnly => Some("is for the lab only"),
    }
}

/// What the fastest costs in latency.
fn waiting(cells: &[&ReportCell]) -> String {
    let latency = extremes(cells).and_then(|(best, _)| best.latency);
    latency.map_or_else(String::new, |latency| {
        let (mean, p99) = (milliseconds(latency.mean_ms), milliseconds(latency.p99_ms));
        format!(" Its rows take {mean} in the mean, 99 % of them at most {p99}.")
    })
}

/// At the most that all of them carried.
fn latencies(axis: &str, cells: &[&ReportCell]) -> String {
    let mut at: Vec<(&ReportCell, f64, f64)> =
        cells.iter().filter_map(|cell| Some((*cell, cell.x?, cell.latency?.p99_ms))).collect();
    let Some(x) = at.iter().map(|(_, x, _)| *x).filter(|x| *x < 100.0).reduce(f64::max) else {
        return String::new();
    };
    at.retain(|(_, place, _)| *place == x);
    at.sort_by(|a, b| a.2.total_cmp(&b.2));
    let each = |(cell, _, p99): &(&ReportCell, f64, f64)| format!("{} {}", name(cell), milliseconds(*p99));
    let each: Vec<String> = at.iter().map(each).collect();
    format!("At {} {axis}, 99 % of the rows take at most: {}.", thousands(x), each.join(", "))
}

fn course(cells: &[&ReportCell]) -> String {
    let each = cells.iter().filter_map(|cell| {
        let p99 = cell.latency?.p99_ms;
        let within = cell
            .conditions
            .latency_target_ms
            .map_or("", |target| if p99 <= target { ", held" } else { ", missed" });
        Some(format!("{} {}{within}", name(cell), milliseconds(p99)))
    });
    let each: Vec<String> = each.collect();
    format!("99 % of the rows take at most: {}.", each.join("; "))
}

fn curves(axis: &str, cells: &[&ReportCell]) -> String {
    let cells: Vec<&ReportCell> = cells.iter().copied().filter(|cell| cell.in_place()).collect();
    let mut places: Vec<f64> = cells.iter().filter_map(|cell| cell.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let at = |x: f64| cells.iter().copied().filter(|cell| cell.x == Some(x)).collect::<Vec<_>>();
    let shared = places.iter().rev().find(|x| at(**x).len() > 1);
    let Some(&x) = shared else {
        let Some((best, _)) = extremes(&cells) else { return String::new() };
        let place = best.x.map_or(String::new(), |x| format!(" at {} {axis}", thousands(x)));
        return format!("{} is fastest{place}: {} rows/s.", name(best), figure(best));
    };
    let here = at(x);
    let Some((best, slowest)) = extremes(&here) else { return String::new() };
    let mut text = format!(
        "At {} {axis}, {} is {} {}: {} rows/s.",
        thousands(x),
        name(best),
        times(rate(best) / rate(slowest)),
        name(slowest),
        figure(best)
    );
    // Where another leads at the small end, that is the crossover readers look for.
    let leader = |x: f64| extremes(&at(x)).map(|(best, _)| best);
    let shared: Vec<f64> = places.iter().copied().filter(|x| at(*x).len() > 1).collect();
    if let Some(first) = shared.first().and_then(|x| leader(*x)).filter(|first| first.series != best.series) {
        let until =
            shared.iter().take_while(|x| leader(**x).is_some_and(|it| it.series == first.series)).last();
        if let Some(until) = until {
            text += &format!(" Up to {} {axis}, {} leads.", thousands(*until), name(first));
        }
    }
    text + &first_parts(&[best, slowest]) + &durable_instead(best, &here)
}

fn waterfall(cells: &[&ReportCell]) -> String {
    let (Some(first), Some(last)) = (cells.first(), cells.last()) else { return String::new() };
    let mut text = format!(
        "From {} to {}: {}, from {} to {} rows/s.",
        name(first),
        name(last),
        times(rate(last) / rate(first)),
        figure(first),
        figure(last)
    );
    text += &first_parts(&[first, last]);
    let step = |cell: &ReportCell| cell.step.filter(|_| !cell.step_in_doubt).unwrap_or(0.0);
    let largest = cells.iter().max_by(|a, b| step(a).total_cmp(&step(b)));
    if let Some((cell, step)) = largest.and_then(|cell| Some((cell, cell.step.filter(|step| *step > 1.0)?))) {
        text += &format!(" The largest single step is {}, {}.", name(cell), times(step));
    }
    // Steps may change the rows' types or who reads the file, so the fastest of them is no advice.
    let durable = cells.iter().rev().find(|cell| after_a_crash(cell).is_none());
    match (after_a_crash(last), durable) {
        (Some(what), Some(cell)) => {
            let (last, cell, figure) = (name(last), name(cell), figure(cell));
            text + &format!(" But {last} {what}; the last step that keeps rows is {cell}, {figure} rows/s.")
        }
        _ => text,
    }
}
