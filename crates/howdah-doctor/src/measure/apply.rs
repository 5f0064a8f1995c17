//! Settings are applied on a server that somebody owns: the old values and the new ones take turns, and only what is worth it
//! stays. However it ends, nothing stays that was not judged.

use howdah::connect::Connection;
use howdah::facts::Facts;
use howdah::tokio_postgres::Client;
use howdah::{Committed, Control, Error, ErrorKind, Target};

use super::Limits;
use super::question::text;
use super::settings::Looks;
use super::turns::Budget;
use crate::applied::{Applied, AppliedSetting, SpeedRun, Turn};
use crate::change::Change;
use crate::owner::{Owner, SettingBefore};
use crate::sql;

/// The six rounds that an interval of 95 % needs, and the one that warms up.
const FEWEST_IN_ALL: u32 = 7;
/// A server is started again twice a round: no more often than intervals need.
const MOST_WITH_RESTARTS: u32 = FEWEST_IN_ALL;
/// How often it is seen whether the server has read its files again.
const READING: usize = 1000;

/// What is done now.
#[derive(Debug, Clone, Copy)]
pub enum ApplyStep<'s> {
    /// A measurement, or the like.
    Doing(&'s str),
    /// Settings are about to be set, which these statements take back.
    Setting {
        /// The change.
        change: &'s Change,
        /// What takes it back.
        undo: &'s [String],
    },
}

/// Applies `changes` to the server of `target`, whose [`Facts`] were looked at before, one after the other: each is measured with
/// and without in turns, and stays only as its purpose says. `tell` hears what is done.
///
/// # Errors
/// The server is a standby, others are at work, somebody said stop, the server does not start with a setting. All that was set is
/// put back then; if that fails, the error says so.
pub fn apply(
    owner: &dyn Owner,
    target: &Target,
    facts: &Facts,
    changes: &[Change],
    limits: &Limits,
    control: &Control,
    tell: &mut dyn FnMut(ApplyStep<'_>),
) -> Result<Vec<Applied>, Error> {
    let (target, before, ours) = (target.clone(), Vec::new(), Vec::new());
    let mut applying = Applying { owner, control, target, before, ours };
    let limits = limits.share(1.0 / changes.len().max(1) as f64);
    let done: Result<Vec<Applied>, Error> =
        changes.iter().map(|change| applying.change(change, facts, &limits, tell)).collect();
    match done {
        Ok(applied) => {
            owner.forget()?;
            Ok(applied)
        }
        Err(error) => Err(applying.put_back(error)),
    }
}

/// Puts back what one who was killed left. Returns the settings' names.
///
/// # Errors
/// The server does not start, or refuses it.
pub fn put_back_left(owner: &dyn Owner, target: &Target) -> Result<Vec<String>, Error> {
    let left = owner.left()?;
    if !left.is_empty() {
        // What was set when it was killed is not written down.
        put_back(owner, target, &left, |_| true)?;
    }
    Ok(left.into_iter().map(|setting| setting.name).collect())
}

/// A server on which settings are applied.
struct Applying<'a> {
    owner: &'a dyn Owner,
    control: &'a Control,
    target: Target,
    /// How all settings stood that were touched.
    before: Vec<SettingBefore>,
    /// How we had them stand.
    ours: Vec<SettingBefore>,
}

impl Applying<'_> {
    fn change(
        &mut self,
        change: &Change,
        facts: &Facts,
        limits: &Limits,
        tell: &mut dyn FnMut(ApplyStep<'_>),
    ) -> Result<Applied, Error> {
        let names = change.names();
        let (looks, stood, shown) = self.connected(async |connection| {
            let doing = &mut |what: &str| tell(ApplyStep::Doing(what));
            let looks = Looks::prepare(connection, facts, limits, change.is_restart, doing).await?;
            let client = connection.client();
            Ok((looks, stood(client, &names).await?, shown(client, &names).await?))
        })?;
        let wanted: Vec<SettingBefore> = change.settings.iter().map(SettingBefore::to).collect();
        let is_new = |setting: &&SettingBefore| !self.before.iter().any(|known| known.name == setting.name);
        let new: Vec<SettingBefore> = stood.iter().filter(is_new).cloned().collect();
        self.before.extend(new);
        self.ours.extend(wanted.iter().cloned());
        self.owner.write_down(&self.before)?;
        let back = statements(&stood);
        tell(ApplyStep::Setting { change, undo: &back });
        let mut budget = Budget::new(limits.seconds, limits.bytes);
        let most = if change.is_restart { MOST_WITH_RESTARTS } else { u32::MAX };
        let (mut runs, mut tried, mut round) = (Vec::new(), shown.clone(), 0);
        while round < most && !budget.is_over(round, FEWEST_IN_ALL) {
            for turn in [Turn::Before, Turn::After, Turn::BeforeAgain] {
                match turn {
                    Turn::Before => {}
                    Turn::After => self.set(&stood, &wanted, change.is_restart)?,
                    Turn::BeforeAgain => self.set(&wanted, &stood, change.is_restart)?,
                }
                let (spent, seconds) = (budget.elapsed(), budget.seconds());
                let doing = format!("round {round} of {}, {spent:.0} of {seconds:.0} s", change.id);
                tell(ApplyStep::Doing(&doing));
                let target = self.target.clone();
                let (speed, log, now) = self.connected(async |connection| {
                    let now = self::shown(connection.client(), &names).await?;
                    let (speed, log) = looks.look(&target, connection).await?;
                    Ok((speed, log, now))
                })?;
                budget.spend(log);
                runs.push(SpeedRun { round, turn, speed });
                if turn == Turn::After {
                    tried = now;
                }
            }
            round += 1;
            // Nothing is to be seen of it.
            if tried == shown {
                break;
            }
        }
        let settings = names.iter().zip(shown.into_iter().zip(tried));
        let settings = settings
            .map(|(name, (before, after))| AppliedSetting { name: (*name).to_owned(), before, after })
            .collect();
        let mut applied = Applied::judged(change, settings, back, looks.rows(), runs);
        applied.not_measured = looks.not_measured;
        // Each round ends as it was before.
        if applied.is_kept {
            self.set(&stood, &wanted, change.is_restart)?;
        }
        Ok(applied)
    }

    fn connected<T>(&self, work: impl AsyncFnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        self.control.connected(&self.target, work)
    }

    /// Has settings that stand as `from` stand as `to`, and the server take it.
    fn set(&mut self, from: &[SettingBefore], to: &[SettingBefore], is_restart: bool) -> Result<(), Error> {
        self.connected(async |connection| {
            let client = connection.client();
            let names: Vec<&str> = from.iter().map(|setting| setting.name.as_str()).collect();
            let stand = stood(client, &names).await?;
            if let Some(altered) = stand.iter().find(|setting| !from.contains(setting)) {
                let message = format!("{} was set by somebody else meanwhile", sql::name(&altered.name));
                return Err(Error::usage(message).with_hint("try again when nobody else sets it"));
            }
            run(client, &statements(to)).await?;
            if is_restart { Ok(()) } else { reload(client).await }
        })?;
        if is_restart {
            self.target = self.owner.restart()?;
        }
        Ok(())
    }

    /// Puts all of it back after a failure, but for what somebody else has set meanwhile.
    fn put_back(&self, error: Error) -> Error {
        if self.before.is_empty() {
            return error;
        }
        let is_ours = |stands: &SettingBefore| self.before.contains(stands) || self.ours.contains(stands);
        match put_back(self.owner, &self.target, &self.before, is_ours) {
            Ok(stays) => {
                let is_put_back = |setting: &&SettingBefore| !stays.contains(&setting.name);
                let names: Vec<&str> =
                    self.before.iter().filter(is_put_back).map(|setting| setting.name.as_str()).collect();
                let put_back =
                    (!names.is_empty()).then(|| format!("{}: put back as it was", names.join(", ")));
                let stays =
                    (!stays.is_empty()).then(|| format!("{}: as somebody else set it", stays.join(", ")));
                let now: Vec<String> = put_back.into_iter().chain(stays).collect();
                error.with_visible(Committed::No, now.join("; "))
            }
            Err(failed) => {
                let names: Vec<&str> = self.before.iter().map(|setting| setting.name.as_str()).collect();
                error.with_visible(
                    Committed::Unknown,
                    format!(
                        "{}: not put back, since {}. It is written down, and put back when the server is started again; or by: {}",
                        names.join(", "),
                        failed.message(),
                        statements(&self.before).join(" ")
                    ),
                )
            }
        }
    }
}

/// Puts settings back that stand as `is_ours` knows, on a server that may not even run with what they are now. Returns the names
/// of those that stay as they are.
fn put_back(
    owner: &dyn Owner,
    target: &Target,
    before: &[SettingBefore],
    is_ours: impl Fn(&SettingBefore) -> bool,
) -> Result<Vec<String>, Error> {
    let names: Vec<&str> = before.iter().map(|setting| setting.name.as_str()).collect();
    let by_statements = |target: &Target| {
        // Whoever said stop did not mean this.
        Control::new().connected(target, async |connection| {
            let client = connection.client();
            let stand = stood(client, &names).await?;
            let (back, others): (Vec<_>, Vec<_>) =
                before.iter().cloned().zip(stand).partition(|(_, stands)| is_ours(stands));
            let back: Vec<SettingBefore> = back.into_iter().map(|(before, _)| before).collect();
            run(client, &statements(&back)).await?;
            reload(client).await?;
            let pending = "SELECT 1 FROM pg_catalog.pg_settings WHERE pending_restart AND name = ANY ($1)";
            let is_pending = !client.query(pending, &[&names]).await?.is_empty();
            Ok((others.into_iter().map(|(before, _)| before.name).collect::<Vec<_>>(), is_pending))
        })
    };
    let (stays, is_pending) = match by_statements(target) {
        Ok(done) => done,
        Err(_) => by_statements(&owner.start_as_it_was()?)?,
    };
    if is_pending {
        owner.restart()?;
    }
    owner.forget()?;
    Ok(stays)
}

/// The statements by which settings stand so.
fn statements(settings: &[SettingBefore]) -> Vec<String> {
    let one = |setting: &SettingBefore| {
        let name = sql::name(&setting.name);
        match &setting.value {
            Some(value) => format!("ALTER SYSTEM SET {name} = {};", sql::literal(value)),
            None => format!("ALTER SYSTEM RESET {name};"),
        }
    };
    settings.iter().map(one).collect()
}

/// Each by itself: ALTER SYSTEM stands in no transaction.
async fn run(client: &Client, statements: &[String]) -> Result<(), Error> {
    for statement in statements {
        client.batch_execute(statement).await?;
    }
    Ok(())
}

/// The server reads its files again. Its own session reads them after the server itself, of which new sessions have them.
async fn reload(client: &Client) -> Result<(), Error> {
    const READ: &str = "SELECT pg_catalog.pg_conf_load_time()::text";
    let before = text(client, READ).await?;
    client.batch_execute("SELECT pg_catalog.pg_reload_conf()").await?;
    for _ in 0..READING {
        if text(client, READ).await? != before {
            return Ok(());
        }
        client.batch_execute("SELECT pg_catalog.pg_sleep(0.01)").await?;
    }
    Err(Error::new(ErrorKind::Server, "the server does not read its settings again"))
}

/// How settings stand among those that ALTER SYSTEM sets.
async fn stood(client: &Client, names: &[&str]) -> Result<Vec<SettingBefore>, Error> {
    let sql = "SELECT n, (SELECT setting FROM pg_catalog.pg_file_settings
                           WHERE name = n AND sourcefile LIKE '%/postgresql.auto.conf' ORDER BY seqno DESC LIMIT 1)
                 FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS u (n, o) ORDER BY o";
    let rows = client.query(sql, &[&names]).await?;
    rows.iter().map(|row| Ok(SettingBefore { name: row.try_get(0)?, value: row.try_get(1)? })).collect()
}

/// The values of settings, as SHOW has them.
async fn shown(client: &Client, names: &[&str]) -> Result<Vec<String>, Error> {
    let sql = "SELECT pg_catalog.current_setting(n) FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS u (n, o) ORDER BY o";
    let rows = client.query(sql, &[&names]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_alter_system_had_not_set_is_not_set_afterwards() {
        let before = [
            SettingBefore { name: "commit_delay".into(), value: None },
            SettingBefore { name: "auto_explain.log_min_duration".into(), value: Some("it's".into()) },
        ];
        assert_eq!(
            statements(&before),
            [
                "ALTER SYSTEM RESET commit_delay;",
                "ALTER SYSTEM SET \"auto_explain.log_min_duration\" = 'it''s';"
            ]
        );
        assert_eq!(
            statements(&[SettingBefore::to(&("max_wal_size".into(), "4GB".into()))]),
            ["ALTER SYSTEM SET max_wal_size = '4GB';"]
        );
    }
}
