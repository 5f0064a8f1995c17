//! Codecs of dates and times, against each other.
#![no_main]

use howdah_encode::Zone;
use howdah_fuzz::{Case, MOMENTS, write_literals};
use libfuzzer_sys::fuzz_target;

const DATE: u32 = 1082;
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;
const INTERVAL: u32 = 1186;
const MICROSECONDS_A_DAY: i64 = 86_400_000_000;

fuzz_target!(
    init: write_literals("moments", MOMENTS),
    |data: &[u8]| {
        let Some(case) = Case::read(MOMENTS, data) else { return };
        // An interval in ISO 8601's form is the one thing that the server refuses to find between spaces.
        if case.oid != INTERVAL {
            case.expect_white_space_ignored();
        }
        let Ok(value) = case.verdict() else { return };
        match case.oid {
            DATE => {
                let day = i32::from_be_bytes(value.try_into().expect("four bytes"));
                if let Ok(moment) = case.verdict_as(TIMESTAMP, -1) {
                    let moment = microseconds(&moment);
                    let expected = match moment {
                        i64::MAX => i64::from(i32::MAX),
                        i64::MIN => i64::from(i32::MIN),
                        _ => moment.div_euclid(MICROSECONDS_A_DAY),
                    };
                    assert_eq!(i64::from(day), expected, "date and timestamp read another day");
                }
            }
            TIMESTAMPTZ => {
                let moment = microseconds(&value);
                let mut utc = Case { ..case };
                utc.rules.zone = Zone::Fixed(0);
                let in_utc = microseconds(&utc.verdict().expect("a zone known to the session is no harder than UTC"));
                match case.rules.zone {
                    Zone::Named => assert_eq!(moment, in_utc, "the session's zone was guessed"),
                    Zone::Fixed(east) => {
                        let shifted = in_utc.saturating_sub(i64::from(east) * 1_000_000);
                        assert!(moment == in_utc || moment == shifted, "neither the literal's zone nor the session's");
                    }
                }
            }
            _ => {}
        }
    }
);

fn microseconds(value: &[u8]) -> i64 {
    i64::from_be_bytes(value.try_into().expect("eight bytes"))
}
