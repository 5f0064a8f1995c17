//! What becomes of a decoder that panics over damaged bytes, and of its errors: reasons for ours.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Makes the panics of decoders over damaged files silent. They are caught and become errors in any case; but by default
/// Rust's panic hook prints each of them to standard error first.
///
/// This replaces the process's panic hook with one that calls the present one for all other panics, so it is for programs
/// to call, once, and not for libraries.
pub fn silence_decoder_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !DECODING.get() {
            usual(info);
        }
    }));
}

/// Runs a decoder on bytes that may be damaged. A panic becomes the reason of an error.
pub(super) fn decoded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let outer = DECODING.replace(true);
    // Whatever the panic left behind is dropped by the caller together with the reader.
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    DECODING.set(outer);
    done.unwrap_or_else(|panic| Err(format!("it is damaged ({})", words(&*panic))))
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    // Only the first line: assertions print what they compared.
    text.and_then(|text| text.lines().next()).unwrap_or("the decoder gave up")
}

/// The reason that a library gives, without the library's name before it.
pub(super) fn reason(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut text = text.as_str();
    for prefix in [
        "Parquet argument error: ",
        "Parquet error: ",
        "Arrow: ",
        "External: ",
        "EOF: ",
        "Ipc error: ",
        "Parser error: ",
        "External error: ",
        "Io error: ",
    ] {
        text = text.strip_prefix(prefix).unwrap_or(text);
    }
    text.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_reason_and_the_thread_lives_on() {
        let nothing: Vec<u8> = Vec::new();
        let failed = decoded(|| Ok(nothing[3])).unwrap_err();
        assert!(failed.contains("index out of bounds"), "{failed}");
        assert_eq!(decoded(|| Ok(1)), Ok(1));
    }
}
