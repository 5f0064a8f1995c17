//! Writes the implementation of `howdah::Row`, or says why there can be none.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, Type, parse_quote};

use crate::attributes::{column, rename_all};

/// Writes the implementation of `howdah::Row` for a struct.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let fields = match &input.data {
        Data::Struct(data) => &data.fields,
        Data::Enum(_) | Data::Union(_) => return Err(Error::new(name.span(), "only a struct is a row")),
    };
    let Fields::Named(fields) = fields else {
        let reason = "only a struct with named fields says its columns; a tuple is a row as it is";
        return Err(Error::new(name.span(), reason));
    };
    let case = rename_all(&input.attrs)?;
    // These names stand among the user's, and the struct may itself come from a macro: hygiene keeps them apart.
    let target = Ident::new("fields", Span::mixed_site());
    let this = Ident::new("self", Span::mixed_site());
    let mut columns: Vec<LitStr> = Vec::new();
    let mut puts = Vec::new();
    let mut generics = input.generics.clone();
    for field in &fields.named {
        let Some(column) = column(field, case)? else { continue };
        if columns.iter().any(|before| before.value() == column.value()) {
            return Err(Error::new(
                column.span(),
                format!("two fields are for the column {:?}", column.value()),
            ));
        }
        columns.push(column);
        let (member, value) = (&field.ident, &field.ty);
        // The type stands here for itself: where it is no value, the compiler points at it.
        puts.push(quote! { ::howdah::Fields::put::<#value>(#target, &#this.#member)?; });
        if input.generics.type_params().any(|parameter| mentions(value, &parameter.ident)) {
            generics.make_where_clause().predicates.push(parse_quote! { #value: ::howdah::Value });
        }
    }
    if columns.is_empty() {
        return Err(Error::new(name.span(), "a row has at least one field"));
    }
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::howdah::Row for #name #type_generics #where_clause {
            const COLUMNS: ::core::option::Option<&'static [&'static str]> =
                ::core::option::Option::Some(&[#(#columns),*]);

            #[inline]
            fn put(&#this, #target: &mut ::howdah::Fields<'_>) -> ::core::result::Result<(), ::howdah::Error> {
                #(#puts)*
                ::core::result::Result::Ok(())
            }
        }
    })
}

/// Whether a type is made of that parameter.
fn mentions(value: &Type, parameter: &Ident) -> bool {
    fn among(tokens: TokenStream, parameter: &Ident) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == *parameter,
            TokenTree::Group(group) => among(group.stream(), parameter),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
    among(value.to_token_stream(), parameter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(source: &str) -> std::result::Result<String, String> {
        let input: DeriveInput = syn::parse_str(source).unwrap();
        derive(&input).map(|tokens| tokens.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_no_row_is_refused_in_words_that_help() {
        let refused = [
            ("enum E { A }", "only a struct"),
            ("struct S(i32);", "a tuple is a row"),
            ("struct S;", "named fields"),
            ("struct S {}", "at least one field"),
            ("struct S { #[howdah(skip)] a: i32 }", "at least one field"),
            ("struct S { a: i32, #[howdah(rename = \"a\")] b: i32 }", "two fields are for the column \"a\""),
            ("struct S { #[howdah(renamed = \"a\")] b: i32 }", "a field takes"),
            ("struct S { #[howdah(rename = \"\")] b: i32 }", "a column has a name"),
            ("#[howdah(rename = \"x\")] struct S { b: i32 }", "a struct takes"),
            ("#[howdah(rename_all = \"UPPER\")] struct S { b: i32 }", "rename_all takes"),
        ];
        for (source, reason) in refused {
            let error = derived(source).unwrap_err();
            assert!(error.contains(reason), "{source}: {error}");
        }
    }

    #[test]
    fn only_types_made_of_parameters_are_bounded() {
        let row = derived("struct S<'a, T: Clone> { a: &'a str, b: Vec<Option<T>>, #[howdah(skip)] c: T }")
            .unwrap();
        let bound = "where Vec < Option < T > > : :: howdah :: Value";
        assert!(row.contains(bound), "{row}");
        assert_eq!(row.matches(": :: howdah :: Value").count(), 1, "{row}");
        assert!(row.contains("impl < 'a , T : Clone >"), "{row}");
    }

    #[test]
    fn names_of_columns_are_said_once_and_in_order() {
        let row = derived(
            "#[howdah(rename_all = \"camelCase\")]
             struct S { r#type: i32, event_id: i64, #[howdah(rename = \"as Is\")] other_one: bool }",
        )
        .unwrap();
        assert!(row.contains("[\"type\" , \"eventId\" , \"as Is\"]"), "{row}");
    }
}
