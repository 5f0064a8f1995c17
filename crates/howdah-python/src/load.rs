//! `howdah.load`: the engine works in a thread of its own, and the caller's thread looks after Python meanwhile: signals,
//! progress, and objects that give data.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use howdah::control::Phase;
use howdah::message::Respell;
use howdah::report::Outcome;
use howdah::source::Input;
use howdah::{Error, ErrorKind, LoadOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::{Given, Source, Taken};
use crate::ended::Ended;
use crate::error::raised;
use crate::fork;
use crate::options;
use crate::pull::Event;
use crate::spelling::Keywords;
use crate::target::{Chosen, Place};

/// How often signals are looked for: soon enough for whoever pressed Ctrl-C, nothing for the processor.
const TICK: Duration = Duration::from_millis(50);

/// How often the callback hears of the progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// The handle by which another thread stops a load.
#[pyclass(frozen, module = "howdah._native")]
#[derive(Default)]
pub(crate) struct Control(howdah::Control);

#[pymethods]
impl Control {
    #[new]
    fn new() -> Self {
        Control::default()
    }

    /// Asks the load to stop; it ends soon after, with nothing changed.
    fn cancel(&self) {
        self.0.cancel();
    }
}

/// Loads `data` and returns the report and, where it failed, the error, as JSON. `progress` is called now and then with
/// (rows read, rows sent, bytes read, bytes in all or None, phase, input or None).
///
/// # Errors
/// What Python code raised on the way (a generator, a file, the callback, a signal's handler), and what is wrong with the
/// arguments.
#[pyfunction]
#[pyo3(signature = (data, table, place, options, control, progress))]
#[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
pub(crate) fn load<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    table: Option<&str>,
    place: Place,
    options: &Bound<'py, PyDict>,
    control: &Bound<'py, Control>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<String> {
    fork::check().map_err(|error| raised(py, &error))?;
    let mut options = options::read(table, options)?;
    let control = control.get().0.clone();
    let (sender, events) = channel();
    let mut taken = Taken::of(data, &mut options, &sender)?;
    let header_lines = taken.header_lines;

    let given = std::mem::take(&mut taken.given);
    let work = {
        let control = control.clone();
        move || {
            let run = AssertUnwindSafe(|| run(given, &options, place, &control));
            let ended = catch_unwind(run).unwrap_or_else(|_| Ended::early(Error::bug()));
            // Whoever called us waits for it.
            let _ = sender.send(Event::Over(Box::new(ended)));
        }
    };
    let thread = std::thread::Builder::new().name("howdah-load".into()).spawn(work);
    let thread = thread.map_err(|error| raised(py, &internal(&format!("cannot start a thread: {error}"))))?;

    let mut caller = CallingThread { taken, control, progress, failure: None, next_progress: Instant::now() };
    let ended = caller.wait(py, events);
    // It has sent its last word.
    py.detach(|| drop(thread.join()));
    caller.show_end(&ended);
    match caller.failure {
        Some(failure) => Err(annotated(py, failure, &ended)),
        None => Ok(ended.told(&caller.control, header_lines)),
    }
}

fn internal(message: &str) -> Error {
    Error::new(ErrorKind::Internal, message)
}

/// What the caller's thread does while the engine works.
struct CallingThread<'py> {
    taken: Taken,
    control: howdah::Control,
    progress: Option<Bound<'py, PyAny>>,
    /// The first exception of Python's: the load then ends, and it is raised again.
    failure: Option<PyErr>,
    next_progress: Instant,
}

impl<'py> CallingThread<'py> {
    fn wait(&mut self, py: Python<'py>, mut events: Receiver<Event>) -> Ended {
        loop {
            let event;
            // It goes along, because a receiver cannot be looked at from elsewhere.
            (events, event) = py.detach(move || {
                let event = events.recv_timeout(TICK);
                (events, event)
            });
            let done = match event {
                Ok(Event::Over(ended)) => return *ended,
                Ok(Event::Pull(number)) => self.answer(py, number),
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Ended::early(internal("the load's thread has ended without a word"));
                }
            };
            let done = done.and_then(|()| py.check_signals()).and_then(|()| self.show_progress());
            if let Err(error) = done {
                self.control.cancel();
                self.taken.sources.iter_mut().for_each(Source::close);
                self.failure.get_or_insert(error);
            }
        }
    }

    fn answer(&mut self, py: Python<'py>, number: usize) -> PyResult<()> {
        self.taken.sources.get_mut(number).map_or(Ok(()), |source| source.answer(py))
    }

    fn show_progress(&mut self) -> PyResult<()> {
        if self.failure.is_some() || self.progress.is_none() || Instant::now() < self.next_progress {
            return Ok(());
        }
        self.next_progress = Instant::now() + PROGRESS_EVERY;
        self.call_progress(phase_name(self.control.snapshot().phase))
    }

    fn call_progress(&self, phase: &str) -> PyResult<()> {
        let Some(progress) = &self.progress else { return Ok(()) };
        let now = self.control.snapshot();
        let reading = self.control.reading().map(|reading| reading.name.to_string());
        progress.call1((now.rows_read, now.rows_sent, now.bytes_read, now.bytes_total, phase, reading))?;
        Ok(())
    }

    /// Tells the callback how it ended.
    fn show_end(&mut self, ended: &Ended) {
        if self.failure.is_none() {
            let phase = if ended.error.is_none() { "done" } else { "failed" };
            self.failure = self.call_progress(phase).err();
        }
    }
}

/// The load itself, without Python.
fn run(given: Vec<Given>, options: &LoadOptions, place: Place, control: &howdah::Control) -> Ended {
    // A server is not looked for, let alone made, for a file that is not there.
    let prepared = inputs(given, control).and_then(|inputs| Ok((inputs, Chosen::by(place)?)));
    match prepared {
        Ok((inputs, Chosen { target, server, notices, .. })) => {
            Ended::new(howdah::load_inputs(inputs, options, &target, control), server, notices)
        }
        Err(error) => Ended::early(error),
    }
}

fn inputs(given: Vec<Given>, control: &howdah::Control) -> Result<Vec<Input>, Error> {
    let mut inputs = Vec::with_capacity(given.len());
    for given in given {
        match given {
            Given::Place(name) => inputs.extend(Input::resolve(&[name.into()], control.progress())?),
            Given::Input(input) => inputs.push(input),
        }
    }
    Ok(inputs)
}

/// `failure` with a note that says what became of the load.
fn annotated(py: Python<'_>, failure: PyErr, ended: &Ended) -> PyErr {
    // Ours says so itself.
    if failure.value(py).hasattr("visible").unwrap_or(false) {
        return failure;
    }
    let report = &ended.report;
    let note = match &ended.error {
        None if report.outcome == Outcome::Loaded => {
            format!("howdah: {} rows into {} had been committed already", report.rows, report.table)
        }
        None => "howdah: nothing was changed".to_owned(),
        Some(error) if error.kind() == ErrorKind::PartlyCommitted => {
            format!("howdah: {}", error.respelled(&Keywords))
        }
        Some(error) => {
            format!("howdah: the load has ended; {}", error.visible().unwrap_or("nothing was changed"))
        }
    };
    // A note that cannot be added is no reason to hide the failure.
    let _ = failure.add_note(py, note);
    failure
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Planning => "planning",
        Phase::Inferring => "finding types",
        Phase::Judging => "judging",
        Phase::Loading => "loading",
        Phase::Waiting => "waiting for others",
        Phase::Indexing => "building indexes",
        Phase::Applying => "applying",
        Phase::Promoting => "promoting",
        Phase::Committing => "committing",
        Phase::Analyzing => "analyzing",
    }
}
