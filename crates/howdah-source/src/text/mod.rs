//! Records of text: cut into pieces at record ends, split into fields, and guessed where nobody says how they are written.

pub mod cut;
mod empty_lines;
pub mod line_end;
pub mod live;
pub mod piece;
pub mod reading;
pub mod sniff;
pub mod split;
mod structural;
