//! The command's words for the options and actions that the library's messages mention.

use howdah::message::{Action, Setting, Spelling, Value, setting};
use howdah::name;

use crate::figures::shell_word;
use crate::program;

/// As a shell takes them.
pub(crate) struct Terminal;

impl Spelling for Terminal {
    fn setting(&self, setting: Setting, value: Option<&Value>) -> String {
        let option = match setting {
            setting::DBNAME => "-d".to_owned(),
            setting::USERNAME => "-U".to_owned(),
            other => format!("--{}", other.name().replace('_', "-")),
        };
        match value {
            None => option,
            Some(Value::Bool(yes)) if setting == setting::HEADER => format!("{option}={yes}"),
            Some(Value::Bool(true)) => option,
            // Its left side is a column as SQL spells it.
            Some(Value::Entry(column, to)) if setting == setting::TYPES => {
                format!("{option} {}", typed_entry(&format!("{}={}", element(column), argument(to))))
            }
            Some(value) => format!("{option} {}", argument(value)),
        }
    }

    fn action(&self, action: &Action) -> String {
        let howdah = program::name();
        match action {
            Action::Promote { landing, into } => {
                format!("{howdah} promote {} --into {}", shell_word(landing), shell_word(into))
            }
            Action::LoadOutput(program) => format!("{program} | {howdah} load - --table NAME"),
            Action::StreamOutput(program) => format!("{program} | {howdah} stream --table T"),
            Action::StreamInput(file) => format!("{howdah} stream --table T < {file}"),
            Action::SupplyPassword => "PGPASSWORD, ~/.pgpass or -W".to_owned(),
            other => howdah::message::Library.action(other),
        }
    }
}

fn argument(value: &Value) -> String {
    match value {
        Value::Word(word) => word.clone().into_owned(),
        Value::Text(text) => quoted(text),
        Value::Entry(from, to) => match &**from {
            Value::Text(from) => quoted(&format!("{from}={}", argument(to))),
            from => format!("{}={}", argument(from), argument(to)),
        },
        Value::List(values) => {
            let list = values.iter().map(element).collect::<Vec<_>>().join(",");
            // What is only an example (`a,b,…`) is not there to be copied.
            let is_to_be_copied = values.iter().any(|value| matches!(value, Value::Text(_)));
            if is_to_be_copied { shell_word(&list) } else { list }
        }
        other => howdah::message::Library.value(other),
    }
}

/// An entry as it is typed: in quotes where a shell needs them.
fn typed_entry(entry: &str) -> String {
    let (column, to) = entry.rsplit_once('=').unwrap_or((entry, ""));
    match (shell_word(column) == column, shell_word(to) == to) {
        (true, true) => entry.to_owned(),
        _ => shell_word(entry),
    }
}

/// A name in a list is spelled as SQL would have it.
fn element(value: &Value) -> String {
    match value {
        Value::Text(text) => name::display(text),
        other => argument(other),
    }
}

/// In quotes even where a shell needs none: where the value begins and ends must be seen.
fn quoted(text: &str) -> String {
    if text.contains('\'') && !text.contains(['"', '$', '`', '\\', '!']) {
        format!("\"{text}\"")
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use howdah::message;

    use super::*;
    use crate::args::Cli;

    fn spelled(message: howdah::Message) -> String {
        message.spelled(&Terminal)
    }

    #[test]
    fn every_setting_that_a_message_can_name_is_an_option_of_the_command() {
        let command = Cli::command();
        let options: Vec<&str> = command
            .get_subcommands()
            .filter(|command| ["load", "stream", "promote", "doctor"].contains(&command.get_name()))
            .flat_map(|command| command.get_arguments().filter_map(clap::Arg::get_long))
            .collect();
        for setting in setting::ALL {
            let name = setting.name().replace('_', "-");
            assert!(options.contains(&&*name), "{name}");
        }
    }

    #[test]
    fn options_are_spelled_so_that_a_shell_takes_them() {
        for (message, expected) in [
            (message![setting::ON_ERROR.word("ignore"), " keeps"], "--on-error ignore keeps"),
            (message![setting::DECIMAL.word(",")], "--decimal ,"),
            (message![setting::DELIMITER.text(";")], "--delimiter ';'"),
            (message![setting::QUOTE.text("'")], "--quote \"'\""),
            (message![setting::NULL.text("it's \"x\"")], r#"--null 'it'\''s "x"'"#),
            (message![setting::HEADER.bool(false)], "--header=false"),
            (message![setting::CREATE_SCHEMA.bool(true)], "--create-schema"),
            (message![setting::JOBS.number(1)], "--jobs 1"),
            (message![setting::MAP.entry("NAME", "COLUMN")], "--map NAME=COLUMN"),
            (message![setting::TYPES.entry_to("amount", "numeric")], "--types amount=numeric"),
            (
                message![setting::TYPES.entry_to("a b", "double precision")],
                "--types '\"a b\"=double precision'",
            ),
            (message![setting::MAP.entry_of("a b", "COLUMN")], "--map 'a b=COLUMN'"),
            (message![setting::COLUMNS.list(&["a", "b", "…"])], "--columns a,b,…"),
            (message![setting::COLUMNS.texts(&["a", "b c"])], "--columns 'a,\"b c\"'"),
            (message!["check ", setting::USERNAME], "check -U"),
        ] {
            assert_eq!(spelled(message), expected);
        }
    }
}
