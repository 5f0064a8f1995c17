//! Statements whose text depends on what callers give: the enums that they choose by, and the functions that join texts.

use super::parameters::{Parameter, Sent};
use super::view::{Enum, Function, Label};
use super::words::label_scope;
use super::{Writer, layout, literal};
use crate::languages::dynamic::{self, Step};
use crate::languages::method;
use crate::languages::names;
use crate::model::{Fragment, Statement};

/// The body of a function that joins, as far as it goes.
struct Body<'p> {
    parameters: &'p [Parameter],
    lines: Vec<String>,
    /// What is joined next.
    text: String,
    indent: &'static str,
}

impl Writer<'_> {
    /// Declares the enum of a choice, and gives its name.
    pub(super) fn choice(
        &mut self,
        statement: &Statement,
        parameter: &str,
        options: &[String],
        function: &str,
    ) -> String {
        let wanted = names::pascal(function, "sql") + &names::pascal(parameter, "choice");
        let name = self.types.scope.give(&wanted).name;
        let mut scope = label_scope();
        let labels = dynamic::option_names(options, names::pascal).into_iter().zip(options);
        let labels = labels.map(|(label, text)| Label::new(scope.give(&label).name, text)).collect();
        let Statement { name: of, file, line, .. } = statement;
        let documentation = format!("What {parameter} of {of} can be. {file}:{line}");
        let documentation = literal::documentation(&documentation);
        self.types.enums.push(Enum::new(name.clone(), documentation, labels, None));
        name
    }

    /// The function that joins the text of a statement from constants.
    pub(super) fn join(&self, statement: &Statement, name: &str, parameters: &[Parameter]) -> Function {
        let mut body = Body {
            parameters,
            lines: Vec::new(),
            text: method::opening(self.module, statement),
            indent: "    ",
        };
        for part in dynamic::parts(statement) {
            let decides = part.when.and_then(|index| parameters.get(index));
            let Some(condition) = decides.and_then(condition) else {
                body.steps(part.steps);
                continue;
            };
            body.flush();
            body.lines.push(format!("    if {condition} {{"));
            body.indent = "        ";
            body.steps(part.steps);
            body.flush();
            body.indent = "    ";
            body.lines.push("    }".to_owned());
        }
        body.flush();
        body.lines.push("    joined".to_owned());
        Function { documentation: Vec::new(), head: head(name, parameters), body: body.lines }
    }
}

/// When what a parameter decides about is there; none if it always is.
fn condition(decides: &Parameter) -> Option<String> {
    let name = &decides.name;
    match (&decides.sent, decides.nullable) {
        (Sent::Switch, _) => Some(name.clone()),
        (Sent::Choice, true) => Some(format!("let Some({name}) = {name}")),
        (Sent::Value { .. }, true) => Some(format!("{name}.is_some()")),
        (Sent::Choice | Sent::Value { .. }, false) => None,
    }
}

/// Whether a caller may leave a choice out: elsewhere than in its own lines there would be no text for it.
pub(super) fn can_be_left_out(statement: &Statement, index: usize) -> bool {
    let elsewhere =
        |part: &dynamic::Part<'_>| part.when != Some(index) && part.steps.contains(&Step::Choice(index));
    !dynamic::parts(statement).iter().any(elsewhere)
}

/// What is bound lives as long as what is joined; a lifetime has a name where it is that of several references.
fn head(name: &str, parameters: &[Parameter]) -> String {
    let references = parameters.iter().filter(|p| p.declared.contains('&')).count();
    let (named, reference, lifetime) = match references {
        0 => ("", "&", "'static"),
        1 => ("", "&", "'_"),
        _ => ("<'a>", "&'a ", "'a"),
    };
    let declared =
        parameters.iter().map(|p| format!("{}: {}", p.name, p.declared.replacen('&', reference, 1)));
    let behind = format!(") -> pg::Joined<{lifetime}> {{");
    layout::head(&format!("fn {name}{named}("), &declared.collect::<Vec<_>>(), &behind)
}

impl Body<'_> {
    fn steps(&mut self, steps: Vec<Step<'_>>) {
        for step in steps {
            match step {
                Step::Sql(fragments) => fragments.into_iter().for_each(|fragment| self.fragment(fragment)),
                Step::Choice(index) => {
                    if let Some(parameter) = self.parameters.get(index) {
                        self.call("add", &[format!("{}.as_str()", parameter.name)]);
                    }
                }
            }
        }
    }

    fn fragment(&mut self, fragment: &Fragment) {
        match fragment {
            Fragment::Text(text) => self.text.push_str(text),
            Fragment::Parameter(index) => {
                let parameter = self.parameters.get(*index);
                if let Some(parameter @ Parameter { sent: Sent::Value { sql, .. }, .. }) = parameter {
                    let value = parameter.mapped("").unwrap_or_else(|| parameter.name.clone());
                    self.call("bind", &[index.to_string(), value, literal::word(sql)]);
                }
            }
            // Not among the fragments of one step.
            Fragment::Optional { .. } | Fragment::Choice(_) => {}
        }
    }

    /// Joins what is next, and then something else.
    fn call(&mut self, method: &str, arguments: &[String]) {
        self.flush();
        self.lines.push(layout::call(&format!("{}joined.{method}(", self.indent), arguments, ");"));
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let before = match self.lines.is_empty() {
            true => "    let mut joined = pg::Joined::new(".to_owned(),
            false => format!("{}joined.add(", self.indent),
        };
        if !text.is_empty() {
            self.lines.push(layout::call(&before, &[literal::part(&text)], ");"));
        }
    }
}
