//! What stands between the elements of an array's literal.

use std::collections::BTreeMap;

use crate::model::{Definition, TypeKind, TypeName};

/// `,` of all types but box, and of domains that of the type below them.
pub(crate) fn delimiter(name: &TypeName, definitions: &BTreeMap<&TypeName, &Definition>) -> char {
    match definitions.get(name).map(|definition| &definition.kind) {
        Some(TypeKind::Domain { base, .. }) => delimiter(&base.name, definitions),
        _ if (name.schema.as_str(), name.name.as_str()) == ("pg_catalog", "box") => ';',
        _ => ',',
    }
}
