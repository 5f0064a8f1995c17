//! Whether names fit together: variables, switches, choices and what the header says of them.

use std::collections::BTreeSet;

use super::block::{Block, Override, Piece, Variable};
use crate::diagnostic::{Code, Diagnostic, nearest};

/// Says which names are used and not set, set and not used, or used for what they are not.
pub(super) fn check(block: &Block, diagnostics: &mut Vec<Diagnostic>) {
    variables(block, diagnostics);
    lines(block, diagnostics);
    for variable in &block.variables {
        set(block, variable, diagnostics);
    }
    if block.kind.has_parameters() {
        for said in &block.params {
            parameter(block, said, diagnostics);
        }
        choices(block, diagnostics);
    }
}

fn names(block: &Block) -> impl Iterator<Item = &str> {
    block.variables.iter().map(|variable| variable.name.as_str())
}

/// What to do where a name is none of those that are set.
fn meant(block: &Block, name: &str, spell: impl Fn(&str) -> String) -> String {
    match nearest(name, names(block)) {
        Some(near) => format!("perhaps you meant `{}`", spell(near)),
        None => format!("write `@set {name} = value` below the header"),
    }
}

/// Variables that are used are set.
fn variables(block: &Block, diagnostics: &mut Vec<Diagnostic>) {
    let kind = block.kind.word();
    let mut missing = BTreeSet::new();
    for (_, piece) in block.pieces() {
        let Piece::Variable { name, place } = piece else { continue };
        if !block.kind.has_parameters() {
            let message = format!("a {kind} has no variables: nobody would give `{name}` a value");
            let error = Diagnostic::error(Code::SqlParseError, place.clone(), message);
            diagnostics.push(error.help("write the value here"));
        } else if !block.is_variable(name) && missing.insert(name) {
            let help = meant(block, name, |near| format!("${{{near}}}"));
            let message = format!("`{name}` is not set");
            diagnostics.push(Diagnostic::error(Code::MissingVariable, place.clone(), message).help(help));
        }
    }
}

/// Names of optional lines that are nearly those of variables in them.
fn lines(block: &Block, diagnostics: &mut Vec<Diagnostic>) {
    for piece in &block.body {
        let Piece::Optional { name, pieces, place } = piece else { continue };
        if block.is_variable(name) {
            continue;
        }
        // Names of a letter or two are near to all others.
        let inside = pieces.iter().filter_map(|piece| match piece {
            Piece::Variable { name: inside, .. } if inside != name && name.len() > 2 => Some(inside.as_str()),
            _ => None,
        });
        if let Some(near) = nearest(name, inside) {
            let message = format!("`{name}` is no variable: it becomes a switch, true or false");
            diagnostics.push(
                Diagnostic::warning(Code::MissingVariable, place.clone(), message)
                    .help(format!("perhaps you meant `{near}`")),
            );
        }
    }
}

/// Whether a variable that is set is a parameter.
fn set(block: &Block, variable: &Variable, diagnostics: &mut Vec<Diagnostic>) {
    let name = &variable.name;
    let used = |piece: &Piece| matches!(piece, Piece::Variable { name: used, .. } if used == name);
    let place = variable.place.clone();
    if block.pieces().any(|(_, piece)| used(piece)) {
        return;
    }
    let decides = |piece: &Piece| matches!(piece, Piece::Optional { name: line, .. } if line == name);
    if block.body.iter().any(decides) {
        let message = format!("`{name}` is set, and only decides about lines");
        diagnostics.push(Diagnostic::error(Code::UnusedVariable, place, message).help(format!(
            "without `@set` it is a switch, true or false; `${{{name}}}` in the line makes it a value"
        )));
        return;
    }
    let message = format!("`{name}` is set and not used");
    let warning = Diagnostic::warning(Code::UnusedVariable, place, message);
    diagnostics.push(warning.help("it is no parameter; take it out"));
}

/// Whether what the header says of a parameter makes sense.
fn parameter(block: &Block, said: &Override, diagnostics: &mut Vec<Diagnostic>) {
    let name = &said.name;
    let place = said.place.clone();
    let mut wrong = |code, message: String, help: String| {
        diagnostics.push(Diagnostic::error(code, place.clone(), message).help(help));
    };
    let decides = |piece: &Piece| matches!(piece, Piece::Optional { name: line, .. } if line == name);
    let decides = block.body.iter().any(decides);
    if block.choices_of(name).is_some() {
        let message = format!("`params` has `{name}`, which is one of its choices and no value");
        wrong(Code::ConfigValidationError, message, "take it out of `params`".to_owned());
    } else if decides && !block.is_variable(name) {
        let message = format!("`params` has `{name}`, which is a switch and no value");
        wrong(Code::ConfigValidationError, message, "take it out of `params`".to_owned());
    } else if !block.is_variable(name) {
        let message = format!("`params` has `{name}`, which is not set");
        wrong(Code::MissingVariable, message, meant(block, name, str::to_owned));
    } else if decides && said.nullable == Some(false) {
        let message = format!("lines with `--? {name}` go when it is null, and `params` says that it is not");
        wrong(Code::ConfigValidationError, message, "take one of them out".to_owned());
    }
}

/// Whether each list of choices is that of a variable, whose value is one of them.
fn choices(block: &Block, diagnostics: &mut Vec<Diagnostic>) {
    for choices in &block.choices {
        let name = &choices.name;
        let Some(variable) = block.variables.iter().find(|variable| variable.name == *name) else {
            let message = format!("`choices` has `{name}`, which is no variable");
            let first = choices.options.first().map_or("value", |(text, _)| text.as_str());
            let help = match nearest(name, names(block)) {
                Some(near) => format!("perhaps you meant `{near}`"),
                None => format!(
                    "write `@set {name} = {first}` below the header, and `${{{name}}}` in the statement"
                ),
            };
            diagnostics
                .push(Diagnostic::error(Code::MissingVariable, choices.place.clone(), message).help(help));
            continue;
        };
        let goes = block.pieces().any(|(line, _)| line == Some(name));
        let outside = block.pieces().find_map(|(line, piece)| match piece {
            Piece::Variable { name: found, place } if found == name && line != Some(name) => Some(place),
            _ => None,
        });
        if let (true, Some(place)) = (goes, outside) {
            let message =
                format!("lines with `--? {name}` go when nothing is chosen, and `${{{name}}}` is left here");
            let error = Diagnostic::error(Code::SqlParseError, place.clone(), message);
            diagnostics.push(error.help(format!("write `--? {name}` behind this line too")));
        }
        let none = goes && variable.value.eq_ignore_ascii_case("null");
        let texts = || choices.options.iter().map(|(text, _)| text.as_str());
        if none || choices.options.is_empty() || texts().any(|text| text == variable.value) {
            continue;
        }
        let message = format!("the value of `{name}` is none of its choices");
        let help = match nearest(&variable.value, texts()) {
            Some(near) => format!("perhaps you meant `{near}`"),
            None => format!("it is one of {}", texts().collect::<Vec<_>>().join("; ")),
        };
        diagnostics
            .push(Diagnostic::error(Code::ConfigValidationError, variable.place.clone(), message).help(help));
    }
}
