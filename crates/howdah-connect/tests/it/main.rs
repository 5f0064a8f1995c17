//! Connections against servers: one program, so that it is linked once and its tests share a server.
#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a failed test")]

mod copy;
mod secrets;
mod server;
