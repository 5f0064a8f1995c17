//! An entry of `gen`: what makes code, where the code goes, and what the maker is told.

use super::{GENERATORS, Maker, Named, Options, Output, generator, types};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::yaml::{Node, Reader, Value};

pub(super) fn entry(node: Node, reader: &mut Reader<'_>) -> Option<Output> {
    let place = node.place.clone();
    let [generator, output, name, template, command, config] = reader.keys(
        node,
        "an entry of `gen`",
        ["generator", "output", "name", "template", "command", "config"],
    );
    let template = template.and_then(|node| self::template(node, reader));
    let name = name.and_then(|node| reader.text(node, "`name`")).map(|(name, _)| name);
    let output = match output {
        Some(node) => reader.text(node, "`output`").map(|(path, _)| path),
        None => {
            reader.wrong(&place, "`output` is missing").suggestion =
                Some("write a folder, `output: generated/`, or a file".to_owned());
            None
        }
    };
    let told = config.as_ref().map(|node| node.place.clone());
    let options = options(config, reader);
    let (maker, place) = match command {
        None => named(generator, &place, reader)?,
        Some(command) => {
            if let Some(node) = generator {
                reader.wrong(&node.place, "there is a `command`, which stands instead of `generator`");
            }
            if let Some(place) = told {
                reader.wrong(&place, "`config` is for generators").suggestion =
                    Some("give the program arguments: `command: [prog, --package, app]`".to_owned());
            }
            if let Some(place) = template.as_ref().and_then(|template| template.place.as_ref()) {
                reader.wrong(place, "`template` is for generators");
            }
            (Maker::Program(words(command, reader)), place)
        }
    };
    Some(Output { maker, template, output, name, options, place: Some(place) })
}

fn template(node: Node, reader: &mut Reader<'_>) -> Option<Named> {
    let (path, place) = reader.text(node, "`template`")?;
    if path.ends_with(".hbs") {
        let message = "templates are Jinja; Handlebars, as SQG has it, is not read";
        let told = Diagnostic::error(Code::NotSupported, place, message);
        reader.diagnostics.push(told.help("start with what `howdah codegen template` prints"));
        return None;
    }
    Some(Named { path, place: Some(place) })
}

/// The generator that is named, and where.
fn named(node: Option<Node>, missing: &Place, reader: &mut Reader<'_>) -> Option<(Maker, Place)> {
    let Some(node) = node else {
        reader.wrong(missing, "`generator` is missing").suggestion =
            Some(format!("there are {}", GENERATORS.join(", ")));
        return None;
    };
    let (text, place) = reader.text(node, "`generator`")?;
    if generator::is_elsewhere(&text) {
        let message = format!("`{text}` is for another database and is passed over");
        let told = Diagnostic::warning(Code::InvalidGenerator, place, message);
        reader.diagnostics.push(told.help("there is only PostgreSQL; SQG generates it"));
        return None;
    }
    match generator::find(&text) {
        Ok(generator) => Some((Maker::Generator(generator), place)),
        Err((message, help)) => {
            reader.diagnostics.push(Diagnostic::error(Code::InvalidGenerator, place, message).help(help));
            None
        }
    }
}

/// A program and its arguments, of which an argument may be empty.
fn words(node: Node, reader: &mut Reader<'_>) -> Vec<String> {
    let place = node.place.clone();
    let mut words = Vec::new();
    for node in reader.list(Some(node), "`command`", &place) {
        let is_program = words.is_empty();
        match node.value {
            Value::Scalar(word, _) if !(word.contains('\0') || is_program && word.is_empty()) => {
                words.push(word)
            }
            _ => {
                reader.wrong(&node.place, "`command` is a list of texts: a program and its arguments");
            }
        }
    }
    words
}

fn options(node: Option<Node>, reader: &mut Reader<'_>) -> Options {
    let Some(node) = node else { return Options::default() };
    let [package, migrations, observer, timestamps, types] =
        reader.keys(node, "`config`", ["package", "migrations", "observer", "timestamps", "types"]);
    let text_timestamps = timestamps.and_then(|node| {
        let (word, place) = reader.text(node, "`timestamps`")?;
        match word.as_str() {
            "string" => Some(true),
            "date" => Some(false),
            _ => {
                let message = "`timestamps` is neither `date` nor `string`";
                reader.diagnostics.push(Diagnostic::error(Code::ConfigValidationError, place, message));
                None
            }
        }
    });
    Options {
        package: package.and_then(|node| reader.text(node, "`package`")).map(|(package, _)| package),
        migrations: reader.switch(migrations, "`migrations`"),
        observer: reader.switch(observer, "`observer`"),
        text_timestamps,
        types: types::types(types, reader),
    }
}
