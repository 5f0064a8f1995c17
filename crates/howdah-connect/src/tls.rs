//! How a connection is encrypted: libpq's `ssl*` options as a configuration of rustls.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_postgres::config::SslMode;

use crate::conninfo::Parameters;
use crate::environment::Environment;
use crate::error::Error;
use crate::stream::Connector;
use crate::verify::{Roots, Verifier};

/// `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// Everything that the handshakes of a target need.
pub(crate) struct Tls {
    pub(crate) mode: Mode,
    /// Encrypted from the first byte, without asking (PostgreSQL 17).
    pub(crate) direct: bool,
    /// Files that cannot be used are a failure of the handshake: `prefer` then goes on without TLS, as libpq.
    material: Result<Material, Error>,
}

struct Material {
    config: ClientConfig,
    roots: Option<Arc<Roots>>,
}

impl Tls {
    pub(crate) fn new(parameters: &Parameters, environment: &Environment) -> Result<Tls, Error> {
        let get = |name: &str| parameters.get(name).map(String::as_str);
        let by_system = get("sslrootcert") == Some("system");
        let mode = match get("sslmode").unwrap_or(if by_system { "verify-full" } else { "prefer" }) {
            "disable" => Mode::Disable,
            "allow" => Mode::Allow,
            "prefer" => Mode::Prefer,
            "require" => Mode::Require,
            "verify-ca" => Mode::VerifyCa,
            "verify-full" => Mode::VerifyFull,
            other => return Err(Error::configuration(format!("invalid sslmode value: {other:?}"))),
        };
        let weak = |with: &str, use_instead: &str| {
            let mode = get("sslmode").unwrap_or("prefer");
            Error::configuration(format!(
                "weak sslmode {mode:?} may not be used with {with} (use {use_instead})"
            ))
        };
        if by_system && mode != Mode::VerifyFull {
            return Err(weak("sslrootcert=system", "\"verify-full\""));
        }
        let direct = match get("sslnegotiation").unwrap_or("postgres") {
            "postgres" => false,
            "direct" if mode >= Mode::Require => true,
            "direct" => {
                let enough = "\"require\", \"verify-ca\", or \"verify-full\"";
                return Err(weak("sslnegotiation=direct", enough));
            }
            other => return Err(Error::configuration(format!("invalid sslnegotiation value: {other:?}"))),
        };
        let sends_certificate = match get("sslcertmode").unwrap_or("allow") {
            "disable" => false,
            "allow" => true,
            "require" => {
                return Err(Error::configuration(
                    "sslcertmode=require is not supported: whether the server asked for a certificate cannot be seen",
                )
                .with_hint(
                    "a server that wants certificates says so in pg_hba.conf (clientcert=verify-full)",
                ));
            }
            other => return Err(Error::configuration(format!("invalid sslcertmode value: {other:?}"))),
        };
        let versions = versions(get("ssl_min_protocol_version"), get("ssl_max_protocol_version"))?;
        let has_sni = match get("sslsni").unwrap_or("1") {
            "0" => false,
            "1" => true,
            other => return Err(Error::configuration(format!("invalid sslsni value: {other:?}"))),
        };
        let material = if mode == Mode::Disable {
            Err(Error::configuration("TLS is disabled"))
        } else {
            Material::read(parameters, environment, mode, sends_certificate, &versions).map(|mut material| {
                material.config.enable_sni = has_sni;
                material.config.alpn_protocols = vec![b"postgresql".to_vec()];
                material
            })
        };
        Ok(Tls { mode, direct, material })
    }

    /// The ways to try one after another: `prefer` without TLS when the encrypted session is refused, `allow` the other
    /// way round.
    pub(crate) fn attempts(&self) -> &'static [SslMode] {
        match self.mode {
            Mode::Disable => &[SslMode::Disable],
            Mode::Allow => &[SslMode::Disable, SslMode::Require],
            Mode::Prefer => &[SslMode::Prefer, SslMode::Disable],
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => &[SslMode::Require],
        }
    }

    /// Whether a connection is only made to a server whose certificate was checked.
    pub(crate) fn always_verifies(&self) -> bool {
        self.mode >= Mode::Require && self.material.as_ref().is_ok_and(|material| material.roots.is_some())
    }

    /// For one handshake with `host`.
    pub(crate) fn connector(&self, host: &str) -> Result<Connector, Error> {
        let material = self.material.as_ref().map_err(Clone::clone)?;
        let mut config = material.config.clone();
        let provider = config.crypto_provider().clone();
        config.dangerous().set_certificate_verifier(Arc::new(Verifier {
            provider,
            roots: material.roots.clone(),
            host: (self.mode == Mode::VerifyFull).then(|| host.to_owned()),
        }));
        Ok(Connector::new(config, host))
    }
}

impl Material {
    fn read(
        parameters: &Parameters,
        environment: &Environment,
        mode: Mode,
        sends_certificate: bool,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Result<Material, Error> {
        let file = |keyword: &str, default: &str| -> Option<PathBuf> {
            match parameters.get(keyword) {
                Some(path) => Some(PathBuf::from(path)),
                None => environment.home().map(|home| home.join(".postgresql").join(default)),
            }
        };
        let roots = if parameters.get("sslrootcert").is_some_and(|value| value == "system") {
            let found = rustls_native_certs::load_native_certs();
            if found.certs.is_empty() {
                return Err(Error::configuration(
                    "sslrootcert=system: this system has no trusted certificates",
                )
                .with_hint("install the package ca-certificates, or name a file with sslrootcert"));
            }
            Some(Arc::new(Roots::new(found.certs)))
        } else {
            match file("sslrootcert", "root.crt") {
                Some(path) if path.exists() => {
                    Some(Arc::new(Roots::new(certificates(&path, "root certificate")?)))
                }
                Some(path) if mode >= Mode::VerifyCa => {
                    return Err(Error::configuration(format!(
                        "root certificate file {:?} does not exist",
                        path.display()
                    ))
                    .with_hint(
                        "either provide the file, use the system's trusted roots with sslrootcert=system, or \
                             change sslmode to disable server certificate verification",
                    ));
                }
                None if mode >= Mode::VerifyCa => {
                    return Err(Error::configuration(
                        "could not get home directory to locate root certificate file",
                    )
                    .with_hint("sslrootcert names one"));
                }
                _ => None,
            }
        };
        // A list that would be passed over in silence is a revoked certificate trusted.
        let revoked = roots.as_ref().and_then(|_| file("sslcrl", "root.crl")).filter(|path| path.exists());
        if let Some(path) = revoked {
            return Err(Error::configuration(format!(
                "the revocation list {:?} cannot be honoured",
                path.display()
            ))
            .with_hint(
                "revocation lists are not read: take sslcrl out, or move ~/.postgresql/root.crl away",
            ));
        }
        // Our provider by name: the process-wide default is not ours to set.
        let provider: Arc<CryptoProvider> = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|error| Error::configuration(format!("TLS cannot be set up: {error}")).caused_by(error))?
            .with_root_certificates(rustls::RootCertStore::empty());
        let certificate = file("sslcert", "postgresql.crt").filter(|path| sends_certificate && path.exists());
        let config = match certificate {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let key_path = file("sslkey", "postgresql.key").unwrap_or_default();
                let key = private_key(&path, &key_path)?;
                builder.with_client_auth_cert(certificates(&path, "certificate")?, key).map_err(|error| {
                    Error::configuration(format!(
                        "certificate {:?} and private key {:?} cannot be used: {error}",
                        path.display(),
                        key_path.display()
                    ))
                })?
            }
        };
        Ok(Material { config, roots })
    }
}

fn certificates(path: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let cannot = |reason: String| {
        Error::configuration(format!("could not read {what} file {:?}: {reason}", path.display()))
    };
    let text = std::fs::read(path).map_err(|error| cannot(error.to_string()))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if found.is_empty() => Err(cannot("no certificate in PEM found".to_owned())),
        Ok(found) => Ok(found),
        Err(error) => Err(cannot(error.to_string())),
    }
}

/// The key of the client's certificate, if nobody else can read it.
fn private_key(certificate: &Path, path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let Ok(metadata) = path.metadata() else {
        return Err(Error::configuration(format!(
            "certificate present, but not private key file {:?} (certificate: {:?})",
            path.display(),
            certificate.display()
        )));
    };
    if !metadata.is_file() {
        return Err(Error::configuration(format!(
            "private key file {:?} is not a regular file",
            path.display()
        )));
    }
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.mode() & forbidden != 0 {
        return Err(Error::configuration(format!("private key file {:?} has group or world access", path.display())).with_hint(
            "file must have permissions u=rw (0600) or less if owned by the current user, or permissions u=rw,g=r \
             (0640) or less if owned by root",
        ));
    }
    let cannot = |reason: String| {
        Error::configuration(format!("could not load private key file {:?}: {reason}", path.display()))
    };
    let text = std::fs::read(path).map_err(|error| cannot(error.to_string()))?;
    if text.windows(9).any(|window| window == b"ENCRYPTED") {
        return Err(cannot("it is protected by a password, which cannot be undone here".to_owned())
            .with_hint("openssl pkey -in FILE -out NEW writes it without; keep NEW at permissions 0600"));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| cannot(error.to_string()))
}

/// The protocol versions between two bounds of libpq; rustls has nothing below TLS 1.2.
fn versions(
    min: Option<&str>,
    max: Option<&str>,
) -> Result<Vec<&'static rustls::SupportedProtocolVersion>, Error> {
    const NAMES: [&str; 4] = ["tlsv1", "tlsv1.1", "tlsv1.2", "tlsv1.3"];
    let place = |keyword: &str, text: &str| {
        let lower = text.to_ascii_lowercase();
        NAMES
            .iter()
            .position(|name| *name == lower)
            .ok_or_else(|| Error::configuration(format!("invalid {keyword} value: {text:?}")))
    };
    let low = place("ssl_min_protocol_version", min.unwrap_or("TLSv1.2"))?;
    let high = place("ssl_max_protocol_version", max.unwrap_or("TLSv1.3"))?;
    if low > high {
        return Err(Error::configuration("invalid SSL protocol version range"));
    }
    let known = [(2, &rustls::version::TLS12), (3, &rustls::version::TLS13)];
    let chosen: Vec<_> =
        known.into_iter().filter(|(at, _)| (low..=high).contains(at)).map(|(_, version)| version).collect();
    if chosen.is_empty() {
        return Err(Error::configuration("only TLSv1.2 and TLSv1.3 are supported")
            .with_hint("ssl_max_protocol_version=TLSv1.3, or leave it out"));
    }
    Ok(chosen)
}
