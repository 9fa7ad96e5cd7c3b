//! The commands and their options.

use std::env;
use std::ffi::OsString;

use capsize_manager::{Flags, NodeFlags};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::badge::Badge;
use crate::bench::Bench;
use crate::budget::BudgetCommand;
use crate::chaos::{CampaignCommand, Chaos, Replay};
use crate::check::Check;
use crate::colour::{self, Colour};
use crate::completions::{Completions, Man};
use crate::controllers;
use crate::dialect::DialectCommand;
use crate::die_with_parent::DieWithParent;
use crate::diff::Diff;
use crate::doctor::Doctor;
use crate::envtest::{self, Envtest, Etcd, KubeApiserver};
use crate::exit::{CommandError, ExitStatus};
use crate::explain::Explain;
use crate::fault::{FaultCommand, HealCommand};
use crate::images::Images;
use crate::import::Import;
use crate::list::List;
use crate::mark::MarkCommand;
use crate::matrix::Matrix;
use crate::member::MemberCommand;
use crate::merge::Merge;
use crate::monitor::MonitorCommand;
use crate::mutants::Mutants;
use crate::new::New;
use crate::numbers::NumbersCommand;
use crate::output;
use crate::perturb::Perturb;
use crate::record::RecordCommand;
use crate::run::Run;
use crate::schema::Schema;
use crate::show::Show;
use crate::side_by_side::SideBySide;
use crate::up::Up;
use crate::verify::Verify;
use crate::watch::Watch;
use crate::webhooks::WebhooksCommand;

/// Conformance and chaos for Kubernetes failover
#[derive(Debug, Parser)]
#[command(version)]
pub struct Cli {
    /// When results have colours
    #[arg(long = "color", global = true, value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    colour: Colour,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<Run>),
    Chaos(Box<Chaos>),
    Campaign(Box<CampaignCommand>),
    Replay(Replay),
    Check(Check),
    Show(Show),
    Diff(Diff),
    SideBySide(SideBySide),
    Verify(Verify),
    Matrix(Matrix),
    Badge(Badge),
    Merge(Merge),
    Record(RecordCommand),
    Import(Import),
    Mark(MarkCommand),
    #[command(subcommand)]
    Monitor(MonitorCommand),
    #[command(subcommand)]
    Dialect(DialectCommand),
    List(List),
    Explain(Explain),
    Mutants(Mutants),
    Perturb(Perturb),
    Bench(Bench),
    Budget(BudgetCommand),
    Numbers(NumbersCommand),
    Schema(Schema),
    #[command(subcommand)]
    New(New),
    Completions(Completions),
    Man(Man),
    Up(Up),
    Envtest(Envtest),
    Fault(FaultCommand),
    Heal(HealCommand),
    Watch(Watch),
    Doctor(Doctor),
    #[command(subcommand)]
    Images(Images),
    #[command(hide = true)]
    Member(MemberCommand),
    #[command(hide = true)]
    KubeApiserver(Box<KubeApiserver>),
    #[command(hide = true)]
    Etcd(Etcd),
    #[command(hide = true)]
    DieWithParent(DieWithParent),
    #[command(hide = true)]
    Controllers(Box<Flags>),
    #[command(hide = true)]
    NodeControllers(Box<NodeFlags>),
    #[command(hide = true)]
    Webhooks(WebhooksCommand),
}

/// Longer lines of help are hard to read.
const LONGEST_HELP: usize = 100;

impl Cli {
    /// Reads the arguments of this process.
    ///
    /// # Errors
    /// When they are wrong, or ask for help.
    pub fn read() -> Result<Self, clap::Error> {
        let columns = output::columns().min(LONGEST_HELP);
        let command = Self::command().term_width(columns);
        let mut arguments: Vec<OsString> = env::args_os().collect();
        // envtest starts this program under other names.
        if let Some(name) = arguments.first().and_then(|program| envtest::command_of(program)) {
            arguments.insert(1, name.into());
        }
        Self::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }

    /// Does what was asked for.
    ///
    /// # Errors
    /// As the command says.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        colour::choose(self.colour);
        match self.command {
            Command::Check(check) => check.execute(),
            Command::Show(show) => show.execute(),
            Command::Diff(diff) => diff.execute(),
            Command::SideBySide(reports) => reports.execute(),
            Command::Verify(verify) => verify.execute(),
            Command::Matrix(matrix) => matrix.execute(),
            Command::Badge(badge) => badge.execute(),
            Command::Merge(merge) => merge.execute(),
            Command::Record(record) => record.execute(),
            Command::Import(import) => import.execute(),
            Command::Mark(mark) => mark.execute(),
            Command::Monitor(monitor) => monitor.execute(),
            Command::Run(run) => run.execute(),
            Command::Chaos(chaos) => chaos.execute(),
            Command::Campaign(campaign) => campaign.execute(),
            Command::Replay(replay) => replay.execute(),
            Command::Dialect(dialect) => dialect.execute(),
            Command::List(list) => list.execute(),
            Command::Explain(explain) => explain.execute(),
            Command::Mutants(mutants) => mutants.execute(),
            Command::Perturb(perturb) => perturb.execute(),
            Command::Bench(bench) => bench.execute(),
            Command::Budget(budget) => budget.execute(),
            Command::Numbers(numbers) => numbers.execute(),
            Command::Schema(schema) => schema.execute(),
            Command::New(new) => new.execute(),
            Command::Completions(completions) => completions.execute(),
            Command::Man(man) => man.execute(),
            Command::Up(up) => up.execute(),
            Command::Envtest(envtest) => envtest.execute(),
            Command::Fault(fault) => fault.execute(),
            Command::Heal(heal) => heal.execute(),
            Command::Watch(watch) => watch.execute(),
            Command::Doctor(doctor) => doctor.execute(),
            Command::Images(images) => images.execute(),
            Command::Member(member) => member.execute(),
            Command::KubeApiserver(server) => server.execute(),
            Command::Etcd(etcd) => etcd.execute(),
            Command::DieWithParent(command) => command.execute(),
            Command::Controllers(flags) => controllers::execute(*flags),
            Command::NodeControllers(flags) => controllers::execute_nodes(*flags),
            Command::Webhooks(webhooks) => webhooks.execute(),
        }
    }
}
