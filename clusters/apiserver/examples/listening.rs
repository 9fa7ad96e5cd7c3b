//! An API server for kubectl: prints its kubeconfig, and serves until Ctrl-C.
//!
//! ```text
//! cargo run -p capsize-apiserver --example listening > kubeconfig.yaml &
//! kubectl --kubeconfig kubeconfig.yaml get namespaces
//! ```

use std::error::Error;

use capsize_apiserver::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listening = Server::builder().build().listen("127.0.0.1:0").await?;
    println!("{}", listening.kubeconfig());
    tokio::signal::ctrl_c().await?;
    listening.stop().await;
    Ok(())
}
