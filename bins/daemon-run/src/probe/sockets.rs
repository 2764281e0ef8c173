//! The services that attempts reach for.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, UdpSocket};

use super::targets::GREETING;

/// An address of the internet that belongs to nothing; no packet is sent to it.
const ELSEWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), 9);
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Sockets of this process, at free ports.
#[derive(Debug)]
pub(super) struct Sockets {
    unlisted: TcpListener,
    listed: TcpListener,
    datagrams: UdpSocket,
}

impl Sockets {
    pub(super) async fn open() -> io::Result<Self> {
        let own = own_address().await.unwrap_or(LOOPBACK.ip());
        Ok(Self {
            unlisted: TcpListener::bind(LOOPBACK).await?,
            listed: TcpListener::bind((own, 0)).await?,
            datagrams: UdpSocket::bind(LOOPBACK).await?,
        })
    }

    /// Returns the addresses of the unlisted service, the listed one and the one of datagrams.
    pub(super) fn addresses(&self) -> io::Result<[SocketAddr; 3]> {
        Ok([
            self.unlisted.local_addr()?,
            self.listed.local_addr()?,
            self.datagrams.local_addr()?,
        ])
    }

    /// Greets everything that connects.
    pub(super) async fn serve(&self) -> Infallible {
        tokio::select! {
            never = greet(&self.unlisted) => never,
            never = greet(&self.listed) => never,
            never = answer(&self.datagrams) => never,
        }
    }
}

/// Returns the address of this machine's network that connections begin from.
async fn own_address() -> io::Result<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
    // A datagram socket is only given its route.
    socket.connect(ELSEWHERE).await?;
    Ok(socket.local_addr()?.ip())
}

async fn greet(listener: &TcpListener) -> Infallible {
    loop {
        // An attempt that went away shows as one that failed.
        if let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(GREETING).await.unwrap_or_default();
        }
    }
}

async fn answer(socket: &UdpSocket) -> Infallible {
    let mut datagram = [0; GREETING.len()];
    loop {
        if let Ok((_, from)) = socket.recv_from(&mut datagram).await {
            // As for a connection.
            socket
                .send_to(GREETING, from)
                .await
                .map(drop)
                .unwrap_or_default();
        }
    }
}
