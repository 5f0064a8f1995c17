//! The client of a store, with credentials and settings as its library reads them from the environment.

use std::sync::Arc;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::{ClientOptions, HeaderMap, HeaderValue, ObjectStore, Result, RetryConfig};

use super::address::{Address, Kind};
use super::environment::Environment;

/// For a request with its answer. A part of 8 MiB at 100 KiB a second takes 80 seconds.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(180);

/// Refused connections and errors of the server are tried again so often, after pauses that double: some five seconds.
const RETRIES: usize = 5;

/// # Errors
/// Settings that contradict each other or lack something.
pub(super) fn connect(address: &Address, environment: &Environment) -> Result<Arc<dyn ObjectStore>> {
    let retry = RetryConfig { max_retries: RETRIES, ..RetryConfig::default() };
    let client = ClientOptions::new().with_timeout(REQUEST_TIMEOUT);
    let url = address.store_url();
    // Settings that a store does not know are for other programs.
    Ok(match address.kind {
        Kind::S3 => {
            let mut builder = AmazonS3Builder::new().with_client_options(client).with_retry(retry);
            for (key, value) in environment.settings("AWS_") {
                if let Ok(key) = key.parse() {
                    builder = builder.with_config(key, value);
                }
            }
            let endpoint = environment.get("AWS_ENDPOINT_URL_S3").or(environment.get("AWS_ENDPOINT_URL"));
            if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"))
                && environment.get("AWS_ALLOW_HTTP").is_none()
            {
                // Whoever names such an endpoint means it, unless they say otherwise.
                builder = builder.with_allow_http(true);
            }
            Arc::new(builder.with_url(url).build()?)
        }
        Kind::Google => {
            let mut builder = GoogleCloudStorageBuilder::new().with_client_options(client).with_retry(retry);
            for (key, value) in environment.settings("GOOGLE_") {
                if let Ok(key) = key.parse() {
                    builder = builder.with_config(key, value);
                }
            }
            Arc::new(builder.with_url(url).build()?)
        }
        Kind::Azure => {
            let mut builder = MicrosoftAzureBuilder::new().with_client_options(client).with_retry(retry);
            for (key, value) in environment.settings("AZURE_") {
                if let Ok(key) = key.parse() {
                    builder = builder.with_config(key, value);
                }
            }
            Arc::new(builder.with_url(url).build()?)
        }
        Kind::Http => {
            let mut headers = HeaderMap::new();
            if let Some(value) = address.user().and_then(|user| basic(&user)) {
                headers.insert("authorization", value);
            }
            let client = client.with_allow_http(true).with_default_headers(headers);
            Arc::new(HttpBuilder::new().with_url(url).with_client_options(client).with_retry(retry).build()?)
        }
    })
}

/// How a user and a password are told to an HTTP server.
fn basic(user: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(user))).ok()?;
    value.set_sensitive(true);
    Some(value)
}
