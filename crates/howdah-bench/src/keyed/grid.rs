//! Whether `--indexes auto` knows which of its two ways is faster: both ways, and its own estimate, for tables and inputs of
//! many kinds. One grid is what the estimate was made from, the other one is new to it.

use std::fmt::Write;

use howdah_doctor::statistics::Spread;

use super::orders::{Ids, Orders};
use super::section::Trial;
use super::way::{Way, WhichHowdah};
use crate::record::Record;

/// The names of the grids.
pub const NAMES: [&str; 2] = ["grid", "second-grid"];

const KEEP: &str = "--indexes keep";
const REBUILD: &str = "--indexes rebuild";
const AUTO: &str = "--indexes auto";

const WAYS: [(&str, Way); 3] = [
    (KEEP, howdah(&["--mode", "append", "--indexes", "keep"])),
    (REBUILD, howdah(&["--mode", "append", "--indexes", "rebuild"])),
    (AUTO, howdah(&["--mode", "append", "--indexes", "auto"])),
];

/// Ways nearer than this are as fast as each other: neither is a mistake.
const SAME: f64 = 1.05;

const fn howdah(options: &'static [&'static str]) -> Way {
    Way::Howdah { program: WhichHowdah::Measured, options }
}

/// All settings of both grids; `quick` ones have a hundredth of the rows.
pub(super) fn settings(quick: bool) -> Vec<Trial> {
    let million: u64 = if quick { 10_000 } else { 1_000_000 };
    let mut settings = Vec::new();
    for ids in [Ids::Ascending, Ids::Random] {
        for indexes in [0, 2] {
            for percent in [3, 10, 25, 50, 100] {
                settings.push(setting(NAMES[0], (million, percent), ids, indexes, false));
            }
        }
    }
    for (ids, indexes, refers) in
        [(Ids::Random, 1, false), (Ids::Random, 4, false), (Ids::Uuid, 2, false), (Ids::Ascending, 2, true)]
    {
        for percent in [5, 15, 35, 70, 200] {
            settings.push(setting(NAMES[1], (million * 3 / 2, percent), ids, indexes, refers));
        }
    }
    settings
}

/// A table that holds rows, and an input of that many per cent of them.
fn setting(name: &'static str, (held, percent): (u64, u64), ids: Ids, indexes: usize, refers: bool) -> Trial {
    let orders = Orders { ids, held, brought: held * percent / 100, half_are_held: false, indexes, refers };
    let section = format!("{name}: {percent} % into {}", orders.in_words());
    Trial { name, section, orders, ways: &WAYS, warm_up: false, most_rounds: u32::MAX }
}

/// The settings of the grids with what was measured and what was estimated, as Markdown; None where there are none.
#[must_use]
pub fn verdict(records: &[Record]) -> Option<String> {
    let sections = sections(records);
    if sections.is_empty() {
        return None;
    }
    let mut text =
        String::from("| setting | keep, s | rebuild, s | gain | estimated | auto built again | right |\n");
    text += "| --- | --- | --- | --- | --- | --- | --- |\n";
    let mut right = 0;
    for Setting { section, kept_s, rebuilt_s, estimated, chose_rebuild } in &sections {
        let measured = kept_s / rebuilt_s;
        let is_same = measured < SAME && measured > 1.0 / SAME;
        let is_right = is_same || (*estimated > 1.0) == (measured > 1.0);
        right += usize::from(is_right);
        let chosen = if *chose_rebuild { "yes" } else { "no" };
        let verdict = if is_right { "yes" } else { "**no**" };
        let [measured, estimated] = [measured, *estimated].map(|gain| format!("{gain:.2} ×"));
        let _ = writeln!(
            text,
            "| {section} | {kept_s:.2} | {rebuilt_s:.2} | {measured} | {estimated} | {chosen} | {verdict} |"
        );
    }
    let _ = writeln!(text, "\nThe faster way was known in {right} of {} settings.", sections.len());
    Some(text)
}

struct Setting {
    section: String,
    kept_s: f64,
    rebuilt_s: f64,
    estimated: f64,
    chose_rebuild: bool,
}

fn sections(records: &[Record]) -> Vec<Setting> {
    let is_of_grid =
        |record: &&Record| NAMES.iter().any(|name| record.section.starts_with(&format!("{name}:")));
    let mut names: Vec<&str> = Vec::new();
    for record in records.iter().filter(is_of_grid) {
        if !names.contains(&record.section.as_str()) {
            names.push(&record.section);
        }
    }
    names.into_iter().filter_map(|name| of(name, records)).collect()
}

/// The medians of a section; None where a way was not measured, or too little came for an estimate.
fn of(section: &str, records: &[Record]) -> Option<Setting> {
    let counts = |series: &'static str| {
        records.iter().filter(move |record| {
            record.section == section && record.series == series && record.outcome.counts()
        })
    };
    let median = |series| Spread::of(counts(series).map(|record| record.seconds)).map(|spread| spread.median);
    let plan = &counts(AUTO).next()?.evidence.report.as_ref()?["plan"];
    Some(Setting {
        section: section.to_owned(),
        kept_s: median(KEEP)?,
        rebuilt_s: median(REBUILD)?,
        estimated: plan["rebuild_gain"].as_f64()?,
        chose_rebuild: plan["rebuilt"].is_array(),
    })
}
