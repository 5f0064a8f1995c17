//! What all the records say, scenario by scenario: the one source of every form of the report.

use serde::Serialize;

pub use super::cell::{ReportCell, Trouble};
pub use super::criteria::Promise;
use super::{criteria, headline, rank};
use crate::record::Record;
use crate::scenario::{Chart, Published, Scenario, Section};

/// Everything that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// In the order of the scenarios given; those that are no longer known come last.
    pub scenarios: Vec<ScenarioSummary>,
    /// Runs that count.
    pub runs: usize,
    /// Those of them that were only to show that everything works.
    pub quick: usize,
    /// Runs that came to nothing.
    pub troubles: usize,
}

/// One scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScenarioSummary {
    /// The scenario's name on the command line.
    pub name: String,
    /// The scenario's heading.
    pub title: String,
    /// The question that it answers.
    pub question: String,
    /// Notes on what its figures do not say.
    pub caveats: Vec<String>,
    /// The sections that were run.
    pub sections: Vec<SectionSummary>,
}

/// One section.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SectionSummary {
    /// The section's name.
    pub name: String,
    /// The section's heading.
    pub title: String,
    /// A note on what to look at.
    pub note: String,
    /// The form of its chart: `curves`, `tradeoff`, `latencies`, `course`, `bars` or `waterfall`.
    pub chart: &'static str,
    /// The name of the axis, where there is one.
    pub axis: Option<String>,
    /// The result, in a sentence or two.
    pub headline: String,
    /// In the order of the chart.
    pub cells: Vec<ReportCell>,
    /// The promises about its figures, each with whether it is kept.
    pub promises: Vec<Promise>,
    /// A sentence on the share of the machine that other programs took; empty where that was not measured.
    pub elsewhere: String,
    /// Figures that a study printed, beside ours: those that were measured here, too.
    pub published: Vec<PublishedFigure>,
    /// How many more the study printed.
    pub published_elsewhere: usize,
}

/// A printed figure and ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedFigure {
    /// The series of ours that does the same.
    pub series: String,
    /// The place on the axis.
    pub x: Option<f64>,
    /// Rows a second as printed.
    pub rows_per_s: f64,
    /// Rows a second here, on as many rows as the place says.
    pub measured: f64,
    /// The step to which these are rounded.
    pub rounded_to: f64,
    /// The reason why the printed figure misleads; empty where it does not.
    pub but: String,
}

impl Summary {
    /// Sums up `records`; `scenarios` say how to read them.
    #[must_use]
    pub fn of(records: &[Record], scenarios: &[Scenario]) -> Self {
        let names = in_order(
            scenarios.iter().map(|scenario| scenario.name),
            records.iter().map(|record| record.scenario.as_str()),
        );
        let counts = |record: &&Record| record.repetition > 0 && record.outcome.counts();
        Summary {
            scenarios: names.into_iter().map(|name| one_scenario(name, records, scenarios)).collect(),
            runs: records.iter().filter(counts).count(),
            quick: records.iter().filter(counts).filter(|record| record.conditions.quick).count(),
            troubles: records.iter().filter(|record| !record.outcome.counts()).count(),
        }
    }

    /// Every section.
    pub fn sections(&self) -> impl Iterator<Item = &SectionSummary> {
        self.scenarios.iter().flat_map(|scenario| &scenario.sections)
    }

    /// Every cell with the scenario and section it stands in.
    pub fn cells(&self) -> impl Iterator<Item = (&ScenarioSummary, &SectionSummary, &ReportCell)> {
        self.scenarios.iter().flat_map(|scenario| {
            let sections = scenario.sections.iter();
            sections.flat_map(move |section| section.cells.iter().map(move |cell| (scenario, section, cell)))
        })
    }
}

/// The names that occur, the known ones first.
fn in_order<'a>(
    known: impl Iterator<Item = &'a str>,
    occurring: impl Iterator<Item = &'a str>,
) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for name in occurring {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    let mut ordered: Vec<&str> = known.filter(|name| all.contains(name)).collect();
    ordered.extend(all.iter().filter(|name| !ordered.contains(*name)).copied().collect::<Vec<_>>());
    ordered
}

fn one_scenario(name: &str, records: &[Record], scenarios: &[Scenario]) -> ScenarioSummary {
    let own: Vec<&Record> = records.iter().filter(|record| record.scenario == name).collect();
    let known = scenarios.iter().find(|scenario| scenario.name == name);
    let sections = known.map_or(&[][..], |scenario| scenario.sections);
    let names = in_order(
        sections.iter().map(|section| section.name),
        own.iter().map(|record| record.section.as_str()),
    );
    let summarize = |section: &str| {
        let own: Vec<&Record> = own.iter().copied().filter(|record| record.section == section).collect();
        one_section(section, &own, sections.iter().find(|known| known.name == section))
    };
    ScenarioSummary {
        name: name.to_owned(),
        title: known.map_or(name, |scenario| scenario.title).to_owned(),
        question: known.map_or("", |scenario| scenario.question).to_owned(),
        caveats: known.map_or(&[][..], |it| it.caveats).iter().map(|&it| it.to_owned()).collect(),
        sections: names.into_iter().map(summarize).collect(),
    }
}

fn one_section(name: &str, records: &[&Record], known: Option<&Section>) -> SectionSummary {
    let mut cells = cells(records);
    // A section that no scenario knows any more is shown all the same.
    let places = cells.iter().any(|cell| cell.x.is_some());
    let chart = known.map_or(if places { Chart::Curves { axis: "x" } } else { Chart::Bars }, |it| it.chart);
    match chart {
        Chart::Curves { .. } | Chart::Tradeoff | Chart::Bars => rank::compare(&mut cells),
        // Their rates are set.
        Chart::Latencies { .. } | Chart::Course => {}
        Chart::Waterfall => {
            cells.sort_by(|a, b| place(a.x).total_cmp(&place(b.x)));
            rank::steps(&mut cells);
            // Steps have numbers, but they are compared with each other.
            let numbers: Vec<_> = cells.iter_mut().map(|cell| cell.x.take()).collect();
            rank::compare(&mut cells);
            cells.iter_mut().zip(numbers).for_each(|(cell, number)| cell.x = number);
        }
    }
    if matches!(chart, Chart::Bars | Chart::Tradeoff) {
        cells.sort_by(|a, b| {
            place(a.x)
                .total_cmp(&place(b.x))
                .then(b.median().unwrap_or(-1.0).total_cmp(&a.median().unwrap_or(-1.0)))
        });
    }
    let printed = known.map_or(&[][..], |section| section.published);
    let published: Vec<_> = printed.iter().filter_map(|figure| beside(figure, &cells)).collect();
    SectionSummary {
        name: name.to_owned(),
        title: known.map_or(name, |section| section.title).to_owned(),
        note: known.map_or("", |section| section.note).to_owned(),
        chart: match chart {
            Chart::Curves { .. } => "curves",
            Chart::Tradeoff => "tradeoff",
            Chart::Latencies { .. } => "latencies",
            Chart::Course => "course",
            Chart::Bars => "bars",
            Chart::Waterfall => "waterfall",
        },
        axis: match chart {
            Chart::Curves { axis } | Chart::Latencies { axis } => Some(axis.to_owned()),
            Chart::Tradeoff | Chart::Course | Chart::Bars | Chart::Waterfall => None,
        },
        headline: headline::of(chart, &cells),
        promises: criteria::judge(known.map_or(&[][..], |section| section.criteria), records),
        elsewhere: criteria::elsewhere(records),
        cells,
        published_elsewhere: printed.len() - published.len(),
        published,
    }
}

/// A printed figure beside ours, if there is one on as many rows.
fn beside(printed: &Published, cells: &[ReportCell]) -> Option<PublishedFigure> {
    let is_of =
        |cell: &&ReportCell| cell.series == printed.series && (printed.x.is_none() || cell.x == printed.x);
    let cell = cells.iter().find(is_of).filter(|cell| cell.in_place())?;
    Some(PublishedFigure {
        series: printed.series.to_owned(),
        x: printed.x,
        rows_per_s: printed.rows_per_s,
        measured: cell.median()?,
        rounded_to: cell.rounded_to,
        but: printed.but.to_owned(),
    })
}

/// Series in the order in which they first occur, each along the axis.
fn cells(records: &[&Record]) -> Vec<ReportCell> {
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    let mut series: Vec<&str> = Vec::new();
    for record in records {
        if !series.contains(&record.series.as_str()) {
            series.push(&record.series);
        }
        match groups.iter_mut().find(|group| group[0].series == record.series && group[0].x == record.x) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    let rank = |group: &[&Record]| series.iter().position(|name| *name == group[0].series);
    groups.sort_by(|a, b| rank(a).cmp(&rank(b)).then(place(a[0].x).total_cmp(&place(b[0].x))));
    groups.iter().filter_map(|group| ReportCell::of(group)).collect()
}

fn place(x: Option<f64>) -> f64 {
    x.unwrap_or(f64::NEG_INFINITY)
}
