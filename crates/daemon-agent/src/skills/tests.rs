use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{SkillProblem, Skills};

fn write(home: &Path, path: &str, text: &str) {
    let path = home.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const INBOX: &str = "---\nname: inbox\ndescription: Reads the mail.\nversion: 2\ntags: [a, yes]\n---\nRead it.\n\nAll.\n";

#[test]
fn a_bundle_is_its_front_matter_and_its_body_byte_for_byte() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "inbox/SKILL.md", INBOX);
    write(home.path(), "inbox/reference/terms.md", "Terms.");
    write(home.path(), "inbox/check.sh", "#!/bin/sh\n");
    let skills = Skills::new(home.path().to_owned());
    let name = "inbox".parse().unwrap();
    let bundle = skills.get(&name).unwrap();
    assert_eq!(bundle.description, "Reads the mail.");
    assert_eq!(bundle.body, "Read it.\n\nAll.\n");
    let keys = serde_json::json!({"version": 2, "tags": ["a", true]});
    assert_eq!(serde_json::Value::Object(bundle.keys), keys);
    assert_eq!(skills.files(&name), ["check.sh", "reference/terms.md"]);
    let terms = skills.file(&name, Path::new("reference/terms.md"));
    assert_eq!(terms.as_deref(), Ok("Terms."));
    let unknown = skills.get(&"other".parse().unwrap()).unwrap_err();
    assert_eq!(unknown.to_string(), "no skill `other`");
}

#[test]
fn a_bad_bundle_is_listed_with_its_problem() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "inbox/SKILL.md", INBOX);
    write(home.path(), "copy/SKILL.md", INBOX);
    write(home.path(), "plain/SKILL.md", "Read it.\n");
    write(home.path(), "silent/SKILL.md", "---\nname: silent\n---\n");
    write(home.path(), "broken/SKILL.md", "---\nname: [\n---\n");
    write(home.path(), "list/SKILL.md", "---\n- a\n---\n");
    write(home.path(), "large/SKILL.md", &"x".repeat(300_000));
    write(home.path(), "Upper/SKILL.md", INBOX);
    write(home.path(), "bare/other.md", "");
    write(home.path(), "README.md", "no bundle");
    write(home.path(), ".git/SKILL.md", INBOX);
    fs::create_dir(home.path().join("binary")).unwrap();
    fs::write(home.path().join("binary/SKILL.md"), b"---\n\xff").unwrap();
    symlink(home.path().join("inbox"), home.path().join("linked")).unwrap();
    fs::create_dir(home.path().join("elsewhere")).unwrap();
    symlink("../inbox/SKILL.md", home.path().join("elsewhere/SKILL.md")).unwrap();
    let listed = Skills::new(home.path().to_owned()).list().unwrap();
    let listed = listed.into_iter().map(|one| {
        let bundle = one.bundle.map(|bundle| bundle.description);
        (
            one.name,
            bundle.unwrap_or_else(|problem| format!("! {problem}")),
        )
    });
    let listed: Vec<(String, String)> = listed.collect();
    let outside = "! only files beneath the directory of the skill are read, without links";
    let expected = [
        (
            "Upper",
            "! a skill is named by 1 to 64 small letters, digits and hyphens, and begins with no hyphen",
        ),
        ("bare", "! it has no SKILL.md"),
        ("binary", "! it is not text in UTF-8"),
        ("broken", "! the front matter cannot be read: "),
        (
            "copy",
            "! the front matter names `inbox`, and the directory has another name",
        ),
        ("elsewhere", outside),
        ("inbox", "Reads the mail."),
        ("large", "! it has more than 262144 bytes"),
        ("linked", "! it is a link or no directory"),
        (
            "list",
            "! the front matter cannot be read: it is no mapping",
        ),
        (
            "plain",
            "! SKILL.md begins with no front matter between lines of `---`",
        ),
        ("silent", "! the front matter has no `description`"),
    ];
    assert_eq!(listed.len(), expected.len(), "{listed:?}");
    for ((name, found), (expected_name, expected)) in listed.iter().zip(expected) {
        assert_eq!(name, expected_name);
        assert!(found.starts_with(expected), "{name}: {found}");
    }
}

#[test]
fn files_are_read_beneath_the_directory_of_their_skill_only() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "secret", "the secret");
    write(home.path(), "skills/inbox/SKILL.md", INBOX);
    write(home.path(), "skills/inbox/sub/a.md", "text");
    write(home.path(), "skills/other/b.md", "of another skill");
    let bundle = home.path().join("skills/inbox");
    symlink("../../secret", bundle.join("link.md")).unwrap();
    symlink("..", bundle.join("up")).unwrap();
    let absolute = home.path().join("secret");
    let skills = Skills::new(home.path().join("skills"));
    let read = |path: &str| skills.file(&"inbox".parse().unwrap(), Path::new(path));
    for path in ["sub/a.md", "./sub/./a.md"] {
        assert_eq!(read(path).as_deref(), Ok("text"), "{path}");
    }
    for path in [
        "../other/b.md",
        "sub/../../other/b.md",
        "sub/../sub/a.md",
        "link.md",
        "",
        "/etc/passwd",
        absolute.to_str().unwrap(),
    ] {
        assert_eq!(read(path), Err(SkillProblem::Outside), "{path}");
    }
    for path in ["up/other/b.md", "none.md", "sub", "sub/a.md/x", "a\0b"] {
        let refused = read(path).unwrap_err();
        assert_ne!(refused, SkillProblem::Absent, "{path}");
    }
    assert_eq!(skills.files(&"inbox".parse().unwrap()), ["sub/a.md"]);
}
