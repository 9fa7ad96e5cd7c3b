//! Permission to use a cluster, by its context and the UID of its namespace kube-system.

use std::fmt;
use std::str::FromStr;

/// A cluster that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedCluster {
    /// Its context in the kubeconfig.
    pub context: String,
    /// The UID of its kube-system namespace.
    pub uid: String,
}

/// A text that does not name a cluster by both.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write CONTEXT=UID; `kubectl --context CONTEXT get namespace kube-system -o jsonpath={{.metadata.uid}}` prints the UID"
)]
pub struct NotAllowed;

impl FromStr for AllowedCluster {
    type Err = NotAllowed;

    fn from_str(text: &str) -> Result<Self, NotAllowed> {
        // Names of contexts may contain `=`, UIDs do not.
        let (context, uid) = text.rsplit_once('=').ok_or(NotAllowed)?;
        if context.is_empty() || uid.is_empty() {
            return Err(NotAllowed);
        }
        Ok(Self { context: context.to_owned(), uid: uid.to_owned() })
    }
}

impl fmt::Display for AllowedCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.context, self.uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_allowed_by_both_its_names() {
        let allowed: AllowedCluster = "team=a/m1=0a1b".parse().unwrap();
        assert_eq!((&*allowed.context, &*allowed.uid), ("team=a/m1", "0a1b"));
        assert_eq!(allowed.to_string(), "team=a/m1=0a1b");
        for wrong in ["m1", "m1=", "=0a1b", ""] {
            assert_eq!(wrong.parse::<AllowedCluster>(), Err(NotAllowed), "{wrong}");
        }
    }
}
