//! Connections to PostgreSQL with libpq's meanings, for [tokio-postgres](tokio_postgres).
//!
//! What psql can connect to, this crate connects to in the same way: the same strings, variables, files and defaults decide
//! about host, user, password and certificate, and what cannot be honoured is refused rather than ignored. What comes back is
//! a [`Connection`] with tokio-postgres's client in it.
//!
//! | | libpq's manual |
//! | --- | --- |
//! | URIs and keyword/value strings, with several hosts | [Connection Strings](https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING) |
//! | `PGHOST`, `PGUSER`, … | [Environment Variables](https://www.postgresql.org/docs/current/libpq-envars.html) |
//! | `~/.pgpass` | [The Password File](https://www.postgresql.org/docs/current/libpq-pgpass.html) |
//! | `~/.pg_service.conf` | [The Connection Service File](https://www.postgresql.org/docs/current/libpq-pgservice.html) |
//! | `sslmode`, `sslrootcert`, … on rustls | [SSL Support](https://www.postgresql.org/docs/current/libpq-ssl.html) |
//! | `target_session_attrs`, `load_balance_hosts`, `require_auth`, `connect_timeout`, … | [Parameter Key Words](https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS) |
//!
//! # Guide
//!
//! 1. Say what is known of the server in [`ConnectOptions`]: usually a connection string, or nothing.
//! 2. Take the rest from the process with [`Environment::from_process`], and [`resolve`](ConnectOptions::resolve) both to a
//!    [`Target`]. This reads files, but connects to nothing.
//! 3. [`connect`](Target::connect), as often as needed. [`Target::pinned_to`] keeps further connections on the same server.
//! 4. Ask a failure for its [`kind`](Error::kind), or whether to [try again](Error::is_retryable).
//!
//! ```no_run
//! use howdah_connect::{ConnectOptions, Environment, Error, ErrorKind};
//!
//! # fn ask_for_password() -> String { String::new() }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let options = ConnectOptions::default().conninfo("postgresql://db1,db2/shop");
//! let mut target = options.resolve(&Environment::from_process())?;
//! let connection = match target.connect().await {
//!     Err(error) if error.kind() == ErrorKind::PasswordRequired => {
//!         target = target.with_password(ask_for_password());
//!         target.connect().await?
//!     }
//!     answer => answer?,
//! };
//! let rows = connection.client().query("SELECT name FROM customers", &[]).await?;
//! println!("{} customers", rows.len());
//! # Ok(())
//! # }
//! ```
//!
//! # COPY in one round trip
//!
//! [`Connection::copy`] sends statements, a COPY and its rows together, as one transaction. The driver has no such request:
//! with it a COPY takes at least two round trips, and one for each statement before it.
//!
//! # What is not supported
//!
//! GSSAPI, certificate revocation lists, keys under a password, `requirepeer` and replication connections: a connection
//! string, variable or file that asks for one of them is an error. Only Unix-like systems are supported.

mod certificate;
mod connection;
mod conninfo;
mod dial;
mod environment;
mod error;
mod failure;
mod framing;
mod hosts;
mod injector;
mod last_words;
mod listener;
mod lock_wait;
mod login;
mod options;
mod pgpass;
mod pipelined_copy;
mod said;
mod service;
mod session_attrs;
mod socket;
pub mod sqlstate;
mod startup;
mod stream;
mod target;
mod tls;
mod traffic;
mod verify;

pub use tokio_postgres;

pub use connection::Connection;
pub use conninfo::without_password;
pub use environment::Environment;
pub use error::{Error, ErrorKind};
pub use last_words::LastWords;
pub use lock_wait::{LockWait, advisory_lock_holders};
pub use options::ConnectOptions;
pub use pipelined_copy::PipelinedCopy;
pub use target::Target;
pub use traffic::{Passed, Traffic};
