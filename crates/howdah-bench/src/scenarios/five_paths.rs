//! Study 1: five ways of writing a million GitHub events, and the ladder between the first and the last that it lacks.

use crate::cell::{Cell, Loading, Method};
use crate::dataset::Dataset;
use crate::scenario::{Chart, Scale, Scenario, Section, published};

const NAME: &str = "five-paths";
const PATHS: (&str, &str) = (NAME, "paths");
const LADDER: (&str, &str) = (NAME, "ladder");

/// Study 1's server for its last path.
pub(super) const LAB: [(&str, &str); 6] = [
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("checkpoint_timeout", "30min"),
    ("max_wal_size", "8GB"),
    ("shared_buffers", "512MB"),
];

pub(super) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "Paths for events into a table",
    question: "How much faster than a row at a time can typed rows become, and what makes it so?",
    study: Some(1),
    cells,
    sections: &[
        Section {
            name: "paths",
            title: "The study's five paths, and howdah's own",
            chart: Chart::Bars,
            note: "The study's last path differs from the one before in its types, in FREEZE, in who reads the file, and in \
                   a server that gives up the data after a crash. The ladder takes such changes one by one. From \
                   COPY CSV to unlogged, the server also stops creating log files.",
            criteria: &[],
            published: &[
                published("naive INSERT", 983.0, "its commits wait for a network disk"),
                published("batched INSERT", 32_927.0, "stores '' where the COPY paths store NULL"),
                published("COPY CSV", 255_754.0, ""),
                published("COPY CSV, unlogged", 308_642.0, "also without synchronous_commit"),
                published(
                    "raw landing",
                    775_194.0,
                    "also unlogged, FREEZE, a file on the server, and fsync, full_page_writes and \
                     synchronous_commit off: not the price of parsing types",
                ),
            ],
        },
        Section {
            name: "ladder",
            title: "The ladder: step by step",
            chart: Chart::Waterfall,
            note: "Each step changes one thing of the step before it, but for the last, which changes three settings. Where \
                   the runs of two steps overlap, the step may be chance. \"Without waiting\" and \"1,000 rows a statement\" \
                   also measure howdah's client: other clients that do not wait are faster (peers). The step to an \
                   unlogged table is also one from a server that creates its log files to one that writes none, so it \
                   is not the price of the log. From there on a crash takes the rows, and the settings of the last \
                   steps matter little to a table that is not in the log. What fsync and full_page_writes cost a \
                   logged table is not measured.",
            criteria: &[],
            published: &[],
        },
    ],
    caveats: &[
        super::NEW_LOG_FILES,
        "No index, no key, no trigger: tables in use have them.",
        "The landing paths leave all values as text: validating and casting them is still to be done.",
    ],
};

fn cells(scale: &Scale) -> Vec<Cell> {
    let rows = scale.rows(1_000_000, 20_000);
    let data = (Dataset::GithubEvents, rows);
    let load = |place, series: &str, loading| Cell::new(place, series, data, Method::Load(loading));

    let mut unlogged = load(PATHS, "COPY CSV, unlogged", Loading::by("copy-csv"));
    unlogged.table.unlogged = true;
    unlogged.settings = vec![("synchronous_commit", "off"), ("maintenance_work_mem", "1GB")];
    let mut landing = Cell::new(PATHS, "raw landing", data, Method::ServerFile { freeze: true });
    landing.table.unlogged = true;
    landing.table.all_text = true;
    landing.settings = LAB.to_vec();
    let mut cells = vec![
        load(PATHS, "naive INSERT", Loading::by("insert-autocommit")),
        load(PATHS, "batched INSERT", Loading::by("values").rows_per_statement(7_000)),
        load(PATHS, "COPY CSV", Loading::by("copy-csv")),
        unlogged,
        landing,
        load(PATHS, "howdah, binary COPY", Loading::by("copy-binary")),
        load(PATHS, "howdah, binary COPY, a connection a core", Loading::by("copy-binary").over(scale.cores)),
        load(PATHS, "no-op", Loading::nothing()),
    ];
    cells.extend(ladder(data));
    cells
}

fn ladder(data: (Dataset, u64)) -> Vec<Cell> {
    let load = |series: &str, path| Cell::new(LADDER, series, data, Method::Load(Loading::by(path)));
    let mut cells = vec![
        load("naive INSERT", "insert-autocommit"),
        load("one commit", "insert"),
        load("prepared", "insert-prepared"),
        load("without waiting", "insert-pipelined"),
        load("1,000 rows a statement", "values-prepared"),
        load("COPY text", "copy-text"),
        load("COPY binary", "copy-binary"),
        load("COPY CSV", "copy-csv"),
    ];
    let mut step = load("all-text table", "copy-csv");
    step.table.all_text = true;
    cells.push(step.clone());
    let mut next = |series: &str, change: &dyn Fn(&mut Cell)| {
        series.clone_into(&mut step.series);
        change(&mut step);
        cells.push(step.clone());
    };
    next("file on the server", &|step| step.method = Method::ServerFile { freeze: false });
    next("unlogged", &|step| step.table.unlogged = true);
    next("FREEZE", &|step| step.method = Method::ServerFile { freeze: true });
    next("synchronous_commit off", &|step| step.settings.push(("synchronous_commit", "off")));
    next("full_page_writes off", &|step| step.settings.push(("full_page_writes", "off")));
    next("fsync off", &|step| step.settings.push(("fsync", "off")));
    next("fewer checkpoints, more memory", &|step| step.settings = LAB.to_vec());
    // Runs are in no order, steps are.
    (1..).zip(cells).map(|(step, cell): (u32, Cell)| cell.at(f64::from(step))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Durability;

    #[test]
    fn a_step_of_the_ladder_changes_as_much_as_it_says_and_says_what_a_crash_leaves() {
        let steps = ladder((Dataset::GithubEvents, 1));
        let what = |cell: &Cell| (cell.command(), cell.table_in_words(), cell.settings_map());
        for pair in steps.windows(2) {
            let (before, after) = (what(&pair[0]), what(&pair[1]));
            let settings = after.2.iter().filter(|(name, value)| before.2.get(*name) != Some(*value)).count();
            let changed = [usize::from(before.0 != after.0), usize::from(before.1 != after.1), settings];
            // The last one is said to change three.
            let allowed = if pair[1].series == "fewer checkpoints, more memory" { 3 } else { 1 };
            assert_eq!(changed.into_iter().sum::<usize>(), allowed, "{}", pair[1].series);
        }
        let labels: Vec<Durability> = steps.iter().map(Cell::durability).collect();
        assert!(labels.is_sorted(), "no step makes rows safer: {labels:?}");
        assert_eq!(labels.last(), Some(&Durability::LabOnly));
    }
}
