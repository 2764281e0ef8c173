//! Verbs: what happens to the subjects of events, and the phrases that name it.

/// Declares the verbs with the phrases that name them, in the infinitive.
macro_rules! verbs {
    ($($(#[$doc:meta])* $name:ident = [$first:literal $(, $phrase:literal)* $(,)?]),+ $(,)?) => {
        /// What happens to the subject of an event. Each variant lists the phrases that name it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Verb {
            $(
                #[doc = concat!("`", $first, "`" $(, ", `", $phrase, "`")*)]
                ///
                $(#[$doc])*
                $name,
            )+
        }

        impl Verb {
            /// Every verb.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the phrases that name it, in the infinitive, the usual one first.
            pub fn phrases(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$first $(, $phrase)*],)+ }
            }
        }
    };
}

verbs! {
    Create = ["open", "create", "raise", "file", "submit", "appear", "log", "report", "emerge", "introduce",
        "show up", "detect", "flag", "find", "write up", "publish a new", "contribute", "record", "capture", "see", "define"],
    Edit = ["edit", "reword", "rewrite", "amend", "revise"],
    Update = ["update"],
    /// Any change, also those that the source reports as an edit or an update.
    Change = ["change", "modify", "alter"],
    Close = ["close"],
    Reopen = ["reopen", "re-open"],
    Merge = ["merge", "land"],
    Delete = ["delete", "destroy"],
    Add = ["add", "apply", "attach", "put", "introduce", "give"],
    Remove = ["remove", "take off", "drop", "strip", "clear", "take away"],
    Label = ["label", "tag", "mark"],
    Unlabel = ["unlabel", "untag"],
    /// A label is added or removed.
    Relabel = ["relabel"],
    Assign = ["assign"],
    Unassign = ["unassign"],
    /// A person is assigned or unassigned.
    Reassign = ["reassign"],
    ReadyForReview = ["ready for review", "ready_for_review", "mark ready for review", "mark as ready for review",
        "become ready for review", "become ready", "get marked ready", "leave draft", "undraft", "come out of draft", "convert to a regular pull request", "convert to a regular pr",
        "convert to a normal pull request", "convert to a normal pr", "convert from draft", "convert from a draft",
        "move out of draft", "promote from draft", "stop being a draft", "take out of draft", "exit draft", "mark ready", "mark as ready"],
    ConvertToDraft = ["convert to draft", "convert to a draft", "convert back to draft", "convert back to a draft",
        "turn into a draft", "turn back into a draft", "mark as draft", "mark as a draft", "move to draft",
        "move back to draft", "return to draft", "go back to draft", "converted_to_draft", "become a draft"],
    Retarget = ["retarget"],
    Synchronize = ["synchronize", "synchronise", "sync"],
    RequestReview = ["review_requested", "request review", "request a review", "ask to review", "ask for a review", "request to review", "invite to review"],
    UnrequestReview = ["review_request_removed", "withdraw review request"],
    Lock = ["lock"],
    Unlock = ["unlock"],
    Pin = ["pin"],
    Unpin = ["unpin"],
    Transfer = ["transfer"],
    Milestone = ["milestone"],
    Demilestone = ["demilestone"],
    Enqueue = ["enqueue", "add to the merge queue", "enter the merge queue", "join the merge queue", "queue"],
    Dequeue = ["dequeue", "remove from the merge queue", "leave the merge queue", "take out of the merge queue",
        "drop from the merge queue"],
    EnableAutoMerge = ["auto_merge_enabled", "enable auto-merge", "enable auto merge", "enable automerge",
        "set to auto-merge", "set to auto merge"],
    DisableAutoMerge = ["auto_merge_disabled", "disable auto-merge", "disable auto merge", "disable automerge"],
    Push = ["push", "land", "commit"],
    ForcePush = ["force push", "force-push", "forcepush"],
    Comment = ["comment", "remark", "chime in"],
    Review = ["review", "leave a review"],
    Approve = ["approve", "sign off on", "sign off"],
    RequestChanges = ["request changes", "changes_requested", "ask for changes"],
    Dismiss = ["dismiss", "auto-dismiss"],
    Resolve = ["resolve", "clear up", "recover"],
    Unresolve = ["unresolve", "reopen"],
    Fix = ["fix", "patch"],
    Fail = ["fail", "break", "go red", "turn red", "error out", "come back red", "fall over", "go wrong", "blow up"],
    TimeOut = ["time out"],
    Succeed = ["succeed", "pass", "go green", "turn green", "complete successfully", "finish successfully",
        "end successfully", "run successfully", "come back green"],
    Complete = ["complete", "finish", "conclude", "end", "wrap up", "be done"],
    Start = ["start", "begin", "kick off", "launch", "queue", "trigger", "start running", "begin running", "start to run"],
    Cancel = ["cancel", "abort"],
    Request = ["request", "ask for"],
    Rerequest = ["rerequest", "re-request", "rerun", "re-run"],
    Publish = ["publish", "go out", "ship", "release", "cut", "go live", "come out"],
    Unpublish = ["unpublish", "retract"],
    Release = ["release"],
    Prerelease = ["prerelease", "pre-release"],
    /// A release is published that is no prerelease, or stops being one.
    BecomeStable = ["become stable", "go stable", "become generally available", "become a full release"],
    Answer = ["answer", "get an accepted answer", "receive an accepted answer", "have an answer accepted",
        "mark as answered", "mark as the answer", "mark as an answer", "mark as answer", "accept as the answer",
        "choose as the answer", "accept as an answer"],
    ForkIt = ["fork", "make a fork of"],
    StarIt = ["star"],
    Unstar = ["unstar"],
    Archive = ["archive"],
    Unarchive = ["unarchive", "restore"],
    Rename = ["rename"],
    Fire = ["fire", "trigger", "go off", "alert", "trip", "ring", "come in", "arrive", "raise"],
    GoCritical = ["become critical", "go critical", "reach critical", "turn critical", "hit critical", "go to critical",
        "reach critical level", "enter critical", "rise to critical", "escalate to critical"],
    GoWarning = ["become a warning", "go to warning", "reach warning", "reach warning level", "go to warning level",
        "become warning", "enter warning", "turn warning", "hit warning"],
    Regress = ["regress", "come back", "reoccur", "recur", "resurface", "reappear", "reintroduce", "return"],
    Escalate = ["escalate", "start escalating", "spike", "surge"],
    Ignore = ["ignore", "mute", "snooze"],
    /// The workflow state changes.
    Move = ["move", "raise", "lower", "bump", "increase", "decrease", "enter", "go", "become", "reach", "transition", "switch", "land", "advance", "progress", "set",
        "change", "get", "drag", "turn"],
    Prioritize = ["reprioritize", "reprioritise", "prioritize", "prioritise"],
    Estimate = ["estimate", "re-estimate"],
    Breach = ["breach", "violate", "exceed", "miss", "blow"],
    Post = ["post", "send", "write", "type", "share", "say", "drop", "publish", "leave"],
    Reply = ["reply", "respond", "answer"],
    React = ["react", "add a reaction"],
    Unreact = ["unreact", "take back"],
    Mention = ["mention", "ping", "@mention", "@-mention", "tag"],
    Join = ["join"],
    Leave = ["leave"],
    Invite = ["invite"],
    /// Files are changed by a push or a pull request.
    Touch = ["touch", "change", "modify", "edit", "update", "alter", "affect"],
    Enable = ["enable", "activate", "turn on", "switch on"],
    Disable = ["disable", "deactivate", "turn off", "switch off"],
    Reject = ["reject", "decline", "deny", "refuse", "turn down"],
    Accept = ["accept"],
    /// Access is withdrawn by the one who granted it.
    Revoke = ["revoke"],
    Grant = ["grant"],
    /// A request is withdrawn by the one who made it.
    Withdraw = ["withdraw"],
    Install = ["install"],
    Uninstall = ["uninstall"],
    Suspend = ["suspend"],
    Unsuspend = ["unsuspend", "reinstate"],
    Block = ["block", "ban"],
    Unblock = ["unblock", "unban"],
    MakePublic = ["make public", "publicize", "go public", "become public", "turn public", "open-source"],
    MakePrivate = ["make private", "privatize", "go private", "become private", "turn private"],
    Leak = ["leak publicly", "publicly leak", "leak"],
    /// A leaked secret is found to be valid.
    Validate = ["validate"],
    /// A code scanning alert is found on another branch.
    AppearInBranch = ["appear in a branch", "appear on a branch", "appear in another branch", "appear on another branch",
        "appeared_in_branch"],
    Wait = ["wait for approval", "await approval", "start waiting", "wait for a reviewer", "wait on approval"],
    Dispatch = ["dispatch", "trigger manually", "manually trigger", "run manually", "manually run", "start manually",
        "manually start", "trigger by hand", "start by hand", "run by hand", "manually dispatch"],
    /// A button of a check run is pressed.
    RequestAction = ["requested_action", "request an action", "request action"],
    /// A change is scheduled.
    ChangeLater = ["schedule to change", "schedule a change", "pending_tier_change", "pending_change"],
    /// A cancellation is scheduled.
    CancelLater = ["schedule to cancel", "schedule for cancellation", "pending_cancellation"],
    /// A scheduled change is cancelled.
    CancelChange = ["pending_change_cancelled"],
    /// A custom property is promoted to the enterprise.
    Promote = ["promote", "promote to enterprise"],
    Convert = ["convert"],
    Reorder = ["reorder", "rearrange"],
    SetType = ["set the type", "assign a type", "give a type", "set type"],
    ClearType = ["clear the type", "remove the type", "unset the type"],
    Unanswer = ["unanswer", "unmark", "unaccept", "unmark as answered", "unmark as the answer"],
    Recategorize = ["recategorize", "recategorise", "move to another category", "change category"],
    WatchIt = ["watch"],
    GoHighRisk = ["be at high risk", "be about to be breached", "be close to breaching", "be at high risk of breaching", "be at risk of breaching", "be at high risk of missing", "be about to breach", "near breach", "become high risk", "go high risk", "come near its deadline"],
    Snooze = ["snooze"],
    Prompt = ["prompt"],
    Upload = ["upload"],
    Attach = ["attach"],
    /// A direct message is sent to a person.
    MessageDirectly = ["dm", "direct-message", "message directly", "message privately"],
    ShareIt = ["share"],
    Unshare = ["unshare"],
    Execute = ["execute", "invoke"],
}
