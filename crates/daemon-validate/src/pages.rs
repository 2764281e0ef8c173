//! The pages of `docs/errors`, embedded in the binary. `errors` is a link to them, so that a package contains them.

use daemon_spec::Code;

macro_rules! pages {
    ($($number:literal => $file:literal,)*) => {
        const PAGES: &[(Code, &str)] = &[
            $((Code::new($number), include_str!(concat!("../errors/", $file))),)*
        ];
    };
}

/// Returns the page that explains `code`, as Markdown, or `None` if no rule has the code.
#[must_use]
pub fn page(code: Code) -> Option<&'static str> {
    let index = PAGES.binary_search_by_key(&code, |(code, _)| *code).ok()?;
    PAGES.get(index).map(|(_, page)| *page)
}

pages! {
    0 => "D000.md",
    1 => "D001.md",
    2 => "D002.md",
    3 => "D003.md",
    4 => "D004.md",
    5 => "D005.md",
    6 => "D006.md",
    10 => "D010.md",
    11 => "D011.md",
    12 => "D012.md",
    13 => "D013.md",
    14 => "D014.md",
    15 => "D015.md",
    16 => "D016.md",
    17 => "D017.md",
    100 => "D100.md",
    101 => "D101.md",
    102 => "D102.md",
    110 => "D110.md",
    111 => "D111.md",
    112 => "D112.md",
    113 => "D113.md",
    114 => "D114.md",
    115 => "D115.md",
    120 => "D120.md",
    121 => "D121.md",
    130 => "D130.md",
    131 => "D131.md",
    132 => "D132.md",
    133 => "D133.md",
    134 => "D134.md",
    135 => "D135.md",
    140 => "D140.md",
    200 => "D200.md",
    201 => "D201.md",
    202 => "D202.md",
    203 => "D203.md",
    204 => "D204.md",
    205 => "D205.md",
    206 => "D206.md",
    207 => "D207.md",
    208 => "D208.md",
    210 => "D210.md",
    211 => "D211.md",
    212 => "D212.md",
    213 => "D213.md",
    214 => "D214.md",
    300 => "D300.md",
    301 => "D301.md",
    302 => "D302.md",
    303 => "D303.md",
    304 => "D304.md",
    305 => "D305.md",
    306 => "D306.md",
    307 => "D307.md",
    308 => "D308.md",
    309 => "D309.md",
    310 => "D310.md",
    311 => "D311.md",
    400 => "D400.md",
    401 => "D401.md",
    402 => "D402.md",
    410 => "D410.md",
    411 => "D411.md",
    420 => "D420.md",
    421 => "D421.md",
    500 => "D500.md",
    501 => "D501.md",
    502 => "D502.md",
    503 => "D503.md",
    504 => "D504.md",
    600 => "D600.md",
    601 => "D601.md",
    700 => "D700.md",
    701 => "D701.md",
    702 => "D702.md",
}
