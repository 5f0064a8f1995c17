//! Why a connection failed, in libpq's words, and what may be tried next.

use crate::connection::Failure;
use crate::dial::Address;
use crate::error::{Error, ErrorKind};
use crate::hosts::Host;
use crate::login::LoginRefused;

/// A server that starts, stops or recovers: the next host may do.
const CANNOT_CONNECT_NOW: &str = "57P03";
/// pg_hba.conf has no rule for this client, or one that rejects it: it may have one for the other kind of session.
const INVALID_AUTHORIZATION: &str = "28000";

/// A failure and what follows from it.
pub(crate) struct Refusal {
    pub(crate) error: Error,
    /// The same with or without TLS might go another way.
    pub(crate) encryption_may_matter: bool,
    /// Other addresses and hosts are not to be tried.
    pub(crate) is_final: bool,
}

impl Refusal {
    pub(crate) fn of(error: Error) -> Refusal {
        Refusal { error, encryption_may_matter: false, is_final: true }
    }

    pub(crate) fn new(host: &Host, address: &Address, failure: Failure) -> Refusal {
        let place = host.place(Some(address));
        match failure {
            Failure::Unreachable(cause) => {
                let reason = cause.to_string();
                let reason = reason.split(" (os error").next().unwrap_or(&reason);
                let error = Error::new(ErrorKind::Unreachable, format!("{place}: {reason}")).with_hint(
                    if host.is_socket {
                        "is the server running locally and accepting connections on that socket?"
                    } else {
                        "is the server running on that host and accepting TCP/IP connections?"
                    },
                );
                Refusal { is_final: false, ..Refusal::of(error.caused_by(cause)) }
            }
            Failure::TimedOut => {
                let error = Error::new(ErrorKind::TimedOut, format!("{place}: timeout expired"))
                    .with_hint("connect_timeout=SECONDS allows more, 0 any time");
                Refusal { is_final: false, ..Refusal::of(error) }
            }
            Failure::Tls(error) => {
                let error = error.prefixed(&place).of_kind(ErrorKind::Tls);
                Refusal { encryption_may_matter: true, ..Refusal::of(error) }
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
        let error = Error::of_server(ErrorKind::Refused, db).prefixed(place);
        let code = db.code().code();
        return Refusal {
            error,
            encryption_may_matter: code == INVALID_AUTHORIZATION,
            is_final: code != CANNOT_CONNECT_NOW,
        };
    }
    // The driver keeps the kinds of its errors private: their texts are all that tells most of them apart.
    let mut reason = failure.to_string();
    let mut cause = std::error::Error::source(failure);
    let mut has_broken = failure.is_closed();
    while let Some(inner) = cause {
        if let Some(error) = inner.downcast_ref::<std::io::Error>() {
            has_broken |= !error.get_ref().is_some_and(|inner| inner.is::<LoginRefused>());
        }
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
    let of = |kind, reason: &str| Error::new(kind, format!("{place}: {reason}"));
    let error = if is_tls && reason == "server does not support TLS" {
        of(ErrorKind::Tls, "server does not support SSL, but SSL was required")
    } else if is_tls {
        of(ErrorKind::Tls, &format!("SSL error: {reason}"))
    } else if reason.contains("channel binding") {
        of(
            ErrorKind::Refused,
            "channel binding is required, but server did not offer it in a usable form",
        )
        .with_hint(
            "it needs TLS, SCRAM and a certificate whose signature has a hash (RSA or ECDSA, not Ed25519)",
        )
    } else {
        of(if has_broken { ErrorKind::Unreachable } else { ErrorKind::Refused }, reason)
    };
    Refusal { encryption_may_matter: is_tls, ..Refusal::of(error) }
}
