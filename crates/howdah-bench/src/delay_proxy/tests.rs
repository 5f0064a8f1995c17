//! The proxy between plain sockets. Machines are noisy: a latency may be longer than asked for, never shorter.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::thread;

use super::*;

const MS: Duration = Duration::from_millis(1);

/// A server that gives each connection to `talk`, on a thread each.
#[expect(clippy::disallowed_methods, reason = "a test may start threads")]
fn server(talk: fn(TcpStream)) -> ProxyTarget {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        listener.incoming().for_each(|stream| drop(thread::spawn(move || talk(stream.unwrap()))))
    });
    ProxyTarget::Tcp(address.ip().to_string(), address.port())
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}

fn connect(proxy: &DelayProxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

fn round_trip(stream: &mut TcpStream) -> Duration {
    let clock = Instant::now();
    stream.write_all(b"x").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    clock.elapsed()
}

#[test]
fn every_round_trip_takes_the_latency_and_without_one_hardly_anything() {
    let proxy = DelayProxy::start(server(echo), 20 * MS).unwrap();
    let mut stream = connect(&proxy);
    let trips: Vec<Duration> = (0..5).map(|_| round_trip(&mut stream)).collect();
    assert!(trips.iter().all(|trip| *trip >= 20 * MS), "{trips:?}");
    let none = DelayProxy::start(server(echo), Duration::ZERO).unwrap();
    let mut stream = connect(&none);
    let least = (0..20).map(|_| round_trip(&mut stream)).min().unwrap();
    assert!(least < 10 * MS, "{least:?}");
}

#[test]
fn bytes_sent_together_arrive_together() {
    // Were they passed on one after the other, or held back by Nagle, a hundred would take seconds.
    let proxy = DelayProxy::start(server(echo), 100 * MS).unwrap();
    let mut stream = connect(&proxy);
    round_trip(&mut stream);
    let clock = Instant::now();
    for _ in 0..100 {
        stream.write_all(b"x").unwrap();
        thread::sleep(MS / 10);
    }
    stream.read_exact(&mut [0; 100]).unwrap();
    let took = clock.elapsed();
    assert!(took >= 100 * MS && took < 1000 * MS, "{took:?}");
}

#[test]
fn a_long_line_is_not_a_narrow_one() {
    // 64 MiB by a buffer of BACKLOG bytes a round trip would take 64 round trips of 200 ms.
    const BYTES: usize = 64 << 20;
    fn drain(mut stream: TcpStream) {
        let read = io::copy(&mut stream, &mut io::sink()).unwrap();
        stream.write_all(&read.to_be_bytes()).unwrap();
    }
    let proxy = DelayProxy::start(server(drain), 200 * MS).unwrap();
    let mut stream = connect(&proxy);
    let clock = Instant::now();
    let block = vec![7; 1 << 20];
    (0..BYTES >> 20).for_each(|_| stream.write_all(&block).unwrap());
    stream.shutdown(Shutdown::Write).unwrap();
    let mut count = [0; 8];
    stream.read_exact(&mut count).unwrap();
    assert_eq!(u64::from_be_bytes(count), BYTES as u64);
    let took = clock.elapsed();
    assert!(took >= 200 * MS && took < Duration::from_secs(6), "{took:?}");
}

#[test]
fn a_receiver_that_takes_nothing_stops_the_sender() {
    fn sleep(stream: TcpStream) {
        thread::sleep(Duration::from_secs(60));
        drop(stream);
    }
    let proxy = DelayProxy::start(server(sleep), 2 * MS).unwrap();
    let mut stream = connect(&proxy);
    stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    let block = vec![7; 1 << 20];
    let taken = (0..1024).take_while(|_| stream.write_all(&block).is_ok()).count();
    assert!(taken < 256, "{taken} MiB were taken for a receiver that takes nothing");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may start threads")]
fn bytes_arrive_in_order_and_whole_after_the_sender_has_closed() {
    let proxy = DelayProxy::start(server(echo), 10 * MS).unwrap();
    let mut stream = connect(&proxy);
    let sent: Vec<u8> = (0..3_000_000_u32).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let mut writing = stream.try_clone().unwrap();
    let all = sent.clone();
    let writer = thread::spawn(move || {
        writing.write_all(&all).unwrap();
        writing.shutdown(Shutdown::Write).unwrap();
    });
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    writer.join().unwrap();
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
}

#[test]
fn last_words_of_a_server_that_hangs_up_are_heard() {
    fn refuse(mut stream: TcpStream) {
        stream.write_all(b"no").unwrap();
    }
    let proxy = DelayProxy::start(server(refuse), 50 * MS).unwrap();
    let mut stream = connect(&proxy);
    let _ = stream.write_all(&[0; 100_000]);
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard);
    assert_eq!(heard, b"no");
}

#[test]
fn connections_are_counted_and_do_not_wait_for_each_other() {
    let proxy = DelayProxy::start(server(echo), 50 * MS).unwrap();
    let mut streams: Vec<TcpStream> = (0..100).map(|_| connect(&proxy)).collect();
    let clock = Instant::now();
    streams.iter_mut().for_each(|stream| stream.write_all(b"x").unwrap());
    streams.iter_mut().for_each(|stream| stream.read_exact(&mut [0]).unwrap());
    let took = clock.elapsed();
    assert!(took >= 50 * MS && took < 2500 * MS, "{took:?}");
    assert_eq!(proxy.connections_now(), 100);
    drop(streams);
    let clock = Instant::now();
    while proxy.connections_now() > 0 {
        assert!(clock.elapsed() < Duration::from_secs(30), "{} are left", proxy.connections_now());
        thread::sleep(MS);
    }
}

#[test]
fn dropping_it_ends_its_connections() {
    let proxy = DelayProxy::start(server(echo), 2 * MS).unwrap();
    let mut stream = connect(&proxy);
    round_trip(&mut stream);
    let address = proxy.address();
    drop(proxy);
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_server_that_is_not_there_is_a_closed_connection() {
    let proxy = DelayProxy::start(ProxyTarget::Unix("/no/such/socket".into()), 2 * MS).unwrap();
    assert_eq!(connect(&proxy).read(&mut [0]).unwrap_or(0), 0);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may start threads")]
fn a_unix_socket_is_reached_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        stream.write_all(&byte).unwrap();
    });
    let proxy = DelayProxy::start(ProxyTarget::Unix(path), 2 * MS).unwrap();
    assert!(round_trip(&mut connect(&proxy)) >= 2 * MS);
}

#[test]
fn a_connection_string_keeps_everything_but_the_way() {
    assert_eq!(
        ProxyTarget::of("host=/run/pg port=5433").unwrap(),
        ProxyTarget::Unix("/run/pg/.s.PGSQL.5433".into())
    );
    assert_eq!(
        ProxyTarget::of("postgresql://me@db.example:6000/x").unwrap(),
        ProxyTarget::Tcp("db.example".to_owned(), 6000)
    );
    assert!(ProxyTarget::of("user=me").is_err());
    let proxy = DelayProxy::start(ProxyTarget::Tcp("127.0.0.1".to_owned(), 1), MS).unwrap();
    let given = "postgresql://me:it%27s%5C@db.example:6000/my%20base?options=-c%20geqo%3Doff";
    let config = parse(&proxy.conninfo(given).unwrap()).unwrap();
    assert_eq!(config.get_password(), Some(&b"it's\\"[..]));
    assert_eq!((config.get_user(), config.get_dbname()), (Some("me"), Some("my base")));
    assert_eq!(config.get_options(), Some("-c geqo=off"));
    assert_eq!(config.get_ports(), [proxy.address().port()]);
}
