//! Data sets and honest measurements.
