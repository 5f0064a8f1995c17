//! Memory for literals on their way to a codec: lent out by the thread, so that no row has to allocate.

use std::cell::Cell;

/// What one huge value blew up is let go.
const KEPT_CAPACITY: usize = 64 * 1024;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Runs `work` with empty memory. What is lent while it is lent already is new.
pub(super) fn with_scratch<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut scratch = SPARE.take();
    let done = work(&mut scratch);
    if scratch.capacity() <= KEPT_CAPACITY {
        scratch.clear();
        SPARE.set(scratch);
    }
    done
}
