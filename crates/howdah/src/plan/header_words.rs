//! Words that people and programs name columns by, and values of which none are.

/// Whole names, in lower case: of many tables, in a few languages.
const NAMES: &str = "\
    abbreviation address age amount area artist author balance birthdate birthday brand \
    capital category city class code color colour comment comments company continent count \
    country county created currency customer date datum day department description district \
    education email fecha first firstname gender genre group height id index item key kind \
    label language last lastname lat latitude length level lng location lon long longitude \
    member message model month naam name nom nombre nome note notes number order owner party \
    person phone place postcode price product province quantity question rank rating region \
    role row score sex size source species stadt start state status street surname symbol tag \
    tags team text ticker time timestamp title total town type unit updated url user username \
    value version ville weight word year zip zipcode";

/// Last words of names of several.
const LAST_WORDS: &str = "\
    address amount at category class code count date description email id key name no num \
    number percent price rate score status time title total type url value year";

fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// Whether people name columns so.
pub(super) fn is_usual_name(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    match (words.next(), words.next_back()) {
        (Some(only), None) => has(NAMES, only),
        (Some(_), Some(last)) => has(LAST_WORDS, last),
        (None, _) => false,
    }
}

/// As programs name columns, and people hardly write values.
pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// What stands where there is no value.
pub(crate) fn is_missing(text: &str) -> bool {
    const WORDS: [&str; 17] = [
        "", "#n/a", "-", "--", ".", "..", "...", "?", "\\N", "missing", "n/a", "na", "nan", "nil", "none",
        "null", "unknown",
    ];
    const LONGEST: usize = 7;
    let text = text.trim();
    text.len() <= LONGEST && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns_are_told_from_what_stands_in_them() {
        for name in ["Name", "Airport Name", "ICAO code", " email ", "created_at", "Country"] {
            assert!(is_usual_name(name), "{name}");
        }
        for value in ["Oklahoma City", "Aerospatiale (Nord) 262", "ND2", "", "#", "Ann"] {
            assert!(!is_usual_name(value), "{value}");
        }
        assert!(is_missing("N/A") && is_missing("\\N") && is_missing(" ") && !is_missing("Ann"));
    }
}
