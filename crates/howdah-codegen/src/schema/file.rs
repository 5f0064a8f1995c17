//! A file that is read for an entry.

/// A file of an entry. Only SQL and what [`super::detect::is_evidence`] has a text.
pub(super) struct ToolFile {
    /// Below the entry.
    pub(super) name: String,
    /// Below the project.
    pub(super) shown: String,
    pub(super) text: String,
}

impl ToolFile {
    /// Without its folders.
    pub(super) fn base(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn is_sql(&self) -> bool {
        self.name.ends_with(".sql")
    }

    /// It is in the folder itself.
    pub(super) fn is_top(&self) -> bool {
        !self.name.contains('/')
    }
}
