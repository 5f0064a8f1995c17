//! What a store's refusal means, in words that give no secret away.

use std::error::Error as StdError;
use std::fmt;

use super::address::{Address, Kind};
use howdah_message::{Action, Message};

/// Why an object cannot be read, and what to do about it.
#[derive(Debug, Clone)]
pub struct Failure {
    what: String,
    hint: Option<Message>,
}

impl Failure {
    pub fn new(what: impl Into<String>) -> Self {
        Failure { what: what.into(), hint: None }
    }

    pub(super) fn with_hint(self, hint: &str) -> Self {
        Failure { hint: Some(Message::from(hint.to_owned())), ..self }
    }

    pub fn hint(&self) -> Option<&Message> {
        self.hint.as_ref()
    }

    /// The words of the store itself, of which `address` has the secrets.
    pub(super) fn of(error: &object_store::Error, address: &Address) -> Self {
        use object_store::Error as E;
        let said = redacted(said(error), address);
        let (what, hint) = match error {
            E::NotFound { .. } => {
                ("there is no such object".to_owned(), missing_hint(address.kind).map(Message::from))
            }
            E::Precondition { .. } => ("it was changed while it was read".to_owned(), None),
            E::PermissionDenied { .. } => {
                (format!("access is denied: {said}"), access_hint(address.kind).map(Message::from))
            }
            E::Unauthenticated { .. } => (
                format!("credentials are missing or wrong: {said}"),
                access_hint(address.kind).map(Message::from),
            ),
            _ if said.contains("non-partial response") => (
                "the server does not give parts of it".to_owned(),
                Some(message!["let curl read it: ", Action::LoadOutput("curl URL")]),
            ),
            _ => {
                let hint = if said.contains("certificate") {
                    Some(
                        "SSL_CERT_FILE names a file with the authorities to trust, in place of the system's; the certificate must be for the URL's host",
                    )
                } else if said.contains("onnection") || said.contains("dns") || said.contains("resolve") {
                    Some(
                        "is the endpoint right? AWS_ENDPOINT_URL, AZURE_STORAGE_ACCOUNT_NAME or the URL's host names it",
                    )
                } else if said.contains("region") || said.contains("redirect") || said.contains("301") {
                    Some("the bucket may be in another region: set AWS_REGION")
                } else if said.contains("redential") || said.contains("token") || said.contains("169.254") {
                    access_hint(address.kind)
                } else {
                    None
                };
                (said, hint.map(Message::from))
            }
        };
        Failure { what, hint }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl StdError for Failure {}

impl From<Failure> for std::io::Error {
    fn from(failure: Failure) -> Self {
        std::io::Error::other(failure)
    }
}

fn missing_hint(kind: Kind) -> Option<&'static str> {
    (kind != Kind::Http)
        .then_some("a directory of objects ends in a slash, or is named by a pattern: 'DIR/*.parquet'")
}

fn access_hint(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::S3 => {
            "set AWS_PROFILE, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION; for a public bucket AWS_SKIP_SIGNATURE=true"
        }
        Kind::Google => "set GOOGLE_APPLICATION_CREDENTIALS; for a public bucket GOOGLE_SKIP_SIGNATURE=true",
        Kind::Azure => {
            "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY; for a public container AZURE_SKIP_SIGNATURE=true"
        }
        Kind::Http => {
            "a signed URL may have expired; a password stands before the host: https://USER:PASSWORD@HOST/FILE"
        }
    })
}

/// The innermost cause: what stands around it repeats the URL, and with it signatures.
fn said(error: &object_store::Error) -> String {
    let mut cause: &dyn StdError = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = cause.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    // An answer of the server: its status, then its body, of which only the code and the message are for people.
    let Some((_, answer)) = text.split_once("status code: ").or(text.split_once("error response: ")) else {
        return text.trim_end_matches('.').to_owned();
    };
    let (status, body) = answer.split_once(": ").unwrap_or((answer, ""));
    let status = if status.contains('<') { "an error" } else { status };
    let words = [element(answer, "Code"), element(answer, "Message")];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    match words.as_slice() {
        [] if body.is_empty() || body.contains('<') || body.len() > 200 => status.to_owned(),
        [] => format!("{status} ({})", body.trim()),
        words => format!("{status} ({})", words.join(": ")),
    }
}

/// The text of an XML element.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    (!text.is_empty()).then_some(text)
}

fn redacted(text: String, address: &Address) -> String {
    address.secrets().iter().fold(text, |text, secret| text.replace(secret.as_str(), "…"))
}
