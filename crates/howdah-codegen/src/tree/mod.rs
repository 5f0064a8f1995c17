//! The server's own analysed tree of a statement, and what it says of nulls.
//!
//! What is not known by name can be null: a node, a function, a kind of relation that a later version brings makes the
//! answer less sharp, and not wrong.

mod catalog;
mod expression;
mod functions;
mod node_tree;
mod null_rejecting;
mod nullability;
mod outer_joins;
mod parameter_columns;
mod parameters;
mod query;

pub(crate) use catalog::{Catalog, Function, ReferencedOids, Relation};
pub(crate) use node_tree::{Node, Value, parse};
pub(crate) use nullability::Nullability;
pub(crate) use parameter_columns::{ColumnId, parameter_columns};
pub(crate) use parameters::parameter_nullability;
pub(crate) use query::NullAnalysis;
