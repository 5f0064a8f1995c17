//! What callers give a statement, and what becomes of it.

use super::types::RustType;
use super::view::Field;

/// A parameter of a statement's functions.
pub(super) struct Parameter {
    pub(super) name: String,
    /// Its type, which is borrowed.
    pub(super) declared: String,
    pub(super) nullable: bool,
    pub(super) sent: Sent,
}

/// What becomes of a parameter.
pub(super) enum Sent {
    /// The server gets it, and reads it as the type `sql`.
    Value { ty: RustType, sql: String },
    /// It decides whether lines are there.
    Switch,
    /// It is one of an enum, which has the text.
    Choice,
}

impl Parameter {
    /// What a struct of parameters has for it.
    pub(super) fn field(&self) -> Field {
        match &self.sent {
            Sent::Value { ty, .. } => Field::new(self.name.clone(), &ty.owned(self.nullable)),
            Sent::Switch | Sent::Choice => Field::new(self.name.clone(), &self.declared),
        }
    }

    /// It as a value of a statement, from a place such as `item.`; none if that is what it is by itself.
    pub(super) fn mapped(&self, of: &str) -> Option<String> {
        match &self.sent {
            Sent::Value { ty, .. } => ty.given(&self.given(of), self.nullable),
            Sent::Switch | Sent::Choice => None,
        }
    }

    /// It as an argument, from a place such as `item.`.
    pub(super) fn given(&self, of: &str) -> String {
        let place = format!("{of}{}", self.name);
        match &self.sent {
            Sent::Value { ty, .. } if !of.is_empty() => ty.borrow(&place, self.nullable),
            _ => place,
        }
    }
}
