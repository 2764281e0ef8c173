//! Reviews and their comments.

use serde_json::{Value, json};

use super::{GithubView, time};
use crate::github::state::{GithubRepo, GithubReview, GithubReviewComment};

impl GithubView<'_> {
    fn pull_page(&self, repo: &GithubRepo, number: u64) -> String {
        format!("{}/{}/pull/{number}", self.base, repo.full_name())
    }

    fn pull_url(&self, repo: &GithubRepo, number: u64) -> String {
        format!("{}/repos/{}/pulls/{number}", self.base, repo.full_name())
    }

    pub(crate) fn review(&self, repo: &GithubRepo, review: &GithubReview) -> Value {
        let page = self.pull_page(repo, review.pull);
        json!({
            "id": review.id, "node_id": format!("PRR_kw{}", review.id),
            "user": self.user(&review.author), "body": review.body, "state": review.state,
            "html_url": format!("{page}#pullrequestreview-{}", review.id),
            "pull_request_url": self.pull_url(repo, review.pull),
            "author_association": Self::association(repo, &review.author),
            "submitted_at": time(review.submitted_at), "commit_id": review.commit,
        })
    }

    pub(crate) fn review_comment(&self, repo: &GithubRepo, comment: &GithubReviewComment) -> Value {
        let (id, place) = (comment.id, &comment.place);
        let page = self.pull_page(repo, comment.pull);
        let pull = self.pull_url(repo, comment.pull);
        let mut acc = json!({
            "id": id, "node_id": format!("PRRC_kw{id}"), "pull_request_review_id": comment.review,
            "url": format!("{}/repos/{}/pulls/comments/{id}", self.base, repo.full_name()),
            "html_url": format!("{page}#discussion_r{id}"), "pull_request_url": pull,
            "user": self.user(&comment.author), "body": comment.body,
            "author_association": Self::association(repo, &comment.author),
            "commit_id": comment.commit, "original_commit_id": comment.commit,
            "path": place.path, "line": place.line, "original_line": place.line, "side": place.side,
            "start_line": place.start.as_ref().map(|(line, _)| line),
            "start_side": place.start.as_ref().map(|(_, side)| side),
            "subject_type": "line",
            "created_at": time(comment.created_at), "updated_at": time(comment.updated_at),
        });
        if let Some(reply_to) = comment.reply_to {
            acc["in_reply_to_id"] = json!(reply_to);
        }
        acc
    }
}
