//! Finds the correct spelling of a misspelt word.

use std::collections::{HashMap, HashSet};

use super::Sense;

/// The words that can be misspelt, by length.
pub(super) struct Typos {
    by_length: Vec<Vec<(String, Sense)>>,
    /// Words with a correct spelling, with or without a sense.
    ordinary: HashSet<String>,
}

/// The shortest word that is corrected.
const SHORTEST: usize = 4;
/// From this length a letter may differ, and from [`TWO_EDITS`] two edits are corrected.
const SUBSTITUTION: usize = 6;
const TWO_EDITS: usize = 8;

/// Ordinary words that are close to words of events and have another meaning.
const ORDINARY: &str = "abandoned ability about above action actions active activity addition advance affects after \
    again allow allows along always among anchor another answered answers anyone anything api \
    apis apple apply approve approves areas arena argument arrange author authored authority \
    authors average backend backup balance banned bark base based bases basis basket batch \
    battle beach before beginning being below bending best bets better between beverage block \
    blocked blocks booked boss bottle bring brings british broken brother brown brush bucket bug \
    bugs build builds bush buying cable call calls cancel case cases catch cause causes central \
    chance chances change channel charge charged charges charity chart charts child chips \
    clarity class clean cleans cleanup clear cleared clears clock clocks closet code codes come \
    command commands comments common commonly commons compare compete competes complete \
    completely condition conditions converted cooked cork cost could coverage covered crash \
    crashes created creative creator crown crush customer customers damage dance dark data date \
    days december deep delay delayed delays deleted demand demands dental deploy deploys \
    deserved dirty dish disk display distance doc docs document domain door down drift drifts \
    drives dying each edition effect effects elder element elements ember emerge employ employee \
    enable ending engineer engineers english equality even evening event events every everything \
    example examples expert expired export exports farm fast father feeling feels finance find \
    finds fine finish firm first fish flaky flash flower flying folder folders follow follows \
    forgotten fork form formal format formats forms friday frobnicated from frontend funnel game \
    gated gather gets given gives glass grass great group groups grow grows growth guild guns \
    harm healthy hear heated hello help here holder hole hollow home host hosts hour hours \
    however human humane humans ideal ideas idle image images imply import important imports \
    improve improved improvement improves inactive incident incidents infrastructure insecure \
    instance instances insurance interview jets joint junior just keep kept kettle kind king \
    known label lacking language languages large larger last late later laying learn lending \
    less lets level levels leverage liked likely likes line lines link linked links list lists \
    little lives lock locked loner longer looked looks lookup loss lost loved lower lowers \
    lumber lust lying made major majority make makes manage managed manager mark marked marker \
    market markets marks mass massage match meaningful meeting member members memory mental \
    mention merge mess message metal mild mind minor minority minute minutes miss missing \
    mission mobile mode model models modes moment monday month months morning most mother motion \
    moved much must name nation natural near needs neglected nets neutral never newer night node \
    nodes normal note notes nothing notion novel november number numbers observed october often \
    older open option options orange order orders other otherwise outage outages oven overdue \
    overview own owner owners owns package packed packet page paged pager pages paint panel \
    paper papers park part parts party pass passage passed passes past patch path paths paying \
    payment payments pending people permission permissions person pets phase phrase phrases pink \
    pinning planned planning platform playing pocket point points polish pork position post \
    postpone power prepare pretty preview previews print prints priority private product \
    production products project projects propose protected proved public purple purpose push \
    quality question questions quick quite quote range ranges rated rather reach ready reality \
    reason reasons regression relate related relates relation relay remember remote removed \
    rental replay replays reply report reports reserved reverted reverts review reviewer ring \
    rings risk risky rocket role roles roman route routes rule rules run running runs rush sale \
    salmon same sample samples saturday saying scale scanned search second section sections \
    secure security seeing seem seems sending senior september serve served server servers \
    serves service services session sessions sets settle setup seven several severe severity \
    share shared shares shift ship ships shirt shop shops short shorter should shows side sides \
    signal signals significant simple simply since single site sites size sizes slow small smart \
    socket some someone something sometimes sort sorts sound sounds spare spending spinning \
    splash spoken spring sprint sprints stability stable staging stale stars start starts \
    startup state stated states staying steady steels still storage strange string stuck such \
    summon sums sun sunday supply support supports suppose switch table tables take taken takes \
    talks teach team teams tending term terms test tests texts their there therefore these thing \
    things think third those throw throws thumbs thursday ticket timber time times tips tired \
    title titles today together token tokens tone tonight tower town tradition transcript trash \
    travel treated trending trips trying tuesday tunnel unable unanswered unattended uncovered \
    under unlikely unlocked unmerged unreviewed unstable until usage vending verge version \
    versions vets vibe vibes view viewed views village vote votes warm watch weather wednesday \
    week weeks wets wheels where whether which while white whole wider wild winning wish woman \
    word words work worked worker workers working works world worse worst would write year years \
    yellow yodeled york field fields wait waits waiting waited validity record records recorded overnight despite \
     provided typed sees seen tested reached parked \
    accept accepted accepts aimed aims allowed apart appear appears applied arrive arrived \
    arrives arriving aside asked asking attached attempt attempts attended bigger borrow \
    carried carries carry chosen claim claims confirm confirms consider considered contact \
    content contents correct corrected count counts covers current currently daily declined \
    define defined defines detail details detect detected differ differs direct double dropped \
    drops duplicate during earlier early empty enough enter entered enters entire entirely \
    equal equals escalated exact exactly exceed exceeded exceeds exclude excluded excludes \
    excluding exist existing exists expect expected extra fail filled filter filters final \
    finally fixing follower forced foreign forward found free fresh full further future \
    general generated going good guard guards half hand handled happen happens hard heavy \
    hidden high higher holds huge ignore ignored ignores include included includes including \
    increase increased increases initial inside instead internal itself join joined joins land \
    landed lands leave leaves likewise limit limited limits longest matched matches matching \
    maybe mean means merely minimum mistake mixed named names narrow neither nobody none \
    normally obvious offered once ones opposite ordinary original outer outside parent partial \
    particular passing perhaps plain pleased possible prefer prefix previous primary prior \
    proper properly pulled quickly quiet raise raises reader readers real really recent \
    recently reject rejected rejects remain remains rename renamed renames repeat repeated \
    replied requested require required requires rest result results return returned returns \
    rewords right rough safe save saved saves seldom selected send sends separate shall shown \
    similar slightly soon space spaces special specific speed split spread stand standing \
    stands stays step steps stops strict strong style suffix sure symbol target targets though \
    through throughout tight topic topics total toward towards truly twice typical unless \
    unrelated unsafe unused updated upper usual usually valid value values various very \
    visible wants warned wherever within without worth wrong";

impl Typos {
    pub(super) fn new(senses: &HashMap<String, Sense>) -> Self {
        let mut by_length: Vec<Vec<(String, Sense)>> = Vec::new();
        // `wehn` is corrected to `when`, so that the opening is not an unknown word.
        let mut known: HashMap<&str, Sense> = HashMap::new();
        for (phrase, sense) in senses {
            let is_of_events = !sense.nouns.is_empty()
                || sense.is_verb()
                || sense.part.is_some()
                || matches!(phrase.as_str(), "when" | "whenever");
            if !is_of_events {
                continue;
            }
            for word in phrase.split(' ').filter(|word| is_mendable(word)) {
                let own = senses.get(word).unwrap_or(sense);
                known.insert(word, own.clone());
            }
        }
        for (word, sense) in known {
            if by_length.len() <= word.len() {
                by_length.resize_with(word.len() + 1, Vec::new);
            }
            by_length[word.len()].push((word.to_owned(), sense));
        }
        // Words that occur only inside phrases are spelt correctly as well.
        let of_phrases = senses.keys().flat_map(|phrase| phrase.split(' '));
        let ordinary = ORDINARY
            .split(' ')
            .chain(of_phrases)
            .map(str::to_owned)
            .collect();
        for words in &mut by_length {
            words.sort_by(|a, b| a.0.cmp(&b.0));
        }
        Self {
            by_length,
            ordinary,
        }
    }

    pub(super) fn mend(&self, word: &str) -> Option<&str> {
        // The comparison takes time proportional to the product of the lengths, so long words are skipped.
        if !is_mendable(word) || word.len() > 24 || self.ordinary.contains(word) {
            return None;
        }
        let edits = if word.len() >= TWO_EDITS { 2 } else { 1 };
        let mut best: Option<(usize, &str, &Sense)> = None;
        let mut is_unique = true;
        let lengths = word.len().saturating_sub(edits)..=word.len() + edits;
        let candidates = lengths
            .filter_map(|length| self.by_length.get(length))
            .flatten();
        for (candidate, sense) in candidates {
            if candidate == word {
                return None;
            }
            let Some(distance) = distance(word, candidate, edits) else {
                continue;
            };
            match best {
                // A tie between two forms of one word is harmless; between two words it is a guess.
                Some((least, _, _)) if distance > least => {}
                Some((least, _, other)) if distance == least => {
                    is_unique &= other.shares_meaning(sense);
                    if candidate.len() > best.map_or(0, |(_, known, _)| known.len()) {
                        best = Some((distance, candidate, sense));
                    }
                }
                Some(_) | None => {
                    best = Some((distance, candidate, sense));
                    is_unique = true;
                }
            }
        }
        best.filter(|_| is_unique).map(|(_, word, _)| word)
    }
}

fn is_mendable(word: &str) -> bool {
    word.len() >= SHORTEST && word.bytes().all(|b| b.is_ascii_lowercase())
}

/// Counts the edits from one word to another, if they are at most `most`; a swap of neighbours is one.
fn distance(from: &str, to: &str, most: usize) -> Option<usize> {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    if from.len().abs_diff(to.len()) > most || from.first() != to.first() {
        return None;
    }
    let may_substitute = to.len() >= SUBSTITUTION && from.len() >= SUBSTITUTION;
    let width = to.len() + 1;
    let mut rows = vec![0_usize; (from.len() + 1) * width];
    for i in 0..=from.len() {
        for j in 0..width {
            let at = i * width + j;
            rows[at] = if i == 0 {
                j
            } else if j == 0 {
                i
            } else if from[i - 1] == to[j - 1] {
                rows[at - width - 1]
            } else {
                let mut least = rows[at - 1].min(rows[at - width]) + 1;
                if may_substitute {
                    least = least.min(rows[at - width - 1] + 1);
                }
                // A swap of neighbours is one edit, not two: `reveiw`.
                if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                    least = least.min(rows[at - 2 * width - 2] + 1);
                }
                least
            };
        }
    }
    rows.last().copied().filter(|distance| *distance <= most)
}
