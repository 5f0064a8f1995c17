//! A child after `fork` has the parent's memory but not its threads and connections: it is told so, before it hangs.

use std::sync::OnceLock;

use howdah::{Error, ErrorKind};

/// The process that first asked for something.
static USER: OnceLock<u32> = OnceLock::new();

/// Refuses to work in a process that was forked from one that has worked already.
///
/// # Errors
/// This is such a process.
pub(crate) fn check() -> Result<(), Error> {
    let here = std::process::id();
    let first = *USER.get_or_init(|| here);
    if first == here {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Source,
        format!("process {here} was forked from process {first} after that had used howdah"),
    )
    .with_hint("start workers afresh: multiprocessing.set_start_method(\"spawn\") or \"forkserver\"")
    .nothing_changed())
}
