//! `target_session_attrs`: which of several servers will do.

use crate::connection::{Connection, no_row};
use crate::error::Error;

/// The kind of server that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

impl Wanted {
    pub(crate) fn parse(text: &str) -> Result<Wanted, Error> {
        Ok(match text {
            "any" => Wanted::Any,
            "read-write" => Wanted::ReadWrite,
            "read-only" => Wanted::ReadOnly,
            "primary" => Wanted::Primary,
            "standby" => Wanted::Standby,
            "prefer-standby" => Wanted::PreferStandby,
            other => {
                return Err(Error::configuration(format!("invalid target_session_attrs value: {other:?}")));
            }
        })
    }

    /// What to look for, one time through the hosts after another.
    pub(crate) fn passes(self) -> &'static [Wanted] {
        match self {
            Wanted::Any => &[Wanted::Any],
            Wanted::ReadWrite => &[Wanted::ReadWrite],
            Wanted::ReadOnly => &[Wanted::ReadOnly],
            Wanted::Primary => &[Wanted::Primary],
            Wanted::Standby => &[Wanted::Standby],
            Wanted::PreferStandby => &[Wanted::Standby, Wanted::Any],
        }
    }

    /// Why this server will not do, in libpq's words.
    pub(crate) async fn unmet(self, connection: &Connection) -> Result<Option<&'static str>, Error> {
        if matches!(self, Wanted::Any | Wanted::PreferStandby) {
            return Ok(None);
        }
        let sql = "select pg_catalog.pg_is_in_recovery(), \
                   pg_catalog.current_setting('default_transaction_read_only') = 'on'";
        let rows = connection.client().query_typed(sql, &[]).await?;
        let row = rows.first().ok_or_else(|| no_row("pg_is_in_recovery()"))?;
        let (standby, read_only): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
        Ok(match self {
            Wanted::ReadWrite if standby || read_only => Some("session is read-only"),
            Wanted::ReadOnly if !(standby || read_only) => Some("session is not read-only"),
            Wanted::Primary if standby => Some("server is in hot standby mode"),
            Wanted::Standby if !standby => Some("server is not in hot standby mode"),
            _ => None,
        })
    }
}
