//! Calls of statements: functions that make a text and its values of what callers give.

use super::Writer;
use super::literal;
use super::types::padded;
use super::view::{Arguments, Call, Choice, Field, Struct, Variable};
use super::words::{self, exported, lower};
use crate::languages::dynamic::{self, Step};
use crate::languages::method;
use crate::languages::names;
use crate::model::{self, Fragment, Role, Statement};

/// A parameter as the body of a call has it.
struct Parameter<'s> {
    field: Field,
    /// Where it is: `arg.ID`.
    value: String,
    /// Its name, as a literal.
    name: String,
    /// Its type for the server, as a literal.
    sql: String,
    role: &'s Role,
}

impl Parameter<'_> {
    /// Whether the lines are there about which it decides. A choice that is none has the number 0.
    fn condition(&self) -> String {
        match self.role {
            Role::Switch => self.value.clone(),
            Role::Value => format!("{} != nil", self.value),
            Role::Choice { .. } => format!("{} != 0", self.value),
        }
    }
}

/// The lines of a body that joins a text.
#[derive(Default)]
struct Body {
    lines: Vec<String>,
    /// Texts that were not written yet.
    text: String,
    optional: bool,
}

impl Body {
    fn push(&mut self, line: &str) {
        self.flush();
        self.lines.push(if self.optional { format!("\t{line}") } else { line.to_owned() });
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.push(&format!("j.add({})", literal::lines(&text)));
        }
    }

    fn fragment(&mut self, fragment: &Fragment, parameters: &[Parameter<'_>]) {
        match fragment {
            Fragment::Text(text) => self.text.push_str(text),
            Fragment::Parameter(index) => {
                let Some(Parameter { field, value, name, sql, .. }) = parameters.get(*index) else { return };
                let place = if field.nullable { "placeNull" } else { "place" };
                self.push(&format!("{place}(&j, {name}, {sql}, {}, {value})", field.codec));
            }
            // Not among the fragments of one step.
            Fragment::Choice(_) | Fragment::Optional { .. } => {}
        }
    }
}

impl Writer<'_> {
    /// What a statement takes, with the function that makes a call of it.
    pub(super) fn arguments(&mut self, statement: &Statement, method: &str) -> Arguments {
        let name = self.types.scope.give(&format!("{}Call", lower(method))).name;
        let fixed = dynamic::is_fixed(statement).then(|| {
            let text = self.types.scope.give(&format!("{}SQL", lower(method))).name;
            self.texts.push(Variable { name: text.clone(), value: self.sql(statement) });
            text
        });
        let fields = padded(self.fields(statement, method));
        let sole = matches!(fields.as_slice(), [_]);
        let own = if fields.len() > 1 {
            self.types.scope.give(&format!("{method}Params")).name
        } else {
            fields.first().map(|field| field.ty.clone()).unwrap_or_default()
        };
        let argument = match statement.parameters.as_slice() {
            [given] => words::parameter(&self.types.scope, &given.name),
            _ => "arg".to_owned(),
        };
        let parameters = fields.iter().zip(&statement.parameters).map(|(field, given)| Parameter {
            value: if sole { argument.clone() } else { format!("{argument}.{}", field.name) },
            field: field.clone(),
            name: literal::string(&given.name),
            sql: literal::string(&given.ty.sql),
            role: &given.role,
        });
        let parameters = parameters.collect::<Vec<_>>();
        if parameters.is_empty() {
            let call = format!("call{{sql: {}}}", fixed.unwrap_or_default());
            return Arguments { call, ..Arguments::default() };
        }
        let lines = match fixed {
            Some(text) => Self::bound(&text, &parameters),
            None => self.joined(statement, &parameters),
        };
        self.calls.push(Call { name: name.clone(), signature: format!("{argument} {own}"), lines });
        if !sole {
            let place = format!("{own} are the parameters of {method}.");
            let documentation = literal::documentation(&place, &[]);
            self.structs.push(Struct { name: own.clone(), documentation, fields });
        }
        let signature = format!(", {argument} {own}");
        Arguments { signature, item: own, call: format!("{name}({argument})"), function: name }
    }

    /// The parameters as fields of a struct, with the types of choices declared.
    fn fields(&mut self, statement: &Statement, method: &str) -> Vec<Field> {
        let mut scope = names::Scope::new(&[]);
        let mut fields = Vec::new();
        for parameter in &statement.parameters {
            let name = scope.give(&exported(&parameter.name, "parameter")).name;
            let (ty, codec, nullable) = match &parameter.role {
                Role::Choice { options } => {
                    let (ty, texts) = self.choice(statement, parameter, options, &format!("{method}{name}"));
                    (ty, texts, false)
                }
                Role::Value | Role::Switch => {
                    let ty = self.types.of(&parameter.ty);
                    self.types.mention(&ty);
                    (ty.declared(parameter.nullable), ty.codec, parameter.nullable)
                }
            };
            fields.push(Field { name, padded: String::new(), ty, codec, nullable });
        }
        fields
    }

    /// Declares a choice, and gives its type and the variable of its texts.
    fn choice(
        &mut self,
        statement: &Statement,
        parameter: &model::Parameter,
        options: &[String],
        wanted: &str,
    ) -> (String, String) {
        let name = self.types.scope.give(wanted).name;
        let labels = dynamic::option_names(options, exported);
        let labels =
            labels.iter().map(|label| self.types.scope.give(&format!("{name}{label}")).name).collect();
        let texts = self.types.scope.give(&format!("{}Texts", lower(&name))).name;
        let first = format!(
            "{name} is what {} of {} can be, {}:{}.",
            parameter.name, statement.name, statement.file, statement.line
        );
        let none = if parameter.nullable { "0 leaves out what needs it." } else { "0 is none of them." };
        self.choices.push(Choice {
            documentation: literal::documentation(&first, &[none.to_owned()]),
            labels,
            texts: texts.clone(),
            values: options.iter().map(|text| literal::string(text)).collect(),
            name: name.clone(),
        });
        (name, texts)
    }

    fn bound(text: &str, parameters: &[Parameter<'_>]) -> Vec<String> {
        let mut lines = vec![format!("c := call{{sql: {text}}}")];
        lines.extend(parameters.iter().map(|Parameter { field, value, name, .. }| {
            let set = if field.nullable { "setNull" } else { "set" };
            format!("{set}(&c, {name}, {}, {value})", field.codec)
        }));
        lines.push("return c".to_owned());
        lines
    }

    fn joined(&self, statement: &Statement, parameters: &[Parameter<'_>]) -> Vec<String> {
        let mut body = Body { lines: vec!["var j joined".to_owned()], ..Body::default() };
        body.text = method::opening(self.module, statement);
        for part in dynamic::parts(statement) {
            let decides = part.when.and_then(|index| parameters.get(index));
            if let Some(decides) = decides {
                body.push(&format!("if {} {{", decides.condition()));
                body.optional = true;
            }
            for step in part.steps {
                match step {
                    Step::Sql(fragments) => {
                        fragments.into_iter().for_each(|fragment| body.fragment(fragment, parameters));
                    }
                    Step::Choice(index) => {
                        let Some(Parameter { field, value, name, .. }) = parameters.get(index) else {
                            continue;
                        };
                        body.push(&format!("choose(&j, {name}, {value}, {})", field.codec));
                    }
                }
            }
            if decides.is_some() {
                body.flush();
                body.optional = false;
                body.push("}");
            }
        }
        body.push("return j.done()");
        body.lines
    }

    /// The text of a fixed statement as pgx takes it: every parameter is read as the type that was described.
    fn sql(&self, statement: &Statement) -> String {
        let mut sql = method::opening(self.module, statement);
        for fragment in &statement.sql {
            match fragment {
                Fragment::Text(text) => sql.push_str(text),
                Fragment::Parameter(index) => {
                    let Some(described) = statement.parameters.get(*index) else { continue };
                    sql.push_str(&format!("(${}::{})", index + 1, described.ty.sql));
                }
                // Texts that have these are joined.
                Fragment::Optional { .. } | Fragment::Choice(_) => {}
            }
        }
        literal::lines(sql.trim_end())
    }
}
