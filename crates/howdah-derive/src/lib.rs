//! The macro behind `#[derive(howdah::Row)]`, which `howdah` exports beside the trait of the same name.

mod attributes;
mod name;
mod row;

use proc_macro::TokenStream;

/// Implements `howdah::Row` for a struct with named fields: each field is the value of the column of its name.
///
/// ```ignore
/// #[derive(howdah::Row)]
/// #[howdah(rename_all = "camelCase")]
/// struct Event<'e> {
///     id: i64,
///     event_type: &'e str,         // the column "eventType"
///     #[howdah(rename = "payload")]
///     body: Option<serde_json::Value>,
///     #[howdah(skip)]
///     attempts: u32,               // no column
/// }
/// ```
///
/// `rename_all` takes `snake_case`, `camelCase` and `PascalCase`. The type of every generic field is bound to
/// `howdah::Value`.
#[proc_macro_derive(Row, attributes(howdah))]
pub fn derive_row(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    row::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
