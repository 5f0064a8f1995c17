//! Who has the parts that a process waits for, said once.

use howdah_connect::Connection;

use super::ledger::PartLedger;
use super::parts::{self, SharedPart};
use crate::error::Error;

/// Of parts that others hold, so many are named.
const SHOWN: usize = 3;

/// A message that names the parts that others hold; `None`: nobody holds one.
pub(super) async fn who_holds(
    connection: &Connection,
    ledger: &PartLedger,
    parts: &[SharedPart],
) -> Result<Option<String>, Error> {
    let held = ledger.holders(connection).await?;
    let named = held.iter().take(SHOWN).filter_map(|(at, who)| {
        let name = parts.get(*at)?.name();
        Some(format!("{name} ({who})"))
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if held.len() > SHOWN {
        named.push_str(&format!(" and {} more", held.len() - SHOWN));
    }
    let count = parts::counted(held.len() as u64);
    Ok((!held.is_empty()).then(|| format!("waiting for {count} that others are loading: {named}")))
}
