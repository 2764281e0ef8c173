//! What lines about events of Linear mean.

use expect_test::expect;

use crate::table::table;

#[test]
fn issues_of_linear_are_read_with_what_changed_in_them() {
    expect![[r#"
        when somebody moves an issue in Linear into In Progress
            mapped
            linear:Issue.update [changed is state; state is "In Progress"]
        when somebody (not an integration) marks a Linear issue Done
            mapped
            linear:Issue.update [changed is state; state is Done; actor_kind is_not bot]
        when a Linear issue is moved from Triage to Backlog
            partial
            linear:Issue.update [changed is state; state is Backlog]
            left over: from Triage
        when a Linear issue leaves Triage
            partial
            linear:Issue.update [changed is state]
            left over: Triage
        when a Linear issue is moved back to In Progress by Ana Silva
            mapped
            linear:Issue.update [changed is state; state is "In Progress"; actor is "Ana Silva"]
        when a Linear issue is created with the labels bug and urgent
            mapped
            linear:Issue.create [labels is bug; labels is urgent]
        when a Linear issue is created from Slack
            partial
            linear:Issue.create []
            left over: from Slack
        when someone other than the assignee completes a Linear issue
            partial
            linear:Issue.update [changed is state; state_type is completed]
            left over: someone other than the assignee
        when a Linear project's health changes to at risk
            mapped
            linear:Project.update [changed is health; health is "at risk"]
        when the priority of a Linear issue changes to anything but Low
            mapped
            linear:Issue.update [changed is priority; priority is_not low]
        when a Linear issue's priority is lowered
            partial
            linear:Issue.update [changed is priority]
            left over: is lowered
        when a Linear issue is assigned to anybody except Rowan Pike
            mapped
            linear:Issue.update [changed is assignee; assignee present; assignee is_not "Rowan Pike"]
        when someone assigns a Linear issue to Ana Silva
            mapped
            linear:Issue.update [changed is assignee; assignee present; assignee is "Ana Silva"]
        when a Linear issue is unassigned from Ana Silva
            partial
            linear:Issue.update [changed is assignee; assignee absent]
            left over: from Ana Silva
        when someone takes the "bug" label off a Linear issue
            mapped
            linear:Issue.update [label_removed_id present; label_removed is bug]
        when a Linear issue is added to the "Q3 Launch" project
            mapped
            linear:Issue.update [changed is project; project is "Q3 Launch"]
        when a Linear issue is moved to the Platform team
            mapped
            linear:Issue.update [changed is team; team is Platform]
        when a Linear issue in the Platform team is moved to Done by a human
            mapped
            linear:Issue.update [changed is state; team is Platform; state is Done; actor_kind is human]
        when an issue is filed in Linear for team KLN
            mapped
            linear:Issue.create [team is KLN]
        when a human creates a Linear issue in Triage
            mapped
            linear:Issue.create [state is Triage; author_kind is human]
        when a Linear issue is created already assigned to Rowan Pike
            mapped
            linear:Issue.create [assignees is "Rowan Pike"]
        when a Linear issue is marked as a duplicate
            mapped
            linear:Issue.update [changed is state; state is duplicate]
        when a Linear issue is reopened
            mapped
            linear:Issue.update [changed is state; changed is completed | canceled; state_type is_not completed | canceled]
        when a Linear issue's due date is set or changed
            mapped
            linear:Issue.update [changed is "due date"]
        when a Linear project's target date changes
            mapped
            linear:Project.update [changed is "target date"]
        when someone posts a project update in Linear whose health is "at risk"
            mapped
            linear:ProjectUpdate.create [health is "at risk"]
        when a Linear comment thread is resolved
            mapped
            linear:Comment.update [changed is resolved; state_type is resolved]
        when someone replies to a Linear comment
            mapped
            linear:Comment.create [reply is true]
        when a customer request is created in Linear
            mapped
            linear:CustomerNeed.create []
        when a Linear label is renamed
            mapped
            linear:IssueLabel.update [changed is name]
        when a Linear issue is moved to Done or its pull request is merged
            mapped
            linear:Issue.update [changed is state; state is Done]
            github:pull_request.closed git:merge.* [merged is true]"#]].assert_eq(&table(&[
        "when somebody moves an issue in Linear into In Progress",
        "when somebody (not an integration) marks a Linear issue Done",
        "when a Linear issue is moved from Triage to Backlog",
        "when a Linear issue leaves Triage",
        "when a Linear issue is moved back to In Progress by Ana Silva",
        "when a Linear issue is created with the labels bug and urgent",
        "when a Linear issue is created from Slack",
        "when someone other than the assignee completes a Linear issue",
        "when a Linear project's health changes to at risk",
        "when the priority of a Linear issue changes to anything but Low",
        "when a Linear issue's priority is lowered",
        "when a Linear issue is assigned to anybody except Rowan Pike",
        "when someone assigns a Linear issue to Ana Silva",
        "when a Linear issue is unassigned from Ana Silva",
        "when someone takes the \"bug\" label off a Linear issue",
        "when a Linear issue is added to the \"Q3 Launch\" project",
        "when a Linear issue is moved to the Platform team",
        "when a Linear issue in the Platform team is moved to Done by a human",
        "when an issue is filed in Linear for team KLN",
        "when a human creates a Linear issue in Triage",
        "when a Linear issue is created already assigned to Rowan Pike",
        "when a Linear issue is marked as a duplicate",
        "when a Linear issue is reopened",
        "when a Linear issue's due date is set or changed",
        "when a Linear project's target date changes",
        "when someone posts a project update in Linear whose health is \"at risk\"",
        "when a Linear comment thread is resolved",
        "when someone replies to a Linear comment",
        "when a customer request is created in Linear",
        "when a Linear label is renamed",
        "when a Linear issue is moved to Done or its pull request is merged",
    ]));
}
