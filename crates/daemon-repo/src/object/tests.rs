use super::*;

#[test]
fn blob_ids_equal_those_of_git() {
    assert_eq!(
        ObjectFormat::Sha1.blob_id(b"hello\n").as_str(),
        "ce013625030ba8dba906f756967f9e9ca394464a"
    );
    assert_eq!(
        ObjectFormat::Sha256.blob_id(b"hello\n").as_str(),
        "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4"
    );
}

#[test]
fn ref_names_follow_the_rules_of_git() {
    for text in [
        "refs/heads/main",
        "refs/heads/$(id)",
        "refs/heads/-oProxy",
        "refs/tags/v1.0",
        "refs/heads/é/b",
    ] {
        assert_eq!(
            text.parse::<RefName>().map(|name| name.to_string()),
            Ok(text.to_owned())
        );
    }
    for text in [
        "",
        "main",
        "-oProxy",
        "refs/heads/",
        "refs/remotes/origin/main",
        "refs/heads/a b",
        "refs/heads/a\nb",
        "refs/heads/a..b",
        "refs/heads/a/",
        "refs/heads//a",
        "refs/heads/.a",
        "refs/heads/a.lock",
        "refs/heads/a@{1}",
        "refs/heads/a.",
        "refs/heads/a\u{7f}",
        "refs/heads/a~1",
        "refs/heads/a:b",
    ] {
        assert_eq!(
            text.parse::<RefName>(),
            Err(InvalidName::new(text, "the full name of a branch or a tag"))
        );
    }
}

#[test]
fn a_short_name_omits_only_the_namespace() {
    let name = RefName::branch("heads/x").unwrap();
    assert_eq!(
        (name.as_str(), name.short(), name.kind()),
        ("refs/heads/heads/x", "heads/x", RefKind::Branch)
    );
}

#[test]
fn an_object_name_is_full_and_not_zero() {
    for text in [
        "",
        "abc",
        "HEAD",
        ObjectFormat::Sha1.zero(),
        ObjectFormat::Sha256.zero(),
        "-",
        &"A".repeat(40),
    ] {
        assert_eq!(
            text.parse::<ObjectId>(),
            Err(InvalidName::new(text, "the full name of an object"))
        );
    }
    assert_eq!(
        ObjectFormat::Sha1
            .empty_tree()
            .parse::<ObjectId>()
            .unwrap()
            .format(),
        ObjectFormat::Sha1
    );
}
