//! Lays views out: by the templates of a language, or by one of the user's instead of its first.

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, context, syntax::SyntaxConfig};
use serde::Serialize;

use super::Options;
use crate::diagnostic::{Code, Diagnostic, Place, Severity};
use crate::model::Model;

/// A template of the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// As the configuration names it.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// The templates of a language, each with its name.
pub(super) struct Templates {
    /// That of a module's file, which may include others.
    pub(super) first: (&'static str, &'static str),
    /// The others.
    pub(super) others: &'static [(&'static str, &'static str)],
}

impl Templates {
    /// Lays a module's file out.
    pub(super) fn module(
        &self,
        model: &Model,
        options: &Options,
        view: &impl Serialize,
    ) -> Result<String, Vec<Diagnostic>> {
        let view = context! { model => Value::from(Serde(model)), ..Value::from(Serde(view)) };
        match &options.template {
            None => self.laid_out(self.first.0, view),
            Some(template) => self.by(template, view).map_err(|error| diagnostics(&error, Some(template))),
        }
    }

    /// Lays another file out.
    pub(super) fn other(&self, name: &str, view: &impl Serialize) -> Result<String, Vec<Diagnostic>> {
        self.laid_out(name, Value::from(Serde(view)))
    }

    /// The first one with all that it includes, as a start of the user's own.
    pub(super) fn whole(&self) -> String {
        let mut whole = self.first.1.to_owned();
        for (name, text) in self.others {
            whole = whole.replace(&format!("{{% include \"{name}\" %}}\n"), text);
        }
        whole
    }

    fn laid_out(&self, name: &str, view: Value) -> Result<String, Vec<Diagnostic>> {
        let text = self.environment().and_then(|known| known.get_template(name)?.render(view));
        text.map_err(|error| diagnostics(&error, None))
    }

    fn by(&self, template: &Template, view: Value) -> Result<String, Error> {
        self.environment()?.template_from_named_str(&template.file, &template.text)?.render(view)
    }

    fn environment(&self) -> Result<Environment<'static>, Error> {
        let mut environment = strict()?;
        for (name, text) in self.others.iter().chain([&self.first]) {
            environment.add_template(name, text)?;
        }
        Ok(environment)
    }
}

/// What is wrong with a template, whatever it is given.
pub(crate) fn check(template: &Template) -> Vec<Diagnostic> {
    let read =
        strict().and_then(|known| known.template_from_named_str(&template.file, &template.text).map(drop));
    read.err().map(|error| diagnostics(&error, Some(template))).unwrap_or_default()
}

fn strict() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    let mut syntax = SyntaxConfig::builder();
    environment.set_syntax(syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?);
    Ok(environment)
}

/// An error at its line, if that is one of the user's template.
fn diagnostics(error: &Error, template: Option<&Template>) -> Vec<Diagnostic> {
    let of_user = template.filter(|template| error.name() == Some(&template.file));
    let place = of_user.map(|template| Place {
        file: template.file.clone(),
        line: error.line().unwrap_or(1),
        column: 1,
        length: 1,
    });
    let message = match (&place, error.detail()) {
        (Some(_), Some(detail)) => format!("{}: {detail}", error.kind()),
        (Some(_), None) => error.kind().to_string(),
        // The name of the template is in its own words.
        (None, _) => error.to_string(),
    };
    vec![Diagnostic {
        severity: Severity::Error,
        code: Code::TemplateError,
        message,
        suggestion: None,
        place,
        block: None,
        sqlstate: None,
    }]
}
