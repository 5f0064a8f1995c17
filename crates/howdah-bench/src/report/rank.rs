//! What cells of a section are to each other: the fastest, the slowest, the step before, the ceiling.

use super::cell::ReportCell;
use crate::number::thousands;
use crate::record::Conditions;
use howdah_doctor::statistics::Spread;

/// From this share of the control's rows a second, a figure may be the harness's own.
const NEAR: f64 = 0.8;
/// The share of a service, whose generator and buffer take the CPU that the server needs long before they are the limit.
const NEAR_SERVICE: f64 = 0.25;

/// Compares the cells that stand at the same place.
pub(super) fn compare(cells: &mut [ReportCell]) {
    let in_place = |cell: &&ReportCell| cell.in_place();
    let others: Vec<(Option<f64>, bool, Option<f64>)> =
        cells.iter().filter(in_place).map(|cell| (cell.x, cell.control, cell.median())).collect();
    let controls: Vec<(Option<f64>, Conditions, f64)> = cells
        .iter()
        .filter(|cell| cell.control)
        .filter_map(|cell| Some((cell.x, cell.conditions.clone(), cell.median()?)))
        .collect();
    for cell in cells.iter_mut() {
        let at_place = |control: bool| {
            let x = cell.x;
            others.iter().filter(move |it| it.0 == x && it.1 == control).filter_map(|it| it.2)
        };
        let Some(own) = cell.median().filter(|_| !cell.control) else { continue };
        if cell.in_place() {
            let best = at_place(false).fold(0.0, f64::max);
            let slowest = at_place(false).fold(f64::INFINITY, f64::min);
            cell.of_best = Some(own / best);
            cell.to_slowest = (own > slowest).then(|| own / slowest);
        }
        // The control may have been measured once for the whole section.
        let here = controls.iter().filter(|(x, ..)| *x == cell.x || x.is_none());
        let ceiling = here
            .filter(|(_, conditions, _)| does_the_same(conditions, &cell.conditions))
            .map(|(.., rate)| *rate)
            .reduce(f64::min);
        let service = program(&cell.conditions).is_some();
        let near = if service { NEAR_SERVICE } else { NEAR };
        cell.near_ceiling = ceiling.is_some_and(|ceiling| own > near * ceiling);
        cell.control_times = ceiling.filter(|_| service && cell.near_ceiling).map(|ceiling| ceiling / own);
    }
}

/// Whether a control does all that a method does but the writing: a limit of one client is none of another.
fn does_the_same(control: &Conditions, method: &Conditions) -> bool {
    let writers = |conditions: &Conditions| conditions.command.contains(" writers, ");
    let same_writers = writers(control)
        && writers(method)
        && control.connections == method.connections
        && control.rows_per_statement == method.rows_per_statement;
    let same_program = program(control).is_some_and(|its| program(method) == Some(its));
    same_writers || same_program || control.command.trim_end_matches(" --dry-run") == method.command
}

/// Of a service, whose buffer it is: its settings stand in brackets.
fn program(conditions: &Conditions) -> Option<&str> {
    conditions.command.split_once(" [").map(|(program, _)| program)
}

/// Compares each step of a waterfall with the one before that was measured.
pub(super) fn steps(cells: &mut [ReportCell]) {
    let mut before: Option<(Spread, Conditions)> = None;
    for cell in cells.iter_mut().filter(|cell| !cell.control) {
        if let Some((rate, conditions)) = &before {
            cell.step = cell.median().map(|own| own / rate.median);
            cell.step_in_doubt = cell.rate.is_some_and(|own| own.min <= rate.max && rate.min <= own.max);
            cell.changes = changes(conditions, &cell.conditions);
        }
        if let Some(rate) = cell.rate {
            before = Some((rate, cell.conditions.clone()));
        }
    }
}

/// What differs between two ways of doing it, in words.
fn changes(before: &Conditions, after: &Conditions) -> Vec<String> {
    let command = parts("command", (&before.command, &after.command), " ");
    let table = parts("table", (&before.table, &after.table), ", ");
    let mut changes: Vec<String> = command.into_iter().chain(table).collect();
    let mut other = |name: &str, before: String, after: String| {
        if before != after {
            changes.push(format!("{name}: {before} → {after}"));
        }
    };
    other("data set", before.dataset.clone(), after.dataset.clone());
    other("rows", thousands(before.rows_asked as f64), thousands(after.rows_asked as f64));
    other("connections", before.connections.to_string(), after.connections.to_string());
    let statement = |rows: Option<u64>| rows.map_or("none".to_owned(), |rows| thousands(rows as f64));
    other("rows per statement", statement(before.rows_per_statement), statement(after.rows_per_statement));
    other("added latency", format!("{} ms", before.latency_ms), format!("{} ms", after.latency_ms));
    let mut names: Vec<&String> = before.settings.keys().chain(after.settings.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let value = |conditions: &Conditions| {
            conditions.settings.get(name).map_or("default".to_owned(), String::clone)
        };
        other(name, value(before), value(after));
    }
    other("durability", before.durability.label().to_owned(), after.durability.label().to_owned());
    changes
}

/// Of a list only what came and what went.
fn parts(name: &str, (before, after): (&str, &str), separator: &str) -> Option<String> {
    let only_in = |of: &str, other: &str| {
        let others: Vec<&str> = other.split(separator).collect();
        let own = of.split(separator).filter(|part| !others.contains(part));
        own.collect::<Vec<_>>().join(separator)
    };
    match (only_in(before, after), only_in(after, before)) {
        (gone, come) if gone == come => None,
        (gone, come) if gone.is_empty() => Some(format!("{name}: also {come}")),
        (gone, come) if come.is_empty() => Some(format!("{name}: no longer {gone}")),
        (gone, come) => Some(format!("{name}: {gone} → {come}")),
    }
}
