//! Settings of a store that its library would stumble over only when it sends a request.

use url::Url;

use super::address::Kind;
use super::environment::Environment;
use super::failure::Failure;

/// The variables that name a server.
const ENDPOINTS: [&str; 5] =
    ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"];

/// Refuses what cannot stand in a request, by its variable: the value may be a secret.
///
/// # Errors
/// A value has control characters; an endpoint is no URL of a server.
pub(super) fn check(kind: Kind, environment: &Environment) -> Result<(), Failure> {
    let prefix = match kind {
        Kind::S3 => "AWS_",
        Kind::Google => "GOOGLE_",
        Kind::Azure => "AZURE_",
        Kind::Http => return Ok(()),
    };
    for (name, value) in environment.settings(prefix) {
        let name = name.to_ascii_uppercase();
        let fail = |what: &str| Err(Failure::new(format!("{name} {what}")));
        if value.chars().any(char::is_control) {
            return fail("has a control character in it, such as a line end");
        }
        if ENDPOINTS.contains(&&*name) && !is_server(value) {
            return fail("is not the URL of a server, as https://host or https://host:port");
        }
    }
    Ok(())
}

fn is_server(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}
