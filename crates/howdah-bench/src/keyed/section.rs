//! What is measured: tables and files, the ways beside each other, and the promises about them.

use super::orders::{Ids, Orders};
use super::way::{Way, WhichHowdah};
use crate::scenario::{Chart, Criterion, Figure, Limit, Scenario, Section};

/// The scenario's name.
pub const NAME: &str = "keyed";

const PSQL: &str = "psql \\copy";
const STAGED: &str = "psql, staged";
const HOWDAH: &str = "howdah load";
const ONE: &str = "howdah load --jobs 1";
const REBUILD: &str = "howdah load --indexes rebuild";
const BESIDE: &str = "the howdah beside it";

const APPEND: [(&str, Way); 4] = [
    (PSQL, Way::Psql),
    (HOWDAH, howdah(&["--mode", "append"])),
    (REBUILD, howdah(&["--mode", "append", "--indexes", "rebuild"])),
    (BESIDE, Way::Howdah { program: WhichHowdah::Beside, options: &["--mode", "append"] }),
];

const UPSERT: [(&str, Way); 4] = [
    (STAGED, Way::PsqlStaged),
    (HOWDAH, howdah(&["--mode", "upsert"])),
    (ONE, howdah(&["--mode", "upsert", "--jobs", "1"])),
    (BESIDE, Way::Howdah { program: WhichHowdah::Beside, options: &["--mode", "upsert"] }),
];

const fn howdah(options: &'static [&'static str]) -> Way {
    Way::Howdah { program: WhichHowdah::Measured, options }
}

/// A table, a file, and how often each way brings it.
pub(super) struct Trial {
    /// The name by which it is asked for.
    pub(super) name: &'static str,
    /// The name of its section: the same, unless many are asked for by one name.
    pub(super) section: String,
    pub(super) orders: Orders,
    /// Series and ways.
    pub(super) ways: &'static [(&'static str, Way)],
    /// If true, a first round warms up and does not count.
    pub(super) warm_up: bool,
    /// More rounds than these are not run, however many are asked for.
    pub(super) most_rounds: u32,
}

/// All of them; a `quick` one has a hundredth of the rows.
pub(super) fn trials(quick: bool) -> Vec<Trial> {
    let million = if quick { 10_000 } else { 1_000_000 };
    let append = |name: &'static str, ids, held, brought, refers, most_rounds| Trial {
        name,
        section: name.to_owned(),
        orders: Orders { ids, held, brought, half_are_held: false, indexes: 2, refers },
        ways: &APPEND,
        warm_up: true,
        most_rounds,
    };
    let upsert = |name: &'static str, ids| Trial {
        name,
        section: name.to_owned(),
        orders: Orders {
            ids,
            held: 3 * million,
            brought: 2 * million,
            half_are_held: true,
            indexes: 2,
            refers: false,
        },
        ways: &UPSERT,
        warm_up: true,
        most_rounds: 5,
    };
    vec![
        append("append-ascending", Ids::Ascending, 3 * million, 2 * million, false, u32::MAX),
        append("append-random", Ids::Random, 3 * million, 2 * million, false, u32::MAX),
        append("append-uuid", Ids::Uuid, 3 * million, 2 * million, false, u32::MAX),
        append("append-few", Ids::Random, 3 * million, 3 * million / 10, false, 5),
        append("append-foreign-key", Ids::Ascending, 3 * million, 2 * million, true, 5),
        upsert("upsert-ascending", Ids::Ascending),
        upsert("upsert-random", Ids::Random),
        append("append-large", Ids::Random, 20 * million, 2 * million, false, 3),
    ]
}

/// How the records are to be read.
pub const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "Tables with keys",
    question: "What does a load into a table with rows, a key and indexes cost?",
    study: None,
    // Its runs are not cells: each begins with a copy of a database.
    cells: |_| Vec::new(),
    sections: &[
        section("append-ascending", "2 M rows into 3 M, ascending ids", TWICE_AND_THRICE),
        section("append-random", "2 M rows into 3 M, random ids", TWICE_AND_THRICE),
        section("append-uuid", "2 M rows into 3 M, uuids", TWICE_AND_THRICE),
        section("append-few", "300,000 rows into 3 M, random ids", TWICE),
        section("append-foreign-key", "2 M rows into 3 M, ascending ids, a foreign key", TWICE),
        section("upsert-ascending", "Upsert of 1 M old and 1 M new rows, ascending ids", UPSERTS),
        section("upsert-random", "Upsert of 1 M old and 1 M new rows, random ids", UPSERTS),
        section("append-large", "2 M rows into 20 M, random ids", TWICE),
    ],
    caveats: &[
        "Howdahs are timed from their start to their end. Client and server share the machine's cores.",
        "All runs share one server with max_wal_size 8GB; before each of them the table's database is copied from a \
         template, by files, and a CHECKPOINT is run.",
    ],
};

const TWICE: &[Criterion] = &[Criterion {
    promise: "append: psql ÷ howdah",
    figure: Figure::Ratio { of: PSQL, to: &[HOWDAH] },
    limit: Limit::AtLeast(2.0),
}];

const TWICE_AND_THRICE: &[Criterion] = &[
    TWICE[0],
    Criterion {
        promise: "append: psql ÷ howdah, indexes rebuilt",
        figure: Figure::Ratio { of: PSQL, to: &[REBUILD] },
        limit: Limit::AtLeast(3.0),
    },
];

const UPSERTS: &[Criterion] = &[
    Criterion {
        promise: "upsert: psql, staged ÷ howdah",
        figure: Figure::Ratio { of: STAGED, to: &[HOWDAH] },
        limit: Limit::AtLeast(2.5),
    },
    Criterion {
        promise: "upsert: the howdah beside it ÷ howdah",
        figure: Figure::Ratio { of: BESIDE, to: &[HOWDAH] },
        limit: Limit::AtLeast(1.7),
    },
];

const fn section(name: &'static str, title: &'static str, criteria: &'static [Criterion]) -> Section {
    Section {
        name,
        title,
        chart: Chart::Bars,
        note: "The table has a primary key and indexes on two other columns. Ratios are taken within a round.",
        criteria,
        published: &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_measured_and_judged_by_series_that_it_has() {
        let trials = trials(false);
        let measured: Vec<&str> = trials.iter().map(|one| one.name).collect();
        assert_eq!(SCENARIO.sections.iter().map(|section| section.name).collect::<Vec<_>>(), measured);
        for (section, trial) in SCENARIO.sections.iter().zip(&trials) {
            let has = |series: &str| trial.ways.iter().any(|(name, _)| *name == series);
            for criterion in section.criteria {
                let Figure::Ratio { of, to } = criterion.figure else { panic!("{}", criterion.promise) };
                assert!(has(of) && to.iter().all(|series| has(series)), "{}", criterion.promise);
            }
        }
    }
}
