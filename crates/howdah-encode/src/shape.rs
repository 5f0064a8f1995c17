//! Descriptions of PostgreSQL types, as far as reading their literals depends on the catalog.

/// The description of a type, down to types that have a codec of their own. The caller fills it from the [system catalogs].
///
/// [system catalogs]: https://www.postgresql.org/docs/current/catalogs.html
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeShape {
    /// A type that [`TextCodec::for_type`](crate::TextCodec::for_type) may know.
    Base {
        /// `pg_type.oid`
        oid: u32,
    },
    /// An enum.
    Enum {
        /// The name that `format_type` gives, for messages.
        name: String,
        /// `pg_enum.enumlabel`, in any order.
        labels: Vec<String>,
    },
    /// A domain. Its CHECK constraints are left to the server.
    Domain {
        /// The name that `format_type` gives, for messages.
        name: String,
        /// The type below.
        over: Box<TypeShape>,
        /// `pg_type.typtypmod`: the modifier of the type below.
        typmod: i32,
        /// `pg_type.typnotnull`
        not_null: bool,
    },
    /// An array that `array_in` reads. A modifier of the array is one of its elements.
    Array {
        /// `pg_type.typelem`
        element_oid: u32,
        /// `pg_type.typdelim` of the element.
        delimiter: u8,
        /// The type of the elements.
        element: Box<TypeShape>,
    },
    /// A range in the default order of its subtype, canonical as [`Steps`] says. Other ranges have no shape: only the
    /// server knows which bound is the lower one.
    Range {
        /// The type of the bounds.
        subtype: Box<TypeShape>,
        /// How values are made canonical.
        steps: Steps,
    },
    /// A multirange over such a range.
    Multirange {
        /// The type of the bounds.
        subtype: Box<TypeShape>,
        /// How values are made canonical.
        steps: Steps,
    },
    /// A composite type.
    Composite {
        /// Its columns that are not dropped, in order.
        fields: Vec<CompositeField>,
    },
    /// `hstore` of the extension of that name.
    Hstore,
    /// `vector` of the extension of that name.
    Vector,
}

/// A column of a composite type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompositeField {
    /// `pg_attribute.attname`
    pub name: String,
    /// `pg_attribute.atttypid`
    pub oid: u32,
    /// `pg_attribute.atttypmod`
    pub typmod: i32,
    /// The description of that type.
    pub shape: TypeShape,
}

/// The step by which a range type brings its values into canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// Not at all (`pg_range.rngcanonical` is 0).
    None,
    /// By `int4range_canonical`, `int8range_canonical` or `daterange_canonical`: from `[` to `)`.
    Whole,
}
