//! Extension types of Arrow that are known by their names.

use arrow_schema::Field;

/// What the schema says of a column beyond its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extension {
    None,
    /// `arrow.uuid`
    Uuid,
    /// `arrow.json`
    Json,
}

impl Extension {
    pub(super) fn of(field: &Field) -> Self {
        match field.extension_type_name() {
            Some("arrow.uuid") => Extension::Uuid,
            Some("arrow.json") => Extension::Json,
            _ => Extension::None,
        }
    }
}
