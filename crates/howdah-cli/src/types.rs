//! `--types a=int,b=numeric(10,2)`: names and types apart, whatever commas and brackets the types have.

use howdah::Error;

/// The pairs of every `--types`, in order. A name in double quotes may hold `=` and commas.
///
/// # Errors
/// A usage error that shows what was expected.
pub(crate) fn declared(lists: &[String]) -> Result<Vec<(String, String)>, Error> {
    let mut pairs = Vec::new();
    for list in lists {
        for item in items(list) {
            let (name, r#type) = pair(item)
                .ok_or_else(|| Error::usage(format!("--types takes COL=TYPE[,COL=TYPE…], not {list:?}")))?;
            pairs.push((name, r#type.to_owned()));
        }
    }
    Ok(pairs)
}

/// The parts between commas that stand in neither quotes nor parentheses.
fn items(list: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, c) in list.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[start..]);
    items
}

fn pair(item: &str) -> Option<(String, &str)> {
    let item = item.trim();
    let (name, r#type) = match item.strip_prefix('"') {
        Some(rest) => {
            let end = rest.find("\"=")?;
            (rest[..end].replace("\"\"", "\""), &rest[end + 2..])
        }
        None => {
            let (name, r#type) = item.split_once('=')?;
            (name.trim_end().to_owned(), r#type)
        }
    };
    let r#type = r#type.trim();
    (!name.is_empty() && !r#type.is_empty()).then_some((name, r#type))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(lists: &[&str]) -> Vec<(String, String)> {
        declared(&lists.iter().map(|list| (*list).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn commas_of_a_type_and_of_a_quoted_name_divide_nothing() {
        let pairs = parsed(&[
            "a=int, b=numeric(10,2),\"x=, \"\"y\"=varchar(3)",
            "Day Of = timestamp(3) with time zone",
        ]);
        let expected = [
            ("a", "int"),
            ("b", "numeric(10,2)"),
            ("x=, \"y", "varchar(3)"),
            ("Day Of", "timestamp(3) with time zone"),
        ];
        assert_eq!(pairs, expected.map(|(name, r#type)| (name.to_owned(), r#type.to_owned())));
    }

    #[test]
    fn what_is_no_pair_is_refused() {
        for wrong in ["", "a", "a=", "=int", "a=int,", "\"a=int"] {
            assert!(declared(&[wrong.to_owned()]).is_err(), "{wrong:?}");
        }
    }
}
