//! Shell scripts that keep the contract, and that break it in every way.

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);
const BUSY: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn run(script: &str, limit: Duration) -> Run {
    Process::start(shell(script), PATIENCE).unwrap().go(limit)
}

fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    // What nobody has waited for yet is dead all the same.
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// A killed process takes a moment to be gone.
fn dies(pid: &str) -> bool {
    let clock = Instant::now();
    while alive(pid) && clock.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }
    !pid.is_empty() && !alive(pid)
}

#[test]
fn what_happens_before_go_is_not_timed() {
    let script = format!("{BUSY}; sleep 0.3; echo READY; read go; test $go = GO; sleep 0.2; echo DONE 7");
    let run = run(&script, PATIENCE);
    assert_eq!(run.end, End::Done { rows: 7 }, "{run:?}");
    assert!(run.start_s >= 0.3 && (0.2..20.0).contains(&run.wall_s), "{run:?}");
    assert!(run.cpu_s.unwrap() < 0.1, "the loop before READY was counted: {run:?}");
}

#[test]
fn cpu_of_children_after_go_is_counted_and_theirs_before_is_not() {
    // The second shell waits for GO as psql does: its time so far is in no wait status yet.
    let child = format!("{BUSY}; echo READY; read go; {BUSY}; {BUSY}; {BUSY}; {BUSY}; echo DONE 1");
    let alone = run(&format!("{BUSY}; echo READY; read go; echo DONE 1"), PATIENCE);
    let run = run(&format!("sh -c '{child}'; true"), PATIENCE);
    let (cpu, idle) = (run.cpu_s.unwrap(), alone.cpu_s.unwrap());
    assert!(cpu > 0.08 && idle < cpu / 2.0, "{run:?}, {alone:?}");
    assert!(run.peak_rss_bytes.unwrap() > 500_000, "{run:?}");
}

#[test]
fn a_failure_is_told_with_its_reason() {
    let failed = run("echo READY; read go; echo FAILED no such table; exit 1", PATIENCE);
    assert_eq!(failed.end, End::Failed("no such table".to_owned()));
    let early = Process::start(shell("echo FAILED no connection; exit 1"), PATIENCE).unwrap_err().to_string();
    assert!(early.contains("no connection"), "{early}");
}

#[test]
fn a_program_that_dies_silently_is_no_result() {
    let died = run("echo READY; read go; echo oh dear >&2; exit 3", PATIENCE);
    let End::Failed(reason) = &died.end else { panic!("{died:?}") };
    assert!(reason.contains("oh dear") && reason.contains('3'), "{reason}");
    let killed = run("echo READY; read go; kill -9 $$", PATIENCE);
    assert!(matches!(&killed.end, End::Failed(reason) if reason.contains("signal")), "{killed:?}");
    let error = Process::start(shell("echo oops >&2; exit 4"), PATIENCE).unwrap_err().to_string();
    assert!(error.contains("oops") && error.contains("READY"), "{error}");
    assert!(Process::start(Command::new("/no/such/program"), PATIENCE).is_err());
}

#[test]
fn done_counts_only_with_a_good_end() {
    let run = run("echo READY; read go; echo DONE 5; exit 2", PATIENCE);
    assert!(matches!(&run.end, End::Failed(reason) if reason.contains("DONE")), "{run:?}");
}

#[test]
fn what_hangs_is_killed_with_its_children() {
    let script = "sleep 1000 & echo $!; echo READY; read go; echo $!; sleep 1000; echo DONE 1";
    let hung = run(script, Duration::from_millis(300));
    assert_eq!(hung.end, End::TimedOut);
    assert!((0.3..20.0).contains(&hung.wall_s), "{hung:?}");
    assert!(dies(hung.said.trim()), "a child was left behind: {hung:?}");
    let clock = Instant::now();
    let error = Process::start(shell("sleep 1000"), Duration::from_millis(200)).unwrap_err().to_string();
    assert!(error.contains("READY") && clock.elapsed() < PATIENCE, "{error}");
}

#[test]
fn a_child_left_behind_holds_up_nothing() {
    let run = run("echo READY; read go; sleep 1000 & echo $!; echo DONE 2", PATIENCE);
    assert_eq!(run.end, End::Done { rows: 2 });
    assert!(run.wall_s < 20.0 && dies(run.said.trim()), "{run:?}");
    let silent = self::run("echo READY; read go; sleep 1000 & exit 6", PATIENCE);
    assert!(matches!(silent.end, End::Failed(_)), "{silent:?}");
}

#[test]
fn lines_between_go_and_done_are_kept() {
    let run = run("echo early; echo READY; read go; echo 'phase 1 0.5'; echo phase 2; echo DONE 3", PATIENCE);
    assert_eq!((run.end, run.said.as_str()), (End::Done { rows: 3 }, "phase 1 0.5\nphase 2\n"));
}

#[test]
fn a_program_that_is_not_used_does_not_stay() {
    let process = Process::start(shell("echo READY; read go; sleep 1000"), PATIENCE).unwrap();
    let id = process.id().to_string();
    assert!(alive(&id));
    drop(process);
    assert!(!alive(&id));
}
