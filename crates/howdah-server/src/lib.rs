//! A PostgreSQL server of our own: find the programs, initdb, start, stop, clean up.
//!
//! Two kinds. A [`Throwaway`] server lives in a temporary directory and ends with its owner, even when the
//! owner is killed. A [`Persistent`] server has a name and a directory of the user's, and outlives the process
//! that started it. Both answer on a Unix socket in a directory that nobody else can enter and on loopback TCP,
//! both ask for a generated password, and both have a superuser `howdah` and a database `howdah`.

mod account;
mod binaries;
mod cache;
mod cluster;
mod error;
mod machine;
mod persistent;
mod places;
mod port;
mod postmaster;
pub mod proxy;
mod secret;
mod server;
mod settings;
mod throwaway;
mod watchdog;

pub use error::{Error, Result};
pub use persistent::{DEFAULT_NAME, Persistent, Status, Stood, TriedSettings, Trying};
pub use places::in_python;
pub use server::Server;
pub use settings::Settings;
pub use throwaway::{Shutdown, Template, Throwaway};
