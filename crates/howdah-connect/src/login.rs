//! What a server asks for before it lets a client in, checked as it arrives: `require_auth`, and a limit on the work of SCRAM.
//! The driver checks neither, so its bytes are read along, and a login that is not allowed ends before the driver answers
//! ([`require_auth`](https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-REQUIRE-AUTH)).

use std::fmt;

use crate::error::Error;

/// libpq's names of the ways to log in.
const METHODS: [&str; 6] = ["password", "md5", "gss", "sspi", "scram-sha-256", "none"];

/// Rounds of hashing that a server may ask for; 4,096 is the default of PostgreSQL. Each costs about a third of a
/// microsecond, so a server that asks for billions would hold the client for minutes before it has shown who it is.
const MOST_ITERATIONS: u64 = 1_000_000;

/// A message of this phase is short; a longer one is not PostgreSQL's.
const LONGEST_MESSAGE: usize = 64 * 1024;

/// `require_auth`.
#[derive(Clone, Default)]
pub(crate) struct Required {
    /// As written, for messages; empty where nothing is required.
    text: String,
    allowed: Vec<&'static str>,
}

impl Required {
    pub(crate) fn parse(text: &str) -> Result<Required, Error> {
        if text.is_empty() {
            return Ok(Required::default());
        }
        let mut named = Vec::new();
        let mut negated = None;
        for part in text.split(',') {
            let (name, is_negated) = part.strip_prefix('!').map_or((part, false), |name| (name, true));
            match negated {
                None => negated = Some(is_negated),
                Some(before) if before == is_negated => {}
                Some(true) => {
                    return Err(Error::configuration(format!(
                        "require_auth method {part:?} cannot be mixed with negative methods"
                    )));
                }
                Some(false) => {
                    return Err(Error::configuration(format!(
                        "negative require_auth method {part:?} cannot be mixed with non-negative methods"
                    )));
                }
            }
            let Some(method) = METHODS.into_iter().find(|method| *method == name) else {
                return Err(Error::configuration(format!("invalid require_auth value: {part:?}")));
            };
            if named.contains(&method) {
                return Err(Error::configuration(format!(
                    "require_auth method {part:?} is specified more than once"
                )));
            }
            named.push(method);
        }
        let allowed = match negated {
            Some(true) => METHODS.into_iter().filter(|method| !named.contains(method)).collect(),
            _ => named,
        };
        Ok(Required { text: text.to_owned(), allowed })
    }

    fn check(&self, method: &'static str, otherwise: &str) -> Result<(), String> {
        if self.text.is_empty() || self.allowed.contains(&method) {
            return Ok(());
        }
        Err(format!("authentication method requirement {:?} failed: {otherwise}", self.text))
    }
}

/// Why the client does not go on with a login: the reason inside the I/O error that the driver gets.
#[derive(Debug)]
pub(crate) struct LoginRefused(pub(crate) String);

impl fmt::Display for LoginRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoginRefused {}

/// Reads along until the server has let the client in.
pub(crate) struct Login {
    required: Required,
    message: Vec<u8>,
    asked: bool,
    over: bool,
}

impl Login {
    pub(crate) fn new(required: Required) -> Login {
        Login { required, message: Vec::new(), asked: false, over: false }
    }

    /// Whether the server has let the client in.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Takes what arrived; an error means that it must not reach the driver.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !self.over && !bytes.is_empty() {
            // A tag and a length that counts itself, then the rest.
            let wanted = match self.message.get(1..5).and_then(|length| length.try_into().ok()) {
                None => 5,
                Some(length) => {
                    let length = usize::try_from(u32::from_be_bytes(length)).ok();
                    let length = length.filter(|length| *length < LONGEST_MESSAGE);
                    1 + length.ok_or("received an overlong message during authentication")?.max(4)
                }
            };
            let (now, later) = bytes.split_at(bytes.len().min(wanted - self.message.len()));
            self.message.extend_from_slice(now);
            bytes = later;
            if self.message.len() == wanted && wanted > 5 {
                self.judge()?;
                self.message.clear();
            } else if self.message.len() == 5 && self.message[1..5] == [0, 0, 0, 4] {
                self.message.clear();
            }
        }
        Ok(())
    }

    fn judge(&mut self) -> Result<(), String> {
        let (b'R', Some(code)) = (self.message[0], self.message.get(5..9)) else { return Ok(()) };
        let body = &self.message[9..];
        match code {
            [0, 0, 0, 0] => {
                self.over = true;
                if self.asked {
                    return Ok(());
                }
                self.required.check("none", "server did not complete authentication")
            }
            [0, 0, 0, method] => {
                self.asked = true;
                match method {
                    3 => self.required.check("password", "server requested a cleartext password"),
                    5 => self.required.check("md5", "server requested a hashed password"),
                    7 => self.required.check("gss", "server requested GSSAPI authentication"),
                    9 => self.required.check("sspi", "server requested SSPI authentication"),
                    10 => self.required.check("scram-sha-256", "server requested SASL authentication"),
                    11 => check_iterations(body),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// `r=<nonce>,s=<salt>,i=<iterations>`; whether it is well-formed the driver judges.
fn check_iterations(challenge: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(challenge);
    let Some(count) = text.split(',').find_map(|field| field.strip_prefix("i=")) else { return Ok(()) };
    match count.parse::<u64>() {
        Ok(count) if count <= MOST_ITERATIONS => Ok(()),
        _ => Err(format!(
            "the server asks for {count} SCRAM iterations, more than the {MOST_ITERATIONS} that this client will do"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(code: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(8 + body.len()).unwrap();
        [b"R", &length.to_be_bytes()[..], &[0, 0, 0, code], body].concat()
    }

    /// In whatever pieces the network delivers.
    fn verdict(required: &str, messages: &[Vec<u8>]) -> Result<(), String> {
        let bytes = messages.concat();
        let whole = Login::new(Required::parse(required).unwrap()).feed(&bytes);
        let mut login = Login::new(Required::parse(required).unwrap());
        let singly = bytes.iter().try_for_each(|byte| login.feed(&[*byte]));
        assert_eq!(whole, singly);
        whole
    }

    #[test]
    fn a_way_to_log_in_that_is_not_wanted_is_refused_before_it_is_answered() {
        let scram =
            || vec![request(10, b"SCRAM-SHA-256\0\0"), request(11, b"r=x,s=y,i=4096"), request(0, b"")];
        assert!(verdict("", &scram()).is_ok());
        assert!(verdict("scram-sha-256", &scram()).is_ok());
        assert!(verdict("md5,scram-sha-256", &scram()).is_ok());
        assert!(verdict("!password,!none", &scram()).is_ok());
        assert!(verdict("md5", &scram()).is_err());
        assert!(verdict("!scram-sha-256", &scram()).is_err());
        assert!(verdict("scram-sha-256", &[request(3, b"")]).is_err());
        assert!(verdict("scram-sha-256", &[request(0, b"")]).is_err());
        assert!(verdict("none", &[request(0, b"")]).is_ok());
        assert!(verdict("!password", &[request(3, b"")]).is_err());
    }

    #[test]
    fn iterations_without_end_are_refused() {
        let challenge = |count: &str| vec![request(11, format!("r=x,s=y,i={count}").as_bytes())];
        assert!(verdict("", &challenge("1000000")).is_ok());
        for count in ["1000001", "2147483647", "99999999999999999999999"] {
            assert!(verdict("", &challenge(count)).unwrap_err().contains("SCRAM iterations"), "{count}");
        }
        assert!(verdict("", &[vec![b'R', 0xff, 0xff, 0xff, 0xff, 0]]).is_err());
    }

    #[test]
    fn values_of_require_auth_are_those_of_libpq() {
        for (text, message) in [
            ("nonsense", "invalid require_auth value: \"nonsense\""),
            ("md5,", "invalid require_auth value: \"\""),
            ("md5,md5", "require_auth method \"md5\" is specified more than once"),
            ("md5,!none", "negative require_auth method \"!none\" cannot be mixed with non-negative methods"),
            ("!none,md5", "require_auth method \"md5\" cannot be mixed with negative methods"),
        ] {
            assert_eq!(Required::parse(text).err().unwrap().message(), message);
        }
    }
}
