//! How far a load is: a bar on a terminal, a line now and then elsewhere. The only place that knows indicatif.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah::Control;
use howdah::control::Phase;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::figures::whole;
use crate::meter::{Meter, View};
use crate::render::Console;
use crate::spelling::Terminal;

/// How often the counters are looked at: smooth for the eye, nothing for the processor.
const TICK: Duration = Duration::from_millis(100);
/// A load shorter than this needs no bar; one that flashes up would only disturb.
const BAR_AFTER: Duration = Duration::from_millis(400);
/// Logs want a line now and then, not a film: the first soon enough to show that something happens, later ones each time
/// a tenth more has passed, so that a night's load is told on a page.
const FIRST_LINE: Duration = Duration::from_secs(10);
/// And yet nobody should think that it hangs.
const LINE_AT_LEAST_EVERY: Duration = Duration::from_secs(300);
/// A terminal that does not say how wide it is.
const USUAL_COLUMNS: usize = 80;

/// Watches a load from a thread of its own, which also passes on the load's notices.
pub(crate) struct Progress {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Starts watching a load; `None` when the console is quiet.
    pub(crate) fn start(control: &Control, console: Console) -> std::io::Result<Option<Self>> {
        let (mut meter, counters) = (Meter::new(Instant::now()), control.clone());
        let view = move |now| meter.view(counters.snapshot(), counters.reading(), now);
        Progress::watch(control, console, stops_by, view)
    }

    /// Starts watching what `view` shows, which can be stopped by `control` and then does what `stopping` says; `None` when
    /// the console is quiet.
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    pub(crate) fn watch(
        control: &Control,
        console: Console,
        stopping: fn(Phase) -> &'static str,
        view: impl FnMut(Instant) -> View + Send + 'static,
    ) -> std::io::Result<Option<Self>> {
        if console.is_quiet() {
            return Ok(None);
        }
        let (stop, stopped) = channel();
        let control = control.clone();
        let thread = std::thread::Builder::new()
            .name("progress".into())
            .spawn(move || watch(&control, console, stopping, view, &stopped))?;
        Ok(Some(Progress { stop, thread }))
    }

    /// Takes the bar off the screen and says what is left to say.
    pub(crate) fn finish(self) {
        drop(self.stop);
        // A panic in there has been reported by the panic hook already.
        let _ = self.thread.join();
    }
}

/// How a load stops.
fn stops_by(phase: Phase) -> &'static str {
    match phase {
        Phase::Committing => {
            "rolling back, unless COMMIT was sent: then the server is asked what became of it"
        }
        _ => "rolling back",
    }
}

fn watch(
    control: &Control,
    console: Console,
    stops_by: fn(Phase) -> &'static str,
    mut view: impl FnMut(Instant) -> View,
    stopped: &Receiver<()>,
) {
    let start = Instant::now();
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let mut next_line = FIRST_LINE;
    let mut stopping = false;
    loop {
        let over = matches!(stopped.recv_timeout(TICK), Err(RecvTimeoutError::Disconnected) | Ok(()));
        let mut notices: Vec<(&str, String)> =
            control.take_notices().into_iter().map(|notice| ("note", notice.spelled(&Terminal))).collect();
        if control.is_cancelled() && !stopping && !over {
            stopping = true;
            let stops_by = stops_by(control.snapshot().phase);
            notices.push(("stopping", format!("{stops_by}; the same signal again leaves at once")));
        }
        if over {
            bar.finish_and_clear();
        }
        bar.suspend(|| notices.iter().for_each(|(label, text)| console.labelled(label, text)));
        if over {
            return;
        }
        let now = Instant::now();
        let elapsed = now.duration_since(start);
        let view = view(now);
        if console.is_live() {
            if bar.is_hidden() && elapsed >= BAR_AFTER {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            draw(&bar, &view, stopping);
        } else if elapsed >= next_line {
            next_line = line_after(elapsed);
            console.say(&view.line());
        }
    }
}

/// When the line after the one at `elapsed` is due.
fn line_after(elapsed: Duration) -> Duration {
    elapsed + (elapsed / 10).clamp(FIRST_LINE, LINE_AT_LEAST_EVERY)
}

fn draw(bar: &ProgressBar, view: &View, stopping: bool) {
    let phase = if stopping { "stopping" } else { view.phase };
    let columns = rustix::termios::tcgetwinsize(std::io::stderr())
        .map_or(USUAL_COLUMNS, |size| usize::from(size.ws_col).max(1));
    // A bar takes room that a narrow terminal needs for the figures, which say more.
    let cells = match (view.fraction, columns) {
        (Some(_), 100..) => 24,
        (Some(_), 60..) => 12,
        (Some(_), _) => 0,
        (None, _) => 1,
    };
    let gauge = match (view.fraction, cells) {
        (_, 0) => String::new(),
        (Some(_), cells) => format!("{{bar:{cells}}} "),
        (None, _) => "{spinner} ".to_owned(),
    };
    if let Ok(style) = ProgressStyle::with_template(&format!("{{prefix}} {gauge}{{wide_msg}}")) {
        bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
    }
    // Two spaces, and the last column: a terminal may wrap the line when it is written.
    bar.set_message(view.fitting(columns.saturating_sub(phase.len() + cells + 3)));
    bar.set_prefix(phase);
    // Thousandths: the bar's eighths of a cell are finer than per cent.
    bar.set_length(1000);
    bar.set_position(whole(view.fraction.unwrap_or(0.0) * 1000.0));
    bar.tick();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_load_does_not_fill_the_log_and_never_falls_silent() {
        let mut at = FIRST_LINE;
        let mut lines = Vec::new();
        while at < Duration::from_secs(8 * 3600) {
            lines.push(at);
            at = line_after(at);
        }
        assert!(
            lines[..6].iter().all(|at| at.as_secs() <= 60),
            "a line every 10 s in the first minute: {lines:?}"
        );
        assert!(lines.len() < 150, "{} lines for a night", lines.len());
        assert!(lines.windows(2).all(|pair| pair[1] - pair[0] <= LINE_AT_LEAST_EVERY));
    }
}
