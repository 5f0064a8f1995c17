//! What a server says when it ends a session.

/// Why a server ended a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastWords {
    /// The five characters of the SQLSTATE.
    pub sqlstate: String,
    /// What happened, in the server's words.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl LastWords {
    /// The fields of an ErrorResponse, unless the session goes on behind it.
    pub(crate) fn parse(body: &[u8]) -> Option<LastWords> {
        let field = |tag: u8| {
            let mut fields = body.split(|byte| *byte == 0);
            let found = fields.find(|field| field.first() == Some(&tag))?;
            Some(String::from_utf8_lossy(&found[1..]).into_owned())
        };
        // The second is in the server's language.
        let severity = field(b'V').or_else(|| field(b'S'))?;
        if severity != "FATAL" && severity != "PANIC" {
            return None;
        }
        Some(LastWords {
            sqlstate: field(b'C')?,
            message: field(b'M')?,
            detail: field(b'D'),
            hint: field(b'H'),
        })
    }
}
