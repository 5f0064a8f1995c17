//! Waiting for futures of the engine's: a thread waits with the interpreter free and hears signals meanwhile, an event loop
//! is woken through a socket. The engine's threads never need the interpreter, so none of them can hang or break its end.

use parking_lot::Mutex;
use std::future::Future;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use howdah::{Control, Error};
use pyo3::prelude::*;

/// How often signals are looked for: soon enough for whoever pressed Ctrl-C, nothing for the processor.
const TICK: Duration = Duration::from_millis(50);

/// Waits for `future`; `None`: it was not ready by `deadline`.
///
/// # Errors
/// What the handler of a signal raised.
pub(crate) fn wait<F: Future + Unpin>(
    py: Python<'_>,
    mut future: F,
    deadline: Option<Instant>,
) -> PyResult<Option<F::Output>> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(ready) = Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            return Ok(Some(ready));
        }
        let left = deadline.map_or(TICK, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(None);
        }
        py.detach(|| thread::park_timeout(left.min(TICK)));
        py.check_signals()?;
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs `work`, which blocks, in a thread of its own, and waits for it. Whoever is interrupted leaves it to itself.
///
/// # Errors
/// What the handler of a signal raised; the work's own are inside.
pub(crate) fn in_thread<T: Send + 'static>(
    py: Python<'_>,
    name: &str,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<Result<T, Error>> {
    let working = Working::start(name, work);
    loop {
        if let Some(result) = working.result(py) {
            return Ok(result);
        }
        py.check_signals()?;
    }
}

/// Runs `work` as [`in_thread`] does. Whoever is interrupted stops it through `control`, and waits until it has ended.
///
/// # Errors
/// What the handler of a signal raised; the work's own are inside.
pub(crate) fn in_thread_until_stopped<T: Send + 'static>(
    py: Python<'_>,
    name: &str,
    control: &Control,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<Result<T, Error>> {
    let working = Working::start(name, work);
    let mut interrupted = None;
    loop {
        if let Some(result) = working.result(py) {
            return interrupted.map_or(Ok(result), Err);
        }
        if let Err(error) = py.check_signals() {
            control.cancel();
            interrupted.get_or_insert(error);
        }
    }
}

/// A thread that works for the caller's.
struct Working<T>(Arc<Mutex<Option<Result<T, Error>>>>);

impl<T: Send + 'static> Working<T> {
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    fn start(name: &str, work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Self {
        let done = Arc::new(Mutex::new(None));
        let (answer, caller) = (done.clone(), thread::current());
        let run = move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            *answer.lock() = Some(result.unwrap_or_else(|_| Err(Error::bug())));
            caller.unpark();
        };
        if let Err(error) = thread::Builder::new().name(name.to_owned()).spawn(run) {
            let error = Error::new(howdah::ErrorKind::Internal, format!("cannot start a thread: {error}"));
            *done.lock() = Some(Err(error));
        }
        Working(done)
    }

    /// What came of it, if it is over soon.
    fn result(&self, py: Python<'_>) -> Option<Result<T, Error>> {
        let result = self.0.lock().take();
        if result.is_none() {
            py.detach(|| thread::park_timeout(TICK));
        }
        result
    }
}

/// What wakes an event loop: it watches `fileno` and asks who was woken. However many are woken while it is busy, it is
/// told once.
#[pyclass(frozen, module = "howdah._native")]
pub(crate) struct Wakeups(Arc<WakeupPipe>);

struct WakeupPipe {
    /// Who was woken, by number.
    woken: Mutex<Vec<u64>>,
    rings: UnixStream,
    heard: UnixStream,
}

#[pymethods]
impl Wakeups {
    #[new]
    fn new() -> PyResult<Self> {
        let (rings, heard) = UnixStream::pair()?;
        rings.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        Ok(Wakeups(Arc::new(WakeupPipe { woken: Mutex::default(), rings, heard })))
    }

    fn fileno(&self) -> RawFd {
        self.0.heard.as_raw_fd()
    }

    /// Who was woken since it was last asked.
    fn take(&self) -> Vec<u64> {
        // First the rings: who is woken in between rings once more.
        let mut rings = [0; 64];
        while matches!((&self.0.heard).read(&mut rings), Ok(read) if read == rings.len()) {}
        std::mem::take(&mut *self.0.woken.lock())
    }
}

impl Wakeups {
    /// What wakes `number`.
    pub(crate) fn waker(&self, number: u64) -> Waker {
        Waker::from(Arc::new(Ring { bell: self.0.clone(), number }))
    }
}

struct Ring {
    bell: Arc<WakeupPipe>,
    number: u64,
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        let is_first = {
            let mut woken = self.bell.woken.lock();
            woken.push(self.number);
            woken.len() == 1
        };
        if is_first {
            // A socket that is full has rung often enough.
            let _ = (&self.bell.rings).write(&[1]);
        }
    }
}

/// A future of the engine's that an event loop waits for.
#[pyclass(frozen, module = "howdah._native")]
pub(crate) struct Pending(Mutex<Progress>);

type Work = Pin<Box<dyn Future<Output = Result<Answer, Error>> + Send>>;

/// What came of it, as a Python object is made of it.
pub(crate) type Answer = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

enum Progress {
    Working(Work),
    Done(Result<Answer, Error>),
    Told,
}

impl Pending {
    pub(crate) fn new(work: impl Future<Output = Result<Answer, Error>> + Send + 'static) -> Self {
        Pending(Mutex::new(Progress::Working(Box::pin(work))))
    }
}

#[pymethods]
impl Pending {
    /// Whether it is over; if not, `wakeups` will name `number` when it is time to ask again.
    fn poll(&self, wakeups: &Wakeups, number: u64) -> bool {
        let mut progress = self.0.lock();
        let Progress::Working(work) = &mut *progress else { return true };
        let waker = wakeups.waker(number);
        match work.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => {
                *progress = Progress::Done(result);
                true
            }
            Poll::Pending => false,
        }
    }

    /// What came of it, once it is over.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let progress = std::mem::replace(&mut *self.0.lock(), Progress::Told);
        match progress {
            Progress::Done(Ok(answer)) => answer(py),
            Progress::Done(Err(error)) => Err(crate::error::raised(py, &error)),
            Progress::Working(_) | Progress::Told => Err(crate::error::raised(py, &Error::bug())),
        }
    }
}
