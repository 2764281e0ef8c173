//! Ten thousand hostile lines: random ones, and ones built to be slow.

/// How many lines there are.
pub(crate) const COUNT: usize = 10_000;

const WORDS: &str = "when if on once a an the pull request requests PR PRs issue issues comment review check run workflow CI deployment release tag branch commit \
    push Linear GitHub Sentry Slack git ticket message channel project cycle label labels draft non-draft is are was gets opened closed merged reopened synchronized \
    edited labeled assigned approved pushed fails failed passes created deleted published moved to into from in of at by with without against targeting whose title \
    body contains matching touches changes files file under outside inside only except unless but not no never nobody other than anyone someone human bot maintainer \
    author main release/* docs/** *.md src/ `bug` \"needs triage\" 'x y' “quoted” #general :fire: @ada ada[bot] #42 urgent Done \"In Progress\" production and or , ; ( ) / \
    those ones made left out excluding ignoring integrations either neither nor every each all second three days weeks daily Monday 9:00 for more while still already again pull_request.opened issues.labeled push opend reqeust";

const SIGNS: &str = "\"'`“”‘’()[]{}<>*?!/\\|#@:;,.-–—_~^$%&+=";

const ODD: [&str; 16] = [
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{202e}",
    "\u{2066}",
    "\u{301}",
    "\u{0}",
    "\u{7f}",
    "\t",
    "\r\n",
    "\u{a0}",
    "👩‍🚀",
    "ﬃ",
    "ẞ",
    "İ",
    "ع",
];

/// A small generator of numbers: the same lines everywhere.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).expect("it is below a usize")
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Returns the lines: first those built to hurt, then random ones of growing strangeness.
pub(crate) fn all() -> Vec<String> {
    let mut lines = built();
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let signs: Vec<char> = SIGNS.chars().collect();
    let mut draw = Draw(0x9E37_79B9_7F4A_7C15);
    while lines.len() < COUNT {
        let length = match lines.len() % 50 {
            0 => 900,
            1..5 => 120,
            _ => 24,
        };
        let strangeness = lines.len() % 5;
        lines.push(random(&mut draw, &words, &signs, 1 + length, strangeness));
    }
    lines
}

fn random(
    draw: &mut Draw,
    words: &[&str],
    signs: &[char],
    most: usize,
    strangeness: usize,
) -> String {
    let mut line = String::new();
    for _ in 0..=draw.below(most) {
        match draw.below(20) {
            0 if strangeness > 0 => line.push(draw.of(signs)),
            1 if strangeness > 1 => line.push_str(draw.of(&ODD)),
            2 if strangeness > 2 => {
                let scalar = u32::try_from(draw.below(0x2_FFFF)).expect("it is a small number");
                line.extend(char::from_u32(scalar));
            }
            3 if strangeness > 3 => {
                let word = draw.of(words);
                let cut = draw.below(word.chars().count());
                line.extend(word.chars().rev().skip(cut));
            }
            _ => line.push_str(draw.of(words)),
        }
        if draw.below(8) > 0 {
            line.push(' ');
        }
    }
    line
}

/// What is long, deep or ambiguous on purpose.
fn built() -> Vec<String> {
    let mut lines = vec![String::new(), " ".to_owned(), "\n".to_owned()];
    for unit in [
        "when ",
        "a",
        "or ",
        "and ",
        "not ",
        "non-",
        "not not ",
        "unless ",
        "except ",
        "n't ",
        "'s ",
        "other than ",
        "pull request ",
        "opened ",
        "opend ",
        "reqeust ",
        "\"'`",
        "(",
        "((",
        "“‘",
        "\"x\" ",
        "`",
        "#",
        "@",
        "*",
        "**/",
        "{a,",
        "[",
        "release/*, ",
        "docs/** or ",
        "label ",
        "by ",
        "for 3 days ",
        "every ",
        "every day ",
        "when a pull request is opened ",
        "when a PR is opened or ",
        ", unless it is a draft",
        " except by bots",
        " that is not a draft that",
        "/",
        "\\",
        ".",
        "-",
        "\u{301}",
        "\u{200b}",
        "\u{202e}",
        "é",
        "👍",
        "漢",
        "ß",
        "İ",
        "pull_request.",
        "a.b.c.d ",
        "x=y ",
        "1",
        "9:00 ",
    ] {
        for length in [50, 500, 10_000] {
            lines.push(unit.repeat(length / unit.len() + 1));
            lines.push(format!(
                "when a PR is opened {}",
                unit.repeat(length / unit.len() + 1)
            ));
        }
    }
    let opened = "when a pull request is opened";
    let verbs = [
        "opened", "closed", "merged", "edited", "reopened", "labeled", "assigned",
    ];
    let alternatives = |n: usize| {
        (0..n)
            .map(|i| verbs[i % verbs.len()])
            .collect::<Vec<_>>()
            .join(" or ")
    };
    let labels = |n: usize| {
        (0..n)
            .map(|i| format!("`l{i}`"))
            .collect::<Vec<_>>()
            .join(" or ")
    };
    let globs = |n: usize| {
        (0..n)
            .map(|i| format!("d{i}/**/*.{{a,b}}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let guards = |n: usize| {
        " by someone other than @a, not a draft, whose title does not contain \"x\",".repeat(n)
    };
    for n in [2, 20, 200, 1_000] {
        lines.push(format!("when a pull request is {}", alternatives(n)));
        lines.push(format!("when a PR labeled {} is opened", labels(n)));
        lines.push(format!("when files matching {} are changed", globs(n)));
        lines.push(format!("{opened}{}", guards(n)));
        lines.push(format!(
            "{opened}{}",
            ", or when an issue is created in Linear".repeat(n)
        ));
        lines.push(format!("{opened} {}docs/", "outside ".repeat(n)));
        lines.push(format!(
            "when files matching {}x{} are changed",
            "{a,".repeat(n),
            "}".repeat(n)
        ));
        lines.push(format!(
            "when files matching {}x are changed",
            "**/*".repeat(n)
        ));
        lines.push(format!(
            "when a comment contains {}x{}",
            "\"'".repeat(n),
            "'\"".repeat(n)
        ));
        lines.push(format!("when a {}PR is opened", "non-".repeat(n)));
        lines.push(format!(
            "when it is not {}true that a PR is opened",
            "not ".repeat(n)
        ));
        lines.push(format!(
            "when a comment matching {} is posted",
            "(a+)+".repeat(n)
        ));
    }
    lines
}
