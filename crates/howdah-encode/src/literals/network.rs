//! Literals of network addresses, bit strings and log positions.

use super::Random;
use std::net::{Ipv4Addr, Ipv6Addr};

#[rustfmt::skip]
pub(super) const ADDRESSES: &[&str] = &[
    "", "0", "10", "128", "192", "224", "225", "239", "240", "255", "256", "10.1", "128.1", "192.168", "224.0",
    "224.1", "10/8", "10/15", "10/16", "10/24", "10.1/8", "10.1/16", "192.168.1/24", "192.168.1/25", "1.2.3.4",
    "1.2.3.4/32", "1.2.3.4/33", "1.2.3.4/0", "0.0.0.0/0", "1.2.3.4/", "1.2.3.4/-1", "1.2.3.4/ 8", "1.2.3.4/08",
    "1.2.3.4/4294967304", "1.2.3.4/2147483648", "001.002.003.004", "1.2.3.4.", "1.2.3.", "1.2.3./24", "1..2.3",
    ".1.2.3", "1.2.3.4.5", "0x0a", "0x0a000000/8", "0xg", "0x", "0X0A01", "::", "::/0", "::1", "::1/128",
    "::1/129", "::1/0", "::1/00", "::1/064", "::1/", ":", ":::", ":1", "1:", "1::", "1::/16", "1:/16",
    "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:/64", "1:2:3:4:5:6:7:8:/128", "1:2:3:4:5:6:7:8:", "1:2:3:4:5:6:7::",
    "1:2:3:4:5:6:7::8", "::2:3:4:5:6:7:8", "::1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::",
    "1::2::3", "12345::", "0001::", "::ffff:1.2.3.4", "::ffff:1.2.3.4/96", "::ffff:1.2.3.0/120", "::1.2.3",
    "::1.2", "::1.", "::.", "::./5", "::1..2", "::1.2.3.4.5", "::1.2.3.256", "::01.2.3.4", "::1.2.3.4/129",
    "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "1.2.3.4::", "1.2.3.4:5", "::f.1", "fe80::1%eth0",
    "2001:db8::/32", "2001:db8::1/32", "2001:DB8:0:0::F", "[::1]", "localhost",
];

pub(super) fn address(random: &mut Random) -> String {
    if random.below(2) == 0 {
        let prefix = random.next_u32() % 34;
        let network = u32::MAX.checked_shl(32_u32.saturating_sub(prefix)).unwrap_or(0);
        let address = Ipv4Addr::from_bits(random.next_u32() & random.pick(&[u32::MAX, network]));
        let text = match random.below(6) {
            0 => {
                let all = address.to_string();
                let octets: Vec<&str> = all.split('.').collect();
                octets[..1 + random.below(4)].join(".")
            }
            _ => address.to_string(),
        };
        return if random.below(2) == 0 { text } else { format!("{text}/{prefix}") };
    }
    let prefix = random.next_u32() % 130;
    let mut bits = u128::from(random.next()) << 64 | u128::from(random.next());
    for group in 0..8 {
        if random.below(3) == 0 {
            bits &= !(0xffff << (16 * group));
        }
    }
    let network = u128::MAX.checked_shl(128_u32.saturating_sub(prefix)).unwrap_or(0);
    let address = Ipv6Addr::from_bits(bits & random.pick(&[u128::MAX, network]));
    let text = match random.below(4) {
        0 => address.segments().map(|group| format!("{group:x}")).join(":"),
        1 => address.to_string().to_uppercase(),
        2 => {
            let [.., a, b, c, d] = address.octets();
            format!("{}:{a}.{b}.{c}.{d}", random.pick(&["::ffff", ":", "1:2:3:4:5:6", "1::2"]))
        }
        _ => address.to_string(),
    };
    if random.below(2) == 0 { text } else { format!("{text}/{prefix}") }
}

#[rustfmt::skip]
pub(super) const MACS: &[&str] = &[
    "", "08:00:2b:01:02:03", "08-00-2b-01-02-03", "08002b:010203", "08002b-010203", "0800.2b01.0203",
    "0800-2b01-0203", "08002b010203", "8:0:2b:1:2:3", "8-0-2b-1-2-3", "108:00:2b:01:02:03", "ffffffff:0:0:0:0:0",
    "100000000:0:0:0:0:0", "08:00:2b:01:02", "08:00:2b:01:02:03:04", "08:00:2b:01:02:03:04:05",
    "08:00:2b:01:02:03:04:05:06", "08002b0102030405", "08002b01020304", "08002b010203x", "08002b010203:",
    "08:00:2b:01:02:03:4", "08:00:2b:01:02:03 :", "0800.2b01.0203.0405", "08002b:0102030405", "08.00.2b.01.02.03",
    "08002b01023", "08002b0102030", "08002:01020", "0800:2b01:0203", "080.2b0.023", "08:00-2b:01:02:03",
    "08:00:2b:01:02:-3", "08--00-2b-01-02-03", "0800-2-1-5-6", "0x8:0x0:0x2b:0x1:0x2:0x3", "+8:0:2b:1:2:3",
    "8: 0:2b:1:2:3", " 08:00:2b:01:02:03 ", "08:00:2b:01:02:0g", "not a mac", "0800.2b01.02",
    "08-00-2b-01-02", "0800-2b01-0203-0405", "08002b-01020", "::::::", "08:00:2b:01:02:",
];

pub(super) fn mac(random: &mut Random) -> String {
    let bytes = random.next().to_be_bytes();
    let octets = &bytes[..random.pick(&[6, 6, 8])];
    let separator = random.pick(&[":", "-", ".", ""]);
    let octet = |byte: &u8| match random.next_u32() % 16 {
        0 => format!("{byte:x}"),
        1..8 => format!("{byte:02X}"),
        _ => format!("{byte:02x}"),
    };
    let octets: Vec<String> = octets.iter().map(octet).collect();
    let together = random.pick(&[1, 1, 1, 2, 3]);
    octets.chunks(together).map(|group| group.concat()).collect::<Vec<_>>().join(separator)
}

#[rustfmt::skip]
pub(super) const BITS: &[&str] = &[
    "", "0", "1", "b", "B", "x", "X", "10101", "b10101", "B10101", "x1", "xF", "XfF", "x123", "xABCDEF", "x12345",
    "101012", "1010 ", " 10101", "10102", "xg", "x 1", "x1g", "b2", "bx", "xb", "xx", "b'10101'", "B'10101'",
    "101010101010", "1010101010101", "0b10101", "0x1F", "é", "1010é", "xé", "11111111", "111111110", "00000000000000000",
];

pub(super) fn bits(random: &mut Random) -> String {
    let few = random.below(14);
    let many = random.below(40);
    let digits = random.pick(&[5, 5, 5, few, few, many]);
    match random.below(6) {
        0 => format!("{}{:x}", random.pick(&["x", "X"]), random.next() >> random.below(64)),
        1 => format!("b{}", (0..digits).map(|_| random.pick(&['0', '1'])).collect::<String>()),
        _ => (0..digits).map(|_| random.pick(&['0', '1'])).collect(),
    }
}

#[rustfmt::skip]
pub(super) const LSNS: &[&str] = &[
    "", "/", "0/0", "0/", "/0", "16/B374D848", "FFFFFFFF/ffffffff", "123456789/0", "0/123456789", "0/0/0", "0x1/0",
    "-1/0", "+1/0", "0", "0 /0", "00000000/00000000", "G/0",
];

pub(super) fn lsn(random: &mut Random) -> String {
    let (high, low) = (random.next_u32() >> random.below(32), random.next_u32());
    match random.below(3) {
        0 => format!("{high:08X}/{low:08X}"),
        1 => format!("{high:x}/{low:x}"),
        _ => format!("{high:X}/{low:X}"),
    }
}
