//! The profile of an implementation, as a YAML file, and the choice of one for a history.

use std::collections::BTreeSet;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{Program, Timings, Zones};
use crate::YamlError;
use capsize_history::dialect::DialectKind;
use capsize_history::{LONGEST, Mark, misspelt};

/// Something that not every implementation does; a guarantee that needs it is skipped where it is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Feature {
    /// Members are probed or report by themselves, and are tainted `NoSchedule` by what that says.
    HealthProbes,
    /// `NoExecute` taints evict what does not tolerate them.
    NoExecuteTaints,
    /// A member that is not ready for long enough gets a `NoExecute` taint without anybody asking for it.
    AutomaticNoExecute,
    /// Policies of the user add and remove taints by a member's conditions.
    ClusterTaintPolicies,
    /// Policies without tolerations of the health taints get them, for a limited time.
    DefaultTolerations,
    /// An old copy stays until its replacement is healthy, or a timeout has passed.
    GracefulEviction,
    /// A member is not chosen again while an eviction from it is under way.
    EvictedNotRechosen,
    /// Placement honours spread constraints on the number of members.
    SpreadConstraints,
    /// Placement divides replicas by static weights.
    StaticWeights,
    /// Replicas are divided by static weights seat by seat, so that one more costs no member one; without it, the
    /// largest weights get what is left over.
    MonotoneWeights,
    /// Of members that are equal but for their room, those that come first by name are chosen.
    NewcomersByName,
    /// A member whose share of the replicas comes to nothing is left out.
    LeavesOutEmptyShares,
    /// Placement divides replicas by the room that members have, over all of them or over few.
    WeightsByRoom,
    /// Placement honours spread constraints on the number of regions.
    SpreadOverRegions,
    /// Placement honours spread constraints on the number of zones, or of providers.
    SpreadOverZones,
    /// Placement chooses members by provider, region and zone.
    FieldAffinity,
    /// Placement tries several choices of members one after another.
    AffinityGroups,
    /// Somebody can call for workloads to be placed from scratch.
    Rebalances,
    /// What the preferred members have no room for goes to others.
    OverflowAffinities,
    /// Workloads of a group go together, or apart.
    WorkloadAffinity,
    /// A workload can be made different in some members.
    Overrides,
    /// Policies say what becomes of the copies on a member that fails.
    PurgeModes,
    /// A workload that stays unhealthy leaves its member, though that is well; purge modes are called as from 1.15.
    ApplicationFailover,
    /// A new copy of a workload is told of the old one.
    PreservedState,
    /// What a copy left to a new one goes on to the next if the new one never worked.
    HandsOnState,
    /// A template may leave its replicas to the members.
    RetainedReplicas,
    /// Policies say what becomes of objects that members already have.
    ConflictResolution,
    /// Policies hold back what would be written to members.
    SuspendedDispatching,
    /// Policies let members keep what they have when its template goes.
    PreservedResources,
    /// Members may have an agent that reaches out to the control plane, and its silence is noticed.
    PullMembers,
    /// A member that comes back with what it held once, or with nothing, gets what is written for it, though its versions have
    /// gone back.
    MembersGoBack,
    /// Namespaces of the control plane are in every member.
    NamespaceSync,
    /// A policy can take templates away from one of lower priority.
    PolicyPreemption,
    /// What changes in a policy can wait until its templates change.
    LazyActivation,
    /// What a workload depends on goes where the workload goes.
    PropagatesDependencies,
    /// What a workload depends on stays in a member until the workload has left it.
    KeepsDependencies,
    /// Services of a member can be used in others.
    MultiClusterServices,
    /// An autoscaler that no policy has claimed is in the members that its workload is in.
    CopiesAutoscalers,
    /// Replicas that autoscalers in the members ask for stay, and are made the template's.
    FollowsAutoscalers,
    /// Members that are not ready get a `NoExecute` taint one after the other, zone by zone, as fast as the state of the
    /// zone allows.
    ZonedEvictions,
    /// Members that stay not ready lose what they carry after a time (`failoverEvictionTimeout`), one after the other, zone by
    /// zone, without a taint.
    DrainsAfterTimeout,
    /// Members with a label for it do not count when it is judged how ill their zone is.
    ExcludesByLabel,
    /// What is evicted for a taint says so before it goes.
    TellsDisruption,
    /// What comes to a member that is not ready counts as not ready, too.
    MarksNewcomers,
    /// Of two labels of a member that say the same, the stable one leads, and the beta one follows.
    StableLabelsLead,
}

/// How an implementation is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Start {
    /// Capsize's own controllers, in this process.
    Reference,
    /// Programs of their own, started one after another in real time, on a fleet that they reach by sockets.
    Processes(Vec<Program>),
    /// It runs already; whoever starts the suite says where.
    External,
}

/// Who an implementation is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// The name it is called by: `--target`.
    pub name: String,
    /// What it is: `karmada`, `reference`.
    pub implementation: String,
    /// The release it was written for: `1.18`.
    pub version: String,
    /// The first release for which it holds.
    pub from: String,
    /// What it does.
    pub features: BTreeSet<Feature>,
    /// Its times.
    pub timings: Timings,
    /// How it is started.
    pub start: Start,
    /// The release that Capsize's own controllers behave like; where nothing is said, they are as they should be.
    #[serde(default)]
    pub behaviour: Option<String>,
    /// What Capsize's own controllers are to do wrong, by name.
    #[serde(default)]
    pub bugs: BTreeSet<String>,
    /// The objects that it works on.
    #[serde(default)]
    pub dialect: DialectKind,
    /// How fast members of a zone are tainted (with `ZonedEvictions`).
    #[serde(default)]
    pub zones: Option<Zones>,
}

/// A profile that cannot be had.
#[derive(Debug, Error, Diagnostic)]
pub enum ProfileError {
    /// The YAML is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(Box<YamlError>),
    /// The file could not be read.
    #[error("{file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        reason: String,
    },
    /// Nobody is called that.
    #[error("there is no target `{name}`: there are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The header of a history is of no implementation that is known.
    #[error("no profile is shipped for {implementation} {version}: name one with --target ({known})")]
    NoneFor {
        /// As the header says.
        implementation: String,
        /// As the header says.
        version: String,
        /// What there is.
        known: String,
    },
    /// The header of a history names no implementation.
    #[error("the header names no implementation: name a target with --target ({known})")]
    Unnamed {
        /// What there is.
        known: String,
    },
    /// The header of a history gives a timing that there is not.
    #[error("`seconds.{name}` of the header is no timing: did you mean `{meant}`? There are {known}")]
    Timing {
        /// As the header says.
        name: String,
        /// What it is likely to stand for.
        meant: &'static str,
        /// What there is.
        known: String,
    },
    /// The header of a history has a field that is not what it should be.
    #[error("`{field}` of the header is {found}: it should be {wanted}")]
    Header {
        /// The field.
        field: String,
        /// What is there.
        found: String,
        /// What should be.
        wanted: &'static str,
    },
}

impl ProfileError {
    /// What is wrong with a timing that there is not; `None` where it looks like no other: recorders may give some of their own.
    fn timing(name: &str) -> Option<Self> {
        let known: Vec<&'static str> =
            Timings::NAMES.into_iter().chain(Timings::ALSO).chain(Zones::FLAGS).collect();
        let meant = misspelt(name, &known)?;
        Some(Self::Timing { name: name.to_owned(), meant, known: known.join(", ") })
    }
}

/// What recorders tell of what they recorded, and no guarantee asks for.
const PASSED_OVER: [&str; 4] =
    ["healthCheckPeriod", "leaseDurationSeconds", "statusSyncInterval", "tolerationSeconds"];

/// Whether the header of a history may give a timing of this name, though nothing follows from it: the flags that are about zones
/// count where there are zones.
fn is_passed_over(name: &str) -> bool {
    PASSED_OVER.contains(&name) || Zones::FLAGS.contains(&name)
}

impl Profile {
    /// Reads the profile in `text`, called `file` in errors.
    ///
    /// # Errors
    /// [`ProfileError::Invalid`], which shows the place.
    pub fn parse(file: &str, text: &str) -> Result<Self, ProfileError> {
        serde_saphyr::from_str(text)
            .map_err(|error| ProfileError::Invalid(Box::new(YamlError::of_yaml(file, text, &error))))
    }

    /// Whether it does `feature`.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// This profile with what `header`, the first mark of a history, says about its settings.
    ///
    /// # Errors
    /// [`ProfileError::Header`] where a setting is not of its type.
    pub fn overlaid(mut self, header: &Mark) -> Result<Self, ProfileError> {
        let wrong = |field: &str, found: &Value, wanted| ProfileError::Header {
            field: field.to_owned(),
            found: found.to_string(),
            wanted,
        };
        if let Some(seconds) = header.get("seconds") {
            let given =
                seconds.as_object().ok_or_else(|| wrong("seconds", seconds, "an object of numbers"))?;
            for (name, value) in given {
                let seconds = value.as_f64().and_then(|s| std::time::Duration::try_from_secs_f64(s).ok());
                let seconds = seconds.filter(|seconds| *seconds <= LONGEST).ok_or_else(|| {
                    wrong(&format!("seconds.{name}"), value, "a number of seconds, zero or more")
                })?;
                let of_zones = self.zones.as_mut().is_some_and(|zones| zones.set(name, value));
                if !of_zones && !self.timings.set(name, seconds) && !is_passed_over(name) {
                    ProfileError::timing(name).map_or(Ok(()), Err)?;
                }
            }
        }
        let switches = [
            ("automaticNoExecute", Feature::AutomaticNoExecute),
            ("clusterTaintPolicies", Feature::ClusterTaintPolicies),
        ];
        for (field, feature) in switches {
            match header.get(field) {
                None => {}
                Some(Value::Bool(true)) => drop(self.features.insert(feature)),
                Some(Value::Bool(false)) => drop(self.features.remove(&feature)),
                Some(other) => return Err(wrong(field, other, "true or false")),
            }
        }
        if let Some(off) = header.get("off") {
            let off: Vec<Feature> =
                serde_json::from_value(off.clone()).map_err(|_| wrong("off", off, "a list of features"))?;
            self.features.retain(|feature| !off.contains(feature));
        }
        Ok(self)
    }
}

/// The profiles that are known.
#[derive(Clone, Debug, Default)]
pub struct Profiles(Vec<Profile>);

impl Profiles {
    /// These profiles.
    #[must_use]
    pub fn new(profiles: Vec<Profile>) -> Self {
        Self(profiles)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.0.iter()
    }

    /// The profile called `name`.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`].
    pub fn named(&self, name: &str) -> Result<&Profile, ProfileError> {
        self.0
            .iter()
            .find(|profile| profile.name == name)
            .ok_or_else(|| ProfileError::Unknown { name: name.to_owned(), known: self.names() })
    }

    /// The profile for the implementation and release that `header`, the first mark of a history, names: the one
    /// that holds from the latest release not after it; or the one that it names as its target.
    ///
    /// # Errors
    /// [`ProfileError::Unnamed`] and [`ProfileError::NoneFor`].
    pub fn of(&self, header: &Mark) -> Result<&Profile, ProfileError> {
        let text = |key: &str| header.get(key).and_then(Value::as_str).unwrap_or_default();
        let (implementation, version) = (text("implementation"), text("version"));
        if let Ok(named) = self.named(text("target")) {
            return Ok(named);
        }
        if implementation.is_empty() {
            return Err(ProfileError::Unnamed { known: self.names() });
        }
        self.0
            .iter()
            .filter(|profile| profile.implementation == implementation)
            .filter(|profile| release(&profile.from) <= release(version))
            .max_by_key(|profile| release(&profile.from))
            .ok_or_else(|| ProfileError::NoneFor {
                implementation: implementation.to_owned(),
                version: version.to_owned(),
                known: self.names(),
            })
    }

    fn names(&self) -> String {
        self.0.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// `v1.18.2` as numbers that compare as releases do.
fn release(version: &str) -> Vec<u64> {
    version.trim_start_matches('v').split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}
