//! What the codec targets share: literals read from the fuzzer's bytes, the promises that hold for every codec, and
//! the seeds.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use howdah_encode::literals::{TYPES, literals};
use howdah_encode::{NotEncoded, SessionRules, TextCodec};

/// Whole numbers, floating point, numeric, boolean.
pub const NUMBERS: &[u32] = &[16, 20, 21, 23, 26, 700, 701, 790, 1700];
/// Dates, times, intervals.
pub const MOMENTS: &[u32] = &[1082, 1083, 1114, 1184, 1186, 1266];
/// Text and its relatives, bytes, uuid, json.
pub const STRINGS: &[u32] = &[17, 18, 19, 25, 114, 142, 1042, 1043, 2950, 3802];
/// Network addresses, bit strings, log positions, plane geometry.
pub const NETWORKS: &[u32] = &[600, 601, 602, 603, 604, 628, 650, 718, 774, 829, 869, 1560, 1562, 3220];

/// A literal for a type of a family, in a session.
pub struct Case<'a> {
    pub oid: u32,
    pub typmod: i32,
    pub rules: SessionRules,
    pub literal: &'a [u8],
}

/// Zones of sessions; the last has rules that only the server knows.
const ZONES: [&str; 4] = ["UTC", "Etc/GMT-5", "<+05:30>-05:30", "Europe/Berlin"];
const DATE_STYLES: [&str; 3] = ["ISO, MDY", "ISO, DMY", "ISO, YMD"];

/// All their combinations, made once: the fuzzer is not to spend its time on the names of zones.
static SESSIONS: LazyLock<Vec<SessionRules>> = LazyLock::new(|| {
    ZONES
        .iter()
        .flat_map(|zone| DATE_STYLES.map(|style| SessionRules::from_settings(zone, style, "postgres", "C")))
        .collect()
});

impl<'a> Case<'a> {
    /// The first byte chooses the type, the second the session; the rest is the literal.
    pub fn read(family: &[u32], data: &'a [u8]) -> Option<Self> {
        let [ty, session, literal @ ..] = data else { return None };
        let types = || TYPES.iter().filter(|ty| family.contains(&ty.1));
        let &(_, oid, typmod) = types().nth(usize::from(*ty) % types().count())?;
        Some(Case { oid, typmod, rules: *self::session(*session), literal })
    }

    /// What the codec makes of the literal.
    pub fn verdict(&self) -> Result<Vec<u8>, NotEncoded> {
        self.verdict_on(self.literal)
    }

    /// What the codec makes of another literal.
    pub fn verdict_on(&self, literal: &[u8]) -> Result<Vec<u8>, NotEncoded> {
        encode(self.oid, self.typmod, &self.rules, literal)
    }

    /// What the codec of another type makes of the literal.
    pub fn verdict_as(&self, oid: u32, typmod: i32) -> Result<Vec<u8>, NotEncoded> {
        encode(oid, typmod, &self.rules, self.literal)
    }

    /// The literal as text, without the white space around it.
    pub fn trimmed(&self) -> Option<&'a str> {
        Some(std::str::from_utf8(self.literal).ok()?.trim_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']))
    }

    /// For types that do not see white space around a literal: it changes no verdict.
    pub fn expect_white_space_ignored(&self) {
        let bare = self.verdict();
        let padded = self.verdict_on(&[b" \t", self.literal, b"\n "].concat());
        match (&bare, &padded) {
            (Ok(bare), Ok(padded)) => assert_eq!(bare, padded, "white space changes the value"),
            (Ok(_), Err(NotEncoded::Invalid(invalid))) | (Err(NotEncoded::Invalid(invalid)), Ok(_)) => {
                panic!("white space makes it invalid, or valid: {}", invalid.reason)
            }
            _ => {}
        }
    }
}

/// Encodes, and checks what every codec promises: bytes are added or none are, the length says how many, and a
/// literal within a text is read as it is read alone.
pub fn encode_with(codec: &TextCodec, literal: &[u8]) -> Result<Vec<u8>, NotEncoded> {
    const BEFORE: &[u8] = b"row";
    let mut out = BEFORE.to_vec();
    let verdict = codec.encode(literal, &mut out);
    let mut within = BEFORE.to_vec();
    for (before, after) in [(&b""[..], &b""[..]), (b"7", b"7"), (b"a,longer start,", b",end")] {
        let text = [before, literal, after].concat();
        let range: Range<usize> = before.len()..before.len() + literal.len();
        assert_eq!(codec.encode_within(&text, range, &mut within), verdict, "read otherwise within a text");
        assert_eq!(within, out, "read otherwise within a text");
        within.truncate(BEFORE.len());
    }
    assert!(out.starts_with(BEFORE), "bytes before the field were changed");
    match verdict {
        Ok(()) => {
            let field = out.split_off(BEFORE.len());
            let (length, value) = field.split_first_chunk().expect("a field starts with its length");
            assert_eq!(usize::try_from(i32::from_be_bytes(*length)), Ok(value.len()), "the length is wrong");
            Ok(value.to_vec())
        }
        Err(refusal) => {
            assert_eq!(out, BEFORE, "a refused literal left bytes behind");
            Err(refusal)
        }
    }
}

/// The same for a type by its OID.
pub fn encode(oid: u32, typmod: i32, rules: &SessionRules, literal: &[u8]) -> Result<Vec<u8>, NotEncoded> {
    encode_with(&TextCodec::for_type(oid, typmod, rules).expect("the type has a codec"), literal)
}

/// The session that a byte chooses.
pub fn session(byte: u8) -> &'static SessionRules {
    &SESSIONS[usize::from(byte) % SESSIONS.len()]
}

/// Literals of each type as seeds.
pub const SEEDS_A_TYPE: usize = 100;

/// Writes literals of the family's types into the target's corpus, where the fuzzer reads them afterwards.
pub fn write_literals(target: &str, family: &[u32]) {
    for (at, (name, ..)) in TYPES.iter().filter(|ty| family.contains(&ty.1)).enumerate() {
        for (n, literal) in literals(name, 1, SEEDS_A_TYPE).iter().enumerate() {
            let head = [u8::try_from(at).unwrap_or(0), u8::try_from(n % 12).unwrap_or(0)];
            write_seed(target, &format!("{at}-{n}"), &[&head[..], literal.as_bytes()].concat());
        }
    }
}

/// Writes one file of a corpus. Without a corpus folder, or where it cannot be written, the fuzzer starts from less.
pub fn write_seed(target: &str, name: &str, bytes: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let _ = std::fs::write(folder.join(format!("seed-{name}")), bytes);
}
