//! Writes the reports on made-up records into a directory, to look at: `cargo run -p howdah-bench --example
//! example-report DIRECTORY`.

#[path = "../tests/it/example/mod.rs"]
mod example;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = PathBuf::from(std::env::args_os().nth(1).ok_or("which directory?")?);
    std::fs::create_dir_all(&directory)?;
    howdah_bench::report::write(&directory, &example::records(), &example::SCENARIOS, example::ENVIRONMENT)?;
    Ok(())
}
