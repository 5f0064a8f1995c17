//! What `#[howdah(…)]` says of a struct and its fields: `rename_all`, `rename`, `skip`.

use syn::{Attribute, Error, Field, LitStr, Result};

use crate::name::Case;

/// What the struct says of all names.
pub(crate) fn rename_all(attributes: &[Attribute]) -> Result<Case> {
    let mut case = Case::Same;
    for attribute in ours(attributes) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("rename_all") {
                return Err(meta.error("a struct takes #[howdah(rename_all = \"…\")]"));
            }
            case = Case::named(&meta.value()?.parse()?)?;
            Ok(())
        })?;
    }
    Ok(case)
}

/// The column of a field; `None` when it is skipped.
pub(crate) fn column(field: &Field, case: Case) -> Result<Option<LitStr>> {
    let mut renamed: Option<LitStr> = None;
    let mut is_skipped = false;
    for attribute in ours(&field.attrs) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("skip") {
                is_skipped = true;
                return Ok(());
            }
            if !meta.path.is_ident("rename") {
                return Err(meta.error("a field takes #[howdah(rename = \"…\")] or #[howdah(skip)]"));
            }
            let name: LitStr = meta.value()?.parse()?;
            if name.value().is_empty() {
                return Err(Error::new(name.span(), "a column has a name"));
            }
            renamed = Some(name);
            Ok(())
        })?;
    }
    if is_skipped {
        return Ok(None);
    }
    Ok(renamed.or_else(|| {
        let member = field.ident.as_ref()?;
        Some(LitStr::new(&case.column_of(member), member.span()))
    }))
}

fn ours(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("howdah"))
}
