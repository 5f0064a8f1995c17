//! howdah's own servers: the one that is used when no connection is given, made and started where necessary, and those that are
//! used by name. The Python package takes them from here.

use std::path::Path;

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::{Error, ErrorKind};
use howdah_server::{DEFAULT_NAME, Persistent, Server};

use crate::program;

/// A running server of howdah's own.
pub struct OwnServer {
    /// Its address.
    pub target: Target,
    /// What it is, in words.
    pub description: String,
    /// What a person should know of it: said once, when it is made.
    pub notice: Option<String>,
}

/// howdah's own server `name`, by default the one that is used where nothing else is said. That one is made where there is none
/// yet, and `making` hears of its directory: it takes seconds, once; a start takes a tenth of one and needs no announcement.
///
/// # Errors
/// There is no server of another name; no PostgreSQL was found, or it does not start.
pub fn own_server(name: Option<&str>, making: impl FnOnce(&Path)) -> Result<OwnServer, Error> {
    let own = named(name.unwrap_or(DEFAULT_NAME))?;
    let is_default = own.name() == DEFAULT_NAME;
    let is_new = !own.directory().exists();
    if is_new && is_default {
        making(&own.directory());
    }
    let own = started(&own, is_default)?;
    Ok(OwnServer {
        target: target_of(&own)?,
        description: own.describe(),
        notice: is_new.then(|| own.other_than_embedded()).flatten(),
    })
}

/// Where a server of our own is.
///
/// # Errors
/// What the environment says of sessions cannot be understood.
pub(crate) fn target_of(own: &Server) -> Result<Target, Error> {
    // Complete in itself: PGHOST or PGSSLMODE are meant for the user's servers, not for ours.
    let options = ConnectOptions::default().conninfo(own.conninfo());
    Ok(options.resolve(&Environment::from_process().of_session())?)
}

/// The server `name`, which somebody made; started where it is stopped.
///
/// # Errors
/// There is none; it does not start.
pub(crate) fn existing(name: &str) -> Result<Server, Error> {
    started(&named(name)?, false)
}

fn named(name: &str) -> Result<Persistent, Error> {
    Persistent::named(name).map_err(|error| unreachable_server(&error))
}

fn started(own: &Persistent, is_made: bool) -> Result<Server, Error> {
    if !is_made && !own.directory().exists() {
        return Err(unknown(own.name()));
    }
    own.start().map_err(|error| unreachable_server(&error))
}

/// A failure of a server that is needed for something else.
fn unreachable_server(error: &howdah_server::Error) -> Error {
    match server_error(error) {
        usage if usage.kind() == ErrorKind::Usage => usage,
        failed => failed.of_kind(ErrorKind::Connect),
    }
}

/// A name may be misspelt: no server is made for it.
fn unknown(name: &str) -> Error {
    let all = Persistent::all().unwrap_or_default();
    let names: Vec<&str> = all.iter().map(Persistent::name).collect();
    let program = program::name();
    let there_are = match names.as_slice() {
        [] => String::new(),
        names => format!("; there are {}", names.join(", ")),
    };
    Error::new(ErrorKind::Connect, format!("howdah has no server of its own named {name:?}"))
        .with_hint(format!("{program} server --name {name} start makes it{there_are}"))
}

/// A failure of a server of our own, in the engine's words.
pub fn server_error(error: &howdah_server::Error) -> Error {
    let kind = match error {
        howdah_server::Error::BadName(_)
        | howdah_server::Error::BadSetting(_)
        | howdah_server::Error::Trying(_) => ErrorKind::Usage,
        _ => ErrorKind::Server,
    };
    let text = Error::new(kind, error.to_string());
    match error.hint() {
        Some(hint) => text.with_hint(hint),
        None => text,
    }
}
