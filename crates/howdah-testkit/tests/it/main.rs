//! The testkit against a real server.
#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a failed test")]

mod faults;
mod rooms;
mod words;
