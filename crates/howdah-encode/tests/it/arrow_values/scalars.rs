//! Random values of every Arrow type that holds one value, into every PostgreSQL type that takes it.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use howdah_encode::TypeShape;
use howdah_testkit::arrays::{behind, scalars, seeds};
use proptest::prelude::*;

use super::oracle::{LOOSE, STRICT, compare, field};

/// OIDs and modifiers.
const TYPES: &[(u32, i32)] = &[
    (16, -1),
    (17, -1),
    (20, -1),
    (21, -1),
    (23, -1),
    (25, -1),
    (26, -1),
    (700, -1),
    (701, -1),
    (1042, 9),
    (1043, -1),
    (1043, 14),
    (1082, -1),
    (1083, -1),
    (1114, -1),
    (1184, -1),
    (1186, -1),
    (1266, -1),
    (1700, -1),
    (1700, (10 << 16 | 2) + 4),
    (1700, (5 << 16) + 4),
    (1700, (3 << 16 | 5) + 4),
    (1700, (20 << 16 | (-2 & 0x7ff)) + 4),
    (2950, -1),
    (114, -1),
    (3802, -1),
    (869, -1),
];

fn compare_all(arrays: &[ArrayRef]) -> (usize, usize) {
    let mut totals = (0, 0);
    for array in arrays {
        for &(oid, typmod) in TYPES {
            for allowed in [STRICT, LOOSE] {
                let shape = TypeShape::Base { oid };
                if let Some((compared, refused)) = compare(&field(array), array, &shape, typmod, allowed) {
                    totals = (totals.0 + compared, totals.1 + refused);
                }
            }
        }
    }
    totals
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_field_is_what_the_codec_of_its_literal_makes(seeds in seeds(1..20)) {
        compare_all(&scalars(&seeds));
    }

    #[test]
    fn slices_dictionaries_and_runs_hold_the_values_that_they_show(seeds in seeds(1..20), skipped in 0_usize..3) {
        for array in scalars(&seeds) {
            let rest = array.slice(skipped.min(array.len() - 1), array.len() - skipped.min(array.len() - 1));
            let [dictionary, runs] = behind(&rest);
            let cut = |array: &ArrayRef| array.slice(1, array.len() - 1);
            compare_all(&[cut(&dictionary), cut(&runs), dictionary, runs, rest]);
        }
    }
}

#[test]
fn values_are_really_compared_and_refused() {
    let seeds: Vec<_> = (0..200).map(|n| Some(n * n * 7_919 - 1000)).collect();
    for array in scalars(&seeds) {
        let (compared, refused) = compare_all(std::slice::from_ref(&array));
        match array.data_type() {
            DataType::Null => assert_eq!((compared, refused), (0, 0)),
            other => assert!(compared > 200, "{other}: {compared} compared, {refused} refused"),
        }
    }
    let (compared, refused) = compare_all(&scalars(&seeds));
    assert!(compared > 100_000 && refused > 10_000, "{compared} compared, {refused} refused");
}
