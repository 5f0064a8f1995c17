//! The native module `howdah._native`.
