//! Settings of the session in the message that begins it, where libpq has them, and where a pooler looks for them: the driver
//! has no place for them there.

use bytes::{BufMut, BytesMut};

use crate::environment::Environment;

/// What precedes every other message: its length, which counts itself, and a code.
const HEAD_BYTES: usize = 8;

/// The question whether TLS may begin, instead of a session: it is sent as it is.
pub(crate) const SSL_REQUEST: [u8; HEAD_BYTES] = [0, 0, 0, 8, 4, 210, 22, 47];

/// libpq's variables that stand for settings of the session. They count more than those of `options`.
const VARIABLES: [(&str, &str); 3] = [("PGTZ", "TimeZone"), ("PGDATESTYLE", "DateStyle"), ("PGGEQO", "geqo")];

/// Settings by their names, in the form of the message.
#[derive(Debug, Clone, Default)]
pub(crate) struct StartupSettings(Vec<u8>);

impl StartupSettings {
    /// What the variables say.
    pub(crate) fn of(environment: &Environment) -> StartupSettings {
        let mut settings = StartupSettings::default();
        for (variable, setting) in VARIABLES {
            // libpq takes this word for the server's own.
            let is_said = |value: &&str| !value.eq_ignore_ascii_case("default") && !value.contains('\0');
            if let Some(value) = environment.get(variable).filter(is_said) {
                settings.push(setting, value);
            }
        }
        settings
    }

    /// Adds a setting. Neither holds a NUL, which ends it.
    fn push(&mut self, name: &str, value: &str) {
        for text in [name, value] {
            self.0.extend_from_slice(text.as_bytes());
            self.0.push(0);
        }
    }
}

/// The message of one session, while the driver writes it.
pub(crate) struct StartupMessage {
    settings: StartupSettings,
    held: BytesMut,
}

impl StartupMessage {
    /// `None` where there is nothing to add.
    pub(crate) fn with(settings: StartupSettings) -> Option<StartupMessage> {
        (!settings.0.is_empty()).then(|| StartupMessage { settings, held: BytesMut::new() })
    }

    /// For another stream of the same session.
    pub(crate) fn settings(&self) -> StartupSettings {
        self.settings.clone()
    }

    /// Takes bytes of the message: how many, and the message with the settings once it is whole.
    pub(crate) fn take(&mut self, driver: &[u8]) -> (usize, Option<BytesMut>) {
        let mut taken = 0;
        while self.held.len() < self.wanted() {
            let some = (self.wanted() - self.held.len()).min(driver.len() - taken);
            if some == 0 {
                return (taken, None);
            }
            self.held.put_slice(&driver[taken..taken + some]);
            taken += some;
        }
        // An empty name ends the list.
        let list = self.held.len().saturating_sub(1);
        let mut message = BytesMut::with_capacity(self.held.len() + self.settings.0.len());
        message.put_slice(&self.held[..list]);
        message.put_slice(&self.settings.0);
        message.put_u8(0);
        if let (Ok(length), Some(head)) = (u32::try_from(message.len()), message.first_chunk_mut::<4>()) {
            *head = length.to_be_bytes();
        }
        (taken, Some(message))
    }

    /// So many bytes the message has, as far as that is known.
    fn wanted(&self) -> usize {
        match self.held.first_chunk::<4>() {
            Some(length) if self.held.len() >= HEAD_BYTES => usize::try_from(u32::from_be_bytes(*length))
                .map_or(HEAD_BYTES, |length| length.max(HEAD_BYTES)),
            _ => HEAD_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stand_behind_the_driver_s_wherever_its_writes_are_cut() {
        let mut driver = BytesMut::new();
        let parameters = [("user", "me"), ("database", "shop")];
        postgres_protocol::message::frontend::startup_message(parameters, &mut driver).unwrap();
        let mut settings = StartupSettings::default();
        settings.push("TimeZone", "Asia/Tokyo");
        let mut expected = BytesMut::new();
        let parameters = [("user", "me"), ("database", "shop"), ("TimeZone", "Asia/Tokyo")];
        postgres_protocol::message::frontend::startup_message(parameters, &mut expected).unwrap();
        for cut in 1..driver.len() {
            let mut message = StartupMessage::with(settings.clone()).unwrap();
            let (first, none) = message.take(&driver[..cut]);
            assert_eq!((first, none), (cut, None));
            // What is written behind the message is not taken.
            let rest = [&driver[cut..], b"more"].concat();
            assert_eq!(message.take(&rest), (driver.len() - cut, Some(expected.clone())));
        }
        assert!(StartupMessage::with(StartupSettings::default()).is_none());
    }
}
