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
}

#[derive(Debug, Clone)]
struct PathEnd {
    /// As the user spells the path.
    name: String,
    /// The field that its values are.
    field: usize,
    /// From the outside in; there is at least one.
    steps: Vec<usize>,
}

impl PathEnd {
    fn step(&self) -> usize {
        self.steps[self.steps.len() - 1]
    }

    /// Whether it is below `step`.
    fn is_below(&self, step: usize) -> bool {
        self.step() != step && self.steps.contains(&step)
    }
}

/// A value that has no keys, where paths lead on.
#[derive(Debug)]
pub struct Blocked<'p> {
    paths: &'p Paths,
    step: usize,
    /// What is there, as in "leads into an array".
    what: &'static str,
}

impl Blocked<'_> {
    /// The fields of the paths that lead on.
    pub fn fields(&self) -> impl Iterator<Item = usize> {
        self.paths.ends.iter().filter(|end| end.is_below(self.step)).map(|end| end.field)
    }

    /// Why the record is refused, where one of the paths is loaded.
    #[must_use]
    #[cold]
    pub fn refusal(&self) -> Refusal {
        let key = String::from_utf8_lossy(&self.paths.steps[self.step].key);
        let end = self.paths.ends.iter().find(|end| end.is_below(self.step));
        let name = end.map_or("", |end| &end.name);
        Refusal {
            field: end.map(|end| end.field),
            hint: Some(Box::new(message![
                "a path of ",
                setting::MAP,
                " goes through objects; ",
                setting::ON_ERROR.word("ignore"),
                " keeps such records in a file and loads the others"
            ])),
            ..Refusal::new("2203A", format!("the path {name} leads into {}: {key:?} has no keys", self.what))
        }
    }
}

impl Paths {
    /// Each path as it is spelled, with the field that its values are.
    pub fn new<'p>(paths: impl Iterator<Item = (&'p str, Path, usize)>) -> Paths {
        let mut tree = Paths::default();
        for (name, path, field) in paths {
            let mut steps: Vec<usize> = Vec::with_capacity(path.steps.len());
            for key in &path.steps {
                steps.push(tree.step(steps.last().copied(), key));
            }
            tree.ends.push(PathEnd { name: name.to_owned(), field, steps });
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
        self.steps.push(PathStep { key: key.as_bytes().into(), below: Vec::new() });
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
    /// Those of `on_blocked`, which is asked where paths lead into what has no keys. Without one nothing is found there.
    pub fn follow(
        &self,
        text: &[u8],
        values: &mut [Option<Value>],
        mut on_blocked: impl FnMut(Blocked<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        // What is below a step stands behind it.
        for (at, step) in self.steps.iter().enumerate() {
            if let Some(value) = values[at].filter(|_| !step.below.is_empty())
                && let Some(what) = self.descend(step, text, value, values)?
            {
                on_blocked(Blocked { paths: self, step: at, what })?;
            }
        }
        Ok(())
    }

    /// Finds what is below `step` in its `value`; the last of equal keys counts. What the value is, if it has no keys.
    fn descend(
        &self,
        step: &PathStep,
        text: &[u8],
        value: Value,
        values: &mut [Option<Value>],
    ) -> Result<Option<&'static str>, Refusal> {
        Ok(match value.kind {
            ValueKind::Null => None,
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
                None
            }
            ValueKind::Container => Some("an array"),
            ValueKind::String { .. } => Some("a string"),
            ValueKind::Scalar if matches!(text[value.start], b't' | b'f') => Some("a boolean"),
            ValueKind::Scalar => Some("a number"),
        })
    }

    /// The paths' fields with what was found for them.
    pub fn found<'p>(
        &'p self,
        values: &'p [Option<Value>],
    ) -> impl Iterator<Item = (usize, Option<Value>)> + 'p {
        self.ends.iter().map(|end| (end.field, values[end.step()]))
    }

    /// Finds the values of all paths in the record `text`, which starts at `base` of what was read.
    ///
    /// # Errors
    /// It is no record; those of `on_blocked`, as for [`Paths::follow`].
    pub fn read(
        &self,
        text: &[u8],
        base: usize,
        values: &mut Vec<Option<Value>>,
        on_blocked: impl FnMut(Blocked<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.begin(values);
        let mut members = Members::of(text).map_err(|error| Refusal::not_json(error, base))?;
        while let Some(member) = members.next().map_err(|error| Refusal::not_json(error, base))? {
            if let Some(root) = find(self.roots(), &member) {
                values[root] = Some(member.value);
            }
        }
        self.follow(text, values, on_blocked)
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
        tree.read(text.as_bytes(), 0, &mut values, |blocked| Err(blocked.refusal()))?;
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
    fn what_has_no_keys_blocks_the_paths_below_it_and_no_others() {
        let names = ["a.b", "a.c.d", "a", "x.y"];
        let tree = Paths::new(
            names.iter().enumerate().map(|(at, name)| (*name, Path::parse(name).unwrap_or(word(name)), at)),
        );
        let (mut values, mut blocked) = (Vec::new(), Vec::new());
        let note = |found: Blocked<'_>| {
            blocked.extend(found.fields());
            Ok(())
        };
        tree.read(br#"{"a":[1],"x":{"y":2}}"#, 0, &mut values, note).unwrap();
        assert_eq!(blocked, [0, 1]);
        let is_found = |(_, value): (usize, Option<Value>)| value.is_some();
        assert_eq!(tree.found(&values).map(is_found).collect::<Vec<_>>(), [false, false, true, true]);
    }

    fn word(key: &str) -> Path {
        Path { steps: vec![key.to_owned()] }
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
