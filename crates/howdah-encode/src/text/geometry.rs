//! `point`, `lseg`, `path`, `box`, `polygon`, `line` and `circle`: numbers of double precision between brackets, most
//! of which may be left out.

use super::float;
use super::space::is_space;
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// The types of plane geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `(x,y)`
    Point,
    /// `[(x1,y1),(x2,y2)]`
    Lseg,
    /// `[(x1,y1),…]` when open, `((x1,y1),…)` when closed.
    Path,
    /// `(x1,y1),(x2,y2)`; stored with the upper right corner first.
    Box,
    /// `((x1,y1),…)`
    Polygon,
    /// `{A,B,C}`; a line through two points is computed by the server.
    Line,
    /// `<(x,y),r>`
    Circle,
}

impl Shape {
    /// The type's name in messages.
    fn name(self) -> &'static str {
        match self {
            Shape::Point => "point",
            Shape::Lseg => "lseg",
            Shape::Path => "path",
            Shape::Box => "box",
            Shape::Polygon => "polygon",
            Shape::Line => "line",
            Shape::Circle => "circle",
        }
    }
}

/// Most points decided here: near the longest value the server's own limits come into play.
const MAX_POINTS: usize = (wire::MAX_FIELD_BYTES - 64) / 16;

/// Coefficients up to this are zero to the server.
const EPSILON: f64 = 1e-6;

#[inline(never)]
pub(super) fn put_shape(literal: &[u8], shape: Shape, out: &mut Vec<u8>) -> Verdict {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut reader = GeometryReader { literal, rest: literal, shape };
    let written = reader.put(out).and_then(|()| wire::field_length(out.len() - start - 4));
    match written {
        Ok(length) => out[start..start + 4].copy_from_slice(&length),
        Err(refusal) => {
            out.truncate(start);
            return Err(refusal);
        }
    }
    Ok(())
}

/// Reads a literal from its start to its end.
struct GeometryReader<'a> {
    literal: &'a [u8],
    rest: &'a [u8],
    shape: Shape,
}

impl<'a> GeometryReader<'a> {
    fn put(&mut self, out: &mut Vec<u8>) -> Verdict {
        match self.shape {
            Shape::Point => push(out, &self.pair()?),
            Shape::Lseg => self.put_points(2, true, out).map(|_| ())?,
            Shape::Path => self.put_path(out)?,
            Shape::Box => self.put_box(out)?,
            Shape::Polygon => {
                let points = self.count_points()?;
                out.extend_from_slice(&points.to_be_bytes());
                self.put_points(points, false, out)?;
            }
            Shape::Line => self.put_line(out)?,
            Shape::Circle => self.put_circle(out)?,
        }
        if self.rest.is_empty() { Ok(()) } else { Err(self.syntax()) }
    }

    /// The only opening bracket, if it stands first, belongs to the path and not to a point.
    fn put_path(&mut self, out: &mut Vec<u8>) -> Verdict {
        let points = self.count_points()?;
        self.skip_space();
        let outer = memchr::memrchr(b'(', self.rest) == Some(0) && self.take(b'(');
        let closed = out.len();
        out.push(0);
        out.extend_from_slice(&points.to_be_bytes());
        let open = self.put_points(points, true, out)?;
        out[closed] = u8::from(!open);
        if outer {
            self.expect(b')')?;
            self.skip_space();
        }
        Ok(())
    }

    fn put_box(&mut self, out: &mut Vec<u8>) -> Verdict {
        let mut corners = Vec::with_capacity(32);
        self.put_points(2, false, &mut corners)?;
        let (words, _) = corners.as_chunks::<8>();
        let [x1, y1, x2, y2] = *words else { return Err(NotEncoded::Unsure) };
        let ordered = |first: [u8; 8], second: [u8; 8]| {
            let swap = below(f64::from_be_bytes(first), f64::from_be_bytes(second));
            if swap { (second, first) } else { (first, second) }
        };
        let (high_x, low_x) = ordered(x1, x2);
        let (high_y, low_y) = ordered(y1, y2);
        out.extend_from_slice([high_x, high_y, low_x, low_y].as_flattened());
        Ok(())
    }

    fn put_line(&mut self, out: &mut Vec<u8>) -> Verdict {
        self.skip_space();
        if !self.take(b'{') {
            let start = out.len();
            self.put_points(2, true, out)?;
            out.truncate(start);
            return Err(if self.rest.is_empty() { NotEncoded::Unsure } else { self.syntax() });
        }
        let a = self.number()?;
        self.expect(b',')?;
        let b = self.number()?;
        self.expect(b',')?;
        let c = self.number()?;
        self.expect(b'}')?;
        self.skip_space();
        if self.rest.is_empty() && a.abs() <= EPSILON && b.abs() <= EPSILON {
            let reason = "invalid line specification: A and B cannot both be zero".to_owned();
            return Err(NotEncoded::invalid("22P02", reason));
        }
        push(out, &[a, b, c]);
        Ok(())
    }

    fn put_circle(&mut self, out: &mut Vec<u8>) -> Verdict {
        self.skip_space();
        let mut outer = self.take(b'<');
        // Of two brackets the first is the circle's, a single one is the center's.
        if !outer
            && let [b'(', inner @ ..] = self.rest
            && let inner = without_space(inner)
            && inner.first() == Some(&b'(')
        {
            outer = true;
            self.rest = inner;
        }
        let center = self.pair()?;
        self.take(b',');
        let radius = self.number()?;
        if radius < 0.0 {
            return Err(self.syntax());
        }
        if outer {
            if !self.take(b')') {
                self.expect(b'>')?;
            }
            self.skip_space();
        }
        push(out, &center);
        push(out, &[radius]);
        Ok(())
    }

    /// How many points the commas make: an odd number of commas separates pairs.
    fn count_points(&self) -> Result<u32, NotEncoded> {
        let commas = memchr::memchr_iter(b',', self.literal).count();
        if commas.is_multiple_of(2) {
            return Err(self.syntax());
        }
        match u32::try_from(commas.div_ceil(2)) {
            Ok(points) if commas.div_ceil(2) <= MAX_POINTS => Ok(points),
            _ => Err(NotEncoded::Unsure),
        }
    }

    /// Appends `count` points; returns whether they stood in square brackets, which only some types allow.
    fn put_points(&mut self, count: u32, may_be_open: bool, out: &mut Vec<u8>) -> Result<bool, NotEncoded> {
        self.skip_space();
        let open = self.take(b'[');
        let mut outer = open;
        if open && !may_be_open {
            return Err(self.syntax());
        }
        if !open && let [b'(', inner @ ..] = self.rest {
            let inner = without_space(inner);
            // A second bracket is the first point's; without another anywhere, the first is not.
            if inner.first() == Some(&b'(') || memchr::memrchr(b'(', self.rest) == Some(0) {
                outer = true;
                self.rest = inner;
            }
        }
        for _ in 0..count {
            push(out, &self.pair()?);
            self.take(b',');
        }
        if outer {
            if !(open && self.take(b']')) {
                self.expect(b')')?;
            }
            self.skip_space();
        }
        Ok(open)
    }

    /// Two numbers with a comma between, in round brackets or not.
    fn pair(&mut self) -> Result<[f64; 2], NotEncoded> {
        self.skip_space();
        let bracket = self.take(b'(');
        let x = self.number()?;
        self.expect(b',')?;
        let y = self.number()?;
        if bracket {
            self.expect(b')')?;
            self.skip_space();
        }
        Ok([x, y])
    }

    /// A number and the white space around it.
    fn number(&mut self) -> Result<f64, NotEncoded> {
        self.skip_space();
        let end = |byte: &u8| is_space(*byte) || b",()[]{}<>".contains(byte);
        let length = self.rest.iter().position(end).unwrap_or(self.rest.len());
        let (number, after) = self.rest.split_at(length);
        let value = match float::parse_f64(number) {
            // Some C libraries read `nan(…)`.
            Ok(value) if value.is_nan() && after.first() == Some(&b'(') => return Err(NotEncoded::Unsure),
            Ok(value) => value,
            Err(NotEncoded::Invalid(invalid)) if invalid.sqlstate == "22P02" => {
                // The comma after a pair may be left out: `1,2-3,4` and `1,2.5.5,4` are two points.
                let another = float::after_number(number).and_then(|after| after.first());
                let another = matches!(another, Some(b'+' | b'-' | b'.' | b'i' | b'I' | b'n' | b'N'));
                return Err(if another { NotEncoded::Unsure } else { self.syntax() });
            }
            Err(refusal) => return Err(refusal),
        };
        self.rest = without_space(after);
        Ok(value)
    }

    fn expect(&mut self, byte: u8) -> Verdict {
        if self.take(byte) { Ok(()) } else { Err(self.syntax()) }
    }

    fn take(&mut self, byte: u8) -> bool {
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn skip_space(&mut self) {
        self.rest = without_space(self.rest);
    }

    #[cold]
    fn syntax(&self) -> NotEncoded {
        NotEncoded::syntax(self.shape.name(), self.literal)
    }
}

/// PostgreSQL's order: NaN is above all else.
fn below(a: f64, b: f64) -> bool {
    !a.is_nan() && (b.is_nan() || a < b)
}

fn push(out: &mut Vec<u8>, numbers: &[f64]) {
    for number in numbers {
        out.extend_from_slice(&number.to_be_bytes());
    }
}

fn without_space(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(shape: Shape, literal: &str) -> Result<Vec<u8>, NotEncoded> {
        let mut out = b"row".to_vec();
        let verdict = put_shape(literal.as_bytes(), shape, &mut out);
        if verdict.is_err() {
            assert_eq!(out, b"row", "a refused literal left bytes behind");
        }
        verdict.map(|()| out[7..].to_vec())
    }

    fn numbers(bytes: &[u8]) -> Vec<f64> {
        bytes.as_chunks().0.iter().map(|word| f64::from_be_bytes(*word)).collect()
    }

    fn refusal(shape: Shape, literal: &str) -> (&'static str, String) {
        match encoded(shape, literal) {
            Err(NotEncoded::Invalid(invalid)) => (invalid.sqlstate, invalid.reason),
            other => panic!("{literal} was not refused: {other:?}"),
        }
    }

    #[test]
    fn brackets_may_be_left_out_and_white_space_stands_around_numbers() {
        for literal in ["(1,-2.5)", "1,-2.5", " ( 1 , -2.5 ) ", "(1e0,-25e-1)"] {
            assert_eq!(numbers(&encoded(Shape::Point, literal).unwrap()), [1.0, -2.5], "{literal}");
        }
        for literal in ["[(1,2),(3,4)]", "((1,2),(3,4))", "(1,2),(3,4)", "1,2,3,4", "(1,2,3,4)", "[1,2,3,4)"]
        {
            assert_eq!(numbers(&encoded(Shape::Lseg, literal).unwrap()), [1.0, 2.0, 3.0, 4.0], "{literal}");
        }
        for literal in ["<(1,2),3>", "((1,2),3)", "(1,2),3", "1,2,3", "<1,2,3)", " < ( 1 , 2 ) , 3 > "] {
            assert_eq!(numbers(&encoded(Shape::Circle, literal).unwrap()), [1.0, 2.0, 3.0], "{literal}");
        }
        assert_eq!(numbers(&encoded(Shape::Line, "{1,0,-3}").unwrap()), [1.0, 0.0, -3.0]);
    }

    #[test]
    fn a_box_is_stored_with_its_upper_right_corner_first() {
        for literal in ["(3,2),(1,4)", "(1,2),(3,4)", "((3,4),(1,2))", "1,4,3,2"] {
            assert_eq!(numbers(&encoded(Shape::Box, literal).unwrap()), [3.0, 4.0, 1.0, 2.0], "{literal}");
        }
        let stored = numbers(&encoded(Shape::Box, "(1,0),(nan,-0)").unwrap());
        assert!(stored[0].is_nan());
        assert_eq!(
            stored[1..].iter().map(|n| n.to_bits()).collect::<Vec<_>>(),
            [0, 1_f64.to_bits(), 1 << 63]
        );
    }

    #[test]
    fn paths_and_polygons_count_their_points_and_say_whether_they_are_closed() {
        for (literal, closed) in
            [("((1,2),(3,4))", 1), ("[(1,2),(3,4)]", 0), ("(1,2),(3,4)", 1), ("(1,2,3,4)", 1)]
        {
            let field = encoded(Shape::Path, literal).unwrap();
            assert_eq!(field[..5], [closed, 0, 0, 0, 2], "{literal}");
            assert_eq!(numbers(&field[5..]), [1.0, 2.0, 3.0, 4.0], "{literal}");
        }
        let field = encoded(Shape::Polygon, "((1,2))").unwrap();
        assert_eq!(field[..4], [0, 0, 0, 1]);
        assert_eq!(numbers(&field[4..]), [1.0, 2.0]);
    }

    #[test]
    fn what_is_no_shape_is_refused_in_the_servers_words() {
        for (shape, literal) in [
            (Shape::Point, ""),
            (Shape::Point, "(1,2"),
            (Shape::Point, "1,2)"),
            (Shape::Point, "(1;2)"),
            (Shape::Point, "(1e,2)"),
            (Shape::Point, "(1,2) x"),
            (Shape::Point, "(1,abc)"),
            (Shape::Lseg, "(1,2),(3,4"),
            (Shape::Box, "[(1,2),(3,4)]"),
            (Shape::Path, "((1,2),(3))"),
            (Shape::Polygon, "[(1,2)]"),
            (Shape::Polygon, "()"),
            (Shape::Circle, "<(1,2),-3>"),
            (Shape::Line, "{1,2}"),
            (Shape::Line, "(1,2),(3,4) x"),
        ] {
            let reason = format!("invalid input syntax for type {}: \"{literal}\"", shape.name());
            assert_eq!(refusal(shape, literal), ("22P02", reason));
        }
        let reason = "invalid line specification: A and B cannot both be zero".to_owned();
        assert_eq!(refusal(Shape::Line, "{0,1e-7,5}"), ("22P02", reason));
        let reason = "\"1e400\" is out of range for type double precision".to_owned();
        assert_eq!(refusal(Shape::Point, "(1e400,x)"), ("22003", reason));
    }

    #[test]
    fn computed_lines_and_odd_numbers_are_left_to_the_server() {
        for (shape, literal) in [
            (Shape::Line, "(1,2),(3,4)"),
            (Shape::Line, "[(1,2),(1,2)]"),
            (Shape::Point, "(0x1p3,2)"),
            (Shape::Point, "(1,nan(5))"),
            (Shape::Point, "(1,2)\u{a0}"),
            (Shape::Lseg, "1,2-3,4"),
            (Shape::Circle, "<1,2.5.5>"),
        ] {
            assert_eq!(encoded(shape, literal), Err(NotEncoded::Unsure), "{literal}");
        }
    }
}
