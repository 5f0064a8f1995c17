//! What libpq asks of a server's certificate: its names, its validity, its key, and the hash that binds a password to it.

use std::net::IpAddr;
use std::time::SystemTime;

use ring::digest;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::oid::db::{rfc4519, rfc5912};
use x509_cert::der::{Decode, Encode, Tag, Tagged};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, SubjectAltName};

/// Parameters of an RSA-PSS signature begin with `[0] { AlgorithmIdentifier { hash … } }`.
const PSS_HASH: u8 = 0xa0;

/// A parsed certificate.
pub(crate) struct Certificate(x509_cert::Certificate);

/// Names that a certificate is valid for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    dns: Vec<String>,
    addresses: Vec<IpAddr>,
    common: Option<String>,
}

impl Certificate {
    /// Any version of X.509; the reason if it is none.
    pub(crate) fn parse(der: &[u8]) -> Result<Certificate, String> {
        x509_cert::Certificate::from_der(der).map(Certificate).map_err(|error| error.to_string())
    }

    /// Whether it names itself as its issuer, as roots do.
    pub(crate) fn is_self_issued(&self) -> bool {
        self.0.tbs_certificate.issuer == self.0.tbs_certificate.subject
    }

    /// Whether it says of itself that it may sign others.
    pub(crate) fn is_authority(&self) -> bool {
        let constraints = self.0.tbs_certificate.get::<BasicConstraints>();
        matches!(constraints, Ok(Some((_, constraints))) if constraints.ca)
    }

    /// X.509 before version 3 knows no extensions, so nothing says what the certificate is good for.
    pub(crate) fn is_version_3(&self) -> bool {
        self.0.tbs_certificate.version == x509_cert::Version::V3
    }

    /// Why it is not valid at this time.
    pub(crate) fn untimely(&self, now: SystemTime) -> Option<&'static str> {
        let validity = &self.0.tbs_certificate.validity;
        if now < validity.not_before.to_system_time() {
            Some("certificate is not yet valid")
        } else if now > validity.not_after.to_system_time() {
            Some("certificate has expired")
        } else {
            None
        }
    }

    /// The public key with its algorithm, in DER.
    pub(crate) fn key(&self) -> Option<Vec<u8>> {
        self.0.tbs_certificate.subject_public_key_info.to_der().ok()
    }

    /// The channel binding `tls-server-end-point` (RFC 5929): the certificate under the hash of its own signature, SHA-256 in
    /// place of anything weaker. `None` where the signature has no hash (Ed25519).
    pub(crate) fn binding(&self, der: &[u8]) -> Option<Vec<u8>> {
        let algorithm = match self.0.signature_algorithm.oid {
            rfc5912::ID_RSASSA_PSS => pss_hash(&self.0.signature_algorithm.parameters.to_der().ok()?)?,
            oid => oid,
        };
        let hash = match algorithm {
            rfc5912::ID_SHA_1
            | rfc5912::ID_SHA_256
            | rfc5912::SHA_1_WITH_RSA_ENCRYPTION
            | rfc5912::SHA_256_WITH_RSA_ENCRYPTION
            | rfc5912::ECDSA_WITH_SHA_256 => &digest::SHA256,
            rfc5912::ID_SHA_384 | rfc5912::SHA_384_WITH_RSA_ENCRYPTION | rfc5912::ECDSA_WITH_SHA_384 => {
                &digest::SHA384
            }
            rfc5912::ID_SHA_512 | rfc5912::SHA_512_WITH_RSA_ENCRYPTION | rfc5912::ECDSA_WITH_SHA_512 => {
                &digest::SHA512
            }
            _ => return None,
        };
        Some(digest::digest(hash, der).as_ref().to_vec())
    }

    /// libpq's rule: alternative names first; the common name only where there is none of the host's own kind.
    ///
    /// # Errors
    /// libpq's sentence.
    pub(crate) fn check_host(&self, host: &str) -> Result<(), String> {
        let names = self.names();
        if names.fit(host) {
            return Ok(());
        }
        let mut all = names.dns.clone();
        all.extend(names.addresses.iter().map(IpAddr::to_string));
        if all.is_empty() {
            all.extend(names.common);
        }
        Err(match all.as_slice() {
            [] => "could not get server's host name from server certificate".to_owned(),
            [only] => {
                format!("server certificate for {only:?} does not match host name {host:?}")
            }
            [first, others @ ..] => format!(
                "server certificate for {first:?} (and {} other name{}) does not match host name {host:?}",
                others.len(),
                if others.len() == 1 { "" } else { "s" }
            ),
        })
    }

    fn names(&self) -> Names {
        let mut names = Names::default();
        if let Ok(Some((_, SubjectAltName(list)))) = self.0.tbs_certificate.get::<SubjectAltName>() {
            for name in list {
                match name {
                    GeneralName::DnsName(name) => names.dns.push(name.as_str().to_owned()),
                    GeneralName::IpAddress(octets) => names.addresses.extend(address(octets.as_bytes())),
                    _ => {}
                }
            }
        }
        let attributes = self.0.tbs_certificate.subject.0.iter().flat_map(|name| name.0.iter());
        let common = attributes.filter(|attribute| attribute.oid == rfc4519::CN).map(|name| &name.value);
        names.common = common
            .filter(|value| {
                matches!(
                    value.tag(),
                    Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::TeletexString
                )
            })
            .find_map(|value| std::str::from_utf8(value.value()).ok().map(str::to_owned));
        names
    }
}

impl Names {
    fn fit(&self, host: &str) -> bool {
        let ip: Option<IpAddr> = host.parse().ok();
        let has_own_kind = if ip.is_some() { !self.addresses.is_empty() } else { !self.dns.is_empty() };
        let common = self.common.iter().filter(|_| !has_own_kind);
        self.dns.iter().chain(common).any(|pattern| matches(pattern, host))
            || ip.is_some_and(|ip| self.addresses.contains(&ip))
    }
}

/// Equal but for case, or `*.` in place of exactly one label. A name with a NUL in it was made to deceive and fits nothing.
fn matches(pattern: &str, host: &str) -> bool {
    if pattern.contains('\0') {
        return false;
    }
    let wildcard = pattern.strip_prefix('*').filter(|rest| rest.starts_with('.') && rest.len() > 1);
    match wildcard {
        Some(rest) => host.find('.').is_some_and(|dot| dot > 0 && host[dot..].eq_ignore_ascii_case(rest)),
        None => pattern.eq_ignore_ascii_case(host),
    }
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(octets) {
        return Some(IpAddr::from(four));
    }
    <[u8; 16]>::try_from(octets).ok().map(IpAddr::from)
}

/// The hash of an RSA-PSS signature; SHA-1 where none is named.
fn pss_hash(parameters: &[u8]) -> Option<ObjectIdentifier> {
    let fields: Vec<x509_cert::der::Any> = Vec::from_der(parameters).ok()?;
    match fields.first().filter(|field| u8::from(field.tag()) == PSS_HASH) {
        None => Some(rfc5912::ID_SHA_1),
        Some(hash) => {
            let algorithm = x509_cert::spki::AlgorithmIdentifierOwned::from_der(hash.value()).ok()?;
            Some(algorithm.oid)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dns: &[&str], addresses: &[&str], common: Option<&str>) -> Names {
        Names {
            dns: dns.iter().map(|name| (*name).to_owned()).collect(),
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
            common: common.map(str::to_owned),
        }
    }

    #[test]
    fn a_certificate_for_another_host_does_not_fit() {
        for (host, has, fits) in [
            ("db.example", names(&["DB.Example"], &[], None), true),
            ("db.example", names(&["*.example"], &[], None), true),
            ("a.db.example", names(&["*.example"], &[], None), false),
            (".example", names(&["*.example"], &[], None), false),
            ("example", names(&["*"], &[], None), false),
            ("example", names(&["*."], &[], None), false),
            ("db.example", names(&["other.example"], &[], Some("db.example")), false),
            ("db.example", names(&[], &["10.0.0.1"], Some("db.example")), true),
            ("db.example\0.evil", names(&["db.example\0.evil"], &[], None), false),
            ("10.0.0.1", names(&[], &["10.0.0.1"], None), true),
            ("10.0.0.1", names(&["x"], &[], Some("10.0.0.1")), true),
            ("10.0.0.2", names(&[], &["10.0.0.1"], Some("10.0.0.2")), false),
            ("::1", names(&[], &["::1"], None), true),
        ] {
            assert_eq!(has.fit(host), fits, "{host} {has:?}");
        }
    }
}
