//! The programs of tests of generated Rust, by name. A program prints what is wrong, a line each.
#![forbid(unsafe_code)]

mod appending;
mod check;
mod hostile_names;
mod statements;

mod faults_binary;
mod faults_text;
mod hostile;
mod howdah_migrate;
mod howdah_postgres;
mod queries;
mod read_refused;
mod refused;
// Clippy takes a minute for these, which have nothing that others lack but more types.
#[cfg(not(clippy))]
mod round_trip;
#[cfg(not(clippy))]
mod shop;
mod toomuch;
mod word_calls;
mod words;
mod write_too_much;

use check::Outcome;

// On one thread the connection's task runs only while the program waits, which makes faults repeatable.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let name = std::env::args().nth(1).ok_or("which program?")?;
    match name.as_str() {
        "appending_binary" => appending::binary::run().await,
        "appending_text" => appending::text::run().await,
        "hostile_names" => hostile_names::run().await,
        "read_refused" => read_refused::run().await,
        #[cfg(not(clippy))]
        "round_trip" => round_trip::run().await,
        "statements" => statements::run().await,
        "words" => word_calls::run().await,
        "write_too_much" => write_too_much::run().await,
        other => Err(format!("there is no program {other}").into()),
    }
}
