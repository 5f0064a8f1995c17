//! How far a load is: a bar on a terminal, a line now and then elsewhere. The only place that knows indicatif.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah::Control;
use howdah::control::{Phase, Snapshot};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::figures::{bytes, count, rate, remaining, whole};
use crate::render::Console;

/// How often the counters are looked at: smooth for the eye, nothing for the processor.
const TICK: Duration = Duration::from_millis(100);
/// A load shorter than this needs no bar; one that flashes up would only disturb.
const BAR_AFTER: Duration = Duration::from_millis(400);
/// Logs want a line now and then, not a film.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Before that, an estimate of the time left jumps about.
const ESTIMATE_AFTER: Duration = Duration::from_secs(1);

/// Watches a load from a thread of its own, which also passes on the load's notices.
pub(crate) struct Progress {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Starts watching; `None` when the console is quiet.
    pub(crate) fn start(control: &Control, console: Console) -> std::io::Result<Option<Self>> {
        if console.is_quiet() {
            return Ok(None);
        }
        let (stop, stopped) = channel();
        let control = control.clone();
        let thread = std::thread::Builder::new()
            .name("progress".into())
            .spawn(move || watch(&control, console, &stopped))?;
        Ok(Some(Progress { stop, thread }))
    }

    /// Takes the bar off the screen and says what is left to say.
    pub(crate) fn finish(self) {
        drop(self.stop);
        // A panic in there has been reported by the panic hook already.
        let _ = self.thread.join();
    }
}

fn watch(control: &Control, console: Console, stopped: &Receiver<()>) {
    let start = Instant::now();
    let terminal = std::io::stderr().is_terminal();
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let mut meter = Meter::new(start);
    let mut next_line = start + LINE_EVERY;
    let mut stopping = false;
    loop {
        let over = matches!(stopped.recv_timeout(TICK), Err(RecvTimeoutError::Disconnected) | Ok(()));
        let mut notices: Vec<(&str, String)> =
            control.take_notices().into_iter().map(|text| ("note", text)).collect();
        if control.is_cancelled() && !stopping && !over {
            stopping = true;
            notices.push(("stopping", "rolling back; the same signal again leaves at once".into()));
        }
        if over {
            bar.finish_and_clear();
        }
        bar.suspend(|| notices.iter().for_each(|(label, text)| console.labelled(label, text)));
        if over {
            return;
        }
        let now = Instant::now();
        let view = meter.view(control.snapshot(), now);
        if terminal {
            if bar.is_hidden() && now.duration_since(start) >= BAR_AFTER {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            draw(&bar, &view, stopping);
        } else if now >= next_line {
            next_line = now + LINE_EVERY;
            console.say(&view.line());
        }
    }
}

fn draw(bar: &ProgressBar, view: &View, stopping: bool) {
    let template = if view.fraction.is_some() {
        "{prefix} {bar:24} {wide_msg}"
    } else {
        "{prefix} {spinner} {wide_msg}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
    }
    bar.set_prefix(if stopping { "stopping" } else { view.phase });
    bar.set_message(view.figures.clone());
    // Thousandths: the bar's eighths of a cell are finer than per cent.
    bar.set_length(1000);
    bar.set_position(whole(view.fraction.unwrap_or(0.0) * 1000.0));
    bar.tick();
}

/// What is shown at one moment.
#[derive(Debug, PartialEq)]
struct View {
    phase: &'static str,
    /// How much of the input is read, when its size is known.
    fraction: Option<f64>,
    figures: String,
}

impl View {
    fn line(&self) -> String {
        format!("{}: {}", self.phase, self.figures)
    }
}

/// Makes rates and estimates out of counters: each phase has its own clock.
struct Meter {
    phase: Phase,
    since: Instant,
}

impl Meter {
    fn new(start: Instant) -> Self {
        Meter { phase: Phase::default(), since: start }
    }

    fn view(&mut self, at: Snapshot, now: Instant) -> View {
        if at.phase != self.phase {
            self.phase = at.phase;
            self.since = now;
        }
        let elapsed = now.duration_since(self.since);
        match at.phase {
            Phase::Inferring => reading("finding types", at, elapsed, None),
            Phase::Judging => reading("judging", at, elapsed, Some(at.rows_read)),
            Phase::Loading => reading("loading", at, elapsed, Some(at.rows_sent)),
            Phase::Planning => waiting("planning", elapsed),
            Phase::Indexing => waiting("building indexes", elapsed),
            Phase::Committing => waiting("committing", elapsed),
            Phase::Analyzing => waiting("analyzing", elapsed),
        }
    }
}

fn waiting(phase: &'static str, elapsed: Duration) -> View {
    View { phase, fraction: None, figures: remaining(elapsed.as_secs_f64()) }
}

fn reading(phase: &'static str, at: Snapshot, elapsed: Duration, rows: Option<u64>) -> View {
    let seconds = elapsed.as_secs_f64();
    let fraction = at.bytes_total.map(|total| (at.bytes_read as f64 / total as f64).min(1.0));
    let mut figures = Vec::new();
    if let Some(rows) = rows {
        figures.push(format!("{} rows", count(rows)));
    }
    figures.push(match (at.bytes_total, fraction) {
        (Some(total), Some(part)) => {
            format!("{} of {} ({:.0} %)", bytes(at.bytes_read), bytes(total), (part * 100.0).floor())
        }
        _ => bytes(at.bytes_read),
    });
    if elapsed >= ESTIMATE_AFTER {
        figures.push(match rows {
            Some(rows) => format!("{} rows/s", rate(rows as f64 / seconds)),
            None => format!("{}/s", bytes(whole(at.bytes_read as f64 / seconds))),
        });
        if let Some(part) = fraction.filter(|part| *part > 0.0) {
            figures.push(format!("{} left", remaining(seconds * (1.0 - part) / part)));
        }
    }
    View { phase, fraction, figures: figures.join(", ") }
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
        assert_eq!(meter.view(at(Phase::Planning, 0, 0, None), start + 3 * second).line(), "planning: 3 s");
        meter.view(at(Phase::Inferring, 0, 0, Some(400)), start + 3 * second);
        assert_eq!(
            meter.view(at(Phase::Inferring, 0, 100_000_000, Some(400_000_000)), start + 5 * second).line(),
            "finding types: 100 MB of 400 MB (25 %), 50 MB/s, 6 s left"
        );
        meter.view(at(Phase::Loading, 0, 0, Some(400_000_000)), start + 20 * second);
        assert_eq!(
            meter
                .view(at(Phase::Loading, 1_000_000, 100_000_000, Some(400_000_000)), start + 30 * second)
                .line(),
            "loading: 1,000,000 rows, 100 MB of 400 MB (25 %), 100,000 rows/s, 30 s left"
        );
    }

    #[test]
    fn a_pipe_has_no_end_to_promise() {
        let start = Instant::now();
        let mut meter = Meter::new(start);
        meter.view(at(Phase::Loading, 0, 0, None), start);
        let view = meter.view(at(Phase::Loading, 500, 10_000, None), start + Duration::from_secs(2));
        assert_eq!(view.line(), "loading: 500 rows, 10 kB, 250 rows/s");
        assert_eq!(view.fraction, None);
    }

    #[test]
    fn a_file_that_grew_does_not_overflow_the_bar() {
        let start = Instant::now();
        let view = Meter::new(start).view(at(Phase::Loading, 5, 300, Some(200)), start + TICK);
        assert_eq!(view.fraction, Some(1.0));
        assert_eq!(view.figures, "5 rows, 300 B of 200 B (100 %)");
    }
}
