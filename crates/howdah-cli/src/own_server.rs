//! The server that is used when no connection is given: howdah's own, made and started where necessary. The Python package takes
//! it from here.

use std::path::Path;

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::{Error, ErrorKind};
use howdah_server::{DEFAULT_NAME, Persistent};

/// Returns the address of howdah's own server, and a description of it in words. `making` hears of its directory when there is none yet: that takes
/// seconds, once; a start takes a tenth of one and needs no announcement.
///
/// # Errors
/// No PostgreSQL was found, or it does not start.
pub fn own_server(making: impl FnOnce(&Path)) -> Result<(Target, String), Error> {
    let failed = |error| server_error(&error).of_kind(ErrorKind::Connect);
    let own = Persistent::named(DEFAULT_NAME).map_err(failed)?;
    if !own.directory().exists() {
        making(&own.directory());
    }
    let own = own.start().map_err(failed)?;
    let options = ConnectOptions::default().conninfo(own.conninfo());
    // Complete in itself: PGOPTIONS or PGSSLMODE are meant for the user's servers, not for ours.
    Ok((options.resolve(&Environment::default())?, own.describe()))
}

/// A failure of a server of our own, in the engine's words.
pub fn server_error(error: &howdah_server::Error) -> Error {
    let kind = match error {
        howdah_server::Error::BadName(_) | howdah_server::Error::BadSetting(_) => ErrorKind::Usage,
        _ => ErrorKind::Server,
    };
    let text = Error::new(kind, error.to_string());
    match error.hint() {
        Some(hint) => text.with_hint(hint),
        None => text,
    }
}
