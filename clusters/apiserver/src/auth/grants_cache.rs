//! The cached permissions of a cluster, rebuilt after a role or a binding was written.

use std::sync::Arc;

use super::grants::Grants;
use crate::state::State;

/// The permissions of the cluster; rebuilt if a role or a binding was written since the last use.
pub(crate) fn grants(state: &mut State) -> Arc<Grants> {
    if let Some(grants) = &state.grants {
        return grants.clone();
    }
    let grants = Arc::new(Grants::read(&state.store));
    state.grants = Some(grants.clone());
    grants
}
