//! Fakes of all four surfaces with faults, the world that writes to them, and what is on them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use daemon_fakes::{
    Applied, FakeClock, FakeServer, FaultPlan, GithubAccess, GithubApi, GithubWorkflowRun,
    LinearApi, ServiceFault, SlackApi, SlackChannel, SlackUser,
};
use serde_json::json;

use crate::world::{World, cleared, executable, watch};

const REPO: &str = "o/r";
const BOT: &str = "helper-bot";
/// How many seconds pass on the clocks of host and fakes in one; only a host with fail points has such a clock.
pub(crate) const RATE: u32 = if cfg!(feature = "internal-testing") {
    10
} else {
    1
};
/// Writes more than once an hour allows by default, and to objects that no event names.
const CONFIG: &str = "[limits]\ndaemon = 4\nrate_subject = 100000\nrate_daemon = 100000\nrate_host = 100000\n\n\
     [policy.daemon.worker]\ncapability = \"write\"\ntargets = [\"linear:ENG-*\", \"slack:C1\", \"github:o/r\"]\n\n";
/// Proposes one of four sets of outputs, by the number of the pull request that woke it.
const WORKS: &str = r#"cat > /dev/null
n=$(sed 's/.*"number":\([0-9]*\).*/\1/' "$DAEMON_CONTEXT/event.json")
say() { printf '{"v":1,"verb":%s}\n' "$1" >> "$DAEMON_OUTPUTS"; }
case $((n % 4)) in
0) echo "$n" > NOTE.md; say '"comment","slot":"summary","body":"Noted."' ;;
1) say '"message","target":"slack:C1","body":"Seen."'; say '"comment","target":"linear:ENG-'"$n"'","body":"Seen."' ;;
2) say '"open_issue","title":"Stale","body":"A page."'; say '"edit_issue","target":"linear:ENG-'"$n"'","append":"More."' ;;
3) echo "$n" > NOTE.md; say '"open_pull_request","title":"Repair","body":"One."'; say '"retry_check","target":"github:o/r","run":'"$n" ;;
esac
echo '{"daemon":"result","ok":true,"text":"done"}'
"#;
/// Loses connections of pushes, before and after the branch is there; each branch meets it at most once.
const HOOK: &str = r#"#!/bin/sh
read -r old new ref
seen="$GIT_DIR/seen-$(basename "$0")-$(basename "$ref")"
test -e "$seen" && exit 0
touch "$seen"
case $(basename "$0")-$new in
pre-receive-[01]*|post-receive-[12]*) kill -9 $PPID ;;
post-receive-3*) sleep SLOW ;;
esac
exit 0
"#;

/// A fault for each of 100 requests, as parts: the rest is served as usual.
fn faults() -> Vec<ServiceFault> {
    let late = Duration::from_secs(60) / RATE;
    // Without fail points the clocks are real, and the small scenario stays short.
    let late = if RATE == 1 { late / 30 } else { late };
    let rows = [
        (4, ServiceFault::LostReply),
        (3, ServiceFault::Closed),
        (2, ServiceFault::Cut),
        (1, ServiceFault::Truncated),
        (3, ServiceFault::Status(502, Applied::Yes)),
        (2, ServiceFault::Status(502, Applied::No)),
        (1, ServiceFault::Html(502, Applied::Yes)),
        (1, ServiceFault::Html(200, Applied::Yes)),
        (1, ServiceFault::Status(409, Applied::Yes)),
        (1, ServiceFault::Status(409, Applied::No)),
        (1, ServiceFault::RateLimited(2, Applied::No)),
        (1, ServiceFault::LateReply(late)),
        (1, ServiceFault::LateEffect(late)),
        (1, ServiceFault::Status(403, Applied::No)),
        (1, ServiceFault::Status(404, Applied::No)),
        (1, ServiceFault::Status(422, Applied::No)),
    ];
    let repeated = rows
        .into_iter()
        .flat_map(|(n, fault)| vec![fault; n].into_iter());
    repeated.collect()
}

fn since_epoch() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("the clock is right")
}

/// A request that writes, and after which the host is killed.
#[derive(Clone)]
struct Ambush {
    is_set: Arc<AtomicBool>,
    strike: Sender<()>,
}

/// The services and the world that writes to them.
pub(crate) struct Surfaces {
    pub(crate) world: World,
    pub(crate) github: GithubApi,
    linear: LinearApi,
    slack: SlackApi,
    remote: PathBuf,
    ambush: Ambush,
    struck: Receiver<()>,
    /// What a host gets so that its clock goes as fast as those of the services.
    pub(crate) clock: String,
    n_faults: Arc<AtomicUsize>,
}

impl Surfaces {
    /// Starts the services with objects for activations 1 to `n`.
    pub(crate) fn start(n: u32) -> Self {
        let begun = since_epoch();
        let clock = FakeClock::new(move || {
            let begun = Duration::from_secs(begun.as_secs());
            begun + (since_epoch() - begun) * RATE
        });
        let world = World::new(&[("worker", &watch(&["when a pull request is opened"]))]);
        let (strike, struck) = channel();
        let remote = world.beside("remote.git");
        let surfaces = Self {
            github: github(&clock, n, &remote),
            linear: linear(&clock, n),
            slack: slack(&clock),
            ambush: Ambush {
                is_set: Arc::default(),
                strike,
            },
            struck,
            clock: format!("{RATE}:{}", begun.as_secs()),
            n_faults: Arc::default(),
            remote,
            world,
        };
        surfaces.prepare();
        surfaces
    }

    fn prepare(&self) {
        let world = &self.world;
        let remote = self.remote.to_str().expect("UTF-8");
        world.git(&["clone", "--quiet", "--bare", ".", remote]);
        let slow = (60 / RATE).min(6).to_string();
        for hook in ["pre-receive", "post-receive"] {
            let path = self.remote.join("hooks").join(hook);
            executable(&path, &HOOK.replace("SLOW", &slow));
        }
        for (file, token) in [
            ("github", "ghp_x"),
            ("linear", "lin_api_x"),
            ("slack", "xoxb-1"),
        ] {
            fs::write(world.home.join(file), format!("{token}\n")).expect("the token");
        }
        world.script(WORKS);
        let base = |server: &FakeServer, below: &str| format!("{}{below}", server.base_url());
        world.configure(&format!(
            "{CONFIG}[surfaces.git]\nremote = {remote:?}\n\n\
             [surfaces.github]\ntoken_file = \"github\"\napi_base = {:?}\n\n\
             [surfaces.linear]\ntoken_file = \"linear\"\napi_base = {:?}\n\n\
             [surfaces.slack]\ntoken_file = \"slack\"\napi_base = {:?}\n",
            base(self.github.server(), ""),
            base(self.linear.server(), ""),
            base(self.slack.server(), "/api"),
        ));
        for (number, server) in self.servers().into_iter().enumerate() {
            server.set_faults(self.plan(number));
        }
    }

    fn servers(&self) -> [&FakeServer; 3] {
        [
            self.github.server(),
            self.linear.server(),
            self.slack.server(),
        ]
    }

    /// Makes the plan of a service: faults in a fixed order that looks random, and the ambush.
    fn plan(&self, service: usize) -> FaultPlan {
        let (ambush, faults) = (self.ambush.clone(), faults());
        let n_faults = Arc::clone(&self.n_faults);
        let late = Duration::from_secs(30);
        FaultPlan::of_requests(move |number, request| {
            let is_write =
                request.method != "GET" && !request.body.starts_with(b"{\"query\":\"query");
            if is_write && ambush.is_set.swap(false, Ordering::SeqCst) {
                ambush.strike.send(()).expect("the rig listens");
                return ServiceFault::LateReply(late);
            }
            let place = (number * 3 + service).wrapping_mul(7_919) % 100;
            let fault = faults.get(place).cloned().unwrap_or_default();
            n_faults.fetch_add(usize::from(fault != ServiceFault::None), Ordering::Relaxed);
            fault
        })
    }

    /// Waits until a service has a request that writes, which it answers late, for as long as the host lives.
    pub(crate) fn ambushed(&self, patience: Duration) -> bool {
        while self.struck.try_recv().is_ok() {}
        self.ambush.is_set.store(true, Ordering::SeqCst);
        let is_struck = self.struck.recv_timeout(patience).is_ok();
        self.ambush.is_set.store(false, Ordering::SeqCst);
        is_struck
    }

    /// Ends all faults, and returns how many there were.
    pub(crate) fn calm(&self) -> usize {
        for server in self.servers() {
            server.set_faults(FaultPlan::default());
        }
        for hook in ["pre-receive", "post-receive"] {
            let hook = self.remote.join("hooks").join(hook);
            fs::remove_file(hook).expect("it was there");
        }
        self.n_faults.load(Ordering::Relaxed)
    }

    /// Returns everything that our accounts wrote: the remote id as rows name it, and the text that bears the key.
    pub(crate) fn effects(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let ours = |author: &str| author == BOT;
        for row in self.github.comments(REPO) {
            if ours(&row.author) {
                all.push((format!("comment:{}", row.id), row.body));
            }
        }
        for row in self.github.issues(REPO) {
            let kind = if row.pull.is_some() {
                "pull_request"
            } else {
                "issue"
            };
            if ours(&row.author) {
                all.push((
                    format!("{kind}:{}", row.number),
                    row.body.unwrap_or_default(),
                ));
            }
        }
        for row in self.linear.comments() {
            all.push((format!("comment:{}", row.id), row.body));
        }
        for row in self.linear.issues() {
            // One appended text for each marker, also if it were there twice.
            for part in row.description.split("More.").skip(1) {
                all.push((format!("issue:ENG-{}", row.number), part.to_owned()));
            }
        }
        for row in self.slack.messages() {
            let id = format!("message:{}/{}", row.channel, row.ts);
            all.push((id, row.metadata.to_string()));
        }
        all.extend(self.branches());
        all
    }

    /// Returns the branches of daemons at the remote: the name and the message of each.
    fn branches(&self) -> Vec<(String, String)> {
        let format = "--format=%(refname)%00%(contents)%01";
        let refs = git(&self.remote, &["for-each-ref", format, "refs/heads/daemon"]);
        let rows = refs
            .split('\u{1}')
            .filter_map(|row| row.trim_start().split_once('\0'));
        rows.map(|(name, message)| (name.to_owned(), message.to_owned()))
            .collect()
    }

    /// Returns how often each run of a workflow was started again.
    pub(crate) fn retries(&self) -> BTreeMap<u64, u32> {
        let runs = self.github.workflow_runs(REPO).into_iter();
        runs.map(|run| (run.id, run.attempt - 1)).collect()
    }
}

fn git(repo: &Path, args: &[&str]) -> String {
    let mut command: Command = cleared("git");
    let output = command.current_dir(repo).args(args).output();
    let output = output.expect("git runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn github(clock: &FakeClock, n: u32, remote: &Path) -> GithubApi {
    let api = GithubApi::start(0, clock.clone()).expect("a port");
    api.add_repo(REPO);
    api.set_hourly_limit(u64::MAX / 2);
    api.add_token("ghp_x", BOT, GithubAccess::Write);
    api.add_collaborator(REPO, BOT);
    let tips = Mutex::new(BTreeMap::new());
    let remote = remote.to_owned();
    api.read_branches(REPO, move |branch| {
        let mut tips = tips.lock().expect("no holder panics");
        // A branch of a daemon never moves, and `main` does not either here.
        if let Some(known) = tips.get(branch) {
            return Some(String::clone(known));
        }
        let path = remote.join("refs/heads").join(branch);
        let packed = || {
            let refs = fs::read_to_string(remote.join("packed-refs")).ok()?;
            let ends = format!(" refs/heads/{branch}");
            let line = refs.lines().find(|line| line.ends_with(&ends))?;
            line.split(' ').next().map(str::to_owned)
        };
        let tip = fs::read_to_string(path).ok().or_else(packed)?;
        tips.insert(branch.to_owned(), tip.trim().to_owned());
        Some(tip.trim().to_owned())
    });
    for number in 1..=n {
        let issue = json!({"title": format!("Change {number}"), "body": "One."});
        let (status, made) = api.act("ann", "POST", "/repos/o/r/issues", &issue);
        assert_eq!(status, 201, "{made}");
        api.add_workflow_run(
            REPO,
            GithubWorkflowRun {
                id: number.into(),
                name: "ci".to_owned(),
                head_branch: "main".to_owned(),
                head_sha: "a".repeat(40),
                conclusion: Some("failure".to_owned()),
                attempt: 1,
                jobs: vec![u64::from(number) + 1_000_000],
                begun_at: None,
            },
        );
    }
    api
}

fn linear(clock: &FakeClock, n: u32) -> LinearApi {
    let api = LinearApi::start(0, "ENG", clock.clone()).expect("a port");
    let bot = api.add_user("Helper", "bot@example.com");
    api.add_token("lin_api_x", &bot);
    for number in 1..=n {
        api.add_issue(&bot, &format!("Issue {number}"), "One.");
    }
    api
}

fn slack(clock: &FakeClock) -> SlackApi {
    let api = SlackApi::start(0, clock.clone()).expect("a port");
    api.add_user(SlackUser {
        id: "U1".to_owned(),
        name: "helper".to_owned(),
        bot: Some("B1".to_owned()),
    });
    api.add_token("xoxb-1", "U1");
    api.set_channel(SlackChannel {
        id: "C1".to_owned(),
        name: "digests".to_owned(),
        is_member: true,
        is_archived: false,
    });
    api
}
