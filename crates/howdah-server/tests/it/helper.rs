//! This test program run again as another process: an owner of servers that a test can kill, or that is not root.
//!
//! It is told what to do on its standard input and answers on its standard output, one line each.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use howdah_server::{Persistent, Settings, Status, Throwaway};

use crate::tools::shared;

/// Told apart from what the test harness prints around it.
const ANSWER: &str = "helper answers: ";

#[test]
#[ignore = "a process for the other tests, which talk to it"]
fn helper() {
    let mut throwaway = None;
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split('\t').collect();
        let answer = match words[..] {
            ["throwaway"] => {
                let server = Throwaway::start(&Settings::fast_and_unsafe()).unwrap();
                let answer = format!("{}\t{}", server.data_dir().display(), server.url());
                throwaway = Some(server);
                answer
            }
            ["complain"] => Throwaway::start(&Settings::new()).unwrap_err().to_string().replace('\n', "\t"),
            // No answer before it is too late: the caller kills us in the middle.
            ["throwaway-loop"] => loop {
                drop(Throwaway::start(&Settings::fast_and_unsafe()));
            },
            ["start", base, name] => {
                let server = Persistent::in_directory(Path::new(base), name).unwrap().start().unwrap();
                format!("{}\t{}", server.pid(), server.url())
            }
            ["status", base, name] => {
                match Persistent::in_directory(Path::new(base), name).unwrap().status().unwrap() {
                    Status::Running(server) => {
                        format!("{}\t{}\t{}", server.pid(), server.version(), server.bin_dir().display())
                    }
                    other => format!("{other:?}"),
                }
            }
            ["stop", base, name] => {
                Persistent::in_directory(Path::new(base), name).unwrap().stop().unwrap().to_string()
            }
            ["delete", base, name] => {
                Persistent::in_directory(Path::new(base), name).unwrap().delete().unwrap().to_string()
            }
            _ => panic!("the helper does not know {line:?}"),
        };
        println!("\n{ANSWER}{answer}");
    }
    drop(throwaway);
}

/// A running helper; it ends when dropped, in an orderly way unless killed before.
pub(crate) struct Helper {
    pub(crate) process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Helper {
    pub(crate) fn start() -> Helper {
        Helper::spawn(Command::new(std::env::current_exe().unwrap()))
    }

    /// As the user `nobody`, from a copy of this program in `place`, as the original may be out of its reach.
    pub(crate) fn start_as_nobody(place: &Path) -> Helper {
        const NOBODY: u32 = 65534;
        let copy: PathBuf = place.join("helper");
        fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(copy);
        // Root's own choice of programs may be out of reach too; those of a server that runs as another user are not.
        command.uid(NOBODY).gid(NOBODY).current_dir("/").env("HOWDAH_PG_BIN", shared().bin_dir());
        // Not every machine lets everybody write to `/tmp`.
        command.env("TMPDIR", place);
        Helper::spawn(command)
    }

    /// By a shell that passes on its standard output as descriptor 3, as `3>&1` in a script does.
    pub(crate) fn start_with_descriptor_three() -> Helper {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec 3>&1; exec \"$@\"", "sh"]).arg(std::env::current_exe().unwrap());
        Helper::spawn(command)
    }

    /// A command that the caller has prepared, which is this program or a copy of it.
    pub(crate) fn spawn(mut command: Command) -> Helper {
        command.args(["--exact", "helper::helper", "--ignored", "--nocapture"]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Helper { process, input, output }
    }

    /// Sends words, without waiting for an answer.
    pub(crate) fn tell(&mut self, words: &[&str]) {
        writeln!(self.input.as_mut().unwrap(), "{}", words.join("\t")).unwrap();
    }

    /// Sends words and returns the answer's.
    pub(crate) fn ask(&mut self, words: &[&str]) -> Vec<String> {
        self.tell(words);
        self.answer()
    }

    /// The next answer's words.
    pub(crate) fn answer(&mut self) -> Vec<String> {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(answer) = line.trim_end().strip_prefix(ANSWER) {
                return answer.split('\t').map(str::to_owned).collect();
            }
            line.clear();
        }
        panic!("the helper ended without an answer");
    }

    /// Waits for the end of the process and of everything that holds its standard output.
    pub(crate) fn read_to_end(mut self) {
        drop(self.input.take());
        let _ = self.output.read_to_end(&mut Vec::new());
    }

    /// SIGKILL, and the end of the process.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}
