//! `--metrics`: a stream's figures in a file, as Prometheus's collector of text files reads them.

use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use howdah::stream::StreamWatch;
use howdah::{Error, ErrorKind};

/// As often as the file is new: collectors look every 10 s or more.
const EVERY: Duration = Duration::from_secs(5);

/// The file, kept up to date by a thread of its own.
pub(crate) struct MetricsFile {
    stop: Sender<()>,
    thread: JoinHandle<Result<(), Error>>,
}

impl MetricsFile {
    /// Writes the file for the first time: what cannot be written is said at once.
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    pub(crate) fn start(path: &Path, watch: &StreamWatch, table: &str) -> Result<MetricsFile, Error> {
        // The file is exchanged as a whole: what is no file would be gone.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let said = format!("cannot write the metrics to {}: it is not a regular file", path.display());
            return Err(Error::new(ErrorKind::Usage, said));
        }
        let (watch, table) = (watch.clone(), table.to_owned());
        let mut file = hold(&path).map_err(|error| cannot_write(&path, &error))?.ok_or_else(|| {
            let said = format!("cannot write the metrics to {}: another stream's are there", path.display());
            Error::new(ErrorKind::Usage, said).with_hint("name another file for each stream")
        })?;
        write(&path, &mut file, &watch, &table)?;
        let (stop, stopped) = channel();
        let work = move || {
            loop {
                let waited = stopped.recv_timeout(EVERY);
                let written = write(&path, &mut file, &watch, &table);
                // A disk that is full for a while is no reason to end the stream, nor to miss what comes after it.
                if !matches!(waited, Err(RecvTimeoutError::Timeout)) {
                    return written;
                }
            }
        };
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(work);
        let thread = thread
            .map_err(|error| Error::new(ErrorKind::Internal, format!("cannot start a thread: {error}")))?;
        Ok(MetricsFile { stop, thread })
    }

    /// Writes the last figures.
    pub(crate) fn finish(self) -> Result<(), Error> {
        drop(self.stop);
        self.thread.join().unwrap_or(Ok(()))
    }
}

/// The file at `path`, made where there is none, for this stream alone as long as it is open. `None`: another one has it.
fn hold(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = File::options().append(true).create(true).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Some file systems of networks know no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // Whoever had it may just have put another in its place.
        let identity = |found: Metadata| (found.dev(), found.ino());
        if path.metadata().map(identity).ok() == file.metadata().map(identity).ok() {
            return Ok(Some(file));
        }
    }
}

/// Replaces the file as a whole, so that nobody reads half of it. The new one is this stream's before it is in place.
fn write(path: &Path, file: &mut File, watch: &StreamWatch, table: &str) -> Result<(), Error> {
    let replace = || -> io::Result<File> {
        let mut draft = path.as_os_str().to_owned();
        draft.push(".new");
        let draft = PathBuf::from(draft);
        let mut new = File::create(&draft)?;
        let _ = new.try_lock();
        new.write_all(text(watch, table).as_bytes())?;
        std::fs::rename(&draft, path)?;
        Ok(new)
    };
    *file = replace().map_err(|error| cannot_write(path, &error))?;
    Ok(())
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::Source, format!("cannot write the figures to {}: {error}", path.display()))
}

fn text(watch: &StreamWatch, table: &str) -> String {
    let progress = watch.progress();
    let label = table.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let mut out = String::new();
    for (name, help, value) in [
        ("rows_read", "Records read.", progress.rows_read),
        ("rows_committed", "Rows that are committed.", progress.rows),
        ("rows_rejected", "Records refused and kept apart.", progress.rows_rejected),
        ("bytes_read", "Bytes of input read.", progress.bytes_read),
    ] {
        out.push_str(&format!(
            "# HELP howdah_stream_{name}_total {help}\n# TYPE howdah_stream_{name}_total counter\n\
             howdah_stream_{name}_total{{table=\"{label}\"}} {value}\n"
        ));
    }
    if let Some(writer) = progress.writer {
        out.push_str(&writer.prometheus(&[("table", table)]));
    }
    out
}
