//! What a service is told: how its buffer is set, and when rows are offered to it.

use howdah::writer::WriterOptions;
use serde::{Deserialize, Serialize};

use super::pace::Step;
use crate::number::thousands;

/// The buffer between producers and the server; None leaves a choice to the measured program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Buffer {
    /// Connections that batches are written over.
    pub connections: Option<u32>,
    /// Rows of a batch at most.
    pub max_rows: Option<u64>,
    /// Milliseconds that a row waits for others at most.
    pub interval_ms: Option<f64>,
    /// Rows that are not acknowledged yet at most; producers wait for room.
    pub queue_rows: Option<u64>,
    /// The statements that a batch is sent as.
    pub path: Path,
    /// If true, it may choose sizes and connections itself, within the bounds given.
    pub adaptive: bool,
    /// Milliseconds that rows should take at most.
    pub latency_target_ms: Option<f64>,
    /// Batches are made, acknowledged and forgotten.
    pub discard: bool,
}

/// The statements that a batch is sent as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// The writer chooses what suits the batch's size.
    #[default]
    Auto,
    /// COPY.
    Copy,
    /// INSERT.
    Insert,
}

/// The way in which rows are offered to a service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offer {
    /// Producers each wait for their row's acknowledgement before they offer the next.
    Waiting {
        /// The number of producers.
        producers: u32,
    },
    /// One producer that offers rows as fast as they are taken, and so keeps the queue full.
    Full,
    /// Like [`Offer::Full`], but acknowledgements are not asked for until the end.
    Unasked,
    /// At shares of the rate that [`Offer::Full`] reached here a moment ago.
    OfPeak {
        /// The buffer whose peak it is.
        peak: Peak,
        /// 1 is that rate.
        shares: Vec<f64>,
        /// Of each share.
        seconds: f64,
    },
    /// At moments that rates set, whatever became of the rows before: latency counts from these moments.
    Paced {
        /// One after the other.
        steps: Vec<Step>,
    },
}

/// The buffer whose highest rate is the peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peak {
    /// That of howdah's Writer with its own settings: all get the same rates.
    Common,
    /// That of the buffer itself.
    Own,
}

impl Buffer {
    /// A buffer of fixed size: batches of `max_rows`, sent after `interval_ms`, over `connections`; as in study 5 as many rows
    /// waiting as all connections can have under way.
    #[must_use]
    pub fn fixed(path: Path, connections: u32, max_rows: u64, interval_ms: f64) -> Self {
        Buffer {
            connections: Some(connections),
            max_rows: Some(max_rows),
            interval_ms: Some(interval_ms),
            queue_rows: Some(2 * max_rows * u64::from(connections)),
            path,
            ..Buffer::default()
        }
    }

    /// Returns a buffer that chooses all settings itself, with a latency target in milliseconds if there is one.
    #[must_use]
    pub fn adaptive(latency_target_ms: Option<f64>) -> Self {
        Buffer { adaptive: true, latency_target_ms, ..Buffer::default() }
    }

    /// Connections; without a number, as many as a writer has by default.
    #[must_use]
    pub fn connections(&self) -> u32 {
        let own = || u32::try_from(WriterOptions::default().connections).unwrap_or(u32::MAX);
        self.connections.unwrap_or_else(own)
    }

    /// Returns the same buffer, but one that writes nothing.
    #[must_use]
    pub fn discarding(self) -> Self {
        Buffer { discard: true, ..self }
    }

    /// Describes it for people.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut words = Vec::new();
        words.push(match (self.discard, self.path) {
            (true, _) => "nothing is written".to_owned(),
            (_, Path::Auto) => "path by size".to_owned(),
            (_, Path::Copy) => "COPY".to_owned(),
            (_, Path::Insert) => "INSERT".to_owned(),
        });
        words.extend(self.adaptive.then(|| "adaptive".to_owned()));
        words.extend(self.latency_target_ms.map(|ms| format!("latency target {} ms", thousands(ms))));
        words.extend(self.connections.map(|connections| format!("{connections} connections")));
        words.extend(self.max_rows.map(|rows| format!("batches of {} rows", thousands(rows as f64))));
        words.extend(self.interval_ms.map(|ms| format!("{} ms", thousands(ms))));
        words.extend(self.queue_rows.map(|rows| format!("queue of {}", thousands(rows as f64))));
        words.join(", ")
    }
}

impl Offer {
    /// This offer with rates instead of shares.
    #[must_use]
    pub fn at_peak(&self, rows_per_s: f64) -> Offer {
        match self {
            Offer::OfPeak { shares, seconds, .. } => {
                let step = |share: &f64| Step { rows_per_s: share * rows_per_s, seconds: *seconds };
                Offer::Paced { steps: shares.iter().map(step).collect() }
            }
            other => other.clone(),
        }
    }

    /// Describes it for people.
    #[must_use]
    pub fn in_words(&self) -> String {
        let list = |figures: Vec<String>| figures.join(" → ");
        match self {
            Offer::Waiting { producers: 1 } => "one producer that waits for each row".to_owned(),
            Offer::Waiting { producers } => format!("{producers} producers that wait for each row"),
            Offer::Full => "one producer that keeps the queue full".to_owned(),
            Offer::Unasked => "one producer that does not ask".to_owned(),
            Offer::OfPeak { peak, shares, .. } => {
                let shares = shares.iter().map(|share| thousands((share * 100.0).round())).collect();
                let whose = if *peak == Peak::Own { "its own" } else { "the" };
                format!("{} % of {whose} peak", list(shares))
            }
            Offer::Paced { steps } => {
                let rates = steps.iter().map(|step| thousands(step.rows_per_s.round())).collect();
                format!("{} rows/s", list(rates))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_rates_and_everything_else_stays() {
        let offer = Offer::OfPeak { peak: Peak::Common, shares: vec![0.2, 0.9], seconds: 3.0 };
        assert_eq!(offer.in_words(), "20 → 90 % of the peak");
        let paced = offer.at_peak(1_000.0);
        let steps = vec![Step { rows_per_s: 200.0, seconds: 3.0 }, Step { rows_per_s: 900.0, seconds: 3.0 }];
        assert_eq!(paced, Offer::Paced { steps });
        assert_eq!(Offer::Full.at_peak(5.0), Offer::Full);
    }

    #[test]
    fn a_buffer_is_told_with_all_that_decides_its_figures() {
        let words = Buffer::fixed(Path::Copy, 20, 100, 2.5).in_words();
        assert_eq!(words, "COPY, 20 connections, batches of 100 rows, 2.5 ms, queue of 4,000");
        let words = Buffer::adaptive(Some(5.0)).discarding().in_words();
        assert_eq!(words, "nothing is written, adaptive, latency target 5 ms");
    }
}
