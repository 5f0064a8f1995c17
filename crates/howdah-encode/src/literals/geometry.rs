//! Literals of plane geometry.

use super::Random;

pub(super) const ALPHABET: &str = "0123456789.,()[]<>{} -ex";

/// Shapes of all types for each of them.
#[rustfmt::skip]
pub(super) const SHAPES: &[&str] = &[
    "", "()", "(1,2)", "1,2", " ( 1 , 2 ) ", "(1,2", "1,2)", "((1,2))", "[(1,2)]", "[1,2]", "(1 2)", "(1,2)x",
    "(1,2),", "(1,2),(3,4)", "((1,2),(3,4))", "[(1,2),(3,4)]", "1,2,3,4", "(1,2,3,4)", "[1,2,3,4]", "[(1,2),(3,4))",
    "((1,2),(3,4)]", "((1,2)(3,4))", "(1,2)(3,4)", "((1,2),(3,4)", "(3,4),(1,2)", "(1,4),(3,2)", "(1,2),(3,4),(5,6)",
    "((1,2),(3,4),(5,6))", "[(1,2),(3,4),(5,6)]", "(1,2,3,4,5,6)", "((1,2),3,4)", "(1,2),3,4", "1,2,(3,4)",
    "(1,2,(3,4))", "{1,2,3}", "{0,0,3}", "{1e-6,1e-7,3}", "{0,1.0001e-6,0}", "{1,2}", "{1,2,3", "{1,2,3}x",
    " { 1 , 2 , 3 } ", "{nan,0,0}", "{inf,0,0}", "<(1,2),3>", "((1,2),3)", "(1,2),3", "1,2,3", "<1,2,3>", "(1,2,3)",
    "<(1,2),-3>", "<(1,2),0>", "<(1,2),-0>", "<(1,2),nan>", "<(1,2),inf>", "<(1,2),3)", "((1,2),3>", "<(1,2)3>",
    "<(1,2),3", "(nan,inf)", "(-inf,+Infinity)", "(1e400,2)", "(1,1e-400)", "(1e400x,2)", "(x,1e400)", "(0x1p3,1)",
    "(nan(1),2)", "(nan,1),(2,nan)", "(0,-0),(-0,0)", "(,2)", "(1,)", "(,)", ",", ",,,", "(1,2,3,4", "( (1,2) , (3,4) )",
    "[ (1,2) , (3,4) ]", "(1,2) , (3,4)", "(1,1),(1,1)", "[(0,0),(1,1)]", "(1.5e3,-.5)", "(infx,1)", "(1,2),(3,4)]",
];

/// Mostly one point.
pub(super) fn point(random: &mut Random) -> String {
    if random.below(8) == 0 { points(random) } else { pair(random) }
}

/// One point or more, in any brackets.
pub(super) fn points(random: &mut Random) -> String {
    let count = random.pick(&[1, 2, 2, 2, 2, 3, 4]);
    let pairs: Vec<String> = (0..count).map(|_| pair(random)).collect();
    let all = pairs.join(random.pick(&[",", ",", ",", ", ", ""]));
    match random.below(6) {
        0 | 1 => format!("({all})"),
        2 => format!("[{all}]"),
        _ => all,
    }
}

/// Three coefficients, or two points. These are near each other: where the slope overflows, PostgreSQL 18 raises an
/// error even if asked by `pg_input_error_info`.
pub(super) fn line(random: &mut Random) -> String {
    match random.below(4) {
        0 => format!("({},{}),({},1)", random.below(9), random.below(9), random.below(9)),
        _ => format!("{{{},{},{}}}", number(random), number(random), number(random)),
    }
}

/// A center and a radius.
pub(super) fn circle(random: &mut Random) -> String {
    let (center, radius) = (pair(random), number(random));
    match random.below(6) {
        0 => format!("({center},{radius})"),
        1 => format!("{center},{radius}"),
        _ => format!("<{center},{radius}>"),
    }
}

fn pair(random: &mut Random) -> String {
    let (x, y) = (number(random), number(random));
    match random.below(6) {
        0 => format!("{x},{y}"),
        1 => format!("( {x} , {y} )"),
        _ => format!("({x},{y})"),
    }
}

fn number(random: &mut Random) -> String {
    match random.below(6) {
        0 => super::decimal(random),
        1 => format!("{:?}", f64::from_bits(random.next())),
        2 => random.below(3).to_string(),
        3 => format!("-{}", random.below(100)),
        _ => format!("{}.{}", random.below(1000), random.digits(3)),
    }
}
