//! Room on the server's disk.

use crate::case::Case;
use crate::figures::bytes;
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::rule::Rule;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[Rule {
    id: "disk.space",
    title: "the disk may not take the load",
    condition: "the bytes to come, the share of indexes that the table has now (if it has 10 MB), and max_wal_size are more than 80 % of what is free. \
                Only a program on the server's own machine sees that; tablespaces are not looked at",
    why: "a full disk ends the load with SQLSTATE 53100, and where the log is on it the server stops",
    remedy: "make room, or give the table another tablespace",
    judge: space,
}];

/// A table of which the share of its indexes can be told.
const TELLING: f64 = 10e6;
/// What of the free space may be used.
const USABLE: f64 = 0.8;

fn space(case: &Case<'_>) -> Judged {
    let disk = case.see(&case.facts.disk, "the free space of the server's disk")?;
    let incoming = case.incoming();
    // Of a small table the first pages say nothing.
    let size = case.table().and_then(|table| table.size.seen()).filter(|size| size.table >= TELLING);
    let indexes = size.map(|size| incoming.bytes * size.indexes / size.table);
    let log = case.setting("max_wal_size").and_then(|setting| setting.bytes()).unwrap_or(0.0);
    let needed = incoming.bytes + indexes.unwrap_or(0.0) + log;
    if needed <= disk.free * USABLE {
        return Ok(Verdict::Fine);
    }
    let said = indexes.map_or_else(|| "not counted".to_owned(), bytes);
    let action = Action::Elsewhere(format!("make room for {} on the server's disk", bytes(needed)));
    Ok(Verdict::of(vec![
        Finding::new(
            Severity::Fails,
            Basis::Computed,
            format!("{} are free on the server's disk", bytes(disk.free)),
        )
        .seen(incoming.said())
        .seen(format!("needed: {} rows, {said} indexes, up to {} log", bytes(incoming.bytes), bytes(log)))
        .remedy(Remedy::new(action, Undo::NotNeeded, "none").needs("whoever runs the server")),
    ]))
}

#[cfg(test)]
mod tests {
    use crate::case::Ask;
    use crate::testing::{fine_for, found_for, hidden, seen, unseen};

    #[test]
    fn what_is_needed_is_held_against_what_is_free() {
        let ask = Ask { bytes: Some(10_000_000_000), ..Ask::default() };
        // A fifth of it again for indexes, and 1 GiB of log.
        let needed = 12e9 + 1024.0 * 1024.0 * 1024.0;
        let finding = found_for("disk.space", &ask, |facts| seen(&mut facts.disk).free = needed / 0.8 - 1.0);
        assert_eq!(finding.evidence[1], "needed: 10 GB rows, 2.0 GB indexes, up to 1.1 GB log");
        fine_for("disk.space", &ask, |facts| seen(&mut facts.disk).free = needed / 0.8 + 1.0);
        let small = found_for("disk.space", &ask, |facts| {
            seen(&mut facts.disk).free = 1e9;
            seen(&mut facts.table.as_mut().unwrap().size).table = 8192.0;
        });
        assert_eq!(small.evidence[1], "needed: 10 GB rows, not counted indexes, up to 1.1 GB log");
        unseen("disk.space", |facts| facts.disk = hidden());
    }
}
