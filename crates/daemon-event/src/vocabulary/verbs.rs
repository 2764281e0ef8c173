//! What happens, and the words for it.

/// Declares the verbs with the phrases that name them, in the infinitive.
macro_rules! verbs {
    ($($(#[$doc:meta])* $name:ident = [$($phrase:literal),* $(,)?]),+ $(,)?) => {
        /// What happens to the subject of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Verb {
            $($(#[$doc])* $name,)+
        }

        impl Verb {
            /// Every verb.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the phrases that name it, in the infinitive, the usual one first.
            pub fn phrases(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$($phrase),*],)+ }
            }
        }
    };
}

verbs! {
    /// It comes into being.
    Create = ["open", "create", "raise", "file", "submit", "appear", "log", "report", "emerge", "introduce",
        "show up", "detect", "flag", "find", "write up", "publish a new", "contribute", "record", "capture", "see", "define"],
    /// Its text changes.
    Edit = ["edit", "reword", "rewrite", "amend", "revise"],
    /// It changes in a way that the source calls an update.
    Update = ["update"],
    /// It changes in some way.
    Change = ["change", "modify", "alter"],
    /// It is closed.
    Close = ["close"],
    /// It is opened again.
    Reopen = ["reopen", "re-open"],
    /// It is merged.
    Merge = ["merge", "land"],
    /// It is deleted.
    Delete = ["delete", "destroy"],
    /// Something is put on it or into it.
    Add = ["add", "apply", "attach", "put", "introduce", "give"],
    /// Something is taken from it.
    Remove = ["remove", "take off", "drop", "strip", "clear", "take away"],
    /// A label is put on it.
    Label = ["label", "tag", "mark"],
    /// A label is taken from it.
    Unlabel = ["unlabel", "untag"],
    /// Its labels change either way.
    Relabel = ["relabel"],
    /// Someone is assigned to it.
    Assign = ["assign"],
    /// Someone is no longer assigned to it.
    Unassign = ["unassign"],
    /// Its assignee changes either way.
    Reassign = ["reassign"],
    /// A draft becomes ready.
    ReadyForReview = ["ready for review", "ready_for_review", "mark ready for review", "mark as ready for review",
        "become ready for review", "become ready", "get marked ready", "leave draft", "undraft", "come out of draft", "convert to a regular pull request", "convert to a regular pr",
        "convert to a normal pull request", "convert to a normal pr", "convert from draft", "convert from a draft",
        "move out of draft", "promote from draft", "stop being a draft", "take out of draft", "exit draft", "mark ready", "mark as ready"],
    /// It becomes a draft again.
    ConvertToDraft = ["convert to draft", "convert to a draft", "convert back to draft", "convert back to a draft",
        "turn into a draft", "turn back into a draft", "mark as draft", "mark as a draft", "move to draft",
        "move back to draft", "return to draft", "go back to draft", "converted_to_draft", "become a draft"],
    /// It gets another base branch.
    Retarget = ["retarget"],
    /// Commits arrive on a pull request.
    Synchronize = ["synchronize", "synchronise", "sync"],
    /// A review is asked for.
    RequestReview = ["review_requested", "request review", "request a review", "ask to review", "ask for a review", "request to review", "invite to review"],
    /// A review is no longer asked for.
    UnrequestReview = ["review_request_removed", "withdraw review request"],
    /// Conversation is restricted.
    Lock = ["lock"],
    /// Conversation is no longer restricted.
    Unlock = ["unlock"],
    /// It is pinned.
    Pin = ["pin"],
    /// It is no longer pinned.
    Unpin = ["unpin"],
    /// It moves to another repository.
    Transfer = ["transfer"],
    /// It is put into a milestone.
    Milestone = ["milestone"],
    /// It is taken out of a milestone.
    Demilestone = ["demilestone"],
    /// It enters the merge queue.
    Enqueue = ["enqueue", "add to the merge queue", "enter the merge queue", "join the merge queue", "queue"],
    /// It leaves the merge queue.
    Dequeue = ["dequeue", "remove from the merge queue", "leave the merge queue", "take out of the merge queue",
        "drop from the merge queue"],
    /// It is set to merge by itself.
    EnableAutoMerge = ["auto_merge_enabled", "enable auto-merge", "enable auto merge", "enable automerge",
        "set to auto-merge", "set to auto merge"],
    /// It is no longer set to merge by itself.
    DisableAutoMerge = ["auto_merge_disabled", "disable auto-merge", "disable auto merge", "disable automerge"],
    /// Commits are pushed.
    Push = ["push", "land", "commit"],
    /// History is rewritten by a push.
    ForcePush = ["force push", "force-push", "forcepush"],
    /// Somebody comments on it.
    Comment = ["comment", "remark", "chime in"],
    /// Somebody reviews it.
    Review = ["review", "leave a review"],
    /// It is approved.
    Approve = ["approve", "sign off on", "sign off"],
    /// Changes are asked for.
    RequestChanges = ["request changes", "changes_requested", "ask for changes"],
    /// It is set aside.
    Dismiss = ["dismiss", "auto-dismiss"],
    /// It is settled.
    Resolve = ["resolve", "clear up", "recover"],
    /// It is unsettled again.
    Unresolve = ["unresolve", "reopen"],
    /// It is repaired.
    Fix = ["fix", "patch"],
    /// It ends badly.
    Fail = ["fail", "break", "go red", "turn red", "error out", "come back red", "fall over", "go wrong", "blow up"],
    /// It takes too long.
    TimeOut = ["time out"],
    /// It ends well.
    Succeed = ["succeed", "pass", "go green", "turn green", "complete successfully", "finish successfully",
        "end successfully", "run successfully", "come back green"],
    /// It ends.
    Complete = ["complete", "finish", "conclude", "end", "wrap up", "be done"],
    /// It begins.
    Start = ["start", "begin", "kick off", "launch", "queue", "trigger", "start running", "begin running", "start to run"],
    /// It is called off.
    Cancel = ["cancel", "abort"],
    /// It is asked for.
    Request = ["request", "ask for"],
    /// It is asked for again.
    Rerequest = ["rerequest", "re-request", "rerun", "re-run"],
    /// It is made public.
    Publish = ["publish", "go out", "ship", "release", "cut", "go live", "come out"],
    /// It is made private again.
    Unpublish = ["unpublish", "retract"],
    /// A version is made available.
    Release = ["release"],
    /// An early version is made available.
    Prerelease = ["prerelease", "pre-release"],
    /// It gets its answer.
    Answer = ["answer", "get an accepted answer", "receive an accepted answer", "have an answer accepted",
        "mark as answered", "mark as the answer", "mark as an answer", "mark as answer", "accept as the answer",
        "choose as the answer", "accept as an answer"],
    /// It is copied to another account.
    ForkIt = ["fork", "make a fork of"],
    /// It is starred.
    StarIt = ["star"],
    /// It is no longer starred.
    Unstar = ["unstar"],
    /// It is put away.
    Archive = ["archive"],
    /// It is brought back.
    Unarchive = ["unarchive", "restore"],
    /// It gets another name.
    Rename = ["rename"],
    /// It raises an alarm.
    Fire = ["fire", "trigger", "go off", "alert", "trip", "ring", "come in", "arrive", "raise"],
    /// It reaches the critical threshold.
    GoCritical = ["become critical", "go critical", "reach critical", "turn critical", "hit critical", "go to critical",
        "reach critical level", "enter critical", "rise to critical", "escalate to critical"],
    /// It reaches the warning threshold.
    GoWarning = ["become a warning", "go to warning", "reach warning", "reach warning level", "go to warning level",
        "become warning", "enter warning", "turn warning", "hit warning"],
    /// It comes back after it was resolved.
    Regress = ["regress", "come back", "reoccur", "recur", "resurface", "reappear", "reintroduce", "return"],
    /// It gets worse.
    Escalate = ["escalate", "start escalating", "spike", "surge"],
    /// It is put aside until it gets worse.
    Ignore = ["ignore", "mute", "snooze"],
    /// Its workflow state changes.
    Move = ["move", "raise", "lower", "bump", "increase", "decrease", "enter", "go", "become", "reach", "transition", "switch", "land", "advance", "progress", "set",
        "change", "get", "drag", "turn"],
    /// Its priority changes.
    Prioritize = ["reprioritize", "reprioritise", "prioritize", "prioritise"],
    /// Its estimate changes.
    Estimate = ["estimate", "re-estimate"],
    /// Its time limit passes.
    Breach = ["breach", "violate", "exceed", "miss", "blow"],
    /// A message is sent.
    Post = ["post", "send", "write", "type", "share", "say", "drop", "publish", "leave"],
    /// A message is answered.
    Reply = ["reply", "respond", "answer"],
    /// An emoji is put on it.
    React = ["react", "add a reaction"],
    /// An emoji is taken from it.
    Unreact = ["unreact", "take back"],
    /// Its name is called.
    Mention = ["mention", "ping", "@mention", "@-mention", "tag"],
    /// Somebody becomes a member.
    Join = ["join"],
    /// Somebody is no longer a member.
    Leave = ["leave"],
    /// Somebody is asked to become a member.
    Invite = ["invite"],
    /// Files are changed by it.
    Touch = ["touch", "change", "modify", "edit", "update", "alter", "affect"],
    /// It is switched on.
    Enable = ["enable", "activate", "turn on", "switch on"],
    /// It is switched off.
    Disable = ["disable", "deactivate", "turn off", "switch off"],
    /// It is refused.
    Reject = ["reject", "decline", "deny", "refuse", "turn down"],
    /// It is taken up.
    Accept = ["accept"],
    /// It is taken back by who gave it.
    Revoke = ["revoke"],
    /// It is given.
    Grant = ["grant"],
    /// It is taken back by who asked for it.
    Withdraw = ["withdraw"],
    /// An application is set up.
    Install = ["install"],
    /// An application is taken away.
    Uninstall = ["uninstall"],
    /// An application is stopped for a while.
    Suspend = ["suspend"],
    /// An application may go on.
    Unsuspend = ["unsuspend", "reinstate"],
    /// It is kept out, or kept waiting by another.
    Block = ["block", "ban"],
    /// It is no longer kept out or waiting.
    Unblock = ["unblock", "unban"],
    /// Everybody may see it.
    MakePublic = ["make public", "publicize", "go public", "become public", "turn public", "open-source"],
    /// Only some may see it.
    MakePrivate = ["make private", "privatize", "go private", "become private", "turn private"],
    /// A secret was seen in public.
    Leak = ["leak publicly", "publicly leak", "leak"],
    /// A secret was found to work.
    Validate = ["validate"],
    /// An alert is found on another branch.
    AppearInBranch = ["appear in a branch", "appear on a branch", "appear in another branch", "appear on another branch",
        "appeared_in_branch"],
    /// It waits for somebody.
    Wait = ["wait for approval", "await approval", "start waiting", "wait for a reviewer", "wait on approval"],
    /// It is started by hand.
    Dispatch = ["dispatch", "trigger manually", "manually trigger", "run manually", "manually run", "start manually",
        "manually start", "trigger by hand", "start by hand", "run by hand", "manually dispatch"],
    /// Somebody presses a button of a check.
    RequestAction = ["requested_action", "request an action", "request action"],
    /// It will change later.
    ChangeLater = ["schedule to change", "schedule a change", "pending_tier_change", "pending_change"],
    /// It will end later.
    CancelLater = ["schedule to cancel", "schedule for cancellation", "pending_cancellation"],
    /// A change that was to come does not.
    CancelChange = ["pending_change_cancelled"],
    /// It is lifted to the enterprise.
    Promote = ["promote", "promote to enterprise"],
    /// It becomes something else.
    Convert = ["convert"],
    /// It takes another place among others.
    Reorder = ["reorder", "rearrange"],
    /// It gets a type.
    SetType = ["set the type", "assign a type", "give a type", "set type"],
    /// It loses its type.
    ClearType = ["clear the type", "remove the type", "unset the type"],
    /// Its answer is taken back.
    Unanswer = ["unanswer", "unmark", "unaccept", "unmark as answered", "unmark as the answer"],
    /// It moves to another category.
    Recategorize = ["recategorize", "recategorise", "move to another category", "change category"],
    /// Somebody begins to watch it.
    WatchIt = ["watch"],
    /// Its time limit comes near.
    GoHighRisk = ["be at high risk", "be about to be breached", "be close to breaching", "be at high risk of breaching", "be at risk of breaching", "be at high risk of missing", "be about to breach", "near breach", "become high risk", "go high risk", "come near its deadline"],
    /// It is put off.
    Snooze = ["snooze"],
    /// Somebody writes to an agent.
    Prompt = ["prompt"],
    /// A file is brought.
    Upload = ["upload"],
    /// Something is put beside it.
    Attach = ["attach"],
    /// Somebody is written to alone.
    MessageDirectly = ["dm", "direct-message", "message directly", "message privately"],
    /// It is shared with another workspace.
    ShareIt = ["share"],
    /// It is no longer shared.
    Unshare = ["unshare"],
    /// It is carried out.
    Execute = ["execute", "invoke"],
}
