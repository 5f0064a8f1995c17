//! The built command from outside: one program, so that it is linked once and its tests share a server.
#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a failed test")]
#![expect(clippy::print_stdout, reason = "seeds, counts and skipped tests are worth reading")]

mod bench;
mod canary;
mod command;
mod datasets;
mod hostile;
mod promoting;
mod shells;
mod stopping;
mod stream;
mod terminal;
