//! The `howdah` binary; everything is in the library so that the Python package can run the same command.

use std::process::ExitCode;

fn main() -> ExitCode {
    howdah::source::batches::silence_decoder_panics();
    ExitCode::from(howdah_cli::main(std::env::args_os()))
}
