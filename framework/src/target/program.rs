//! A program of an implementation, as a profile says how it is started. Starting it is left to others.

use serde::{Deserialize, Serialize};

use super::Timings;

/// One program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Program {
    /// What it is called in messages.
    pub name: String,
    /// The program and its arguments. `{{kubeconfig}}` stands for the path of a kubeconfig of the control plane, `{{port}}`
    /// for a port that is free, and the name of a timing, like `{{failureThreshold}}`, for that of the profile.
    pub command: Vec<String>,
    /// It is ready when a request for this path at its port is answered with 200; where nothing is said, at once.
    #[serde(default)]
    pub ready: Option<String>,
}

impl Program {
    /// The command with what its marks stand for. Timings are written in milliseconds, as `3000ms`.
    ///
    /// # Errors
    /// A mark that stands for nothing.
    pub fn filled(&self, timings: &Timings, kubeconfig: &str, port: u16) -> Result<Vec<String>, String> {
        self.command.iter().map(|part| fill(part, timings, kubeconfig, port)).collect()
    }
}

fn fill(part: &str, timings: &Timings, kubeconfig: &str, port: u16) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = part;
    while let Some((before, marked)) = rest.split_once("{{") {
        let (name, after) =
            marked.split_once("}}").ok_or_else(|| format!("`{part}` has `{{{{` without `}}}}`"))?;
        filled.push_str(before);
        filled.push_str(&match name.trim() {
            "kubeconfig" => kubeconfig.to_owned(),
            "port" => port.to_string(),
            name => {
                let unknown = || {
                    format!(
                        "`{{{{{name}}}}}` stands for nothing: kubeconfig, port, or a timing of the profile"
                    )
                };
                format!("{}ms", timings.get(name).ok_or_else(unknown)?.as_millis())
            }
        });
        rest = after;
    }
    Ok(filled + rest)
}
