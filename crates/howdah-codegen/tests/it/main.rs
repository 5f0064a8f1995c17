//! Tests of what is generated, in one program.

mod describe;
mod golden;
mod migrate;
mod projects;
mod reading;
mod schema;
