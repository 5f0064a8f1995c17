//! A block of an annotated SQL file, as it was written.

use crate::diagnostic::Place;

/// A header and what stands below it, up to the next header.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The word of its header.
    pub kind: BlockKind,
    /// The name in its header; one that begins with `_` is checked and generates nothing.
    pub name: String,
    /// Where the name stands.
    pub place: Place,
    /// `:one`, `:result=User` and the like, in order.
    pub modifiers: Vec<Modifier>,
    /// `@set name = value`, in order, which is the order of parameters.
    pub variables: Vec<Variable>,
    /// `params:` of the header's YAML: variable → type, `not null`, `null`, or both (`bigint not null`).
    pub params: Vec<Override>,
    /// `result:` of the header's YAML: column → the same.
    pub result: Vec<Override>,
    /// `choices:` of the header's YAML: variable → texts of SQL of which callers pick one.
    pub choices: Vec<Choices>,
    /// The comments directly above the header, a line each, without comment marks.
    pub documentation: Vec<String>,
    /// The statement without free comments above it and without its last semicolon.
    pub body: Vec<Piece>,
}

/// The words of headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Returns rows.
    Query,
    /// Changes rows and returns their number.
    Exec,
    /// A step of the schema's history, in the order of the files.
    Migrate,
    /// A schema that somebody else owns; runs first, is never emitted.
    Baseline,
    /// Rows for describing only.
    Testdata,
    /// A table whose rows are written.
    Table,
}

impl BlockKind {
    /// Callers give values for its variables.
    #[must_use]
    pub fn has_parameters(self) -> bool {
        matches!(self, Self::Query | Self::Exec)
    }
}

/// `:name` or `:name=value` or `:name(a, b)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Modifier {
    /// Without the colon.
    pub name: String,
    /// What stands behind `=`.
    pub value: Option<String>,
    /// What stands in parentheses.
    pub arguments: Option<Vec<String>>,
    /// Where it stands.
    pub place: Place,
}

/// `@set name = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value as SQL; `null` makes the parameter nullable.
    pub value: String,
    /// Where the name stands.
    pub place: Place,
}

/// What the header's YAML says of a parameter or column.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// The variable or column.
    pub name: String,
    /// A type as SQL writes it.
    pub ty: Option<String>,
    /// `not null` is `Some(false)`, `null` is `Some(true)`.
    pub nullable: Option<bool>,
    /// Where it stands.
    pub place: Place,
}

/// What the header's YAML lets a variable be: one of some texts of SQL.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// The variable.
    pub name: String,
    /// The texts, in order, each with its place.
    pub options: Vec<(String, Place)>,
    /// Where the name stands.
    pub place: Place,
}

impl Block {
    /// The texts of which a variable is one, if it has some.
    #[must_use]
    pub fn choices_of(&self, name: &str) -> Option<&Choices> {
        self.choices.iter().find(|choices| choices.name == name)
    }

    /// Texts and variables, those of optional lines too, each with the name that its line has behind `--?`.
    pub fn pieces(&self) -> impl Iterator<Item = (Option<&str>, &Piece)> {
        self.body.iter().flat_map(|piece| match piece {
            Piece::Optional { name, pieces, .. } => {
                pieces.iter().map(|piece| (Some(name.as_str()), piece)).collect::<Vec<_>>()
            }
            piece => vec![(None, piece)],
        })
    }

    /// Whether the name of an optional line is that of a variable; else it is a switch, true or false.
    #[must_use]
    pub fn is_variable(&self, name: &str) -> bool {
        self.variables.iter().any(|variable| variable.name == name)
    }
}

/// A piece of a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// SQL as it stands in the file, with a blank behind it if a variable follows a word directly.
    ///
    /// A text that is chosen is no part of the words around it: a blank of its own may stand behind such a variable.
    Text {
        /// The SQL.
        text: String,
        /// Where its first character stands; the text may go on over several lines.
        place: Place,
    },
    /// `${name}`.
    Variable {
        /// The variable.
        name: String,
        /// Where `$` stands.
        place: Place,
    },
    /// A line with `--? name` at its end, and the line end before it, without the comment.
    Optional {
        /// What decides whether it is there: a variable that is not null, or a switch that is true.
        name: String,
        /// What the line is made of: texts and variables.
        pieces: Vec<Piece>,
        /// Where the name stands.
        place: Place,
    },
}
