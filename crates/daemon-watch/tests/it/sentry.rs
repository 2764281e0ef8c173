//! What lines about events of Sentry mean.

use expect_test::expect;

use crate::table::table;

#[test]
fn sentry_is_read_with_its_levels_projects_and_rules() {
    expect![[r#"
        when a new Sentry issue with level fatal appears in the checkout-web project
            mapped
            sentry:issue.created [level is fatal; project is checkout-web]
        when a Sentry issue of level error or fatal is created in a project other than kiln-core
            mapped
            sentry:issue.created [level is error | fatal; project is_not kiln-core]
        when a resolved Sentry issue comes back as a regression
            mapped
            sentry:issue.unresolved [substatus is regressed]
        when a Sentry issue becomes unresolved
            mapped
            sentry:issue.unresolved []
        when a Sentry issue regresses in production
            partial
            sentry:issue.unresolved [substatus is regressed]
            left over: in production
        when the "Kiln down" Sentry alert fires
            mapped
            sentry:event_alert.triggered sentry:metric_alert.critical sentry:metric_alert.warning sentry:activity_alert.triggered [name is "Kiln down"]
        when the Sentry alert rule "p95 latency" is triggered in production
            mapped
            sentry:event_alert.triggered sentry:metric_alert.critical sentry:metric_alert.warning [name is "p95 latency"; environment is production]
        when a Sentry metric alert for the checkout-web project goes critical
            mapped
            sentry:metric_alert.critical [project is checkout-web]
        when a Sentry issue is resolved or a metric alert in Sentry is
            mapped
            sentry:issue.resolved []
            sentry:metric_alert.resolved []
        when a Sentry alert fires or the pager goes off
            partial
            sentry:event_alert.triggered sentry:metric_alert.critical sentry:metric_alert.warning sentry:activity_alert.triggered []
            left over: the pager goes off"#]].assert_eq(&table(&[
        "when a new Sentry issue with level fatal appears in the checkout-web project",
        "when a Sentry issue of level error or fatal is created in a project other than kiln-core",
        "when a resolved Sentry issue comes back as a regression",
        "when a Sentry issue becomes unresolved",
        "when a Sentry issue regresses in production",
        "when the \"Kiln down\" Sentry alert fires",
        "when the Sentry alert rule \"p95 latency\" is triggered in production",
        "when a Sentry metric alert for the checkout-web project goes critical",
        "when a Sentry issue is resolved or a metric alert in Sentry is",
        "when a Sentry alert fires or the pager goes off",
    ]));
}
