//! Counters become what a person wants to know: rates, estimates, and as many of them as a line has room for.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use howdah::control::{Phase, Reading, Snapshot};
use howdah::stream::StreamProgress;

use crate::figures::{self, bytes, count, rate, remaining, visible, whole};

/// Before that, an estimate of the time left jumps about.
const ESTIMATE_AFTER: Duration = Duration::from_secs(1);
/// Names of files are cut in front: what differs stands at their end.
const NAME_CHARS: usize = 30;

/// A stream's rate is that of so long: now, and yet readable.
const RATE_OVER: Duration = Duration::from_secs(3);

/// What is shown at one moment.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct View {
    pub(crate) phase: &'static str,
    /// How much of the input is read, when its size is known.
    pub(crate) fraction: Option<f64>,
    rows: Option<String>,
    /// Bytes read, of all when known.
    bytes: Option<String>,
    rate: Option<String>,
    left: Option<String>,
    /// Which of several inputs, and its name.
    input: Option<(String, String)>,
    /// How long a phase without counters lasts.
    since: Option<String>,
    /// What else there is, the most important first.
    more: Vec<String>,
}

impl View {
    /// Something that is no load: what is being done, and how much of its time is over.
    pub(crate) fn of_work(phase: &'static str, fraction: f64, doing: String) -> View {
        View { phase, fraction: Some(fraction.clamp(0.0, 1.0)), more: vec![doing], ..View::default() }
    }

    /// All of it.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.phase, self.figures(0))
    }

    /// As much of it as fits into `columns`; what matters least goes first.
    pub(crate) fn fitting(&self, columns: usize) -> String {
        let fits = |figures: &String| figures.chars().count() <= columns;
        (0..LEVELS).map(|level| self.figures(level)).find(fits).unwrap_or_else(|| self.figures(LEVELS))
    }

    /// The figures, fewer with every level.
    fn figures(&self, level: usize) -> String {
        let percent = self.fraction.map(|part| format!("{:.0} %", (part * 100.0).floor()));
        let bytes = match (&self.bytes, &percent) {
            (Some(bytes), Some(percent)) if level == 0 => Some(format!("{bytes} ({percent})")),
            (_, Some(percent)) => Some(percent.clone()),
            (bytes, None) => bytes.clone(),
        };
        let input = self.input.as_ref().map(|(number, name)| match level {
            0 | 1 => format!("{number}: {name}"),
            _ => number.clone(),
        });
        let rows = self.rows.clone().filter(|_| level < 4);
        let rate = self.rate.clone().filter(|_| level < 3);
        let input = input.filter(|_| level < 4);
        let left = self.left.clone().filter(|_| level < LEVELS);
        let more = self.more.iter().take(self.more.len().saturating_sub(level)).cloned();
        [rows, bytes, rate, left, input, self.since.clone()]
            .into_iter()
            .flatten()
            .chain(more)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// From everything (0) to a single figure.
const LEVELS: usize = 5;

/// Makes rates and estimates out of counters: each phase has its own clock.
pub(crate) struct Meter {
    phase: Phase,
    since: Instant,
}

impl Meter {
    pub(crate) fn new(start: Instant) -> Self {
        Meter { phase: Phase::default(), since: start }
    }

    /// What the counters say; `reading` is the input in hand.
    pub(crate) fn view(&mut self, at: Snapshot, reading: Option<Reading>, now: Instant) -> View {
        if at.phase != self.phase {
            self.phase = at.phase;
            self.since = now;
        }
        let elapsed = now.duration_since(self.since);
        match at.phase {
            Phase::Inferring => counted("finding types", at, reading, elapsed, None),
            Phase::Judging => counted("judging", at, reading, elapsed, Some(at.rows_read)),
            Phase::Loading => counted("loading", at, reading, elapsed, Some(at.rows_sent)),
            Phase::Planning => waiting("planning", elapsed),
            Phase::Waiting => waiting("waiting for others", elapsed),
            Phase::Indexing => waiting("building indexes", elapsed),
            Phase::Applying => waiting("applying", elapsed),
            Phase::Promoting => waiting("promoting", elapsed),
            Phase::Committing => waiting("committing", elapsed),
            Phase::Analyzing => waiting("analyzing", elapsed),
        }
    }
}

/// Makes a view out of a stream's figures; its rate is that of the last seconds.
pub(crate) struct StreamMeter {
    /// When how many rows were committed, as far back as the rate looks.
    seen: VecDeque<(Instant, u64)>,
}

impl StreamMeter {
    pub(crate) fn new(start: Instant) -> Self {
        StreamMeter { seen: VecDeque::from([(start, 0)]) }
    }

    /// What the figures say.
    pub(crate) fn view(&mut self, at: &StreamProgress, now: Instant) -> View {
        self.seen.push_back((now, at.rows));
        while self.seen.len() > 2 && now.duration_since(self.seen[1].0) >= RATE_OVER {
            self.seen.pop_front();
        }
        let Some(writer) = &at.writer else {
            return View { phase: "waiting", bytes: Some("for the first record".into()), ..View::default() };
        };
        let (since, before) = self.seen[0];
        let seconds = now.duration_since(since).as_secs_f64().max(f64::MIN_POSITIVE);
        let mut more = Vec::new();
        if at.rows_rejected > 0 {
            more.push(format!("{} rejected", count(at.rows_rejected)));
        }
        more.push(format!("queue {}", count(writer.queued_rows as u64)));
        more.push(format!("p99 {}", latency(writer.latency().p99)));
        if writer.retries > 0 {
            more.push(figures::counted(writer.retries, "retry", "retries"));
        }
        View {
            phase: "streaming",
            rows: Some(figures::counted(at.rows, "row", "rows")),
            rate: Some(format!("{} rows/s", rate((at.rows - before) as f64 / seconds))),
            more,
            ..View::default()
        }
    }
}

/// Milliseconds to two digits, seconds above.
fn latency(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        ..9.95 => format!("{ms:.1} ms"),
        ..999.5 => format!("{ms:.0} ms"),
        _ => figures::seconds(time.as_secs_f64()),
    }
}

fn waiting(phase: &'static str, elapsed: Duration) -> View {
    View { phase, since: Some(remaining(elapsed.as_secs_f64())), ..View::default() }
}

fn counted(
    phase: &'static str,
    at: Snapshot,
    reading: Option<Reading>,
    elapsed: Duration,
    rows: Option<u64>,
) -> View {
    let seconds = elapsed.as_secs_f64();
    let fraction = at.bytes_total.map(|total| (at.bytes_read as f64 / total as f64).min(1.0));
    let read = bytes(at.bytes_read);
    let mut view = View {
        phase,
        fraction,
        rows: rows.map(|rows| figures::counted(rows, "row", "rows")),
        bytes: Some(at.bytes_total.map_or(read.clone(), |total| format!("{read} of {}", bytes(total)))),
        input: reading.filter(|reading| reading.of > 1).map(|reading| {
            (
                format!("file {} of {}", count(reading.number as u64), count(reading.of as u64)),
                end_of(&reading.name),
            )
        }),
        ..View::default()
    };
    if elapsed >= ESTIMATE_AFTER {
        view.rate = Some(match rows {
            Some(rows) => format!("{} rows/s", rate(rows as f64 / seconds)),
            None => format!("{}/s", bytes(whole(at.bytes_read as f64 / seconds))),
        });
        view.left = fraction
            .filter(|part| *part > 0.0)
            .map(|part| format!("{} left", remaining(seconds * (1.0 - part) / part)));
    }
    view
}

/// The end of a long name.
fn end_of(name: &str) -> String {
    let name = visible(name);
    match name.char_indices().rev().nth(NAME_CHARS - 1) {
        Some((at, _)) if at > 0 => format!("…{}", &name[at..]),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(phase: Phase, rows: u64, bytes_read: u64, bytes_total: Option<u64>) -> Snapshot {
        Snapshot { rows_read: rows, rows_sent: rows, bytes_read, bytes_total, phase }
    }

    #[test]
    fn rate_and_estimate_belong_to_the_phase_and_not_to_the_time_before_it() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut meter = Meter::new(start);
        let mut line = |at, after| meter.view(at, None, start + after * second).line();
        assert_eq!(line(at(Phase::Planning, 0, 0, None), 3), "planning: 3 s");
        line(at(Phase::Inferring, 0, 0, Some(400)), 3);
        assert_eq!(
            line(at(Phase::Inferring, 0, 100_000_000, Some(400_000_000)), 5),
            "finding types: 100 MB of 400 MB (25 %), 50 MB/s, 6 s left"
        );
        line(at(Phase::Loading, 0, 0, Some(400_000_000)), 20);
        assert_eq!(
            line(at(Phase::Loading, 1_000_000, 100_000_000, Some(400_000_000)), 30),
            "loading: 1,000,000 rows, 100 MB of 400 MB (25 %), 100,000 rows/s, 30 s left"
        );
    }

    #[test]
    fn a_pipe_has_no_end_to_promise() {
        let start = Instant::now();
        let mut meter = Meter::new(start);
        meter.view(at(Phase::Loading, 0, 0, None), None, start);
        let view = meter.view(at(Phase::Loading, 500, 10_000, None), None, start + Duration::from_secs(2));
        assert_eq!(view.line(), "loading: 500 rows, 10 kB, 250 rows/s");
        assert_eq!(view.fraction, None);
    }

    #[test]
    fn a_streams_rate_is_that_of_now_and_the_queue_outlives_the_latency_on_a_narrow_terminal() {
        let start = Instant::now();
        let mut meter = StreamMeter::new(start);
        let second = |n: u32| start + n * Duration::from_secs(1);
        let mut at = StreamProgress::default();
        assert_eq!(meter.view(&at, second(0)).line(), "waiting: for the first record");
        let statistics = at.writer.get_or_insert_default();
        (statistics.retries, statistics.queued_rows) = (2, 7);
        for n in 1..=10 {
            at.rows = u64::from(n) * 1000;
            meter.view(&at, second(n));
        }
        for n in 11..=20 {
            meter.view(&at, second(n));
        }
        let view = meter.view(&at, second(21));
        assert_eq!(view.line(), "streaming: 10,000 rows, 0 rows/s, queue 7, p99 0.0 ms, 2 retries");
        assert_eq!(view.fitting(34), "10,000 rows, 0 rows/s, queue 7");
        assert!(view.fitting(12).chars().count() <= 12);
    }

    #[test]
    fn a_file_that_grew_does_not_overflow_the_bar() {
        let start = Instant::now();
        let after = start + Duration::from_millis(100);
        let view = Meter::new(start).view(at(Phase::Loading, 5, 300, Some(200)), None, after);
        assert_eq!(view.fraction, Some(1.0));
        assert_eq!(view.line(), "loading: 5 rows, 300 B of 200 B (100 %)");
    }

    #[test]
    fn a_narrow_terminal_loses_names_and_rates_before_it_loses_how_far_the_load_is() {
        let start = Instant::now();
        let mut meter = Meter::new(start);
        let reading = |name: &str| Some(Reading { name: name.into(), number: 3, of: 12 });
        meter.view(at(Phase::Loading, 0, 0, Some(400_000_000)), None, start);
        let view = meter.view(
            at(Phase::Loading, 1_000_000, 100_000_000, Some(400_000_000)),
            reading("/var/log/archive/of/the/year/2026-03\n.csv"),
            start + Duration::from_secs(10),
        );
        let all = "1,000,000 rows, 100 MB of 400 MB (25 %), 100,000 rows/s, 30 s left, \
                   file 3 of 12: …hive/of/the/year/2026-03\\n.csv";
        for (columns, shown) in [
            (120, all.to_owned()),
            (100, "1,000,000 rows, 25 %, 100,000 rows/s, 30 s left, file 3 of 12: …".to_owned()),
            (65, "1,000,000 rows, 25 %, 100,000 rows/s, 30 s left, file 3 of 12".to_owned()),
            (50, "1,000,000 rows, 25 %, 30 s left, file 3 of 12".to_owned()),
            (20, "25 %, 30 s left".to_owned()),
            (10, "25 %".to_owned()),
        ] {
            let got = view.fitting(columns);
            assert!(got.starts_with(shown.trim_end_matches('…')), "{columns}: {got}");
            assert!(got.chars().count() <= columns, "{columns}: {got}");
        }
    }
}
