//! The server's own analysed tree of a statement, and what it says of nulls.
//!
//! What is not known by name can be null: a node, a function, a kind of relation that a later version brings makes the
//! answer less sharp, and not wrong.

mod catalog;
mod expression;
mod functions;
mod parameters;
mod places;
mod query;
mod read;
mod scope;
mod strict;
mod verdict;

pub(crate) use catalog::{Catalog, Function, Named, Relation};
pub(crate) use parameters::judge as judge_parameters;
pub(crate) use places::{Place, places};
pub(crate) use query::Judge;
pub(crate) use read::{Node, Value, parse};
pub(crate) use verdict::Verdict;
