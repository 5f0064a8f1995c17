//! Hostile input through the built command, with psql as the judge. `make test` runs a small share of it; `make hostile`
//! (`HOWDAH_HOSTILE=1`) all, from `HOWDAH_SEED`.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]
#![expect(clippy::print_stdout, reason = "seeds and counts are worth reading")]

mod command;
mod judge;
#[path = "../../../howdah/tests/reference/mod.rs"]
mod reference;
mod tables;
