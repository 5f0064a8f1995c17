//! Data sets and honest measurements.

pub mod dataset;
