//! Tests of what is generated, in one program.

mod describe;
mod golden;
mod projects;
mod reading;
