//! PostgreSQL's own functions that are known never to give null.
//!
//! A function belongs here if its documentation and source leave no doubt; `no_known_function_gives_null` of the tests
//! calls each. Not here: `to_char`, `extract` and `::time` of an infinite timestamp are null, so are `substring` by a
//! pattern, `nullif`, what reads a member of something (`->`, `array_length`), and casts from `jsonb`, whose null is null.

use std::collections::HashSet;
use std::sync::LazyLock;

/// One a line, as `oidvectortypes` writes the arguments.
const STRICT: &str = include_str!("strict_functions.txt");

/// Not null whatever the arguments are.
const NEVER_NULL: [&str; 19] = [
    "array_append(anycompatiblearray, anycompatible)",
    "array_prepend(anycompatible, anycompatiblearray)",
    "clock_timestamp()",
    "concat(\"any\")",
    "gen_random_uuid()",
    "json_build_array(\"any\")",
    "json_build_array()",
    "json_build_object(\"any\")",
    "json_build_object()",
    "jsonb_build_array(\"any\")",
    "jsonb_build_array()",
    "jsonb_build_object(\"any\")",
    "jsonb_build_object()",
    "now()",
    "pi()",
    "random()",
    "statement_timestamp()",
    "transaction_timestamp()",
    "version()",
];

/// Whether a function with this signature gives a value for arguments that are not null.
pub(super) fn not_null_on_not_null(signature: &str) -> bool {
    static KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| STRICT.lines().collect());
    KNOWN.contains(signature)
}

/// Whether a function with this signature always gives a value. Called with VARIADIC it may not.
pub(super) fn never_null(signature: &str) -> bool {
    NEVER_NULL.contains(&signature)
}
