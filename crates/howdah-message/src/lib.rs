//! What the library says to people: text that mentions options and actions as data, so that each front end can spell
//! them in its own language.
//!
//! The command writes `--mode append`, Python `mode="append"`, and the library itself `mode=append`. A message is built
//! with [`message!`](crate::message!) and spelled with a [`Spelling`]; its words are never searched for options.

use std::fmt;
use std::ops::{Deref, Range};

use serde::{Serialize, Serializer};

mod hidden;
pub mod setting;
mod spelling;

pub use hidden::is_hidden;
pub use setting::{Setting, Value};
pub use spelling::{Library, Spelling};

/// A sentence or a few, with mentions of options and actions.
///
/// It dereferences to its text in the spelling of the [`Library`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// In the spelling of the library.
    text: String,
    /// What is mentioned in which part of the text, in order.
    mentions: Vec<(Range<usize>, Mention)>,
}

/// What a front end has to put into its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mention {
    /// An option, alone or with a value.
    Setting(Setting, Option<Value>),
    /// Something to do outside of the options.
    Action(Action),
}

/// Something that a person can do and that each front end does in its own way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// To promote the rows of the table `landing` into the table `into`.
    Promote {
        /// The landing table, as SQL.
        landing: String,
        /// The typed table, as SQL.
        into: String,
    },
    /// To load what another program writes to a pipe.
    LoadOutput(&'static str),
    /// To stream what another program writes to a pipe.
    StreamOutput(&'static str),
    /// To stream a file or pipe as standard input, once.
    StreamInput(&'static str),
    /// To supply a password: noun phrases, of which each will do.
    SupplyPassword,
}

impl Message {
    /// The text with its mentions in the words of `spelling`.
    pub fn spelled(&self, spelling: &dyn Spelling) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut behind = 0;
        for (range, mention) in &self.mentions {
            out.push_str(&self.text[behind..range.start]);
            out.push_str(&spelling.mention(mention));
            behind = range.end;
        }
        out.push_str(&self.text[behind..]);
        out
    }

    /// The options and actions that the message mentions, in order.
    pub fn mentions(&self) -> impl Iterator<Item = &Mention> {
        self.mentions.iter().map(|(_, mention)| mention)
    }

    /// The message's text in the spelling of the library.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Appends a part: text, a mention, or another message.
    pub fn push(&mut self, part: impl Part) {
        part.append_to(self);
    }

    /// The messages with `separator` between them.
    pub fn joined(messages: impl IntoIterator<Item = Message>, separator: &str) -> Message {
        let mut all = Message::default();
        for (at, message) in messages.into_iter().enumerate() {
            if at > 0 {
                all.push(separator);
            }
            all.push(message);
        }
        all
    }
}

/// What a [`Message`] is made of.
pub trait Part {
    /// Appends itself to `message`.
    fn append_to(self, message: &mut Message);
}

impl Part for &str {
    fn append_to(self, message: &mut Message) {
        message.text.push_str(self);
    }
}

impl Part for String {
    fn append_to(self, message: &mut Message) {
        message.text.push_str(&self);
    }
}

impl Part for &String {
    fn append_to(self, message: &mut Message) {
        message.text.push_str(self);
    }
}

impl Part for fmt::Arguments<'_> {
    fn append_to(self, message: &mut Message) {
        // A `Display` that fails has written what it could.
        let _ = fmt::write(&mut message.text, self);
    }
}

impl Part for Mention {
    fn append_to(self, message: &mut Message) {
        let start = message.text.len();
        message.text.push_str(&Library.mention(&self));
        message.mentions.push((start..message.text.len(), self));
    }
}

impl Part for Setting {
    fn append_to(self, message: &mut Message) {
        Mention::Setting(self, None).append_to(message);
    }
}

impl Part for Action {
    fn append_to(self, message: &mut Message) {
        Mention::Action(self).append_to(message);
    }
}

impl Part for Message {
    fn append_to(self, message: &mut Message) {
        let start = message.text.len();
        message.text.push_str(&self.text);
        let shifted =
            |(range, mention): (Range<usize>, Mention)| (start + range.start..start + range.end, mention);
        message.mentions.extend(self.mentions.into_iter().map(shifted));
    }
}

impl Part for &Message {
    fn append_to(self, message: &mut Message) {
        self.clone().append_to(message);
    }
}

/// A [`Message`] of its parts, in order: string literals, in which `{name}` stands for a
/// variable as in `format!`, and expressions that are text, settings with or without a value, actions or messages.
///
/// ```
/// use howdah_message::message;
/// use howdah_message::setting;
///
/// let table = "public.people";
/// let hint = message![setting::MODE.word("replace"), " exchanges the rows of {table}"];
/// assert_eq!(hint.as_str(), "mode=replace exchanges the rows of public.people");
/// ```
#[macro_export]
macro_rules! message {
    (@parts $message:ident,) => {};
    (@parts $message:ident, $text:literal $(, $($rest:tt)*)?) => {
        $message.push(::std::format_args!($text));
        $crate::message!(@parts $message, $($($rest)*)?);
    };
    (@parts $message:ident, $part:expr $(, $($rest:tt)*)?) => {
        $message.push($part);
        $crate::message!(@parts $message, $($($rest)*)?);
    };
    ($($parts:tt)*) => {{
        let mut message = $crate::Message::default();
        $crate::message!(@parts message, $($parts)*);
        message
    }};
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Message::from(text.to_owned())
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Message { text, mentions: Vec::new() }
    }
}

impl From<&String> for Message {
    fn from(text: &String) -> Self {
        Message::from(text.clone())
    }
}

impl From<Mention> for Message {
    fn from(mention: Mention) -> Self {
        message![mention]
    }
}

impl From<Setting> for Mention {
    fn from(setting: Setting) -> Self {
        Mention::Setting(setting, None)
    }
}

impl From<Setting> for Message {
    fn from(setting: Setting) -> Self {
        message![setting]
    }
}

impl Deref for Message {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// So that it can be the cause of an `io::Error`.
impl std::error::Error for Message {}

impl PartialEq<str> for Message {
    fn eq(&self, text: &str) -> bool {
        self.text == text
    }
}

impl PartialEq<&str> for Message {
    fn eq(&self, text: &&str) -> bool {
        self.text == *text
    }
}

/// As its text: spell it first, with [`Respell`].
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// Something with messages in it, which a front end puts into its own words before it shows or serialises it.
pub trait Respell {
    /// Replaces the text of each message by its text in `spelling`.
    fn respell(&mut self, spelling: &dyn Spelling);

    /// A copy with the text of each message in `spelling`.
    fn respelled(&self, spelling: &dyn Spelling) -> Self
    where
        Self: Clone,
    {
        let mut copy = self.clone();
        copy.respell(spelling);
        copy
    }
}

impl Respell for Message {
    fn respell(&mut self, spelling: &dyn Spelling) {
        *self = Message::from(self.spelled(spelling));
    }
}

impl<T: Respell> Respell for Option<T> {
    fn respell(&mut self, spelling: &dyn Spelling) {
        self.iter_mut().for_each(|each| each.respell(spelling));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shout;

    impl Spelling for Shout {
        fn setting(&self, setting: Setting, value: Option<&Value>) -> String {
            let value = value.map(|value| Library.value(value)).unwrap_or_default();
            format!("<{}{value}>", setting.name().to_uppercase())
        }

        fn action(&self, _: &Action) -> String {
            "<DO>".to_owned()
        }
    }

    #[test]
    fn text_that_looks_like_a_mention_is_left_alone_and_mentions_are_spelled() {
        let table = "mode=append";
        let inner = message![setting::KEY, " is for {table}"];
        let all = message!["{table}: ", &inner, String::from("; "), setting::NULL.text("x"), "{{}}"];
        assert_eq!(all.as_str(), "mode=append: key is for mode=append; null=\"x\"{}");
        assert_eq!(all.spelled(&Shout), "mode=append: <KEY> is for mode=append; <NULL\"x\">{}");
        let mut told = Some(message![Action::SupplyPassword]);
        told.respell(&Shout);
        assert_eq!(told, Some(Message::from("<DO>")));
    }

    #[test]
    fn joined_messages_keep_their_mentions() {
        let all = Message::joined([message![setting::MAP], message!["and ", setting::KEY]], ", ");
        assert_eq!(all.spelled(&Shout), "<MAP>, and <KEY>");
    }
}
