//! The command as a person lives it: in a shell, on a terminal, against a server.
#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a failed test")]
#![expect(clippy::print_stderr, reason = "a test that was skipped says so")]

mod guides;
mod lost;
mod messages;
mod progress;
mod shell;
