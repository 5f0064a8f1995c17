//! What a server says without being asked, as far as it matters later.

use parking_lot::Mutex;

use tokio_postgres::error::DbError;

use crate::last_words::LastWords;

/// The source file of the server whose only warnings are about a commit's wait for a standby. The words are in the server's
/// language, and their SQLSTATE is that of all warnings.
const SYNCHRONOUS_REPLICATION: &str = "syncrep.c";

/// What was heard on one connection.
#[derive(Default)]
pub(crate) struct Said(Mutex<Heard>);

#[derive(Default)]
struct Heard {
    standby_warning: Option<DbError>,
    last_words: Option<LastWords>,
}

impl Said {
    /// The server gives notice of something.
    pub(crate) fn hear(&self, notice: DbError) {
        if notice.file() == Some(SYNCHRONOUS_REPLICATION) {
            self.0.lock().standby_warning = Some(notice);
        }
    }

    /// The connection ends with this.
    pub(crate) fn end(&self, words: LastWords) {
        self.0.lock().last_words = Some(words);
    }

    pub(crate) fn take_standby_warning(&self) -> Option<DbError> {
        self.0.lock().standby_warning.take()
    }

    pub(crate) fn last_words(&self) -> Option<LastWords> {
        self.0.lock().last_words.clone()
    }
}
