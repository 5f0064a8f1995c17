//! Hostile input through the built command, with psql as the judge. `make test` runs a small share of it, `make hostile` all.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]
#![allow(dead_code, reason = "the reference reader and the judge can answer more than the tables ask")]

mod command;
mod judge;
#[path = "../../../howdah/tests/reference/mod.rs"]
mod reference;
mod tables;
