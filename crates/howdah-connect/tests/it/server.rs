//! Connections as libpq makes them, against a PostgreSQL that speaks TLS (Debian's 15) and its own psql.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bytes::Bytes;
use howdah_connect::{ConnectOptions, Environment, Error, ErrorKind, PipelinedCopy, Target};
use howdah_testkit::require::missing;
use tempfile::TempDir;

mod hosts;
mod tls;

const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// Shows itself wherever a password leaks.
const PASSWORD: &str = "canary-7f3a";

/// Encrypted sessions only, plain ones only, both.
const DATABASES: [&str; 3] = ["tls_only", "plain_only", "either"];

/// A server of this test program; it ends with its value.
struct Server {
    directory: TempDir,
    port: u16,
}

impl Server {
    /// `None`, with a message, where Debian's PostgreSQL 15 or openssl is missing.
    fn start() -> Option<Server> {
        if !Path::new(PROGRAMS).join("initdb").exists()
            || Command::new("openssl").arg("version").output().is_err()
        {
            missing("tls", &format!("there is no PostgreSQL 15 in {PROGRAMS}, or no openssl"));
            return None;
        }
        let directory = tempfile::Builder::new().prefix("howdah-tls-").tempdir_in("/tmp").unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Server { directory, port };
        if let Some((uid, gid)) = unprivileged() {
            std::os::unix::fs::chown(server.directory.path(), Some(uid), Some(gid)).unwrap();
        }
        let path = |name: &str| server.path(name).to_string_lossy().into_owned();
        run(as_server(Command::new("openssl"))
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"])
            .args(["-subj", "/CN=localhost", "-keyout", &path("key.pem"), "-out", &path("cert.pem")]));
        run(as_server(Command::new("sh")).args([
            "-c",
            &format!("umask 077; printf %s {PASSWORD} >'{}'; chmod 600 '{}'", path("pw"), path("key.pem")),
        ]));
        let data = path("data");
        run(as_server(server.program("initdb"))
            .args(["-D", &data, "-A", "scram-sha-256", "-U", "me", "--no-sync", "--locale=C.UTF-8"])
            .arg(format!("--pwfile={}", path("pw"))));
        let rules = "local all all scram-sha-256\n\
                     hostssl tls_only all 127.0.0.1/32 scram-sha-256\n\
                     hostnossl tls_only all 127.0.0.1/32 reject\n\
                     hostssl plain_only all 127.0.0.1/32 reject\n\
                     hostnossl plain_only all 127.0.0.1/32 scram-sha-256\n\
                     host all all 127.0.0.1/32 scram-sha-256\n";
        fs::write(server.path("data/pg_hba.conf"), rules).unwrap();
        let options = format!(
            "-p {port} -k '{}' -c listen_addresses=127.0.0.1 -c ssl=on -c ssl_cert_file='{}' -c ssl_key_file='{}' \
             -c fsync=off",
            server.directory.path().display(),
            path("cert.pem"),
            path("key.pem")
        );
        run(as_server(server.program("pg_ctl")).args([
            "-w",
            "-D",
            &data,
            "-l",
            &path("log"),
            "-o",
            &options,
            "start",
        ]));
        for database in DATABASES {
            server.psql("postgres", "prefer", &format!("CREATE DATABASE {database}")).unwrap();
        }
        Some(server)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(Path::new(PROGRAMS).join(name));
        command.current_dir(self.directory.path());
        command
    }

    /// What libpq makes of it.
    fn psql(&self, database: &str, sslmode: &str, sql: &str) -> Result<String, String> {
        let output = Command::new(Path::new(PROGRAMS).join("psql"))
            .env_clear()
            .env("PGPASSWORD", PASSWORD)
            .args(["-XAtqw", "-v", "ON_ERROR_STOP=1", "-c", sql, "-d"])
            .arg(format!("host=127.0.0.1 port={} user=me dbname={database} sslmode={sslmode}", self.port))
            .output()
            .unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn options(&self, rest: &str) -> ConnectOptions {
        let conninfo = format!("host=127.0.0.1 port={} user=me {rest}", self.port);
        ConnectOptions::default().conninfo(conninfo)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.path("data");
        let _ =
            as_server(self.program("pg_ctl")).args(["-m", "immediate", "-D"]).arg(data).arg("stop").output();
    }
}

/// The user postgres, when we are root, whom PostgreSQL refuses.
fn unprivileged() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    let line =
        passwd.lines().find(|line| line.starts_with("postgres:")).expect("Debian makes the user postgres");
    let number = |at: usize| line.split(':').nth(at).unwrap().parse().unwrap();
    Some((number(2), number(3)))
}

/// The command, as the account that the server runs as.
fn as_server(mut command: Command) -> Command {
    if let Some((uid, gid)) = unprivileged() {
        command.uid(uid).gid(gid);
    }
    command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command
}

/// To files, not pipes: a server that runs on would hold them open.
fn run(command: &mut Command) {
    let output = tempfile::tempfile().unwrap();
    let status =
        command.stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap()).status().unwrap();
    if !status.success() {
        let mut text = String::new();
        std::io::Seek::rewind(&mut &output).unwrap();
        std::io::Read::read_to_string(&mut &output, &mut text).unwrap();
        panic!("{command:?}: {text}");
    }
}

fn resolve(options: &ConnectOptions, environment: &Environment) -> Target {
    options.resolve(environment).unwrap()
}

/// The answer to a query, or why there is none.
fn ask(target: &Target, sql: &str) -> Result<String, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = target.connect().await?;
        let rows = connection.client().query(sql, &[]).await?;
        Ok(rows[0].get(0))
    })
}

const IS_ENCRYPTED: &str = "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

/// Everything that a person could get to see of an error and of the target.
fn everything_shown(target: &Target, error: &Error) -> String {
    let parts = [error.hint(), error.detail()].map(Option::unwrap_or_default).join(" ");
    format!("{target:?} {} {:?} {error} {error:?} {parts}", target.describe(), target.notices())
}

#[test]
fn the_server_decides_and_we_do_as_libpq() {
    let Some(server) = Server::start() else { return };
    every_sslmode_encrypts_or_not_as_libpq_does(&server);
    refusals_have_their_kind_and_code_and_never_the_password(&server);
    the_nearest_word_wins(&server);
    rows_behind_a_copy_arrive_whole_through_tls(&server);
    settings_of_the_session_come_from_variables_too(&server);
}

fn settings_of_the_session_come_from_variables_too(server: &Server) {
    let settings = "SELECT current_setting('TimeZone') || '|' || current_setting('DateStyle') || '|' || current_setting('geqo')";
    for (zone, style, options, expected) in [
        ("America/New_York", "ISO, DMY", "", "America/New_York|ISO, DMY|off"),
        (
            "America/New_York",
            "German",
            "options='-c TimeZone=UTC -c DateStyle=SQL'",
            "America/New_York|German, DMY|off",
        ),
        (
            "default",
            "DEFAULT",
            "options='-c TimeZone=Asia/Tokyo -c DateStyle=SQL,DMY'",
            "Asia/Tokyo|SQL, DMY|off",
        ),
    ] {
        let environment = Environment::from_pairs([
            ("PGPASSWORD", PASSWORD),
            ("PGTZ", zone),
            ("PGDATESTYLE", style),
            ("PGGEQO", "off"),
        ]);
        let target =
            resolve(&server.options(&format!("dbname=either sslmode=disable {options}")), &environment);
        assert_eq!(ask(&target, settings).unwrap(), expected);
    }
}

/// The driver's messages and those of a COPY take turns in what is encrypted.
fn rows_behind_a_copy_arrive_whole_through_tls(server: &Server) {
    let environment = Environment::from_pairs([("PGPASSWORD", PASSWORD)]);
    server.psql("either", "disable", "CREATE TABLE rows (n bigint CHECK (n <> 1500), body text)").unwrap();
    let long = "x".repeat(300_000);
    let copy = |numbers: &[i64]| {
        let body = |n: &i64| if *n == 7 { long.as_str() } else { "short" };
        let mut copy =
            PipelinedCopy::new("rows", numbers.iter().map(|n| Bytes::from(format!("{n}\t{}\n", body(n)))));
        copy.prepare("rows", "COPY rows FROM STDIN").unwrap();
        copy
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for sslmode in ["disable", "require"] {
        let target = resolve(&server.options(&format!("dbname=either sslmode={sslmode}")), &environment);
        runtime.block_on(async {
            let mut connection = target.connect().await.unwrap();
            for batch in (0..3_000).collect::<Vec<i64>>().chunks(1_000) {
                let good: Vec<i64> = batch.iter().copied().filter(|n| *n != 1_500).collect();
                if good.len() < batch.len() {
                    let error = connection.copy(copy(batch)).await.unwrap_err();
                    assert_eq!(error.sqlstate(), Some("23514"), "{error:?}");
                }
                assert_eq!(connection.copy(copy(&good)).await.unwrap(), good.len() as u64);
            }
        });
        let sums = "SELECT count(*), sum(n), sum(length(body)) FROM rows";
        let expected = format!("2999|{}|{}", 2999 * 1500 - 1500, 300_000 + 2998 * 5);
        assert_eq!(server.psql("either", "disable", sums).unwrap(), expected, "{sslmode}");
        server.psql("either", "disable", "TRUNCATE rows").unwrap();
    }
}

fn every_sslmode_encrypts_or_not_as_libpq_does(server: &Server) {
    let environment = Environment::from_pairs([("PGPASSWORD", PASSWORD)]);
    for database in DATABASES {
        for sslmode in ["disable", "allow", "prefer", "require"] {
            let expected = server.psql(database, sslmode, IS_ENCRYPTED);
            let target =
                resolve(&server.options(&format!("dbname={database} sslmode={sslmode}")), &environment);
            let ours = ask(&target, IS_ENCRYPTED);
            match (&ours, &expected) {
                (Ok(ours), Ok(expected)) => assert_eq!(ours, expected, "{database}, {sslmode}"),
                (Err(error), Err(message)) => {
                    assert_eq!(error.kind(), ErrorKind::Refused, "{database}, {sslmode}: {error:?}");
                    assert_eq!(error.sqlstate(), Some("28000"), "{database}, {sslmode}: {error:?}");
                    // libpq: … failed: FATAL:  pg_hba.conf rejects connection …
                    let reason = message.lines().last().unwrap().split("FATAL:  ").nth(1).unwrap();
                    assert!(error.message().contains(reason), "{database}, {sslmode}: {error:?} {message}");
                    assert!(!everything_shown(&target, error).contains(PASSWORD));
                }
                _ => panic!("{database}, {sslmode}: {ours:?}, but libpq {expected:?}"),
            }
        }
    }
}

fn refusals_have_their_kind_and_code_and_never_the_password(server: &Server) {
    let nothing = Environment::default();
    let wrong = format!("dbname=either password=wrong-{PASSWORD}");
    let unknown = format!("dbname=nowhere password={PASSWORD}");
    for (rest, kind, sqlstate) in [
        (wrong.as_str(), ErrorKind::Refused, Some("28P01")),
        ("dbname=either", ErrorKind::PasswordRequired, None),
        (&unknown, ErrorKind::Refused, Some("3D000")),
    ] {
        for sslmode in ["disable", "prefer", "require"] {
            let target = resolve(&server.options(&format!("{rest} sslmode={sslmode}")), &nothing);
            let error = ask(&target, IS_ENCRYPTED).unwrap_err();
            assert_eq!((error.kind(), error.sqlstate()), (kind, sqlstate), "{rest}, {sslmode}: {error:?}");
            assert!(
                !everything_shown(&target, &error).contains(PASSWORD),
                "{}",
                everything_shown(&target, &error)
            );
        }
    }
    let target = resolve(&server.options("dbname=either"), &nothing).with_password(PASSWORD.into());
    assert_eq!(ask(&target, "SELECT current_database()::text").unwrap(), "either");

    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let conninfo = format!("host=127.0.0.1 port={closed} user=me dbname=either password={PASSWORD}");
    let target = resolve(&ConnectOptions::default().conninfo(conninfo), &nothing);
    let error = ask(&target, IS_ENCRYPTED).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    let expected = format!("connection to server at \"127.0.0.1\", port {closed} failed: Connection refused");
    assert_eq!(error.message(), expected);
    assert!(!everything_shown(&target, &error).contains(PASSWORD));
    let libpq = Command::new(Path::new(PROGRAMS).join("psql"))
        .env_clear()
        .args(["-Xw", "-d", &format!("host=127.0.0.1 port={closed} user=me")])
        .output()
        .unwrap();
    let libpq = String::from_utf8(libpq.stderr).unwrap();
    assert!(libpq.contains(&expected), "{libpq}");
    let broken = format!("host=127.0.0.1 password='{PASSWORD}");
    let error = ConnectOptions::default().conninfo(broken).resolve(&nothing).unwrap_err();
    assert!(!format!("{error} {error:?}").contains(PASSWORD), "{error:?}");
}

fn the_nearest_word_wins(server: &Server) {
    let home = tempfile::tempdir().unwrap();
    let pgpass = home.path().join(".pgpass");
    fs::write(&pgpass, format!("127.0.0.1:{}:either:me:{PASSWORD}\n", server.port)).unwrap();
    fs::set_permissions(&pgpass, fs::Permissions::from_mode(0o600)).unwrap();
    let works = |options: &ConnectOptions, variables: Environment| {
        let answer = ask(&resolve(options, &variables), "SELECT current_database()::text");
        answer.map(|database| database == "either").unwrap_or(false)
    };
    let port = server.port.to_string();
    let full = server.options("dbname=either");
    let with = |rest: &str| server.options(&format!("dbname=either {rest}"));
    let right = format!("password={PASSWORD}");
    let home = home.path();

    // Passwords: conninfo > environment > file.
    assert!(works(&full, Environment::default().with_home(home)));
    assert!(!works(&full, Environment::from_pairs([("PGPASSWORD", "wrong")]).with_home(home)));
    assert!(works(&full, Environment::from_pairs([("PGPASSWORD", PASSWORD)])));
    assert!(works(&with(&right), Environment::from_pairs([("PGPASSWORD", "wrong")])));
    assert!(!works(
        &with("password=wrong"),
        Environment::from_pairs([("PGPASSWORD", PASSWORD)]).with_home(home)
    ));

    // Places likewise.
    let elsewhere =
        [("PGHOST", "/nowhere"), ("PGPORT", "1"), ("PGDATABASE", "nowhere"), ("PGUSER", "nobody")];
    assert!(works(&with(&right), Environment::from_pairs(elsewhere)));
    let here =
        [("PGHOST", "127.0.0.1"), ("PGPORT", port.as_str()), ("PGDATABASE", "either"), ("PGUSER", "me")];
    assert!(works(&ConnectOptions::default(), Environment::from_pairs(here).with_home(home)));
    // As psql: what the connection string spells out beats -h -p -U, which beat the environment.
    let nowhere = with(&right).host("/nowhere").port("1").user("nobody");
    assert!(works(&nowhere, Environment::from_pairs(elsewhere)));
    let psql = Command::new(Path::new(PROGRAMS).join("psql"))
        .env_clear()
        .args(["-XAtw", "-h", "/nowhere", "-p", "1", "-U", "nobody", "-c", "select 1", "-d"])
        .arg(nowhere.conninfo.as_ref().unwrap())
        .output()
        .unwrap();
    assert!(psql.status.success(), "{psql:?}");
    let options = ConnectOptions::default()
        .conninfo(format!("dbname=either {right}"))
        .host("127.0.0.1")
        .port(port)
        .user("me");
    assert!(works(&options, Environment::from_pairs(elsewhere)));
}
