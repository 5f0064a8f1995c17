//! What the types of a table's columns are made of, read from the catalog where they are not PostgreSQL's plain ones.

use std::collections::HashMap;

/// OIDs from here on are not PostgreSQL's own: such types may have checks.
pub(crate) const FIRST_OWN_OID: u32 = 16384;

use howdah_connect::Connection;
use howdah_encode::{CompositeField, SessionRules, Steps, TextCodec, TypeShape};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::error::Error;

/// The shapes of types, by OID.
#[derive(Default)]
pub(crate) struct Types(HashMap<u32, Described>);

/// One row of the catalog.
struct Described {
    kind: TypeKind,
    /// As `format_type` writes it.
    name: String,
}

enum TypeKind {
    Plain,
    Domain { over: u32, typmod: i32, not_null: bool },
    Array { element: u32, delimiter: u8 },
    Enum { labels: Vec<String> },
    Range { subtype: u32, steps: Steps },
    Multirange { subtype: u32, steps: Steps },
    Composite { fields: Vec<(String, u32, i32)> },
    Hstore,
    Vector,
}

/// A type that contains itself does not exist, but a catalog is data too.
const DEEPEST: usize = 32;

impl Types {
    /// Looks up what `oids` are made of, all the way down. Types that a codec knows by their OID cost no look.
    ///
    /// # Errors
    /// The server's errors.
    pub(crate) async fn look_up(
        connection: &Connection,
        oids: &[u32],
        rules: &SessionRules,
    ) -> Result<Types, Error> {
        let unknown: Vec<u32> =
            oids.iter().copied().filter(|oid| TextCodec::for_type(*oid, -1, rules).is_none()).collect();
        if unknown.is_empty() {
            return Ok(Types::default());
        }
        let rows = connection.client().query_typed(DESCRIBE, &[(&unknown, Type::OID_ARRAY)]).await?;
        let described = rows.iter().map(|row| (row.get(0), Described { name: row.get(1), kind: kind(row) }));
        Ok(Types(described.collect()))
    }

    /// What the type is made of.
    pub(crate) fn shape(&self, oid: u32) -> TypeShape {
        self.shape_within(oid, DEEPEST)
    }

    /// The type below all domains, and the modifier that holds for it.
    pub(crate) fn base(&self, oid: u32, typmod: i32) -> (u32, i32) {
        match self.0.get(&oid).map(|described| &described.kind) {
            Some(TypeKind::Domain { over, typmod, .. }) => self.base(*over, *typmod),
            _ => (oid, typmod),
        }
    }

    /// The name of a domain that takes no NULL, whatever the column says.
    pub(crate) fn not_null_domain(&self, oid: u32) -> Option<String> {
        let described = self.0.get(&oid)?;
        match described.kind {
            TypeKind::Domain { not_null: true, .. } => Some(described.name.clone()),
            TypeKind::Domain { over, .. } => self.not_null_domain(over).map(|_| described.name.clone()),
            _ => None,
        }
    }

    fn shape_within(&self, oid: u32, depth: usize) -> TypeShape {
        let (Some(described), Some(depth)) = (self.0.get(&oid), depth.checked_sub(1)) else {
            return TypeShape::Base { oid };
        };
        let part = |oid: u32| Box::new(self.shape_within(oid, depth));
        match &described.kind {
            TypeKind::Plain => TypeShape::Base { oid },
            TypeKind::Domain { over, typmod, not_null } => TypeShape::Domain {
                name: described.name.clone(),
                over: part(*over),
                typmod: *typmod,
                not_null: *not_null,
            },
            TypeKind::Array { element, delimiter } => {
                TypeShape::Array { element_oid: *element, delimiter: *delimiter, element: part(*element) }
            }
            TypeKind::Enum { labels } => {
                TypeShape::Enum { name: described.name.clone(), labels: labels.clone() }
            }
            TypeKind::Range { subtype, steps } => TypeShape::Range { subtype: part(*subtype), steps: *steps },
            TypeKind::Multirange { subtype, steps } => {
                TypeShape::Multirange { subtype: part(*subtype), steps: *steps }
            }
            TypeKind::Composite { fields } => {
                let field = |(name, oid, typmod): &(String, u32, i32)| CompositeField {
                    name: name.clone(),
                    oid: *oid,
                    typmod: *typmod,
                    shape: *part(*oid),
                };
                TypeShape::Composite { fields: fields.iter().map(field).collect() }
            }
            TypeKind::Hstore => TypeShape::Hstore,
            TypeKind::Vector => TypeShape::Vector,
        }
    }
}

/// One row a type: everything that any kind of type needs, NULL where it does not apply.
const DESCRIBE: &str = "
with recursive used(oid) as (
    select oid from pg_catalog.pg_type where oid = any($1)
    union
    select part.oid
      from used
      join pg_catalog.pg_type t on t.oid = used.oid
      left join pg_catalog.pg_range r on r.rngtypid = t.oid or r.rngmultitypid = t.oid
      left join pg_catalog.pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
      cross join lateral pg_catalog.unnest(
          array[t.typbasetype, case when t.typinput = 'pg_catalog.array_in'::regproc then t.typelem end, r.rngsubtype, a.atttypid]) as part(oid)
     where part.oid <> 0)
select t.oid, pg_catalog.format_type(t.oid, null), t.typtype::text,
       t.typbasetype, t.typtypmod, t.typnotnull,
       case when t.typinput = 'pg_catalog.array_in'::regproc then t.typelem end,
       (select e.typdelim::text from pg_catalog.pg_type e where e.oid = t.typelem),
       r.rngsubtype, o.opcdefault,
       case when r.rngcanonical = 0 then 'none'
            when r.rngcanonical::oid in ('pg_catalog.int4range_canonical'::regproc::oid,
                                         'pg_catalog.int8range_canonical'::regproc::oid,
                                         'pg_catalog.daterange_canonical'::regproc::oid) then 'whole' end,
       array(select e.enumlabel::text from pg_catalog.pg_enum e where e.enumtypid = t.oid),
       array(select a.atttypid from pg_catalog.pg_attribute a
              where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped order by a.attnum),
       array(select a.atttypmod from pg_catalog.pg_attribute a
              where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped order by a.attnum),
       (select x.extname::text from pg_catalog.pg_depend d join pg_catalog.pg_extension x on x.oid = d.refobjid
         where d.classid = 'pg_catalog.pg_type'::regclass and d.objid = t.oid and d.deptype = 'e'
           and d.refclassid = 'pg_catalog.pg_extension'::regclass and x.extname = t.typname),
       pg_catalog.current_setting('array_nulls')::bool,
       array(select a.attname::text from pg_catalog.pg_attribute a
              where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped order by a.attnum)
  from used
  join pg_catalog.pg_type t on t.oid = used.oid
  left join pg_catalog.pg_range r on r.rngtypid = t.oid or r.rngmultitypid = t.oid
  left join pg_catalog.pg_opclass o on o.oid = r.rngsubopc";

fn kind(row: &Row) -> TypeKind {
    let typtype: String = row.get(2);
    // A range in an order of its own, or made canonical by a function of its own, only the server can judge.
    let steps = || -> Option<(u32, Steps)> {
        let usual: Option<bool> = row.get(9);
        let canonical: Option<String> = row.get(10);
        let steps = match canonical.as_deref()? {
            "whole" => Steps::Whole,
            _ => Steps::None,
        };
        Some((row.get::<_, Option<u32>>(8)?, steps)).filter(|_| usual == Some(true))
    };
    let element: Option<u32> = row.get(6);
    let extension: Option<String> = row.get(14);
    match (typtype.as_str(), element, extension.as_deref()) {
        ("d", ..) => TypeKind::Domain { over: row.get(3), typmod: row.get(4), not_null: row.get(5) },
        ("e", ..) => TypeKind::Enum { labels: row.get(11) },
        ("r", ..) => steps().map_or(TypeKind::Plain, |(subtype, steps)| TypeKind::Range { subtype, steps }),
        ("m", ..) => {
            steps().map_or(TypeKind::Plain, |(subtype, steps)| TypeKind::Multirange { subtype, steps })
        }
        ("c", ..) => {
            let (types, typmods): (Vec<u32>, Vec<i32>) = (row.get(12), row.get(13));
            let names: Vec<String> = row.get(16);
            let fields = names.into_iter().zip(types).zip(typmods);
            TypeKind::Composite { fields: fields.map(|((name, oid), typmod)| (name, oid, typmod)).collect() }
        }
        // Where NULL is a word like others, the server reads arrays.
        (_, Some(_), _) if !row.get::<_, bool>(15) => TypeKind::Plain,
        (_, Some(element), _) => {
            let delimiter: Option<String> = row.get(7);
            let delimiter = delimiter.and_then(|text| text.bytes().next()).unwrap_or(b',');
            TypeKind::Array { element, delimiter }
        }
        (_, None, Some("hstore")) => TypeKind::Hstore,
        (_, None, Some("vector")) => TypeKind::Vector,
        _ => TypeKind::Plain,
    }
}
