//! Characters of foreign text that a reader would not see.

/// Whether a character moves the cursor, is seen nowhere, or changes the order of others: text of others is shown with an
/// escape in its place, so that it cannot pass for other text.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
