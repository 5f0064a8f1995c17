//! Tests of what is generated, in one program.

mod golden;
mod reading;
