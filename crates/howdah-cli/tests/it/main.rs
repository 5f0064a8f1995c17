//! The built command from outside: one program, so that it is linked once and its tests share a server.
#![expect(clippy::disallowed_methods, reason = "tests start threads and read the environment")]
#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a failed test")]
#![expect(clippy::print_stdout, reason = "seeds, counts and skipped tests are worth reading")]

#[cfg(feature = "bench")]
mod bench;
mod canary;
mod codegen;
mod command;
#[cfg(feature = "bench")]
mod datasets;
mod doctor;
mod hostile;
mod inputs;
mod lost_output;
mod migrate;
mod promoting;
mod sharing;
mod shells;
mod stopping;
mod stream;
mod terminal;
