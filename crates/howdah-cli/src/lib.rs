//! The `howdah` command.
