//! Values of Arrow arrays against the codecs of their literals, which are compared with servers elsewhere.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "helpers of tests, and numbers of every size out of one"
)]

mod created;
mod edges;
mod json;
mod nested;
mod oracle;
mod scalars;
