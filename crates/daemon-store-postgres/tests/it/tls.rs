//! Connections with TLS, to a server whose certificate the authority in `tls/authority.pem` has signed.

use std::path::Path;
use std::time::Duration;

use daemon_store::{Hosting as _, StoreError};
use daemon_store_postgres::{PostgresOptions, PostgresStore};

use crate::server::{runtime, server, with_client};

fn options(port: u16, authority: &str) -> PostgresOptions {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tls");
    PostgresOptions {
        authorities: Some(folder.join(authority)),
        ..PostgresOptions::new(
            format!("host=localhost hostaddr=127.0.0.1 port={port} user=test dbname=postgres"),
            "one",
        )
    }
}

#[test]
fn connections_to_a_server_with_a_known_authority_are_encrypted() {
    let Some(mut server) = server() else {
        return;
    };
    let port = server.restart_with_tls();
    runtime().block_on(async {
        let store = PostgresStore::open(&options(port, "authority.pem"))
            .await
            .unwrap();
        store.probe().await.unwrap();
        let address = format!("{} port={port}", server.address("public"));
        let encrypted = with_client(&address, async |client| {
            let sql = "SELECT bool_and(s.ssl) FROM pg_stat_ssl AS s JOIN pg_stat_activity AS a USING (pid) \
                 WHERE a.application_name = 'daemon-run'";
            let row = client.query_one(sql, &[]).await.unwrap();
            row.get::<_, Option<bool>>(0)
        });
        assert_eq!(encrypted.await, Some(true));
    });
}

#[test]
fn a_server_with_another_authority_is_refused_at_once() {
    let Some(mut server) = server() else {
        return;
    };
    let port = server.restart_with_tls();
    runtime().block_on(async {
        let options = options(port, "other-authority.pem");
        // A connection that is tried again fails after 4.6 seconds at the earliest.
        let refused = tokio::time::timeout(Duration::from_secs(4), PostgresStore::open(&options));
        let StoreError::Unavailable {
            source: Some(error),
            ..
        } = refused.await.unwrap().unwrap_err()
        else {
            panic!("the certificate is the reason");
        };
        assert_eq!(
            error.source().unwrap().to_string(),
            "invalid peer certificate: UnknownIssuer"
        );
    });
}
