//! Python's words for the options and actions that the library's messages mention.

use howdah::message::{Action, Library, Setting, Spelling, Value, setting};
use serde_json::json;

/// As keyword arguments.
pub(crate) struct Keywords;

impl Spelling for Keywords {
    fn setting(&self, setting: Setting, value: Option<&Value>) -> String {
        let name = match setting {
            // These are part of the connection string.
            setting::USERNAME => "user",
            other => other.name(),
        };
        match value {
            None => name.to_owned(),
            Some(value) => format!("{name}={}", literal(value)),
        }
    }

    fn action(&self, action: &Action) -> String {
        match action {
            Action::Promote { landing, into } => format!("howdah promote {landing} --into {into}"),
            Action::LoadOutput(program) => format!("{program}, whose output can be given as a file object"),
            Action::SupplyPassword => "the connection string, PGPASSWORD or ~/.pgpass".to_owned(),
            other => Library.action(other),
        }
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Word(text) => json!(text).to_string(),
        Value::Text(text) => json!(text).to_string(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Entry(from, to) => format!("{{{}: {}}}", literal(from), literal(to)),
        Value::List(values) => {
            let values: Vec<String> = values.iter().map(element).collect();
            format!("[{}]", values.join(", "))
        }
        other => Library.value(other),
    }
}

/// Names in lists are strings, whether they are the input's or an example.
fn element(value: &Value) -> String {
    match value {
        Value::Placeholder(name) if *name != "…" => json!(name).to_string(),
        other => literal(other),
    }
}
