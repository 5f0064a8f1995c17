//! The parts of a URL, and what of it may be shown.

use crate::error::Error;
use crate::hive::decoded;

/// Parts of a query or a password from this length on are nowhere shown; shorter ones would hide words.
const SECRET_BYTES: usize = 6;

/// The stores that we can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    S3,
    Google,
    Azure,
    Http,
}

/// A URL of an object, of a pattern, or of a prefix.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub kind: Kind,
    /// As it was given: `s3`, `abfss`.
    pub scheme: String,
    /// Bucket or container; of an HTTP server the host and port, with the user if one is given.
    pub authority: String,
    /// Behind the authority's slash. Of an HTTP server as it stands in the URL, else as the store has it.
    pub key: String,
    /// Of an HTTP server, behind the question mark: often a signature, so never shown.
    pub query: Option<String>,
}

impl Address {
    /// `None`: `text` is a path.
    ///
    /// # Errors
    /// A scheme that is not known, a URL without a bucket or key.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, Error> {
        let Some((scheme, rest)) = split_scheme(text) else { return Ok(None) };
        let kind = match &*scheme {
            "file" => return Ok(None),
            "s3" | "s3a" => Kind::S3,
            "gs" => Kind::Google,
            "az" | "adl" | "azure" | "abfs" | "abfss" => Kind::Azure,
            "http" | "https" => Kind::Http,
            _ => {
                return Err(Error::usage(format!("{scheme}:// is no source that howdah reads"))
                    .with_hint("it reads s3:// gs:// az:// abfss:// http:// https:// file://"));
            }
        };
        // A question mark in a key of a store is a pattern's.
        let rest = if kind == Kind::Http { rest.split('#').next().unwrap_or(rest) } else { rest };
        let (rest, query) = match rest.split_once('?').filter(|_| kind == Kind::Http) {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() || key.is_empty() && kind == Kind::Http {
            return Err(Error::usage(format!("{scheme}://{} names nothing to read", shown(kind, authority)))
                .with_hint("s3://BUCKET/FILE, s3://BUCKET/DIRECTORY/ or s3://BUCKET/DIRECTORY/*.parquet"));
        }
        let (authority, key) = (authority.to_owned(), key.to_owned());
        Ok(Some(Address { kind, scheme, authority, key, query }))
    }

    /// How the object `key` of the same store is called in messages: without a user, a password or a query.
    pub(crate) fn name(&self, key: &str) -> String {
        format!("{}://{}/{key}", self.scheme, shown(self.kind, &self.authority))
    }

    /// The store by itself, as its library takes it.
    pub(crate) fn store_url(&self) -> String {
        let query = self.query.as_ref().map_or(String::new(), |query| format!("?{query}"));
        format!("{}://{}/{query}", self.scheme, shown(self.kind, &self.authority))
    }

    /// User and password of an HTTP server, if the URL has them.
    pub(crate) fn user(&self) -> Option<String> {
        let user = self.authority.rsplit_once('@').filter(|_| self.kind == Kind::Http);
        user.map(|(user, _)| decoded(user))
    }

    /// What must not be shown of it, the longest first.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> = self.user().into_iter().chain(self.query.clone()).collect();
        let values = secrets.iter().flat_map(|secret| secret.split(['&', '=', ':']));
        let values: Vec<String> =
            values.filter(|value| value.len() >= SECRET_BYTES).map(str::to_owned).collect();
        secrets.extend(values);
        secrets.retain(|secret| !secret.is_empty());
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }

    /// Whether it stands for all that its store has under the key.
    pub(crate) fn is_prefix(&self) -> bool {
        self.kind != Kind::Http && (self.key.is_empty() || self.key.ends_with('/'))
    }

    /// Whether the key is a pattern.
    pub(crate) fn is_pattern(&self) -> bool {
        self.kind != Kind::Http && self.key.contains(['*', '?', '['])
    }
}

/// The path behind a `file://` URL.
///
/// # Errors
/// A file of another machine.
pub(crate) fn local_path(text: &str) -> Result<Option<String>, Error> {
    let Some((_, rest)) = split_scheme(text).filter(|(scheme, _)| scheme == "file") else { return Ok(None) };
    match rest.split_once('/') {
        Some(("" | "localhost", path)) => Ok(Some(format!("/{}", decoded(path)))),
        _ => Err(Error::usage(format!("{text} is a file of another machine"))
            .with_hint("a file of this one has three slashes: file:///data/x.csv")),
    }
}

/// The scheme in lower case, and what stands behind `://`.
fn split_scheme(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then(|| (scheme.to_ascii_lowercase(), rest))
}

/// An authority without user and password. (In Azure's, what stands before the @ is the container.)
fn shown(kind: Kind, authority: &str) -> &str {
    match authority.rsplit_once('@') {
        Some((_, host)) if kind == Kind::Http => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Address {
        Address::parse(text).unwrap().unwrap()
    }

    #[test]
    fn a_url_is_taken_apart_and_its_secrets_are_not_in_its_name() {
        let object = parsed("s3://bucket/dir/a?b.csv");
        assert_eq!((&*object.authority, &*object.key), ("bucket", "dir/a?b.csv"));
        assert!(object.is_pattern());
        let presigned = parsed("https://user:p%40ss@host:8080/a%20b/x.csv.gz?X-Amz-Signature=s%2Fecret#part");
        assert_eq!(presigned.name(&presigned.key), "https://host:8080/a%20b/x.csv.gz");
        assert_eq!(presigned.store_url(), "https://host:8080/?X-Amz-Signature=s%2Fecret");
        assert_eq!(presigned.user().as_deref(), Some("user:p@ss"));
        assert_eq!(
            presigned.secrets(),
            ["X-Amz-Signature=s%2Fecret", "X-Amz-Signature", "user:p@ss", "s%2Fecret"]
        );
        let azure = parsed("abfss://container@account.dfs.core.windows.net/t/");
        assert_eq!(azure.name("t/x"), "abfss://container@account.dfs.core.windows.net/t/x");
        assert!(azure.is_prefix() && parsed("s3://bucket").is_prefix());
    }

    #[test]
    fn paths_are_no_urls_and_strange_schemes_are_named() {
        for path in ["data/x.csv", "/x", "C:\\x", "-", "://x", "a b://x"] {
            assert!(Address::parse(path).unwrap().is_none(), "{path}");
            assert_eq!(local_path(path).unwrap(), None);
        }
        for url in ["ftp://host/x", "s3:///key", "https://host", "https://host/"] {
            assert!(Address::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn file_urls_are_paths() {
        assert_eq!(local_path("file:///data/a%20b.csv").unwrap().unwrap(), "/data/a b.csv");
        assert_eq!(local_path("file://localhost/x/*.csv").unwrap().unwrap(), "/x/*.csv");
        assert!(local_path("file://host/x").is_err());
    }
}
