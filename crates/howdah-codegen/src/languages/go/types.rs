//! PostgreSQL's types in Go: the type of a value, and the codec that reads and writes it.

use std::collections::{BTreeMap, BTreeSet};

use super::literal;
use super::view::{Alias, Composite, Enum, Field, Struct, Variable};
use super::words::{exported, lower};
use crate::languages::custom::Standing;
use crate::languages::delimiter::delimiter;
use crate::languages::{CustomType, names};
use crate::model::{Definition, Model, TypeKind, TypeName, TypeRef};

/// A type as Go code mentions it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GoType {
    pub(super) name: String,
    /// The variable of its codec.
    pub(super) codec: String,
    /// It has no binary form here: its values are literals.
    text: bool,
    /// What its name needs.
    pub(super) imports: BTreeSet<&'static str>,
}

impl GoType {
    /// The type of a field, a parameter or a result.
    pub(super) fn declared(&self, nullable: bool) -> String {
        if nullable { format!("*{}", self.name) } else { self.name.clone() }
    }
}

/// The types of a package: what was declared for those that the model has, and codecs that files make for themselves.
pub(super) struct Types<'m> {
    definitions: BTreeMap<&'m TypeName, &'m Definition>,
    custom: &'m [CustomType],
    known: BTreeMap<TypeName, GoType>,
    constants: BTreeMap<String, String>,
    /// Names of the package.
    pub(super) scope: names::Scope,
    /// What the file imports for names of types.
    pub(super) imports: BTreeSet<&'static str>,
    /// What the file imports for the user's types: `ids "example.com/app/ids"`.
    pub(super) custom_imports: BTreeSet<String>,
    /// In the order in which they were first mentioned, what they are made of first.
    pub(super) enums: Vec<Enum>,
    pub(super) aliases: Vec<Alias>,
    pub(super) composites: Vec<Composite>,
    pub(super) codecs: Vec<Variable>,
}

const TIME: Option<&str> = Some("time");
const JSON: Option<&str> = Some("encoding/json");
const NETIP: Option<&str> = Some("net/netip");

/// The name and the import of a type of `pg_catalog` that has a mapping. The others are their literals.
fn builtin(name: &str) -> Option<(&'static str, Option<&'static str>)> {
    Some(match name {
        "bool" => ("bool", None),
        "int2" => ("int16", None),
        "int4" => ("int32", None),
        "int8" => ("int64", None),
        "oid" => ("uint32", None),
        "float4" => ("float32", None),
        "float8" => ("float64", None),
        "numeric" => ("Numeric", None),
        "text" | "varchar" | "bpchar" | "name" => ("string", None),
        "json" | "jsonb" => ("json.RawMessage", JSON),
        "bytea" => ("[]byte", None),
        "uuid" => ("UUID", None),
        "date" | "timestamp" | "timestamptz" => ("time.Time", TIME),
        "time" => ("time.Duration", TIME),
        "timetz" => ("TimeTZ", None),
        "interval" => ("Interval", None),
        "inet" | "cidr" => ("netip.Prefix", NETIP),
        _ => return None,
    })
}

/// The subtype of a range of `pg_catalog`, or the range of a multirange.
fn builtin_range(name: &str) -> Option<(&'static str, bool)> {
    Some(match name {
        "int4range" => ("int4", false),
        "int8range" => ("int8", false),
        "numrange" => ("numeric", false),
        "daterange" => ("date", false),
        "tsrange" => ("timestamp", false),
        "tstzrange" => ("timestamptz", false),
        "int4multirange" => ("int4range", true),
        "int8multirange" => ("int8range", true),
        "nummultirange" => ("numrange", true),
        "datemultirange" => ("daterange", true),
        "tsmultirange" => ("tsrange", true),
        "tstzmultirange" => ("tstzrange", true),
        _ => return None,
    })
}

impl<'m> Types<'m> {
    pub(super) fn new(model: &'m Model, custom: &'m [CustomType], scope: names::Scope) -> Self {
        Self {
            custom,
            custom_imports: BTreeSet::new(),
            definitions: model.types.iter().map(|definition| (&definition.name, definition)).collect(),
            known: BTreeMap::new(),
            constants: BTreeMap::new(),
            scope,
            imports: BTreeSet::new(),
            enums: Vec::new(),
            aliases: Vec::new(),
            composites: Vec::new(),
            codecs: Vec::new(),
        }
    }

    /// Gives the type of a place.
    pub(super) fn of(&mut self, ty: &TypeRef) -> GoType {
        match Standing::of(ty, self.custom) {
            Standing::Nowhere => {
                let element = self.scalar(&ty.name);
                if ty.array { self.array(&ty.name, element) } else { element }
            }
            Standing::ForElements(own) => {
                let element = self.scalar(&ty.name);
                let element = self.custom(own, element);
                self.array(&ty.name, element)
            }
            Standing::ForAll(own) => {
                let plain = self.of(&TypeRef { custom: None, ..ty.clone() });
                self.custom(own, plain)
            }
        }
    }

    /// A type of the user's, which stands for another.
    fn custom(&mut self, own: &CustomType, ty: GoType) -> GoType {
        self.mention(&ty);
        self.custom_imports.extend(own.imports.iter().map(|import| imported(import)));
        let through = |made: Option<String>| made.unwrap_or_else(|| "value".to_owned());
        let (make, take) = (through(own.decoded("value")), through(own.encoded("value")));
        let value = format!(
            "mapped({codec}, func(value {base}) {name} {{ return {make} }}, func(value {name}) {base} {{ return {take} }})",
            codec = ty.codec,
            base = ty.name,
            name = own.name,
        );
        let codec = self.constant(&lower(&exported(&own.stem(), "type")), value);
        GoType { name: own.name.clone(), codec, text: ty.text, imports: BTreeSet::new() }
    }

    /// The codecs that are there.
    pub(super) fn constants(&self) -> BTreeMap<String, String> {
        self.constants.clone()
    }

    /// Begins another file, which has codecs of its own but for some that are known.
    pub(super) fn begin_file(&mut self, known: &BTreeMap<String, String>) {
        self.constants.clone_from(known);
        self.codecs.clear();
        self.imports.clear();
        self.custom_imports.clear();
    }

    /// Notes what a file needs to mention a type.
    pub(super) fn mention(&mut self, ty: &GoType) {
        self.imports.extend(&ty.imports);
    }

    /// A codec that the file makes, once.
    fn constant(&mut self, stem: &str, value: String) -> String {
        if let Some(name) = self.constants.get(&value) {
            return name.clone();
        }
        let name = self.scope.give(&format!("{stem}Codec")).name;
        self.constants.insert(value.clone(), name.clone());
        self.codecs.push(Variable { name: name.clone(), value });
        name
    }

    fn scalar(&mut self, name: &TypeName) -> GoType {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let ty = if name.schema == "pg_catalog" { self.of_catalog(name) } else { self.of_user(name) };
        // Codecs of ranges are made by each file that needs one.
        if !ty.name.contains("ange[") {
            self.known.insert(name.clone(), ty.clone());
        }
        ty
    }

    fn of_catalog(&mut self, name: &TypeName) -> GoType {
        if let Some((go, import)) = builtin(&name.name) {
            let imports = import.into_iter().collect();
            return GoType { name: go.into(), codec: format!("{}Codec", name.name), text: false, imports };
        }
        let Some((part, several)) = builtin_range(&name.name) else { return text() };
        let part = self.scalar(&TypeName { schema: "pg_catalog".into(), name: part.into() });
        if several { self.multirange(name, part) } else { self.range(name, part) }
    }

    fn of_user(&mut self, name: &TypeName) -> GoType {
        let Some(definition) = self.definitions.get(name).copied() else { return text() };
        match &definition.kind {
            TypeKind::Enum { labels } => self.enumeration(name, labels),
            TypeKind::Domain { base, .. } => self.domain(name, base),
            TypeKind::Composite { fields } => {
                let fields = fields.iter().map(|field| (field.name.clone(), self.of(&field.ty))).collect();
                self.composite(name, fields)
            }
            TypeKind::Range { subtype } => {
                let bound = self.of(subtype);
                self.range(name, bound)
            }
            TypeKind::Multirange { range } => {
                let range = self.of(range);
                self.multirange(name, range)
            }
            TypeKind::Base => text(),
        }
    }

    fn array(&mut self, name: &TypeName, element: GoType) -> GoType {
        let delimiter = delimiter(name, &self.definitions);
        let value = format!("arrayOf({}, {}, '{delimiter}')", element.codec, place(name));
        let stem = match element.text {
            true => lower(&exported(&name.name, "type")),
            false => element.codec.trim_end_matches("Codec").to_owned(),
        };
        let codec = self.constant(&format!("{stem}Array"), value);
        GoType { name: format!("Array[{}]", element.name), codec, ..element }
    }

    fn enumeration(&mut self, name: &TypeName, labels: &[String]) -> GoType {
        let own = self.scope.give(&exported(&name.name, "enum")).name;
        let names = labels
            .iter()
            .map(|label| self.scope.give(&format!("{own}{}", exported(label, "label"))).name)
            .collect::<Vec<_>>();
        let width = names.iter().map(String::len).max().unwrap_or_default();
        let constants = names.iter().zip(labels);
        let constants = constants.map(|(name, label)| Variable {
            name: format!("{name:width$} {own}"),
            value: literal::string(label),
        });
        let documentation = literal::documentation(&format!("{own} is the enum {}.", shown(name)), &[]);
        self.enums.push(Enum {
            labels: constants.collect(),
            names: names.join(", "),
            documentation,
            name: own.clone(),
        });
        let codec = self.constant(&lower(&own), format!("enumOf[{own}]({})", place(name)));
        GoType { name: own, codec, text: false, imports: BTreeSet::new() }
    }

    fn domain(&mut self, name: &TypeName, base: &TypeRef) -> GoType {
        let base = self.of(base);
        self.mention(&base);
        let own = self.alias(name, &base.name, "the domain");
        let codec = self.constant(&lower(&own), format!("domainOf({}, {})", base.codec, place(name)));
        GoType { name: own, codec, text: base.text, imports: BTreeSet::new() }
    }

    fn alias(&mut self, name: &TypeName, ty: &str, what: &str) -> String {
        let own = self.scope.give(&exported(&name.name, "type")).name;
        let documentation = literal::documentation(&format!("{own} is {what} {}.", shown(name)), &[]);
        self.aliases.push(Alias { name: own.clone(), ty: ty.to_owned(), documentation });
        own
    }

    fn composite(&mut self, name: &TypeName, types: Vec<(String, GoType)>) -> GoType {
        if types.iter().any(|(_, ty)| ty.text) {
            let own = self.alias(name, "string", "a literal of");
            return GoType { name: own, ..text() };
        }
        let own = self.scope.give(&exported(&name.name, "type")).name;
        let mut scope = names::Scope::new(&[]);
        let fields = types.into_iter().map(|(field, ty)| {
            self.mention(&ty);
            let field = scope.give(&exported(&field, "field")).name;
            Field {
                padded: String::new(),
                name: field,
                ty: ty.declared(true),
                codec: ty.codec,
                nullable: true,
            }
        });
        let fields = padded(fields.collect());
        let documentation = literal::documentation(&format!("{own} is a value of {}.", shown(name)), &[]);
        let codec = self.scope.give(&format!("{}Codec", lower(&own))).name;
        self.composites.push(Composite {
            own: Struct { name: own.clone(), documentation, fields },
            codec: codec.clone(),
            schema: literal::string(&name.schema),
            name: literal::string(&name.name),
        });
        GoType { name: own, codec, text: false, imports: BTreeSet::new() }
    }

    fn range(&mut self, name: &TypeName, bound: GoType) -> GoType {
        if bound.text {
            return text();
        }
        let value = format!("rangeOf({}, {})", bound.codec, place(name));
        let codec = self.constant(&lower(&exported(&name.name, "range")), value);
        GoType { name: format!("Range[{}]", bound.name), codec, ..bound }
    }

    fn multirange(&mut self, name: &TypeName, range: GoType) -> GoType {
        let Some(bound) = range.name.strip_prefix("Range") else { return text() };
        let name_of = format!("Multirange{bound}");
        let value = format!("multirangeOf({}, {})", range.codec, place(name));
        let codec = self.constant(&lower(&exported(&name.name, "multirange")), value);
        GoType { name: name_of, codec, ..range }
    }
}

/// Puts the types of fields into a column, as gofmt does.
pub(super) fn padded(mut fields: Vec<Field>) -> Vec<Field> {
    let width = fields.iter().map(|field| field.name.len()).max().unwrap_or_default();
    for field in &mut fields {
        field.padded = format!("{:width$}", field.name);
    }
    fields
}

fn text() -> GoType {
    GoType { name: "string".into(), codec: "literalCodec".into(), text: true, imports: BTreeSet::new() }
}

/// A line among the imports, from `ids example.com/app/ids`, with quotes or without.
fn imported(import: &str) -> String {
    let line = import.trim_start_matches("import ").replace('"', "");
    match line.trim().rsplit_once(' ') {
        Some((alias, path)) => format!("{} \"{path}\"", alias.trim()),
        None => format!("\"{}\"", line.trim()),
    }
}

/// A type's schema and name as arguments.
fn place(name: &TypeName) -> String {
    format!("{}, {}", literal::string(&name.schema), literal::string(&name.name))
}

fn shown(name: &TypeName) -> String {
    format!("{}.{}", name.schema, name.name)
}
