//! Who looks, and at which server: what decides about the form of a remedy, and about what can be seen at all.

use howdah_connect::tokio_postgres::Client;
use serde::{Deserialize, Serialize};

use crate::catalog::name::{TableName, quote_literal};
use crate::error::{Error, ErrorKind};
use crate::facts::fact::{self, Fact};

/// Who runs a server, where that is not its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Amazon RDS.
    Rds,
    /// Amazon Aurora.
    Aurora,
    /// Google Cloud SQL.
    CloudSql,
    /// Google AlloyDB.
    AlloyDb,
    /// Azure Database for PostgreSQL.
    Azure,
    /// Neon.
    Neon,
    /// Supabase.
    Supabase,
    /// Timescale Cloud.
    Timescale,
}

impl Service {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Service::Rds => "Amazon RDS",
            Service::Aurora => "Amazon Aurora",
            Service::CloudSql => "Google Cloud SQL",
            Service::AlloyDb => "Google AlloyDB",
            Service::Azure => "Azure Database for PostgreSQL",
            Service::Neon => "Neon",
            Service::Supabase => "Supabase",
            Service::Timescale => "Timescale Cloud",
        }
    }

    /// Whether its servers keep their log elsewhere, so that checkpoints do not write pages anew.
    pub fn has_own_storage(self) -> bool {
        matches!(self, Service::Aurora | Service::AlloyDb | Service::Neon)
    }
}

/// The session that looked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFacts {
    /// The server's version, as it names itself: `18.1`.
    pub version: String,
    /// The same as a number: 180001. 0: nobody looked.
    pub version_num: i32,
    /// The database.
    pub database: String,
    /// The role.
    pub role: String,
    /// The role may do everything.
    pub is_superuser: bool,
    /// The role sees what others do.
    pub reads_activity: bool,
    /// The role sees all settings.
    pub reads_settings: bool,
    /// The server is a standby.
    pub in_recovery: bool,
    /// The database's encoding.
    pub encoding: String,
    /// Most connections of the role; -1: any number.
    pub role_limit: i32,
    /// Most connections to the database; -1: any number.
    pub database_limit: i32,
    /// Transactions since the oldest one of which the database still has traces.
    pub transaction_age: i64,
    /// The connection is encrypted.
    pub is_encrypted: bool,
    /// The connection does not leave the machine.
    pub is_local: bool,
    /// The schema in which new tables are made; `None`: there is none.
    pub schema: Option<String>,
    /// The role may make tables there.
    pub creates_tables: bool,
    /// Who runs the server.
    pub service: Option<Service>,
    /// Days since the database's counters were set back; `None`: never, or unknown.
    pub counted_days: Option<f64>,
}

/// What the server says of itself by names that services use.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Signature {
    prefixes: Option<Vec<String>>,
    roles: Option<Vec<String>>,
    is_aurora: bool,
}

#[derive(Debug, Deserialize)]
struct Introduction {
    #[serde(flatten)]
    session: SessionFacts,
    #[serde(flatten)]
    signature: Signature,
    oid: Option<u32>,
}

const SESSION: &str = "
    select pg_catalog.current_setting('server_version') as version,
           pg_catalog.current_setting('server_version_num')::int4 as version_num,
           d.datname as database, r.rolname as role, r.rolsuper as is_superuser,
           pg_catalog.pg_has_role(r.oid, 'pg_read_all_stats', 'usage') as reads_activity,
           pg_catalog.pg_has_role(r.oid, 'pg_read_all_settings', 'usage') as reads_settings,
           pg_catalog.pg_is_in_recovery() as in_recovery,
           pg_catalog.pg_encoding_to_char(d.encoding) as encoding,
           r.rolconnlimit as role_limit, d.datconnlimit as database_limit,
           pg_catalog.age(d.datfrozenxid) as transaction_age,
           coalesce((select ssl from pg_catalog.pg_stat_ssl where pid = pg_catalog.pg_backend_pid()), false) as is_encrypted,
           coalesce(pg_catalog.inet_client_addr() <<= '127.0.0.0/8' or pg_catalog.inet_client_addr() = '::1', true) as is_local,
           pg_catalog.current_schema() as schema,
           coalesce(pg_catalog.has_schema_privilege(pg_catalog.current_schema(), 'create'), false) as creates_tables,
           (select extract(epoch from pg_catalog.now() - stats_reset)::float8 / 86400
              from pg_catalog.pg_stat_database where datid = d.oid) as counted_days,
           array(select distinct pg_catalog.split_part(name, '.', 1) from pg_catalog.pg_settings
                  where name like any (array['rds.%', 'cloudsql.%', 'alloydb.%', 'azure.%', 'neon.%'])) as prefixes,
           array(select rolname from pg_catalog.pg_roles
                  where rolname in ('rdsadmin', 'cloudsqladmin', 'alloydbadmin', 'azure_pg_admin', 'supabase_admin',
                                    'tsdbadmin')) as roles,
           exists(select from pg_catalog.pg_proc where proname = 'aurora_version') as is_aurora";

/// The session, and the table of that `name`. A schema that the role may not use hides nothing from its catalog.
///
/// # Errors
/// The server does not answer, or there is no such table.
pub(super) async fn read(
    client: &Client,
    name: Option<&TableName>,
) -> Result<(SessionFacts, Option<u32>), Error> {
    let oid = match name {
        None => "null::int8".to_owned(),
        Some(TableName { schema, table }) => {
            let within = match schema {
                Some(schema) => format!("n.nspname = {}", quote_literal(schema)),
                None => "n.nspname = any (pg_catalog.current_schemas(true))".to_owned(),
            };
            format!(
                "(select c.oid::int8 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                   where c.relname = {} and {within} and c.relkind in ('r', 'p', 'v', 'f')
                   order by pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname) limit 1)",
                quote_literal(table)
            )
        }
    };
    let sql = format!(
        "{SESSION}, {oid} as oid from pg_catalog.pg_database d, pg_catalog.pg_roles r
          where d.datname = pg_catalog.current_database() and r.rolname = current_user"
    );
    let Fact::Seen(Introduction { mut session, signature, oid }) = fact::own_row(client, &sql).await? else {
        return Err(Error::new(ErrorKind::Server, "the server does not say who it is"));
    };
    if let (Some(name), None) = (name, oid) {
        return Err(Error::no_relation("table", name.display()));
    }
    session.service = service(&signature);
    Ok((session, oid))
}

/// Who runs a server with this signature.
fn service(signature: &Signature) -> Option<Service> {
    let has = |list: &Option<Vec<String>>, name: &str| list.iter().flatten().any(|found| found == name);
    let prefix = |name| has(&signature.prefixes, name);
    let role = |name| has(&signature.roles, name);
    [
        (signature.is_aurora, Service::Aurora),
        (prefix("rds") || role("rdsadmin"), Service::Rds),
        (prefix("alloydb") || role("alloydbadmin"), Service::AlloyDb),
        (prefix("cloudsql") || role("cloudsqladmin"), Service::CloudSql),
        (prefix("azure") || role("azure_pg_admin"), Service::Azure),
        (prefix("neon"), Service::Neon),
        (role("supabase_admin"), Service::Supabase),
        (role("tsdbadmin"), Service::Timescale),
    ]
    .into_iter()
    .find_map(|(is_it, service)| is_it.then_some(service))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_known_by_its_settings_and_roles() {
        let signature = |prefixes: &[&str], roles: &[&str], is_aurora| Signature {
            prefixes: Some(prefixes.iter().map(|name| (*name).to_owned()).collect()),
            roles: Some(roles.iter().map(|name| (*name).to_owned()).collect()),
            is_aurora,
        };
        for (found, expected) in [
            (signature(&["rds"], &["rdsadmin"], false), Some(Service::Rds)),
            (signature(&["rds"], &["rdsadmin"], true), Some(Service::Aurora)),
            (signature(&["cloudsql"], &[], false), Some(Service::CloudSql)),
            (signature(&["cloudsql", "alloydb"], &[], false), Some(Service::AlloyDb)),
            (signature(&[], &["azure_pg_admin"], false), Some(Service::Azure)),
            (signature(&["neon"], &[], false), Some(Service::Neon)),
            (signature(&[], &["supabase_admin"], false), Some(Service::Supabase)),
            (signature(&[], &["tsdbadmin"], false), Some(Service::Timescale)),
            (signature(&[], &[], false), None),
        ] {
            assert_eq!(service(&found), expected, "{found:?}");
        }
    }
}
