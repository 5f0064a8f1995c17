//! Who gets in: every connection string of ours, and nobody without the password.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::tools::{ask, psql, shared};

#[test]
fn every_connection_string_reaches_the_superuser_s_database() {
    let server = shared();
    for conninfo in [server.conninfo(), server.tcp_conninfo(), server.url()] {
        let who = "SELECT current_user || current_database() || rolsuper || pg_encoding_to_char(encoding) \
                   FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()";
        assert_eq!(ask(server, &conninfo, who), "howdahhowdahtrueUTF8");
    }
    assert_eq!(ask(server, &server.conninfo(), "SELECT inet_server_addr() IS NULL"), "t");
    assert_eq!(ask(server, &server.url(), "SELECT host(inet_server_addr())"), "127.0.0.1");
    assert_eq!(ask(server, &server.url(), "SHOW listen_addresses"), "127.0.0.1");
    // Debian adds its own version.
    let version = ask(server, &server.url(), "SHOW server_version");
    assert_eq!(version.split(' ').next(), Some(server.version()));
    let described = server.describe();
    assert!(described.starts_with(&format!("PostgreSQL {}, throwaway, /", server.version())), "{described}");
}

#[test]
fn nobody_gets_in_with_a_wrong_password_or_none() {
    let server = shared();
    for conninfo in [server.conninfo(), server.tcp_conninfo(), server.url()] {
        let wrong = conninfo.replace(server.password(), "0123456789abcdef");
        let output = psql(server, &wrong, "SELECT 1");
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("password authentication failed"), "{said}");

        let none = conninfo.replace(&format!(":{}@", server.password()), "@");
        let none = none.replace(&format!("password={} ", server.password()), "");
        assert_ne!(none, conninfo);
        let output = psql(server, &none, "SELECT 1");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no password supplied"));
    }
    let rules = "SELECT count(*) FROM pg_hba_file_rules WHERE auth_method <> 'scram-sha-256'";
    assert_eq!(ask(server, &server.conninfo(), rules), "0");
}

#[test]
fn nobody_else_reads_the_password_or_enters_the_directories() {
    let server = shared();
    let root = server.data_dir().parent().unwrap();
    let mode = |name: &str| fs::metadata(root.join(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("password"), mode("server.log")), (0o600, 0o600));
    assert_eq!((mode("data"), mode("socket")), (0o700, 0o700));
    // As root we are not the server's user, who must pass; passing is all that this mode allows.
    assert!([0o700, 0o711].contains(&(fs::metadata(root).unwrap().permissions().mode() & 0o777)));
}

#[test]
fn no_password_is_in_a_debug_print() {
    let server = shared();
    assert!(!format!("{:?}", **server).contains(server.password()));
    assert!(!server.describe().contains(server.password()));
}
