//! Passwords that tests connect with: whatever a program prints is searched for them.

use std::process::{Child, Command, Output};
use std::sync::Mutex;

/// Passwords of this test program's servers.
static PASSWORDS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// From now on no guarded output may show `password`.
pub fn guard(password: &str) {
    // A short word would be found by chance.
    if password.len() >= 8 {
        PASSWORDS.lock().unwrap().push(password.to_owned());
    }
}

/// The password that `shown` holds, if it holds one.
pub fn shown_in(shown: &[u8]) -> Option<String> {
    let shown = String::from_utf8_lossy(shown);
    PASSWORDS.lock().unwrap().iter().find(|password| shown.contains(password.as_str())).cloned()
}

/// Programs whose whole output is searched for passwords.
pub trait Guarded {
    /// What the program prints until it ends, on both streams.
    ///
    /// # Panics
    /// If it cannot be run, or shows a password.
    fn guarded_output(self) -> Output;
}

impl Guarded for &mut Command {
    fn guarded_output(self) -> Output {
        searched(self.output().unwrap())
    }
}

impl Guarded for Child {
    fn guarded_output(self) -> Output {
        searched(self.wait_with_output().unwrap())
    }
}

fn searched(output: Output) -> Output {
    for (stream, shown) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
        if let Some(password) = shown_in(shown) {
            let without = String::from_utf8_lossy(shown).replace(&password, "[the password]");
            panic!("a password on {stream}: {without}");
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a password on standard error: it was [the password]")]
    fn a_program_that_shows_a_password_fails_its_test() {
        guard("canary-in-a-mine");
        let _ =
            Command::new("sh").args(["-c", "echo fine; echo it was canary-in-a-mine >&2"]).guarded_output();
    }

    #[test]
    fn other_output_is_handed_on() {
        guard("canary-in-a-cage");
        let output = Command::new("sh").args(["-c", "echo a canary"]).guarded_output();
        assert_eq!(output.stdout, b"a canary\n");
    }
}
