//! YAML as a tree in which everything has its place.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

use crate::diagnostic::{Code, Diagnostic, Place, Severity, nearest};

/// How deep lists and mappings go into each other.
const DEPTH: usize = 32;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct YamlNode {
    pub(crate) value: YamlValue,
    pub(crate) place: Place,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum YamlValue {
    /// Nothing, or `null`.
    Null,
    /// A text, and whether it stood in quotes.
    Scalar(String, bool),
    List(Vec<YamlNode>),
    Mapping(Vec<(YamlNode, YamlNode)>),
}

/// Where YAML begins in a file: its line and column, from 0, of a text that was padded to its column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct YamlOrigin<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: usize,
}

impl YamlOrigin<'_> {
    fn place(&self, start: Marker, length: usize) -> Place {
        Place {
            file: self.file.to_owned(),
            line: start.line() + self.line,
            column: start.col() + 1,
            length: length.max(1),
        }
    }

    fn of(&self, span: &Span) -> Place {
        let one_line = span.start.line() == span.end.line();
        let length = if one_line { span.end.col().saturating_sub(span.start.col()) } else { 1 };
        self.place(span.start, length)
    }
}

/// A list or mapping that is not at its end.
enum OpenYamlNode {
    List(Vec<YamlNode>, Place),
    /// Its entries, and a key that waits for its value.
    Mapping(Vec<(YamlNode, YamlNode)>, Option<YamlNode>, Place),
}

/// Reads one document; `Null` if there is none.
pub(crate) fn read(text: &str, origin: YamlOrigin<'_>) -> Result<YamlNode, Box<Diagnostic>> {
    let mut open: Vec<OpenYamlNode> = Vec::new();
    let mut whole = None;
    let refused = |span: &Span, what: &str| {
        Err(Box::new(Diagnostic::error(Code::ConfigValidationError, origin.of(span), what)))
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let place = origin.place(*error.marker(), 1);
            let error = Diagnostic::error(Code::ConfigParseError, place, format!("this is not YAML: {}", error.info()))
                .help("indent with blanks, write `key: value`, and quote values with `: `, ` #` or brackets in them");
            Box::new(error)
        })?;
        let node = match event {
            Event::Alias(_) => return refused(&span, "aliases of YAML are not read; write the value here"),
            Event::DocumentStart(_) if whole.is_some() => {
                return refused(&span, "there is a second document of YAML");
            }
            Event::Scalar(text, style, _, _) => {
                let plain = style == ScalarStyle::Plain;
                let value = match &*text {
                    "" | "~" | "null" | "Null" | "NULL" if plain => YamlValue::Null,
                    _ => YamlValue::Scalar(text.into_owned(), !plain),
                };
                YamlNode { value, place: origin.of(&span) }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == DEPTH => {
                return refused(&span, "this is too deep");
            }
            Event::SequenceStart(..) => {
                open.push(OpenYamlNode::List(Vec::new(), origin.of(&span)));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(OpenYamlNode::Mapping(Vec::new(), None, origin.of(&span)));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(OpenYamlNode::List(list, place)) => YamlNode { value: YamlValue::List(list), place },
                Some(OpenYamlNode::Mapping(entries, _, place)) => {
                    YamlNode { value: YamlValue::Mapping(entries), place }
                }
                None => continue,
            },
            _ => continue,
        };
        match open.last_mut() {
            Some(OpenYamlNode::List(list, _)) => list.push(node),
            Some(OpenYamlNode::Mapping(entries, key, _)) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(node),
            },
            None => whole = Some(node),
        }
    }
    let nothing = Place { file: origin.file.to_owned(), line: origin.line + 1, column: 1, length: 1 };
    Ok(whole.unwrap_or(YamlNode { value: YamlValue::Null, place: nothing }))
}

/// Takes a tree apart, and gathers what is wrong with it.
pub(crate) struct YamlReader<'a> {
    pub(crate) diagnostics: &'a mut Vec<Diagnostic>,
}

impl YamlReader<'_> {
    pub(crate) fn wrong(&mut self, place: &Place, message: impl Into<String>) -> &mut Diagnostic {
        let error = Diagnostic::error(Code::ConfigValidationError, place.clone(), message);
        self.diagnostics.push(error);
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    /// The values of known keys, in the order of `known`; others, and those given twice, are errors.
    pub(crate) fn keys<const N: usize>(
        &mut self,
        node: YamlNode,
        what: &str,
        known: [&str; N],
    ) -> [Option<YamlNode>; N] {
        self.keys_and(node, what, known, Severity::Error)
    }

    /// The same, where a key that is nothing like a known one is not always an error.
    pub(crate) fn keys_and<const N: usize>(
        &mut self,
        node: YamlNode,
        what: &str,
        known: [&str; N],
        others: Severity,
    ) -> [Option<YamlNode>; N] {
        let mut found = [const { None }; N];
        let list = known.join(", ");
        match node.value {
            YamlValue::Null => {}
            YamlValue::Mapping(entries) => {
                for (key, value) in entries {
                    let name = match &key.value {
                        YamlValue::Scalar(name, _) => name.as_str(),
                        _ => "",
                    };
                    match known.iter().position(|known| *known == name) {
                        Some(at) if found[at].is_some() => {
                            self.wrong(&key.place, format!("`{name}` of {what} is given twice"));
                        }
                        Some(at) => found[at] = Some(value),
                        None => {
                            let near = nearest(name, known);
                            let help = match near {
                                Some(near) => format!("perhaps you meant `{near}`"),
                                None => format!("there are {list}"),
                            };
                            let diagnostic = self.wrong(&key.place, format!("{what} has no key `{name}`"));
                            diagnostic.suggestion = Some(help);
                            if near.is_none() {
                                diagnostic.severity = others;
                            }
                        }
                    }
                }
            }
            _ => {
                self.wrong(&node.place, format!("{what} is a mapping with the keys {list}"));
            }
        }
        found
    }

    /// A text that is not empty.
    pub(crate) fn text(&mut self, node: YamlNode, what: &str) -> Option<(String, Place)> {
        match node.value {
            YamlValue::Scalar(text, _) if !text.is_empty() => Some((text, node.place)),
            _ => {
                self.wrong(&node.place, format!("{what} is a text that is not empty"));
                None
            }
        }
    }

    /// `true` or `false`.
    pub(crate) fn switch(&mut self, node: Option<YamlNode>, what: &str) -> Option<bool> {
        let node = node?;
        match &node.value {
            YamlValue::Scalar(text, false) if text == "true" => Some(true),
            YamlValue::Scalar(text, false) if text == "false" => Some(false),
            _ => {
                self.wrong(&node.place, format!("{what} is `true` or `false`"));
                None
            }
        }
    }

    /// A list with something in it.
    pub(crate) fn list(&mut self, node: Option<YamlNode>, what: &str, missing: &Place) -> Vec<YamlNode> {
        match node {
            Some(YamlNode { value: YamlValue::List(list), .. }) if !list.is_empty() => list,
            Some(node) => {
                self.wrong(&node.place, format!("{what} is a list with at least one element"));
                Vec::new()
            }
            None => {
                self.wrong(missing, format!("{what} is missing"));
                Vec::new()
            }
        }
    }

    /// The entries of a mapping from names to texts.
    pub(crate) fn names(&mut self, node: Option<YamlNode>, what: &str) -> Vec<(String, YamlNode)> {
        let Some(node) = node else { return Vec::new() };
        let YamlValue::Mapping(entries) = node.value else {
            self.wrong(&node.place, format!("{what} is a mapping from names to types"));
            return Vec::new();
        };
        let mut named: Vec<(String, YamlNode)> = Vec::new();
        for (key, value) in entries {
            // `null:` is a column of that name too.
            let name = match key.value {
                YamlValue::Scalar(name, _) => name,
                _ => String::new(),
            };
            if name.is_empty() {
                self.wrong(&key.place, format!("a name of {what} is a text; quote it"));
            } else if named.iter().any(|(before, _)| *before == name) {
                self.wrong(&key.place, format!("`{name}` of {what} is given twice"));
            } else {
                named.push((name, YamlNode { place: key.place, value: value.value }));
            }
        }
        named
    }
}
