//! The list of destinations that a program may reach.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::address;

/// The longest name of the domain name system, in characters.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// The destinations that a program may reach.
///
/// An entry is one of:
///
/// | entry | what it permits |
/// |---|---|
/// | `host.example:443` | one name and port |
/// | `*.host.example:443` | every name below, not the name itself |
/// | `*:443` | every public name and address at a port |
/// | `192.0.2.7:443`, `[2001:db8::1]:443` | one address, also one that is not public |
/// | `10.0.0.0/8:5432` | the addresses of a network |
/// | `localhost:8080` | the loopback addresses and this name |
/// | `*` | everything, without a proxy |
///
/// A name is permitted only for the public addresses that it resolves to, and for addresses that the list permits
/// themselves. So a name that resolves to `10.1.2.3` needs an entry for its address too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressList {
    is_open: bool,
    names: BTreeSet<(Pattern, u16)>,
    networks: BTreeSet<(IpNet, u16)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pattern {
    Any,
    Exactly(String),
    /// Names that end with this text, which begins with a dot.
    Below(String),
}

/// An entry that is no destination.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{entry}` is no destination: {problem}; write `host:port`, `*.host:port`, an address or network with a port, or `*`"
)]
pub struct InvalidEntry {
    /// The entry as written.
    pub entry: String,
    problem: &'static str,
}

/// A host that a program asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DestinationHost {
    /// A name in lower case, without a dot at its end.
    Name(String),
    Address(IpAddr),
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EgressRefusal {
    /// No entry of the list permits the destination.
    NotListed,
    /// The name resolves only to addresses that are not public, and that no entry permits.
    NotPublic(IpAddr),
}

impl EgressList {
    /// Returns a list that permits nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Parses the entries of a list. Fails with the first entry that is no destination.
    pub fn parse<T: AsRef<str>>(entries: &[T]) -> Result<Self, InvalidEntry> {
        let mut list = Self::nothing();
        for entry in entries {
            let entry = entry.as_ref();
            list.add(entry).map_err(|problem| InvalidEntry {
                entry: entry.to_owned(),
                problem,
            })?;
        }
        Ok(list)
    }

    fn add(&mut self, entry: &str) -> Result<(), &'static str> {
        if entry == "*" {
            self.is_open = true;
            return Ok(());
        }
        if entry.contains("://") {
            return Err("it is a URL");
        }
        let (host, port) = entry.rsplit_once(':').ok_or("it has no port")?;
        let port = parse_port(port).ok_or("its port is not a number from 1 to 65535")?;
        if host == "*" {
            self.names.insert((Pattern::Any, port));
        } else if let Some(parent) = host.strip_prefix("*.") {
            let parent = parse_name(parent).ok_or("its host is no name")?;
            self.names
                .insert((Pattern::Below(format!(".{parent}")), port));
        } else if let Some(network) = parse_network(host) {
            self.networks.insert((network.trunc(), port));
        } else if host.contains('/') {
            return Err("its network is not of the form `10.0.0.0/8`");
        } else {
            match DestinationHost::parse(host).ok_or("its host is neither a name nor an address")? {
                DestinationHost::Address(address) => self.permit(address, port),
                DestinationHost::Name(name) => {
                    if name == "localhost" {
                        self.permit(Ipv4Addr::LOCALHOST.into(), port);
                        self.permit(Ipv6Addr::LOCALHOST.into(), port);
                    }
                    self.names.insert((Pattern::Exactly(name), port));
                }
            }
        }
        Ok(())
    }

    fn permit(&mut self, address: IpAddr, port: u16) {
        self.networks.insert((IpNet::from(address), port));
    }

    /// Reports whether it permits everything, by `*`.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Reports whether it permits nothing.
    pub fn is_empty(&self) -> bool {
        !self.is_open && self.names.is_empty() && self.networks.is_empty()
    }

    /// Reports whether `other` permits every entry of this list, as far as entries can be compared without resolving names.
    pub fn is_within(&self, other: &Self) -> bool {
        let has_name = |(pattern, port): &(Pattern, u16)| match pattern {
            Pattern::Exactly(name) => other.permits_name(name, *port),
            Pattern::Any | Pattern::Below(_) => other.names.contains(&(pattern.clone(), *port)),
        };
        let has_network = |(network, port): &(IpNet, u16)| {
            let mut at_port = other.networks.iter().filter(|(_, with)| with == port);
            at_port.any(|(wider, _)| wider.contains(network))
        };
        other.is_open
            || (!self.is_open
                && self.names.iter().all(has_name)
                && self.networks.iter().all(has_network))
    }

    /// Returns the ports of its entries; `None` if every port is permitted.
    ///
    /// A sandbox that can limit ports but no hosts uses them.
    pub fn ports(&self) -> Option<BTreeSet<u16>> {
        let of_names = self.names.iter().map(|(_, port)| *port);
        let of_networks = self.networks.iter().map(|(_, port)| *port);
        (!self.is_open).then(|| of_names.chain(of_networks).collect())
    }

    /// Returns the ports of `127.0.0.1` and `localhost` that it permits.
    ///
    /// Many programs use no proxy for loopback addresses, so these ports have to be reachable by themselves.
    pub fn loopback_ports(&self) -> BTreeSet<u16> {
        let local = IpAddr::from(Ipv4Addr::LOCALHOST);
        let networks = self.networks.iter();
        networks
            .filter(|(network, _)| network.contains(&local))
            .map(|(_, port)| *port)
            .collect()
    }

    /// Reports whether a host may be reached at a port, before a name is resolved.
    pub(crate) fn permits(&self, host: &DestinationHost, port: u16) -> bool {
        match host {
            DestinationHost::Name(name) => self.permits_name(name, port),
            DestinationHost::Address(address) => {
                self.permits_address(*address, port)
                    && (self.is_listed(*address, port) || self.permits_any_name(port))
            }
        }
    }

    /// Reports whether a permitted host may be reached at an address: a public one, or one that is listed itself.
    pub(crate) fn permits_address(&self, address: IpAddr, port: u16) -> bool {
        self.is_open || address::is_public(address) || self.is_listed(address, port)
    }

    fn permits_name(&self, name: &str, port: u16) -> bool {
        self.permits_any_name(port)
            || self.names.iter().any(|(pattern, with)| {
                *with == port
                    && match pattern {
                        Pattern::Any => true,
                        Pattern::Exactly(exactly) => exactly == name,
                        Pattern::Below(parent) => name.ends_with(parent.as_str()),
                    }
            })
    }

    fn permits_any_name(&self, port: u16) -> bool {
        self.is_open || self.names.contains(&(Pattern::Any, port))
    }

    fn is_listed(&self, address: IpAddr, port: u16) -> bool {
        // An IPv4 address written as IPv6 is the same destination.
        let address = address::effective(address);
        let mut networks = self.networks.iter();
        networks.any(|(network, with)| *with == port && network.contains(&address))
    }
}

impl fmt::Display for EgressList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_open {
            return f.write_str("*");
        }
        let names = self.names.iter().map(|(pattern, port)| match pattern {
            Pattern::Any => format!("*:{port}"),
            Pattern::Exactly(name) => format!("{name}:{port}"),
            Pattern::Below(parent) => format!("*{parent}:{port}"),
        });
        let networks = self.networks.iter().map(|(network, port)| {
            let is_address = network.prefix_len() == network.max_prefix_len();
            match network {
                IpNet::V4(_) if is_address => format!("{}:{port}", network.addr()),
                IpNet::V4(_) => format!("{network}:{port}"),
                IpNet::V6(_) if is_address => format!("[{}]:{port}", network.addr()),
                IpNet::V6(_) => format!("[{}]/{}:{port}", network.addr(), network.prefix_len()),
            }
        });
        let entries: Vec<String> = names.chain(networks).collect();
        f.write_str(&entries.join(", "))
    }
}

impl DestinationHost {
    /// Parses a name, an IPv4 address, or an IPv6 address in brackets; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(address::effective(address.into())));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        parse_name(text).map(Self::Name)
    }
}

impl fmt::Display for DestinationHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for EgressRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed => f.write_str("not in the egress list of the provider"),
            Self::NotPublic(address) => write!(
                f,
                "it resolves to {address}, which is not public and not in the egress list of the provider"
            ),
        }
    }
}

/// Parses a port; `0` is not a port, and a sign or a leading zero would be another spelling of the same entry.
fn parse_port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    is_plain.then(|| text.parse().ok()).flatten()
}

fn parse_network(text: &str) -> Option<IpNet> {
    let (address, length) = text.split_once('/')?;
    let address = match DestinationHost::parse(address)? {
        DestinationHost::Address(address) => address,
        DestinationHost::Name(_) => return None,
    };
    IpNet::new(address, length.parse().ok()?).ok()
}

/// Returns a name in lower case without the dot at its end; `None` if it is no name.
fn parse_name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    // `_` is no character of host names, and yet some services use it.
    let is_label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    (name.len() <= MAX_NAME && name.split('.').all(is_label)).then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> EgressList {
        EgressList::parse(entries).unwrap()
    }

    fn permits(list: &EgressList, host: &str, port: u16) -> bool {
        list.permits(&DestinationHost::parse(host).unwrap(), port)
    }

    #[test]
    fn a_name_is_permitted_at_its_port_in_any_case() {
        let list = list(&["API.example.com:443", "*.pkg.example.com:80"]);
        assert!(permits(&list, "api.EXAMPLE.com.", 443));
        assert!(permits(&list, "a.b.pkg.example.com", 80));
        for (host, port) in [
            ("api.example.com", 80),
            ("x.api.example.com", 443),
            ("pkg.example.com", 80),
            ("evilpkg.example.com", 80),
            ("example.com", 443),
            ("1.1.1.1", 443),
        ] {
            assert!(!permits(&list, host, port), "{host}:{port}");
        }
    }

    #[test]
    fn an_address_is_permitted_alone_by_network_and_in_each_spelling() {
        let list = list(&["10.0.0.0/8:5432", "127.0.0.1:80", "[2606:4700::1]:443"]);
        for (host, port) in [
            ("10.9.8.7", 5432),
            ("127.0.0.1", 80),
            ("[::ffff:127.0.0.1]", 80),
            ("[2606:4700:0::1]", 443),
        ] {
            assert!(permits(&list, host, port), "{host}:{port}");
        }
        for (host, port) in [("11.0.0.1", 5432), ("127.0.0.2", 80), ("10.0.0.1", 80)] {
            assert!(!permits(&list, host, port), "{host}:{port}");
        }
        assert_eq!(list.loopback_ports(), BTreeSet::from([80]));
    }

    #[test]
    fn any_host_at_a_port_is_any_public_one() {
        let list = list(&["*:443"]);
        assert!(permits(&list, "example.com", 443));
        assert!(permits(&list, "1.1.1.1", 443));
        assert!(!permits(&list, "1.1.1.1", 80));
        assert!(!permits(&list, "169.254.169.254", 443));
        let address = "10.0.0.1".parse().unwrap();
        assert!(
            !list.permits_address(address, 443),
            "what a name resolves to"
        );
        assert_eq!(list.ports(), Some(BTreeSet::from([443])));
    }

    #[test]
    fn a_list_is_shown_as_entries_that_parse_to_it() {
        let entries = [
            "*:1",
            "a.test:443",
            "*.b.test:80",
            "10.0.0.0/8:5",
            "10.1.2.3:6",
            "[fd00::]/8:7",
            "[::1]:8",
        ];
        let list = list(&entries);
        let shown = list.to_string();
        let again: Vec<&str> = shown.split(", ").collect();
        assert_eq!(again.len(), entries.len(), "{shown}");
        assert_eq!(EgressList::parse(&again).unwrap(), list, "{shown}");
        assert_eq!(EgressList::parse(&["*"]).unwrap().to_string(), "*");
    }

    #[test]
    fn localhost_is_the_name_and_both_addresses() {
        let list = list(&["localhost:8080"]);
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            assert!(permits(&list, host, 8080), "{host}");
        }
        assert_eq!(list.loopback_ports(), BTreeSet::from([8080]));
    }

    #[test]
    fn an_open_list_permits_everything_and_an_empty_one_nothing() {
        let open = list(&["*"]);
        assert!(open.is_open() && !open.is_empty() && open.ports().is_none());
        assert!(permits(&open, "169.254.169.254", 80));
        let nothing = EgressList::nothing();
        assert!(nothing.is_empty() && !permits(&nothing, "example.com", 443));
        assert_eq!(nothing.ports(), Some(BTreeSet::new()));
    }

    #[test]
    fn a_list_is_within_one_that_permits_all_of_its_entries() {
        let wide = list(&["*.example.com:443", "10.0.0.0/8:80"]);
        assert!(list(&["a.example.com:443", "10.1.0.0/16:80"]).is_within(&wide));
        assert!(EgressList::nothing().is_within(&wide));
        assert!(wide.is_within(&list(&["*"])));
        for entry in [
            "example.com:443",
            "a.example.com:80",
            "0.0.0.0/0:80",
            "*",
            "*:443",
        ] {
            assert!(!list(&[entry]).is_within(&wide), "{entry}");
        }
    }

    #[test]
    fn an_entry_that_is_no_destination_is_refused_with_its_reason() {
        for (entry, problem) in [
            ("", "it has no port"),
            ("example.com", "it has no port"),
            ("example.com:0", "its port is not a number from 1 to 65535"),
            (
                "example.com:65536",
                "its port is not a number from 1 to 65535",
            ),
            (
                "example.com:+80",
                "its port is not a number from 1 to 65535",
            ),
            ("https://example.com:443", "it is a URL"),
            (
                "10.0.0.0/33:80",
                "its network is not of the form `10.0.0.0/8`",
            ),
            ("*.*.com:443", "its host is no name"),
            ("a..b:443", "its host is neither a name nor an address"),
            (
                "ex ample.com:443",
                "its host is neither a name nor an address",
            ),
            ("::1:443", "its host is neither a name nor an address"),
            ("[::1:443", "its host is neither a name nor an address"),
        ] {
            let error = EgressList::parse(&[entry]).unwrap_err();
            assert_eq!((error.entry.as_str(), error.problem), (entry, problem));
        }
    }
}
