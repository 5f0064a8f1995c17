#![doc = include_str!("../../../docs/writer.md")]
// Nothing but the page, so that docs.rs has it and its code is compiled.
