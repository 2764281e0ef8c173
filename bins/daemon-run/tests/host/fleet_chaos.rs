//! Hosts on one database that are killed and paused, and whose database is killed, while events and ticks come: what was acknowledged
//! runs once. Half a minute here, as long as wanted with `cargo xtask chaos`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon_fakes::GithubApi;
use rustix::process::Signal;

use crate::chaos_check::{Findings, TAKEOVER, Watcher};
use crate::chaos_load::{EndOfLoad, Load, RETRY};
use crate::commands::skipped;
use crate::dice::Dice;
use crate::fleet::{database, execute, forget_check_in, join};
use crate::postgres::{Server, runtime, server, with_client};
use crate::serve_crash::setting;
use crate::serve_github::{REPO, TOKEN, github};
use crate::world::{Host, World, watch};

/// More than all activations of a scenario.
const LIMITS: &str = "[limits]\nhost = 6\ndaemon = 12\nrate_subject = 100000\nrate_daemon = 100000\nrate_host = 100000\n";
/// How many senders there are.
const SENDERS: u32 = 2;

/// A fault of the database that takes a guard away, to see that the checks find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// The number of a lease does not rise: writes under a lost lease pass.
    FenceOff,
    /// The keys of deliveries are not unique.
    UniqueIndexOff,
    /// The leases of the first host are as long as its clock says, which is behind.
    LeaseOfOwnClock,
}

impl Planted {
    /// The statements that plant it.
    fn sql(self, first_home: &str) -> String {
        let (table, when, body) = match self {
            Self::Nothing => return String::new(),
            Self::FenceOff => (
                "activation",
                "UPDATE",
                "NEW.run_lease = least(NEW.run_lease, 1);".to_owned(),
            ),
            Self::UniqueIndexOff => (
                "identity",
                "INSERT",
                "NEW.key = NEW.key || random();".to_owned(),
            ),
            Self::LeaseOfOwnClock => (
                "activation",
                "UPDATE",
                format!(
                    "IF right(NEW.host, {}) = '{first_home}' THEN NEW.lease_until = NEW.lease_until - 300000000; END IF;",
                    first_home.len()
                ),
            ),
        };
        format!(
            "CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NEW; END $$; \
             CREATE TRIGGER planted BEFORE {when} ON {table} FOR EACH ROW EXECUTE FUNCTION planted()"
        )
    }
}

/// A disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strike {
    /// Kill a host.
    Kill,
    /// Stop a host that has a run under way, and continue it later.
    Pause,
    /// Kill the database.
    Restart,
}

/// What happens, and for how long.
#[derive(Clone, Copy, Debug)]
struct Scenario {
    planted: Planted,
    seed: u32,
    n_hosts: usize,
    lasts: Duration,
    /// The first strikes; those of the seed follow.
    first: &'static [Strike],
    pace: Pace,
}

/// How fast time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// Leases last as long as they do, and hosts are paused for longer.
    Real,
    /// The leases and check-ins of a paused host end at once.
    Short,
}

impl Pace {
    fn pause(self) -> Duration {
        match self {
            Self::Real => Duration::from_secs(90),
            Self::Short => Duration::from_secs(25),
        }
    }

    /// Returns the provider: most runs are short, and every few events one lasts so long that a pause finds it under way. It ends by
    /// itself, host or not.
    fn script(self) -> String {
        let (every, lasts) = match self {
            Self::Real => (8, 40),
            Self::Short => (4, 12),
        };
        format!(
            "n=$(sed 's/.*\"number\":\\([0-9]*\\).*/\\1/' \"$DAEMON_CONTEXT/event.json\" 2> /dev/null)\ncat > /dev/null\n\
             if [ -n \"$n\" ]; then\n[ $((n % {every})) = 0 ] && sleep {lasts} || sleep 0.2\n\
             echo '{{\"v\":1,\"verb\":\"comment\",\"body\":\"Read.\"}}' >> \"$DAEMON_OUTPUTS\"\nfi\n\
             echo '{{\"daemon\":\"result\",\"ok\":true,\"text\":\"done\"}}'\n"
        )
    }
}

/// A host and what was done to it.
enum Seat {
    Serving(Host),
    /// Paused at an instant.
    Paused(Host, Instant),
    /// Killed; to be started at an instant.
    Dead(Instant),
    /// While it changes.
    Empty,
}

/// What was done.
#[derive(Debug, Default)]
struct Done {
    kills: u32,
    pauses: u32,
    restarts: u32,
}

/// Hosts on one database.
struct Fleet {
    server: Server,
    store: String,
    api: Arc<GithubApi>,
    worlds: Vec<World>,
    seats: Vec<Seat>,
    watcher: Watcher,
    dice: Dice,
    done: Done,
    pace: Pace,
}

impl Fleet {
    fn start(server: Server, scenario: &Scenario) -> Self {
        let store = database(&server);
        let mut worlds = vec![World::new(&[
            ("opened", &watch(&["when an issue is opened"])),
            ("minutely", "schedule: \"* * * * *\""),
        ])];
        let api = Arc::new(github(&worlds[0]));
        while worlds.len() < scenario.n_hosts {
            worlds.push(worlds[0].other_home());
        }
        let base = api.server().base_url();
        let more = format!(
            "{LIMITS}\n[surfaces.github]\ntoken_file = \"surface-token\"\napi_base = {base:?}\n"
        );
        for world in &worlds {
            world.script(&scenario.pace.script());
            std::fs::write(world.home.join("surface-token"), TOKEN).expect("the token");
            join(world, &store, &more);
        }
        let seats = worlds.iter().map(|world| Seat::Serving(world.serve()));
        let seats = seats.collect();
        let homes: Vec<String> = worlds
            .iter()
            .map(|world| world.home.display().to_string())
            .collect();
        execute(&store, &scenario.planted.sql(&homes[0]));
        Self {
            watcher: Watcher::start(store.clone(), homes),
            server,
            store,
            api,
            seats,
            worlds,
            dice: Dice::of_seed(scenario.seed),
            done: Done::default(),
            pace: scenario.pace,
        }
    }

    fn serving(&self) -> BTreeMap<usize, String> {
        let of = |(n, seat): (usize, &Seat)| match seat {
            Seat::Serving(host) => Some((n, host.address().to_owned())),
            _ => None,
        };
        self.seats.iter().enumerate().filter_map(of).collect()
    }

    /// Disturbs hosts and database until the time is over, then lets all of them serve.
    fn disturb(&mut self, load: &Load, scenario: &Scenario) {
        let begun = Instant::now();
        let mut next = begun + Duration::from_secs(5);
        let mut first = scenario.first.iter();
        while begun.elapsed() < scenario.lasts {
            let now = Instant::now();
            self.restore(now);
            if now >= next {
                let strike = first.next().copied().unwrap_or_else(|| self.drawn());
                self.strike(strike);
                next = now + Duration::from_secs(6 + self.dice.below(10));
            }
            load.set_addresses(self.serving());
            std::thread::sleep(Duration::from_millis(200));
        }
        // Everything is restored, whenever it was to be.
        self.restore(Instant::now() + 2 * self.pace.pause());
    }

    fn drawn(&mut self) -> Strike {
        match self.dice.below(5) {
            0 => Strike::Restart,
            1 | 2 => Strike::Kill,
            _ => Strike::Pause,
        }
    }

    /// Ends pauses and starts what was killed, where it is time.
    fn restore(&mut self, now: Instant) {
        for n in 0..self.seats.len() {
            self.seats[n] = match std::mem::replace(&mut self.seats[n], Seat::Empty) {
                Seat::Paused(host, since) if now >= since + self.pace.pause() => {
                    host.signal(Signal::CONT);
                    self.watcher.restored(n);
                    Seat::Serving(host)
                }
                Seat::Dead(until) if now >= until => {
                    let host = self.worlds[n].serve();
                    self.watcher.restored(n);
                    Seat::Serving(host)
                }
                other => other,
            };
        }
    }

    /// Kills or pauses a host, or kills the database; that also where only one host serves.
    fn strike(&mut self, strike: Strike) {
        let serving: Vec<usize> = self.serving().into_keys().collect();
        if strike == Strike::Restart || serving.len() < 2 {
            self.watcher.database_down();
            self.server.crash();
            std::thread::sleep(Duration::from_millis(self.dice.below(3_000)));
            self.server.start();
            self.watcher.database_up();
            self.done.restarts += 1;
            return;
        }
        let n = match strike {
            Strike::Pause => self.at_work(&serving),
            _ => *self.dice.one_of(&serving),
        };
        let Seat::Serving(host) = std::mem::replace(&mut self.seats[n], Seat::Empty) else {
            return;
        };
        self.watcher.disturbed(n);
        self.seats[n] = if strike == Strike::Kill {
            host.kill();
            self.done.kills += 1;
            Seat::Dead(Instant::now() + Duration::from_secs(1 + self.dice.below(30)))
        } else {
            host.signal(Signal::STOP);
            self.done.pauses += 1;
            if self.pace == Pace::Short {
                self.end_leases(n);
            }
            Seat::Paused(host, Instant::now())
        };
    }

    /// Returns a host that has had a run under way for a second, if one does within some seconds.
    fn at_work(&mut self, serving: &[usize]) -> usize {
        for _ in 0..20 {
            let sql = "SELECT host FROM activation WHERE state = 'running' \
                 AND started_at < extract(epoch FROM clock_timestamp()) * 1000000 - 1000000";
            let hosts: Vec<String> = runtime().block_on(with_client(&self.store, async |client| {
                let rows = client.query(sql, &[]).await.expect("a query");
                rows.iter().map(|row| row.get(0)).collect()
            }));
            let has_run = |n: &&usize| {
                let home = self.worlds[**n].home.display().to_string();
                hosts.iter().any(|host| host.ends_with(&home))
            };
            if let Some(n) = serving.iter().find(has_run) {
                return *n;
            }
            std::thread::sleep(RETRY);
        }
        *self.dice.one_of(serving)
    }

    /// Lets the leases and the check-in of a host be as old as if a minute had passed.
    fn end_leases(&self, n: usize) {
        let home = self.worlds[n].home.display();
        let sql = format!(
            "UPDATE activation SET lease_until = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint \
             WHERE host LIKE '%{home}' AND state IN ('claimed', 'running')"
        );
        execute(&self.store, &sql);
        forget_check_in(&self.worlds[n], &self.store);
    }
}

/// Runs a scenario, and returns what the checks found.
#[expect(clippy::print_stdout, reason = "the report of `cargo xtask chaos`")]
fn run(server: Server, scenario: &Scenario) -> Findings {
    let mut fleet = Fleet::start(server, scenario);
    let load = Load::new();
    let api = Arc::clone(&fleet.api);
    std::thread::scope(|scope| {
        let end = EndOfLoad(&load);
        for n in 0..SENDERS {
            let (load, api) = (&load, &api);
            scope.spawn(move || load.send(api, scenario.seed.wrapping_add(n + 1)));
        }
        fleet.disturb(&load, scenario);
        drop(end);
    });
    let (acknowledged, n_repeated) = load.into_acknowledged();
    let patience = match scenario.planted {
        Planted::Nothing => 300,
        _ => 45,
    };
    let patience = Duration::from_secs(patience);
    let mut findings = fleet.watcher.settled(&acknowledged, patience);
    findings.compare_comments(&acknowledged, &fleet.api.comments(REPO));
    println!(
        "{scenario:?}\n{:?}, {} issues acknowledged, {n_repeated} of them twice\n{findings:#?}",
        fleet.done,
        acknowledged.len(),
    );
    for seat in &mut fleet.seats {
        if let Seat::Serving(host) = std::mem::replace(seat, Seat::Empty) {
            assert_eq!(host.stop().0, Some(0));
        }
    }
    findings
}

/// Runs a scenario in which a guard is taken away.
fn run_without(planted: Planted, lasts: u64, first: &'static [Strike]) -> Option<Findings> {
    let scenario = Scenario {
        planted,
        seed: 7,
        n_hosts: 3,
        lasts: Duration::from_secs(lasts),
        first,
        pace: Pace::Short,
    };
    seconds()?;
    Some(run(server()?, &scenario))
}

/// How long the scenario lasts; `None` unless `cargo xtask chaos` runs it.
fn seconds() -> Option<u32> {
    match setting("DAEMON_TEST_CHAOS_SECONDS", 0) {
        0 => {
            skipped("`cargo xtask chaos` runs it, since it needs the whole machine");
            None
        }
        seconds => Some(seconds),
    }
}

#[test]
fn hosts_and_database_that_are_killed_and_paused_lose_and_repeat_nothing() {
    let (Some(server), Some(seconds)) = (server(), seconds()) else {
        return;
    };
    let scenario = Scenario {
        planted: Planted::Nothing,
        seed: setting("DAEMON_TEST_CHAOS_SEED", 7),
        n_hosts: usize::try_from(setting("DAEMON_TEST_CHAOS_HOSTS", 3)).expect("few"),
        lasts: Duration::from_secs(seconds.into()),
        first: &[Strike::Pause, Strike::Restart, Strike::Kill],
        pace: match seconds {
            120.. => Pace::Real,
            _ => Pace::Short,
        },
    };
    let findings = run(server, &scenario);
    assert!(findings.is_clean(), "{findings:#?}");
    assert!(findings.n_refused > 0, "nothing was taken over");
}

#[test]
fn chaos_without_the_fence_is_noticed() {
    if let Some(findings) = run_without(Planted::FenceOff, 30, &[Strike::Pause, Strike::Restart]) {
        assert!(!findings.stale_accepted.is_empty(), "{findings:#?}");
    }
}

#[test]
fn chaos_without_the_unique_key_of_deliveries_is_noticed() {
    if let Some(findings) = run_without(Planted::UniqueIndexOff, 12, &[Strike::Kill]) {
        assert!(!findings.double_events.is_empty(), "{findings:#?}");
    }
}

#[test]
fn chaos_with_the_leases_of_a_wrong_clock_is_noticed() {
    // No host is disturbed.
    let strikes = &[Strike::Restart; 5];
    if let Some(findings) = run_without(Planted::LeaseOfOwnClock, 30, strikes) {
        // Its leases ended minutes ago when they are stored. The first host may take them back itself, before another does.
        assert!(findings.slowest_takeover > TAKEOVER, "{findings:#?}");
    }
}
