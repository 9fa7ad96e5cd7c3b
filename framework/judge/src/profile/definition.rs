//! The features that an implementation may have, its profile in YAML, and the choice of a profile.

use std::collections::BTreeSet;

use miette::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{KnownDeviation, Program, Project, Timings, Zones};
use crate::YamlError;
use capsize_history::dialect::DialectKind;
use capsize_history::{LONGEST, Mark, misspelt, read_yaml};

/// A capability that not every implementation has. A guarantee that needs a missing feature is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Feature {
    /// Members are probed or report by themselves, and get `NoSchedule` taints by the result.
    HealthProbes,
    /// `NoExecute` taints evict workloads that do not tolerate them.
    NoExecuteTaints,
    /// A member that stays not ready for long enough gets a `NoExecute` taint without a request.
    AutomaticNoExecute,
    /// Policies of the user add and remove taints by the conditions of a member.
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
    /// Static weights divide replicas by the Webster method.
    /// With this method, an additional replica takes none from any member. Without this feature, the largest weights
    /// get the remainder.
    MonotoneWeights,
    /// Among members that are equal except for their room, the first ones by name are chosen.
    NewcomersByName,
    /// A member with an empty share of the replicas is left out.
    LeavesOutEmptyShares,
    /// Placement divides replicas by the room of the members, over all of them or over few.
    WeightsByRoom,
    /// Placement honours spread constraints on the number of regions.
    SpreadOverRegions,
    /// Placement honours spread constraints on the number of zones, or of providers.
    SpreadOverZones,
    /// Placement chooses members by provider, region and zone.
    FieldAffinity,
    /// Placement tries several choices of members one after another.
    AffinityGroups,
    /// A user can request that workloads are placed from scratch.
    Rebalances,
    /// A request for a placement from scratch begins again at the first affinity group.
    RebalancesFromTheFirst,
    /// A workload without room is tried again only after a fixed time, even if room appears before.
    WaitsForRoom,
    /// Of several workloads that wait for room, the one with the highest priority is placed first.
    PlacesByPriority,
    /// Replicas for which the preferred members have no room go to other members.
    OverflowAffinities,
    /// Remedies of users request actions for members, by the conditions of the members.
    Remedies,
    /// A workload leaves a member that no longer serves its kind.
    /// It stays if the member may have reported too few kinds.
    LeavesUnservedKinds,
    /// Workloads of an affinity group are placed together, or apart.
    WorkloadAffinity,
    /// A workload can be changed for some members.
    Overrides,
    /// Policies decide about the copies on a member that fails.
    PurgeModes,
    /// `Immediately` and `Graciously` are names of purge modes, too.
    FormerPurgeModes,
    /// A workload that stays unhealthy leaves its member, even if the member is healthy.
    /// Purge modes have the names of 1.15 and later.
    ApplicationFailover,
    /// A new copy of a workload gets the preserved state of the old one.
    PreservedState,
    /// State that was preserved for a copy is not lost if the copy never became healthy.
    /// The state is passed on to the next copy.
    HandsOnState,
    /// Copies that were edited or deleted in a member are repaired even while the member is not ready.
    RepairsUnreadyMembers,
    /// A template may leave the number of replicas to the members.
    RetainedReplicas,
    /// Policies decide about objects that already exist in members.
    ConflictResolution,
    /// Policies can suspend the writes to members.
    SuspendedDispatching,
    /// Policies let members keep their copies when the template is deleted.
    PreservedResources,
    /// Members may have an agent that connects to the control plane, and its silence is detected.
    PullMembers,
    /// A member that returns with old data, or without data, gets its copies again.
    /// This holds although its versions have gone back.
    MembersGoBack,
    /// Namespaces of the control plane are created in every member.
    NamespaceSync,
    /// A policy can take templates away from one of lower priority.
    PolicyPreemption,
    /// Changes of a policy can wait until its templates change.
    LazyActivation,
    /// The dependencies of a workload are propagated with the workload.
    PropagatesDependencies,
    /// The dependencies of a workload stay in a member until the workload has left it.
    KeepsDependencies,
    /// Services of a member can be used in others.
    MultiClusterServices,
    /// An autoscaler without a policy is copied to the members of its workload.
    CopiesAutoscalers,
    /// Replica counts of autoscalers in the members are kept, and written to the template.
    FollowsAutoscalers,
    /// Members that are not ready get a `NoExecute` taint one by one in each zone.
    /// The rate depends on the state of the zone.
    ZonedEvictions,
    /// Members that stay not ready lose their pods after a time (`failoverEvictionTimeout`).
    /// The members follow one by one in each zone, without a taint.
    DrainsAfterTimeout,
    /// Members with an exclusion label do not count for the state of their zone.
    ExcludesByLabel,
    /// A pod that is evicted for a taint gets a condition before its deletion.
    TellsDisruption,
    /// New pods on a member that is not ready are marked as not ready, too.
    MarksNewcomers,
    /// Members renew a lease, and become Unknown by the silence that its renewals show.
    LeaseHeartbeats,
    /// The lease of a member is checked at the moment when its grace period ends.
    /// Without this feature, the control plane checks each lease once in a grace period.
    ChecksLeasesAtExpiry,
    /// A member that recovers becomes Ready once, and stays so until the next silence.
    SteadyRecovery,
    /// The time on a health taint is the time at which the taint was set.
    TruthfulTaintTimes,
    /// A member that is not ready is not newly chosen, whatever is tolerated.
    AvoidsUnreadyMembers,
    /// A member that is chosen again after an outage keeps the copy that it still has.
    KeepsChosenCopies,
    /// While no member is ready, nothing is evicted.
    HaltsWhenNoneReady,
    /// A move from a member that can be reached waits until the new copy is ready.
    ReplacesBeforeRemoval,
    /// A copy that was replaced during an outage is removed when its member is back.
    RemovesLeftCopies,
    /// A copy that somebody makes the copy of another manifest is reported as not applied.
    ReportsTakenCopies,
    /// A copy in a member that is Unknown is not reported as available.
    ReportsLostCopies,
    /// The record of a workload reports whether its rollout is complete.
    ReportsRollouts,
    /// The stable label of a member is copied to its beta label.
    /// This concerns a member that has a stable and a beta label for the same value.
    StableLabelsLead,
}

/// The way in which an implementation is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Start {
    /// Capsize's own controllers, in this process.
    Reference,
    /// Separate programs, started one by one in real time, on a fleet that they reach by sockets.
    Processes(Vec<Program>),
    /// The implementation runs already; the user passes its address.
    External,
}

/// The profile of an implementation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// The name for `--target`.
    pub name: String,
    /// The implementation: `karmada`, `reference`.
    pub implementation: String,
    /// The release for which the profile was written: `1.18`.
    pub version: String,
    /// The first release for which the profile holds.
    pub from: String,
    /// Its features.
    pub features: BTreeSet<Feature>,
    /// Its timings.
    pub timings: Timings,
    /// The way in which it is started.
    pub start: Start,
    /// The release whose behaviour Capsize's own controllers imitate.
    /// For programs it is the release whose webhooks and definitions Capsize provides. Without it, the release of the
    /// reference counts.
    #[serde(default)]
    pub behaviour: Option<String>,
    /// The bugs of Capsize's own controllers, by name.
    #[serde(default)]
    pub bugs: BTreeSet<String>,
    /// Whether its programs include the webhooks of the implementation.
    /// Otherwise Capsize does the work of webhooks.
    #[serde(default)]
    pub webhooks: bool,
    /// The dialect of its objects.
    #[serde(default)]
    #[schemars(with = "String")]
    pub dialect: DialectKind,
    /// The rates at which members of a zone are tainted (with `ZonedEvictions`).
    #[serde(default)]
    pub zones: Option<Zones>,
    /// The project that publishes the implementation, for conformance reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Project>,
    /// The deviations that the project knows. They change no verdict; conformance reports list them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<KnownDeviation>,
}

/// An error in a profile, or in the choice of one.
#[derive(Debug, Error, Diagnostic)]
pub enum ProfileError {
    /// The YAML is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(Box<YamlError>),
    /// The file could not be read.
    #[error("{file}: {reason}")]
    #[diagnostic(help(
        "`capsize new target FILE` writes a profile to begin with, and `capsize list --targets` lists the shipped ones"
    ))]
    Unreadable {
        /// The file.
        file: String,
        /// The error of the system.
        reason: String,
    },
    /// The profile promises a feature that its dialect cannot express.
    #[error(
        "{file}: the profile promises GracefulEviction, which needs objects that record evictions: a dialect that is data derives \
         evictions from taints"
    )]
    #[diagnostic(help(
        "remove GracefulEviction from `features`; ReplacesBeforeRemoval is for old copies that wait for new ones"
    ))]
    EvictionsNotRecorded {
        /// The file.
        file: String,
    },
    /// The profile promises renewals that its dialect does not read.
    #[error(
        "{file}: the profile promises LeaseHeartbeats, and its dialect {dialect} does not read when members renew"
    )]
    #[diagnostic(help("add `signOfLife` to the dialect, or remove LeaseHeartbeats from `features`"))]
    RenewalsNotRead {
        /// The file.
        file: String,
        /// The name of the dialect.
        dialect: String,
    },
    /// No profile has this name.
    #[error("there is no target `{name}`: there are {known}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
    /// The header of a history names an unknown implementation.
    #[error("no profile is shipped for {implementation} {version}: name one with --target ({known})")]
    NoneFor {
        /// The implementation in the header.
        implementation: String,
        /// The version in the header.
        version: String,
        /// The known names.
        known: String,
    },
    /// The header of a history names no implementation.
    #[error("the header names no implementation: name a target with --target ({known})")]
    Unnamed {
        /// The known names.
        known: String,
    },
    /// The header of a history has an unknown timing.
    #[error(
        "`seconds.{name}` of the header is not a timing: did you mean `{meant}`? The timings are {known}"
    )]
    Timing {
        /// The name in the header.
        name: String,
        /// The most similar name.
        meant: &'static str,
        /// The known names.
        known: String,
    },
    /// A field in the header of a history has the wrong type.
    #[error("`{field}` of the header is {found}: it should be {wanted}")]
    Header {
        /// The field.
        field: String,
        /// The value.
        found: String,
        /// The expected type.
        wanted: &'static str,
    },
}

impl ProfileError {
    /// Returns the error for an unknown timing.
    /// Returns `None` if the name is not similar to a known one, because recorders may add timings of their own.
    fn timing(name: &str) -> Option<Self> {
        let known: Vec<&'static str> =
            Timings::NAMES.into_iter().chain(Timings::ALIASES).chain(Zones::FLAGS).collect();
        let meant = misspelt(name, &known)?;
        Some(Self::Timing { name: name.to_owned(), meant, known: known.join(", ") })
    }
}

/// Names that recorders write and no guarantee needs.
const PASSED_OVER: [&str; 4] =
    ["healthCheckPeriod", "leaseDurationSeconds", "statusSyncInterval", "tolerationSeconds"];

/// Returns true if a header may contain a timing with this name, although it is ignored here.
/// The header is that of a history. The flags of zones only count for a profile with zones.
fn is_passed_over(name: &str) -> bool {
    PASSED_OVER.contains(&name) || Zones::FLAGS.contains(&name)
}

impl Profile {
    /// The JSON Schema of profiles.
    #[must_use]
    pub fn schema() -> schemars::Schema {
        schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Self>()
    }

    /// Reads the profile in `text`, called `file` in errors.
    ///
    /// # Errors
    /// [`ProfileError::Invalid`], which shows the place.
    pub fn parse(file: &str, text: &str) -> Result<Self, ProfileError> {
        read_yaml(text)
            .map_err(|error| ProfileError::Invalid(Box::new(YamlError::of_yaml(file, text, &error))))
    }

    /// Returns true if the implementation has `feature`.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// Returns true if the implementation is `release` or newer.
    #[must_use]
    pub fn is_at_least(&self, release: &str) -> bool {
        self::release(&self.version) >= self::release(release)
    }

    /// Returns this profile with the settings in `header`, the first mark of a history.
    ///
    /// # Errors
    /// [`ProfileError::Header`] if a setting has the wrong type.
    /// [`ProfileError::Timing`] if the name of a timing is misspelt.
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
        let listed = |field: &str| -> Result<Vec<Feature>, ProfileError> {
            let Some(list) = header.get(field) else { return Ok(Vec::new()) };
            serde_json::from_value(list.clone()).map_err(|_| wrong(field, list, "a list of features"))
        };
        let off = listed("off")?;
        self.features.retain(|feature| !off.contains(feature));
        self.features.extend(listed("promises")?);
        Ok(self)
    }
}

/// The known profiles.
#[derive(Clone, Debug, Default)]
pub struct Profiles(Vec<Profile>);

impl Profiles {
    /// Creates the collection of these profiles.
    #[must_use]
    pub fn new(profiles: Vec<Profile>) -> Self {
        Self(profiles)
    }

    /// All profiles.
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

    /// Returns the profile for the implementation and release in `header`, the first mark of a history.
    /// The profile is the one that the header names as its target, or else the one with the latest release that is not
    /// after the release in the header.
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
        self.of_release(implementation, version).ok_or_else(|| ProfileError::NoneFor {
            implementation: implementation.to_owned(),
            version: version.to_owned(),
            known: self.names(),
        })
    }

    /// Returns the profile of `implementation` for the release `version`.
    /// It is the one with the latest release that is not after `version`.
    #[must_use]
    pub fn of_release(&self, implementation: &str, version: &str) -> Option<&Profile> {
        self.0
            .iter()
            .filter(|profile| profile.implementation == implementation)
            .filter(|profile| release(&profile.from) <= release(version))
            .max_by_key(|profile| release(&profile.from))
    }

    /// Returns the profile that covers the release `version`.
    /// Returns it only if `implementation` has a profile of a later release, too. A release after the newest profile
    /// may behave in another way.
    #[must_use]
    pub fn covering(&self, implementation: &str, version: &str) -> Option<&Profile> {
        let is_later = |profile: &Profile| release(&profile.version) > release(version);
        let mut of_it = self.0.iter().filter(|profile| profile.implementation == implementation);
        of_it.any(is_later).then(|| self.of_release(implementation, version)).flatten()
    }

    /// Returns the newest profile of an implementation, if `header` names a newer release of it.
    /// Patch releases do not count.
    #[must_use]
    pub fn newest_if_older_than(&self, header: &Mark) -> Option<&Profile> {
        let text = |key: &str| header.get(key).and_then(Value::as_str).unwrap_or_default();
        let minor = |version: &str| release(version).into_iter().take(2).collect::<Vec<_>>();
        let of_it = self.0.iter().filter(|profile| profile.implementation == text("implementation"));
        let newest = of_it.max_by_key(|profile| release(&profile.version))?;
        (minor(text("version")) > minor(&newest.version)).then_some(newest)
    }

    fn names(&self) -> String {
        self.0.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Splits `v1.18.2` into numbers that compare as releases do.
fn release(version: &str) -> Vec<u64> {
    version.trim_start_matches('v').split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}
