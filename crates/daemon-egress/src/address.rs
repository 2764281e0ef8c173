//! Addresses that are not on the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// The special-purpose registries of IANA for IPv4 and IPv6, without the entries that are globally reachable, and the
/// multicast ranges.
const NOT_PUBLIC_V4: [(Ipv4Addr, u8); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

const NOT_PUBLIC_V6: [(Ipv6Addr, u8); 5] = [
    // Inside of 2000::/3, which holds every public address: protocol assignments with Teredo, documentation.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0x2, 0, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x2001, 0x10, 0, 0, 0, 0, 0, 0), 28),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];
const GLOBAL_UNICAST_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Prefixes under which an IPv6 address reaches an IPv4 address, and the first of the four bytes that hold it: mapped,
/// NAT64 and 6to4.
const CARRIERS: [(Ipv6Addr, u8, usize); 3] = [
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, 12),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, 12),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, 2),
];

/// Returns the IPv4 address that packets to an address end at, or the address itself.
pub(crate) fn effective(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let bytes = v6.octets();
    CARRIERS
        .iter()
        .find(|(prefix, length, _)| contains_v6(*prefix, *length, v6))
        .and_then(|(_, _, first)| bytes.get(*first..*first + 4))
        .and_then(|part| <[u8; 4]>::try_from(part).ok())
        .map_or(address, |part| IpAddr::V4(part.into()))
}

/// Reports whether an address is on the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match effective(address) {
        IpAddr::V4(v4) => !NOT_PUBLIC_V4
            .iter()
            .any(|(prefix, length)| contains_v4(*prefix, *length, v4)),
        IpAddr::V6(v6) => {
            let (prefix, length) = GLOBAL_UNICAST_V6;
            contains_v6(prefix, length, v6)
                && !NOT_PUBLIC_V6
                    .iter()
                    .any(|(prefix, length)| contains_v6(*prefix, *length, v6))
        }
    }
}

fn contains_v4(prefix: Ipv4Addr, length: u8, address: Ipv4Addr) -> bool {
    Ipv4Net::new_assert(prefix, length).contains(&address)
}

fn contains_v6(prefix: Ipv6Addr, length: u8, address: Ipv6Addr) -> bool {
    Ipv6Net::new_assert(prefix, length).contains(&address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        let public = [
            "1.1.1.1",
            "140.82.121.4",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2002:101:101::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
        ];
        for text in public {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        let not_public = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2001:0:1::1",
            "2001:db8::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "100::1",
        ];
        for text in not_public {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }
}
