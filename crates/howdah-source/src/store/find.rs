//! The objects that a URL names: itself, what matches a pattern, what stands under a prefix.

use std::sync::Arc;

use futures_util::TryStreamExt;
use glob::{MatchOptions, Pattern};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

use super::address::{Address, Kind};
use super::connect::connect;
use super::environment::Environment;
use super::failure::Failure;
use super::io;
use super::object::{Object, head};
use super::profile;
use super::settings;
use crate::Progress;
use crate::error::{Error, ErrorKind};

/// As in a shell: a star stops at a slash.
const MATCHING: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// The objects behind `address`, sorted by key, found with what the process's environment says of the store.
///
/// # Errors
/// None is there, or the store does not let us look.
pub(crate) fn find(address: &Address, progress: &Progress) -> Result<Vec<Object>, Error> {
    find_by(address, &Environment::from_process(), progress)
}

pub(super) fn find_by(
    address: &Address,
    environment: &Environment,
    progress: &Progress,
) -> Result<Vec<Object>, Error> {
    let name = address.name(&address.key);
    let fail = |failure: Failure| {
        let error = Error::new(ErrorKind::Source, format!("cannot read {name}: {failure}"));
        match failure.hint() {
            Some(hint) => error.with_hint(hint.clone()),
            None => error,
        }
    };
    let environment = match address.kind {
        Kind::S3 => &profile::completed(environment).map_err(fail)?,
        Kind::Google | Kind::Azure | Kind::Http => environment,
    };
    settings::check(address.kind, environment).map_err(fail)?;
    let store = connect(address, environment).map_err(|error| fail(Failure::of(&error, address)))?;
    let found = if address.is_prefix() || address.is_pattern() {
        list(address, &store, progress)
    } else {
        one(address, &store, progress).map(|meta| vec![meta])
    };
    let mut found = found.map_err(fail)?;
    if found.is_empty() {
        return Err(Error::new(ErrorKind::Source, format!("no object matches {name}"))
            .with_hint("* and ? stand for parts of a name, ** for directories"));
    }
    found.sort_by(|one, other| one.location.cmp(&other.location));
    let address = Arc::new(address.clone());
    Ok(found.into_iter().map(|meta| Object::new(&address, &store, meta)).collect())
}

fn one(address: &Address, store: &Arc<dyn ObjectStore>, progress: &Progress) -> Result<ObjectMeta, Failure> {
    let key = match address.kind {
        Kind::Http => Path::from_url_path(&address.key),
        _ => Path::parse(&address.key),
    };
    let key = key.map_err(|error| Failure::new(error.to_string()))?;
    let asked = io::start(head(store.clone(), key)).and_then(|answer| answer.wait(progress));
    let answer = asked.map_err(|error| Failure::new(error.to_string()))?;
    answer.map_err(|error| Failure::of(&error, address))
}

fn list(
    address: &Address,
    store: &Arc<dyn ObjectStore>,
    progress: &Progress,
) -> Result<Vec<ObjectMeta>, Failure> {
    let pattern = Pattern::new(&address.key).map_err(|error| Failure::new(error.to_string()))?;
    let literal = address.key.find(['*', '?', '[']).map_or(&*address.key, |at| &address.key[..at]);
    let directory = literal.rsplit_once('/').map_or("", |(directory, _)| directory);
    let behind = address.key[directory.len()..].trim_start_matches('/');
    let is_flat = address.is_pattern() && !behind.contains('/') && !behind.contains("**");
    let prefix = Path::parse(directory).map_err(|error| Failure::new(error.to_string()))?;
    let store = store.clone();
    let listing = async move {
        if is_flat {
            // What lies deeper does not match, and may be a lot.
            store.list_with_delimiter(Some(&prefix)).await.map(|listed| listed.objects)
        } else {
            store.list(Some(&prefix)).try_collect().await
        }
    };
    let listed = io::start(listing).and_then(|answer| answer.wait(progress));
    let listed = listed.map_err(|error| Failure::new(error.to_string()))?;
    let mut listed = listed.map_err(|error| Failure::of(&error, address))?;
    if address.is_pattern() {
        listed.retain(|meta| pattern.matches_with(meta.location.as_ref(), MATCHING));
    } else {
        let depth = address.key.split_terminator('/').count();
        listed.retain(|meta| meta.size > 0 && is_data(&meta.location, depth));
    }
    Ok(listed)
}

/// Writers leave marks beside their data (`_SUCCESS`, `_delta_log/`, `.crc`), which a prefix does not mean.
fn is_data(location: &Path, depth: usize) -> bool {
    location.parts().skip(depth).all(|part| {
        let part = part.as_ref();
        // A key column may begin with an underscore.
        !part.starts_with('.') && (!part.starts_with('_') || part.contains('='))
    })
}
