//! Why a connection failed, in libpq's words, and what may be tried next.

use super::connection::Failure;
use super::conninfo::refuse;
use super::dial::Address;
use super::hosts::Host;
use crate::error::{Error, ErrorKind};

/// A server that starts, stops or recovers: the next host may do.
const CANNOT_CONNECT_NOW: &str = "57P03";
/// pg_hba.conf has no rule for this client, or one that rejects it: it may have one for the other kind of session.
const INVALID_AUTHORIZATION: &str = "28000";

/// A failure and what follows from it.
pub(super) struct Refusal {
    pub(super) error: Error,
    /// The same with or without TLS might go another way.
    pub(super) encryption_may_matter: bool,
    /// Other addresses and hosts are not to be tried.
    pub(super) is_final: bool,
}

impl Refusal {
    pub(super) fn of(error: Error) -> Refusal {
        Refusal { error, encryption_may_matter: false, is_final: true }
    }

    pub(super) fn new(host: &Host, address: &Address, failure: Failure) -> Refusal {
        let place = host.place(Some(address));
        match failure {
            Failure::Unreachable(cause) => {
                let reason = cause.to_string();
                let reason = reason.split(" (os error").next().unwrap_or(&reason);
                let error = refuse(format!("{place}: {reason}")).with_hint(if host.is_socket {
                    "is the server running locally and accepting connections on that socket?"
                } else {
                    "is the server running on that host and accepting TCP/IP connections?"
                });
                Refusal { is_final: false, ..Refusal::of(error.caused_by(cause)) }
            }
            Failure::TimedOut => {
                let error = refuse(format!("{place}: timeout expired"))
                    .with_hint("connect_timeout=SECONDS allows more, 0 any time");
                Refusal { is_final: false, ..Refusal::of(error) }
            }
            Failure::Tls(error) => {
                Refusal { encryption_may_matter: true, ..Refusal::of(error.prefixed(&place)) }
            }
            Failure::Refused(error) => {
                let refusal = by_driver(&place, &error);
                Refusal { error: refusal.error.caused_by(error), ..refusal }
            }
        }
    }
}

fn by_driver(place: &str, failure: &tokio_postgres::Error) -> Refusal {
    if let Some(db) = failure.as_db_error() {
        let error = Error::from_db(db).prefixed(place).of_kind(ErrorKind::Connect);
        let code = db.code().code();
        return Refusal {
            error,
            encryption_may_matter: code == INVALID_AUTHORIZATION,
            is_final: code != CANNOT_CONNECT_NOW,
        };
    }
    let mut reason = failure.to_string();
    let mut cause = std::error::Error::source(failure);
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !reason.contains(&text) {
            reason = format!("{reason}: {text}");
        }
        cause = inner.source();
    }
    if reason.contains("password missing") {
        let text = format!("{place}: the server asks for a password and none is known");
        return Refusal::of(
            Error::new(ErrorKind::PasswordRequired, text)
                .with_hint("PGPASSWORD or a password file (~/.pgpass) supplies one without asking"),
        );
    }
    let is_tls = reason.starts_with("error performing TLS handshake");
    let reason = [
        "error performing TLS handshake: ",
        "error communicating with the server: ",
        "authentication error: ",
    ]
    .into_iter()
    .fold(reason.as_str(), |text, prefix| text.strip_prefix(prefix).unwrap_or(text));
    let reason = reason.strip_prefix("invalid peer certificate: ").unwrap_or(reason);
    let reason = reason.split(" (os error").next().unwrap_or(reason);
    let error = if is_tls && reason == "server does not support TLS" {
        refuse(format!("{place}: server does not support SSL, but SSL was required"))
    } else if is_tls {
        refuse(format!("{place}: SSL error: {reason}"))
    } else if reason.contains("channel binding") {
        refuse(format!("{place}: channel binding is required, but server did not offer it in a usable form")).with_hint(
            "it needs TLS, SCRAM and a certificate whose signature has a hash (RSA or ECDSA, not Ed25519)",
        )
    } else {
        refuse(format!("{place}: {reason}"))
    };
    Refusal { encryption_may_matter: is_tls, ..Refusal::of(error) }
}
