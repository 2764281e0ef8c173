use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use daemon_event::{DeliveryId, Event, EventFacts, EventId, Source};
use daemon_store::{Events as _, Identity, Matching, NewEvent, Query};
use tempfile::TempDir;

use super::*;

fn now() -> jiff::Timestamp {
    jiff::Timestamp::UNIX_EPOCH
}

fn event(n: u64) -> NewEvent {
    let key = format!("d-{n}");
    NewEvent {
        event: Event {
            id: EventId::new(n, [0; 10]),
            source: Source::Github,
            kind: "push".to_owned(),
            action: None,
            subject: None,
            actor: None,
            repo: None,
            time: now(),
            received_at: now(),
            delivery: key.parse::<DeliveryId>().unwrap(),
            facts: EventFacts::default(),
            payload: vec![b'x'; 4_000].into(),
        },
        identities: vec![Identity { key, within: None }],
        happenings: Vec::new(),
        counterparts: Vec::new(),
        matching: Matching::Done,
    }
}

/// Makes a home with a store and files, and returns it with a directory for backups.
fn home() -> (TempDir, Home, SqliteStore) {
    let dir = TempDir::new().unwrap();
    let home = Home::open(&dir.path().join("home")).unwrap();
    let store = SqliteStore::open(home.store()).unwrap();
    let root = home.root();
    fs::write(home.config(), "[policy]\n").unwrap();
    fs::create_dir_all(root.join("daemons/em-1")).unwrap();
    fs::write(root.join("daemons/em-1/daemon.json"), "{}").unwrap();
    fs::write(root.join("run/host.lock"), "1").unwrap();
    fs::write(root.join("logs/host.log"), "started").unwrap();
    fs::write(root.join("reserve"), [0; 4_096]).unwrap();
    symlink("/etc/passwd", root.join("skills/passwd")).unwrap();
    (dir, home, store)
}

fn message<T: fmt::Debug>(result: Result<T, OpError>) -> String {
    result.unwrap_err().to_string()
}

async fn n_events(store: &SqliteStore) -> usize {
    let mut query = Query {
        limit: 500,
        ..Query::default()
    };
    let mut n = 0;
    loop {
        let page = store.events(&query).await.unwrap();
        n += page.rows.len();
        match page.next {
            Some(next) => query.after = Some(next),
            None => return n,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_home_that_is_written_meanwhile_is_copied_whole_and_restored() {
    let (dir, home, store) = home();
    let is_over = AtomicBool::new(false);
    let (to, restored) = (dir.path().join("backup"), dir.path().join("restored"));
    let mut before = 0;
    for n in 0..200 {
        store.accept(vec![event(n)]).await.unwrap();
        before += 1;
    }
    let writing = async {
        let mut n = 1_000;
        while !is_over.load(Ordering::SeqCst) {
            store.accept(vec![event(n)]).await.unwrap();
            n += 1;
        }
    };
    let copying = async {
        let root = home.root().to_owned();
        let to = to.clone();
        let copy = move || back_up(&Home::named(&root), &to);
        let made = tokio::task::spawn_blocking(copy).await.unwrap().unwrap();
        is_over.store(true, Ordering::SeqCst);
        made
    };
    let ((), made) = tokio::join!(writing, copying);
    assert!(made.has_store);
    let again = restore(&Home::named(&restored), &to).unwrap();
    assert_eq!((again.n_files, again.n_bytes), (made.n_files, made.n_bytes));
    let copy = SqliteStore::open(restored.join("state.db")).unwrap();
    assert!(n_events(&copy).await >= before);
    assert_eq!(
        fs::read_to_string(restored.join("daemons/em-1/daemon.json")).unwrap(),
        "{}"
    );
    assert_eq!(
        fs::read_to_string(restored.join("config.toml")).unwrap(),
        "[policy]\n"
    );
    for left_out in ["run", "logs", "reserve", "skills/passwd", "state.db-mark"] {
        assert!(!to.join(left_out).exists(), "{left_out}");
    }
    for path in [&to, &restored] {
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(path), mode(&path.join("state.db"))), (0o700, 0o600));
    }
}

#[test]
fn a_backup_with_another_content_is_refused_and_nothing_is_there() {
    let (dir, home, _store) = home();
    let (to, restored) = (dir.path().join("backup"), dir.path().join("restored"));
    back_up(&home, &to).unwrap();
    fs::write(to.join("daemons/em-1/daemon.json"), "[]").unwrap();
    let refused = message(restore(&Home::named(&restored), &to));
    assert!(
        refused.ends_with("its content is not that of the backup"),
        "{refused}"
    );
    fs::remove_file(to.join("daemons/em-1/daemon.json")).unwrap();
    let refused = message(restore(&Home::named(&restored), &to));
    assert!(refused.ends_with("it is missing"), "{refused}");
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_list_that_names_a_file_outside_of_the_home_is_refused() {
    let (dir, home, _store) = home();
    let (to, restored) = (dir.path().join("backup"), dir.path().join("restored"));
    back_up(&home, &to).unwrap();
    let list = fs::read_to_string(to.join(LIST)).unwrap();
    for outside in ["../config.toml", "/etc/hostname", "daemons/../../x", ""] {
        fs::write(to.join(LIST), list.replace("config.toml", outside)).unwrap();
        let refused = message(restore(&Home::named(&restored), &to));
        assert!(
            refused.ends_with("is no file of a home"),
            "{outside}: {refused}"
        );
        assert!(!restored.exists());
    }
}

#[test]
fn nothing_that_exists_is_replaced() {
    let (dir, home, _store) = home();
    let (to, restored) = (dir.path().join("backup"), dir.path().join("restored"));
    back_up(&home, &to).unwrap();
    assert!(message(back_up(&home, &to)).ends_with("exists"));
    fs::create_dir(&restored).unwrap();
    restore(&Home::named(&restored), &to).unwrap();
    assert!(message(restore(&Home::named(&restored), &to)).ends_with("exists"));
    assert!(
        message(restore(&Home::named(&dir.path().join("other")), &restored))
            .contains("is no backup")
    );
}

#[test]
fn a_backup_in_its_home_and_a_home_in_its_backup_are_refused_also_behind_links() {
    let (dir, home, _store) = home();
    let (to, link) = (dir.path().join("backup"), dir.path().join("link"));
    back_up(&home, &to).unwrap();
    for (target, below, problem) in [
        (
            home.root(),
            "b",
            "a backup cannot be in the home that it copies",
        ),
        (
            home.root(),
            "daemons/b",
            "a backup cannot be in the home that it copies",
        ),
        (
            &to,
            "h",
            "a home cannot be in the backup that it is made from",
        ),
    ] {
        symlink(target, &link).unwrap();
        for place in [target.join(below), link.join(below)] {
            let refused = match problem.starts_with("a backup") {
                true => message(back_up(&home, &place)),
                false => message(restore(&Home::named(&place), &to)),
            };
            assert_eq!(refused, format!("`{}`: {problem}", place.display()));
            assert!(!place.exists());
        }
        fs::remove_file(&link).unwrap();
    }
    // The home may be named by a link, too.
    symlink(home.root(), &link).unwrap();
    message(back_up(&Home::named(&link), &home.root().join("b")));
}

#[test]
fn a_store_that_has_lost_its_log_is_not_backed_up() {
    let (dir, home, store) = home();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(store.accept(vec![event(1)])).unwrap();
    let lost = dir.path().join("lost");
    fs::create_dir(&lost).unwrap();
    // Without the log, as after a careless copy.
    for part in ["state.db", "state.db-mark"] {
        fs::copy(home.root().join(part), lost.join(part)).unwrap();
    }
    let refused = message(back_up(&Home::named(&lost), &dir.path().join("b")));
    assert!(refused.contains("log"), "{refused}");
    assert!(!dir.path().join("b").exists());
}
