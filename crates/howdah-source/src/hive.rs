//! Key columns that stand in the names of directories, as Hive writes them: `year=2024/country=DE/part-0.parquet`.

/// What stands for NULL in a directory's name.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The keys in the directories of `path` and their values, outermost first; `None` is NULL. A key that comes again
/// replaces the one outside.
pub(crate) fn keys(path: &str) -> Vec<(String, Option<String>)> {
    let mut keys: Vec<(String, Option<String>)> = Vec::new();
    let directories = path.rsplit_once('/').map_or("", |(directories, _)| directories);
    for directory in directories.split('/') {
        let Some((key, value)) = directory.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            continue;
        };
        let key = decoded(key);
        keys.retain(|(outer, _)| *outer != key);
        keys.push((key, (value != NULL).then(|| decoded(value))));
    }
    keys
}

/// `%2F` and the like as what they stand for; what means nothing stays as it is.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    // Bytes that are not UTF-8 would not fit a column of text.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> Vec<(String, Option<String>)> {
        keys(path)
    }

    #[test]
    fn keys_are_those_of_directories_and_not_of_the_file() {
        let some = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
        assert_eq!(
            told("data/year=2024/country=DE/a=b.parquet"),
            [some("year", "2024"), some("country", "DE")]
        );
        assert_eq!(told("s3://bucket/t/day=2024-01-02/x.parquet"), [some("day", "2024-01-02")]);
        assert_eq!(told("=1/x"), []);
        assert_eq!(told("a=1"), []);
    }

    #[test]
    fn values_are_decoded_and_hives_null_is_null() {
        assert_eq!(told("city=S%C3%A3o%20Paulo%2FSP/x"), [("city".into(), Some("São Paulo/SP".into()))]);
        assert_eq!(told("k=__HIVE_DEFAULT_PARTITION__/x"), [("k".into(), None)]);
        assert_eq!(told("k=/x"), [("k".into(), Some(String::new()))]);
        assert_eq!(
            told("k=100%/j=%G1%+1/x"),
            [("k".into(), Some("100%".into())), ("j".into(), Some("%G1%+1".into()))]
        );
        assert_eq!(told("k=%FF/x"), [("k".into(), Some("%FF".into()))]);
    }

    #[test]
    fn the_inner_of_two_equal_keys_counts() {
        assert_eq!(told("k=1/k=2/x"), [("k".into(), Some("2".into()))]);
    }
}
