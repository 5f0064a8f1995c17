//! What tests need that a machine may lack. A test skips itself where it is missing, and fails where `HOWDAH_REQUIRE`
//! names it: a run that is to cover everything cannot pass by skipping.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The names that `HOWDAH_REQUIRE` may hold, each with what it stands for; `python/tests/require.py` reads the same file.
const NEEDS: &str = include_str!("../needs.txt");

/// Every name that there is.
const ALL: &str = "all";

/// Says that the test is skipped because `need` is not met, for the reason `why`. The caller then returns.
///
/// # Panics
/// If `HOWDAH_REQUIRE` names `need`, or a name that is none.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
pub fn missing(need: &str, why: &str) {
    assert!(names().any(|name| name == need), "{need:?} is missing from needs.txt");
    assert!(!required().contains(need), "HOWDAH_REQUIRE names {need}, but {why}");
    eprintln!("skipped: {why} ({need})");
}

/// What `HOWDAH_REQUIRE` asks for.
///
/// # Panics
/// If it holds a name that is none.
pub(crate) fn required() -> &'static BTreeSet<&'static str> {
    static REQUIRED: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
        #[expect(clippy::disallowed_methods, reason = "which tests must run is no business of the library")]
        let asked = std::env::var("HOWDAH_REQUIRE").unwrap_or_default();
        parsed(&asked).unwrap_or_else(|name| {
            let known: Vec<&str> = names().collect();
            panic!("HOWDAH_REQUIRE names {name:?}, which is none of {}, {ALL}", known.join(", "))
        })
    });
    &REQUIRED
}

fn names() -> impl Iterator<Item = &'static str> {
    NEEDS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_whitespace().next())
}

/// The needs that a comma-separated list asks for: names, `all`, and with a `-` in front what is taken out again; or the
/// first name that is none.
fn parsed(list: &str) -> Result<BTreeSet<&'static str>, String> {
    let mut needs = BTreeSet::new();
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let (name, removes) = word.strip_prefix('-').map_or((word, false), |name| (name, true));
        let meant: BTreeSet<_> = names().filter(|known| name == ALL || *known == name).collect();
        if meant.is_empty() {
            return Err(name.to_owned());
        }
        needs = if removes { &needs - &meant } else { &needs | &meant };
    }
    Ok(needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_needs_means_what_it_says() {
        let list = |text| parsed(text).unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!(list(""), [""; 0]);
        assert_eq!(list("tls, psql,"), ["psql", "tls"]);
        assert_eq!(list("all").len(), names().count());
        assert_eq!(list("all,-mounts,-go").len(), names().count() - 2);
        assert!(!parsed("all,-mounts").unwrap().contains("mounts"));
    }

    #[test]
    fn a_mistyped_need_is_an_error_and_not_a_skipped_test() {
        assert_eq!(parsed("psql,pgbounce"), Err("pgbounce".to_owned()));
        assert_eq!(parsed("all,-mount"), Err("mount".to_owned()));
        required();
    }

    #[test]
    fn every_need_is_listed_once_and_explained() {
        let listed: Vec<&str> = names().collect();
        assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len());
        assert!(NEEDS.lines().all(|line| line.split_whitespace().nth(1).is_some()));
    }
}
