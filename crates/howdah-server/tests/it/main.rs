//! Servers of our own, tried with real PostgreSQL programs.
//!
//! Some tests need an owner to kill, or one that is nobody special: they run this very program again, see `helper`.
#![expect(clippy::disallowed_methods, reason = "tests start threads and read the environment")]
#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a failed test")]

mod access;
mod finding;
mod helper;
mod persistent;
mod throwaway;
mod tools;
mod trying;
