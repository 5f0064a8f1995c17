//! What a scenario asks and how its sections are to be read and drawn; its cells say what is run.

/// One study taken up again.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The name on the command line.
    pub name: &'static str,
    /// The heading in reports.
    pub title: &'static str,
    /// What it answers, in a sentence.
    pub question: &'static str,
    /// The study, 1 to 5, that it takes up, if it is one.
    pub study: Option<u8>,
    /// In the order of reports.
    pub sections: &'static [Section],
    /// What its figures do not say.
    pub caveats: &'static [&'static str],
}

/// What one chart shows.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// The name within its scenario.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// The form of its chart.
    pub chart: Chart,
    /// What a reader should look at, and what not to conclude.
    pub note: &'static str,
    /// What the study printed, beside which the measured figures stand.
    pub published: &'static [Published],
}

/// The form of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chart {
    /// Rows a second of each series over the axis of that name, both logarithmic.
    Curves {
        /// What `x` counts.
        axis: &'static str,
    },
    /// Rows a second against latency, a point a series.
    Tradeoff,
    /// Latencies of each series over the axis of that name.
    Latencies {
        /// What `x` counts.
        axis: &'static str,
    },
    /// Latencies of each series over the time of its run.
    Course,
    /// Rows a second of each series, the fastest first.
    Bars,
    /// One factor a step, in the order of the records: each step's gain over the one before.
    Waterfall,
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
    /// Where the figure misleads; empty where it does not.
    pub but: &'static str,
}
