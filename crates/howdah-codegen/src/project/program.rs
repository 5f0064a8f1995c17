//! A program of the user's that makes code: it reads the model, and answers with files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::File as OpenFile;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use crate::languages::File;
use crate::model::Model;

/// What a program gets from around it, and what is heard of it.
pub trait ProgramHost {
    /// All of its environment.
    fn environment(&self) -> Vec<(OsString, OsString)>;
    /// It is about to run.
    fn begins(&mut self, command: &[String]);
    /// What it wrote to standard error.
    fn said(&mut self, text: &str);
    /// Nobody waits for it any more.
    fn is_stopped(&self) -> bool;
}

/// How far a program may go.
struct Limits {
    time: Duration,
    /// In bytes, of what it writes to a stream.
    written: u64,
}

/// A minute is far more than code of a whole schema takes; a program that waits for its terminal would wait for ever. Code of
/// more than 64 MiB is a loop that does not end.
const LIMITS: Limits = Limits { time: Duration::from_secs(60), written: 64 << 20 };

/// How often it is looked whether it has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// What of standard error is shown at most, in bytes: its beginning, which says what was wrong first.
const SHOWN: u64 = 64 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(deserialize_with = "once")]
    files: BTreeMap<String, String>,
}

/// Reads files of which each is named once; a map would keep the last.
fn once<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    struct Files;

    impl<'de> Visitor<'de> for Files {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("paths and texts")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut files = BTreeMap::new();
            while let Some((path, text)) = map.next_entry::<String, String>()? {
                if files.contains_key(&path) {
                    return Err(serde::de::Error::custom(format!("`{path}` is there twice")));
                }
                files.insert(path, text);
            }
            Ok(files)
        }
    }

    deserializer.deserialize_map(Files)
}

/// Runs a program in the project's folder and gives the files of its answer; or what is wrong, as the end of a sentence that
/// begins with the program.
pub(super) fn run(
    command: &[String],
    folder: &Path,
    model: &Model,
    host: &mut dyn ProgramHost,
) -> Result<Vec<File>, String> {
    limited(command, folder, model, host, &LIMITS)
}

fn limited(
    command: &[String],
    folder: &Path,
    model: &Model,
    host: &mut dyn ProgramHost,
    limits: &Limits,
) -> Result<Vec<File>, String> {
    host.begins(command);
    let failed = |error: io::Error| format!("cannot be run: {error}");
    // Files and not pipes: nobody has to read one stream while another is written.
    let (mut answer, mut said) =
        (tempfile::tempfile().map_err(failed)?, tempfile::tempfile().map_err(failed)?);
    let mut child = begun(command, folder, model, &answer, &said, host).map_err(failed)?;
    let ended = waited(&mut child, [&answer, &said], host, limits);
    let text = beginning(&mut said).map_err(failed)?;
    if !text.is_empty() {
        host.said(&text);
    }
    let status = ended?;
    if !status.success() {
        return Err(format!("failed: {status}"));
    }
    answer.rewind().map_err(failed)?;
    let read = serde_json::from_reader::<_, Answer>(io::BufReader::new(answer));
    let answer =
        read.map_err(|error| format!("does not answer with {{\"files\": {{\"path\": \"text\"}}}}: {error}"))?;
    Ok(answer.files.into_iter().map(|(path, text)| File { path, text }).collect())
}

fn begun(
    command: &[String],
    folder: &Path,
    model: &Model,
    answer: &OpenFile,
    said: &OpenFile,
    host: &dyn ProgramHost,
) -> io::Result<Child> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no name"))?;
    let mut model_file = tempfile::tempfile()?;
    let mut writer = io::BufWriter::new(&mut model_file);
    serde_json::to_writer(&mut writer, model)?;
    writer.flush()?;
    drop(writer);
    model_file.rewind()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // A path is one from the configuration's folder, wherever howdah was called; a bare name is looked for in PATH.
    let program = if program.contains('/') {
        std::path::absolute(folder.join(program))?
    } else {
        PathBuf::from(program)
    };
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(host.environment())
        .stdin(model_file)
        .stdout(answer.try_clone()?)
        .stderr(said.try_clone()?)
        // What it starts ends with it.
        .process_group(0)
        .spawn()
}

/// Waits for its end, or makes one and says why.
fn waited(
    child: &mut Child,
    streams: [&OpenFile; 2],
    host: &dyn ProgramHost,
    limits: &Limits,
) -> Result<ExitStatus, String> {
    let begun = Instant::now();
    loop {
        let ended = child.try_wait();
        // After it was asked whether it has ended: what it wrote last counts, too.
        let written = streams.iter().map(|stream| stream.metadata().map_or(0, |found| found.len())).max();
        let why = match &ended {
            _ if written.unwrap_or(0) > limits.written => {
                format!("writes more than {} bytes", limits.written)
            }
            Ok(Some(status)) => return Ok(*status),
            Err(error) => format!("cannot be waited for: {error}"),
            Ok(None) if host.is_stopped() => "was stopped".to_owned(),
            Ok(None) if begun.elapsed() > limits.time => {
                format!("has not ended after {} seconds", limits.time.as_secs())
            }
            Ok(None) => {
                std::thread::sleep(PAUSE);
                continue;
            }
        };
        // Where it has ended by itself, there is nothing to kill.
        if !matches!(ended, Ok(Some(_))) {
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            let _ = child.wait();
        }
        return Err(why);
    }
}

fn beginning(said: &mut OpenFile) -> io::Result<String> {
    said.rewind()?;
    let mut bytes = Vec::new();
    said.take(SHOWN).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FORMAT;

    #[derive(Default)]
    struct Around {
        said: String,
        stopped: bool,
    }

    impl ProgramHost for Around {
        fn environment(&self) -> Vec<(OsString, OsString)> {
            vec![("PATH".into(), "/usr/bin:/bin".into())]
        }

        fn begins(&mut self, _: &[String]) {}

        fn said(&mut self, text: &str) {
            text.clone_into(&mut self.said);
        }

        fn is_stopped(&self) -> bool {
            self.stopped
        }
    }

    fn model() -> Model {
        Model {
            model: FORMAT,
            engine: "postgresql".to_owned(),
            project: "shop".to_owned(),
            modules: Vec::new(),
            types: Vec::new(),
        }
    }

    fn ran(script: &str, around: &mut Around, limits: &Limits) -> Result<Vec<File>, String> {
        let command = ["sh", "-c", script].map(str::to_owned);
        limited(&command, Path::new("/"), &model(), around, limits)
    }

    #[test]
    fn an_answer_is_files_and_nothing_else() {
        let mut around = Around::default();
        let files =
            ran("cat > /dev/null; echo '{\"files\": {\"a/b\": \"c\"}}'; echo hm >&2", &mut around, &LIMITS);
        assert_eq!(files, Ok(vec![File { path: "a/b".to_owned(), text: "c".to_owned() }]));
        assert_eq!(around.said, "hm");
        for wrong in ["true", "echo '{}'", "echo '{\"files\": {}, \"flies\": 1}'", "echo '{\"files\": {}} x'"]
        {
            let got = ran(wrong, &mut around, &LIMITS).err().unwrap_or_default();
            assert!(got.starts_with("does not answer with {\"files\": "), "{wrong}: {got}");
        }
        let got = ran("echo '{\"files\": {\"a\": \"b\", \"a\": \"c\"}}'", &mut around, &LIMITS);
        assert!(got.err().unwrap_or_default().contains("`a` is there twice"));
        let got = ran("echo '{\"files\": {}}'; exit 3", &mut around, &LIMITS);
        assert_eq!(got, Err("failed: exit status: 3".to_owned()));
    }

    #[test]
    fn a_program_without_an_end_is_killed() {
        let mut around = Around::default();
        let short = Limits { time: Duration::ZERO, ..LIMITS };
        let got = ran("sleep 1000 & wait", &mut around, &short);
        assert_eq!(got, Err("has not ended after 0 seconds".to_owned()));
        let few = Limits { written: 1000, ..LIMITS };
        for stream in ["yes", "yes >&2", "head -c 1001 /dev/zero"] {
            let got = ran(stream, &mut around, &few);
            assert_eq!(got, Err("writes more than 1000 bytes".to_owned()), "{stream}");
        }
        around.stopped = true;
        assert_eq!(ran("sleep 1000", &mut around, &LIMITS), Err("was stopped".to_owned()));
    }
}
