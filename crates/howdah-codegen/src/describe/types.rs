//! The types that columns and parameters have, by their OIDs, with all that they are made of.

use std::collections::{BTreeMap, HashMap};

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::Error;
use crate::model::{Definition, Field, TypeKind, TypeName, TypeRef};

/// A type and its modifier, -1 for none, as columns have them: `numeric(10,2)`.
pub(super) type Modified = (u32, i32);

/// Where a type is used: its element's OID, name, whether it is an array, and how SQL writes it. `format_type` leaves the
/// schema out where the search path finds the type, and a project is to give the same on every one.
const REFERENCES: &str = r"
select u.type, u.modifier, e.oid, n.name, e.typname::text, e.oid <> t.oid,
       case when n.name <> 'pg_catalog' and pg_catalog.pg_type_is_visible(e.oid)
            then pg_catalog.quote_ident(n.name) || '.' else '' end
       || pg_catalog.format_type(e.oid, u.modifier) || case when e.oid <> t.oid then '[]' else '' end
from unnest($1, $2) as u(type, modifier)
join pg_catalog.pg_type t on t.oid = u.type
left join pg_catalog.pg_type a on a.typarray = t.oid
join pg_catalog.pg_type e on e.oid = coalesce(a.oid, t.oid)
join pg_catalog.pg_namespace s on s.oid = e.typnamespace
cross join lateral (select case when s.nspname like 'pg\_temp\_%' then 'pg_temp' else s.nspname::text end) n(name)";

/// What types are made of. Comments on a table's rows are the table's, and are not read.
const DEFINITIONS: &str = "
select t.oid, t.typtype::text, t.typbasetype, t.typtypmod, t.typnotnull, r.rngsubtype, m.rngtypid,
       pg_catalog.obj_description(t.oid, 'pg_type'),
       array(select enumlabel::text from pg_catalog.pg_enum where enumtypid = t.oid order by enumsortorder),
       array(select attname::text from pg_catalog.pg_attribute
             where attrelid = t.typrelid and t.typrelid <> 0 and attnum > 0 and not attisdropped order by attnum),
       array(select atttypid from pg_catalog.pg_attribute
             where attrelid = t.typrelid and t.typrelid <> 0 and attnum > 0 and not attisdropped order by attnum),
       array(select atttypmod from pg_catalog.pg_attribute
             where attrelid = t.typrelid and t.typrelid <> 0 and attnum > 0 and not attisdropped order by attnum)
from unnest($1) as u(type)
join pg_catalog.pg_type t on t.oid = u.type
left join pg_catalog.pg_range r on r.rngtypid = t.oid
left join pg_catalog.pg_range m on m.rngmultitypid = t.oid";

/// The types of one server, read once for many statements.
#[derive(Debug, Clone, Default)]
pub struct ServerTypes {
    references: HashMap<Modified, TypeRef>,
    definitions: BTreeMap<TypeName, Definition>,
}

/// A definition whose types are OIDs still.
struct Raw {
    oid: u32,
    comment: Option<String>,
    kind: RawKind,
}

enum RawKind {
    Enum(Vec<String>),
    Domain(Modified, bool),
    Composite(Vec<(String, Modified)>),
    Range(Modified),
    Multirange(Modified),
    Base,
}

impl ServerTypes {
    /// Reads these types, and those that they are made of.
    ///
    /// # Errors
    /// The server could not be asked.
    pub async fn read(client: &Client, oids: &[u32]) -> Result<ServerTypes, Error> {
        let wanted: Vec<Modified> = oids.iter().map(|oid| (*oid, -1)).collect();
        ServerTypes::read_modified(client, &wanted).await
    }

    /// The same for types with modifiers. The type without its modifier is read too.
    pub(super) async fn read_modified(client: &Client, wanted: &[Modified]) -> Result<ServerTypes, Error> {
        let mut types = ServerTypes::default();
        let mut raw: BTreeMap<TypeName, Raw> = BTreeMap::new();
        let mut wanted: Vec<Modified> = wanted.iter().flat_map(|one| [*one, (one.0, -1)]).collect();
        loop {
            wanted.sort_unstable();
            wanted.dedup();
            wanted.retain(|one| !types.references.contains_key(one));
            if wanted.is_empty() {
                break;
            }
            let mut elements = types.read_references(client, &wanted).await?;
            elements.retain(|_, name| name.schema != "pg_catalog" && !raw.contains_key(name));
            let unread: Vec<u32> = elements.keys().copied().collect();
            wanted.clear();
            for definition in read_definitions(client, &unread).await? {
                wanted.extend(definition.mentions());
                if let Some(name) = elements.remove(&definition.oid) {
                    raw.insert(name, definition);
                }
            }
        }
        types.define(raw)?;
        Ok(types)
    }

    /// How a type is written where it is used; None for one that was not read.
    #[must_use]
    pub fn reference(&self, oid: u32) -> Option<&TypeRef> {
        self.references.get(&(oid, -1))
    }

    /// The same with a modifier: `numeric(10,2)`.
    pub(super) fn modified(&self, of: Modified) -> Result<TypeRef, Error> {
        let found = self.references.get(&of).cloned();
        found.ok_or_else(|| Error::unexpected(format!("the server does not know the type {}", of.0)))
    }

    /// The types among them that are not built in, by name.
    #[must_use]
    pub fn definitions(&self) -> Vec<Definition> {
        self.definitions.values().cloned().collect()
    }

    /// Reads how types are written. Returns the names of their elements, or of themselves.
    async fn read_references(
        &mut self,
        client: &Client,
        wanted: &[Modified],
    ) -> Result<BTreeMap<u32, TypeName>, Error> {
        let (oids, modifiers): (Vec<u32>, Vec<i32>) = wanted.iter().copied().unzip();
        let rows = client
            .query_typed(REFERENCES, &[(&oids, Type::OID_ARRAY), (&modifiers, Type::INT4_ARRAY)])
            .await
            .map_err(Error::of_question)?;
        let mut elements = BTreeMap::new();
        for row in &rows {
            let name = TypeName { schema: get(row, 3)?, name: get(row, 4)? };
            let reference =
                TypeRef { name: name.clone(), array: get(row, 5)?, sql: get(row, 6)?, custom: None };
            self.references.insert((get(row, 0)?, get(row, 1)?), reference);
            elements.insert(get(row, 2)?, name);
        }
        match wanted.iter().find(|one| !self.references.contains_key(one)) {
            Some((oid, _)) => Err(Error::unexpected(format!("the server does not know the type {oid}"))),
            None => Ok(elements),
        }
    }
}

impl ServerTypes {
    fn define(&mut self, raw: BTreeMap<TypeName, Raw>) -> Result<(), Error> {
        for (name, raw) in raw {
            let kind = match raw.kind {
                RawKind::Enum(labels) => TypeKind::Enum { labels },
                RawKind::Domain(base, not_null) => TypeKind::Domain { base: self.modified(base)?, not_null },
                RawKind::Composite(fields) => {
                    let field = |(name, ty)| self.modified(ty).map(|ty| Field { name, ty });
                    TypeKind::Composite { fields: fields.into_iter().map(field).collect::<Result<_, _>>()? }
                }
                RawKind::Range(subtype) => TypeKind::Range { subtype: self.modified(subtype)? },
                RawKind::Multirange(range) => TypeKind::Multirange { range: self.modified(range)? },
                RawKind::Base => TypeKind::Base,
            };
            self.definitions.insert(name.clone(), Definition { name, kind, comment: raw.comment });
        }
        Ok(())
    }
}

impl Raw {
    /// The types that it is made of.
    fn mentions(&self) -> Vec<Modified> {
        match &self.kind {
            RawKind::Domain(one, _) | RawKind::Range(one) | RawKind::Multirange(one) => vec![*one],
            RawKind::Composite(fields) => fields.iter().map(|(_, ty)| *ty).collect(),
            RawKind::Enum(_) | RawKind::Base => Vec::new(),
        }
    }
}

async fn read_definitions(client: &Client, oids: &[u32]) -> Result<Vec<Raw>, Error> {
    if oids.is_empty() {
        return Ok(Vec::new());
    }
    let rows =
        client.query_typed(DEFINITIONS, &[(&oids, Type::OID_ARRAY)]).await.map_err(Error::of_question)?;
    rows.iter().map(raw_definition).collect()
}

fn raw_definition(row: &Row) -> Result<Raw, Error> {
    let kind: String = get(row, 1)?;
    let kind = match kind.as_str() {
        "e" => RawKind::Enum(get(row, 8)?),
        "d" => RawKind::Domain((get(row, 2)?, get(row, 3)?), get(row, 4)?),
        "c" => {
            let (names, types): (Vec<String>, Vec<u32>) = (get(row, 9)?, get(row, 10)?);
            let modifiers: Vec<i32> = get(row, 11)?;
            RawKind::Composite(names.into_iter().zip(types.into_iter().zip(modifiers)).collect())
        }
        "r" => get::<Option<u32>>(row, 5)?.map_or(RawKind::Base, |subtype| RawKind::Range((subtype, -1))),
        "m" => get::<Option<u32>>(row, 6)?.map_or(RawKind::Base, |range| RawKind::Multirange((range, -1))),
        _ => RawKind::Base,
    };
    Ok(Raw { oid: get(row, 0)?, comment: get(row, 7)?, kind })
}

/// A column of a row of the catalog.
pub(super) fn get<'r, T: tokio_postgres::types::FromSql<'r>>(
    row: &'r Row,
    column: usize,
) -> Result<T, Error> {
    row.try_get(column).map_err(Error::of_question)
}
