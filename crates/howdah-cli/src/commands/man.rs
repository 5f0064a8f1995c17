//! `howdah man`: a manual page, made from the definition of the options.

use std::io::{self, Write};

use clap::{Command, CommandFactory};

use crate::args::{Cli, Man};
use crate::exit;
use crate::render::Console;

/// Prints the page of a command, or of howdah itself.
pub(crate) fn run(args: &Man) -> u8 {
    let mut root = Cli::command();
    // Gives the commands their full names and the options that all of them share.
    root.build();
    let wanted = args.command.as_deref().and_then(|name| root.find_subcommand(name));
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = page(wanted.unwrap_or(&root), &mut text);
    Console::new(false).result(String::from_utf8_lossy(&text).trim_end());
    exit::DONE
}

fn page(command: &Command, out: &mut Vec<u8>) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = clap_mangen::Man::new(command.clone()).title(&name).source(&name);
    if let Some(version) = Cli::command().get_version() {
        page = page.source(format!("howdah {version}"));
    }
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_options_section(out)?;
    if command.has_subcommands() {
        page.render_subcommands_section(out)?;
    }
    match command.get_after_help() {
        Some(notes) => write!(out, ".SH NOTES\n.nf\n{}.fi\n", as_typed(&notes.to_string())),
        None => Ok(()),
    }
}

/// Text whose lines and columns stay as they are: examples stand under each other, and can be copied.
fn as_typed(text: &str) -> String {
    let line =
        |line: &str| format!("\\&{}\n", line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq"));
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_not_taken_for_a_request_of_the_formatter() {
        assert_eq!(as_typed(".x --null '\\N'\n\n"), "\\&.x \\-\\-null \\(aq\\eN\\(aq\n\\&\n");
    }
}
