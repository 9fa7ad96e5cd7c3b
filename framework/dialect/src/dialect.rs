//! A loaded dialect: the compiled document.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use capsize_cel::Environment;
use capsize_history::dialect::{DataDialect, DialectKind, DialectProgram, Fold, StepWriter};
use capsize_history::facts::Health;
use capsize_history::{Object, YamlError, read_yaml};

use super::compile::{Compiler, DialectError};
use super::delivery::{DeliveryReader, RunningReader};
use super::document::{Document, IndexSection, Resources, SignOfLifeSection, Text};
use super::expression::{Expression, Failures, Machine, Reads};
use super::fold::DataFold;
use super::index::Indexes;
use super::member::MemberReader;
use super::observed::{Scope, reads_of};
use super::steps::Writer;
use super::value::text;
use super::workload::WorkloadReader;

/// The version of the language.
const VERSION: u64 = 1;

/// A loaded dialect, cheap to clone.
#[derive(Clone)]
pub struct Dialect(pub(crate) Arc<CompiledSections>);

/// The compiled sections of a document.
pub(crate) struct CompiledSections {
    pub(crate) name: String,
    /// The text of the document.
    pub(crate) text: String,
    /// The domain of the implementation; empty if it has none.
    pub(crate) domain: String,
    pub(crate) environment: Environment,
    pub(crate) control_plane: Vec<Alias>,
    pub(crate) members: Vec<Alias>,
    pub(crate) indexes: Vec<Index>,
    pub(crate) member: Option<MemberReader>,
    pub(crate) sign_of_life: Option<SignOfLife>,
    pub(crate) workload: Option<WorkloadReader>,
    pub(crate) delivery: Option<DeliveryReader>,
    pub(crate) running: Option<RunningReader>,
    pub(crate) steps: Option<Writer>,
}

/// An alias for places in the API.
pub(crate) struct Alias {
    pub(crate) name: String,
    /// The API version and the plural of each resource.
    pub(crate) resources: Vec<(String, String)>,
    pub(crate) only: Option<Expression>,
}

/// A lookup from a key to objects.
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) alias: String,
    pub(crate) key: Expression,
    pub(crate) only: Option<Expression>,
    pub(crate) may_be_empty: bool,
    /// The fields that both expressions read.
    pub(crate) reads: Reads,
}

/// Reads the renewals of members.
pub(crate) struct SignOfLife {
    pub(crate) alias: String,
    pub(crate) member: Expression,
    pub(crate) renewed: Expression,
    /// The fields that both expressions read.
    pub(crate) reads: Reads,
}

impl Dialect {
    /// Reads the dialect in `text`, called `file` in errors.
    ///
    /// # Errors
    /// An error with its place: the YAML, a word that does not exist, or an expression.
    pub fn parse(file: &str, text: &str) -> Result<Self, DialectError> {
        let document: Document =
            read_yaml(text).map_err(|error| Box::new(YamlError::of_yaml(file, text, &error)))?;
        let compiler = Compiler::new(file, text, &document)?;
        if document.version != VERSION {
            let what = format!("`version` is {}, and this Capsize reads version {VERSION}", document.version);
            return Err(Box::new(YamlError::at(file, text, serde_saphyr::Location::UNKNOWN, what)));
        }
        check_evictions(file, text, &document)?;
        let control_plane = aliases(&compiler, &document.watch.control_plane)?;
        let members = aliases(&compiler, &document.watch.members)?;
        let names = |all: &[Alias]| all.iter().map(|alias| alias.name.clone()).collect::<Vec<_>>();
        let (central, local) = (names(&control_plane), names(&members));
        let central: Vec<&str> = central.iter().map(String::as_str).collect();
        let local: Vec<&str> = local.iter().map(String::as_str).collect();
        let signs = document.member.as_ref().and_then(|member| member.sign_of_life.as_ref());
        Ok(Self(Arc::new(CompiledSections {
            name: document.dialect.clone(),
            text: text.to_owned(),
            domain: document.domain.clone().unwrap_or_default(),
            environment: Environment::default(),
            indexes: indexes(&compiler, &document.index, &central)?,
            member: (document.member.as_ref())
                .map(|section| MemberReader::new(&compiler, section, &central))
                .transpose()?,
            sign_of_life: signs.map(|section| sign_of_life(&compiler, section, &central)).transpose()?,
            workload: (document.workload.as_ref())
                .map(|section| WorkloadReader::new(&compiler, section, &central))
                .transpose()?,
            delivery: (document.delivery.as_ref())
                .map(|section| DeliveryReader::new(&compiler, section, &central))
                .transpose()?,
            running: (document.running.as_ref())
                .map(|section| RunningReader::new(&compiler, section, &local))
                .transpose()?,
            steps: (document.steps.as_ref())
                .map(|section| Writer::new(&compiler, section, &control_plane))
                .transpose()?,
            control_plane,
            members,
        })))
    }

    /// Reads the dialect in the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, and the errors of [`Dialect::parse`].
    pub fn read(path: &Path) -> Result<Self, DialectError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Box::new(YamlError::at(&file, "", serde_saphyr::Location::UNKNOWN, error.to_string()))
        })?;
        Self::parse(&file, &text)
    }

    /// The dialect for a profile.
    #[must_use]
    pub fn kind(&self) -> DialectKind {
        DialectKind::Data(DataDialect::new(Arc::new(self.clone())))
    }

    /// A fold that has observed no entry yet, and that counts the values of every expression.
    #[must_use]
    pub fn counting_fold(&self) -> DataFold {
        DataFold::new(Arc::clone(&self.0), true)
    }
}

impl DialectProgram for Dialect {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn text(&self) -> &str {
        &self.0.text
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::new(DataFold::new(Arc::clone(&self.0), false))
    }

    fn control_plane_paths(&self) -> Vec<String> {
        paths(self.0.control_plane.iter())
    }

    fn member_paths(&self) -> Vec<String> {
        paths(self.0.members.iter())
    }

    fn member_record_paths(&self) -> Vec<String> {
        let of = self.0.member.as_ref().map(|reader| reader.alias.as_str());
        paths(self.0.control_plane.iter().filter(|alias| Some(alias.name.as_str()) == of))
    }

    fn member_name(&self, object: &Object) -> Option<String> {
        let reader = self.0.member.as_ref()?;
        let (indexes, failures) = (Indexes::default(), Failures::default());
        let machine = Machine { environment: &self.0.environment, indexes: &indexes, failures: &failures };
        Scope::new(&machine, &reader.name.reads, object).maybe(Some(&reader.name), text)
    }

    fn reads(&self, health: Health) -> bool {
        self.0.member.as_ref().is_some_and(|reader| reader.reads(health))
    }

    fn reads_renewals(&self) -> bool {
        self.0.sign_of_life.is_some()
    }

    fn step_writer(&self) -> Option<&dyn StepWriter> {
        self.0.steps.as_ref().map(|writer| writer as &dyn StepWriter)
    }
}

/// Refuses derived evictions without the manifests at whose end they end.
fn check_evictions(file: &str, text: &str, document: &Document) -> Result<(), DialectError> {
    let evictions = document.workload.as_ref().and_then(|workload| workload.evictions.as_ref());
    let Some(evictions) = evictions.filter(|_| document.delivery.is_none()) else { return Ok(()) };
    let what =
        "`leavesWhileTainted` needs the section `delivery`: an eviction lasts until the manifest is gone";
    Err(Box::new(YamlError::at(file, text, evictions.location, what)))
}

fn paths<'a>(aliases: impl Iterator<Item = &'a Alias>) -> Vec<String> {
    let path = |(version, plural): &(String, String)| match version.contains('/') {
        true => format!("/apis/{version}/{plural}"),
        false => format!("/api/{version}/{plural}"),
    };
    aliases.flat_map(|alias| alias.resources.iter().map(path)).collect()
}

fn aliases(
    compiler: &Compiler<'_>,
    resources: &BTreeMap<String, Resources>,
) -> Result<Vec<Alias>, DialectError> {
    let section = compiler.section("watch", Vec::new(), &BTreeMap::new())?;
    let resource = |text: &Text| match text.value.rsplit_once('/') {
        Some((version, plural)) if !version.is_empty() && version.matches('/').count() < 2 => {
            Ok((version.to_owned(), plural.to_owned()))
        }
        _ => Err(compiler.error(text, "a resource is written like `apps/v1/deployments` or `v1/configmaps`")),
    };
    let alias = |(name, each): (&String, &Resources)| {
        Ok(Alias {
            name: name.clone(),
            resources: each.resources.iter().map(resource).collect::<Result<_, _>>()?,
            only: compiler.optional(&section, &format!("{name}.where"), each.only.as_ref())?,
        })
    };
    resources.iter().map(alias).collect()
}

fn indexes(
    compiler: &Compiler<'_>,
    indexes: &BTreeMap<String, IndexSection>,
    aliases: &[&str],
) -> Result<Vec<Index>, DialectError> {
    let section = compiler.section("index", Vec::new(), &BTreeMap::new())?;
    let index = |(name, index): (&String, &IndexSection)| {
        let key = compiler.expression(&section, &format!("{name}.key"), &index.key)?;
        let only = compiler.optional(&section, &format!("{name}.where"), index.only.as_ref())?;
        Ok(Index {
            name: name.clone(),
            alias: compiler.alias(&index.of, aliases)?.to_owned(),
            reads: reads_of(std::iter::once(&key).chain(&only)),
            key,
            only,
            may_be_empty: index.may_be_empty,
        })
    };
    indexes.iter().map(index).collect()
}

fn sign_of_life(
    compiler: &Compiler<'_>,
    section: &SignOfLifeSection,
    aliases: &[&str],
) -> Result<SignOfLife, DialectError> {
    let own = compiler.section("member.signOfLife", Vec::new(), &BTreeMap::new())?;
    let member = compiler.expression(&own, "member", &section.member)?;
    let renewed = compiler.expression(&own, "renewed", &section.renewed)?;
    Ok(SignOfLife {
        alias: compiler.alias(&section.of, aliases)?.to_owned(),
        reads: reads_of([&member, &renewed]),
        member,
        renewed,
    })
}
