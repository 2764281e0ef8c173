//! What lines about events of Slack mean.

use expect_test::expect;

use crate::table::table;

#[test]
fn slack_is_read_with_its_channels_people_and_files() {
    expect![[r#"
        when a message in channel C0123ABCD is edited
            mapped
            slack:message.* [message_kind is edited; channel_id is C0123ABCD]
        when a Slack message that mentions "postgres" is posted outside #random
            mapped
            slack:message.* [message_kind is posted; comment contains postgres; channel is_not random]
        when a message that is not from a bot is posted in #help
            mapped
            slack:message.* [message_kind is posted; author_kind is_not bot; channel is help]
        when a bot other than @deploybot posts in #deploys
            mapped
            slack:message.* [message_kind is posted; channel is deploys; author_kind is bot; author is_not deploybot]
        when somebody's message in Slack includes "deploy failed"
            mapped
            slack:message.* [message_kind is posted; comment contains "deploy failed"]
        when someone in Slack mentions our bot
            mapped
            slack:app_mention.* []
        when someone @mentions the bot in a thread
            mapped
            slack:app_mention.* [reply is true]
        when someone messages the bot directly on Slack
            mapped
            slack:message.* [message_kind is posted | reply; channel_kind is im]
        when a :eyes: or :fire: reaction is added to a Slack message
            mapped
            slack:reaction_added.* [reaction is eyes | fire]
        when a file is shared in Slack
            mapped
            slack:message.* [subtype is file_share]
            slack:file_shared.* []
        when a file is uploaded in #design-reviews by a human
            mapped
            slack:message.* [subtype is file_share; channel is design-reviews; actor_kind is human]
            slack:file_shared.* [channel is design-reviews; actor_kind is human]
        when a channel's topic is changed in Slack
            mapped
            slack:message.* [subtype is channel_topic | group_topic]
        when the channel #eng in Slack gets a new member
            mapped
            slack:member_joined_channel.* [channel is eng]
        when a new member joins #kiln-room
            mapped
            slack:member_joined_channel.* [channel is kiln-room]
        when a user group is updated in Slack
            mapped
            slack:subteam_updated.* []
        when somebody changes their Slack status
            mapped
            slack:user_status_changed.* []
        when a huddle starts in #standup
            mapped
            slack:message.* [subtype is huddle_thread; channel is standup]
        when more than five messages are posted in #incidents in ten minutes
            partial
            slack:message.* [message_kind is posted; channel is incidents]
            left over: more than five
            left over: in ten minutes"#]].assert_eq(&table(&[
        "when a message in channel C0123ABCD is edited",
        "when a Slack message that mentions \"postgres\" is posted outside #random",
        "when a message that is not from a bot is posted in #help",
        "when a bot other than @deploybot posts in #deploys",
        "when somebody's message in Slack includes \"deploy failed\"",
        "when someone in Slack mentions our bot",
        "when someone @mentions the bot in a thread",
        "when someone messages the bot directly on Slack",
        "when a :eyes: or :fire: reaction is added to a Slack message",
        "when a file is shared in Slack",
        "when a file is uploaded in #design-reviews by a human",
        "when a channel's topic is changed in Slack",
        "when the channel #eng in Slack gets a new member",
        "when a new member joins #kiln-room",
        "when a user group is updated in Slack",
        "when somebody changes their Slack status",
        "when a huddle starts in #standup",
        "when more than five messages are posted in #incidents in ten minutes",
    ]));
}
