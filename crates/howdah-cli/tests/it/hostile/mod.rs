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
use reference::hostile::Dice;

/// How many cases: `all` where everything is asked for, a share that takes seconds otherwise.
fn share(all: usize, few: usize) -> usize {
    if everything() { all } else { few }
}

fn everything() -> bool {
    knob("HOWDAH_HOSTILE", 0) > 0
}

/// Numbers for the test called `name`, from the seed.
fn dice(name: &str) -> Dice {
    let seed = knob("HOWDAH_SEED", 20_261);
    println!("{name}: seed {seed}");
    Dice(seed as u64)
}
