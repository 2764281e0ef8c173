//! What a host opens for writing, by its system calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use daemon_fakes::Reply;
use serde_json::json;

use crate::conversing::{api, call, world};
use crate::rpc::Rpc;
use crate::world::{World, until};

/// Where the host may write outside of its home: places of the kernel, which are no files.
const OF_THE_KERNEL: [&str; 3] = ["/dev/null", "/proc/", "/sys/fs/cgroup/"];

/// The calls that open files, and those that make threads and processes.
const OPENING: &str = "trace=open,openat,openat2,creat,clone,clone3,fork,vfork";

/// Reports whether this machine lets a process be traced.
#[expect(clippy::print_stdout, reason = "what was skipped, and why")]
pub(crate) fn can_trace() -> bool {
    let traced = std::process::Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output();
    match traced {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            println!(
                "skipped: strace: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            false
        }
        Err(error) => {
            println!("skipped: strace: {error}");
            false
        }
    }
}

/// The threads of one process among all that a trace shows, and the files that it opened.
struct Trace {
    threads: BTreeSet<String>,
    /// The threads whose call that makes a thread or a process has not returned, and whether it makes a thread.
    cloning: BTreeMap<String, bool>,
    opened: Vec<PathBuf>,
}

impl Trace {
    fn read(text: &str, process: u32) -> Self {
        let mut trace = Self {
            threads: [process.to_string()].into(),
            cloning: BTreeMap::new(),
            opened: Vec::new(),
        };
        for line in text.lines() {
            if let Some((thread, call)) = line.split_once(' ') {
                trace.note(thread, call.trim_start());
            }
        }
        trace
    }

    fn note(&mut self, thread: &str, call: &str) {
        if !self.threads.contains(thread) {
            return;
        }
        let is_clone = ["clone", "fork", "vfork"]
            .iter()
            .any(|name| call.starts_with(name));
        let is_resumed = call.starts_with("<... clone");
        if is_clone {
            self.cloning
                .insert(thread.to_owned(), call.contains("CLONE_THREAD"));
        }
        let made = call.rsplit_once(" = ").map(|(_, made)| made.trim());
        if (is_clone || is_resumed)
            && let Some(made) = made
            && self.cloning.remove(thread) == Some(true)
        {
            self.threads.insert(made.to_owned());
        }
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT"]
            .iter()
            .any(|flag| call.contains(flag));
        if call.starts_with("open") && writes && !call.contains(" = -1 ") {
            self.opened.push(path(call));
        }
    }
}

/// Returns the path that a call opens. Each descriptor is followed by its own path, in angle brackets.
fn path(call: &str) -> PathBuf {
    let base = call
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'));
    let named = call.split('"').nth(1).unwrap_or_default();
    Path::new(base.map_or("/", |(base, _)| base)).join(named)
}

#[test]
fn a_trace_is_read_without_the_calls_of_other_processes() {
    let text = "7 openat(AT_FDCWD</h>, \"a\", O_WRONLY|O_CREAT, 0600) = 3</h/a>\n\
        7 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7} <unfinished ...>\n\
        7 <... clone3 resumed> => {parent_tid=[8]}, 88) = 8\n\
        8 openat(4</h/b>, \"c\", O_RDWR <unfinished ...>\n\
        8 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 9\n\
        9 openat(AT_FDCWD</h>, \"/d\", O_WRONLY) = 5</d>\n\
        8 openat(AT_FDCWD</h>, \"/e\", O_RDONLY) = 5</e>\n\
        8 openat(AT_FDCWD</h>, \"/f\", O_WRONLY) = -1 ENOENT (No such file or directory)\n";
    let trace = Trace::read(text, 7);
    assert_eq!(trace.opened, ["/h/a", "/h/b/c"].map(PathBuf::from));
    assert_eq!(trace.threads, ["7", "8"].map(str::to_owned).into());
}

/// Lets the host do something of every kind.
fn load(world: &World, host: &crate::world::Host) {
    host.hook("ping", "d-1", &json!({"hook_id": 1, "zen": "z"}));
    shows!(call(host, "conversation/send", &json!({"content": "Look."})), {"result.text": "Seen."});
    let mut rpc = Rpc::initialized(host.socket());
    for (method, params) in [
        (
            "cron/create",
            json!({"schedule": "0 9 * * *", "skill": "inbox", "agent": "scout", "sender": "user"}),
        ),
        (
            "subscription/create",
            json!({"source": "deploy", "target_agent": "scout"}),
        ),
        (
            "event/publish",
            json!({"source": "build", "payload": {"n": 1}}),
        ),
        (
            "agent/create",
            json!({"name": "clerk", "definition": {"description": "Files."}, "prompt": "Be brief."}),
        ),
        ("host/reload", json!({})),
        ("host/doctor", json!({})),
        (
            "conversation/delete",
            json!({"agent": "scout", "sender": "t"}),
        ),
    ] {
        let answer = rpc.call(method, &params);
        assert!(answer["result"].is_object(), "{method}: {answer}");
    }
    world.run(&["fire", "pusher"]);
    let id = world.dispatch(&["Read it."]).remove(0);
    world.announced(&id);
}

#[test]
fn a_host_opens_nothing_for_writing_outside_of_its_home() {
    if !can_trace() {
        return;
    }
    let api = api([
        Reply::call("remember", json!({"name": "n", "content": "c"})),
        Reply::text("Seen."),
        Reply::text("Fired."),
        Reply::text("Read."),
    ]);
    let world = world(&api, "");
    let file = world.beside("trace");
    let host = world.serve_traced(&file, &["-e", OPENING], &[]);
    let pid = host.pid();
    load(&world, &host);
    let (code, _) = host.stop();
    assert_eq!(code, Some(0));
    let text = || fs::read_to_string(&file).expect("a trace");
    until("the trace is complete", || {
        let text = text();
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.any(|(thread, rest)| {
            thread == pid.to_string() && rest.trim_start() == "+++ exited with 0 +++"
        })
    });
    let trace = Trace::read(&text(), pid);
    let is_own = |path: &PathBuf| path.starts_with(&world.home);
    assert!(trace.threads.len() > 2, "{:?}", trace.threads);
    for inside in ["state.db", "sessions", "memory", "cron", "agents"] {
        let inside = world.home.join(inside);
        assert!(
            trace.opened.iter().any(|path| path.starts_with(&inside)),
            "{inside:?}"
        );
    }
    let is_of_the_kernel = |path: &PathBuf| {
        let path = path.display().to_string();
        OF_THE_KERNEL.iter().any(|known| path.starts_with(known))
    };
    let outside = trace
        .opened
        .iter()
        .filter(|path| !is_own(path) && !is_of_the_kernel(path));
    let outside: BTreeSet<_> = outside.collect();
    assert_eq!(outside, BTreeSet::new());
}
