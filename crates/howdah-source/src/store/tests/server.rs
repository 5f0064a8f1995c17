//! A server for tests: objects under `/BUCKET/KEY` with ranges, ETags and S3's listing; and faults on request.

use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::hive::decoded;

/// What happens to the next request for an object's bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum RequestFault {
    /// This status, and this body.
    Status(u16, &'static str),
    /// The connection ends after so many bytes of the body.
    Cut(usize),
    /// No answer comes.
    Stall,
    /// All of the object, as servers answer that know no ranges.
    Whole,
}

#[derive(Default)]
struct State {
    /// By bucket and key.
    objects: BTreeMap<String, (Vec<u8>, String)>,
    faults: VecDeque<RequestFault>,
    forbids_head: bool,
    requests: Vec<String>,
    authorization: Option<String>,
}

/// The server; it serves until the process ends.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// Entries of a page of a listing.
const PAGE: usize = 2;

impl Server {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server { address: listener.local_addr().unwrap(), state: Arc::default() };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || serving.serve(stream));
            }
        });
        server
    }

    pub(super) fn put(&self, key: &str, bytes: impl Into<Vec<u8>>) {
        let mut state = self.state.lock();
        let etag = format!("\"{}-{}\"", key.len(), state.requests.len());
        state.objects.insert(key.to_owned(), (bytes.into(), etag));
    }

    pub(super) fn fail(&self, faults: impl IntoIterator<Item = RequestFault>) {
        self.state.lock().faults.extend(faults);
    }

    pub(super) fn forbid_head(&self) {
        self.state.lock().forbids_head = true;
    }

    /// Requests so far, each its method, target and range.
    pub(super) fn requests(&self) -> Vec<String> {
        self.state.lock().requests.clone()
    }

    /// Who the last request said it was from.
    pub(super) fn authorization(&self) -> Option<String> {
        self.state.lock().authorization.clone()
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
        let request = lines.next()?.ok()?;
        let mut headers = BTreeMap::new();
        while let Some(Ok(line)) = lines.next() {
            let Some((name, value)) = line.split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let mut words = request.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let range = headers.get("range").cloned().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut state = self.state.lock();
        state.authorization = headers.get("authorization").cloned();
        state.requests.push(format!("{method} {target} {range}").trim().to_owned());
        if query.contains("list-type=2") {
            let listing = listing(&state, path.trim_matches('/'), query);
            drop(state);
            return answer(stream, "200 OK", &[], listing.as_bytes());
        }
        let is_head = method == "HEAD";
        if is_head && state.forbids_head {
            drop(state);
            return answer(stream, "403 Forbidden", &[], b"");
        }
        let fault = if is_head { None } else { state.faults.pop_front() };
        let found = state.objects.get(&decoded(path.trim_matches('/'))).cloned();
        drop(state);
        match fault {
            Some(RequestFault::Status(status, body)) => {
                return answer(stream, &format!("{status} Fault"), &[], body.as_bytes());
            }
            Some(RequestFault::Stall) => std::thread::sleep(Duration::from_secs(30)),
            _ => {}
        }
        let Some((bytes, etag)) = found else {
            let body = "<Error><Code>NoSuchKey</Code><Message>The key does not exist.</Message></Error>";
            return answer(stream, "404 Not Found", &[], body.as_bytes());
        };
        if headers.get("if-match").is_some_and(|wanted| *wanted != etag) {
            return answer(stream, "412 Precondition Failed", &[], b"");
        }
        let etag = format!("ETag: {etag}");
        let modified = "Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT";
        if is_head {
            let length = format!("Content-Length: {}", bytes.len());
            return head(stream, "200 OK", &[&etag, modified, &length]);
        }
        let range = range.strip_prefix("bytes=").and_then(|range| range.split_once('-'));
        let range = range.filter(|_| !matches!(fault, Some(RequestFault::Whole)));
        let Some((start, end)) = range else { return answer(stream, "200 OK", &[&etag, modified], &bytes) };
        let start: usize = start.parse().ok()?;
        let end = end.parse::<usize>().ok()?.min(bytes.len().checked_sub(1)?);
        let place = format!("Content-Range: bytes {start}-{end}/{}", bytes.len());
        let part = bytes.get(start..=end)?;
        match fault {
            Some(RequestFault::Cut(after)) => {
                let length = format!("Content-Length: {}", part.len());
                head(stream.try_clone().ok()?, "206 Partial Content", &[&etag, modified, &place, &length])?;
                (&stream).write_all(&part[..after.min(part.len())]).ok()
            }
            _ => answer(stream, "206 Partial Content", &[&etag, modified, &place], part),
        }
    }
}

fn answer(stream: TcpStream, status: &str, headers: &[&str], body: &[u8]) -> Option<()> {
    let length = format!("Content-Length: {}", body.len());
    let headers: Vec<&str> = headers.iter().copied().chain([&*length]).collect();
    head(stream.try_clone().ok()?, status, &headers)?;
    (&stream).write_all(body).ok()
}

fn head(mut stream: TcpStream, status: &str, headers: &[&str]) -> Option<()> {
    let mut text = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
    for header in headers {
        write!(text, "{header}\r\n").ok()?;
    }
    text.push_str("\r\n");
    stream.write_all(text.as_bytes()).ok()
}

/// A page of S3's listing, version 2.
fn listing(state: &State, bucket: &str, query: &str) -> String {
    let given = |name: &str| {
        let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        pair.map(decoded).unwrap_or_default()
    };
    let (prefix, delimiter, after) = (given("prefix"), given("delimiter"), given("continuation-token"));
    let bucket = format!("{bucket}/");
    let mut entries: BTreeMap<String, String> = BTreeMap::new();
    for (name, (bytes, etag)) in &state.objects {
        let Some(key) = name.strip_prefix(&bucket).filter(|key| key.starts_with(&prefix)) else { continue };
        let deeper = key[prefix.len()..].split_once('/').filter(|_| !delimiter.is_empty());
        match deeper {
            Some((directory, _)) => {
                let directory = format!("{prefix}{directory}/");
                let entry = format!("<CommonPrefixes><Prefix>{directory}</Prefix></CommonPrefixes>");
                entries.insert(directory, entry);
            }
            None => {
                let entry = format!(
                    "<Contents><Key>{key}</Key><LastModified>2015-10-21T07:28:00.000Z</LastModified>\
                     <Size>{}</Size><ETag>{}</ETag></Contents>",
                    bytes.len(),
                    etag.replace('"', "&quot;")
                );
                entries.insert(key.to_owned(), entry);
            }
        }
    }
    let page: Vec<(&String, &String)> = entries.iter().filter(|(key, _)| **key > after).collect();
    let next = page.get(PAGE).map(|_| page[PAGE - 1].0);
    let mut body: Vec<&str> = page.iter().take(PAGE).map(|(_, entry)| entry.as_str()).collect();
    body.sort_by_key(|entry| !entry.starts_with("<Contents>"));
    let body = body.concat();
    let token =
        next.map_or(String::new(), |key| format!("<NextContinuationToken>{key}</NextContinuationToken>"));
    format!("<ListBucketResult><IsTruncated>{}</IsTruncated>{body}{token}</ListBucketResult>", next.is_some())
}
