//! Text as a JSON string.

/// Appends `text` in quotes. What PostgreSQL makes of `\u0000` is for it to say.
pub(crate) fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut from = 0;
    for (at, byte) in text.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..=0x1F => b"",
            _ => continue,
        };
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(escape);
        if escape.is_empty() {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
        }
        from = at + 1;
    }
    out.extend_from_slice(&text[from..]);
    out.push(b'"');
}
