//! Several hosts, services and time limits: this crate and psql must end on the same server, or on none.

use std::time::{Duration, Instant};

use howdah_testkit::waiting::{promised, until};

use super::*;

/// psql's answer and ours to the same string in the same surroundings.
fn both(conninfo: &str, variables: &[(&str, &str)], home: &Path) -> [Option<String>; 2] {
    let sql = "select current_setting('port')";
    let mut command = Command::new(Path::new(PROGRAMS).join("psql"));
    command.env_clear().env("HOME", home).args(["-XAtqw", "-c", sql, "-d", conninfo]).stdin(Stdio::null());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let psql = output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned());
    let mut environment = Environment::from_pairs([]).with_home(home);
    for (name, value) in variables {
        environment = environment.with(name, value);
    }
    let options = ConnectOptions::default().conninfo(conninfo);
    let ours = options.resolve(&environment).and_then(|target| ask(&target, sql));
    [psql, ours.ok()]
}

/// A second server that follows `primary`.
fn standby_of(primary: &Server) -> Server {
    let directory = tempfile::Builder::new().prefix("howdah-standby-").tempdir_in("/tmp").unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let standby = Server { directory, port };
    if let Some((uid, gid)) = unprivileged() {
        std::os::unix::fs::chown(standby.directory.path(), Some(uid), Some(gid)).unwrap();
    }
    let data = standby.path("data").display().to_string();
    run(as_server(standby.program("pg_basebackup")).env("PGPASSWORD", PASSWORD).args([
        "-R",
        "-c",
        "fast",
        "-D",
        &data,
        "-d",
        &format!("host={} port={} user=me", primary.directory.path().display(), primary.port),
    ]));
    let options =
        format!("-p {port} -k '{}' -c listen_addresses=127.0.0.1", standby.directory.path().display());
    run(as_server(standby.program("pg_ctl")).args([
        "-w",
        "-D",
        &data,
        "-l",
        &standby.path("log").display().to_string(),
        "-o",
        &options,
        "start",
    ]));
    standby
}

#[test]
fn the_server_of_the_wanted_kind_is_found_among_several() {
    let Some(primary) = Server::start() else { return };
    let rules = fs::read_to_string(primary.path("data/pg_hba.conf")).unwrap();
    fs::write(primary.path("data/pg_hba.conf"), format!("local replication all scram-sha-256\n{rules}"))
        .unwrap();
    let loaded = || primary.psql("postgres", "prefer", "SELECT pg_conf_load_time()").unwrap();
    let before = loaded();
    run(as_server(primary.program("pg_ctl")).args(["-D", &primary.path("data").to_string_lossy(), "reload"]));
    until("the rules are loaded", || loaded() != before);
    let standby = standby_of(&primary);
    let home = tempfile::tempdir().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let password = [("PGPASSWORD", PASSWORD)];
    let (p, s) = (primary.port, standby.port);
    let mut found = 0;
    for ports in [format!("{p},{s}"), format!("{s},{p}"), format!("{closed},{s}"), format!("{closed},{p}")] {
        for wanted in ["any", "read-write", "read-only", "primary", "standby", "prefer-standby", "nonsense"] {
            let conninfo = format!(
                "host=127.0.0.1,127.0.0.1 port={ports} user=me dbname=either target_session_attrs={wanted}"
            );
            let [psql, ours] = both(&conninfo, &password, home.path());
            assert_eq!(psql, ours, "{conninfo}");
            found += usize::from(ours.is_some());
        }
    }
    assert!(found >= 16, "{found}");
    // A wrong password ends the search, a host that is not there does not.
    for conninfo in [
        format!("host=127.0.0.1,127.0.0.1 port={p},{s} user=nobody dbname=either"),
        format!("host=no-such-host.invalid,127.0.0.1 port={p} user=me dbname=either"),
        format!("host=/nowhere,127.0.0.1 port={closed},{p} user=me dbname=either"),
        format!("host=a,b,c port={p},{s} user=me"),
        format!("host=127.0.0.1,127.0.0.1 hostaddr=127.0.0.1 port={p} user=me"),
        format!("host=127.0.0.1 port={p} user=me dbname=either load_balance=1"),
        format!("host=127.0.0.1 port={p} user=me dbname=either connect_timeout=soon"),
        format!("postgresql://me@127.0.0.1:{closed},127.0.0.1:{p}/either"),
    ] {
        let [psql, ours] = both(&conninfo, &password, home.path());
        assert_eq!(psql, ours, "{conninfo}");
    }
    services(&primary, home.path());
}

fn services(server: &Server, home: &Path) {
    let port = server.port;
    let file = home.join("services");
    let text = format!(
        "[shop]\nhost=127.0.0.1\nport={port}\nuser=me\ndbname=either\npassword={PASSWORD}\n\n[broken]\nnonsense=1\n\
         [nested]\nservice=shop\n[elsewhere]\nhost=/nowhere\nport=1\n"
    );
    fs::write(&file, &text).unwrap();
    let named = file.to_str().unwrap();
    for (conninfo, variables) in [
        ("service=shop", &[("PGSERVICEFILE", named)][..]),
        ("service=shop dbname=plain_only", &[("PGSERVICEFILE", named)]),
        ("service=shop port=1", &[("PGSERVICEFILE", named)]),
        ("postgresql:///?service=shop", &[("PGSERVICEFILE", named)]),
        // The service beats the environment.
        ("service=shop", &[("PGSERVICEFILE", named), ("PGPORT", "1"), ("PGHOST", "/nowhere")]),
        ("user=me", &[("PGSERVICEFILE", named), ("PGSERVICE", "shop")]),
        ("service=elsewhere", &[("PGSERVICEFILE", named)]),
        ("service=broken", &[("PGSERVICEFILE", named)]),
        ("service=nested", &[("PGSERVICEFILE", named)]),
        ("service=unknown", &[("PGSERVICEFILE", named)]),
        ("service=shop", &[("PGSERVICEFILE", "/nowhere")]),
        ("service=shop", &[]),
    ] {
        let [psql, ours] = both(conninfo, variables, home);
        assert_eq!(psql, ours, "{conninfo} {variables:?}");
    }
    fs::write(home.join(".pg_service.conf"), &text).unwrap();
    assert_eq!(both("service=shop", &[], home), [Some(port.to_string()), Some(port.to_string())]);
    fs::rename(home.join(".pg_service.conf"), home.join("pg_service.conf")).unwrap();
    let system = [("PGSYSCONFDIR", home.to_str().unwrap())];
    assert_eq!(both("service=shop", &system, home), [Some(port.to_string()), Some(port.to_string())]);
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    for mode in ["disable", "require"] {
        let conninfo = format!("host=127.0.0.1 port={port} user=me sslmode={mode} connect_timeout=1");
        let options = ConnectOptions::default().conninfo(conninfo);
        let began = Instant::now();
        let error = ask(&resolve(&options, &Environment::default()), "select 1").unwrap_err();
        assert!(error.message().ends_with("failed: timeout expired"), "{error:?}");
        // As in libpq, a second of patience is two.
        let took = began.elapsed();
        assert!(took >= Duration::from_secs(2) && took < promised(Duration::from_secs(5)), "{took:?}");
    }
}

#[test]
fn hosts_are_tried_in_their_order_and_in_any_order_only_where_that_is_asked_for() {
    // Directories without a socket refuse at once, and the first that was tried is the one that the message begins with.
    let names = ["/nowhere/a", "/nowhere/b", "/nowhere/c"];
    let first = |rest: &str| {
        let conninfo = format!("host={} user=me {rest}", names.join(","));
        let options = ConnectOptions::default().conninfo(conninfo);
        let error = ask(&resolve(&options, &Environment::default()), "select 1").unwrap_err();
        names.into_iter().find(|name| error.message().contains(name)).expect("a host is named")
    };
    let seen = |rest: &str| {
        let mut counts = [0; 3];
        for _ in 0..120 {
            let tried = first(rest);
            counts[names.iter().position(|name| *name == tried).unwrap()] += 1;
        }
        counts
    };
    assert_eq!(seen(""), [120, 0, 0]);
    assert_eq!(seen("load_balance_hosts=disable"), [120, 0, 0]);
    // 40 of each are expected; fewer than 10 come once in some hundred million runs.
    let random = seen("load_balance_hosts=random");
    assert!(random.iter().all(|count| *count >= 10), "{random:?}");
}

#[test]
fn addresses_of_one_name_are_balanced_too_and_every_session_ends_on_a_server() {
    let Some(server) = Server::start() else { return };
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let environment = Environment::from_pairs([("PGPASSWORD", PASSWORD)]);
    let conninfo = format!(
        "host=127.0.0.1,127.0.0.1 port={closed},{} user=me dbname=either load_balance_hosts=random",
        server.port
    );
    let options = ConnectOptions::default().conninfo(conninfo);
    for _ in 0..8 {
        assert_eq!(ask(&resolve(&options, &environment), "select 'in'::text").unwrap(), "in");
    }
}

/// A server of which we see only what a direct handshake can show: it wants TLS at once and PostgreSQL by its name (ALPN),
/// and hands what was encrypted on to `port`.
async fn relay(listener: tokio::net::TcpListener, tls: tokio_rustls::TlsAcceptor, port: u16) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(mut client) = tls.accept(client).await else { continue };
        assert_eq!(client.get_ref().1.alpn_protocol(), Some(&b"postgresql"[..]));
        let mut server = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

#[test]
fn a_direct_handshake_carries_a_whole_session() {
    use rustls::pki_types::pem::PemObject;
    let Some(server) = Server::start() else { return };
    let certificate = rustls::pki_types::CertificateDer::from_pem_file(server.path("cert.pem")).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::from_pem_file(server.path("key.pem")).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let environment = Environment::from_pairs([("PGPASSWORD", PASSWORD)]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let relaying = tokio::spawn(relay(listener, acceptor, server.port));
        let conninfo = |rest: &str| {
            let conninfo =
                format!("host=localhost hostaddr=127.0.0.1 port={port} user=me dbname=plain_only {rest}");
            ConnectOptions::default().conninfo(conninfo)
        };
        let direct = "sslmode=require sslnegotiation=direct";
        let connection = resolve(&conninfo(direct), &environment).connect().await.unwrap();
        let rows = connection.client().query("SELECT repeat('x', 300000)", &[]).await.unwrap();
        assert_eq!(rows[0].get::<_, String>(0).len(), 300_000);
        drop(connection);
        // The request of a negotiation is no handshake: without `direct` there is no session.
        let negotiated = resolve(&conninfo("sslmode=require"), &environment).connect().await;
        assert!(negotiated.is_err(), "it did not notice that it was to begin with TLS");
        relaying.abort();
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may start threads")]
fn a_direct_handshake_begins_with_tls_and_says_what_it_wants() {
    use std::io::Read;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::thread::spawn(move || {
        let mut heard = vec![0; 1024];
        let length = listener.accept().unwrap().0.read(&mut heard).unwrap();
        heard.truncate(length);
        heard
    });
    let conninfo = format!(
        "host=localhost hostaddr=127.0.0.1 port={port} user=me sslmode=require sslnegotiation=direct"
    );
    let options = ConnectOptions::default().conninfo(conninfo);
    ask(&resolve(&options, &Environment::default()), "select 1").unwrap_err();
    let heard = heard.join().unwrap();
    assert_eq!(heard[0], 0x16, "{heard:?}");
    assert!(heard.windows(11).any(|window| window == b"\x0apostgresql"), "{heard:?}");
}
