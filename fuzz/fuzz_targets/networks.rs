//! Codecs of network addresses, bit strings, log positions and plane geometry, against the standard library and each
//! other.
#![no_main]

use std::net::IpAddr;

use howdah_fuzz::{Case, NETWORKS, write_literals};
use libfuzzer_sys::fuzz_target;

const INET: u32 = 869;
const MACADDR8: u32 = 774;
const BIT: u32 = 1560;

fuzz_target!(
    init: write_literals("networks", NETWORKS),
    |data: &[u8]| {
        let Some(case) = Case::read(NETWORKS, data) else { return };
        let verdict = case.verdict();
        match case.oid {
            INET => {
                let Some(address) = std::str::from_utf8(case.literal).ok().and_then(|text| text.parse().ok()) else { return };
                let expected: Vec<u8> = match address {
                    IpAddr::V4(address) => [&[2, 32, 0, 4], &address.octets()[..]].concat(),
                    IpAddr::V6(address) => [&[3, 128, 0, 16], &address.octets()[..]].concat(),
                };
                assert_eq!(verdict, Ok(expected));
            }
            650 => {
                let Ok(network) = verdict else { return };
                let host = |(at, byte): (usize, &u8)| {
                    let kept = usize::from(network[1]).saturating_sub(8 * at).min(8);
                    byte.checked_shl(u32::try_from(kept).unwrap_or(8)).unwrap_or(0) != 0
                };
                assert!(!network[4..].iter().enumerate().any(host), "bits behind the prefix");
                if let Ok(address) = case.verdict_as(INET, -1)
                    && case.literal.contains(&b'/')
                {
                    assert_eq!((network[..2].to_vec(), &network[3..]), (address[..2].to_vec(), &address[3..]));
                }
            }
            829 => {
                case.expect_white_space_ignored();
                if let (Ok(short), Ok(long)) = (verdict, case.verdict_as(MACADDR8, -1)) {
                    assert_eq!([&short[..3], &[0xff, 0xfe], &short[3..]].concat(), long);
                }
            }
            MACADDR8 => case.expect_white_space_ignored(),
            BIT | 1562 => {
                let Ok(value) = verdict else { return };
                let (length, bytes) = value.split_first_chunk().expect("a length");
                let length = u32::from_be_bytes(*length);
                let digits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
                let (digits, padding) = digits.split_at(length as usize);
                assert!(padding.len() < 8 && !padding.contains('1'), "unused bits are zero");
                assert_eq!(case.verdict_on(digits.as_bytes()), Ok(value));
            }
            3220 => {
                let Ok(value) = verdict else { return };
                let lsn = u64::from_be_bytes(value.as_slice().try_into().expect("eight bytes"));
                assert_eq!(case.verdict_on(format!("{:X}/{:X}", lsn >> 32, lsn & 0xffff_ffff).as_bytes()), Ok(value));
            }
            _ => {
                // Behind the surplus comma that the server allows after the last point, it allows nothing.
                if !case.trimmed().is_some_and(|text| text.ends_with(',')) {
                    case.expect_white_space_ignored();
                }
                if let Ok(value) = verdict {
                    let again = shape(case.oid, &value);
                    assert_eq!(case.verdict_on(again.as_bytes()), Ok(value), "{again}");
                }
            }
        }
    }
);

/// A stored shape as PostgreSQL prints it.
fn shape(oid: u32, value: &[u8]) -> String {
    let head = match oid {
        602 => 5,
        604 => 4,
        _ => 0,
    };
    let numbers: Vec<String> =
        value[head..].as_chunks().0.iter().map(|word| format!("{:?}", f64::from_be_bytes(*word))).collect();
    let points =
        numbers.chunks(2).map(|point| format!("({})", point.join(","))).collect::<Vec<_>>().join(",");
    match oid {
        628 => format!("{{{}}}", numbers.join(",")),
        718 => format!("<({},{}),{}>", numbers[0], numbers[1], numbers[2]),
        602 if value[0] == 0 => format!("[{points}]"),
        602 | 604 => format!("({points})"),
        _ => points,
    }
}
