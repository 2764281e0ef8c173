use std::os::unix::fs::MetadataExt as _;

use serde::Deserialize;

use super::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bell {
    tone: String,
}

impl RecoveryEntry for Bell {
    const KEY: &'static str = "bell";

    fn check(&self) -> Result<(), String> {
        match self.tone.as_str() {
            "" => Err("`tone` is empty".to_owned()),
            _ => Ok(()),
        }
    }
}

fn bell(tone: &str) -> Bell {
    Bell {
        tone: tone.to_owned(),
    }
}

#[tokio::test]
async fn an_id_is_never_given_twice_and_reading_writes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("bells.toml");
    let file = RecoveryFile::open(path.clone());
    assert_eq!(file.change(|bells| bells.add(bell("a"))).await.unwrap(), 1);
    assert_eq!(file.change(|bells| bells.add(bell("b"))).await.unwrap(), 2);
    let removed = file.change(|bells| bells.remove(2)).await.unwrap();
    assert_eq!(removed, Some(RecoveredEntry::Valid(bell("b"))));
    let text = "next_id = 3\n\n[[bell]]\nid = 1\ntone = \"a\"\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let written = fs::metadata(&path).unwrap().ino();

    let again = RecoveryFile::<Bell>::open(path.clone());
    assert_eq!(again.change(|bells| bells.remove(7)).await.unwrap(), None);
    assert_eq!(fs::metadata(&path).unwrap().ino(), written);
    assert_eq!(again.change(|bells| bells.add(bell("c"))).await.unwrap(), 3);
}

#[tokio::test]
async fn an_invalid_entry_stays_as_it_is_with_its_problem() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("bells.toml");
    let invalid = "[[bell]]\nid = 2\nloud = true\n\n[[bell]]\nid = 4\ntone = \"\"\n";
    fs::write(&path, invalid).unwrap();
    let file = RecoveryFile::<Bell>::open(path.clone());
    let entries = file.entries().await.unwrap();
    let problems = entries.all().map(|(id, entry)| match entry {
        RecoveredEntry::Valid(_) => panic!("{id} is valid"),
        RecoveredEntry::Invalid { problem, .. } => (id, problem.clone()),
    });
    let problems: Vec<_> = problems.collect();
    assert_eq!(problems[1], (4, "`tone` is empty".to_owned()));
    assert!(
        problems[0].1.contains("unknown field `loud`"),
        "{problems:?}"
    );
    assert_eq!(file.change(|bells| bells.add(bell("a"))).await.unwrap(), 5);
    let text = format!("next_id = 6\n\n{invalid}\n[[bell]]\nid = 5\ntone = \"a\"\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn an_unreadable_file_is_never_written_until_it_is_repaired() {
    for text in [
        "[[bell]",
        "bell = 1\n",
        "[[bell]]\ntone = \"a\"\n",
        "[[bell]]\nid = 1\ntone = \"a\"\n\n[[bell]]\nid = 1\ntone = \"b\"\n",
        "[[drum]]\nid = 1\n",
    ] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("bells.toml");
        fs::write(&path, text).unwrap();
        let file = RecoveryFile::<Bell>::open(path.clone());
        let refused = file.change(|bells| bells.add(bell("a"))).await;
        assert!(
            matches!(refused, Err(AgentError::Storage(_))),
            "{text}: {refused:?}"
        );
        file.reopen().await;
        assert!(file.entries().await.is_err(), "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        fs::write(&path, "").unwrap();
        file.reopen().await;
        let added = file.change(|bells| bells.add(bell("a"))).await;
        assert_eq!(added.unwrap(), 1, "{text}");
    }
}
