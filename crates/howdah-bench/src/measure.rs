//! Running programs under the clock: wall time, CPU time and peak memory of each, from the kernel.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah::Control;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use wait4::Wait4;

use crate::error::Error;

/// Between two looks at whether a stop was asked for.
const POLL: Duration = Duration::from_millis(20);

/// Time, CPU and memory that one or several programs running side by side used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Seconds from before the first started until the last had ended.
    pub wall_s: f64,
    /// CPU seconds in the programs, summed.
    pub user_s: f64,
    /// CPU seconds in the kernel on their behalf, summed.
    pub system_s: f64,
    /// The largest peak of resident memory among them, in bytes. Linux starts this figure at the peak of the process
    /// that spawned them, so the measuring program itself has to stay small.
    pub peak_rss_bytes: u64,
}

impl Usage {
    /// User and system CPU seconds.
    #[must_use]
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// Starts all `commands` at once and waits for them; they are killed when `control` is cancelled. Returns what they used
/// and what each wrote to standard output.
///
/// # Errors
/// A program could not be started, or one did not end with status 0 or `also_fine`.
pub fn run(
    commands: Vec<Command>,
    also_fine: Option<i32>,
    control: &Control,
) -> Result<(Usage, Vec<String>), Error> {
    // Files instead of pipes: they need not be read while the clock runs.
    let outputs = commands.iter().map(|_| Ok((tempfile::tempfile()?, tempfile::tempfile()?)));
    let outputs: Vec<(File, File)> =
        outputs.collect::<io::Result<_>>().map_err(Error::io("could not make a temporary file"))?;
    let mut started = Vec::with_capacity(commands.len());
    let clock = Instant::now();
    for (mut command, (stdout, stderr)) in commands.into_iter().zip(outputs) {
        let program = command.get_program().to_string_lossy().into_owned();
        let spawned = (|| {
            command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
            command.spawn()
        })();
        let child = spawned.map_err(Error::io(format!("could not run {program}")))?;
        started.push((child, program, stdout, stderr));
    }
    let processes: Vec<Pid> = started.iter().map(|(child, ..)| Pid::from_child(child)).collect();
    let mut usage = Usage::default();
    let ended = killed_on_cancel(&processes, control, || {
        let wait = |(child, program, stdout, stderr): (Child, String, File, File)| {
            let result = child.wait4().map_err(Error::io(format!("could not wait for {program}")))?;
            usage.wall_s = clock.elapsed().as_secs_f64();
            usage.user_s += seconds(result.rusage.utime);
            usage.system_s += seconds(result.rusage.stime);
            usage.peak_rss_bytes = usage.peak_rss_bytes.max(result.rusage.maxrss);
            Ok((result.status, program, stdout, stderr))
        };
        started.into_iter().map(wait).collect::<Result<Vec<_>, Error>>()
    })?;
    let mut texts = Vec::with_capacity(ended.len());
    for (status, program, stdout, stderr) in ended {
        if !status.success() && (status.code().is_none() || status.code() != also_fine) {
            let said = contents(stderr)? + &contents(stdout)?;
            return Err(Error::Program {
                program,
                status: status.to_string(),
                stderr: said.trim().to_owned(),
            });
        }
        texts.push(contents(stdout)?);
    }
    Ok((usage, texts))
}

/// Waits for processes by `wait`, and kills them when `control` is cancelled meanwhile.
fn killed_on_cancel<T>(processes: &[Pid], control: &Control, wait: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if control.is_cancelled() {
                    // One that has ended already needs no signal.
                    for process in processes {
                        let _ = kill_process(*process, Signal::KILL);
                    }
                    return;
                }
                thread::sleep(POLL);
            }
        });
        let result = wait();
        over.store(true, Ordering::Relaxed);
        result
    })
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

fn contents(mut file: File) -> Result<String, Error> {
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes))
        .map_err(Error::io("could not read a program's output"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn cpu_of_children_is_not_lost_and_waiting_is_not_counted() {
        let (idle, _) = run(vec![shell("sleep 0.2")], None, &Control::new()).unwrap();
        assert!(idle.wall_s >= 0.2 && idle.cpu_s() < 0.1, "{idle:?}");
        let (busy, _) =
            run(vec![shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")], None, &Control::new())
                .unwrap();
        assert!(busy.cpu_s() > 0.02, "{busy:?}");
    }

    #[test]
    fn memory_is_in_bytes() {
        let (usage, _) =
            run(vec![shell("head -c 60000000 /dev/zero | tail -c 50000000 | wc -c")], None, &Control::new())
                .unwrap();
        assert!((50_000_000..150_000_000).contains(&usage.peak_rss_bytes), "{usage:?}");
    }

    #[test]
    fn programs_run_side_by_side_and_keep_their_output_apart() {
        let (usage, texts) =
            run(vec![shell("sleep 1; echo one"), shell("sleep 1; echo two")], None, &Control::new()).unwrap();
        assert!(usage.wall_s < 1.9, "{usage:?}");
        assert_eq!(texts, ["one\n", "two\n"]);
    }

    #[test]
    fn a_stop_does_not_wait_for_the_program() {
        let control = Control::new();
        control.cancel();
        let clock = Instant::now();
        assert!(run(vec![shell("exec sleep 60")], None, &control).is_err());
        assert!(clock.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_failed_run_is_never_a_figure() {
        let error =
            run(vec![shell("echo broken >&2; exit 3")], None, &Control::new()).unwrap_err().to_string();
        assert!(error.contains("broken") && error.contains('3'), "{error}");
    }
}
