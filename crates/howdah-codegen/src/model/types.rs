//! Types of PostgreSQL by name, and those that users defined with what they are made of.

use serde::{Deserialize, Serialize};

/// The name of a type, without quotes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TypeName {
    /// `pg_catalog` for those that are built in.
    pub schema: String,
    /// As in `pg_type`: `int8`, `timestamptz`, `mood`.
    pub name: String,
}

/// A type where it is used.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TypeRef {
    /// The type, or that of an array's elements.
    #[serde(flatten)]
    pub name: TypeName,
    /// An array of it, of any number of dimensions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub array: bool,
    /// As SQL writes it, schema-qualified and quoted where it is not built in: `numeric(10,2)`, `public.mood[]`.
    pub sql: String,
    /// What stands for it in the code of one generator, which no model says.
    #[serde(skip)]
    pub custom: Option<Custom>,
}

/// A type of the user's that stands for one of the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Custom {
    /// Its index among those of the generator.
    pub index: usize,
    /// It stands for all of an array, and not for each element.
    pub whole: bool,
}

/// A type that is not built in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Its name.
    #[serde(flatten)]
    pub name: TypeName,
    /// What it is made of.
    #[serde(flatten)]
    pub kind: TypeKind,
    /// Its comment in the catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// What a type is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TypeKind {
    /// Labels, in their order.
    Enum {
        /// As the server spells them.
        labels: Vec<String>,
    },
    /// Another type with rules.
    Domain {
        /// What it is a domain over.
        base: TypeRef,
        /// NOT NULL.
        not_null: bool,
    },
    /// Fields, in their order.
    Composite {
        /// At least one.
        fields: Vec<Field>,
    },
    /// A range of its subtype.
    Range {
        /// The type of its bounds.
        subtype: TypeRef,
    },
    /// Several ranges.
    Multirange {
        /// The range.
        range: TypeRef,
    },
    /// A type of an extension, or a base type that somebody made: its text is all that is known.
    Base,
}

/// A field of a composite type. It can always be null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: TypeRef,
}
