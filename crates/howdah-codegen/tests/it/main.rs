//! Tests of what is generated, in one program.

mod describe;
mod golden;
mod migrate;
mod own_types;
mod projects;
mod reading;
mod schema;
mod tables;
