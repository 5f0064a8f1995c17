//! Making rows visible: new tables, replaced tables, rebuilt indexes, disabled triggers, staged rows, and the commit of all connections together.

pub(crate) mod added_columns;
pub(crate) mod commit;
pub(crate) mod confirm;
pub(crate) mod creation;
pub(crate) mod hidden_table;
mod late;
pub(crate) mod off_the_log;
pub(crate) mod rebuild;
pub(crate) mod replace;
pub(crate) mod server_identity;
pub(crate) mod staged;
pub(crate) mod strategy;
mod transaction_state;
pub(crate) mod triggers;
