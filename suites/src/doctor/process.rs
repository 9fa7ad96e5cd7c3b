//! Findings about the programs of members that are processes.

use capsize_real::{Asset, Assets, NoAsset};

use super::finding::Finding;
use crate::providers::ProviderName;

/// Both programs.
pub(super) fn look() -> Vec<Finding> {
    [Asset::Etcd, Asset::KubeApiserver].map(program).into()
}

fn program(asset: Asset) -> Finding {
    let missing =
        |seen: String, todo: &str| Finding::wrong(asset.name(), seen, &[ProviderName::Process], todo);
    let path = match asset.find() {
        Ok(path) => path,
        Err(NoAsset { looked, .. }) => {
            let todo = "`setup-envtest use` fetches it: say in KUBEBUILDER_ASSETS where to";
            return missing(looked.join(", "), todo);
        }
    };
    match Assets::version(&path) {
        Ok(version) => Finding::good(asset.name(), format!("{}: {version}", path.display())),
        Err(error) => {
            missing(format!("{} does not run: {error}", path.display()), "fetch it anew, for this machine")
        }
    }
}
