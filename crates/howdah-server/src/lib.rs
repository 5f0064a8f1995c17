//! A PostgreSQL server of our own: find binaries, initdb, start, stop.
