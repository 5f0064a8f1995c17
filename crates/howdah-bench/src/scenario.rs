//! What a scenario asks and how its sections are to be read and drawn; its cells say what is run.

use crate::cell::Cell;

/// One study taken up again.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The name on the command line.
    pub name: &'static str,
    /// The heading in reports.
    pub title: &'static str,
    /// The question that it answers, in a sentence.
    pub question: &'static str,
    /// The study, 1 to 5, that it takes up, if it is one.
    pub study: Option<u8>,
    /// The function that lists its cells, section by section.
    pub cells: fn(&Scale) -> Vec<Cell>,
    /// In the order of reports.
    pub sections: &'static [Section],
    /// Notes on what its figures do not say.
    pub caveats: &'static [&'static str],
}

/// One chart: its cells, its form and the figures beside it.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// The name within its scenario.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// The form of its chart.
    pub chart: Chart,
    /// A note on what a reader should look at, and what not to conclude.
    pub note: &'static str,
    /// The criteria that its figures must meet.
    pub criteria: &'static [Criterion],
    /// Figures that the study printed, beside which the measured ones stand.
    pub published: &'static [Published],
}

/// The form of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chart {
    /// Rows a second of each series over the axis of that name, both logarithmic.
    Curves {
        /// The name of the axis: what `x` counts.
        axis: &'static str,
    },
    /// Rows a second against latency, a point a series.
    Tradeoff,
    /// Latencies of each series over the axis of that name.
    Latencies {
        /// The name of the axis: what `x` counts.
        axis: &'static str,
    },
    /// Latencies of each series over the time of its run.
    Course,
    /// Rows a second of each series, the fastest first.
    Bars,
    /// One factor a step, in the order of the records: each step's gain over the one before.
    Waterfall,
}

/// A promise, and how the runs of a section keep or break it.
#[derive(Debug, Clone, Copy)]
pub struct Criterion {
    /// The promise, in words.
    pub promise: &'static str,
    /// The figure that is taken from the runs.
    pub figure: Figure,
    /// The limit that the figure's median must keep.
    pub limit: Limit,
}

/// A figure of one or two series. Where two are compared, they are compared round by round.
#[derive(Debug, Clone, Copy)]
pub enum Figure {
    /// Seconds of a series over those of another one.
    Ratio {
        /// The series.
        of: &'static str,
        /// The other one; of several, the one with the lowest median.
        to: &'static [&'static str],
    },
    /// Milliseconds that a series takes more than another one.
    MoreMilliseconds {
        /// The series.
        of: &'static str,
        /// The other one.
        than: &'static str,
    },
    /// CPU time of a series above that of another one, as a share of the server's CPU time.
    CpuAbove {
        /// The series.
        of: &'static str,
        /// The other one.
        than: &'static str,
    },
    /// The highest peak memory of all runs of some series, in MiB.
    PeakMemory {
        /// The series.
        of: &'static [&'static str],
    },
    /// The greatest difference between the peak memories of some series, in MiB; of each, the highest peak counts.
    PeakMemoryRange {
        /// The series.
        of: &'static [&'static str],
    },
    /// The growth of the highest memory from the first half of a run to the second, in MiB.
    MemoryGrowth {
        /// The series.
        of: &'static str,
    },
}

/// A limit for a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Not above.
    AtMost(f64),
    /// Not below.
    AtLeast(f64),
}

/// A figure that a study printed.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// The series of ours that does the same.
    pub series: &'static str,
    /// The place on the axis.
    pub x: Option<f64>,
    /// Rows a second.
    pub rows_per_s: f64,
    /// The reason why the figure misleads; empty where it does not.
    pub but: &'static str,
}

/// A figure of a study, for a bar.
pub(crate) const fn published(series: &'static str, rows_per_s: f64, but: &'static str) -> Published {
    Published { series, x: None, rows_per_s, but }
}

/// A table of a study: its series over the places of an axis, each with where it misleads.
pub(crate) const fn published_at<const X: usize, const S: usize, const ALL: usize>(
    places: [f64; X],
    table: [(&'static str, [f64; X], &'static str); S],
) -> [Published; ALL] {
    assert!(X * S == ALL);
    let mut all = [published("", 0.0, ""); ALL];
    let mut at = 0;
    while at < ALL {
        let (series, figures, but) = table[at / X];
        all[at] = Published { x: Some(places[at % X]), ..published(series, figures[at % X], but) };
        at += 1;
    }
    all
}

/// The amount of rows and cells that are run.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Few rows: shows that everything works, and a first order of things.
    pub quick: bool,
    /// Rows instead of the scenario's own.
    pub rows: Option<u64>,
    /// Connections where one is compared with several: the cores of this machine.
    pub cores: u32,
}

impl Scale {
    /// The rows of a section.
    pub(crate) fn rows(&self, full: u64, quick: u64) -> u64 {
        self.rows.unwrap_or(if self.quick { quick } else { full })
    }
}
