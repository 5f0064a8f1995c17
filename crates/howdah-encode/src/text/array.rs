//! Array literals: braces, elements with or without quotes, several dimensions, explicit lower bounds.
//!
//! PostgreSQL 17 rewrote this reader. Where the older one accepted odd nestings, or would find another fault first,
//! the server is asked.

use super::TextCodec;
use super::space::is_space;
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// The most dimensions of an array in PostgreSQL (`MAXDIM`).
const MAX_DIMENSIONS: usize = 6;
/// Most elements that are decided here: far below the point where the array's size in the server's memory matters.
const MAX_ELEMENTS: usize = 1 << 24;
/// Digits of a bound that cannot overflow.
const BOUND_DIGITS: usize = 9;
/// Bytes of the header before the dimensions: their number, whether there are NULLs, the element's type.
const HEADER: usize = 12;

/// How to read the arrays of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrayCodec {
    element_oid: u32,
    delimiter: u8,
    element: TextCodec,
}

/// One dimension: the bounds written in front, and the elements found between the braces.
#[derive(Clone, Copy, Default)]
struct Dimension {
    /// The lower bound and the length, where the literal names them.
    named: Option<(i32, usize)>,
    /// Elements of the first sub-array that was closed; all others must have as many.
    length: Option<usize>,
    /// Elements so far of the sub-array that is open.
    seen: usize,
}

/// An element's text: quotes and escapes undone.
enum ElementText<'a> {
    Null,
    Text(&'a [u8]),
}

impl ArrayCodec {
    pub(super) fn new(element_oid: u32, delimiter: u8, element: TextCodec) -> Self {
        ArrayCodec { element_oid, delimiter, element }
    }

    pub(super) fn with_parts(&self, part: impl Fn(&TextCodec) -> TextCodec) -> Self {
        ArrayCodec { element: part(&self.element), ..*self }
    }

    #[cfg(feature = "arrow")]
    pub(super) fn element(&self) -> &TextCodec {
        &self.element
    }

    /// Appends the array without the length in front.
    pub(super) fn put(&self, literal: &[u8], out: &mut Vec<u8>) -> Verdict {
        let mut reader = ArrayReader { literal, at: 0, delimiter: self.delimiter };
        let mut dimensions = [Dimension::default(); MAX_DIMENSIONS];
        let named = reader.named_bounds(&mut dimensions)?;
        let depth = reader.open_braces()?;
        if reader.peek() == Some(b'}') {
            // `{}` only: what else is empty is empty in newer servers and a fault in older ones, or the other way round.
            reader.at += 1;
            if depth > 1 || named > 0 || !reader.only_space_is_left() {
                return Err(NotEncoded::Unsure);
            }
            return self.put_header(&[], out);
        }
        if depth > MAX_DIMENSIONS || (named > 0 && named != depth) {
            return Err(NotEncoded::Unsure);
        }
        let dimensions = &mut dimensions[..depth];
        let start = out.len();
        self.put_header(dimensions, out)?;
        let mut has_nulls = false;
        let mut refused = None;
        let structure = self.put_elements(&mut reader, dimensions, &mut has_nulls, &mut refused, out);
        match (structure, refused) {
            (Ok(()), None) => {}
            (Ok(()), Some(refusal)) => return Err(refusal),
            (Err(fault), None) => return Err(fault),
            // Older servers speak of the structure first, newer ones of the element.
            (Err(_), Some(_)) => return Err(NotEncoded::Unsure),
        }
        // Known only once the elements are read.
        let (header, _) = out[start..].as_chunks_mut::<4>();
        header[1] = u32::from(has_nulls).to_be_bytes();
        for (lengths, dimension) in header[HEADER / 4..].chunks_mut(2).zip(dimensions) {
            // Every dimension was closed: otherwise the structure is at fault.
            lengths[0] = wire::count(dimension.length.ok_or(NotEncoded::Unsure)?)?;
        }
        Ok(())
    }

    /// Appends the header with zeros for what is not known yet: the lengths of the dimensions, and whether there are NULLs.
    fn put_header(&self, dimensions: &[Dimension], out: &mut Vec<u8>) -> Verdict {
        out.reserve(HEADER + 8 * dimensions.len());
        out.extend_from_slice(&wire::count(dimensions.len())?);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.element_oid.to_be_bytes());
        for dimension in dimensions {
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&dimension.named.map_or(1, |(lower, _)| lower).to_be_bytes());
        }
        Ok(())
    }

    /// Reads from behind the opening braces to the end. After a refused element only the structure is looked at.
    fn put_elements(
        &self,
        reader: &mut ArrayReader<'_>,
        dimensions: &mut [Dimension],
        has_nulls: &mut bool,
        refused: &mut Option<NotEncoded>,
        out: &mut Vec<u8>,
    ) -> Verdict {
        let deepest = dimensions.len() - 1;
        let mut unescaped = Vec::new();
        let mut count = 0_usize;
        'elements: loop {
            let element = reader.element(&mut unescaped)?;
            if refused.is_none() {
                let verdict = match element {
                    ElementText::Null => {
                        *has_nulls = true;
                        self.element.encode_null(out)
                    }
                    ElementText::Text(text) => self.element.encode(text, out),
                };
                match verdict {
                    Ok(()) => {}
                    Err(NotEncoded::Unsure) => return verdict,
                    Err(refusal) => *refused = Some(refusal),
                }
            }
            count += 1;
            if count > MAX_ELEMENTS {
                return Err(NotEncoded::Unsure);
            }
            dimensions[deepest].seen += 1;
            let mut level = deepest;
            loop {
                match reader.after_element()? {
                    After::Delimiter => {
                        reader.reopen(deepest - level)?;
                        continue 'elements;
                    }
                    After::Close => {
                        if !dimensions[level].close() {
                            return Err(reader.fault());
                        }
                        let Some(outer) = level.checked_sub(1) else { break 'elements };
                        level = outer;
                        dimensions[level].seen += 1;
                    }
                }
            }
        }
        if !reader.only_space_is_left() {
            return Err(reader.fault());
        }
        let fits = |dimension: &Dimension| {
            dimension.named.is_none_or(|(_, length)| dimension.length == Some(length))
        };
        if dimensions.iter().all(fits) { Ok(()) } else { Err(reader.fault()) }
    }
}

impl Dimension {
    /// A sub-array ends; `false` when it is not as long as its siblings.
    fn close(&mut self) -> bool {
        let seen = std::mem::take(&mut self.seen);
        *self.length.get_or_insert(seen) == seen
    }
}

/// What follows an element or a closing brace.
enum After {
    Delimiter,
    Close,
}

struct ArrayReader<'a> {
    literal: &'a [u8],
    at: usize,
    delimiter: u8,
}

impl<'a> ArrayReader<'a> {
    fn fault(&self) -> NotEncoded {
        NotEncoded::malformed("array", self.literal)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.literal.get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn only_space_is_left(&mut self) -> bool {
        self.skip_space();
        self.peek().is_none()
    }

    /// `[2:4][0:1]=` in front; returns how many dimensions it names. Odd spellings are the server's.
    fn named_bounds(&mut self, dimensions: &mut [Dimension; MAX_DIMENSIONS]) -> Result<usize, NotEncoded> {
        let mut named = 0;
        loop {
            self.skip_space();
            if self.peek() != Some(b'[') {
                break;
            }
            self.at += 1;
            let (mut lower, mut upper) = (1, self.bound()?);
            if self.peek() == Some(b':') {
                self.at += 1;
                (lower, upper) = (upper, self.bound()?);
            }
            let length = usize::try_from(i64::from(upper) - i64::from(lower) + 1);
            let (Some(b']'), Ok(length @ 1..), Some(dimension)) =
                (self.peek(), length, dimensions.get_mut(named))
            else {
                return Err(NotEncoded::Unsure);
            };
            self.at += 1;
            dimension.named = Some((lower, length));
            named += 1;
        }
        if named > 0 {
            if self.peek() != Some(b'=') {
                return Err(NotEncoded::Unsure);
            }
            self.at += 1;
            self.skip_space();
        }
        Ok(named)
    }

    fn bound(&mut self) -> Result<i32, NotEncoded> {
        let rest = &self.literal[self.at..];
        let sign = usize::from(rest.first() == Some(&b'-'));
        let digits = rest[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let Ok(text) = std::str::from_utf8(&rest[..sign + digits]) else { return Err(NotEncoded::Unsure) };
        self.at += text.len();
        match text.parse() {
            Ok(bound) if digits <= BOUND_DIGITS => Ok(bound),
            _ => Err(NotEncoded::Unsure),
        }
    }

    /// Reads the opening braces, one for each dimension; returns their number.
    fn open_braces(&mut self) -> Result<usize, NotEncoded> {
        let mut depth = 0;
        while self.peek() == Some(b'{') {
            self.at += 1;
            depth += 1;
            self.skip_space();
        }
        if depth == 0 { Err(self.fault()) } else { Ok(depth) }
    }

    /// After a delimiter between sub-arrays. Another depth than the first element's is the server's to judge.
    fn reopen(&mut self, braces: usize) -> Verdict {
        for _ in 0..braces {
            self.skip_space();
            match self.peek() {
                Some(b'{') => self.at += 1,
                None => return Err(self.fault()),
                Some(_) => return Err(NotEncoded::Unsure),
            }
        }
        Ok(())
    }

    #[inline]
    fn after_element(&mut self) -> Result<After, NotEncoded> {
        self.skip_space();
        let after = match self.peek() {
            Some(b'}') => After::Close,
            Some(byte) if byte == self.delimiter => After::Delimiter,
            _ => return Err(self.fault()),
        };
        self.at += 1;
        Ok(after)
    }

    #[inline]
    fn element<'e>(&mut self, unescaped: &'e mut Vec<u8>) -> Result<ElementText<'e>, NotEncoded>
    where
        'a: 'e,
    {
        self.skip_space();
        let rest = &self.literal[self.at..];
        if let [b'"', quoted @ ..] = rest {
            return match memchr::memchr2(b'"', b'\\', quoted) {
                Some(end) if quoted[end] == b'"' => {
                    self.at += end + 2;
                    Ok(ElementText::Text(&quoted[..end]))
                }
                Some(_) => self.escaped(true, unescaped),
                None => Err(self.fault()),
            };
        }
        let special = |&byte: &u8| byte == self.delimiter || matches!(byte, b'}' | b'\\' | b'"' | b'{');
        let end = rest.iter().position(special).ok_or_else(|| self.fault())?;
        match rest[end] {
            b'\\' => return self.escaped(false, unescaped),
            // A brace in place of an element is another depth.
            b'{' if end == 0 => return Err(NotEncoded::Unsure),
            b'"' | b'{' => return Err(self.fault()),
            _ => {}
        }
        self.at += end;
        let mut text = &rest[..end];
        while let [before @ .., last] = text
            && is_space(*last)
        {
            text = before;
        }
        match text {
            [] => Err(self.fault()),
            _ if text.eq_ignore_ascii_case(b"null") => Ok(ElementText::Null),
            _ => Ok(ElementText::Text(text)),
        }
    }

    /// An element with backslashes, in quotes or not.
    #[cold]
    fn escaped<'e>(
        &mut self,
        quoted: bool,
        unescaped: &'e mut Vec<u8>,
    ) -> Result<ElementText<'e>, NotEncoded> {
        unescaped.clear();
        self.at += usize::from(quoted);
        // Behind the last byte that is not unquoted white space.
        let mut end = 0;
        loop {
            let byte = self.peek().ok_or_else(|| self.fault())?;
            match byte {
                b'\\' => {
                    let escaped = self.literal.get(self.at + 1).ok_or_else(|| self.fault())?;
                    unescaped.push(*escaped);
                    end = unescaped.len();
                    self.at += 2;
                    continue;
                }
                b'"' if quoted => {
                    self.at += 1;
                    return Ok(ElementText::Text(unescaped));
                }
                _ if quoted => {}
                b'"' | b'{' => return Err(self.fault()),
                b'}' => break,
                _ if byte == self.delimiter => break,
                _ => {}
            }
            unescaped.push(byte);
            if !is_space(byte) {
                end = unescaped.len();
            }
            self.at += 1;
        }
        unescaped.truncate(end);
        Ok(ElementText::Text(unescaped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::framed;
    use proptest::prelude::*;

    /// What reading gives: dimensions with lower bounds, whether there are NULLs, elements.
    #[derive(Debug, PartialEq)]
    struct Read {
        dimensions: Vec<(i32, i32)>,
        has_nulls: bool,
        elements: Vec<Option<String>>,
    }

    fn word(bytes: &[u8], at: &mut usize) -> i32 {
        *at += 4;
        i32::from_be_bytes(bytes[*at - 4..*at].try_into().unwrap())
    }

    fn read_as(codec: TextCodec, literal: &str) -> Result<Read, NotEncoded> {
        let array = ArrayCodec::new(7, b',', codec);
        let mut out = b"row".to_vec();
        let verdict = framed(&mut out, |out| array.put(literal.as_bytes(), out));
        if verdict.is_err() {
            assert_eq!(out, b"row", "{literal} left bytes behind");
        }
        verdict?;
        let mut at = 3;
        assert_eq!(usize::try_from(word(&out, &mut at)).unwrap(), out.len() - 7);
        let count = word(&out, &mut at);
        let has_nulls = word(&out, &mut at) == 1;
        assert_eq!(word(&out, &mut at), 7);
        let dimensions = (0..count).map(|_| (word(&out, &mut at), word(&out, &mut at))).collect();
        let mut elements = Vec::new();
        while at < out.len() {
            elements.push(usize::try_from(word(&out, &mut at)).ok().map(|length| {
                at += length;
                String::from_utf8(out[at - length..at].to_vec()).unwrap()
            }));
        }
        Ok(Read { dimensions, has_nulls, elements })
    }

    fn read(literal: &str) -> Result<Read, NotEncoded> {
        read_as(TextCodec::Text, literal)
    }

    fn array(dimensions: &[(i32, i32)], elements: &[&str]) -> Result<Read, NotEncoded> {
        let elements = elements.iter().map(|text| Some((*text).to_owned())).collect();
        Ok(Read { dimensions: dimensions.to_vec(), has_nulls: false, elements })
    }

    fn refusal(codec: TextCodec, literal: &str) -> (&'static str, String) {
        match read_as(codec, literal) {
            Err(NotEncoded::Invalid(invalid)) => (invalid.sqlstate, invalid.reason),
            other => panic!("{literal}: {other:?}"),
        }
    }

    #[test]
    fn blanks_quotes_and_backslashes_around_elements_are_undone() {
        assert_eq!(read("{}"), array(&[], &[]));
        assert_eq!(read(" { } "), array(&[], &[]));
        assert_eq!(read("{a,b c,d}"), array(&[(3, 1)], &["a", "b c", "d"]));
        assert_eq!(read(" {\ta , b c\n,\u{b}d } "), array(&[(3, 1)], &["a", "b c", "d"]));
        assert_eq!(read("{\"a,b\",\" c \",\"\"}"), array(&[(3, 1)], &["a,b", " c ", ""]));
        assert_eq!(read("{\"a\\\"b\",\"c\\\\\",d\\,e}"), array(&[(3, 1)], &["a\"b", "c\\", "d,e"]));
        assert_eq!(read("{ \\ a\\  ,\\{}"), array(&[(2, 1)], &[" a ", "{"]));
        assert_eq!(read("{\"null\",nul\\l,nulls}"), array(&[(3, 1)], &["null", "null", "nulls"]));
    }

    #[test]
    fn null_is_no_element() {
        let Ok(found) = read("{NULL, null ,a}") else { panic!("is read") };
        assert_eq!(found.elements, [None, None, Some("a".to_owned())]);
        assert!(found.has_nulls);
    }

    #[test]
    fn dimensions_and_their_lower_bounds_are_kept() {
        assert_eq!(read("{{a,b},{c,d},{e,f}}"), array(&[(3, 1), (2, 1)], &["a", "b", "c", "d", "e", "f"]));
        assert_eq!(read("{{{{{{a}}}}}}"), array(&[(1, 1); 6], &["a"]));
        assert_eq!(read("[2:3]={a,b}"), array(&[(2, 2)], &["a", "b"]));
        assert_eq!(read("[-1:0]={a,b}"), array(&[(2, -1)], &["a", "b"]));
        assert_eq!(read(" [2] [0:0] = {{a},{b}}"), array(&[(2, 1), (1, 0)], &["a", "b"]));
    }

    #[test]
    fn broken_arrays_are_refused_in_the_servers_words() {
        for literal in [
            "",
            "a",
            "a,b}",
            "{a",
            "{a,",
            "{a,}",
            "{,a}",
            "{a,,b}",
            "{a}b",
            "{a}}",
            "{\"a\"b}",
            "{a\"b\"}",
            "{\"a}",
            "{a\\}",
            "{a\\",
            "{a{b}",
            "{{a,b},{c}}",
            "{{a}",
            "[2:3]={a}",
            "{\"a\" \"b\"}",
            "[1:1]=",
        ] {
            let expected = ("22P02", format!("malformed array literal: \"{literal}\""));
            assert_eq!(refusal(TextCodec::Text, literal), expected);
        }
    }

    #[test]
    fn a_bad_element_is_refused_in_its_own_words() {
        let expected = ("22P02", "invalid input syntax for type integer: \"x\"".to_owned());
        assert_eq!(refusal(TextCodec::Int4, "{1,x,99999999999}"), expected);
        let expected = ("22001", "value too long for type character varying(3)".to_owned());
        assert_eq!(refusal(TextCodec::Varchar { limit: Some(3) }, "{abc,abcd}"), expected);
    }

    #[test]
    fn what_versions_read_differently_is_left_to_the_server() {
        for literal in [
            "{{}}",
            "{{},{}}",
            "[1:0]={}",
            "{{a},b}",
            "{a,{b}}",
            "{{a},{{b}}}",
            "{{{a}},{b}}",
            "{{{{{{{a}}}}}}}",
            "[2:1]={a}",
            "[1:2147483647]={a}",
            "[ 1:1]={a}",
            "[+1:1]={a}",
            "[a:b]={a}",
            "[1:1]{a}",
        ] {
            assert_eq!(read(literal), Err(NotEncoded::Unsure), "{literal}");
        }
        // Which of two faults comes first depends on the version.
        assert_eq!(read_as(TextCodec::Int4, "{x,{"), Err(NotEncoded::Unsure));
        assert_eq!(read_as(TextCodec::Int4, "{x}y"), Err(NotEncoded::Unsure));
        assert_eq!(read_as(TextCodec::Date, "{today}"), Err(NotEncoded::Unsure));
    }

    proptest! {
        #[test]
        fn what_the_server_prints_reads_back(
            rows in 1..4_usize,
            columns in 1..4_usize,
            texts in prop::collection::vec(prop::option::of("[a{},\"\\\\ né\t]{0,4}|NULL"), 9),
        ) {
            let texts = &texts[..rows * columns];
            let printed: Vec<String> = texts.iter().map(|text| match text {
                None => "NULL".to_owned(),
                Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            }).collect();
            let printed: Vec<String> =
                printed.chunks(columns).map(|row| format!("{{{}}}", row.join(","))).collect();
            let found = read(&format!("{{{}}}", printed.join(",")));
            let has_nulls = texts.iter().any(Option::is_none);
            let count = |count: usize| i32::try_from(count).unwrap();
            let dimensions = vec![(count(rows), 1), (count(columns), 1)];
            prop_assert_eq!(found, Ok(Read { dimensions, has_nulls, elements: texts.to_vec() }));
        }
    }
}
