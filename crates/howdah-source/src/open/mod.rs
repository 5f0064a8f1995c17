//! From what the user named to text in UTF-8: paths, globs, standard input; decompressed and decoded.

pub(crate) mod blob;
pub(crate) mod decompress;
pub mod encoding;
pub(crate) mod fill;
pub mod guess;
pub(crate) mod local;
mod not_text;
mod pattern;
pub mod provenance;
pub mod reject_file;
pub mod transcode;

use parking_lot::Mutex;
use std::ffi::{OsStr, OsString};
use std::io::{self, Cursor, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use bytes::Bytes;
use howdah_message::{Message, setting};

use crate::Progress;
use crate::Provenance;
use crate::error::{Error, ErrorKind};
use crate::open::blob::Blob;
use crate::open::encoding::Encoding;
use crate::open::fill::read_full;
use crate::open::guess::Guess;
use crate::open::local::{Changed, LocalFile, Stdin};
use crate::open::reject_file::{LineMap, RejectFileReader};
use crate::store::{self, Address, Failure, Object};

/// The longest signature of a format.
const SIGNATURE_BYTES: u64 = 16;

/// Most lines are shorter.
const FIRST_LINE_BYTES: u64 = 64 * 1024;

/// So many things that a pattern leaves out are named.
const SHOWN: usize = 3;

/// One input, not yet opened.
#[derive(Debug, Clone)]
pub struct Input {
    /// As the user wrote it, or as the glob found it; `-` is standard input.
    pub name: Arc<str>,
    place: Place,
    /// A reject file of ours, read for the records it holds.
    is_rejects: bool,
    /// Its values had types once.
    had_types: bool,
    /// What its text is written in; `None`: what its byte order mark says, else UTF-8.
    encoding: Option<Encoding>,
    /// Rows that whoever gave it says it has.
    rows: Option<u64>,
    /// Whether it is guessed where neither says it, and what was told of that already; all inputs of a load share it.
    guesses: Option<Arc<Mutex<Vec<&'static str>>>>,
}

#[derive(Debug, Clone)]
enum Place {
    Stdin(Stdin),
    File(LocalFile),
    Memory(Arc<[u8]>),
    Object(Object),
    Reader(Once<dyn Read + Send>),
    Batches(Once<dyn RecordBatchReader + Send>),
}

/// What can be taken only once, by whichever clone of the input comes first.
struct Once<T: ?Sized>(Arc<Mutex<Option<Box<T>>>>);

impl<T: ?Sized> Once<T> {
    fn new(what: Box<T>) -> Self {
        Once(Arc::new(Mutex::new(Some(what))))
    }

    fn take(&self, name: &str) -> Result<Box<T>, Error> {
        let taken = self.0.lock().take();
        taken.ok_or_else(|| Error::usage(format!("{name} can be read only once")))
    }
}

impl<T: ?Sized> Clone for Once<T> {
    fn clone(&self) -> Self {
        Once(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> std::fmt::Debug for Once<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Once")
    }
}

impl Input {
    /// Finds the files and objects behind `patterns` and URLs, in order; those of a pattern are sorted by name. What a pattern
    /// leaves out is said in `progress`.
    ///
    /// # Errors
    /// A pattern that matches nothing, a missing file, a directory, standard input named twice, a store that refuses.
    pub fn resolve(patterns: &[OsString], progress: &Progress) -> Result<Vec<Input>, Error> {
        let mut inputs = Vec::new();
        for named in patterns {
            let mut path = named.clone();
            // A name that is no text is that of files.
            if let Some(text) = named.to_str() {
                if let Some(address) = Address::parse(text)? {
                    let found = store::find(&address, progress)?;
                    inputs.extend(found.into_iter().map(Input::object));
                    continue;
                }
                if let Some(local) = store::local_path(text)? {
                    path = local.into();
                }
            }
            if path == "-" {
                if inputs.iter().any(|input: &Input| matches!(input.place, Place::Stdin(_))) {
                    return Err(Error::usage("standard input (-) can be read only once"));
                }
                inputs.push(Input::new(Arc::from("-"), Place::Stdin(Stdin::new())));
            } else if !pattern::is_pattern(&path) || Path::new(&path).symlink_metadata().is_ok() {
                inputs.push(Input::file(PathBuf::from(path)));
            } else {
                inputs.extend(matching(&path, progress)?);
            }
        }
        if inputs.is_empty() {
            return Err(Error::usage("no input was named"));
        }
        for input in &inputs {
            let Some(path) = input.path() else { continue };
            let metadata = path.metadata().map_err(|error| cannot_read(&input.name, error))?;
            if metadata.is_dir() {
                return Err(Error::new(ErrorKind::Source, format!("{} is a directory", input.name))
                    .with_hint(format!("name its files: '{}/*.csv'", input.name)));
            }
        }
        Ok(inputs)
    }

    fn new(name: Arc<str>, place: Place) -> Self {
        Input { name, place, is_rejects: false, had_types: false, encoding: None, rows: None, guesses: None }
    }

    fn file(path: PathBuf) -> Self {
        Input::new(Arc::from(path.to_string_lossy()), Place::File(LocalFile::new(path)))
    }

    /// An object of a store.
    pub fn object(object: Object) -> Self {
        Input::new(object.name().clone(), Place::Object(object))
    }

    /// Bytes at hand, under a name for messages.
    pub fn memory(name: &str, bytes: Arc<[u8]>) -> Self {
        Input::new(Arc::from(name), Place::Memory(bytes))
    }

    /// Bytes of any format that come one after the other and once, under a name for messages.
    pub fn reader(name: &str, reader: Box<dyn Read + Send>) -> Self {
        Input::new(Arc::from(name), Place::Reader(Once::new(reader)))
    }

    /// Arrow batches that come one after the other and once, under a name for messages.
    pub fn record_batches(name: &str, reader: Box<dyn RecordBatchReader + Send>) -> Self {
        Input::new(Arc::from(name), Place::Batches(Once::new(reader)))
    }

    /// Says how many rows the input has, where that is known without reading it.
    #[must_use]
    pub fn with_rows(mut self, rows: Option<u64>) -> Self {
        self.rows = rows;
        self
    }

    /// Says in which `encoding` the input's text is written; `None`: as its byte order mark says, else UTF-8.
    #[must_use]
    pub fn written_in(mut self, encoding: Option<Encoding>) -> Self {
        self.encoding = encoding;
        self
    }

    /// Has the encoding of `inputs` guessed where nothing says it.
    pub fn guessing(inputs: Vec<Input>) -> Vec<Input> {
        let told = Arc::default();
        let guessing = |input: Input| Input { guesses: Some(Arc::clone(&told)), ..input };
        inputs.into_iter().map(guessing).collect()
    }

    /// The file as a reject file, read for the refused records it holds, and where these were meant to go.
    ///
    /// # Errors
    /// It is not a reject file, or a pipe, which cannot be looked at first.
    pub fn corrected(&self) -> Result<(Input, Provenance), Error> {
        if self.path().is_none() {
            return Err(Error::usage("rejects are read from files, not from standard input"));
        }
        let plain = self.open(&Progress::new())?;
        let mut reader = RejectFileReader::new(plain.reader, LineMap::default());
        let provenance = reader.provenance().map_err(|error| cannot_read(&self.name, error))?;
        let provenance = provenance
            .ok_or_else(|| Error::new(ErrorKind::Source, format!("{} holds no rejects", self.name)))?;
        if provenance.version > provenance::VERSION {
            let said = format!(
                "{} was written by a newer howdah: its form is {}, and this one reads up to {}",
                self.name,
                provenance.version,
                provenance::VERSION
            );
            return Err(Error::new(ErrorKind::Source, said).with_hint("load it with that howdah"));
        }
        Ok((Input { is_rejects: true, had_types: provenance.had_types, ..self.clone() }, provenance))
    }

    /// Device and inode of the file that is read, whatever it is called; `None`: it is none.
    pub fn file_identity(&self) -> Option<(u64, u64)> {
        let metadata = match &self.place {
            Place::File(file) => file.path().metadata().ok()?,
            Place::Stdin(_) => Stdin::metadata().ok()?,
            Place::Memory(_) | Place::Object(_) | Place::Reader(_) | Place::Batches(_) => return None,
        };
        metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
    }

    /// Whether the input is a reject file whose values had types: those of Parquet or Arrow.
    pub fn had_types(&self) -> bool {
        self.had_types
    }

    fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(file) => Some(file.path()),
            Place::Stdin(_) | Place::Memory(_) | Place::Object(_) | Place::Reader(_) | Place::Batches(_) => {
                None
            }
        }
    }

    /// The last part of a file's path, or of an object's key.
    fn file_name(&self) -> Option<String> {
        match &self.place {
            Place::Object(object) => object.file_name(),
            _ => Some(self.path()?.file_name()?.to_string_lossy().into_owned()),
        }
    }

    /// Whether the input can be read a second time (a regular file can, a pipe cannot).
    pub fn is_rewindable(&self) -> bool {
        self.size().is_some()
    }

    /// Whether it is a reject file, read for the records that it holds.
    pub fn is_rejects(&self) -> bool {
        self.is_rejects
    }

    /// Rows, where whoever gave the input knew that.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// Size in bytes as stored; `None` for pipes.
    pub fn size(&self) -> Option<u64> {
        match &self.place {
            Place::Stdin(_) | Place::Reader(_) | Place::Batches(_) => None,
            Place::Memory(bytes) => Some(bytes.len() as u64),
            Place::Object(object) => Some(object.size()),
            Place::File(file) => file.size(),
        }
    }

    /// What tells the content from another one of the same name, for machines to compare; `None`: it can be read only once,
    /// or by this process only.
    pub fn version(&self) -> Option<String> {
        match &self.place {
            Place::Object(object) => Some(object.version()),
            Place::File(file) => file.version(),
            Place::Stdin(_) | Place::Memory(_) | Place::Reader(_) | Place::Batches(_) => None,
        }
    }

    /// The file's name without directories and endings (`data/events.csv.gz` → `events`); `None` for standard input, and for a
    /// name that is no text.
    pub fn stem(&self) -> Option<String> {
        let name = self.file_name()?;
        if self.path().is_some_and(|path| path.to_str().is_none()) {
            return None;
        }
        let end = name.char_indices().skip(1).find(|(_, c)| *c == '.').map_or(name.len(), |(at, _)| at);
        Some(name[..end].to_owned())
    }

    /// The file name's ending below a compression suffix, in lower case (`x.TSV.gz` → `tsv`).
    pub fn ending(&self) -> Option<String> {
        let name = self.file_name()?;
        let mut path = PathBuf::from(&name);
        if decompress::is_name_of_compressed(&name) {
            path.set_extension("");
        }
        path.extension().map(|ending| ending.to_string_lossy().to_lowercase())
    }

    /// Opens the input; bytes read from disk are counted in `progress`.
    ///
    /// # Errors
    /// The file cannot be opened or its first bytes cannot be read.
    pub fn open(&self, progress: &Progress) -> Result<ByteStream, Error> {
        let fail = |error: io::Error| cannot_read(&self.name, error);
        let content = decompress::text(self.raw(progress)?).map_err(fail)?;
        let (content, guessed) = match &self.guesses {
            Some(told) if self.encoding.is_none() => self.guess(content, told, progress)?,
            _ => (content, None),
        };
        let (reader, encoding) = transcode::reader(content, self.encoding.or(guessed)).map_err(fail)?;
        let is_guessed = guessed.is_some();
        let name = self.name.clone();
        if self.is_rejects {
            let lines = LineMap::default();
            let reader = Box::new(RejectFileReader::new(reader, lines.clone()));
            return Ok(ByteStream { reader, name, lines: Some(lines), encoding, is_guessed });
        }
        Ok(ByteStream { reader, name, lines: None, encoding, is_guessed })
    }

    /// Opens an input of any format and gives its content, decompressed; bytes read are counted in `progress`.
    ///
    /// # Errors
    /// As [`Input::open`].
    pub fn content(&self, progress: &Progress) -> Result<Box<dyn Read + Send>, Error> {
        decompress::content(self.raw(progress)?).map_err(|error| cannot_read(&self.name, error))
    }

    /// Whether the input is made of Arrow batches.
    pub fn is_batches(&self) -> bool {
        matches!(self.place, Place::Batches(_))
    }

    /// The first bytes of what is at hand, as far as they can be had: formats are known by them.
    pub fn signature(&self) -> Option<Bytes> {
        self.head(SIGNATURE_BYTES)
    }

    /// The first line of what is at hand, or as much of it as tells what it is; more may follow it.
    pub fn first_line(&self) -> Option<Bytes> {
        self.head(FIRST_LINE_BYTES)
    }

    fn head(&self, bytes: u64) -> Option<Bytes> {
        match self.place {
            Place::File(_) | Place::Memory(_) => self.blob(&Progress::new()).ok()??.head(bytes).ok(),
            _ => None,
        }
    }

    /// The input as it is stored, if it can be read at any place; `None`: its bytes come one after the other.
    ///
    /// # Errors
    /// It is gone.
    pub fn blob(&self, progress: &Progress) -> Result<Option<Blob>, Error> {
        match &self.place {
            Place::File(file) if file.size().is_some() => Ok(Some(Blob::file(file.clone()))),
            Place::Memory(bytes) => Ok(Some(Blob::memory(Bytes::from_owner(bytes.clone())))),
            Place::Object(object) => Ok(Some(Blob::object(object.clone(), progress))),
            Place::Stdin(_) | Place::File(_) | Place::Reader(_) | Place::Batches(_) => Ok(None),
        }
    }

    /// The batches, if the input is some.
    ///
    /// # Errors
    /// They were taken already.
    pub fn take_batches(&self) -> Result<Option<Box<dyn RecordBatchReader + Send>>, Error> {
        match &self.place {
            Place::Batches(batches) => batches.take(&self.name).map(Some),
            _ => Ok(None),
        }
    }

    fn raw(&self, progress: &Progress) -> Result<Counting, Error> {
        let is_compressed = || self.file_name().is_some_and(|name| decompress::is_name_of_compressed(&name));
        if self.size() == Some(0) && is_compressed() {
            let said = format!("cannot read {}: it is empty, and a compressed file never is", self.name);
            return Err(Error::new(ErrorKind::Source, said)
                .with_hint("it was cut off: even of nothing a compressor makes some bytes"));
        }
        let raw: Box<dyn Read + Send> = match &self.place {
            Place::Stdin(stdin) => Box::new(stdin.reader()),
            Place::File(file) => Box::new(file.reader().map_err(|error| cannot_read(&self.name, error))?),
            Place::Memory(bytes) => Box::new(Cursor::new(bytes.clone())),
            Place::Object(object) => Box::new(object.reader(progress)),
            Place::Reader(reader) => reader.take(&self.name)?,
            Place::Batches(_) => {
                return Err(Error::usage(format!("{} holds Arrow batches and no text", self.name)));
            }
        };
        Ok(Counting { raw, progress: progress.clone() })
    }

    /// The same content, and the encoding that its first part speaks for; each encoding is told once.
    fn guess(
        &self,
        mut content: Box<dyn Read + Send>,
        told: &Mutex<Vec<&'static str>>,
        progress: &Progress,
    ) -> Result<(Box<dyn Read + Send>, Option<Encoding>), Error> {
        let mut first = vec![0; guess::FIRST_PART_BYTES];
        let got = read_full(&mut content, &mut first).map_err(|error| cannot_read(&self.name, error))?;
        first.truncate(got);
        let guessed = match guess::guess(&first, got < guess::FIRST_PART_BYTES) {
            Guess::Utf8 => None,
            Guess::Is(encoding) => Some(encoding),
            Guess::Either(two) => return Err(guess::ambiguous(&self.name, &two)),
        };
        if let Some(encoding) = guessed {
            let name = encoding.name();
            let mut told = told.lock();
            if !told.contains(&name) {
                told.push(name);
                let input = &self.name;
                progress.notice(message![
                    "{input}: encoding {name} (guessed; ",
                    setting::ENCODING,
                    " overrides)"
                ]);
            }
        }
        Ok((Box::new(Cursor::new(first).chain(content)), guessed))
    }
}

/// The bytes of one input, decompressed, in UTF-8.
pub struct ByteStream {
    reader: Box<dyn Read + Send>,
    name: Arc<str>,
    /// For a reject file: which of its lines a record stands in.
    pub lines: Option<LineMap>,
    /// What it was decoded from, if not UTF-8.
    pub encoding: Option<Encoding>,
    /// Whether the encoding was guessed, as nothing said it.
    pub is_guessed: bool,
}

impl ByteStream {
    /// Fills `buffer` as far as the input goes; fewer bytes than asked for mean its end.
    ///
    /// # Errors
    /// Any failure to read or to decompress; never taken for the end of the input.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        read_full(&mut self.reader, buffer).map_err(|error| cannot_read(&self.name, error))
    }
}

/// The files that `pattern` stands for. Each is read or refused as if it were named.
fn matching(pattern: &OsStr, progress: &Progress) -> Result<Vec<Input>, Error> {
    let found = pattern::find(pattern)
        .map_err(|(directory, error)| cannot_read(&directory.to_string_lossy(), error))?;
    let pattern = pattern.to_string_lossy();
    let mut left_out = found.left_out.iter();
    let shown: Vec<String> =
        left_out.by_ref().take(SHOWN).map(|(path, what)| format!("{} ({what})", path.display())).collect();
    if !shown.is_empty() {
        let more = match left_out.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        progress.notice(format!("{pattern:?} leaves out {}{more}", shown.join(", ")));
    }
    if found.files.is_empty() {
        return Err(Error::new(ErrorKind::Source, format!("no file matches {pattern:?}"))
            .with_hint("* and ? stand for parts of a name, ** for directories; ls shows what is there"));
    }
    Ok(found.files.into_iter().map(Input::file).collect())
}

/// The error for an input that could not be read, with what to do about it where that is known.
pub(crate) fn cannot_read(name: &str, error: io::Error) -> Error {
    explained(name, &error).caused_by(error)
}

fn explained(name: &str, error: &io::Error) -> Error {
    if let Some((what, hint)) = decompress::explain(error) {
        return Error::new(ErrorKind::Source, format!("cannot read {name}: {what}")).with_hint(hint);
    }
    let failure = error.get_ref().and_then(|cause| cause.downcast_ref::<Failure>());
    if let Some((failure, hint)) = failure.and_then(|failure| Some((failure, failure.hint()?))) {
        return Error::new(ErrorKind::Source, format!("cannot read {name}: {failure}"))
            .with_hint(hint.clone());
    }
    if let Some(said) = error.get_ref().and_then(|cause| cause.downcast_ref::<Message>()) {
        return Error::new(ErrorKind::Source, message!["cannot read {name}: ", said]);
    }
    if error.get_ref().is_some_and(|cause| cause.is::<Changed>()) {
        return Error::new(ErrorKind::Source, format!("cannot read {name}: {Changed}"))
            .with_hint(Changed::HINT);
    }
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let failure = Error::new(ErrorKind::Source, format!("cannot read {name}: {text}"));
    match std::env::current_dir() {
        Ok(here) if error.kind() == io::ErrorKind::NotFound && Path::new(name).is_relative() => {
            failure.with_hint(format!("the path counts from {}", here.display()))
        }
        _ => failure,
    }
}

struct Counting {
    raw: Box<dyn Read + Send>,
    progress: Progress,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.raw.read(buffer)?;
        self.progress.add_bytes_read(n as u64);
        Ok(n)
    }
}
