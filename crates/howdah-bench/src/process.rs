//! Programs that say READY, wait for GO and say DONE: measured between GO and DONE, and ended when they take too long.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use wait4::{ResUse, Wait4};

use crate::cpu_time;
use crate::error::Error;

/// How long a program may take to end after its last word: interpreters and JVMs take some tenths of a second.
const LEAVING: Duration = Duration::from_secs(20);
/// How long what a program has written may be under way after its end.
const ECHO: Duration = Duration::from_secs(2);
/// How much of the end of standard error is kept as a reason.
const LAST_WORDS: u64 = 2_000;

/// A program that has said READY and waits for GO, in a process group of its own. It is killed with all its children
/// when this is dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    group: Pid,
    input: Option<ChildStdin>,
    events: Receiver<ProcessEvent>,
    stderr: File,
    start_s: f64,
    quiet: bool,
    ended: Option<io::Result<ResUse>>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The program said DONE with a number of rows, and ended well.
    Done {
        /// The rows that it counted; whether they are there is for others to see.
        rows: u64,
    },
    /// The program said FAILED, or ended otherwise than the contract says; with the reason in one line.
    Failed(String),
    /// The program was killed at the time limit.
    TimedOut,
}

/// A run between GO and the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The end of the run.
    pub end: End,
    /// Seconds from the start of the program until it said READY.
    pub start_s: f64,
    /// Seconds from GO until DONE or FAILED was read, or until the program was gone without either.
    pub wall_s: f64,
    /// CPU seconds from GO until the end of the program, those of children that it waited for included. What children
    /// and threads that had ended before GO used is known to a hundredth of a second only.
    pub cpu_s: Option<f64>,
    /// The largest peak of resident memory among the program and its children since their start. Linux starts this
    /// figure at the peak of the process that spawned them, so the measuring program itself has to stay small.
    pub peak_rss_bytes: Option<u64>,
    /// The other lines that it wrote to standard output after GO.
    pub said: String,
    /// The end of what it wrote to standard error.
    pub stderr: String,
}

/// What the threads beside a program report.
#[derive(Debug)]
enum ProcessEvent {
    Line(Instant, String),
    /// Nobody can write to its standard output any more.
    Quiet,
    Ended(io::Result<ResUse>),
}

/// The words of the contract.
enum Word {
    Ready,
    Done(u64),
    Failed(String),
}

/// What came next.
enum Heard {
    Word(Instant, Word),
    /// It ended, and there is nothing more to hear.
    Nothing,
    TooLate,
}

impl Process {
    /// Starts a program and waits until it says READY, at most `patience`.
    ///
    /// # Errors
    /// It could not be started, said FAILED, ended, or did not say READY in time.
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    pub fn start(mut command: Command, patience: Duration) -> Result<Process, Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        let doing = || format!("could not run {name}");
        // A file instead of a pipe: it need not be read while the clock runs.
        let stderr = tempfile::tempfile().map_err(Error::io("could not make a temporary file"))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        command.stderr(stderr.try_clone().map_err(Error::io(doing()))?);
        let clock = Instant::now();
        let mut child = command.spawn().map_err(Error::io(doing()))?;
        // Both are there: they were asked for above.
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (sender, events) = channel();
        let group = Pid::from_child(&child);
        let reading = sender.clone();
        thread::spawn(move || output.map(|output| read(output, &reading)));
        thread::spawn(move || sender.send(ProcessEvent::Ended(child.wait4())));
        let mut process =
            Process { name, group, input, events, stderr, start_s: 0.0, quiet: false, ended: None };
        let failed = |process: &mut Process, status: String| {
            let program = process.name.clone();
            Err(Error::Program { program, status, stderr: process.last_words() })
        };
        match process.listen(clock + patience, &mut String::new()) {
            Heard::Word(at, Word::Ready) => process.start_s = (at - clock).as_secs_f64(),
            Heard::Word(_, Word::Failed(reason)) => return failed(&mut process, reason),
            Heard::Word(_, Word::Done(_)) => {
                return failed(&mut process, "said DONE before READY".to_owned());
            }
            Heard::Nothing => {
                let status = format!("{}, without READY", process.status());
                return failed(&mut process, status);
            }
            Heard::TooLate => {
                let status = format!("no READY within {} s", patience.as_secs_f64());
                return failed(&mut process, status);
            }
        }
        Ok(process)
    }

    /// The process id of the program, which is also that of its process group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// Says GO and waits for the program's end. After `limit` it is killed, with all its children.
    #[must_use]
    pub fn go(mut self, limit: Duration) -> Run {
        let before = cpu_time::group_s(self.id());
        let mut said = String::new();
        let clock = Instant::now();
        // A program that is gone already is found out by listening.
        let _ = self.input.take().map(|mut input| input.write_all(b"GO\n"));
        let heard = loop {
            match self.listen(clock + limit, &mut said) {
                Heard::Word(_, Word::Ready) => {}
                other => break other,
            }
        };
        let (end, at) = match heard {
            Heard::Word(at, Word::Done(rows)) => (self.leave(rows), at),
            Heard::Word(at, Word::Failed(reason)) => (End::Failed(reason), at),
            Heard::Word(at, Word::Ready) => (End::Failed("said READY twice".to_owned()), at),
            Heard::Nothing => {
                let reason = format!("{}, without DONE or FAILED: {}", self.status(), self.last_words());
                (End::Failed(reason.trim_end_matches([':', ' ']).to_owned()), Instant::now())
            }
            Heard::TooLate => {
                let at = Instant::now();
                self.kill();
                (End::TimedOut, at)
            }
        };
        self.await_end(LEAVING);
        if self.ended.is_none() {
            self.kill();
            self.await_end(LEAVING);
        }
        let used = self.ended.as_ref().and_then(|ended| ended.as_ref().ok()).map(|ended| ended.rusage);
        let total = used.map(|used| (used.utime + used.stime).as_secs_f64());
        Run {
            end,
            start_s: self.start_s,
            wall_s: (at - clock).as_secs_f64(),
            cpu_s: total.zip(before).map(|(total, before)| (total - before).max(0.0)),
            peak_rss_bytes: used.map(|used| used.maxrss),
            said,
            stderr: self.last_words(),
        }
    }

    /// What a DONE is worth: it counts when the program then ends as the contract says.
    fn leave(&mut self, rows: u64) -> End {
        self.await_end(LEAVING);
        match &self.ended {
            Some(Ok(ended)) if ended.status.success() => End::Done { rows },
            Some(_) => End::Failed(format!("said DONE, but ended with {}", self.status())),
            None => {
                self.kill();
                End::Failed("said DONE, but did not end".to_owned())
            }
        }
    }

    /// Waits for a word of the contract; other lines are added to `said`.
    fn listen(&mut self, mut until: Instant, said: &mut String) -> Heard {
        loop {
            if self.quiet && self.ended.is_some() {
                return Heard::Nothing;
            }
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(ProcessEvent::Line(at, line)) => match word(&line) {
                    Some(word) => return Heard::Word(at, word),
                    None => {
                        said.push_str(&line);
                        said.push('\n');
                    }
                },
                Ok(ProcessEvent::Quiet) => self.quiet = true,
                Ok(ProcessEvent::Ended(ended)) => {
                    self.ended = Some(ended);
                    // A child that it left behind may keep its standard output open for ever.
                    until = until.min(Instant::now() + ECHO);
                }
                Err(_) if self.ended.is_some() => return Heard::Nothing,
                Err(_) => return Heard::TooLate,
            }
        }
    }

    fn await_end(&mut self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.ended.is_none() {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(ProcessEvent::Ended(ended)) => self.ended = Some(ended),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    fn status(&self) -> String {
        match &self.ended {
            Some(Ok(ended)) => ended.status.to_string(),
            Some(Err(error)) => format!("its status is not known ({error})"),
            None => "still running".to_owned(),
        }
    }

    /// The end of standard error, on one line.
    fn last_words(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = (|| {
            let length = self.stderr.seek(SeekFrom::End(0))?;
            self.stderr.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS)))?;
            (&self.stderr).take(LAST_WORDS).read_to_end(&mut bytes)
        })();
        match read {
            Ok(_) => String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" "),
            Err(error) => format!("its standard error cannot be read: {error}"),
        }
    }

    /// Kills what is left of the group. That of a program that has ended holds children that it left behind.
    fn kill(&self) {
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.await_end(LEAVING);
    }
}

/// Takes away the variables with which libpq and others would connect otherwise than they are told.
#[expect(clippy::disallowed_methods, reason = "this module reads the environment")]
pub(crate) fn without_variables(command: &mut Command) {
    let variables = std::env::vars_os().map(|(name, _)| name);
    for name in variables.filter(|name| name.to_string_lossy().starts_with("PG")) {
        command.env_remove(name);
    }
}

fn word(line: &str) -> Option<Word> {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    match first {
        "READY" if rest.is_empty() => Some(Word::Ready),
        "DONE" => rest.trim().parse().ok().map(Word::Done),
        "FAILED" => Some(Word::Failed(rest.trim().to_owned())),
        _ => None,
    }
}

/// Reports lines with the moment of their arrival, until the pipe or the receiver ends.
fn read(output: ChildStdout, events: &Sender<ProcessEvent>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while matches!(output.read_until(b'\n', &mut line), Ok(1..)) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if events.send(ProcessEvent::Line(Instant::now(), text)).is_err() {
            return;
        }
        line.clear();
    }
    let _ = events.send(ProcessEvent::Quiet);
}

#[cfg(test)]
mod tests;
