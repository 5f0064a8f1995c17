//! Reads the text of a `pg_node_tree`: `{QUERY :commandType 1 :rtable ({RANGETBLENTRY …}) …}`.
//!
//! What the fields of a node are called and mean depends on the server's version; their form does not.

/// Deeper trees are not read: those who walk one need a stack.
const DEEPEST: usize = 1000;

/// A piece of a tree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// `<>`.
    Nothing,
    /// A word or number without its backslashes.
    Word(String),
    /// `{TAG :field value …}`.
    Node(Node),
    /// `(a b)`, and `(i 1 2)`, `(o 1 2)`, `(b 1 2)` with their letter as the first word.
    List(Vec<Value>),
}

/// A node with its fields, in their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// What it is: `QUERY`.
    pub(crate) tag: String,
    fields: Vec<(String, Vec<Value>)>,
}

const NOTHING: &Value = &Value::Nothing;

impl Node {
    /// A field's value, of which there is one for all but a datum; nothing for a field that is not there.
    pub(crate) fn field(&self, name: &str) -> &Value {
        let found = self.fields.iter().find(|(field, _)| field == name);
        found.and_then(|(_, values)| values.first()).unwrap_or(NOTHING)
    }

    /// A field that is a node.
    pub(crate) fn node(&self, name: &str) -> Option<&Node> {
        self.field(name).as_node()
    }

    /// The nodes of a field that is a list.
    pub(crate) fn nodes(&self, name: &str) -> impl Iterator<Item = &Node> {
        self.field(name).items().iter().filter_map(Value::as_node)
    }

    /// A field that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.field(name).number()
    }

    /// A field that is an OID; 0 for none.
    pub(crate) fn oid(&self, name: &str) -> u32 {
        self.field(name).number().and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    }

    /// A field that is a word.
    pub(crate) fn word(&self, name: &str) -> &str {
        match self.field(name) {
            Value::Word(word) => word,
            _ => "",
        }
    }

    /// Whether a field is `true`.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.word(name) == "true"
    }

    /// All of its values, whatever they are called.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.fields.iter().flat_map(|(_, values)| values)
    }

    /// The same thing, wherever in the statement it was written.
    pub(crate) fn means(&self, other: &Node) -> bool {
        let meant = |node: &Node| -> Vec<usize> {
            let fields = node.fields.iter().enumerate();
            fields.filter(|(_, (name, _))| name != "location").map(|(index, _)| index).collect()
        };
        let (mine, theirs) = (meant(self), meant(other));
        self.tag == other.tag
            && mine.len() == theirs.len()
            && mine.iter().zip(&theirs).all(|(mine, theirs)| {
                let ((name, values), (other, others)) = (&self.fields[*mine], &other.fields[*theirs]);
                name == other
                    && values.len() == others.len()
                    && values.iter().zip(others).all(|(value, other)| value.means(other))
            })
    }
}

impl Value {
    pub(crate) fn as_node(&self) -> Option<&Node> {
        match self {
            Value::Node(node) => Some(node),
            _ => None,
        }
    }

    /// The pieces of a list; none of anything else.
    pub(crate) fn items(&self) -> &[Value] {
        match self {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The numbers of a list such as `(i 1 2)`.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = i64> {
        self.items().iter().filter_map(Value::number)
    }

    pub(crate) fn number(&self) -> Option<i64> {
        match self {
            Value::Word(word) => word.parse().ok(),
            _ => None,
        }
    }

    fn means(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Node(one), Value::Node(other)) => one.means(other),
            (Value::List(one), Value::List(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.means(other))
            }
            _ => self == other,
        }
    }
}

/// A node or list that is not closed yet.
enum OpenTreeNode {
    List(Vec<Value>),
    /// Its tag is not read yet.
    Untagged,
    Node(Node),
}

/// Reads a tree; None for a text that is none, or that is too deep.
pub(crate) fn parse(text: &str) -> Option<Value> {
    let mut rest = Tokens { text: text.as_bytes(), place: 0 };
    let mut open: Vec<OpenTreeNode> = Vec::new();
    while let Some(token) = rest.next() {
        let value = match token {
            TreeToken::OpenTreeNode(b'(') => {
                open.push(OpenTreeNode::List(Vec::new()));
                None
            }
            TreeToken::OpenTreeNode(_) => {
                open.push(OpenTreeNode::Untagged);
                None
            }
            TreeToken::Close(bracket) => match (bracket, open.pop()?) {
                (b')', OpenTreeNode::List(items)) => Some(Value::List(items)),
                (b'}', OpenTreeNode::Node(node)) => Some(Value::Node(node)),
                _ => return None,
            },
            TreeToken::Word(raw) => match open.last_mut() {
                Some(last @ OpenTreeNode::Untagged) => {
                    *last = OpenTreeNode::Node(Node { tag: plain(raw), fields: Vec::new() });
                    None
                }
                Some(OpenTreeNode::Node(node)) if is_field(node, raw) => {
                    node.fields.push((plain(&raw[1..]), Vec::new()));
                    None
                }
                _ => Some(word(raw)),
            },
        };
        if open.len() > DEEPEST {
            return None;
        }
        let Some(value) = value else { continue };
        match open.last_mut() {
            None => return rest.is_at_end().then_some(value),
            Some(OpenTreeNode::List(items)) => items.push(value),
            Some(OpenTreeNode::Node(node)) => node.fields.last_mut()?.1.push(value),
            Some(OpenTreeNode::Untagged) => return None,
        }
    }
    None
}

/// Whether a word names the next field: it begins with `:`, and the field before has its value. A value may begin so too.
fn is_field(node: &Node, raw: &[u8]) -> bool {
    raw.first() == Some(&b':') && node.fields.last().is_none_or(|(_, values)| !values.is_empty())
}

/// A word as it was before it was written. Strings among others stand in quotes.
fn word(raw: &[u8]) -> Value {
    match raw {
        b"<>" => Value::Nothing,
        [b'"', inner @ .., b'"'] => Value::Word(plain(inner)),
        _ => Value::Word(plain(raw)),
    }
}

/// Without its backslashes.
fn plain(raw: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut escaped = false;
    for byte in raw {
        if *byte == b'\\' && !escaped {
            escaped = true;
        } else {
            bytes.push(*byte);
            escaped = false;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

enum TreeToken<'t> {
    OpenTreeNode(u8),
    Close(u8),
    Word(&'t [u8]),
}

struct Tokens<'t> {
    text: &'t [u8],
    place: usize,
}

impl<'t> Tokens<'t> {
    fn next(&mut self) -> Option<TreeToken<'t>> {
        self.skip_blanks();
        let start = self.place;
        let first = *self.text.get(start)?;
        self.place += 1;
        match first {
            b'(' | b'{' => return Some(TreeToken::OpenTreeNode(first)),
            b')' | b'}' => return Some(TreeToken::Close(first)),
            _ => self.place = start,
        }
        while let Some(byte) = self.text.get(self.place) {
            match byte {
                b' ' | b'\n' | b'\t' | b'(' | b')' | b'{' | b'}' => break,
                b'\\' => self.place += 2,
                _ => self.place += 1,
            }
        }
        self.place = self.place.min(self.text.len());
        Some(TreeToken::Word(&self.text[start..self.place]))
    }

    fn skip_blanks(&mut self) {
        while matches!(self.text.get(self.place), Some(b' ' | b'\n' | b'\t')) {
            self.place += 1;
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_blanks();
        self.place == self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn node(text: &str) -> Node {
        match parse(text) {
            Some(Value::Node(node)) => node,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_are_read_whatever_their_form() {
        let read = node(
            r#"{CONST :consttype 23 :constisnull false :constvalue 4 [ 1 0 0 0 0 0 0 0 ] :none <> :oids (o 23 -1)
                :bits (b 1 2) :names ("a" "b\ \(c\)" "") :name weird\ \{\ :z :colon :z :next 1 :kind r}"#,
        );
        assert_eq!(read.tag, "CONST");
        assert_eq!(
            (read.oid("consttype"), read.is("constisnull"), read.number("constvalue")),
            (23, false, Some(4))
        );
        assert_eq!(read.field("none"), &Value::Nothing);
        assert_eq!(read.field("missing"), &Value::Nothing);
        assert_eq!(read.field("oids").numbers().collect::<Vec<_>>(), [23, -1]);
        assert_eq!(read.field("bits").numbers().collect::<Vec<_>>(), [1, 2]);
        let names: Vec<_> = ["a", "b (c)", ""].map(|name| Value::Word(name.to_owned())).into();
        assert_eq!(read.field("names"), &Value::List(names));
        assert_eq!((read.word("colon"), read.number("next"), read.word("kind")), (":z", Some(1), "r"));
    }

    #[test]
    fn a_name_that_looks_like_a_field_is_a_value() {
        let read = node(r"{ALIAS :aliasname :colnames :colnames <>}");
        assert_eq!((read.word("aliasname"), read.field("colnames")), (":colnames", &Value::Nothing));
    }

    #[test]
    fn the_same_means_the_same_wherever_it_stands() {
        let one = node("{VAR :varno 1 :args ({CONST :location 3}) :location 1}");
        assert!(one.means(&node("{VAR :varno 1 :args ({CONST :location 9}) :location 2}")));
        assert!(!one.means(&node("{VAR :varno 2 :args ({CONST :location 3}) :location 1}")));
        assert!(!one.means(&node("{VAR :varno 1 :args () :location 1}")));
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        for text in ["", "(", "{", "{}", "{A", "{A :b (}", ")", "1 2", "{A b}", "({A :b 1}", "{{A}}"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"(".repeat(100_000)), None);
        assert_eq!(parse(&format!("{}{}", "(".repeat(DEEPEST + 1), ")".repeat(DEEPEST + 1))), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"[(){}:\\<>"a1 \[\]]{0,60}"#) {
            let _ = parse(&text);
        }

        #[test]
        fn no_characters_make_it_panic(text in ".{0,60}") {
            let _ = parse(&text);
        }
    }
}
