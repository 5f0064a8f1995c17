//! TLS on a server of a test program's own, with a certificate that its clients verify.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::Command;

use howdah_server::Throwaway;

use crate::psql::{Psql, keyword};

/// Has `server` speak TLS, and gives the conninfo by which everybody has to.
///
/// # Panics
/// If it cannot: the embedded PostgreSQL has no TLS.
pub(crate) fn turn_on(server: &Throwaway) -> String {
    let (key, certificate) = (server.data_dir().join("server.key"), server.data_dir().join("server.crt"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let owner = server.data_dir().metadata().unwrap();
    for file in [&key, &certificate] {
        chown(file, Some(owner.uid()), Some(owner.gid())).unwrap();
        std::fs::set_permissions(file, PermissionsExt::from_mode(0o600)).unwrap();
    }
    let plain = server.conninfo();
    let psql = Psql { bin_dir: server.bin_dir().to_owned(), conninfo: plain.clone() };
    psql.run("ALTER SYSTEM SET ssl = on");
    psql.run("SELECT pg_reload_conf()");
    let word = |name: &str| keyword(&plain, name).unwrap();
    let conninfo = format!(
        "host=127.0.0.1 port={} user={} password={} dbname={} sslmode=verify-full sslrootcert='{}'",
        word("port"),
        word("user"),
        word("password"),
        word("dbname"),
        certificate.display()
    );
    let psql = Psql { bin_dir: server.bin_dir().to_owned(), conninfo: conninfo.clone() };
    crate::waiting::until("the server speaks TLS", || psql.try_run("SELECT 1").is_ok());
    conninfo
}
