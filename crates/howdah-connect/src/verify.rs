//! Whether a server is the one that was meant: libpq's (OpenSSL's) rules on rustls.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};

use crate::certificate::Certificate;

/// Certificates that a user trusts.
#[derive(Debug)]
pub(crate) struct Roots {
    anchors: RootCertStore,
    /// Roots as they stand: a server may show one of them as its own.
    own: Vec<CertificateDer<'static>>,
    /// Certificates of the file that are no roots: OpenSSL builds chains through them and ends none at them.
    between: Vec<CertificateDer<'static>>,
}

/// What is checked of a server's certificate.
#[derive(Debug)]
pub(crate) struct Verifier {
    pub(crate) provider: Arc<CryptoProvider>,
    /// `None`: any certificate will do, but the server must hold its key.
    pub(crate) roots: Option<Arc<Roots>>,
    /// The host of `verify-full`.
    pub(crate) host: Option<String>,
}

/// A reason in words, inside an error of rustls.
#[derive(Debug)]
struct Reason(String);

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Reason {}

fn refused(reason: impl Into<String>) -> rustls::Error {
    CertificateError::Other(OtherError(Arc::new(Reason(reason.into())))).into()
}

impl Roots {
    /// Sorts certificates into roots and others; what cannot be read is left out, as OpenSSL does with the system's.
    pub(crate) fn new(certificates: Vec<CertificateDer<'static>>) -> Roots {
        let mut roots = Roots { anchors: RootCertStore::empty(), own: Vec::new(), between: Vec::new() };
        for der in certificates {
            match Certificate::parse(&der) {
                Ok(certificate) if certificate.is_self_issued() => {
                    // webpki never looks at a root's dates, OpenSSL does.
                    if certificate.untimely(SystemTime::now()).is_none() {
                        let _ = roots.anchors.add(der.clone());
                    }
                    roots.own.push(der);
                }
                Ok(_) => roots.between.push(der),
                Err(_) => {}
            }
        }
        roots
    }

    fn check(
        &self,
        der: &CertificateDer<'_>,
        certificate: &Certificate,
        sent: &[CertificateDer<'_>],
        now: UnixTime,
        algorithms: &WebPkiSupportedAlgorithms,
    ) -> Result<(), rustls::Error> {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(now.as_secs());
        if let Some(reason) = certificate.untimely(time) {
            return Err(refused(format!("certificate verify failed: {reason}")));
        }
        // What plain `openssl req -x509` makes: a root that is also the server's certificate.
        if self.own.iter().any(|own| own.as_ref() == der.as_ref()) {
            return Ok(());
        }
        if !certificate.is_version_3() {
            return Err(refused(
                "certificate verify failed: the server's certificate is X.509 version 1; sign it again with extensions \
                 (openssl x509 -req … -extfile <(echo subjectAltName=DNS:HOST)) to make it version 3",
            ));
        }
        let between: Vec<CertificateDer<'_>> =
            sent.iter().chain(&self.between).map(|der| CertificateDer::from(der.as_ref())).collect();
        let parsed = ParsedCertificate::try_from(der)?;
        let verdict =
            verify_server_cert_signed_by_trust_anchor(&parsed, &self.anchors, &between, now, algorithms.all);
        verdict
            .map_err(|error| refused(format!("certificate verify failed: {}", reason(&error, certificate))))
    }
}

/// OpenSSL's words for the common cases, and what to do.
fn reason(error: &rustls::Error, certificate: &Certificate) -> String {
    let rustls::Error::InvalidCertificate(error) = error else { return error.to_string() };
    match error {
        CertificateError::UnknownIssuer if certificate.is_self_issued() => {
            "self-signed certificate; sslrootcert=FILE with this certificate in it trusts it".to_owned()
        }
        CertificateError::UnknownIssuer => {
            "unable to get local issuer certificate; sslrootcert=FILE names the certificate of the authority that \
             signed the server's"
                .to_owned()
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "this kind of signature cannot be checked here; have the certificate signed with RSA or ECDSA and SHA-256 \
             (RSA-PSS: with -sigopt rsa_pss_saltlen:digest)"
                .to_owned()
        }
        // webpki's own errors, of which this is the one that can be corrected.
        CertificateError::Other(_) if certificate.is_authority() => {
            "the server's certificate is marked as an authority's own (CA:TRUE); make it with \
             basicConstraints=critical,CA:FALSE"
                .to_owned()
        }
        other => other.to_string(),
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let certificate = Certificate::parse(end_entity)
                .map_err(|error| refused(format!("the server's certificate cannot be read: {error}")))?;
            let algorithms = &self.provider.signature_verification_algorithms;
            roots.check(end_entity, &certificate, intermediates, now, algorithms)?;
            if let Some(host) = &self.host {
                certificate.check_host(host).map_err(refused)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // By the key alone: webpki would refuse certificates of version 1 here already.
        let certificate = Certificate::parse(cert)
            .map_err(|error| refused(format!("the server's certificate cannot be read: {error}")))?;
        let key = certificate.key().ok_or_else(|| refused("the server's certificate has no readable key"))?;
        verify_tls13_signature_with_raw_key(
            message,
            &SubjectPublicKeyInfoDer::from(key),
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
