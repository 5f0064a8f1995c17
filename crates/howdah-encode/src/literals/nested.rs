//! Literals of types that are made of types: arrays, ranges, composites, enums, domains, hstore.

use super::{Family, Random, TYPES, mutate};
use crate::shape::{CompositeField, Steps, TypeShape};

/// A type that the catalog describes.
#[derive(Debug, Clone)]
pub struct NestedType {
    /// The type as SQL names it, modifier included.
    pub name: &'static str,
    /// What it is made of. Of the types that [`NESTED_SETUP`] makes, the OIDs are invented: servers do not look at those.
    pub shape: TypeShape,
    /// Its modifier.
    pub typmod: i32,
}

/// SQL that makes the types of [`nested_types`]; it needs the contrib module hstore.
pub const NESTED_SETUP: &str = "
CREATE EXTENSION hstore;
CREATE TYPE mood AS ENUM ('sad', 'so so', 'happy', 'null', '');
CREATE DOMAIN small AS varchar(4);
CREATE DOMAIN given AS small NOT NULL;
CREATE TYPE pair AS (number int, word text, amount numeric(6,2));
CREATE TYPE gone AS (first int, second given);
ALTER TYPE gone DROP ATTRIBUTE first;
ALTER TYPE gone ADD ATTRIBUTE third mood;
CREATE TYPE everything AS (numbers int[], two pair, during tstzrange, how mood);
CREATE TYPE floatrange AS RANGE (subtype = float8);
CREATE TYPE textrange AS RANGE (subtype = text);
CREATE TYPE timerange AS RANGE (subtype = time);
CREATE TYPE oidrange AS RANGE (subtype = oid);
";

/// Where the OIDs of types begin that are not PostgreSQL's own.
const INVENTED: u32 = 1 << 20;

fn base(oid: u32) -> TypeShape {
    TypeShape::Base { oid }
}

fn array(element_oid: u32, element: TypeShape) -> TypeShape {
    let delimiter = if element_oid == 603 { b';' } else { b',' };
    TypeShape::Array { element_oid, delimiter, element: Box::new(element) }
}

fn range(subtype: u32, steps: Steps) -> TypeShape {
    TypeShape::Range { subtype: Box::new(base(subtype)), steps }
}

fn multirange(subtype: u32, steps: Steps) -> TypeShape {
    TypeShape::Multirange { subtype: Box::new(base(subtype)), steps }
}

fn composite(fields: Vec<(u32, i32, TypeShape)>) -> TypeShape {
    let field = |(n, (oid, typmod, shape))| CompositeField { name: format!("f{n}"), oid, typmod, shape };
    TypeShape::Composite { fields: fields.into_iter().enumerate().map(field).collect() }
}

/// Types of every kind that is made of others.
#[must_use]
pub fn nested_types() -> Vec<NestedType> {
    const NUMERIC_6_2: i32 = (6 << 16 | 2) + 4;
    let labels = ["sad", "so so", "happy", "null", ""].map(str::to_owned).to_vec();
    let mood = TypeShape::Enum { name: "mood".to_owned(), labels };
    let domain = |name: &str, over: &TypeShape, typmod, not_null| TypeShape::Domain {
        name: name.to_owned(),
        over: Box::new(over.clone()),
        typmod,
        not_null,
    };
    let small = domain("small", &base(1043), 8, false);
    let given = domain("given", &small, -1, true);
    let pair = composite(vec![(23, -1, base(23)), (25, -1, base(25)), (1700, NUMERIC_6_2, base(1700))]);
    let gone = composite(vec![(INVENTED, -1, given.clone()), (INVENTED, -1, mood.clone())]);
    let everything = composite(vec![
        (1007, -1, array(23, base(23))),
        (INVENTED, -1, pair.clone()),
        (3910, -1, range(1184, Steps::None)),
        (INVENTED, -1, mood.clone()),
    ]);
    let entries = [
        ("int[]", array(23, base(23)), -1),
        ("text[]", array(25, base(25)), -1),
        ("varchar(3)[]", array(1043, base(1043)), 7),
        ("numeric(6,2)[]", array(1700, base(1700)), NUMERIC_6_2),
        ("timestamptz[]", array(1184, base(1184)), -1),
        ("box[]", array(603, base(603)), -1),
        ("bytea[]", array(17, base(17)), -1),
        ("int4range", range(23, Steps::Whole), -1),
        ("int8range", range(20, Steps::Whole), -1),
        ("daterange", range(1082, Steps::Whole), -1),
        ("numrange", range(1700, Steps::None), -1),
        ("tsrange", range(1114, Steps::None), -1),
        ("tstzrange", range(1184, Steps::None), -1),
        ("floatrange", range(701, Steps::None), -1),
        ("timerange", range(1083, Steps::None), -1),
        ("oidrange", range(26, Steps::None), -1),
        ("textrange", range(25, Steps::None), -1),
        ("nummultirange", multirange(1700, Steps::None), -1),
        ("int4multirange", multirange(23, Steps::Whole), -1),
        ("tstzmultirange", multirange(1184, Steps::None), -1),
        ("int4range[]", array(3904, range(23, Steps::Whole)), -1),
        ("mood", mood.clone(), -1),
        ("mood[]", array(INVENTED, mood), -1),
        ("small", small.clone(), -1),
        ("given", given.clone(), -1),
        ("given[]", array(INVENTED, given), -1),
        ("pair", pair.clone(), -1),
        ("pair[]", array(INVENTED, pair), -1),
        ("gone", gone, -1),
        ("everything", everything, -1),
        ("hstore", TypeShape::Hstore, -1),
        ("hstore[]", array(INVENTED, TypeShape::Hstore), -1),
    ];
    entries.into_iter().map(|(name, shape, typmod)| NestedType { name, shape, typmod }).collect()
}

/// `count` literals for a type: ordinary ones, edges, broken ones.
#[must_use]
pub fn nested_literals(nested: &NestedType, seed: u64, count: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    (0..count).map(|_| literal(&nested.shape, &mut random)).collect()
}

#[rustfmt::skip]
const EDGES: &[&str] = &[
    "", " ", "{}", "{{}}", "{{},{}}", "{ }", "[1:0]={}", "{1}", "{1,2}", "{1,2", "1,2}", "{1,,2}", "{1,2,}", "{,1}",
    "{1} x", " { 1 , 2 } ", "{NULL,null,\"NULL\"}", "{\"1\",\"2\"}", "{\"1\"2}", "{1\"2\"}", "{1 2}", "{\"\"}", "{1\\2}",
    "{\\1}", "{\\ 1\\ }", "{1\\}", "{\"1}", "{\"1\\\"}", "{{1,2},{3,4}}", "{{1,2},{3}}", "{{1},2}", "{1,{2}}",
    "{{1},{{2}}}", "{{{1}},{2}}", "{{1,2},{3,4},{5}}", "{{{{{{1}}}}}}", "{{{{{{{1}}}}}}}", "[2:3]={1,2}",
    "[2:3]={1}", "[3]={1,2,3}", "[0]={1}", "[-1:0]={1,2}", "[1:2][0:0]={{1},{2}}", " [1:1] [1:1] = {{1}} ",
    "[ 1:1]={1}", "[1:1]{1}", "[2147483647:2147483647]={1}", "[1:a]={1}", "{1}}", "{}}", "{", "}", "{{1}", "{x,{",
    "{99999999999,{", "{x}y", "{x,99999999999}", "empty", " EMPTY ", "emptyx", "empty x", "[1,2]", "(1,2)", "[2,1]",
    "[1,1)", "(1,1)", "[1,1]", "(,)", "[,]", "(1,)", "[,1]", "[1]", "[1,2,3]", "1,2", "[1,2", "(1,2] x", "[\"1\",\"2\"]",
    "[\"\",]", "[1\\,2,3]", "[ 1 , 2 ]", "(2147483647,)", "[1,2147483647]", "(,9223372036854775807]",
    "[NaN,NaN]", "[1,NaN)", "[1.0,1.00)", "[2000-01-01,infinity]", "[-infinity,2000-01-01)", "{[1,2],[2,3]}",
    "{[1,2],}", "{,[1,2]}", "{[1,2][3,4]}", "{empty}", "{empty,[1,2]}", "{[1,1)}", "{[1,2]", "{[1,2]}x", "{[5,6],[1,2]}",
    "{[1,\"2\"]}", "{[1,2\\]}", "{[1,\\ 2]}", "{(,)}", "{[2,1]}", "{[1,2] , (3,4) }", "(1,a,2)", "(1,a)", "(1,a,2,3)",
    "(,,)", "()", "(1,\"a b\",2.5)", "(1,\"a\"\"b\",2)", "(1,\"a\\\"b\",2)", "(x,a,2)", "(1,a,2", "(1,a,2)x", " (1,a,2) ",
    "( 1,a,2)", "(1, a ,2)", "(99999999999,a,2)", "(1,a,99999)", "{\"(1,a,2)\",\"(,,)\"}", "{\"(1,\\\"a b\\\",2)\"}",
    "(sad)", "(,happy)", "(abcde,sad)", "({1\\,2},\"(1,a,2)\",\"[2000-01-01,2001-01-01)\",sad)", "(,,,)",
    "a=>1", "\"a\"=>\"1\"", "a=>NULL", "a=>\"NULL\"", "a=>null,b=>2", "a=>1,a=>2", "\"a\"=>\"1\", \"b\"=>\"2\"", "a=>1,",
    "a=>", "=>1", "a", "a=1", "a= >1", "a => 1", "a=>1 b=>2", "\"a\"=>\"1\"\"2\"", "\"a\\\"b\"=>\"\\\\\"", "a=>nul\\l", "a=>,b",
    "a=>b=c", "a,b=>c", "é=>ü", "\"é\"=>\"ü\"", "\"\"=>\"\"", "a\u{b}=>1", "a=>1\u{b}", "\"a\"=>1,\"bb\"=>2,\"c\"=>3,\"a\"=>4",
    "sad", "Sad", "so so", " sad", "null", "abcd", "abcde", "abcd  ", "{\u{a0}1}", "\u{a0}(1,a,2)", "[é,ü]", "{é,ü}",
    "{abcd ,\" abc\",\" abcde\"}", "{(1,2),(3,4);(5,6),(7,8)}", "{\\x00,\"\\\\x01\"}", "{\"{1,2}\"}", "{\"[1,2)\"}", "{[1,2)}",
];

const ALPHABET: &str = "{}[](),,\"\"\\ 0123 nulNULL=>;:-aé";

fn literal(shape: &TypeShape, random: &mut Random) -> String {
    let mut text = match random.below(8) {
        0 => random.pick(EDGES).to_owned(),
        _ => ordinary(shape, random),
    };
    if random.below(4) == 0 {
        for _ in 0..=random.below(3) {
            mutate(&mut text, ALPHABET, random);
        }
    }
    text
}

/// A literal that is mostly valid.
fn ordinary(shape: &TypeShape, random: &mut Random) -> String {
    match shape {
        TypeShape::Base { oid } => {
            let name = TYPES.iter().find(|known| known.1 == *oid).map_or("text", |known| known.0);
            let family = Family::of(name);
            if random.below(64) == 0 {
                random.pick(family.edges).to_owned()
            } else {
                (family.ordinary)(random)
            }
        }
        TypeShape::Enum { labels, .. } if random.below(64) > 0 => labels[random.below(labels.len())].clone(),
        TypeShape::Domain { over, .. } => {
            ordinary(over, random).chars().take(if random.below(32) == 0 { 9 } else { 4 }).collect()
        }
        TypeShape::Array { delimiter, element, .. } => {
            let depth = random.pick(&[1, 1, 1, 1, 2, 3]);
            let lengths: Vec<usize> = (0..depth).map(|_| 1 + random.below(3)).collect();
            let mut text = String::new();
            if random.below(12) == 0 {
                for length in &lengths {
                    let lower = random.below(9);
                    text += &format!("[{lower}:{}]", lower + length - 1);
                }
                text.push('=');
            }
            text + &nested_array(&lengths, char::from(*delimiter), element, random)
        }
        TypeShape::Range { subtype, .. } => range_text(subtype, random),
        TypeShape::Multirange { subtype, .. } => {
            let ranges: Vec<String> = (0..random.below(9)).map(|_| range_text(subtype, random)).collect();
            format!("{{{}}}", ranges.join(random.pick(&[",", ",", ", ", " ,"])))
        }
        TypeShape::Composite { fields } => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| match random.below(12) {
                    0 => String::new(),
                    _ => {
                        let text = ordinary(&field.shape, random);
                        doubled(&text, "(),\"\\ ", random)
                    }
                })
                .collect();
            format!("({})", fields.join(","))
        }
        TypeShape::Hstore => {
            let pairs: Vec<String> = (0..random.below(9)).map(|_| pair_text(random)).collect();
            pairs.join(random.pick(&[",", ", ", " , "]))
        }
        TypeShape::Vector | TypeShape::Enum { .. } => random.digits(3),
    }
}

fn nested_array(lengths: &[usize], delimiter: char, element: &TypeShape, random: &mut Random) -> String {
    let Some((length, inner)) = lengths.split_first() else {
        if random.below(12) == 0 {
            return random.pick(&["NULL", "null", " NULL "]).to_owned();
        }
        let text = ordinary(element, random);
        return escaped(&text, &format!("{{}}\"\\ {delimiter}"), random);
    };
    let blank = random.pick(&["", "", "", "", " ", "\t"]);
    let parts: Vec<String> = (0..*length).map(|_| nested_array(inner, delimiter, element, random)).collect();
    format!("{{{blank}{}{blank}}}", parts.join(&format!("{delimiter}{blank}")))
}

fn range_text(subtype: &TypeShape, random: &mut Random) -> String {
    if random.below(16) == 0 {
        return "empty".to_owned();
    }
    let mut bounds = [ordinary(subtype, random), ordinary(subtype, random)];
    if random.below(8) == 0 {
        bounds[1] = bounds[0].clone();
    }
    if random.below(3) > 0 {
        bounds.sort_by(|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    }
    let [lower, upper] = bounds.map(|bound| match random.below(10) {
        0 => String::new(),
        _ => doubled(&bound, "()[],\"\\ ", random),
    });
    let (open, close) = (random.pick(&["[", "("]), random.pick(&["]", ")"]));
    format!("{open}{lower},{upper}{close}")
}

fn pair_text(random: &mut Random) -> String {
    let mut word = || {
        let family = Family::of("text");
        let text = match random.below(3) {
            0 => (family.ordinary)(random),
            _ => random.pick(&["a", "b", "c", "aa", "null", "NULL", "key"]).to_owned(),
        };
        escaped(&text, ",=> \"\\\t\u{b}é€😀", random)
    };
    let (key, value) = (word(), word());
    format!("{key}{}{value}", random.pick(&["=>", "=>", " => "]))
}

/// In quotes when it holds one of `special`, with backslashes before quotes and backslashes.
fn escaped(text: &str, special: &str, random: &mut Random) -> String {
    if !needs_quotes(text, special) && random.below(3) > 0 {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The literal in quotes, with quotes and backslashes inside doubled, or escaped by backslashes alone.
fn doubled(text: &str, special: &str, random: &mut Random) -> String {
    if !needs_quotes(text, special) && random.below(3) > 0 {
        return text.to_owned();
    }
    if random.below(4) == 0 && !text.is_empty() {
        return text.chars().flat_map(|c| [special.contains(c).then_some('\\'), Some(c)]).flatten().collect();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\"\""))
}

fn needs_quotes(text: &str, special: &str) -> bool {
    text.is_empty() || text.eq_ignore_ascii_case("null") || text.contains(|c| special.contains(c))
}
