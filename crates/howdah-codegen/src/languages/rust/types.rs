//! PostgreSQL's types in Rust: that of a value, and that of a parameter, which is borrowed.

use std::collections::{BTreeMap, BTreeSet};

use super::view::{Composite, Enum, Field, Label, Mapping, Struct};
use super::words::{label_scope, value_scope};
use super::{layout, literal};
use crate::languages::custom::Standing;
use crate::languages::{CustomType, names};
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
    /// The driver's type by which its literals are written, where no server need be asked for one.
    literal: Option<String>,
    /// How it stands for another, if it does.
    through: Option<Through>,
}

/// A mapping, for a value or for each element of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Through {
    mapping: String,
    each: bool,
}

impl RustType {
    /// Of one whose literals are the same whatever its type is.
    fn new(owned: &str, borrowed: &str) -> Self {
        Self {
            owned: owned.to_owned(),
            borrowed: borrowed.to_owned(),
            binary: true,
            literal: Some("TEXT".to_owned()),
            through: None,
        }
    }

    fn written_as(self, literal: Option<String>) -> Self {
        Self { literal, ..self }
    }

    /// Puts a field into a row of howdah's own client; none if that cannot carry it.
    pub(super) fn put(&self, field: &str, nullable: bool) -> Option<String> {
        let ty = self.literal.as_ref()?;
        let own = ["bool", "i16", "i32", "i64", "u32", "f32", "f64", "String", "Vec<u8>"];
        let given = self.given(&self.borrow(field, nullable), nullable);
        if given.is_none() && own.contains(&self.owned.as_str()) {
            return Some(layout::call("        fields.put(", &[format!("&{field}")], ")?;"));
        }
        let given = given.unwrap_or_else(|| field.to_owned());
        let arguments = ["fields".to_owned(), format!("&{given}"), format!("&pg::Type::{ty}")];
        Some(layout::call("        runtime::put(", &arguments, ")?;"))
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

    /// Reads a column.
    pub(super) fn read(&self, index: usize, nullable: bool) -> String {
        let how = if nullable { "nullable" } else { "column" };
        format!("{}(row, {index})", self.reader(how))
    }

    /// What reads the only column.
    pub(super) fn read_value(&self, nullable: bool) -> String {
        self.reader(if nullable { "nullable_value" } else { "value" })
    }

    fn reader(&self, how: &str) -> String {
        match &self.through {
            None => format!("pg::{how}"),
            Some(Through { mapping, each: false }) => format!("pg::{how}_as::<{mapping}>"),
            Some(Through { mapping, each: true }) => format!("pg::{how}_as::<pg::Each<{mapping}>>"),
        }
    }

    /// What is given for one that is borrowed, if that is something else.
    pub(super) fn given(&self, borrowed: &str, nullable: bool) -> Option<String> {
        let Through { mapping, each } = self.through.as_ref()?;
        let each = if *each { "_each" } else { "" };
        let or_null = if nullable { "_or_null" } else { "" };
        Some(format!("pg::given{each}{or_null}::<{mapping}>({borrowed})"))
    }
}

fn optional(ty: &str, nullable: bool) -> String {
    if nullable { format!("Option<{ty}>") } else { ty.to_owned() }
}

/// The types of one file: what was declared for those that it mentions.
pub(super) struct Types<'m> {
    definitions: BTreeMap<&'m TypeName, &'m Definition>,
    custom: &'m [CustomType],
    known: BTreeMap<TypeName, RustType>,
    /// Names of types.
    pub(super) scope: names::Scope,
    /// In the order in which they were first mentioned, what they are made of first.
    pub(super) enums: Vec<Enum>,
    pub(super) composites: Vec<Composite>,
    /// What the user's types stand for, and what the file uses for them.
    pub(super) mappings: Vec<Mapping>,
    pub(super) imports: BTreeSet<String>,
}

/// A type of `pg_catalog` that has a mapping. The others are their literals.
fn builtin(name: &str) -> Option<RustType> {
    let copied = |ty| Some(RustType::new(ty, ty));
    let ty = match name {
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
    };
    ty.map(|ty| ty.written_as(Some(name.to_uppercase())))
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
        literal: element
            .literal
            .as_ref()
            .filter(|of| !of.ends_with("_ARRAY"))
            .map(|of| format!("{of}_ARRAY")),
        through: element.through.clone().map(|through| Through { each: true, ..through }),
    }
}

fn range(bound: &RustType) -> RustType {
    let owned = format!("pg::Range<{}>", bound.owned);
    RustType { binary: bound.binary, ..RustType::new(&owned, &format!("&{owned}")) }
}

fn multirange(range: &RustType) -> RustType {
    let owned = &range.owned;
    RustType { binary: range.binary, ..RustType::new(&format!("Vec<{owned}>"), &format!("&[{owned}]")) }
}

impl<'m> Types<'m> {
    pub(super) fn new(model: &'m Model, custom: &'m [CustomType], scope: names::Scope) -> Self {
        Self {
            custom,
            definitions: model.types.iter().map(|definition| (&definition.name, definition)).collect(),
            known: BTreeMap::new(),
            scope,
            enums: Vec::new(),
            composites: Vec::new(),
            mappings: Vec::new(),
            imports: BTreeSet::new(),
        }
    }

    /// Gives the type of a place, and declares what it needs.
    pub(super) fn of(&mut self, ty: &TypeRef) -> RustType {
        match Standing::of(ty, self.custom) {
            Standing::Nowhere => {
                let element = self.scalar(&ty.name);
                if ty.array { array(&element) } else { element }
            }
            Standing::ForElements(own) => {
                let element = self.scalar(&ty.name);
                array(&self.custom(own, &element))
            }
            Standing::ForAll(own) => {
                let plain = self.of(&TypeRef { custom: None, ..ty.clone() });
                self.custom(own, &plain)
            }
        }
    }

    /// A type of the user's, which stands for another: by a mapping, or because it is the other or writes itself.
    fn custom(&mut self, own: &CustomType, ty: &RustType) -> RustType {
        self.imports.extend(own.imports.iter().map(|import| imported(import)));
        let maps = own.decode.is_some() || own.encode.is_some();
        let through = maps.then(|| Through { mapping: self.mapping(own, &ty.owned), each: false });
        RustType {
            binary: ty.binary,
            literal: ty.literal.clone(),
            through,
            ..RustType::new(&own.name, &format!("&{}", own.name))
        }
    }

    /// The name of a mapping that the file has, once.
    fn mapping(&mut self, own: &CustomType, base: &str) -> String {
        let made = Mapping {
            name: String::new(),
            own: own.name.clone(),
            base: base.to_owned(),
            decode: own.decoded("value").unwrap_or_else(|| "value".to_owned()),
            // A method's call on a number would be one that clippy finds needless.
            encode: own.encoded("value").unwrap_or_else(|| "Clone::clone(value)".to_owned()),
        };
        let known =
            self.mappings.iter().find(|known| Mapping { name: String::new(), ..(*known).clone() } == made);
        if let Some(known) = known {
            return known.name.clone();
        }
        let name = self.scope.give(&format!("As{}", names::pascal(&own.stem(), "type"))).name;
        self.mappings.push(Mapping { name: name.clone(), ..made });
        name
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
            TypeKind::Range { subtype } => range(&self.of(subtype)).written_as(None),
            TypeKind::Multirange { range } => multirange(&self.of(range)).written_as(None),
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
        RustType { binary, literal: None, ..RustType::new(&given, &format!("&{given}")) }
    }
}

fn of_catalog(name: &str) -> RustType {
    if let Some(ty) = builtin(name) {
        return ty;
    }
    match builtin_range(name).and_then(|(subtype, several)| Some((builtin(subtype)?, several))) {
        Some((bound, false)) => range(&bound).written_as(Some(range_constant(name, "range", "_RANGE"))),
        Some((bound, true)) => {
            let literal = range_constant(name, "multirange", "MULTI_RANGE");
            multirange(&range(&bound)).written_as(Some(literal))
        }
        // Its arrays have another delimiter than all others.
        None if name == "box" => literal_of_it().written_as(Some("BOX".to_owned())),
        None => literal_of_it(),
    }
}

/// The driver's constant for a range or a multirange: `INT4_RANGE`, `INT4MULTI_RANGE`.
fn range_constant(name: &str, word: &str, written: &str) -> String {
    name.trim_end_matches(word).to_uppercase() + written
}

/// A line among those that say what is used, from a path or from all of the line.
fn imported(import: &str) -> String {
    let path = import.trim_start_matches("use ").trim_end_matches(';').trim();
    format!("use {path};")
}

fn constant(name: &TypeName) -> String {
    layout::constant("    const NAME: &'static str =", &literal::word(&name.name))
}

fn shown(name: &TypeName) -> String {
    literal::documentation(&format!("{}.{}", name.schema, name.name))
}
