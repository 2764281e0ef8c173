//! Failed deliveries of webhooks, which GitHub sends again when it is asked.

use std::collections::{BTreeMap, BTreeSet};

use daemon_engine::proposal::GithubName;
use daemon_engine::{Comparison, FactError};
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::api::{ApiAnswer, ApiError, ApiErrorKind, PAGE, ServiceApi};

/// The end of the URL of a webhook that leads to a host.
const ROUTE: &str = "/webhooks/github";
/// How many pages of deliveries are read in one comparison: twenty thousand deliveries.
const MAX_PAGES: usize = 200;
/// How often one delivery is asked for again.
const MAX_ASKED: u32 = 3;
/// How many deliveries of one webhook are asked for in one comparison.
const MAX_AT_ONCE: usize = 100;
/// How far deliveries before the newest known one are read again: what was asked for meanwhile has ended by then.
const OVERLAP: SignedDuration = SignedDuration::from_mins(15);
/// How many comparisons use one list of webhooks.
const LIST_AGE: u32 = 12;

/// The webhooks that lead to a host, and for how many comparisons they are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Hooks {
    /// The ids; the only one of an App has none.
    ids: Option<Vec<Option<u64>>>,
    age: u32,
    /// The entity tag of the first page of deliveries of a webhook.
    tags: BTreeMap<u64, String>,
}

/// How far the deliveries of each webhook were read, as it is stored in a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    /// By the id of the webhook; 0 for that of an App.
    hooks: BTreeMap<u64, HookCursor>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HookCursor {
    /// When the newest known delivery was made.
    #[serde(with = "super::instant")]
    until: Timestamp,
    /// How often recent deliveries were asked for, by their ids that stay the same.
    asked: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
struct HookRow {
    id: u64,
    active: bool,
    config: HookConfig,
}

#[derive(Deserialize)]
struct HookConfig {
    #[serde(default)]
    url: String,
}

#[derive(Clone, Debug, Deserialize)]
struct DeliveryRow {
    id: u64,
    guid: String,
    #[serde(with = "super::instant")]
    delivered_at: Timestamp,
    status_code: u16,
}

impl DeliveryRow {
    fn is_done(&self) -> bool {
        (200..300).contains(&self.status_code)
    }
}

/// Asks for the failed deliveries of the webhooks that lead to a host: those of a repository, or that of an App.
pub(super) async fn compare(
    api: &ServiceApi,
    repo: Option<&GithubName>,
    (hooks, cursor): (&mut Hooks, Option<&str>),
) -> Result<Comparison, FactError> {
    let ids = match known_hooks(api, repo, hooks).await {
        Ok(ids) => ids,
        Err(error) if is_forbidden(&error) => return Ok(unread(repo)),
        Err(error) => return Err(error.into()),
    };
    let mut compared = Comparison::default();
    if ids.is_empty() {
        let whose = repo.map_or_else(|| "the App".to_owned(), |repo| format!("`{repo}`"));
        compared.note = Some(format!("no webhook of {whose} leads to `{ROUTE}`"));
        return Ok(compared);
    }
    let before: Cursor = cursor
        .and_then(|cursor| serde_json::from_str(cursor).ok())
        .unwrap_or_default();
    let mut after = Cursor::default();
    for id in ids {
        let number = id.unwrap_or(0);
        let mut hook = Hook { api, repo, id };
        let known = before.hooks.get(&number);
        let tag = hooks.tags.remove(&number);
        let read = hook.read(known, tag).await?;
        let cursor = match read {
            HookReading::Unchanged(tag, cursor) => {
                hooks.tags.insert(number, tag);
                cursor
            }
            HookReading::First(cursor) => cursor,
            HookReading::Read {
                tag,
                cursor,
                rows,
                is_cut,
            } => {
                let asked = hook.ask(cursor, &rows).await?;
                // A list with something to ask for is read again, because the answer is behind the same entity tag.
                if asked.n == 0 && asked.refused.is_none() {
                    hooks.tags.extend(tag.map(|tag| (number, tag)));
                }
                compared.n_asked += asked.n;
                compared.is_partial |= asked.has_more || is_cut;
                let cut = is_cut.then(too_many);
                compared.note = compared.note.or(asked.refused).or(cut);
                asked.cursor
            }
        };
        after.hooks.insert(number, cursor);
    }
    let text = serde_json::to_string(&after).expect("ids and times are JSON");
    compared.cursor = (before != after || cursor.is_none()).then_some(text);
    Ok(compared)
}

fn given_up(n: usize) -> String {
    format!(
        "{n} deliveries failed again each time they were asked for ({MAX_ASKED} times): see them under `Recent deliveries` of the webhook"
    )
}

fn too_many() -> String {
    format!(
        "more than {} deliveries since the comparison before: older ones that failed are not asked for again",
        MAX_PAGES * PAGE
    )
}

fn is_forbidden(error: &ApiError) -> bool {
    matches!(error.kind, ApiErrorKind::Refused(403 | 404))
}

fn unread(repo: Option<&GithubName>) -> Comparison {
    let whose = repo.map_or_else(|| "the App".to_owned(), |repo| format!("`{repo}`"));
    Comparison {
        note: Some(format!(
            "the credentials may not read the webhooks of {whose}, so failed deliveries are not asked for again; refs and pull requests are compared"
        )),
        ..Comparison::default()
    }
}

/// Returns the ids of the active webhooks that lead to a host.
async fn known_hooks(
    api: &ServiceApi,
    repo: Option<&GithubName>,
    hooks: &mut Hooks,
) -> Result<Vec<Option<u64>>, ApiError> {
    hooks.age += 1;
    if let Some(ids) = hooks.ids.as_ref().filter(|_| hooks.age < LIST_AGE) {
        return Ok(ids.clone());
    }
    let leads_here = |config: &HookConfig| config.url.trim_end_matches('/').ends_with(ROUTE);
    let ids = match repo {
        Some(repo) => {
            let path = ["repos", repo.owner(), repo.name(), "hooks"];
            let rows: Vec<HookRow> = api.get(&path, &[("per_page", "100")]).await?.json()?;
            let ours = rows
                .into_iter()
                .filter(|row| row.active && leads_here(&row.config));
            ours.map(|row| Some(row.id)).collect()
        }
        None => {
            let config: HookConfig = api.get(&["app", "hook", "config"], &[]).await?.json()?;
            match leads_here(&config) {
                true => vec![None],
                false => Vec::new(),
            }
        }
    };
    (hooks.ids, hooks.age) = (Some(ids.clone()), 0);
    Ok(ids)
}

/// One webhook.
struct Hook<'a> {
    api: &'a ServiceApi,
    repo: Option<&'a GithubName>,
    id: Option<u64>,
}

enum HookReading {
    /// The list still has this entity tag.
    Unchanged(String, HookCursor),
    /// It is read for the first time, which asks for nothing.
    First(HookCursor),
    Read {
        tag: Option<String>,
        cursor: HookCursor,
        rows: Vec<DeliveryRow>,
        /// Whether there are older ones that were not read.
        is_cut: bool,
    },
}

/// What was asked for again.
struct Asked {
    cursor: HookCursor,
    n: usize,
    /// Whether the next comparison asks for more.
    has_more: bool,
    /// Why others were not asked for.
    refused: Option<String>,
}

impl Hook<'_> {
    fn path(&self, below: &[&str]) -> Vec<String> {
        let own =
            |parts: &[&str]| -> Vec<String> { parts.iter().map(|&part| part.to_owned()).collect() };
        let mut path = match (self.repo, self.id) {
            (Some(repo), Some(id)) => {
                own(&["repos", repo.owner(), repo.name(), "hooks", &id.to_string()])
            }
            _ => own(&["app", "hook"]),
        };
        path.extend(own(&["deliveries"]));
        path.extend(own(below));
        path
    }

    async fn page(&self, cursor: Option<&str>, tag: Option<&str>) -> Result<ApiAnswer, ApiError> {
        let path = self.path(&[]);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let mut query = vec![("per_page", "100")];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        self.api.get_changed(&path, &query, tag).await
    }

    /// Reads the deliveries since a cursor, the newest first.
    async fn read(
        &mut self,
        known: Option<&HookCursor>,
        tag: Option<String>,
    ) -> Result<HookReading, ApiError> {
        let answer = self.page(None, tag.as_deref()).await?;
        if answer.is_unchanged
            && let (Some(tag), Some(known)) = (tag, known)
        {
            return Ok(HookReading::Unchanged(tag, known.clone()));
        }
        let tag = answer.header("etag").map(str::to_owned);
        let mut rows: Vec<DeliveryRow> = answer.json()?;
        let newest = rows.iter().map(|row| row.delivered_at).max();
        let Some(known) = known else {
            // Without a delivery everything that comes is new.
            return Ok(HookReading::First(HookCursor {
                until: newest.unwrap_or(Timestamp::UNIX_EPOCH),
                asked: BTreeMap::new(),
            }));
        };
        let from = known.until - OVERLAP;
        let (mut next, mut n_pages) = (next_cursor(&answer), 1);
        while let Some(cursor) = next.clone()
            && n_pages < MAX_PAGES
            && rows.last().is_some_and(|row| row.delivered_at >= from)
        {
            let answer = self.page(Some(&cursor), None).await?;
            let of_page: Vec<DeliveryRow> = answer.json()?;
            next = next_cursor(&answer).filter(|_| of_page.len() >= PAGE);
            rows.extend(of_page);
            n_pages += 1;
        }
        let is_cut = next.is_some() && rows.last().is_some_and(|row| row.delivered_at >= from);
        rows.retain(|row| row.delivered_at >= from);
        let until = newest.map_or(known.until, |newest| newest.max(known.until));
        Ok(HookReading::Read {
            tag,
            cursor: HookCursor {
                until,
                asked: known.asked.clone(),
            },
            rows,
            is_cut,
        })
    }

    /// Asks for the deliveries of which no attempt succeeded, oldest first.
    async fn ask(&self, mut cursor: HookCursor, rows: &[DeliveryRow]) -> Result<Asked, ApiError> {
        let done: BTreeSet<&str> = rows
            .iter()
            .filter(|row| row.is_done())
            .map(|row| row.guid.as_str())
            .collect();
        let listed: BTreeSet<&str> = rows.iter().map(|row| row.guid.as_str()).collect();
        cursor
            .asked
            .retain(|guid, _| listed.contains(guid.as_str()));
        let (mut seen, mut n_asked, mut has_more) = (BTreeSet::new(), 0, false);
        let mut n_given_up = 0;
        for row in rows.iter().rev() {
            let asked = cursor.asked.get(&row.guid).copied().unwrap_or(0);
            let is_open = !done.contains(row.guid.as_str()) && seen.insert(&row.guid);
            if !is_open {
                continue;
            }
            if asked >= MAX_ASKED {
                n_given_up += 1;
                continue;
            }
            if n_asked == MAX_AT_ONCE {
                // What was not asked for is read again by the next comparison.
                cursor.until = cursor.until.min(row.delivered_at);
                has_more = true;
                break;
            }
            let id = row.id.to_string();
            let path = self.path(&[&id, "attempts"]);
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            match self.api.write(Method::POST, &path, &json!({})).await {
                Ok(_) => {}
                Err(error) if error.kind == ApiErrorKind::Refused(403) => {
                    let why = "the credentials may not ask for failed deliveries again";
                    return Ok(Asked {
                        cursor,
                        n: n_asked,
                        has_more: false,
                        refused: Some(why.to_owned()),
                    });
                }
                // A delivery that is too old, or is being sent already.
                Err(error)
                    if matches!(
                        error.kind,
                        ApiErrorKind::Refused(_) | ApiErrorKind::Conflict
                    ) => {}
                Err(error) => return Err(error),
            }
            cursor.asked.insert(row.guid.clone(), asked + 1);
            n_asked += 1;
        }
        Ok(Asked {
            cursor,
            n: n_asked,
            has_more,
            refused: (n_given_up > 0).then(|| given_up(n_given_up)),
        })
    }
}

/// Returns the cursor of the next page, from the link to it.
fn next_cursor(answer: &ApiAnswer) -> Option<String> {
    let links = answer.header("link")?;
    let next = links
        .split(',')
        .find(|link| link.contains("rel=\"next\""))?;
    let (_, rest) = next.split_once("cursor=")?;
    let cursor: String = rest
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(*c))
        .collect();
    (!cursor.is_empty()).then_some(cursor)
}
