//! Loads a file into the table of its name and says where the time went:
//! `cargo run --example load_file -- events.csv postgresql://localhost/shop`
//!
//! Without a connection string the server is the one that `PGHOST`, `PGDATABASE` and the like mean.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to whoever runs it")]

use std::process::ExitCode;

use howdah::connect::{ConnectOptions, Environment};
use howdah::options::OnError;
use howdah::{Control, Error, LoadOptions, load};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: load_file FILE [CONNECTION]");
        return ExitCode::from(2);
    };
    match run(&file, arguments.next()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            if let Some(visible) = error.visible() {
                eprintln!("in the table: {visible}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(file: &str, conninfo: Option<String>) -> Result<(), Error> {
    let mut server = ConnectOptions::default();
    server.conninfo = conninfo;
    let target = server.resolve(&Environment::from_process())?;
    // Records that are no rows are kept in a file beside the input; all others are committed together.
    let options = LoadOptions::new(file).on_error(OnError::Ignore);
    let report = load(&options, &target, &Control::new())?;
    println!(
        "{} rows into {} in {:.2} s ({} rejected)",
        report.rows, report.table, report.elapsed_s, report.rows_rejected
    );
    println!("encoding took {:.2} s, the server {:.2} s", report.phases.encode_s, report.phases.wait_s);
    Ok(())
}
