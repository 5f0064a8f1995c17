//! Reading the input under a plan: the queue that threads pull from, and the checked records in what they pulled; what is wrong with
//! those that are none.

pub(crate) mod faults;
pub(crate) mod queue;
pub(crate) mod records;
pub(crate) mod text_check;
