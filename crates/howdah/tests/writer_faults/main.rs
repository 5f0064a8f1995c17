//! A Writer whose wire is cut, whose server goes away, and whose process is killed: rows that were acknowledged are all
//! there, none is there twice, and every acknowledgement resolves.
#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a failed test")]

mod account;
mod killed;
mod seeds;
mod server;
mod sessions;
mod wire;
