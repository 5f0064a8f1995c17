//! Statements whose text depends on what callers give: functions that join it, and the enums of choices.

use super::methods::{Parameter, Parts};
use super::types::RustType;
use super::view::{Choice, Function, Label};
use super::words::label_scope;
use super::{Writer, layout, literal};
use crate::languages::dynamic::{self, Step};
use crate::languages::names;
use crate::model::{self, Fragment, Role, Statement};

impl Parameter<'_> {
    /// What the lines are there for about which it decides.
    fn condition(&self) -> String {
        let name = &self.name;
        match self.role {
            Role::Switch => format!("if {name} {{"),
            Role::Value => format!("if {name}.is_some() {{"),
            Role::Choice { .. } => format!("if let Some({name}) = {name} {{"),
        }
    }

    /// A value of a batch's item as the statement's function takes it.
    fn lent(&self) -> String {
        let value = format!("item.{}", self.name);
        let RustType { owned, borrowed, .. } = &self.ty;
        match (owned == borrowed, self.nullable) {
            (true, _) => value,
            (false, false) => format!("&{value}"),
            // A `Vec` is lent as a slice, a `String` as a `str`.
            (false, true) if *borrowed != format!("&{owned}") => format!("{value}.as_deref()"),
            (false, true) => format!("{value}.as_ref()"),
        }
    }
}

/// The lines of a function that joins a text.
struct Body {
    lines: Vec<String>,
    /// Texts that were not written yet.
    text: String,
    indent: &'static str,
}

impl Body {
    fn push(&mut self, line: &str) {
        self.flush();
        self.lines.push(format!("{}{line}", self.indent));
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            let before = format!("{}call.add(", self.indent);
            self.lines.push(layout::call(&before, &[literal::word(&text)], ");"));
        }
    }

    fn fragment(&mut self, fragment: &Fragment, statement: &Statement, parameters: &[Parameter<'_>]) {
        match fragment {
            Fragment::Text(text) => self.text.push_str(text),
            Fragment::Parameter(index) => {
                let (Some(parameter), Some(described)) =
                    (parameters.get(*index), statement.parameters.get(*index))
                else {
                    return;
                };
                self.flush();
                let arguments = [index.to_string(), literal::word(&described.ty.sql), parameter.name.clone()];
                let before = format!("{}call.place(", self.indent);
                self.lines.push(layout::call(&before, &arguments, ");"));
            }
            // Not among the fragments of one step.
            Fragment::Choice(_) | Fragment::Optional { .. } => {}
        }
    }
}

impl Writer<'_> {
    /// Declares the enum of a choice, and gives its type.
    pub(super) fn choice(
        &mut self,
        statement: &Statement,
        parameter: &model::Parameter,
        options: &[String],
    ) -> RustType {
        let wanted = names::pascal(&format!("{} {}", statement.name, parameter.name), "choice");
        let name = self.types.scope.give(&wanted).name;
        let mut scope = label_scope();
        let labels = dynamic::option_names(options, names::pascal).into_iter().zip(options);
        let labels = labels.map(|(label, text)| {
            let label = scope.give(&label).name;
            Label { arm: layout::arm(&format!("Self::{label}"), &literal::word(text)), name: label }
        });
        let about = format!(
            "What {} of {} can be. {}:{}",
            parameter.name, statement.name, statement.file, statement.line
        );
        self.choices.push(Choice {
            name: name.clone(),
            documentation: literal::documentation(&about),
            labels: labels.collect(),
        });
        RustType { owned: name.clone(), borrowed: name, binary: true }
    }
}

impl Parts<'_> {
    /// The function that makes a call of what callers give.
    pub(super) fn call(&self, opening: &str) -> Function {
        let Self { statement, parameters, .. } = self;
        let mut body = Body { lines: Vec::new(), text: opening.to_owned(), indent: "    " };
        body.lines.push("    let mut call = pg::Joined::default();".to_owned());
        for part in dynamic::parts(statement) {
            let decides = part.when.and_then(|index| parameters.get(index));
            if let Some(decides) = decides {
                body.push(&decides.condition());
                body.indent = "        ";
            }
            for step in part.steps {
                match step {
                    Step::Sql(fragments) => {
                        fragments.into_iter().for_each(|each| body.fragment(each, statement, parameters));
                    }
                    Step::Choice(index) => {
                        let Some(Parameter { name, ty, nullable, .. }) = parameters.get(index) else {
                            continue;
                        };
                        let is_bound = !nullable || part.when == Some(index);
                        body.push(&match is_bound {
                            true => format!("call.add({name}.sql());"),
                            false => format!("call.add({name}.map_or(\"\", {}::sql));", ty.owned),
                        });
                    }
                }
            }
            if decides.is_some() {
                body.flush();
                body.indent = "    ";
                body.push("}");
            }
        }
        body.push("call");
        let lent = parameters.iter().filter(|parameter| parameter.ty.owned != parameter.ty.borrowed);
        let (generic, reference, lifetime) = match lent.count() {
            0 => ("", "&", "'static"),
            1 => ("", "&", "'_"),
            _ => ("<'a>", "&'a ", "'a"),
        };
        let signature = parameters.iter().map(|parameter| {
            let ty = parameter.ty.borrowed(parameter.nullable);
            format!("{}: {}", parameter.name, ty.replacen('&', reference, 1))
        });
        Function {
            documentation: Vec::new(),
            head: layout::head(
                &format!("fn {}_call{generic}(", self.name),
                &signature.collect::<Vec<_>>(),
                &format!(") -> pg::Joined<{lifetime}> {{"),
            ),
            body: body.lines,
        }
    }

    /// Makes the call and runs it.
    pub(super) fn called(&self, run: &str) -> Vec<String> {
        let given = self.parameters.iter().map(|parameter| parameter.name.clone()).collect::<Vec<_>>();
        let mut arguments = vec!["db".to_owned(), "call.sql()".to_owned(), "&call.parameters()".to_owned()];
        if !self.row.read.is_empty() {
            arguments.push(self.row.read.clone());
        }
        vec![
            layout::call(&format!("    let call = {}_call(", self.name), &given, ");"),
            layout::call(&format!("    pg::{run}("), &arguments, ").await"),
        ]
    }

    /// Runs the statement for each item, in order: their texts differ, so that none is prepared for all.
    pub(super) fn one_by_one(&self) -> Vec<String> {
        let mut arguments = vec!["db".to_owned()];
        arguments.extend(self.parameters.iter().map(Parameter::lent));
        let call = layout::call(&format!("        let result = {}(", self.name), &arguments, ").await?;");
        vec![
            "    let mut results = Vec::new();".to_owned(),
            "    for item in batch {".to_owned(),
            call,
            "        results.push(result);".to_owned(),
            "    }".to_owned(),
            "    Ok(results)".to_owned(),
        ]
    }
}
