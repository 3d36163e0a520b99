//! `fleet`: campaigns over the nodes of a cluster.

use std::thread;
use std::time::Duration;

use rsb_app::fleet::{self, CampaignDir, FleetConfig, FleetDocument, NodeSelection, SubmitCounts};
use rsb_app::judge::{self, JudgeOptions};
use rsb_app::{ProjectContext, ProjectPaths, notify, project};
use rsb_model::{Timestamp, Verdict};
use rsb_report::Style;
use rsb_report::number::format_count;
use serde::Serialize;

use crate::cli::{FleetArgs, FleetCompareArgs, FleetVerb, Places};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `fleet`.
///
/// # Errors
/// If the configuration is invalid, the scheduler does not answer or refuses a job, or the
/// directory of the campaign cannot be read or written.
pub fn run(verb: &FleetVerb, style: Style) -> CliResult {
    match verb {
        FleetVerb::Init { file } => {
            let written = fleet::init(file.as_deref(), &std::env::current_exe()?)?;
            show::text(&format!("wrote {}; `fleet plan` checks it", written.display()))?;
            Ok(Exit::Pass)
        }
        FleetVerb::Nodes(args) => {
            let nodes = fleet::nodes(&fleet::read_config(args.file.as_deref())?)?;
            print(args.json, &nodes, || fleet::nodes_text(&nodes, style))
        }
        FleetVerb::Plan(args) => {
            let plan = fleet::plan(&fleet::read_config(args.file.as_deref())?)?;
            print(args.json, &plan, || fleet::plan_text(&plan, style))
        }
        FleetVerb::Submit { campaign, duration } => submit(campaign, *duration),
        FleetVerb::Manifests(args) => {
            let config = fleet::read_config(args.file.as_deref())?;
            let name = args.campaign.as_deref();
            let (dir, list) = fleet::manifests(&config, name, &version(), &mut console::say)?;
            show::json(&list)?;
            console::say(&format!("campaign {}: nothing was created", dir.campaign.name));
            Ok(Exit::Pass)
        }
        FleetVerb::Status { campaign, json, watch } => {
            let chosen = ChosenCampaign::open(campaign)?;
            chosen.status(*json, *watch, style)
        }
        FleetVerb::Collect { campaign, places } => ChosenCampaign::open(campaign)?.collect(places),
        FleetVerb::Report { campaign, json } => {
            ChosenCampaign::open(campaign)?.report(*json, style)
        }
        FleetVerb::Compare(args) => compare(args, style),
        FleetVerb::Resume(args) => {
            let ChosenCampaign { config, dir } = ChosenCampaign::open(args)?;
            let counts = fleet::resume(&dir, &config, &mut console::say)?;
            say_submitted(&dir, &counts)
        }
        FleetVerb::Cancel(args) => {
            let ChosenCampaign { config, dir } = ChosenCampaign::open(args)?;
            let jobs = format_count(fleet::cancel(&dir, &config)?, "job", "jobs");
            show::text(&format!("campaign {}: {jobs} cancelled", dir.campaign.name))?;
            Ok(Exit::Pass)
        }
        FleetVerb::Advice(args) => {
            let ChosenCampaign { config, dir } = ChosenCampaign::open(args)?;
            let document = fleet::report(&dir, &config, &mut console::say)?;
            show::text(&fleet::advice_text(&document, &config))?;
            Ok(Exit::Pass)
        }
    }
}

/// Prints a document, or its text.
fn print(json: bool, document: &impl Serialize, text: impl FnOnce() -> String) -> CliResult {
    if json {
        show::json(document)?;
    } else {
        show::text(&text())?;
    }
    Ok(Exit::Pass)
}

/// Returns what `--version` prints.
fn version() -> String {
    format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}

fn compare(args: &FleetCompareArgs, style: Style) -> CliResult {
    let config = fleet::read_config(args.file.as_deref())?;
    let options = JudgeOptions::of_threshold(args.threshold);
    let (_, judge) = judge::open(&args.places.paths(), &options, &mut console::tell)?;
    let before = CampaignDir::open(&config, Some(&args.before))?;
    let after = CampaignDir::open(&config, Some(&args.after))?;
    let selection = NodeSelection { node: args.node.clone(), class: args.class.clone() };
    let document =
        fleet::compare([&before, &after], &config, &judge, &selection, &mut console::say)?;
    print(args.json, &document, || fleet::comparison_text(&document, style))?;
    Ok(match document.verdict {
        Verdict::Regressed => Exit::Regression,
        Verdict::Inconclusive | Verdict::NotComparable => Exit::NoVerdict,
        Verdict::Improved | Verdict::Unchanged => Exit::Pass,
    })
}

fn submit(args: &FleetArgs, duration: Option<Duration>) -> CliResult {
    let config = fleet::read_config(args.file.as_deref())?;
    let duration = duration.or(config.duration);
    let config = config.with_duration(duration);
    let (dir, counts) =
        fleet::submit(&config, args.campaign.as_deref(), &version(), &mut console::say)?;
    say_submitted(&dir, &counts)
}

fn say_submitted(dir: &CampaignDir, counts: &SubmitCounts) -> CliResult {
    let name = &dir.campaign.name;
    show::text(&if counts.nodes + counts.pairs + counts.failed == 0 {
        format!("campaign {name}: nothing to submit")
    } else {
        let nodes = format_count(counts.nodes, "node", "nodes");
        let pairs = format_count(counts.pairs, "job of pairs", "jobs of pairs");
        format!("campaign {name}: {nodes} and {pairs} submitted; `fleet status` shows them")
    })?;
    Ok(if counts.failed > 0 { Exit::Failure } else { Exit::Pass })
}

/// The campaign that the arguments name, with the configuration.
struct ChosenCampaign {
    config: FleetConfig,
    dir: CampaignDir,
}

impl ChosenCampaign {
    fn open(args: &FleetArgs) -> Result<Self, CliError> {
        let config = fleet::read_config(args.file.as_deref())?;
        let dir = CampaignDir::open(&config, args.campaign.as_deref())?;
        let config = config.with_duration(dir.campaign.duration_seconds.map(Duration::from_secs));
        Ok(Self { config, dir })
    }

    /// Shows the progress, once or until no job waits or runs.
    fn status(&self, json: bool, watch: bool, style: Style) -> CliResult {
        loop {
            let document = fleet::status(&self.dir, &self.config)?;
            print(json, &document, || fleet::status_text(&document, style))?;
            if !watch || !document.is_active() {
                return Ok(Exit::Pass);
            }
            thread::sleep(Duration::from_secs(self.config.poll_seconds));
        }
    }

    fn collect(&self, places: &Places) -> CliResult {
        let project = ProjectContext::open(&places.paths())?;
        let counts = if let Some(section) = &self.config.store {
            fleet::collect_in_store(&self.dir, section, &mut console::say)?
        } else {
            let store = project::open_results(&project.directories.results, &mut console::tell)?;
            fleet::collect(&self.dir, &store, &mut console::say)?
        };
        show::text(&format!(
            "{} collected, {} already stored, {} interrupted, {} unreadable",
            format_count(counts.new, "run", "runs"),
            counts.known,
            counts.interrupted,
            counts.unreadable
        ))?;
        if !project.config.notify.is_empty() {
            let document = fleet::report(&self.dir, &self.config, &mut |_| {})?;
            send_alerts(&project, &document);
        }
        Ok(if counts.unreadable > 0 { Exit::Failure } else { Exit::Pass })
    }

    fn report(&self, json: bool, style: Style) -> CliResult {
        let document = fleet::report(&self.dir, &self.config, &mut console::say)?;
        print(json, &document, || fleet::report_text(&document, style))?;
        send_alerts(&ProjectContext::open(&ProjectPaths::default())?, &document);
        Ok(exit_of(document.exit_code()))
    }
}

/// Returns the exit of a report with the exit code `code`.
const fn exit_of(code: u8) -> Exit {
    match code {
        0 => Exit::Pass,
        3 => Exit::Regression,
        4 => Exit::NoVerdict,
        _ => Exit::Failure,
    }
}

/// Sends the alerts about the nodes of a campaign. A failure is a warning.
fn send_alerts(project: &ProjectContext, document: &FleetDocument) {
    let alerts = fleet::alerts(document, Timestamp::now());
    let results = &project.directories.results;
    notify::report(&project.config.notify, results, &alerts, &mut console::tell);
}
