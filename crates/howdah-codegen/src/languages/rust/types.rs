//! PostgreSQL's types in Rust: that of a value, and that of a parameter, which is borrowed.

use std::collections::BTreeMap;

use super::view::{Composite, Enum, Field, Label, Struct};
use super::words::{label_scope, value_scope};
use super::{layout, literal};
use crate::languages::names;
use crate::model::{Definition, Model, TypeKind, TypeName, TypeRef};

/// A type as Rust code mentions it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RustType {
    /// Of a value that somebody owns.
    pub(super) owned: String,
    /// Of a parameter.
    pub(super) borrowed: String,
    /// It has a binary form; otherwise it is written as its literal and cannot be read.
    pub(super) binary: bool,
}

impl RustType {
    fn new(owned: &str, borrowed: &str) -> Self {
        Self { owned: owned.to_owned(), borrowed: borrowed.to_owned(), binary: true }
    }

    /// The type of a field or a result.
    pub(super) fn owned(&self, nullable: bool) -> String {
        optional(&self.owned, nullable)
    }

    /// The type of a parameter.
    pub(super) fn borrowed(&self, nullable: bool) -> String {
        optional(&self.borrowed, nullable)
    }

    /// A field as a parameter.
    pub(super) fn borrow(&self, field: &str, nullable: bool) -> String {
        match (self.borrowed.strip_prefix('&'), nullable) {
            (None, _) => field.to_owned(),
            (Some(_), false) => format!("&{field}"),
            (Some(whole), true) if whole == self.owned => format!("{field}.as_ref()"),
            (Some(_), true) => format!("{field}.as_deref()"),
        }
    }
}

fn optional(ty: &str, nullable: bool) -> String {
    if nullable { format!("Option<{ty}>") } else { ty.to_owned() }
}

/// The types of one file: what was declared for those that it mentions.
pub(super) struct Types<'m> {
    definitions: BTreeMap<&'m TypeName, &'m Definition>,
    known: BTreeMap<TypeName, RustType>,
    /// Names of types.
    pub(super) scope: names::Scope,
    /// In the order in which they were first mentioned, what they are made of first.
    pub(super) enums: Vec<Enum>,
    pub(super) composites: Vec<Composite>,
}

/// A type of `pg_catalog` that has a mapping. The others are their literals.
fn builtin(name: &str) -> Option<RustType> {
    let copied = |ty| Some(RustType::new(ty, ty));
    match name {
        "bool" => copied("bool"),
        "int2" => copied("i16"),
        "int4" => copied("i32"),
        "int8" => copied("i64"),
        "oid" => copied("u32"),
        "float4" => copied("f32"),
        "float8" => copied("f64"),
        "numeric" => Some(RustType::new("pg::Numeric", "&pg::Numeric")),
        "text" | "varchar" | "bpchar" | "name" | "json" | "jsonb" => Some(RustType::new("String", "&str")),
        "bytea" => Some(RustType::new("Vec<u8>", "&[u8]")),
        "uuid" => copied("uuid::Uuid"),
        "date" => copied("chrono::NaiveDate"),
        "time" => copied("chrono::NaiveTime"),
        "timetz" => copied("pg::TimeTz"),
        "timestamp" => copied("chrono::NaiveDateTime"),
        "timestamptz" => copied("chrono::DateTime<chrono::Utc>"),
        "interval" => copied("pg::Interval"),
        _ => None,
    }
}

/// The driver's constant for a type of `pg_catalog` that has a mapping, or an array of it.
pub(super) fn constant_of(ty: &TypeRef) -> Option<String> {
    let TypeName { schema, name } = &ty.name;
    let known = schema == "pg_catalog" && builtin(name).is_some();
    let array = if ty.array { "_ARRAY" } else { "" };
    known.then(|| format!("pg::Type::{}{array}", name.to_uppercase()))
}

/// The subtype of a range or a multirange of `pg_catalog`, and whether it is the latter.
fn builtin_range(name: &str) -> Option<(&'static str, bool)> {
    let (stem, several) = match name.strip_suffix("multirange") {
        Some(stem) => (stem, true),
        None => (name.strip_suffix("range")?, false),
    };
    let subtype = match stem {
        "int4" => "int4",
        "int8" => "int8",
        "num" => "numeric",
        "date" => "date",
        "ts" => "timestamp",
        "tstz" => "timestamptz",
        _ => return None,
    };
    Some((subtype, several))
}

fn literal_of_it() -> RustType {
    RustType { binary: false, ..RustType::new("pg::Literal", "&pg::Literal") }
}

fn array(element: &RustType) -> RustType {
    let owned = &element.owned;
    RustType {
        owned: format!("Vec<Option<{owned}>>"),
        borrowed: format!("&[Option<{owned}>]"),
        binary: element.binary,
    }
}

fn range(bound: &RustType) -> RustType {
    let owned = format!("pg::Range<{}>", bound.owned);
    RustType { borrowed: format!("&{owned}"), owned, binary: bound.binary }
}

fn multirange(range: &RustType) -> RustType {
    let owned = &range.owned;
    RustType { owned: format!("Vec<{owned}>"), borrowed: format!("&[{owned}]"), binary: range.binary }
}

impl<'m> Types<'m> {
    pub(super) fn new(model: &'m Model, scope: names::Scope) -> Self {
        Self {
            definitions: model.types.iter().map(|definition| (&definition.name, definition)).collect(),
            known: BTreeMap::new(),
            scope,
            enums: Vec::new(),
            composites: Vec::new(),
        }
    }

    /// Gives the type of a place, and declares what it needs.
    pub(super) fn of(&mut self, ty: &TypeRef) -> RustType {
        let element = self.scalar(&ty.name);
        if ty.array { array(&element) } else { element }
    }

    fn scalar(&mut self, name: &TypeName) -> RustType {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let ty = if name.schema == "pg_catalog" { of_catalog(&name.name) } else { self.of_user(name) };
        self.known.insert(name.clone(), ty.clone());
        ty
    }

    fn of_user(&mut self, name: &TypeName) -> RustType {
        let Some(definition) = self.definitions.get(name).copied() else { return literal_of_it() };
        match &definition.kind {
            TypeKind::Enum { labels } => self.enumeration(name, labels),
            TypeKind::Domain { base, .. } => self.of(base),
            TypeKind::Composite { fields } => {
                let fields = fields.iter().map(|field| (field.name.as_str(), self.of(&field.ty))).collect();
                self.composite(name, fields)
            }
            TypeKind::Range { subtype } => range(&self.of(subtype)),
            TypeKind::Multirange { range } => multirange(&self.of(range)),
            // Its binary form is that of text.
            TypeKind::Base if name.name == "citext" => RustType::new("String", "&str"),
            TypeKind::Base => literal_of_it(),
        }
    }

    fn enumeration(&mut self, name: &TypeName, labels: &[String]) -> RustType {
        let given = self.scope.give(&names::pascal(&name.name, "enum")).name;
        let mut scope = label_scope();
        let labels =
            labels.iter().map(|label| Label::new(scope.give(&names::pascal(label, "label")).name, label));
        let documentation = format!("The labels of {}.", shown(name));
        self.enums.push(Enum::new(given.clone(), documentation, labels.collect(), Some(constant(name))));
        RustType::new(&given, &given)
    }

    fn composite(&mut self, name: &TypeName, fields: Vec<(&str, RustType)>) -> RustType {
        let given = self.scope.give(&names::pascal(&name.name, "type")).name;
        let mut scope = value_scope();
        let binary = fields.iter().all(|(_, ty)| ty.binary);
        let fields = fields
            .into_iter()
            .map(|(field, ty)| Field::new(scope.give(&names::snake(field, "field")).name, &ty.owned(true)));
        let fields = fields.collect::<Vec<_>>();
        let made = fields.iter().map(|field| format!("{}: fields.take()?", field.name)).collect::<Vec<_>>();
        let documentation = format!("A value of {}.", shown(name));
        self.composites.push(Composite {
            declared: Struct { name: given.clone(), documentation, fields, made: None },
            constant: constant(name),
            binary,
            readable: binary,
            made: layout::made(&made),
        });
        RustType { binary, ..RustType::new(&given, &format!("&{given}")) }
    }
}

fn of_catalog(name: &str) -> RustType {
    if let Some(ty) = builtin(name) {
        return ty;
    }
    match builtin_range(name).and_then(|(subtype, several)| Some((builtin(subtype)?, several))) {
        Some((bound, false)) => range(&bound),
        Some((bound, true)) => multirange(&range(&bound)),
        None => literal_of_it(),
    }
}

fn constant(name: &TypeName) -> String {
    layout::constant("    const NAME: &'static str =", &literal::word(&name.name))
}

fn shown(name: &TypeName) -> String {
    literal::documentation(&format!("{}.{}", name.schema, name.name))
}
