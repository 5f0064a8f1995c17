//! Hostile input through the built command, with psql as the judge. `make test` runs a small share of it, `make hostile` all
//! (`HOWDAH_HOSTILE=1`), from `HOWDAH_SEED`.

mod command;
mod encodings;
mod giants;
mod judge;
mod mutants;
mod names;
mod numbers_and_times;
mod pieces;
#[path = "../../../../howdah/tests/it/reference/mod.rs"]
mod reference;
mod tables;
mod values;
mod whole_files;

use howdah_testkit::knob;
use reference::hostile::Rng;

/// How many cases: `all` where everything is asked for, a share that takes seconds otherwise.
fn share(all: usize, few: usize) -> usize {
    if everything() { all } else { few }
}

fn everything() -> bool {
    knob("HOWDAH_HOSTILE", 0) > 0
}

/// Random numbers for the test called `name`.
fn rng(name: &str) -> Rng {
    Rng::new(seed(name))
}

/// The seed of the test called `name`, which is printed so that a failure can be repeated.
fn seed(name: &str) -> u64 {
    let seed = knob("HOWDAH_SEED", 20_261);
    println!("{name}: seed {seed}");
    seed as u64
}
