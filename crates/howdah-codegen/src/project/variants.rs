//! The texts that a statement of optional lines and choices can be, as far as they are described.

use crate::model::Fragment;
use crate::source::{Block, Choices, Piece};

/// Up to so many names behind `--?`, all of their combinations are described.
const ALL_COMBINATIONS: usize = 6;

/// Up to so many texts, lines are combined with all that can be chosen: half a second on two cores.
const MOST_TEXTS: usize = 256;

/// Which of the optional lines are there, and what is chosen.
#[derive(Debug, Clone)]
pub(super) struct Variant<'b> {
    block: &'b Block,
    /// For each name of [`lines`], whether its lines are there.
    lines: Vec<bool>,
    /// For each of the block's choices, the index of the one that is taken.
    chosen: Vec<usize>,
}

/// The names behind `--?`, in the order in which they are first seen.
pub(super) fn lines(block: &Block) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for piece in &block.body {
        if let Piece::Optional { name, .. } = piece
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    names
}

/// Whether all texts that a statement can be are among its variants.
pub(super) fn are_all(block: &Block) -> bool {
    let lines = lines(block).len();
    let texts =
        block.choices.iter().try_fold(1_usize, |texts, choices| texts.checked_mul(choices.options.len()));
    lines <= ALL_COMBINATIONS && texts.is_some_and(|texts| texts <= MOST_TEXTS >> lines)
}

/// The variants of a statement that are described, the one with all lines first; no two of them are the same text.
///
/// Where they are not [all](are_all), two lines at a time are enough to find those that do not go together; what only three
/// of them break, or a choice with some of them, is found by whoever calls it.
pub(super) fn of(block: &Block) -> Vec<Variant<'_>> {
    let count = lines(block).len();
    let first = vec![0; block.choices.len()];
    let variant = |lines: Vec<bool>, chosen: &[usize]| Variant { block, lines, chosen: chosen.to_vec() };
    let (all, none) = (vec![true; count], vec![false; count]);
    let mut variants = vec![variant(all.clone(), &first), variant(none.clone(), &first)];
    let bits = |number: usize| (0..count).map(|line| number & (1 << line) != 0).collect::<Vec<_>>();
    if count <= ALL_COMBINATIONS {
        variants.extend((0..1_usize << count).map(|number| variant(bits(number), &first)));
    } else {
        for one in 0..count {
            for other in one..count {
                let there = (0..count).map(|line| line == one || line == other).collect();
                variants.push(variant(there, &first));
            }
        }
    }
    for (place, choices) in block.choices.iter().enumerate() {
        for option in 1..choices.options.len() {
            let mut chosen = first.clone();
            chosen[place] = option;
            variants.push(variant(all.clone(), &chosen));
            variants.push(variant(none.clone(), &chosen));
        }
    }
    if are_all(block) {
        for chosen in all_choices(block) {
            variants.extend((0..1_usize << count).map(|number| variant(bits(number), &chosen)));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    // What is said of a text without a choice is the same whatever would be chosen.
    variants.retain(|variant| seen.insert(variant.key()));
    variants
}

/// Every way to choose, as the index of the text of each choice.
fn all_choices(block: &Block) -> Vec<Vec<usize>> {
    block.choices.iter().fold(vec![Vec::new()], |ways, choices| {
        let with = |way: &Vec<usize>, option: usize| [way.as_slice(), &[option]].concat();
        ways.iter().flat_map(|way| (0..choices.options.len()).map(move |option| with(way, option))).collect()
    })
}

impl<'b> Variant<'b> {
    /// Texts and variables that are values, in order.
    pub(super) fn pieces(&self) -> Vec<Piece> {
        let names = lines(self.block);
        let there = |name: &str| names.iter().zip(&self.lines).any(|(line, there)| *line == name && *there);
        let pieces = self.block.pieces().filter(|(line, _)| line.is_none_or(there));
        pieces
            .map(|(_, piece)| match piece {
                Piece::Variable { name, .. } => self.taken(name).unwrap_or_else(|| piece.clone()),
                piece => piece.clone(),
            })
            .collect()
    }

    /// The text that is chosen for a variable.
    fn taken(&self, name: &str) -> Option<Piece> {
        let mut choices = self.block.choices.iter().zip(&self.chosen);
        let (choices, index) = choices.find(|(choices, _)| choices.name == name)?;
        let (text, place) = choices.options.get(*index)?;
        let mut place = place.clone();
        // Between quotes of YAML.
        place.column += usize::from(place.length == text.chars().count() + 2);
        Some(Piece::Text { text: text.clone(), place })
    }

    /// The text with the names of its variables.
    fn key(&self) -> Vec<(bool, String)> {
        let mut key: Vec<(bool, String)> = Vec::new();
        for piece in self.pieces() {
            match (piece, key.last_mut()) {
                (Piece::Text { text, .. }, Some((false, before))) => before.push_str(&text),
                (Piece::Text { text, .. }, _) => key.push((false, text)),
                (Piece::Variable { name, .. } | Piece::Optional { name, .. }, _) => key.push((true, name)),
            }
        }
        key
    }

    /// Which one it is, for people: `with role, without limit_rows, sort = name DESC`. Empty if there is only one.
    pub(super) fn shown(&self) -> String {
        let names = lines(self.block);
        let said = |there: bool| {
            let names = names.iter().zip(&self.lines).filter(|(_, is)| **is == there);
            names.map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let mut parts = Vec::new();
        let count = self.lines.iter().filter(|there| **there).count();
        match (names.len(), count) {
            (0, _) => {}
            (all, count) if all == count && all > 1 => parts.push("with all optional lines".to_owned()),
            (all, 0) if all > 1 => parts.push("without optional lines".to_owned()),
            (all, 1) if all > 2 => parts.push(format!("with {} only", said(true))),
            (_, 0) => parts.push(format!("without {}", said(false))),
            (all, count) if all == count => parts.push(format!("with {}", said(true))),
            _ => parts.push(format!("with {}, without {}", said(true), said(false))),
        }
        let there = |name: &str| names.iter().zip(&self.lines).any(|(line, there)| *line == name && *there);
        let stands = |name: &str| {
            let mut pieces = self.block.pieces().filter(|(line, _)| line.is_none_or(there));
            pieces.any(|(_, piece)| matches!(piece, Piece::Variable { name: found, .. } if found == name))
        };
        let texts = self.block.choices.iter().zip(&self.chosen).filter(|(choices, _)| stands(&choices.name));
        let texts = texts.filter_map(|(choices, index)| Some((&choices.name, choices.options.get(*index)?)));
        parts.extend(texts.map(|(name, (text, _))| format!("`{name}` = {text}")));
        parts.join(", ")
    }
}

/// The statement as languages get it; variables, switches and choices by their place in `names`.
pub(super) fn fragments(block: &Block, names: &[String]) -> Vec<Fragment> {
    let index = |name: &str| names.iter().position(|known| known == name).unwrap_or_default();
    let plain = |piece: &Piece| match piece {
        Piece::Text { text, .. } => Fragment::Text(text.clone()),
        Piece::Variable { name, .. } | Piece::Optional { name, .. } => match block.choices_of(name) {
            Some(Choices { .. }) => Fragment::Choice(index(name)),
            None => Fragment::Parameter(index(name)),
        },
    };
    let fragment = |piece: &Piece| match piece {
        Piece::Optional { name, pieces, .. } => {
            Fragment::Optional { parameter: index(name), sql: pieces.iter().map(plain).collect() }
        }
        piece => plain(piece),
    };
    block.body.iter().map(fragment).collect()
}

#[cfg(test)]
mod tests {
    use super::{are_all, lines, of};
    use crate::source::parse;

    fn shown(sql: &str) -> Vec<String> {
        let (blocks, messages) = parse("a.sql", sql);
        assert_eq!(messages, []);
        of(&blocks[0]).iter().map(super::Variant::shown).collect()
    }

    #[test]
    fn every_combination_of_few_lines_is_described_once() {
        let text = "-- QUERY q\nSELECT 1\n + 1 --? a\n + 2 --? b\n + 3 --? a\n";
        let expected = [
            "with all optional lines",
            "without optional lines",
            "with `a`, without `b`",
            "with `b`, without `a`",
        ];
        assert_eq!(shown(text), expected);
        let sort =
            "/* QUERY q\n choices: {c: [x, y z]} */\n@set c = x\nSELECT 1 AS x\n ORDER BY ${c} --? c\n";
        assert_eq!(shown(sort), ["with `c`, `c` = x", "without `c`", "with `c`, `c` = y z"]);
        assert_eq!(shown("-- QUERY q\nSELECT 1"), [""]);
        let two = "/* QUERY q\n choices: {c: [x, y], d: [x, y, z]} */\n@set c = x\n@set d = x\nSELECT ${c}, ${d}\n + 1 --? a\n";
        assert_eq!(shown(two).len(), 2 * 3 * 2);
    }

    #[test]
    fn of_many_lines_each_alone_and_all_pairs_are_described() {
        let text = (0..9).map(|n| format!(" + {n} --? l{n}\n")).collect::<String>();
        let text = format!("-- QUERY q\nSELECT 1\n{text}");
        let (blocks, _) = parse("a.sql", &text);
        assert_eq!(lines(&blocks[0]).len(), 9);
        assert_eq!((of(&blocks[0]).len(), are_all(&blocks[0])), (2 + 9 + 36, false));
        let six = text.lines().take(8).collect::<Vec<_>>().join("\n");
        assert_eq!(of(&parse("a.sql", &six).0[0]).len(), 64);
    }
}
