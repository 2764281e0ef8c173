//! Listening sockets of a child's network that this process accepts connections on.
//!
//! A socket belongs for its whole life to the network namespace in which it was created, and anyone who has the descriptor
//! can accept on it. So a child without a network reaches what this process serves, and nothing else, without a process
//! of ours among its own.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, bind, listen, recvmsg, sendmsg,
    socket_with, socketpair,
};

use super::confinement::unsupported;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// The two ends of the way by which sockets leave a network namespace: for the builder, and for this process.
pub(super) fn passage() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        flags,
        None,
    )?)
}

/// Creates a listening socket in the calling process's network namespace and sends it through the passage. Makes only
/// system calls.
pub(super) fn serve(port: u16, passage: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    listen(&socket, BACKLOG)?;
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let sockets = [socket.as_fd()];
    if !control.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(Errno::NOBUFS);
    }
    // A message without a byte would look like the end.
    sendmsg(
        passage,
        &[IoSlice::new(&[0])],
        &mut control,
        SendFlags::empty(),
    )
    .map(drop)
}

/// Receives a number of sockets that were sent before.
pub(super) fn receive(n: usize, passage: BorrowedFd<'_>) -> io::Result<Vec<TcpListener>> {
    let mut listeners = Vec::with_capacity(n);
    for _ in 0..n {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        recvmsg(
            passage,
            &mut [IoSliceMut::new(&mut [0])],
            &mut control,
            flags,
        )?;
        let found = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
            _ => None,
        });
        let socket = found.ok_or_else(|| unsupported("a socket of its network did not arrive"))?;
        listeners.push(TcpListener::from(socket));
    }
    Ok(listeners)
}
