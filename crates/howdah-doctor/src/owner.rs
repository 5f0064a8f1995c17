//! What only whoever owns a server can do with it.

use howdah::{Error, Target};

/// A setting as it stood among those that ALTER SYSTEM sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingBefore {
    /// Its name.
    pub name: String,
    /// Its value; none: ALTER SYSTEM had not set it.
    pub value: Option<String>,
}

impl SettingBefore {
    /// As it stands once ALTER SYSTEM has set it so.
    pub(crate) fn to((name, value): &(String, String)) -> SettingBefore {
        SettingBefore { name: name.clone(), value: Some(value.clone()) }
    }
}

/// Whoever owns a server, and alone may try settings on it. What stood before is written down where a program that is killed
/// leaves it.
pub trait Owner {
    /// What one who was killed left.
    ///
    /// # Errors
    /// It cannot be read.
    fn left(&self) -> Result<Vec<SettingBefore>, Error>;

    /// Writes down how settings stand, in place of what was written down before.
    ///
    /// # Errors
    /// It cannot be written.
    fn write_down(&self, before: &[SettingBefore]) -> Result<(), Error>;

    /// Nothing is to be put back any more.
    ///
    /// # Errors
    /// What is written down cannot be removed.
    fn forget(&self) -> Result<(), Error>;

    /// Stops the server and starts it. Returns where it is then.
    ///
    /// # Errors
    /// It does not stop, or does not start.
    fn restart(&self) -> Result<Target, Error>;

    /// Starts the server if it does not run, with the settings that are written down as they stood.
    ///
    /// # Errors
    /// It does not start.
    fn start_as_it_was(&self) -> Result<Target, Error>;
}
