//! IPv6 addresses with a prefix length, as `inet` and `cidr` read them.

use super::digits::{NOT_HEX, hex_value};
use std::net::Ipv6Addr;

/// Where an IPv6 address stands while it is read: two bytes a group.
struct Groups {
    bytes: [u8; 16],
    /// Bytes written so far.
    at: usize,
    /// Where `::` stood.
    gap: Option<usize>,
}

impl Groups {
    #[inline]
    fn push(&mut self, group: u16) -> Option<()> {
        self.bytes.get_mut(self.at..self.at + 2)?.copy_from_slice(&group.to_be_bytes());
        self.at += 2;
        Some(())
    }

    /// Moves what stands behind `::` to the end; `::` stands for at least one group.
    fn close(mut self) -> Option<[u8; 16]> {
        match self.gap {
            Some(gap) if self.at < 16 => {
                self.bytes.copy_within(gap..self.at, 16 - (self.at - gap));
                self.bytes[gap..16 - (self.at - gap)].fill(0);
                Some(self.bytes)
            }
            None if self.at == 16 => Some(self.bytes),
            _ => None,
        }
    }
}

/// The address and the length of its prefix.
#[inline]
pub(super) fn parse(literal: &[u8]) -> Option<(Ipv6Addr, u8)> {
    let mut groups = Groups { bytes: [0; 16], at: 0, gap: None };
    let mut rest = match literal {
        [b':', b':', ..] => &literal[1..],
        [b':', ..] => return None,
        _ => literal,
    };
    let mut prefix = 128;
    loop {
        // Here a group starts, or `::`, or the end.
        let (group, after) = group(rest)?;
        match (after, group) {
            ([b':', ..], None) if groups.gap.is_some() => return None,
            ([b':', behind @ ..], None) => {
                groups.gap = Some(groups.at);
                rest = behind;
            }
            ([b':'], Some(_)) => return None,
            ([b':', behind @ ..], Some(group)) => {
                groups.push(group)?;
                rest = behind;
            }
            ([b'.', ..], _) => {
                prefix = groups.push_v4(rest)?;
                break;
            }
            ([b'/', digits @ ..], _) => {
                prefix = prefix_v6(digits)?;
                if let Some(group) = group {
                    groups.push(group)?;
                }
                break;
            }
            ([], Some(group)) => {
                groups.push(group)?;
                break;
            }
            ([], None) => break,
            _ => return None,
        }
    }
    Some((Ipv6Addr::from(groups.close()?), prefix))
}

/// Up to four hexadecimal digits, and what follows them; no digits are no group. Five are no address.
#[inline]
fn group(text: &[u8]) -> Option<(Option<u16>, &[u8])> {
    let mut value: u16 = 0;
    let mut count = 0;
    for &byte in text {
        let digit = hex_value(byte);
        if digit == NOT_HEX {
            break;
        }
        if count == 4 {
            return None;
        }
        value = value << 4 | u16::from(digit);
        count += 1;
    }
    Some(((count > 0).then_some(value), &text[count..]))
}

impl Groups {
    /// The dotted end of an address; returns the prefix. The server asks for no more than one octet of it, lets any but
    /// the last be empty, and fills up with zeros.
    #[cold]
    fn push_v4(&mut self, text: &[u8]) -> Option<u8> {
        let end = self.at + 4;
        let target = self.bytes.get_mut(self.at..end)?;
        let (dotted, prefix) = match memchr::memchr(b'/', text) {
            Some(at) => (&text[..at], prefix_v6(&text[at + 1..])?),
            None if text.ends_with(b".") => return None,
            None => (text, 128),
        };
        let mut octets = target.iter_mut();
        for octet in dotted.split(|byte| *byte == b'.') {
            *octets.next()? = u8::try_from(plain_number(octet, 255)?).ok()?;
        }
        self.at = end;
        Some(prefix)
    }
}

/// A prefix length of at most 128, without leading zeros.
fn prefix_v6(digits: &[u8]) -> Option<u8> {
    if digits.is_empty() {
        return None;
    }
    u8::try_from(plain_number(digits, 128)?).ok()
}

/// A decimal number up to `most` without leading zeros; nothing is zero.
fn plain_number(digits: &[u8], most: u32) -> Option<u32> {
    if digits.len() > 1 && digits[0] == b'0' {
        return None;
    }
    let mut value = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u32::from(digit - b'0');
        if value > most {
            return None;
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(literal: &str) -> Option<String> {
        parse(literal.as_bytes()).map(|(address, prefix)| format!("{address}/{prefix}"))
    }

    #[test]
    fn addresses_are_read_with_and_without_a_prefix() {
        for (literal, value) in [
            ("::", "::/128"),
            ("::1", "::1/128"),
            ("2001:DB8::a:b/64", "2001:db8::a:b/64"),
            ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8/128"),
            ("1:2:3:4:5:6:7::/0", "1:2:3:4:5:6:7:0/0"),
            ("::ffff:1.2.3.4/96", "::ffff:1.2.3.4/96"),
        ] {
            assert_eq!(read(literal).as_deref(), Some(value), "{literal}");
        }
    }

    #[test]
    fn oddities_of_the_servers_parser_are_kept() {
        for (literal, value) in [
            ("1:2:3:4:5:6:7:8:/64", "1:2:3:4:5:6:7:8/64"),
            ("::ffff:1.2", "::ffff:1.2.0.0/128"),
            ("::ffff:1..2.3/100", "::ffff:1.0.2.3/100"),
            ("::ffff:1.2./100", "::ffff:1.2.0.0/100"),
        ] {
            assert_eq!(read(literal).as_deref(), Some(value), "{literal}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for literal in [
            ":",
            ":1",
            "1:",
            ":::",
            "1:2:3:4:5:6:7:8:9",
            "12345::",
            "1::2::3",
            "1:2:3:4:5:6:7::8",
            "::1/129",
            "::1/064",
            "::1/",
            "::1%eth0",
            "::1.2.3.256",
            "::01.2.3.4",
            "::1.2.3.4.5",
            "::1.2.3.",
            "1:2:3:4:5:6:7:1.2.3.4",
            "fe80::g",
            "1.2.3.4::",
        ] {
            assert_eq!(read(literal), None, "{literal}");
        }
    }

    proptest! {
        #[test]
        fn every_address_reads_back(groups: [u16; 8], prefix in 0_u8..=128) {
            let address = Ipv6Addr::from(groups.map(|group| if group < 0x6000 { 0 } else { group }));
            prop_assert_eq!(read(&format!("{address}/{prefix}")), Some(format!("{address}/{prefix}")));
        }
    }
}
