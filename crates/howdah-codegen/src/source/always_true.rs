//! Conditions that are true whatever the row: only what can be told for sure from their words.

use std::cmp::Ordering;

/// Whether a condition, of which all words are given, means every row; none at all does.
pub(super) fn always_true(condition: &[String]) -> bool {
    // There, AND and OR belong to a part of the condition.
    let has_parts = condition.iter().any(|word| matches!(word.as_str(), "case" | "between"));
    !has_parts && (condition.is_empty() || is(condition, true))
}

/// Whether it is always so: true, or false.
fn is(words: &[String], wanted: bool) -> bool {
    let sides = divided(words, "or");
    if sides.len() > 1 {
        return decided(&sides, true, wanted);
    }
    let sides = divided(words, "and");
    if sides.len() > 1 {
        return decided(&sides, false, wanted);
    }
    match words {
        [not, rest @ ..] if not == "not" => is(rest, !wanted),
        [open, inside @ .., close] if open == "(" && close == ")" && is_balanced(inside) => {
            is(inside, wanted)
        }
        [word] => word == if wanted { "true" } else { "false" },
        [left, operator @ .., right] => compared(left, &operator.concat(), right) == Some(wanted),
        [] => false,
    }
}

/// Whether OR (one side that is true decides it) or AND (one that is false) is always as wanted.
fn decided(sides: &[&[String]], deciding: bool, wanted: bool) -> bool {
    match wanted == deciding {
        true => sides.iter().any(|side| is(side, wanted)),
        false => sides.iter().all(|side| is(side, wanted)),
    }
}

/// The parts between a word that stands in no parentheses.
fn divided<'w>(words: &'w [String], between: &str) -> Vec<&'w [String]> {
    let mut depth = 0_usize;
    words
        .split(|word| {
            match word.as_str() {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && word == between
        })
        .collect()
}

/// Whether each parenthesis has its other one.
fn is_balanced(words: &[String]) -> bool {
    let mut depth = 0_usize;
    for word in words {
        match word.as_str() {
            "(" => depth += 1,
            ")" if depth == 0 => return false,
            ")" => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// What comes of comparing two literals.
fn compared(left: &str, operator: &str, right: &str) -> Option<bool> {
    let order = match (left.parse::<i64>(), right.parse::<i64>()) {
        (Ok(left), Ok(right)) => left.cmp(&right),
        _ if left == right && is_literal(left) => Ordering::Equal,
        _ => return None,
    };
    Some(match operator {
        "=" => order.is_eq(),
        "<>" | "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        _ => return None,
    })
}

/// A text, number or truth value; none of them is null.
fn is_literal(word: &str) -> bool {
    word.starts_with('\'')
        || word.starts_with(|c: char| c.is_ascii_digit())
        || matches!(word, "true" | "false")
}

#[cfg(test)]
mod tests {
    use super::always_true;

    #[test]
    fn only_what_is_sure_is_told() {
        let told = |text: &str| always_true(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for sure in [
            "true",
            "( true )",
            "1 = 1",
            "2 < = 3",
            "2 < > 3",
            "'a' = 'a'",
            "not false",
            "not ( 1 = 2 )",
            "a or true",
            "( true ) and ( 1 = 1 )",
            "a = 1 or b and c or not false",
            "not ( a and false )",
            "1.5 = 1.5",
        ] {
            assert!(told(sure), "{sure}");
        }
        for unsure in [
            "a",
            "a = a",
            "1 = 2",
            "true and a",
            "not true",
            "( true ) = ( a )",
            "a between 1 and true",
            "not ( a between b and false )",
            "null = null",
            "'a' = 'b'",
            "1.5 = 1.50",
            "case when a or true or b then c end",
            "a = 1 and true",
            "not ( a or true )",
            "( a or true",
            "a is true",
        ] {
            assert!(!told(unsure), "{unsure}");
        }
        assert!(always_true(&[]));
    }
}
