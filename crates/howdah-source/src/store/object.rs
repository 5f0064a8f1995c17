//! One object: parts of it, many at once, and its bytes in order with reading ahead. All of the same version.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::future::try_join;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};

use super::address::{Address, Kind};
use super::failure::Failure;
use super::io::{Answer, start};
use crate::Progress;

/// Bytes of one request: long enough that its latency does not show.
const PART_BYTES: u64 = if cfg!(test) { 64 << 10 } else { 8 << 20 };

/// Requests that are under way at once, for one reader.
const PARTS_AHEAD: usize = 3;

/// Requests that are under way at once, for parts that are all needed.
const PARTS_AT_ONCE: usize = 8;

/// Parts that are closer than this are read as one: the gap costs less than a request.
const GAP_BYTES: u64 = 256 << 10;

/// Formats have a mark at the start, and at the end a directory, which is read in several steps: together they are two
/// requests.
const HEAD_BYTES: u64 = 4 << 10;
const TAIL_BYTES: u64 = 64 << 10;

/// An answer that breaks off is asked for again so often.
const TRIES: usize = 3;

/// An object of a store, as it was when it was found.
#[derive(Clone)]
pub struct Object {
    name: Arc<str>,
    address: Arc<Address>,
    store: Arc<dyn ObjectStore>,
    path: Path,
    size: u64,
    etag: Option<String>,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object").field("name", &self.name).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Object {
    pub(super) fn new(address: &Arc<Address>, store: &Arc<dyn ObjectStore>, meta: ObjectMeta) -> Self {
        let key = if address.kind == Kind::Http { &*address.key } else { meta.location.as_ref() };
        Object {
            name: address.name(key).into(),
            address: address.clone(),
            store: store.clone(),
            size: meta.size,
            // A weak one does not tell versions apart byte by byte, and no server matches it.
            etag: meta.e_tag.filter(|etag| !etag.starts_with("W/")),
            path: meta.location,
        }
    }

    /// The URL, without what must not be shown.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The object's size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Its size, and its ETag where the store gave one that tells versions apart.
    pub fn version(&self) -> String {
        match &self.etag {
            Some(etag) => format!("{} bytes, ETag {etag}", self.size),
            None => format!("{} bytes", self.size),
        }
    }

    /// The last part of its key.
    pub fn file_name(&self) -> Option<String> {
        self.path.filename().map(str::to_owned)
    }

    /// Requests the object's ends.
    ///
    /// # Errors
    /// The thread that reads cannot be started.
    pub fn ends(&self) -> io::Result<Answer<Result<Ends, Failure>>> {
        let (object, size) = (self.clone(), self.size);
        let tail_start = size.saturating_sub(TAIL_BYTES);
        start(async move {
            let head = object.clone().part(0..HEAD_BYTES.min(tail_start));
            let (head, tail) = try_join(head, object.part(tail_start..size)).await?;
            Ok(Ends { head, tail_start, tail })
        })
    }

    /// A reader of the object's bytes in order, requested ahead.
    pub fn reader(&self, progress: &Progress) -> ObjectReader {
        ObjectReader {
            object: self.clone(),
            progress: progress.clone(),
            requested: 0,
            ahead: VecDeque::new(),
            taken: 0,
            current: Bytes::new(),
        }
    }

    /// The bytes at `ranges`, which lie within the object; near ones are read together, long ones in parts.
    ///
    /// # Errors
    /// The store refuses, or the object is another by now.
    pub fn ranges(&self, ranges: &[Range<u64>], progress: &Progress) -> io::Result<Vec<Bytes>> {
        let merged = merged(ranges);
        let requests: Vec<(usize, Range<u64>)> = merged
            .iter()
            .enumerate()
            .flat_map(|(at, range)| parts(range.clone()).map(move |part| (at, part)))
            .collect();
        let object = self.clone();
        // The parts of a range come in order; most ranges have one, which is not copied.
        let mut whole: Vec<BytesMut> = merged
            .iter()
            .map(|range| match usize::try_from(range.end - range.start) {
                Ok(length) if length as u64 > PART_BYTES => BytesMut::with_capacity(length),
                _ => BytesMut::new(),
            })
            .collect();
        let work = async move {
            let asked = requests.into_iter().map(move |(at, part)| {
                let object = object.clone();
                async move { Ok::<_, Failure>((at, object.part(part).await?)) }
            });
            let mut answers = stream::iter(asked).buffered(PARTS_AT_ONCE);
            while let Some((at, part)) = answers.try_next().await? {
                if whole[at].capacity() == 0 {
                    whole[at] = part.into();
                } else {
                    whole[at].extend_from_slice(&part);
                }
            }
            Ok::<_, Failure>(whole)
        };
        let read = start(work)?.wait(progress)??;
        let whole: Vec<(Range<u64>, Bytes)> =
            merged.into_iter().zip(read.into_iter().map(BytesMut::freeze)).collect();
        let cut = |range: &Range<u64>| {
            let (outer, bytes) =
                whole.iter().find(|(outer, _)| outer.start <= range.start && range.end <= outer.end)?;
            let at = usize::try_from(range.start - outer.start).ok()?;
            let length = usize::try_from(range.end - range.start).ok()?;
            Some(bytes.slice(at..at + length))
        };
        let cut = ranges.iter().map(cut).collect::<Option<Vec<_>>>();
        cut.ok_or_else(|| io::Error::other("a part of it was not read"))
    }

    /// One request.
    async fn part(self, range: Range<u64>) -> Result<Bytes, Failure> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let options = GetOptions {
                range: Some(GetRange::Bounded(range.clone())),
                if_match: self.etag.clone(),
                ..GetOptions::default()
            };
            let got = async {
                let answer = self.store.get_opts(&self.path, options).await?;
                let size = answer.meta.size;
                Ok::<_, object_store::Error>((size, answer.bytes().await?))
            };
            match got.await {
                Ok((size, _)) if size != self.size => {
                    return Err(Failure::new("it was changed while it was read"));
                }
                Ok((_, bytes)) if bytes.len() as u64 == range.end - range.start => return Ok(bytes),
                Ok(_) if tries == TRIES => {
                    return Err(Failure::new("the server sends less than it was asked for"));
                }
                Err(error) if tries == TRIES || !is_passing(&error) => {
                    return Err(Failure::of(&error, &self.address));
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
}

/// The first and the last bytes of an object.
pub struct Ends {
    head: Bytes,
    tail_start: u64,
    tail: Bytes,
}

impl Ends {
    /// The bytes at `range`, if they are all in one of them.
    pub fn bytes(&self, range: &Range<u64>) -> Option<Bytes> {
        let (bytes, before) =
            if range.start < self.tail_start { (&self.head, 0) } else { (&self.tail, self.tail_start) };
        let start = usize::try_from(range.start - before).ok()?;
        let end = usize::try_from(range.end - before).ok()?;
        (end <= bytes.len()).then(|| bytes.slice(start..end))
    }
}

/// Whether the same request may well succeed. (Refused connections and errors of the server were tried again already.)
fn is_passing(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::Generic { .. })
        && !error.to_string().contains("status code")
        && !error.to_string().contains("non-partial")
}

/// What the store knows of an object before it is read.
pub(super) async fn head(store: Arc<dyn ObjectStore>, path: Path) -> object_store::Result<ObjectMeta> {
    let asked = store.head(&path).await;
    match asked {
        Err(refused) if is_refusal(&refused) => {
            // A signature may be good for reading alone: then the first byte tells as much.
            let options = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
            store.get_opts(&path, options).await.map(|answer| answer.meta).map_err(|_| refused)
        }
        asked => asked,
    }
}

/// Whether the server was reached and does not want this kind of request.
fn is_refusal(error: &object_store::Error) -> bool {
    use object_store::Error::{Generic, PermissionDenied, Unauthenticated};
    match error {
        PermissionDenied { .. } | Unauthenticated { .. } => true,
        Generic { source, .. } => source.to_string().contains("status code: 4"),
        _ => false,
    }
}

/// `ranges` in order, those that lie near each other as one.
fn merged(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.to_vec();
    sorted.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP_BYTES) => {
                last.end = last.end.max(range.end)
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// `range` as requests.
fn parts(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    (range.start..end)
        .step_by(usize::try_from(PART_BYTES).unwrap_or(usize::MAX))
        .map(move |start| start..(start + PART_BYTES).min(end))
}

/// The bytes of an object in order.
pub struct ObjectReader {
    object: Object,
    progress: Progress,
    /// Up to here.
    requested: u64,
    ahead: VecDeque<Answer<Result<Bytes, Failure>>>,
    /// Parts so far: whoever only looks at the start is not sent more than that.
    taken: usize,
    current: Bytes,
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !buffer.is_empty() {
            while self.ahead.len() < PARTS_AHEAD.min(1 + self.taken) && self.requested < self.object.size {
                let end = (self.requested + PART_BYTES).min(self.object.size);
                self.ahead.push_back(start(self.object.clone().part(self.requested..end))?);
                self.requested = end;
            }
            let Some(next) = self.ahead.pop_front() else { return Ok(0) };
            self.current = next.wait(&self.progress)??;
            self.taken += 1;
        }
        let count = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}
