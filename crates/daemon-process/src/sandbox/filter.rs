//! The filter of the system calls of a confined child.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

/// The process table mounted at `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processes {
    /// The table of this process's namespace.
    Shared,
    /// A table that is mounted after the rules are built.
    Own,
}

/// Calls that access other processes, change the machine, or circumvent the other rules.
const REFUSED: [libc::c_long; 31] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_acct,
];

/// On x86-64, the bit in the number of each call's x32 twin, which programs of that ABI use.
const X32_TWIN: u32 = 0x4000_0000;

/// Calls whose flags are in memory, which a filter cannot read. They seem not to exist, and programs use their older forms.
const UNREADABLE: [libc::c_long; 2] = [libc::SYS_clone3, libc::SYS_openat2];

/// Prepends checks of a call's number to a filter. The twin of any call fails: listing them all would double the filter's length.
fn with_first_checks(filter: BpfProgram, errno: u32) -> BpfProgram {
    let step = |code: u32, jf, k| sock_filter {
        code: u16::try_from(code).expect("instructions have 16 bits"),
        jt: 0,
        jf,
        k,
    };
    // Skips the next instruction if the comparison fails.
    let unless = |comparison, k| step(libc::BPF_JMP | comparison | libc::BPF_K, 1, k);
    let fail = |errno| {
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            libc::SECCOMP_RET_ERRNO | errno,
        )
    };
    let missing = UNREADABLE.into_iter().flat_map(|call| {
        let number = u32::try_from(call).expect("numbers of calls have 32 bits");
        [
            unless(libc::BPF_JEQ, number),
            fail(libc::ENOSYS.cast_unsigned()),
        ]
    });
    // The number of the call is the first word of the filter's input.
    let checks = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        unless(libc::BPF_JSET, X32_TWIN),
        fail(errno),
    ];
    checks.into_iter().chain(missing).chain(filter).collect()
}

/// Matches a call that would change the limit used as the mark of a run's processes: one argument is the number of the limit, and
/// another, if there is one, is not null.
fn mark(limit: u8, new: Option<u8>) -> io::Result<SeccompRule> {
    let dword = SeccompCmpArgLen::Dword;
    let number = u64::from(libc::RLIMIT_LOCKS);
    let is_mark = SeccompCondition::new(limit, dword, SeccompCmpOp::Eq, number);
    let is_new =
        new.map(|new| SeccompCondition::new(new, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0));
    let conditions = std::iter::once(is_mark).chain(is_new);
    let conditions = conditions.collect::<Result<Vec<_>, _>>();
    conditions
        .and_then(SeccompRule::new)
        .map_err(io::Error::other)
}

/// Calls that access memory and queues of any process of the same user, by a number that every process can read or by a name outside
/// the file system. A namespace isolates them, if the child has its own.
const SHARED_OBJECTS: [libc::c_long; 13] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls that change the scheduling or limits of a process, with the index of the argument that has its id; 0 is the caller.
///
/// A filter cannot compare the argument with the caller's id. So if other runs are visible, the caller's own id is denied as well. In a
/// process namespace, every id belongs to the same run.
const BY_NUMBER: [(libc::c_long, u8); 7] = [
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
];

/// `fchmodat2`, which has this number on every architecture.
const FCHMODAT2: libc::c_long = 452;

/// Calls that set the mode of a file, with the index of this argument.
const MODES: [(libc::c_long, u8); 4] = [
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
];
/// Calls that open a file, with the index of their flags; the mode of a new file follows.
const OPENERS: [(libc::c_long, u8); 1] = [(libc::SYS_openat, 2)];

/// The same of calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLD_MODES: [(libc::c_long, u8); 3] = [
    (libc::SYS_chmod, 1),
    (libc::SYS_creat, 1),
    (libc::SYS_mknod, 1),
];
#[cfg(target_arch = "x86_64")]
const OLD_OPENERS: [(libc::c_long, u8); 1] = [(libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OLD_MODES: [(libc::c_long, u8); 0] = [];
#[cfg(not(target_arch = "x86_64"))]
const OLD_OPENERS: [(libc::c_long, u8); 0] = [];

/// Returns the ways to make a program that runs as its owner, which is the host's user, for each user who starts it.
fn set_user_id() -> impl Iterator<Item = (libc::c_long, io::Result<SeccompRule>)> {
    let has = |argument, bits: i32| {
        let mask = u64::from(bits.unsigned_abs());
        (argument, SeccompCmpOp::MaskedEq(mask), bits)
    };
    let mode = move |argument| has(argument, libc::S_ISUID.cast_signed());
    let set = MODES.into_iter().chain(OLD_MODES);
    let set = set.map(move |(call, argument)| (call, calls([mode(argument)])));
    // Without one of these flags the mode is not used, and may be anything.
    let making = [libc::O_CREAT, libc::O_TMPFILE].into_iter();
    let made = making.flat_map(move |flag| {
        let openers = OPENERS.into_iter().chain(OLD_OPENERS);
        openers.map(move |(call, flags)| (call, calls([has(flags, flag), mode(flags + 1)])))
    });
    set.chain(made)
}

/// The bits of a socket's type that are not flags.
const SOCKET_TYPE: u64 = 0xf;
/// The flag with which data opens a TCP connection.
const FAST_OPEN: u64 = libc::MSG_FASTOPEN as u64;
/// The flag with which a process gets a user namespace.
const USER_NAMESPACE: u64 = libc::CLONE_NEWUSER as u64;
/// The value by which `ioprio_set` addresses all processes of a user.
const IOPRIO_WHO_USER: i32 = 3;

/// Matches a call if all of these conditions on its arguments hold.
fn calls<const N: usize>(conditions: [(u8, SeccompCmpOp, i32); N]) -> io::Result<SeccompRule> {
    let conditions = conditions.into_iter().map(|(argument, is, number)| {
        let number = u64::from(number.unsigned_abs());
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, number)
    });
    let conditions = conditions.collect::<Result<_, _>>();
    conditions
        .and_then(SeccompRule::new)
        .map_err(io::Error::other)
}

/// Returns the ways to connect that Landlock does not restrict to ports: other protocols than TCP, some of which fall back to it,
/// and data that opens a connection without `connect`.
fn unlimited_connections() -> Vec<(libc::c_long, io::Result<SeccompRule>)> {
    use SeccompCmpOp::{MaskedEq, Ne};

    let kind = |kind| (1, MaskedEq(SOCKET_TYPE), kind);
    let other_stream = [
        kind(libc::SOCK_STREAM),
        (2, Ne, 0),
        (2, Ne, libc::IPPROTO_TCP),
    ];
    let opening = |flags| calls([(flags, MaskedEq(FAST_OPEN), libc::MSG_FASTOPEN)]);
    vec![
        (libc::SYS_socket, calls(other_stream)),
        (libc::SYS_socket, calls([kind(libc::SOCK_SEQPACKET)])),
        (libc::SYS_socket, calls([kind(libc::SOCK_DCCP)])),
        (libc::SYS_sendto, opening(3)),
        (libc::SYS_sendmsg, opening(2)),
        (libc::SYS_sendmmsg, opening(3)),
    ]
}

/// Builds the filter of a child that can connect to these ports; `None` permits all. Fails on an unsupported architecture.
pub(super) fn filter(processes: Processes, ports: Option<&[u16]>) -> io::Result<BpfProgram> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};

    let errno = u32::try_from(libc::EPERM).expect("error numbers are positive");
    // Landlock does not restrict connections to a socket by its path, such as the host's own socket, nor datagrams, which one socket
    // of a pair can send to any address. A raw socket of this family is a datagram socket too.
    let pair = |kind| calls([(0, Eq, libc::AF_UNIX), (1, MaskedEq(SOCKET_TYPE), kind)]);
    // Neither a network namespace nor Landlock restricts every other family: one connects to the host of a virtual machine.
    let netlink = (0, Ne, libc::AF_NETLINK);
    let other_families = match ports {
        // Landlock restricts neither datagrams nor connections from outside.
        Some([]) => calls([netlink]),
        Some(_) | None => calls([(0, Ne, libc::AF_INET), (0, Ne, libc::AF_INET6), netlink]),
    };
    // With a user namespace a run would have all privileges over the namespaces that it makes in it, and reach more of the kernel.
    let user_namespace = || calls([(0, MaskedEq(USER_NAMESPACE), libc::CLONE_NEWUSER)]);
    let user = libc::PRIO_USER.cast_signed();
    let mut refused = vec![
        (libc::SYS_socket, other_families),
        (libc::SYS_clone, user_namespace()),
        (libc::SYS_unshare, user_namespace()),
        (libc::SYS_socketpair, pair(libc::SOCK_DGRAM)),
        (libc::SYS_socketpair, pair(libc::SOCK_RAW)),
        (libc::SYS_setpriority, calls([(0, Eq, user)])),
        (libc::SYS_ioprio_set, calls([(0, Eq, IOPRIO_WHO_USER)])),
        (libc::SYS_prlimit64, mark(1, Some(2))),
        (libc::SYS_setrlimit, mark(0, None)),
    ];
    refused.extend(set_user_id());
    let mut always = REFUSED.to_vec();
    if processes == Processes::Shared {
        always.extend(SHARED_OBJECTS);
        let other = |(call, argument)| (call, calls([(argument, Ne, 0)]));
        refused.extend(BY_NUMBER.map(other));
        refused.extend(unlimited_connections());
    }
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for (call, rule) in refused {
        rules.entry(call).or_default().push(rule?);
    }
    // A call without conditions is denied for all arguments.
    rules.extend(always.into_iter().map(|call| (call, Vec::new())));
    let architecture = std::env::consts::ARCH
        .try_into()
        .map_err(io::Error::other)?;
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno),
        architecture,
    )
    .and_then(TryInto::try_into)
    .map(|filter| with_first_checks(filter, errno))
    .map_err(io::Error::other)
}
