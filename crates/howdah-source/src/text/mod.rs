//! Records of text: cut into pieces at record ends, split into fields, and guessed where nobody says how they are written.

mod ahead;
pub mod confine;
pub mod cut;
mod empty_lines;
mod extent;
pub mod line_end;
pub mod live;
pub mod open_quote;
pub mod piece;
mod quote_scan;
mod quoted_lines;
pub mod reading;
pub mod record_ends;
pub mod sniff;
pub mod split;
mod structural;
mod text_input;
