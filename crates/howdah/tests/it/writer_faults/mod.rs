//! A Writer whose wire is cut, whose server goes away, and whose process is killed: rows that were acknowledged are all
//! there, none is there twice, and every acknowledgement resolves.

pub(crate) mod account;
mod killed;
mod late;
mod seeds;
mod server;
mod sessions;
mod wire;
