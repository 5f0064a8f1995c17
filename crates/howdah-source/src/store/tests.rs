//! Reading from a server of our own, which can also fail.
#![expect(clippy::disallowed_methods, reason = "a test is free to start threads")]

mod profile;
mod server;

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::parquet::arrow::ArrowWriter;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{Int64Array, RecordBatch, StringArray};
use howdah_testkit::waiting::{promised, until};

use self::server::{RequestFault, Server};
use super::environment::Environment;
use super::find::find_by;
use super::*;
use crate::Error;
use crate::Progress;
use crate::batches::{BatchFormat, BatchOptions, BatchWorker, Batches};
use crate::open::Input;

/// What nobody may read in a message.
const SECRET: &str = "sEcReT";

fn environment(server: &Server) -> Environment {
    Environment::from_pairs(&[
        ("AWS_ENDPOINT_URL", &format!("http://{}", server.address)),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_REGION", "us-east-1"),
    ])
}

fn found(server: &Server, url: &str) -> Result<Vec<Object>, Error> {
    find_by(&Address::parse(url).unwrap().unwrap(), &environment(server), &Progress::new())
}

fn names(server: &Server, url: &str) -> Vec<String> {
    found(server, url).unwrap().iter().map(|object| object.name().to_string()).collect()
}

fn one(server: &Server, url: &str) -> Object {
    found(server, url).unwrap().remove(0)
}

fn read(object: &Object) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    object.reader(&Progress::new()).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Bytes of which each part is another: parts in tests have 64 KiB.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from((at * 31 + at / 1000) % 251).unwrap()).collect()
}

#[test]
fn the_bytes_of_an_object_come_whole_and_in_order_by_requests_of_parts() {
    let server = Server::start();
    for length in [0, 1, 65_536, 65_537, 1_000_000] {
        server.put("bucket/x.bin", content(length));
        let object = one(&server, "s3://bucket/x.bin");
        assert_eq!(object.size(), length as u64);
        assert!(read(&object).unwrap() == content(length), "{length} bytes");
    }
    let parts = server.requests().iter().filter(|request| request.contains("bytes=")).count();
    assert_eq!(parts, 1 + 1 + 2 + 16);
}

#[test]
fn an_object_that_nobody_reads_is_not_requested_whole() {
    let server = Server::start();
    server.put("bucket/x.bin", content(5_000_000));
    let mut reader = one(&server, "s3://bucket/x.bin").reader(&Progress::new());
    reader.read_exact(&mut [0; 10]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let parts = server.requests().iter().filter(|request| request.contains("bytes=")).count();
    assert!(parts <= 4, "{parts} requests ahead of a reader that waits");
}

#[test]
fn errors_of_the_server_and_broken_answers_are_tried_again() {
    let server = Server::start();
    server.put("bucket/x.bin", content(300_000));
    let object = one(&server, "s3://bucket/x.bin");
    server.fail([
        RequestFault::Status(500, "<Error><Code>InternalError</Code></Error>"),
        RequestFault::Cut(1000),
        RequestFault::Status(503, ""),
        RequestFault::Cut(0),
    ]);
    assert!(read(&object).unwrap() == content(300_000));
    server.fail([RequestFault::Cut(10), RequestFault::Status(500, "")]);
    let parts = object.ranges(&[5..10, 200_000..299_999], &Progress::new()).unwrap();
    assert!(parts[0] == content(10)[5..] && parts[1] == content(300_000)[200_000..299_999]);
}

#[test]
fn an_object_that_changes_while_it_is_read_is_an_error() {
    let server = Server::start();
    for longer in [0, 1] {
        server.put("bucket/x.bin", content(1_000_000));
        let object = one(&server, "s3://bucket/x.bin");
        let mut reader = object.reader(&Progress::new());
        reader.read_exact(&mut [0; 1000]).unwrap();
        server.put("bucket/x.bin", content(1_000_000 + longer));
        let error = reader.read_to_end(&mut Vec::new()).unwrap_err().to_string();
        assert_eq!(error, "it was changed while it was read");
    }
}

#[test]
fn patterns_and_prefixes_find_what_they_say_page_by_page() {
    let server = Server::start();
    for key in [
        "t/a.csv",
        "t/b.csv",
        "t/b.txt",
        "t/_SUCCESS",
        "t/.hidden/x",
        "t/d/c.csv",
        "t/d/e/f.csv",
        "t/k=1/_x=2/g.csv",
        "u/h.csv",
    ] {
        server.put(&format!("bucket/{key}"), key);
    }
    server.put("bucket/t/empty/", "");
    server.put("other/t/a.csv", "x");
    let all = |keys: &[&str]| keys.iter().map(|key| format!("s3://bucket/{key}")).collect::<Vec<_>>();
    assert_eq!(names(&server, "s3://bucket/t/*.csv"), all(&["t/a.csv", "t/b.csv"]));
    assert!(
        !server
            .requests()
            .iter()
            .any(|request| request.contains("list-type") && !request.contains("delimiter"))
    );
    assert_eq!(names(&server, "s3://bucket/t/[b]?*t*"), all(&["t/b.txt"]));
    assert_eq!(names(&server, "s3://bucket/t/*/*.csv"), all(&["t/d/c.csv"]));
    let deep = ["t/a.csv", "t/b.csv", "t/d/c.csv", "t/d/e/f.csv", "t/k=1/_x=2/g.csv"];
    assert_eq!(names(&server, "s3://bucket/t/**/*.csv"), all(&deep));
    let data = ["t/a.csv", "t/b.csv", "t/b.txt", "t/d/c.csv", "t/d/e/f.csv", "t/k=1/_x=2/g.csv"];
    assert_eq!(names(&server, "s3://bucket/t/"), all(&data));
    assert_eq!(names(&server, "s3://bucket").len(), data.len() + 1);
    for url in ["s3://bucket/t/*.orc", "s3://bucket/nothing/"] {
        let message = found(&server, url).err().unwrap().to_string();
        assert!(message.contains(&format!("no object matches {url}")), "{message}");
    }
}

#[test]
fn a_refusal_says_what_and_how_to_go_on_and_no_secret() {
    let server = Server::start();
    server.put("bucket/x.csv", "a\n1\n");
    let error = found(&server, "s3://bucket/y.csv").err().unwrap();
    assert_eq!(error.to_string(), "cannot read s3://bucket/y.csv: there is no such object");
    assert!(error.hint().unwrap().contains("slash"));
    let object = one(&server, "s3://bucket/x.csv");
    server.fail([RequestFault::Status(
        403,
        "<Error><Code>AccessDenied</Code><Message>Access Denied</Message><StringToSign>sEcReT</StringToSign></Error>",
    )]);
    let error = Input::object(object).open(&Progress::new()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "cannot read s3://bucket/x.csv: access is denied: 403 Forbidden (AccessDenied: Access Denied)"
    );
    assert!(error.hint().unwrap().contains("AWS_ACCESS_KEY_ID"));
    assert!(!format!("{error:?}").contains(SECRET));
}

#[test]
fn a_signed_url_is_read_though_only_get_is_signed_and_its_signature_is_not_shown() {
    let server = Server::start();
    server.put("d/a b.csv", "a\n1\n");
    server.forbid_head();
    let url = format!("http://user:p%40ss@{}/d/a%20b.csv?X-Amz-Signature={SECRET}&x=1", server.address);
    let object = one(&server, &url);
    assert_eq!(object.name().to_string(), format!("http://{}/d/a%20b.csv", server.address));
    assert_eq!(read(&object).unwrap(), b"a\n1\n");
    assert_eq!(server.authorization().as_deref(), Some("Basic dXNlcjpwQHNz"));
    let is_signed = |request: &String| request.contains(&format!("?X-Amz-Signature={SECRET}&x=1"));
    assert!(server.requests().iter().all(is_signed), "{:?}", server.requests());
    assert_eq!(Input::object(object.clone()).stem().as_deref(), Some("a b"));
    for fault in [
        RequestFault::Status(400, "bad sEcReT"),
        RequestFault::Status(401, ""),
        RequestFault::Status(404, ""),
        RequestFault::Whole,
    ] {
        server.fail([fault, fault, fault]);
        let error = Input::object(object.clone()).open(&Progress::new()).err().unwrap();
        let told = format!("{error:?} {:?}", error.hint());
        assert!(!told.contains(SECRET) && !told.contains("p@ss"), "{told}");
        while read(&object).is_err() {}
    }
}

#[test]
fn an_endpoint_that_is_not_there_is_named_as_the_cause() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x.csv", listener.local_addr().unwrap());
    drop(listener);
    let address = Address::parse(&url).unwrap().unwrap();
    let error = find_by(&address, &Environment::default(), &Progress::new()).err().unwrap();
    assert_eq!(error.to_string(), format!("cannot read {url}: Connection refused"));
    assert!(error.hint().unwrap().contains("endpoint"));
}

#[test]
fn a_server_that_speaks_no_tls_is_an_error() {
    let server = Server::start();
    let address = Address::parse(&format!("https://{}/x.csv", server.address)).unwrap().unwrap();
    let error = find_by(&address, &Environment::default(), &Progress::new()).err().unwrap().to_string();
    assert!(error.starts_with("cannot read https://127.0.0.1") && !error.contains("panicked"), "{error}");
}

#[test]
fn a_request_to_stop_is_heard_while_a_server_is_silent() {
    let server = Server::start();
    server.put("bucket/x.csv", "a\n1\n");
    let object = one(&server, "s3://bucket/x.csv");
    server.fail([RequestFault::Stall]);
    let progress = Progress::new();
    let mut reader = object.reader(&progress);
    let (asked, started) = (server.requests().len(), Instant::now());
    let reading = std::thread::spawn(move || reader.read(&mut [0; 10]).unwrap_err().to_string());
    until("the server is asked", || server.requests().len() > asked);
    progress.cancel();
    assert_eq!(reading.join().unwrap(), "stopped on request");
    assert!(started.elapsed() < promised(Duration::from_secs(2)));
}

#[test]
fn text_and_compressed_text_are_read_from_a_store() {
    let server = Server::start();
    let text = content(500_000).iter().map(|byte| char::from(b'a' + byte % 26)).collect::<String>();
    server.put("bucket/t/x.csv.gz", {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
        writer.finish().unwrap()
    });
    let object = one(&server, "s3://bucket/t/x.csv.gz");
    let (size, input) = (object.size(), Input::object(object));
    assert_eq!(input.stem().as_deref(), Some("x"));
    assert_eq!(input.ending().as_deref(), Some("csv"));
    assert!(input.is_rewindable());
    let progress = Progress::new();
    let mut buffer = vec![0; 600_000];
    let got = input.open(&progress).unwrap().fill(&mut buffer).unwrap();
    assert!(buffer[..got] == *text.as_bytes());
    assert_eq!(progress.bytes_read(), size);
}

#[test]
fn of_a_parquet_object_only_the_columns_that_are_needed_are_requested() {
    let noise = |at: i64| format!("{:x}", at.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()));
    let text = StringArray::from_iter_values((0..100_000).map(noise));
    let id = Int64Array::from_iter_values(0..100_000);
    let rows =
        RecordBatch::try_from_iter([("noise", Arc::new(text) as _), ("id", Arc::new(id) as _)]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(50_000))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    let file = writer.into_inner().unwrap();
    let server = Server::start();
    server.put("bucket/t/day=1/x.parquet", file.clone());
    let inputs = [Input::object(one(&server, "s3://bucket/t/"))];
    let options = BatchOptions {
        format: BatchFormat::Parquet,
        same_name: |one, other| one.to_lowercase() == other.to_lowercase(),
        hive: true,
    };
    let progress = Progress::new();
    let mut batches = Batches::open(&inputs, options, &progress).unwrap();
    assert_eq!(batches.schema().fields().len(), 3);
    batches.project(&[1, 2]);
    let (mut state, mut ids) = (BatchWorker::default(), Vec::new());
    while let Some(batch) = batches.next(&mut state).unwrap() {
        let column = batch.rows.column_by_name("id").unwrap().as_any().downcast_ref::<Int64Array>().unwrap();
        ids.extend_from_slice(column.values());
    }
    assert_eq!(ids, (0..100_000).collect::<Vec<_>>());
    let read = progress.bytes_read();
    assert!((800_000..900_000).contains(&read), "{read} of {} bytes", file.len());
    // One request lists, two open; each part has 64 KiB here.
    let most = 3 + 2 * (400_000_usize.div_ceil(65_536) + 1) + 3;
    assert!(server.requests().len() <= most, "{} requests", server.requests().len());

    server.put("bucket/t/day=1/x.parquet", file);
    let batches = Batches::open(&inputs, options, &progress).err().unwrap().to_string();
    assert!(batches.contains("it was changed while it was read"), "{batches}");
}
