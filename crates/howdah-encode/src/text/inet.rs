//! `inet` and `cidr`: IPv4 and IPv6 addresses with a prefix length, in all the shapes PostgreSQL's parser lets through.

use super::ipv6;
use crate::verdict::{NotEncoded, Verdict, shown};
use crate::wire;
use std::net::{IpAddr, Ipv4Addr};

/// An address and the length of its network's prefix.
struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Which of the two types a literal is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NetworkType {
    /// A host, perhaps with the length of its network's prefix.
    Inet,
    /// A network: no bits may be set behind the prefix.
    Cidr,
}

/// Why no address was read.
enum NetworkError {
    Syntax,
    /// Not ours to decide: hexadecimal networks and prefix lengths that overflow the server's counter.
    Undecided,
}

#[inline(never)]
pub(super) fn put_inet(literal: &[u8], out: &mut Vec<u8>) -> Verdict {
    // The server, too, takes the first colon for the mark of IPv6.
    let network = if literal.contains(&b':') { parse_ipv6(literal) } else { parse_inet_ipv4(literal) };
    let Network { address, prefix } = network.map_err(|fault| refusal(fault, NetworkType::Inet, literal))?;
    wire::put_inet(out, address, prefix);
    Ok(())
}

#[inline(never)]
pub(super) fn put_cidr(literal: &[u8], out: &mut Vec<u8>) -> Verdict {
    let network = if literal.contains(&b':') { parse_ipv6(literal) } else { parse_cidr_ipv4(literal) };
    let network = network.map_err(|fault| refusal(fault, NetworkType::Cidr, literal))?;
    if network.has_host_bits() {
        let reason =
            format!("invalid cidr value: \"{}\": Value has bits set to right of mask.", shown(literal));
        return Err(NotEncoded::invalid("22P02", reason));
    }
    wire::put_cidr(out, network.address, network.prefix);
    Ok(())
}

#[cold]
fn refusal(fault: NetworkError, kind: NetworkType, literal: &[u8]) -> NotEncoded {
    match fault {
        NetworkError::Syntax if kind == NetworkType::Inet => NotEncoded::syntax("inet", literal),
        NetworkError::Syntax => NotEncoded::syntax("cidr", literal),
        NetworkError::Undecided => NotEncoded::Unsure,
    }
}

impl Network {
    /// Whether a bit is set behind the prefix.
    fn has_host_bits(&self) -> bool {
        let prefix = u32::from(self.prefix);
        match self.address {
            IpAddr::V4(address) => address.to_bits().checked_shl(prefix).is_some_and(|host| host != 0),
            IpAddr::V6(address) => address.to_bits().checked_shl(prefix).is_some_and(|host| host != 0),
        }
    }
}

fn parse_ipv6(literal: &[u8]) -> Result<Network, NetworkError> {
    let (address, prefix) = ipv6::parse(literal).ok_or(NetworkError::Syntax)?;
    Ok(Network { address: IpAddr::V6(address), prefix })
}

/// Up to four decimal octets as they stand in front of a prefix length.
struct Octets {
    bytes: [u8; 4],
    count: usize,
}

impl Octets {
    /// Reads octets between dots; returns what follows them. A dot may end them only where `trailing_dot` says so.
    #[inline]
    fn read(mut rest: &[u8], trailing_dot: bool) -> Option<(Octets, &[u8])> {
        let mut octets = Octets { bytes: [0; 4], count: 0 };
        loop {
            let (octet, after) = octet(rest)?;
            *octets.bytes.get_mut(octets.count)? = octet;
            octets.count += 1;
            match after {
                [b'.', behind @ ..] if trailing_dot && !starts_with_digit(behind) => {
                    return Some((octets, behind));
                }
                [b'.', behind @ ..] => rest = behind,
                _ => return Some((octets, after)),
            }
        }
    }
}

/// A decimal number up to 255; zeros may lead.
#[inline]
fn octet(text: &[u8]) -> Option<(u8, &[u8])> {
    let mut value: u32 = 0;
    let mut rest = text;
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        value = value * 10 + u32::from(digit - b'0');
        if value > 255 {
            return None;
        }
        rest = after;
    }
    if rest.len() == text.len() {
        return None;
    }
    Some((u8::try_from(value).ok()?, rest))
}

fn starts_with_digit(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_digit)
}

/// `/` and a prefix length of at most 32, or nothing; zeros may lead.
#[inline]
fn prefix_ipv4(text: &[u8]) -> Result<Option<u8>, NetworkError> {
    let digits = match text {
        [] => return Ok(None),
        [b'/', digits @ ..] if starts_with_digit(digits) => digits,
        _ => return Err(NetworkError::Syntax),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(NetworkError::Syntax);
    }
    let mut bits: u32 = 0;
    for digit in digits {
        bits = bits
            .checked_mul(10)
            .and_then(|b| b.checked_add(u32::from(digit - b'0')))
            .ok_or(NetworkError::Undecided)?;
    }
    match u8::try_from(bits) {
        Ok(bits) if bits <= 32 => Ok(Some(bits)),
        // The server counts in an int, which wraps beyond this.
        _ if bits > i32::MAX.cast_unsigned() => Err(NetworkError::Undecided),
        _ => Err(NetworkError::Syntax),
    }
}

/// Missing octets are zero, but those within the prefix must be written.
#[inline]
fn parse_inet_ipv4(literal: &[u8]) -> Result<Network, NetworkError> {
    let (octets, rest) = Octets::read(literal, true).ok_or(NetworkError::Syntax)?;
    let prefix = match prefix_ipv4(rest)? {
        Some(bits) if usize::from(bits / 8) <= octets.count => bits,
        None if octets.count == 4 => 32,
        _ => return Err(NetworkError::Syntax),
    };
    Ok(Network { address: IpAddr::V4(Ipv4Addr::from(octets.bytes)), prefix })
}

/// Missing octets are zero; a missing prefix is that of the address's class, or as long as what is written.
fn parse_cidr_ipv4(literal: &[u8]) -> Result<Network, NetworkError> {
    if matches!(literal, [b'0', b'x' | b'X', ..]) {
        return Err(NetworkError::Undecided);
    }
    let (octets, rest) = Octets::read(literal, false).ok_or(NetworkError::Syntax)?;
    let prefix = match prefix_ipv4(rest)? {
        Some(bits) => bits,
        None => {
            let written = [8, 8, 16, 24, 32][octets.count];
            match octets.bytes[0] {
                224 if octets.count == 1 => 4,
                0..=127 | 224..=239 => written,
                128..=191 => written.max(16),
                192..=223 => written.max(24),
                240.. => 32,
            }
        }
    };
    Ok(Network { address: IpAddr::V4(Ipv4Addr::from(octets.bytes)), prefix })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(kind: NetworkType, literal: &str) -> Result<Vec<u8>, NotEncoded> {
        let mut out = b"row".to_vec();
        let verdict = match kind {
            NetworkType::Inet => put_inet(literal.as_bytes(), &mut out),
            NetworkType::Cidr => put_cidr(literal.as_bytes(), &mut out),
        };
        if verdict.is_err() {
            assert_eq!(out, b"row", "a refused literal left bytes behind");
        }
        verdict.map(|()| out[7..].to_vec())
    }

    /// The stored value as PostgreSQL prints it, prefix always shown.
    fn printed(kind: NetworkType, literal: &str) -> String {
        let field = encoded(kind, literal).unwrap();
        assert_eq!(field[2], u8::from(kind == NetworkType::Cidr), "{literal}");
        match (field[0], field[3]) {
            (2, 4) => {
                let bytes: [u8; 4] = field[4..].try_into().unwrap();
                format!("{}/{}", Ipv4Addr::from(bytes), field[1])
            }
            (3, 16) => {
                let bytes: [u8; 16] = field[4..].try_into().unwrap();
                format!("{}/{}", std::net::Ipv6Addr::from(bytes), field[1])
            }
            other => panic!("{literal}: {other:?}"),
        }
    }

    fn refusal(kind: NetworkType, literal: &str) -> String {
        match encoded(kind, literal) {
            Err(NotEncoded::Invalid(invalid)) if invalid.sqlstate == "22P02" => invalid.reason,
            other => panic!("{literal} was not refused: {other:?}"),
        }
    }

    #[test]
    fn addresses_are_read_with_and_without_a_prefix() {
        for (literal, value) in [
            ("192.168.0.1", "192.168.0.1/32"),
            ("192.168.0.1/24", "192.168.0.1/24"),
            ("10.0.0.1/0", "10.0.0.1/0"),
            ("010.001.000.255/08", "10.1.0.255/8"),
            ("10/8", "10.0.0.0/8"),
            ("10/15", "10.0.0.0/15"),
            ("10.1.2/24", "10.1.2.0/24"),
            ("1.2.3.4.", "1.2.3.4/32"),
            ("1.2.3./24", "1.2.3.0/24"),
            ("2001:DB8::a:b/64", "2001:db8::a:b/64"),
        ] {
            assert_eq!(printed(NetworkType::Inet, literal), value, "{literal}");
        }
    }

    #[test]
    fn networks_get_the_prefix_of_their_class_and_no_host_bits() {
        for (literal, value) in [
            ("192.168.0.0/16", "192.168.0.0/16"),
            ("10", "10.0.0.0/8"),
            ("10.1", "10.1.0.0/16"),
            ("128", "128.0.0.0/16"),
            ("192.168", "192.168.0.0/24"),
            ("224", "224.0.0.0/4"),
            ("225", "225.0.0.0/8"),
            ("224.1", "224.1.0.0/16"),
            ("240", "240.0.0.0/32"),
            ("10/24", "10.0.0.0/24"),
            ("1.2.3.4", "1.2.3.4/32"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("::1", "::1/128"),
        ] {
            assert_eq!(printed(NetworkType::Cidr, literal), value, "{literal}");
        }
        for literal in ["10.1/8", "192.168.0.1/24", "1.2.3.4/31x", "2001:db8::1/64", "1.2.3.5/31"] {
            let reason = match literal.ends_with('x') {
                true => format!("invalid input syntax for type cidr: \"{literal}\""),
                false => format!("invalid cidr value: \"{literal}\": Value has bits set to right of mask."),
            };
            assert_eq!(refusal(NetworkType::Cidr, literal), reason);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_in_the_servers_words() {
        for literal in [
            "",
            " 1.2.3.4",
            "1.2.3.4 ",
            "1.2.3",
            "1.2.3.256",
            "1.2.3.4.5",
            "1..2.3",
            "1.2.3.4/33",
            "1.2.3.4/",
            "1.2.3.4/-1",
            "10/16",
            "0x7f000001",
            "abc",
            "::1/129",
        ] {
            let reason = format!("invalid input syntax for type inet: \"{literal}\"");
            assert_eq!(refusal(NetworkType::Inet, literal), reason);
        }
    }

    #[test]
    fn what_overflows_or_is_not_ascii_is_left_to_the_server() {
        for literal in ["1.2.3.4/4294967304", "1.2.3.4/99999999999", "1.2.3.٤"] {
            assert_eq!(encoded(NetworkType::Inet, literal), Err(NotEncoded::Unsure), "{literal}");
        }
        assert_eq!(encoded(NetworkType::Cidr, "0x0a"), Err(NotEncoded::Unsure));
    }

    proptest! {
        #[test]
        fn every_address_reads_back(address: u32, prefix in 0_u8..=32) {
            let address = Ipv4Addr::from(address);
            prop_assert_eq!(printed(NetworkType::Inet, &format!("{address}/{prefix}")), format!("{address}/{prefix}"));
        }
    }
}
