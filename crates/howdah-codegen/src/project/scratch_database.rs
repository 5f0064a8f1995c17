//! Where a project is described: a throwaway server, or a server of the user's, on which nothing stays.
//!
//! On a server of the user's, each group of files gets a scratch database, if the role may make one, else a transaction that
//! is rolled back. A scratch database whose program was killed has no sessions: the next run removes it.

use std::sync::Arc;

use howdah_connect::{ConnectOptions, Connection, Environment, Target};
use howdah_server::{Settings, Throwaway};
use ring::rand::{SecureRandom, SystemRandom};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::server_error::ServerError;

/// Which server is asked.
#[derive(Debug, Clone)]
pub enum ServerChoice {
    /// One that is made for it, and removed.
    Throwaway,
    /// A throwaway one that stands ready, and that nobody has described anything on: steps leave roles behind.
    Ready(Arc<Throwaway>),
    /// One of the user's.
    Server(Box<Target>),
}

/// The role of the steps on a throwaway server.
const ROLE: &str = "howdah_codegen";

/// What the names of scratch databases begin with; 16 hexadecimal digits follow.
const SCRATCH: &str = "howdah_codegen_";

/// How often another run may take a new database for dead.
const ATTEMPTS: u32 = 5;

/// A server that was reached.
pub(super) enum DescribingServer {
    Throwaway {
        /// Stops the server when it goes.
        server: Arc<Throwaway>,
        superuser: Box<Target>,
        role: Box<Target>,
    },
    Server {
        target: Box<Target>,
        version: String,
        /// Whether a scratch database is made: the role may, and the tables are not there.
        makes: bool,
        /// The tables are in the database that is named.
        is_there: bool,
    },
}

/// A database or transaction for one group of files.
pub(super) struct ScratchDatabase {
    connection: Connection,
    pub(super) kind: ScratchKind,
}

pub(super) enum ScratchKind {
    /// A database on a throwaway server; its superuser makes extensions.
    Throwaway(Connection),
    /// A database on a server of the user's; the other connection removes it.
    Database { name: String, keeper: Connection },
    /// A transaction that is rolled back.
    Transaction {
        /// It is wanted, since the tables are there.
        asked: bool,
    },
}

impl ServerChoice {
    /// A throwaway server, started ahead of the description that needs it.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub fn ready() -> Result<Self, howdah_server::Error> {
        Throwaway::start(&Settings::fast_and_unsafe()).map(|server| Self::Ready(Arc::new(server)))
    }
}

impl DescribingServer {
    /// `is_there`: the tables are in the database that is named.
    pub(super) async fn open(choice: &ServerChoice, is_there: bool) -> Result<Self, ServerError> {
        match choice {
            ServerChoice::Throwaway | ServerChoice::Ready(_) if is_there => {
                let message = "`schema: database` describes a database, and none is named";
                Err(ServerError::of(message.to_owned(), Some("name it: -d CONNINFO")))
            }
            ServerChoice::Throwaway | ServerChoice::Ready(_) => {
                let server = match choice {
                    ServerChoice::Ready(server) => Arc::clone(server),
                    _ => Arc::new(Throwaway::start(&Settings::fast_and_unsafe())?),
                };
                // Complete in itself: PGOPTIONS and the like are for the user's servers.
                let target = |conninfo: String| {
                    let options = ConnectOptions::default().conninfo(conninfo);
                    options.resolve(&Environment::default())
                };
                let superuser = target(server.conninfo())?;
                let password = random_hex()?;
                let port = server.port();
                let role = target(format!(
                    "host=127.0.0.1 port={port} user={ROLE} password={password} dbname={ROLE}"
                ))?;
                let connection = superuser.connect().await?;
                // Before 16, who may make roles may give himself those that run programs.
                let roles = if number(connection.client()).await? >= 160_000 { "CREATEROLE" } else { "" };
                let sql = format!("CREATE ROLE {ROLE} LOGIN PASSWORD '{password}' NOSUPERUSER {roles}");
                connection.client().batch_execute(&sql).await?;
                Ok(Self::Throwaway { server, superuser: Box::new(superuser), role: Box::new(role) })
            }
            ServerChoice::Server(target) => {
                let target = Target::clone(target).with_fallback_application_name("howdah codegen");
                let connection = target.connect().await?;
                let target = Box::new(target.pinned_to(&connection));
                let sql = "select pg_catalog.current_setting('server_version'),
                    rolcreatedb or rolsuper from pg_catalog.pg_roles where rolname = current_user";
                let row = one(connection.client(), sql).await?;
                let makes = row.try_get::<_, bool>(1)? && !is_there;
                Ok(Self::Server { target, version: row.try_get(0)?, makes, is_there })
            }
        }
    }

    /// The server in words, and what is made on it.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Throwaway { server, .. } => format!("PostgreSQL {}, throwaway", server.version()),
            Self::Server { target, version, makes: true, .. } => {
                format!("PostgreSQL {version}, {}, in a scratch database", target.describe())
            }
            Self::Server { target, version, .. } => {
                format!("PostgreSQL {version}, {}, in a transaction that is rolled back", target.describe())
            }
        }
    }

    /// A new scratch database.
    pub(super) async fn scratch(&self) -> Result<ScratchDatabase, ServerError> {
        match self {
            Self::Throwaway { superuser, role, .. } => {
                let name = scratch_name()?;
                let keeper = superuser.connect().await?;
                let sql = format!("CREATE DATABASE {name} OWNER {ROLE}");
                keeper.client().batch_execute(&sql).await?;
                let superuser = Target::clone(superuser).with_dbname(&name).connect().await?;
                let connection = Target::clone(role).with_dbname(&name).connect().await?;
                Ok(ScratchDatabase { connection, kind: ScratchKind::Throwaway(superuser) })
            }
            Self::Server { target, makes: true, .. } => {
                let keeper = target.connect().await?;
                remove_dead(keeper.client()).await?;
                for attempt in 1.. {
                    let name = scratch_name()?;
                    keeper.client().batch_execute(&format!("CREATE DATABASE {name}")).await?;
                    match Target::clone(target).with_dbname(&name).connect().await {
                        Ok(connection) => {
                            return Ok(ScratchDatabase {
                                connection,
                                kind: ScratchKind::Database { name, keeper },
                            });
                        }
                        // Another run took it for dead, since there was no session in it yet.
                        Err(error) if error.sqlstate() == Some("3D000") && attempt < ATTEMPTS => {}
                        Err(error) => {
                            drop_database(keeper.client(), &name).await?;
                            return Err(error.into());
                        }
                    }
                }
                Err(ServerError::of("there is no scratch database".to_owned(), None))
            }
            Self::Server { target, is_there, .. } => {
                let connection = target.connect().await?;
                Ok(ScratchDatabase { connection, kind: ScratchKind::Transaction { asked: *is_there } })
            }
        }
    }
}

impl ScratchDatabase {
    /// The session in which steps run and questions are asked.
    pub(super) fn client(&self) -> &Client {
        self.connection.client()
    }

    /// Whether the server is the user's.
    pub(super) fn is_theirs(&self) -> bool {
        !matches!(self.kind, ScratchKind::Throwaway(_))
    }

    /// Leaves nothing there.
    pub(super) async fn remove(self) -> Result<(), ServerError> {
        match self.kind {
            // It ends with its server.
            ScratchKind::Throwaway(_) => Ok(()),
            ScratchKind::Database { name, keeper } => {
                drop(self.connection);
                drop_database(keeper.client(), &name).await
            }
            ScratchKind::Transaction { .. } => Ok(self.connection.client().batch_execute("ROLLBACK").await?),
        }
    }
}

async fn drop_database(client: &Client, name: &str) -> Result<(), ServerError> {
    Ok(client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?)
}

/// Removes scratch databases without sessions: their programs were killed.
async fn remove_dead(client: &Client) -> Result<(), ServerError> {
    let sql = "select datname::text from pg_catalog.pg_database d
        where datname ~ '^howdah_codegen_[0-9a-f]{16}$' and pg_catalog.pg_has_role(datdba, 'USAGE')
        and not exists (select from pg_catalog.pg_stat_activity a where a.datid = d.oid)";
    for row in client.query_typed(sql, &[]).await? {
        let name: String = row.try_get(0)?;
        // Without force: it is refused if somebody is there by now, and then it is not dead.
        let _ = client.batch_execute(&format!("DROP DATABASE IF EXISTS {name}")).await;
    }
    Ok(())
}

fn scratch_name() -> Result<String, ServerError> {
    Ok(format!("{SCRATCH}{}", random_hex()?))
}

/// 16 digits that nobody guesses.
fn random_hex() -> Result<String, ServerError> {
    let mut bytes = [0; 8];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| ServerError::of("the system has no random numbers".to_owned(), None))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn number(client: &Client) -> Result<i32, ServerError> {
    let row = one(client, "select pg_catalog.current_setting('server_version_num')::int4").await?;
    Ok(row.try_get(0)?)
}

async fn one(client: &Client, sql: &str) -> Result<tokio_postgres::Row, ServerError> {
    let none: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 0] = [];
    let rows = client.query_typed(sql, &none).await?;
    rows.into_iter().next().ok_or_else(|| ServerError::of("the server gave no answer".to_owned(), None))
}
