//! Attempts at sockets.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::path::Path;
use std::time::Duration;

use daemon_records::environment;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, SendFlags, SocketFlags, SocketType, connect, ipproto, sendto, socket,
    socket_with,
};

use super::attempts::any;
use super::targets::GREETING;

/// Where the machines of most clouds find credentials.
pub(super) const METADATA: SocketAddr =
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(169, 254, 169, 254), 80));
/// How long a service on this machine may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// The flag with which data opens a connection, without `connect`.
const FAST_OPEN: u32 = libc::MSG_FASTOPEN.cast_unsigned();
/// The family of sockets between a virtual machine and its host, for which there is no constant.
const VIRTUAL_MACHINE: AddressFamily = AddressFamily::from_raw(libc::AF_VSOCK as u16);

/// Connects to a service, directly or by the proxy of the run.
pub(super) fn dials(address: SocketAddr) -> io::Result<()> {
    let direct = TcpStream::connect_timeout(&address, PATIENCE).and_then(greeted);
    any([direct, through_proxy(address)])
}

/// Connects to a service at an address that is not the loopback's.
pub(super) fn dials_listed(address: SocketAddr) -> io::Result<()> {
    if address.ip().is_loopback() {
        return Err(io::Error::other("this machine has no other address"));
    }
    dials(address)
}

/// Connects to a service by ways that a limit of ports may miss.
pub(super) fn dials_otherwise(address: SocketAddr) -> io::Result<()> {
    any([fast_open(address), multipath(address)])
}

fn fast_open(address: SocketAddr) -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    let flags = SendFlags::from_bits_retain(FAST_OPEN);
    sendto(&socket, GREETING, flags, &address)?;
    greeted(socket.into())
}

fn multipath(address: SocketAddr) -> io::Result<()> {
    let protocol = Some(ipproto::MPTCP);
    let socket = socket(AddressFamily::INET, SocketType::STREAM, protocol)?;
    connect(&socket, &address)?;
    greeted(socket.into())
}

/// Begins a connection, and does not wait for the answer: the packet is on its way.
pub(super) fn begins(address: SocketAddr) -> io::Result<()> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    let direct = match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    };
    any([direct, through_proxy(address)])
}

/// Asks the proxy of the run for a connection.
fn through_proxy(address: SocketAddr) -> io::Result<()> {
    let none = || io::Error::other("the run has no proxy");
    let proxy = environment::variable("HTTPS_PROXY").ok_or_else(none)?;
    let proxy = proxy.to_str().and_then(|url| url.strip_prefix("http://"));
    let proxy: SocketAddr = proxy
        .and_then(|text| text.trim_end_matches('/').parse().ok())
        .ok_or_else(none)?;
    let mut stream = TcpStream::connect_timeout(&proxy, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "CONNECT {address} HTTP/1.1\r\n\r\n")?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    match &status[9..] {
        b"200" => Ok(()),
        code => Err(io::Error::other(format!(
            "the proxy answers {}",
            String::from_utf8_lossy(code)
        ))),
    }
}

fn greeted(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut greeting = [0; GREETING.len()];
    stream.read_exact(&mut greeting)
}

/// Sends a datagram and waits for the answer.
pub(super) fn answers(address: SocketAddr) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(GREETING)?;
    socket.recv(&mut [0; GREETING.len()]).map(drop)
}

pub(super) fn dials_path(path: &Path) -> io::Result<()> {
    UnixStream::connect(path).map(drop)
}

pub(super) fn dials_abstract(name: &str) -> io::Result<()> {
    UnixStream::connect_addr(&UnixAddress::from_abstract_name(name)?).map(drop)
}

/// Opens a socket that sees every packet of an interface, or one to the host of a virtual machine.
pub(super) fn opens_other_sockets() -> io::Result<()> {
    let opens = |family, kind, protocol: Option<Protocol>| {
        socket(family, kind, protocol)
            .map(drop)
            .map_err(io::Error::from)
    };
    any([
        opens(VIRTUAL_MACHINE, SocketType::STREAM, None),
        opens(AddressFamily::PACKET, SocketType::RAW, None),
        opens(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)),
    ])
}
