//! What is looked for, and each of it in full: nothing of a server is in it.

use howdah::Error;
use howdah_doctor::{Rule, all, find};

use super::text::wrapped;
use crate::program;

/// All that is looked for, a line each.
pub(super) fn list() -> String {
    let width = all().map(|rule| rule.id.len()).max().unwrap_or(0);
    all().map(|rule| format!("{:<width$}  {}", rule.id, rule.title)).collect::<Vec<_>>().join("\n")
}

/// One of them in full.
///
/// # Errors
/// There is none of that name.
pub(super) fn explain(id: &str) -> Result<String, Error> {
    let Some(Rule { id, title, condition, why, remedy, .. }) = find(id) else {
        let howdah = program::name();
        return Err(Error::usage(format!("nothing is looked for under the name {id:?}"))
            .with_hint(format!("{howdah} doctor --list shows all names")));
    };
    let mut lines = vec![format!("{id}: {title}")];
    for (label, text) in [("a finding if", condition), ("why", why), ("what to do", remedy)] {
        lines.push(format!("{label}:"));
        lines.extend(wrapped(text, 2));
    }
    Ok(lines.join("\n"))
}
