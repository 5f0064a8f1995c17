//! The engine against servers: one program, so that it is linked once and its tests share a server.
#![expect(clippy::disallowed_methods, reason = "tests start threads and read the environment")]
#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a failed test")]
#![expect(clippy::print_stdout, reason = "seeds, counts and skipped tests are worth reading")]

mod arrow;
mod arrow_oracle;
mod bulk_writer;
mod columns;
mod commits;
mod common;
mod creation;
mod cutting;
mod date_formats;
mod decimals;
mod detection;
mod encodings;
mod existing_tables;
mod failures;
mod forced_nulls;
mod header_guesses;
mod json_cutting;
mod lock_waits;
mod lost_peer;
mod made_files;
mod many_files;
mod modes;
mod ndjson;
mod ndjson_keys;
mod ndjson_rejects;
mod nested_types;
mod new_tables;
mod no_flags;
mod oracle;
mod other_servers;
mod passed_on;
mod pooler;
mod privileges;
mod promote;
mod real_files;
mod reference;
mod reference_selftest;
mod refused_by_the_server;
mod refused_staged_rows;
mod reject_files;
mod rejects;
mod replace;
mod row_commits;
mod sessions;
mod staging;
mod tuples;
mod unreachable;
mod write_paths;
mod writer;
mod writer_faults;
mod writer_options;
mod writer_values;
mod xml;
