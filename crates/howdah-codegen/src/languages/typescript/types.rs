//! PostgreSQL's types in TypeScript: the type of a value, and the codec that reads and writes it.

use std::collections::{BTreeMap, BTreeSet};

use super::literal;
use super::view::{Alias, Constant, Field, Interface};
use super::words::property_scope;
use crate::languages::custom::Standing;
use crate::languages::delimiter::delimiter;
use crate::languages::{CustomType, names};
use crate::model::{Definition, Model, TypeKind, TypeName, TypeRef};

/// A type as TypeScript code mentions it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TsType {
    /// Its name.
    pub(crate) name: String,
    /// The expression of its codec.
    pub(crate) codec: String,
    /// There is a binary form of it for COPY.
    pub(crate) binary: bool,
    /// Its values are arrays.
    is_array: bool,
}

impl TsType {
    /// The type of a field, parameter or result.
    pub(crate) fn declared(&self, nullable: bool) -> String {
        if nullable { format!("{} | null", self.name) } else { self.name.clone() }
    }

    /// Reads a column, from 0.
    pub(crate) fn read(&self, column: usize, name: &str, nullable: bool) -> String {
        let method = if nullable { "getOrNull" } else { "get" };
        format!("{}.{method}(row, {column}, {})", self.codec, literal::string(name))
    }

    /// Writes a parameter.
    pub(crate) fn write(&self, value: &str, name: &str, nullable: bool) -> String {
        let method = if nullable { "setOrNull" } else { "set" };
        format!("{}.{method}({value}, {})", self.codec, literal::string(name))
    }
}

/// The types of one file: what was declared for those that it mentions.
pub(crate) struct Types<'m> {
    definitions: BTreeMap<&'m TypeName, &'m Definition>,
    custom: &'m [CustomType],
    known: BTreeMap<TypeName, TsType>,
    known_constants: BTreeMap<String, String>,
    text_timestamps: bool,
    /// Names of the file.
    pub(crate) scope: names::Scope,
    /// In the order in which they were first mentioned, what they are made of first.
    pub(crate) aliases: Vec<Alias>,
    pub(crate) composites: Vec<Interface>,
    pub(crate) codecs: Vec<Constant>,
    /// What the file imports for the user's types.
    pub(crate) imports: BTreeSet<String>,
}

/// A type of `pg_catalog` that has a mapping, with its codec. The others are their literals.
fn builtin(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "bool" => ("boolean", "BOOL"),
        "int2" => ("number", "INT2"),
        "int4" => ("number", "INT4"),
        "int8" => ("bigint", "INT8"),
        "oid" => ("number", "OID"),
        "float4" => ("number", "FLOAT4"),
        "float8" => ("number", "FLOAT8"),
        "numeric" => ("string", "NUMERIC"),
        "text" => ("string", "TEXT"),
        "varchar" => ("string", "VARCHAR"),
        "bpchar" => ("string", "BPCHAR"),
        "name" => ("string", "NAME"),
        "json" => ("pg.Json", "JSON_"),
        "jsonb" => ("pg.Json", "JSONB"),
        "bytea" => ("Buffer", "BYTEA"),
        "uuid" => ("string", "UUID"),
        "date" => ("string", "DATE"),
        "time" => ("string", "TIME"),
        "timetz" => ("string", "TIMETZ"),
        "timestamp" => ("string", "TIMESTAMP"),
        "timestamptz" => ("Date", "TIMESTAMPTZ"),
        "interval" => ("pg.Interval", "INTERVAL"),
        _ => return None,
    })
}

/// The range of a range of `pg_catalog`, or of its multirange, with the subtype.
fn builtin_range(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "int4range" | "int4multirange" => ("int4range", "int4"),
        "int8range" | "int8multirange" => ("int8range", "int8"),
        "numrange" | "nummultirange" => ("numrange", "numeric"),
        "daterange" | "datemultirange" => ("daterange", "date"),
        "tsrange" | "tsmultirange" => ("tsrange", "timestamp"),
        "tstzrange" | "tstzmultirange" => ("tstzrange", "timestamptz"),
        _ => return None,
    })
}

fn catalog(name: &str) -> TypeName {
    TypeName { schema: "pg_catalog".into(), name: name.into() }
}

impl<'m> Types<'m> {
    pub(crate) fn new(
        model: &'m Model,
        custom: &'m [CustomType],
        scope: names::Scope,
        text_timestamps: bool,
    ) -> Self {
        Self {
            custom,
            imports: BTreeSet::new(),
            definitions: model.types.iter().map(|definition| (&definition.name, definition)).collect(),
            known: BTreeMap::new(),
            known_constants: BTreeMap::new(),
            text_timestamps,
            scope,
            aliases: Vec::new(),
            composites: Vec::new(),
            codecs: Vec::new(),
        }
    }

    /// Gives the type of a place, and declares what it needs.
    pub(crate) fn of(&mut self, ty: &TypeRef) -> TsType {
        match Standing::of(ty, self.custom) {
            Standing::Nowhere => {
                let element = self.scalar(&ty.name);
                if ty.array { self.array(&ty.name, element) } else { element }
            }
            Standing::ForElements(own) => {
                let element = self.scalar(&ty.name);
                let element = self.custom(own, &element);
                // An array among the elements would be taken for a dimension.
                let codec = format!("codec.single({})", element.codec);
                let element = TsType { codec, ..element };
                self.array(&ty.name, element)
            }
            Standing::ForAll(own) => {
                let plain = self.of(&TypeRef { custom: None, ..ty.clone() });
                self.custom(own, &plain)
            }
        }
    }

    /// A type of the user's, which stands for another.
    fn custom(&mut self, own: &CustomType, ty: &TsType) -> TsType {
        self.imports.extend(own.imports.iter().map(|import| import.trim_end_matches(';').to_owned() + ";"));
        let through = |made: Option<String>| made.unwrap_or_else(|| "value".to_owned());
        let value = format!(
            "codec.mapped<{}, {}>({}, (value) => {}, (value) => {})",
            ty.name,
            own.name,
            ty.codec,
            through(own.decoded("value")),
            through(own.encoded("value"))
        );
        self.made(&names::screaming(&own.stem(), "type"), own.name.clone(), value, ty.binary)
    }

    fn array(&mut self, name: &TypeName, element: TsType) -> TsType {
        // Arrays inside of an array would be taken for its dimensions: they stay literals.
        let element = if element.is_array { literal_of_it() } else { element };
        let delimiter = match delimiter(name, &self.definitions) {
            ',' => String::new(),
            other => format!(", \"{other}\""),
        };
        let stem = format!("{}_ARRAY", stem(&element.codec));
        let value = format!("codec.arrayOf({}{delimiter})", element.codec);
        let made = self.made(&stem, format!("({} | null)[]", element.name), value, element.binary);
        TsType { is_array: true, ..made }
    }

    /// A codec that the file makes, once.
    fn made(&mut self, stem: &str, name: String, value: String, binary: bool) -> TsType {
        let codec = match self.known_constants.get(&value) {
            Some(codec) => codec.clone(),
            None => {
                let codec = self.scope.give(&format!("{stem}_CODEC")).name;
                self.known_constants.insert(value.clone(), codec.clone());
                self.codecs.push(Constant { name: codec.clone(), value });
                codec
            }
        };
        TsType { name, codec, binary, is_array: false }
    }

    fn scalar(&mut self, name: &TypeName) -> TsType {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let ty = if name.schema == "pg_catalog" { self.of_catalog(name) } else { self.of_user(name) };
        self.known.insert(name.clone(), ty.clone());
        ty
    }

    fn of_catalog(&mut self, name: &TypeName) -> TsType {
        let text = self.text_timestamps && name.name == "timestamptz";
        let found = if text { Some(("string", "TIMESTAMPTZ_TEXT")) } else { builtin(&name.name) };
        if let Some((name, codec)) = found {
            let codec = format!("codec.{codec}");
            return TsType { name: name.into(), codec, binary: true, is_array: false };
        }
        let Some((range, subtype)) = builtin_range(&name.name) else { return literal_of_it() };
        if range == name.name {
            let bound = self.scalar(&catalog(subtype));
            return self.range(name, &bound);
        }
        let range = self.scalar(&catalog(range));
        self.multirange(name, &range)
    }

    fn of_user(&mut self, name: &TypeName) -> TsType {
        let Some(definition) = self.definitions.get(name).copied() else { return literal_of_it() };
        match &definition.kind {
            TypeKind::Enum { labels } => self.enumeration(name, labels),
            TypeKind::Domain { base, .. } => self.domain(name, base),
            TypeKind::Composite { fields } => {
                let fields = fields.iter().map(|field| (field.name.clone(), self.of(&field.ty))).collect();
                self.composite(name, fields)
            }
            TypeKind::Range { subtype } => {
                let bound = self.of(subtype);
                self.range(name, &bound)
            }
            TypeKind::Multirange { range } => {
                let range = self.of(range);
                self.multirange(name, &range)
            }
            TypeKind::Base => literal_of_it(),
        }
    }

    fn enumeration(&mut self, name: &TypeName, labels: &[String]) -> TsType {
        let alias = self.scope.give(&names::pascal(&name.name, "enum")).name;
        let labels = labels.iter().map(|label| literal::string(label)).collect::<Vec<_>>();
        let ty = if labels.is_empty() { "never".to_owned() } else { labels.join(" | ") };
        let documentation = format!("The labels of {}.", shown(name));
        self.aliases.push(Alias { name: alias.clone(), ty, documentation });
        let value = format!("codec.enumOf<{alias}>({}, [{}])", literals(name), labels.join(", "));
        self.made(&names::screaming(&name.name, "enum"), alias, value, true)
    }

    fn domain(&mut self, name: &TypeName, base: &TypeRef) -> TsType {
        let base = self.of(base);
        let alias = self.scope.give(&names::pascal(&name.name, "domain")).name;
        let documentation = format!("The domain {}.", shown(name));
        self.aliases.push(Alias { name: alias.clone(), ty: base.name.clone(), documentation });
        let value = format!("{}.of({})", base.codec, literals(name));
        let made = self.made(&names::screaming(&name.name, "domain"), alias, value, base.binary);
        TsType { is_array: base.is_array, ..made }
    }

    fn composite(&mut self, name: &TypeName, fields: Vec<(String, TsType)>) -> TsType {
        let interface = self.scope.give(&names::pascal(&name.name, "type")).name;
        let mut scope = property_scope();
        let binary = fields.iter().all(|(_, ty)| ty.binary);
        let mut pairs = Vec::new();
        let mut declared = Vec::new();
        for (field, ty) in fields {
            let field = scope.give(&names::camel(&field, "field")).name;
            pairs.push(format!("[{}, {}]", literal::string(&field), ty.codec));
            declared.push(Field { name: field, ty: ty.declared(true) });
        }
        let documentation = format!("A value of {}.", shown(name));
        self.composites.push(Interface { name: interface.clone(), documentation, fields: declared });
        let value = format!("codec.compositeOf<{interface}>({}, [{}])", literals(name), pairs.join(", "));
        self.made(&names::screaming(&name.name, "type"), interface, value, binary)
    }

    fn range(&mut self, name: &TypeName, bound: &TsType) -> TsType {
        let value = format!("codec.rangeOf({}, {})", literals(name), bound.codec);
        let ty = format!("pg.Range<{}>", bound.name);
        self.made(&names::screaming(&name.name, "range"), ty, value, bound.binary)
    }

    fn multirange(&mut self, name: &TypeName, range: &TsType) -> TsType {
        let value = format!("codec.multirangeOf({}, {})", literals(name), range.codec);
        let ty = range.name.replacen("pg.Range", "pg.Multirange", 1);
        self.made(&names::screaming(&name.name, "multirange"), ty, value, range.binary)
    }
}

/// What has no mapping is its literal.
fn literal_of_it() -> TsType {
    TsType { name: "string".into(), codec: "codec.LITERAL".into(), binary: false, is_array: false }
}

fn stem(codec: &str) -> &str {
    let codec = codec.trim_start_matches("codec.single(").trim_end_matches(')');
    codec.trim_start_matches("codec.").trim_end_matches('_').trim_end_matches("_CODEC")
}

fn literals(name: &TypeName) -> String {
    format!("{}, {}", literal::string(&name.schema), literal::string(&name.name))
}

fn shown(name: &TypeName) -> String {
    literal::documentation(&format!("{}.{}", name.schema, name.name))
}
