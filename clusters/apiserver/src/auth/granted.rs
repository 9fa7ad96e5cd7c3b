//! The permissions of a cluster, read again after a role or a binding was written.

use std::sync::Arc;

use super::grants::Grants;
use crate::state::State;

/// The grants of the cluster, read again where a role or a binding was written since they were last.
pub(crate) fn grants(state: &mut State) -> Arc<Grants> {
    if let Some(grants) = &state.grants {
        return grants.clone();
    }
    let grants = Arc::new(Grants::read(&state.store));
    state.grants = Some(grants.clone());
    grants
}
