//! Certificates: this crate and psql must come to the same verdict on each.

use super::*;

/// What a server shows, made with openssl; `v1…` are X.509 version 1.
const MAKE: &str = r#"
set -e
root() { openssl req -x509 -newkey rsa:2048 -nodes -days 3 -subj "/CN=$2" -keyout $1.key -out $1.crt; }
leaf() { # name, subject, extensions, options of the signature
  name=$1 subject=$2 extensions=$3; shift 3
  case $name in
    ec) openssl ecparam -name prime256v1 -genkey -noout -out $name.key;;
    *) openssl genrsa -out $name.key 2048;;
  esac
  openssl req -new -key $name.key -subj "/CN=$subject" -out $name.csr
  printf '%s\n' "$extensions" > $name.ext
  openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out $name.crt -days 2 \
    $(test -n "$extensions" && echo -extfile $name.ext) "$@"
}
root ca 'A Root'; root other 'Another Root'; root own localhost
names='subjectAltName=DNS:localhost,IP:127.0.0.1'
leaf san x "$names"
leaf ec x "$names"
leaf wildcard x 'subjectAltName=DNS:*.example'
leaf wrong localhost 'subjectAltName=DNS:elsewhere.example'
leaf common localhost 'basicConstraints=CA:FALSE'
leaf sha512 x "$names" -sha512
leaf pss x "$names" -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest
leaf pss_long x "$names" -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:max
leaf v1 localhost ''
leaf me me 'basicConstraints=CA:FALSE'
openssl genrsa -out v1own.key 2048
openssl req -new -key v1own.key -subj /CN=localhost -out v1own.csr
openssl x509 -req -in v1own.csr -signkey v1own.key -days 2 -out v1own.crt
leaf between 'An Intermediate' 'basicConstraints=critical,CA:TRUE'
leaf chained x "$names" -CA between.crt -CAkey between.key
cp chained.crt unchained.crt; cp chained.key unchained.key; cat between.crt >> chained.crt
cat ca.crt between.crt > bundle.crt
openssl genpkey -algorithm ed25519 -out ed.key
openssl req -x509 -new -key ed.key -days 2 -subj /CN=localhost -out ed.crt
chmod 600 *.key; chmod 644 *.crt
"#;

fn server() -> Option<Server> {
    let server = Server::start()?;
    run(as_server(Command::new("sh")).current_dir(server.directory.path()).args(["-c", MAKE]));
    Some(server)
}

impl Server {
    /// Shows another certificate from now on.
    fn show(&self, name: &str) {
        let loaded = || self.psql("either", "disable", "select pg_conf_load_time()").unwrap();
        let before = loaded();
        for (from, to) in [(format!("{name}.crt"), "cert.pem"), (format!("{name}.key"), "key.pem")] {
            fs::write(self.path(to), fs::read(self.path(&from)).unwrap()).unwrap();
        }
        run(as_server(self.program("pg_ctl")).args(["-D", &self.path("data").to_string_lossy(), "reload"]));
        while loaded() == before {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// The verdicts of psql and ours: encrypted or not, or the message.
    fn verdicts(&self, home: &Path, rest: &str) -> [Result<String, String>; 2] {
        let conninfo = match rest.starts_with("postgresql://") {
            true => rest.to_owned(),
            false => format!("port={} user=me {rest}", self.port),
        };
        let output = Command::new(Path::new(PROGRAMS).join("psql"))
            .env_clear()
            .env("PGPASSWORD", PASSWORD)
            .env("HOME", home)
            .args(["-XAtqw", "-c", IS_ENCRYPTED, "-d", &conninfo])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
        let psql = if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) };
        let environment = Environment::from_pairs([("PGPASSWORD", PASSWORD)]).with_home(home);
        let options = ConnectOptions::default().conninfo(conninfo);
        let ours = options.resolve(&environment).and_then(|target| ask(&target, IS_ENCRYPTED));
        let shown = |error: Error| format!("{} {}", error.message(), error.hint().unwrap_or_default());
        [psql, ours.map_err(shown)]
    }
}

/// Compares; the answer is ours.
fn agreed(server: &Server, home: &Path, what: &str, rest: &str) -> Result<String, String> {
    let [psql, ours] = server.verdicts(home, rest);
    assert_eq!(psql.as_ref().ok(), ours.as_ref().ok(), "{what}, {rest}:\n psql {psql:?}\n ours {ours:?}");
    ours
}

#[test]
fn a_certificate_that_libpq_refuses_is_not_accepted_nor_the_other_way_round() {
    let Some(server) = server() else { return };
    let home = tempfile::tempdir().unwrap();
    let place = server.directory.path().display().to_string();
    let host = "host=localhost hostaddr=127.0.0.1 dbname=either";
    let mut accepted = 0;
    for shown in
        ["san", "ec", "wildcard", "wrong", "common", "sha512", "pss", "own", "v1own", "chained", "unchained"]
    {
        server.show(shown);
        for roots in ["ca", "other", "own", "bundle", "between", "v1own", "missing"] {
            for mode in ["prefer", "require", "verify-ca", "verify-full"] {
                let rest = format!("{host} sslmode={mode} sslrootcert={place}/{roots}.crt");
                accepted += usize::from(agreed(&server, home.path(), shown, &rest).is_ok());
            }
        }
        for name in ["127.0.0.1", "a.example", "a.b.example", "LOCALHOST"] {
            let rest = format!(
                "host={name} hostaddr=127.0.0.1 dbname=either sslmode=verify-full sslrootcert={place}/ca.crt"
            );
            accepted += usize::from(agreed(&server, home.path(), shown, &rest).is_ok());
        }
        // The password is bound to the certificate that was shown, whatever hash signed it.
        let rest = format!("{host} sslmode=require channel_binding=require");
        agreed(&server, home.path(), shown, &rest).unwrap();
    }
    assert!(accepted > 100, "{accepted}");
    for rest in [
        "hostaddr=127.0.0.1 dbname=either sslmode=verify-full".to_owned(),
        format!("{host} sslmode=verify-full"),
        format!("{host} sslmode=require ssl_min_protocol_version=TLSv1.3"),
        format!("{host} sslmode=require ssl_max_protocol_version=TLSv1.2"),
        format!("{host} sslmode=require ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2"),
        format!("{host} sslmode=require sslsni=0"),
        format!("{host} sslmode=disable channel_binding=require"),
        format!("{host} sslmode=sometimes"),
        format!("{host} sslmode=require sslrootcert={place}/ca.key"),
        // The verify words in a URI.
        format!(
            "postgresql://me@localhost:{}/either?hostaddr=127.0.0.1&sslmode=verify-ca&sslrootcert={place}/other.crt",
            server.port
        ),
        format!(
            "postgresql://me@127.0.0.1:{}/either?sslmode=verify-ca&sslrootcert={place}/bundle.crt",
            server.port
        ),
    ] {
        let _ = agreed(&server, home.path(), "the last", &rest);
    }
    // The file of the home directory makes `require` verify.
    fs::create_dir(home.path().join(".postgresql")).unwrap();
    for roots in ["ca", "other"] {
        fs::copy(server.path(&format!("{roots}.crt")), home.path().join(".postgresql/root.crt")).unwrap();
        for shown in ["san", "common"] {
            server.show(shown);
            for mode in ["allow", "prefer", "require", "verify-full"] {
                let verdict = agreed(&server, home.path(), shown, &format!("{host} sslmode={mode}"));
                assert_eq!(verdict.is_err(), roots == "other" && mode != "prefer" && mode != "allow");
            }
        }
    }
}

#[test]
fn what_rustls_cannot_do_says_what_to_do() {
    let Some(server) = server() else { return };
    let home = tempfile::tempdir().unwrap();
    let place = server.directory.path().display().to_string();
    let host = "host=localhost hostaddr=127.0.0.1 dbname=either";
    server.show("v1");
    let refused = |rest: &str, words: &str| {
        let [_, ours] = server.verdicts(home.path(), rest);
        let message = ours.unwrap_err();
        assert!(message.contains(words), "{rest}: {message}");
    };
    agreed(&server, home.path(), "v1", &format!("{host} sslmode=require")).unwrap();
    refused(&format!("{host} sslmode=verify-full sslrootcert={place}/ca.crt"), "to make it version 3");
    server.show("pss_long");
    agreed(&server, home.path(), "pss_long", &format!("{host} sslmode=require channel_binding=require"))
        .unwrap();
    refused(&format!("{host} sslmode=verify-full sslrootcert={place}/ca.crt"), "rsa_pss_saltlen:digest");
    server.show("ed");
    refused(&format!("{host} sslmode=require channel_binding=require"), "RSA or ECDSA, not Ed25519");
    server.show("san");
    refused(&format!("{host} sslrootcert=system sslmode=require"), "weak sslmode \"require\"");
    refused(&format!("{host} sslrootcert=system"), "unable to get local issuer certificate");
    refused(&format!("{host} sslnegotiation=direct"), "weak sslmode \"prefer\"");
    refused(&format!("{host} sslcertmode=require"), "sslcertmode=require is not supported");
    refused(
        &format!("{host} sslrootcert={place}/ca.crt sslcrl={place}/ca.crt sslmode=require"),
        "revocation list",
    );
    refused(&format!("{host} require_auth=md5"), "authentication method requirement \"md5\" failed");
    refused(&format!("{host} sslmode=disable require_auth=md5"), "server requested SASL authentication");
    let works = |rest: &str| {
        let [_, ours] = server.verdicts(home.path(), &format!("{host} {rest}"));
        ours.unwrap();
    };
    works("require_auth=scram-sha-256");
    works("sslmode=disable require_auth=!none,!password");
}

/// Where the test below, run by itself, finds the server of the run above it.
const SERVER_OF_PARENT: &str = "HOWDAH_TEST_SERVER_PORT";

#[test]
#[expect(clippy::disallowed_methods, reason = "the system's certificates are named by the environment")]
fn the_system_s_trusted_roots_let_their_servers_in_and_no_others() {
    if let Ok(port) = std::env::var(SERVER_OF_PARENT) {
        let environment = Environment::from_pairs([("PGPASSWORD", PASSWORD)]);
        let conninfo =
            format!("host=localhost hostaddr=127.0.0.1 port={port} user=me dbname=either sslrootcert=system");
        let options = ConnectOptions::default().conninfo(conninfo);
        let target = resolve(&options, &environment);
        return println!("encrypted: {:?}", ask(&target, IS_ENCRYPTED).map_err(|error| error.to_string()));
    }
    let Some(server) = server() else { return };
    server.show("san");
    // The roots of a system are read once, from where SSL_CERT_FILE says: another process has others.
    let with_roots = |roots: &str| {
        let run = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "server::tls::the_system_s_trusted_roots_let_their_servers_in_and_no_others",
            ])
            .env("SSL_CERT_FILE", server.path(roots))
            .env_remove("SSL_CERT_DIR")
            .env(SERVER_OF_PARENT, server.port.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.success() && said.contains("1 passed"), "{said}");
        said
    };
    let trusted = with_roots("ca.crt");
    assert!(trusted.contains("encrypted: Ok(\"true\")"), "{trusted}");
    let others = with_roots("other.crt");
    assert!(others.contains("unable to get local issuer certificate"), "{others}");
}

#[test]
fn a_client_certificate_is_sent_and_its_key_guarded_as_by_libpq() {
    let Some(server) = server() else { return };
    let home = tempfile::tempdir().unwrap();
    let place = server.directory.path().display().to_string();
    server.psql("postgres", "prefer", "CREATE DATABASE certs").unwrap();
    server.psql("postgres", "prefer", &format!("ALTER SYSTEM SET ssl_ca_file = '{place}/ca.crt'")).unwrap();
    let rules = fs::read_to_string(server.path("data/pg_hba.conf")).unwrap();
    fs::write(
        server.path("data/pg_hba.conf"),
        format!("hostssl certs all all cert\nhost certs all all reject\n{rules}"),
    )
    .unwrap();
    server.show("san");
    let key = |name: &str, mode: u32, from: &str| {
        let path = home.path().join(name);
        fs::copy(server.path(from), &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let host = "host=127.0.0.1 dbname=certs";
    let tight = key("tight.key", 0o600, "me.key");
    let read = key("read.key", 0o640, "me.key");
    let open = key("open.key", 0o644, "me.key");
    let other = key("other.key", 0o600, "san.key");
    for (rest, works) in [
        (format!("sslcert={place}/me.crt sslkey={tight}"), true),
        (format!("sslcert={place}/me.crt sslkey={tight} sslmode=disable"), false),
        (format!("sslcert={place}/me.crt sslkey={open} sslmode=require"), false),
        (format!("sslcert={place}/me.crt sslkey={other} sslmode=require"), false),
        (format!("sslcert={place}/me.crt sslkey={place}/nothing sslmode=require"), false),
        (format!("sslcert={place}/san.crt sslkey={other} sslmode=require"), false),
        (format!("sslcert={place}/nothing sslkey={tight} sslmode=require"), false),
        ("sslmode=require".to_owned(), false),
    ] {
        assert_eq!(agreed(&server, home.path(), "", &format!("{host} {rest}")).is_ok(), works, "{rest}");
    }
    let _ = agreed(&server, home.path(), "", &format!("{host} sslcert={place}/me.crt sslkey={read}"));
    fs::create_dir(home.path().join(".postgresql")).unwrap();
    fs::copy(server.path("me.crt"), home.path().join(".postgresql/postgresql.crt")).unwrap();
    fs::copy(&tight, home.path().join(".postgresql/postgresql.key")).unwrap();
    agreed(&server, home.path(), "the default files", host).unwrap();
}
