//! Paths into objects: `actor.id` is the key `id` of the object at the key `actor`. The paths of a load are a tree, of which
//! a record is seen once, however many paths lead through the same object.

use howdah_encode::json::{Member, Members, Value, ValueKind, unescape};
use howdah_message::setting;

use super::Refusal;

/// The keys from a record to a value, from the outside in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    steps: Vec<String>,
}

impl Path {
    /// Reads steps between dots. Double quotes keep a dot within a step, and are doubled to mean themselves. `None`: the text is
    /// one word, or no path, and can only be a key.
    #[must_use]
    pub fn parse(text: &str) -> Option<Path> {
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let (step, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted_step(quoted)?,
                None => {
                    let end = rest.find('.').unwrap_or(rest.len());
                    let is_step = end > 0 && !rest[..end].contains('"');
                    is_step.then(|| (rest[..end].to_owned(), &rest[end..]))?
                }
            };
            steps.push(step);
            match after.strip_prefix('.') {
                Some(after) => rest = after,
                None if after.is_empty() && (steps.len() > 1 || text.starts_with('"')) => {
                    return Some(Path { steps });
                }
                None => return None,
            }
        }
    }

    /// The key of the record that the path goes through.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.steps[0]
    }

    /// The path with quotes around every step, so that it is nobody's key.
    #[must_use]
    pub fn quoted(&self) -> String {
        let quoted = |step: &String| format!("\"{}\"", step.replace('"', "\"\""));
        self.steps.iter().map(quoted).collect::<Vec<_>>().join(".")
    }
}

/// The step up to its closing quote, and what follows.
fn quoted_step(text: &str) -> Option<(String, &str)> {
    let mut step = String::new();
    let mut rest = text;
    loop {
        let (inner, after) = rest.split_once('"')?;
        step.push_str(inner);
        let Some(more) = after.strip_prefix('"') else { return Some((step, after)) };
        step.push('"');
        rest = more;
    }
}

/// The paths of a load.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    steps: Vec<PathStep>,
    /// Of `steps`, those that are keys of the record itself.
    roots: Vec<usize>,
    ends: Vec<PathEnd>,
}

#[derive(Debug, Clone)]
struct PathStep {
    key: Box<[u8]>,
    below: Vec<usize>,
    /// A path that goes through it.
    through: usize,
}

#[derive(Debug, Clone)]
struct PathEnd {
    /// As the user spells the path.
    name: String,
    /// The field that its values are.
    field: usize,
    step: usize,
}

impl Paths {
    /// Each path as it is spelled, with the field that its values are.
    pub fn new<'p>(paths: impl Iterator<Item = (&'p str, Path, usize)>) -> Paths {
        let mut tree = Paths::default();
        for (name, path, field) in paths {
            let mut at = None;
            for key in &path.steps {
                at = Some(tree.step(at, key));
            }
            let Some(step) = at else { continue };
            tree.ends.push(PathEnd { name: name.to_owned(), field, step });
        }
        tree
    }

    /// The step `key` below another, or of the record itself; made where there is none.
    fn step(&mut self, above: Option<usize>, key: &str) -> usize {
        let beside = match above {
            Some(above) => &self.steps[above].below,
            None => &self.roots,
        };
        if let Some(step) = beside.iter().find(|step| *self.steps[**step].key == *key.as_bytes()) {
            return *step;
        }
        let step = self.steps.len();
        self.steps.push(PathStep { key: key.as_bytes().into(), below: Vec::new(), through: self.ends.len() });
        match above {
            Some(above) => self.steps[above].below.push(step),
            None => self.roots.push(step),
        }
        step
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The keys of the record itself that paths go through, each with its step.
    pub fn roots(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.roots.iter().map(|root| (&*self.steps[*root].key, *root))
    }

    /// A record starts, in which nothing was found yet. `values` has the value of every step.
    pub fn begin(&self, values: &mut Vec<Option<Value>>) {
        values.clear();
        values.resize(self.steps.len(), None);
    }

    /// Goes on from the roots, whose `values` in `text` are there, to the ends of all paths.
    ///
    /// # Errors
    /// A path leads into what has no keys.
    pub fn follow(&self, text: &[u8], values: &mut [Option<Value>]) -> Result<(), Refusal> {
        // What is below a step stands behind it.
        for (at, step) in self.steps.iter().enumerate() {
            if let Some(value) = values[at].filter(|_| !step.below.is_empty()) {
                self.descend(step, text, value, values)?;
            }
        }
        Ok(())
    }

    /// Finds what is below `step` in its `value`; the last of equal keys counts.
    fn descend(
        &self,
        step: &PathStep,
        text: &[u8],
        value: Value,
        values: &mut [Option<Value>],
    ) -> Result<(), Refusal> {
        let what = match value.kind {
            ValueKind::Null => return Ok(()),
            ValueKind::Container if text[value.start] == b'{' => {
                let base = value.start;
                let not_json = |error| Refusal::not_json(error, base);
                let mut members = Members::of(&text[value.range()]).map_err(not_json)?;
                while let Some(member) = members.next().map_err(not_json)? {
                    let below = step.below.iter();
                    if let Some(found) = find(below.map(|step| (&*self.steps[*step].key, *step)), &member) {
                        values[found] = Some(Value {
                            start: base + member.value.start,
                            end: base + member.value.end,
                            kind: member.value.kind,
                        });
                    }
                }
                return Ok(());
            }
            ValueKind::Container => "an array",
            ValueKind::String { .. } => "a string",
            ValueKind::Scalar if matches!(text[value.start], b't' | b'f') => "a boolean",
            ValueKind::Scalar => "a number",
        };
        Err(self.astray(step, what))
    }

    /// The paths' fields with what was found for them.
    pub fn found<'p>(
        &'p self,
        values: &'p [Option<Value>],
    ) -> impl Iterator<Item = (usize, Option<Value>)> + 'p {
        self.ends.iter().map(|end| (end.field, values[end.step]))
    }

    /// Finds the values of all paths in the record `text`, which starts at `base` of what was read.
    ///
    /// # Errors
    /// It is no record, or a path leads into what has no keys.
    pub fn read(&self, text: &[u8], base: usize, values: &mut Vec<Option<Value>>) -> Result<(), Refusal> {
        self.begin(values);
        let mut members = Members::of(text).map_err(|error| Refusal::not_json(error, base))?;
        while let Some(member) = members.next().map_err(|error| Refusal::not_json(error, base))? {
            if let Some(root) = find(self.roots(), &member) {
                values[root] = Some(member.value);
            }
        }
        self.follow(text, values)
    }

    #[cold]
    fn astray(&self, step: &PathStep, what: &str) -> Refusal {
        let end = &self.ends[step.through];
        let key = String::from_utf8_lossy(&step.key);
        Refusal {
            field: Some(end.field),
            hint: Some(Box::new(message![
                "a path of ",
                setting::MAP,
                " goes through objects; ",
                setting::ON_ERROR.word("ignore"),
                " keeps such records in a file and loads the others"
            ])),
            ..Refusal::new("2203A", format!("the path {} leads into {what}: {key:?} has no keys", end.name))
        }
    }
}

/// Which of `keys` the member's is. One whose escapes spell nothing is none of them.
#[inline]
fn find<'k>(mut keys: impl Iterator<Item = (&'k [u8], usize)>, member: &Member<'_>) -> Option<usize> {
    let mut unescaped = Vec::new();
    let mut name = member.key;
    if member.key_is_escaped {
        unescape(name, false, &mut unescaped).ok()?;
        name = &unescaped;
    }
    keys.find(|(key, _)| *key == name).map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Option<Vec<String>> {
        Path::parse(text).map(|path| path.steps)
    }

    #[test]
    fn dots_part_steps_and_quotes_keep_dots() {
        for (text, expected) in [
            ("actor.id", &["actor", "id"][..]),
            ("a.b.c", &["a", "b", "c"]),
            ("\"a.b\".c", &["a.b", "c"]),
            ("a.\"b.\"\"c\"", &["a", "b.\"c"]),
            ("\"\".x y", &["", "x y"]),
            ("\"a.b\"", &["a.b"]),
        ] {
            assert_eq!(steps(text).unwrap(), expected, "{text}");
            let path = Path::parse(text).unwrap();
            assert_eq!(Path::parse(&path.quoted()).unwrap(), path, "{text}");
        }
        for key in ["", "a", "a b", ".", "a.", ".a", "a..b", "\"a", "\"a\"b", "a\"b\".c", "\"a\".", "it\"s"] {
            assert_eq!(steps(key), None, "{key}");
        }
    }

    /// What `paths` find in `text`.
    fn found(paths: &[&str], text: &str) -> Result<Vec<Option<String>>, Refusal> {
        let tree =
            Paths::new(paths.iter().enumerate().map(|(at, name)| (*name, Path::parse(name).unwrap(), at)));
        let mut values = Vec::new();
        tree.read(text.as_bytes(), 0, &mut values)?;
        let mut found = vec![None; paths.len()];
        for (field, value) in tree.found(&values) {
            found[field] = value.map(|value| text[value.range()].to_owned());
        }
        Ok(found)
    }

    #[test]
    fn values_are_found_at_the_ends_of_paths() {
        let found = |paths: &[&str], text| {
            found(paths, text).unwrap().into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>()
        };
        let text = r#" {"a": {"b": {"c": 1, "d": [2]}, "x": "y"}, "a.b": 3, "e": null} "#;
        assert_eq!(
            found(&["a.b.c", "a.b.d", "a.x", "a.b"], text),
            ["1", "[2]", "y", r#"{"c": 1, "d": [2]}"#]
        );
        assert_eq!(found(&["\"a.b\"", "a.\"b\".c"], text), ["3", "1"]);
        // Nothing there.
        assert_eq!(found(&["z.b", "a.z", "a.b.z", "e.b", "a.b.c"], text), ["", "", "", "", "1"]);
        // Escaped keys.
        assert_eq!(found(&["é.\"n\"\"\"", "é.x"], r#"{"\u00e9":{"n\"":1,"\ud800":2,"x":3}}"#), ["1", "3"]);
        // The last of equal keys, on every level, hides what the others had.
        let twice = r#"{"a":{"b":1,"c":2},"a":{"b":{"d":3},"b":{"e":4}}}"#;
        assert_eq!(found(&["a.c", "a.b.d", "a.b.e"], twice), ["", "", "4"]);
        assert_eq!(found(&["a.b.c"], r#"{"a":[1],"a":{"b":2,"b":{"c":5}}}"#), ["5"]);
    }

    #[test]
    fn a_path_into_what_has_no_keys_is_refused_and_said() {
        for (text, what) in [
            (r#"{"a":[{"b":1}]}"#, "an array: \"a\" has no keys"),
            (r#"{"a":"{}"}"#, "a string"),
            (r#"{"a":-1}"#, "a number"),
            (r#"{"a":false}"#, "a boolean"),
            (r#"{"a":{"b":[]}}"#, "an array: \"b\" has no keys"),
        ] {
            let refusal = found(&["x.y", "a.b.c"], text).unwrap_err();
            assert_eq!((refusal.sqlstate, refusal.field), ("2203A", Some(1)), "{text}");
            assert!(refusal.reason.contains(&format!("the path a.b.c leads into {what}")), "{refusal:?}");
        }
        assert!(found(&["a.b"], r#"{"a":{"b":1}"#).unwrap_err().fault.is_some());
    }
}
