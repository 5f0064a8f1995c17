//! Literals of the types of system catalogs, and of money.

use super::Random;

pub(super) const OID_ALPHABET: &str = "0123456789+-x. b";
pub(super) const NAME_ALPHABET: &str = "ab_ \"\\0é€";
pub(super) const MONEY_ALPHABET: &str = "0123456789$,.-+() x€";

#[rustfmt::skip]
pub(super) const OIDS: &[&str] = &[
    "", " ", "0", "00", "010", "1", "16384", "2147483647", "2147483648", "4294967295", "4294967296", "-1", "-2147483648",
    "-2147483649", "+1", "--1", "0x1F", "0b1", "0o7", "1_000", "1.0", "1 2", "1x", "99999999999999999999",
    "99999999999999999999x", "4294967296x", "pg_class", "-", "+", "1e3", "09",
];

pub(super) fn oid(random: &mut Random) -> String {
    let value = random.next_u32() >> random.below(32);
    match random.below(8) {
        0 => (u64::from(value) + (1 << 32)).to_string(),
        1 => format!(" {value} "),
        _ => value.to_string(),
    }
}

#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    "", " ", "a", "abc", "\\", "\\0", "\\00", "\\000", "\\001", "\\101", "\\377", "\\400", "\\1011", "é", "éa", "€", "😀",
    "aé", "\\\\", "pg_class", "Mixed \"Case\"", "\t", "\n",
    "a23456789012345678901234567890123456789012345678901234567890123",
    "a234567890123456789012345678901234567890123456789012345678901234",
    "a2345678901234567890123456789012345678901234567890123456789012é",
    "a234567890123456789012345678901234567890123456789012345678901é",
    "ééééééééééééééé", "éééééééééééééééé", "éééééééééééééééééééééééééééééééé", "€€€€€€€€€€€€€€€€€€€€€€",
];

/// Around the longest names that are stored whole, whatever they consist of.
pub(super) fn name(random: &mut Random) -> String {
    let length = random.pick(&[1, 5, 20, 31, 62, 63, 64, 70]);
    let letters: &[char] = random.pick(&[&['a', 'b', '_'][..], &['a', 'b', '0'], &['a', 'é', '€', '😀']]);
    (0..length).map(|_| random.pick(letters)).collect()
}

#[rustfmt::skip]
pub(super) const MONEYS: &[&str] = &[
    "", " ", "$", "-", "(", "()", "$$", "$$1", "-$1", "$-1", "$ - $ 1", "- -1", "--1", "+1", "-+1", "1-", "1+", "1$", "1)",
    "(1", "(1)", "-1-", "1 2", "1.2.3", "1.", ".5", ".", ",", "1,", ",1", "1,2,3.4", "1.2,3", "1.23,4", "1.23,5", "1.234",
    "1.235", "1.2349999", "-1.235", "1,234,567.89", "$1,234.56", "($1,234.56)", "1e5", "1x", "x1", "€1", "1€", "abc",
    "92233720368547758.07", "92233720368547758.08", "92233720368547758.075", "-92233720368547758.08",
    "-92233720368547758.09", "-92233720368547758.085", "92233720368547758.08-", "99999999999999999999",
    "99999999999999999999x", "922337203685477580", "NaN", "0x1F", "1_000", "\u{a0}1", "1\u{a0}",
];

pub(super) fn money(random: &mut Random) -> String {
    let amount = match random.below(4) {
        0 => random.digits(18),
        1 => format!("{},{}", random.digits(3), random.digits(3)),
        _ => random.below(100_000).to_string(),
    };
    let places = match random.below(3) {
        0 => String::new(),
        1 => format!(".{}", random.digits(4)),
        _ => format!(".{:02}", random.below(100)),
    };
    let before = random.pick(&["", "", "$", "-$", "$-", "-", "+", "(", "$ "]);
    let after = random.pick(&["", "", "", "", ")", "-", " $"]);
    format!("{before}{amount}{places}{after}")
}
