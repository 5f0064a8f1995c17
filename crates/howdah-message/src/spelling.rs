//! How a front end writes the options and actions that messages mention.

use super::{Action, Mention, Setting, Value, setting};

/// The language of a front end.
pub trait Spelling {
    /// An option, alone or with a value.
    fn setting(&self, setting: Setting, value: Option<&Value>) -> String;

    /// Something to do.
    fn action(&self, action: &Action) -> String;

    /// Either.
    fn mention(&self, mention: &Mention) -> String {
        match mention {
            Mention::Setting(setting, value) => self.setting(*setting, value.as_ref()),
            Mention::Action(action) => self.action(action),
        }
    }
}

/// The spelling of the library itself, for programs that show a message as it is: `mode=append`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Library;

impl Library {
    /// A value: text in double quotes, everything else as it is.
    pub fn value(self, value: &Value) -> String {
        match value {
            Value::Word(word) if word.chars().any(char::is_alphanumeric) => word.clone().into_owned(),
            Value::Word(sign) => format!("{sign:?}"),
            Value::Number(number) => number.to_string(),
            Value::Bool(yes) => yes.to_string(),
            Value::Text(text) => format!("{text:?}"),
            Value::Placeholder(name) => (*name).to_owned(),
            Value::Entry(from, to) => format!("{}={}", self.value(from), self.value(to)),
            Value::List(values) => {
                let values: Vec<String> = values.iter().map(|value| self.value(value)).collect();
                format!("[{}]", values.join(", "))
            }
        }
    }
}

impl Spelling for Library {
    fn setting(&self, setting: Setting, value: Option<&Value>) -> String {
        let name = setting.rust_name();
        match value {
            None => name.to_owned(),
            // The method of Rust is about one sign alone.
            Some(Value::Word(sign)) if setting == setting::DECIMAL => format!("{name}={}", sign == ","),
            Some(Value::Entry(from, to)) => {
                format!("{name}[{}]={}", self.value(from), self.value(to))
            }
            Some(value) => format!("{name}={}", self.value(value)),
        }
    }

    fn action(&self, action: &Action) -> String {
        match action {
            Action::Promote { landing, into } => format!("promote() from {landing} into {into}"),
            Action::LoadOutput(program) | Action::StreamOutput(program) => {
                format!("`{program}`, read through a pipe")
            }
            Action::StreamInput(file) => format!("{file} as standard input"),
            Action::SupplyPassword => "PGPASSWORD or ~/.pgpass".to_owned(),
        }
    }
}
