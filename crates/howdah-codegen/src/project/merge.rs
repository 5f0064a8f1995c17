//! What the variants of a statement agree on: one description of all of them.

use super::block_text::about;
use crate::describe::{DescribedParameter, DescribedStatement};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::TypeRef;
use crate::source::Block;

/// Makes one description of those of all variants, each with how it is called. Types and columns are the same in all; what
/// can be null in one of them can be null.
pub(super) fn merge(
    variants: Vec<(String, DescribedStatement)>,
    block: &Block,
    rows: bool,
) -> Result<DescribedStatement, Box<Diagnostic>> {
    let mut variants = variants.into_iter();
    let Some((first, mut whole)) = variants.next() else {
        return Ok(DescribedStatement { parameters: Vec::new(), columns: Vec::new() });
    };
    let mut origins = vec![first.clone(); whole.parameters.len()];
    for (name, found) in variants {
        if rows {
            columns(&mut whole, &found, (&first, &name), block)?;
        }
        for parameter in found.parameters {
            match whole.parameters.iter().position(|before| before.name == parameter.name) {
                None => {
                    whole.parameters.push(parameter);
                    origins.push(name.clone());
                }
                Some(at) => {
                    self::parameter(&mut whole.parameters[at], parameter, (&origins[at], &name), block)?
                }
            }
        }
    }
    Ok(whole)
}

fn same(one: &TypeRef, other: &TypeRef) -> bool {
    one.name == other.name && one.array == other.array
}

fn columns(
    whole: &mut DescribedStatement,
    found: &DescribedStatement,
    (first, name): (&str, &str),
    block: &Block,
) -> Result<(), Box<Diagnostic>> {
    let wrong = |message: String, help: &str| {
        let error = about(Code::ValidationError, block.place.clone(), message, block);
        Err(Box::new(error.help(help)))
    };
    let (one, other) = (whole.columns.len(), found.columns.len());
    if one != other {
        let message = format!("there are {one} columns {first}, and {other} {name}");
        return wrong(message, "columns are the same whichever lines are there");
    }
    for (before, column) in whole.columns.iter_mut().zip(&found.columns) {
        if before.name != column.name {
            let message = format!("a column is `{}` {first}, and `{}` {name}", before.name, column.name);
            return wrong(message, "name it by AS");
        }
        if !same(&before.ty, &column.ty) {
            let message =
                format!("`{}` is {} {first}, and {} {name}", column.name, before.ty.sql, column.ty.sql);
            return wrong(message, &format!("cast it to one type: `{}::{}`", column.name, before.ty.sql));
        }
        if before.origin != column.origin {
            before.origin = None;
        }
        if column.nullable && !before.nullable {
            before.nullable = true;
            before.because = format!("{name}: {}", column.because);
        }
    }
    Ok(())
}

fn parameter(
    before: &mut DescribedParameter,
    found: DescribedParameter,
    (first, name): (&str, &str),
    block: &Block,
) -> Result<(), Box<Diagnostic>> {
    if !same(&before.ty, &found.ty) {
        let variable = block.variables.iter().find(|variable| variable.name == found.name);
        let place = variable.map_or_else(|| block.place.clone(), |variable| variable.place.clone());
        let message = format!("`{}` is {} {first}, and {} {name}", found.name, before.ty.sql, found.ty.sql);
        let error = about(Code::ValidationError, place, message, block);
        let (name, ty) = (&found.name, &before.ty.sql);
        return Err(Box::new(
            error.help(format!("write `${{{name}}}::{ty}`, or `params: {{{name}: {ty}}}` in the header")),
        ));
    }
    if before.origin != found.origin {
        before.origin = None;
    }
    if found.nullable && !before.nullable {
        (before.nullable, before.because) = (true, format!("{name}: {}", found.because));
    }
    Ok(())
}
