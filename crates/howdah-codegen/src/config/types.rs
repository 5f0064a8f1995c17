//! `types:` of a generator's `config`: types of the user's that stand for the server's.

use crate::languages::CustomType;
use crate::yaml::{YamlNode, YamlReader, YamlValue};

/// Reads a mapping from types and columns to types of the language.
pub(super) fn types(node: Option<YamlNode>, reader: &mut YamlReader<'_>) -> Vec<CustomType> {
    let entries = reader.names(node, "`types`");
    entries.into_iter().filter_map(|(of, node)| entry(of, node, reader)).collect()
}

fn entry(of: String, node: YamlNode, reader: &mut YamlReader<'_>) -> Option<CustomType> {
    let place = node.place.clone();
    let what = format!("`{of}` of `types`");
    let [name, import, decode, encode] = reader.keys(node, &what, ["type", "import", "decode", "encode"]);
    let imports = match import {
        Some(YamlNode { value: YamlValue::List(list), .. }) if !list.is_empty() => list,
        other => other.into_iter().collect(),
    };
    let imports = imports.into_iter().filter_map(|node| line(node, "`import`", reader)).collect();
    let decode = decode.and_then(|node| expression(node, "`decode`", reader));
    let encode = encode.and_then(|node| expression(node, "`encode`", reader));
    let Some(name) = name else {
        reader.wrong(&place, format!("`type` of {what} is missing")).suggestion =
            Some("write `{type: UserId, decode: \"UserId({})\", encode: \"{}.value\"}`".to_owned());
        return None;
    };
    let name = line(name, "`type`", reader)?;
    Some(CustomType { of, name, imports, decode, encode, place: Some(place) })
}

/// A text of one line, as it stands in the code.
fn line(node: YamlNode, what: &str, reader: &mut YamlReader<'_>) -> Option<String> {
    let (text, place) = reader.text(node, what)?;
    let text = text.trim();
    if text.is_empty() || text.contains(|c: char| c.is_control()) {
        reader.wrong(&place, format!("{what} is one line of code"));
        return None;
    }
    Some(text.to_owned())
}

fn expression(node: YamlNode, what: &str, reader: &mut YamlReader<'_>) -> Option<String> {
    let place = node.place.clone();
    let text = line(node, what, reader)?;
    if !text.contains("{}") {
        reader.wrong(&place, format!("{what} has no `{{}}`, where the value stands"));
        return None;
    }
    Some(text)
}
