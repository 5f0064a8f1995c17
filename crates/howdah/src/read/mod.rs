//! Reading the input under a plan: the queue that threads pull from, and the checked records in what they pulled.

pub(crate) mod queue;
pub(crate) mod records;
