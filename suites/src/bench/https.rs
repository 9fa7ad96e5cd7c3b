//! Measures how fast the API server is over HTTPS.
//! The figure is the number of creates a second on loopback, with the clients in the same process.

use std::time::{Duration, Instant};

use capsize_apiserver::Server;
use capsize_clock::{Seed, live};
use futures::future::try_join_all;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;

use crate::exit::{CommandError, environment_error};

/// How many connections create, each one object after the other.
const CONNECTIONS: usize = 16;

/// How long is measured, after as long a time for warming up.
const MEASURED: Duration = Duration::from_secs(1);

/// How many small config maps a second are created.
///
/// # Errors
/// When this machine gives no port, or a create is refused.
pub(crate) fn creates_a_second() -> Result<String, CommandError> {
    let measure = |_| async {
        let listening = Server::builder().build().listen("127.0.0.1:0").await.map_err(|e| e.to_string())?;
        let mut rate = 0.0;
        for round in ["warm", "measured"] {
            let start = now();
            let mut writers = Vec::new();
            for writer in 0..CONNECTIONS {
                // A client of its own has a connection of its own.
                let client = listening.client().await.map_err(|error| error.to_string())?;
                let prefix = format!("{round}-{writer}");
                writers.push(async move { tokio::spawn(create(client, prefix, start)).await });
            }
            let created = try_join_all(writers).await.map_err(|error| error.to_string())?;
            let created = created.into_iter().sum::<Result<u32, String>>()?;
            rate = f64::from(created) / start.elapsed().as_secs_f64();
        }
        listening.stop().await;
        Ok(rate)
    };
    let rate = live(Seed(1), 1.0, measure).unwrap_or_else(|error| Err(error.to_string()));
    let rate = rate.map_err(|why: String| environment_error!("cannot measure over HTTPS: {why}"))?;
    Ok(format!("{rate:.0}/s"))
}

/// Creates objects whose names begin with `prefix`, for as long as is measured.
async fn create(client: Client, prefix: String, start: Instant) -> Result<u32, String> {
    let mut created = 0;
    while start.elapsed() < MEASURED {
        let object = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{prefix}-{created}"}},"data":{{"key":"value"}}}}"#
        );
        let request = http::Request::post("/api/v1/namespaces/default/configmaps")
            .header("content-type", "application/json")
            .body(Body::from(object.into_bytes()))
            .map_err(|error| error.to_string())?;
        let answer = client.send(request).await.map_err(|error| error.to_string())?;
        if answer.status() != http::StatusCode::CREATED {
            return Err(format!("a create was answered {}", answer.status()));
        }
        answer.into_body().collect().await.map_err(|error| error.to_string())?;
        created += 1;
    }
    Ok(created)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn now() -> Instant {
    Instant::now()
}
