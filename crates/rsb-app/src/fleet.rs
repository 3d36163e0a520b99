//! Campaigns over the nodes of a cluster: inventory, plan, submission, progress, collection,
//! and detection of slow nodes.
//!
//! A campaign is a directory on storage that every node shares. Nothing runs between two calls of
//! this program: jobs write markers and results, and each call reads them.

mod alerts;
mod burn_in;
mod campaign;
mod compare;
mod measured;
mod metrics;
mod pairs;
mod progress;
mod report;
mod scheduler;
mod state;
#[cfg(feature = "postgres")]
mod stored;
#[cfg(not(feature = "postgres"))]
#[path = "fleet/not_stored.rs"]
mod stored;
mod submit;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use rsb_fleet::{
    CampaignPlan, FLEET_FILE_NAME, FleetNode, HardwareClass, PlanInput, SlurmSection, StarterInput,
    hardware_classes, plan_campaign, starter_file, starting_partition,
};
use rsb_model::format::FORMAT_VERSION;
use rsb_store::output;
use serde::Serialize;

use crate::{AppError, output_error};
use scheduler::slurm::{Slurm, partitions};
use scheduler::{Scheduler as _, scheduler};

pub use alerts::alerts;
pub use burn_in::{BurnInReport, NodeBurnIn};
pub use campaign::{Campaign, CampaignDir, JobRecord, PairTurn};
pub use compare::{NodeSelection, compare};
pub use measured::{CollectCounts, collect, collect_in_store};
pub use metrics::metrics;
pub use progress::{NodeStatus, StatusDocument, cancel, status};
pub use report::{FleetDocument, report};
pub use rsb_fleet::FleetConfig;
pub use state::{CampaignEntry, CampaignState, campaigns};
pub use submit::{SubmitCounts, manifests, resume, submit};
pub use text::{advice_text, comparison_text, nodes_text, plan_text, report_text, status_text};

/// Nodes by hardware class, as the scheduler lists them.
#[derive(Debug, Serialize)]
pub struct NodesDocument {
    /// Version of the document format.
    pub format_version: u32,
    /// Hardware classes by name, with missing GPUs and differing software.
    pub classes: Vec<HardwareClass>,
    /// The nodes.
    pub nodes: Vec<FleetNode>,
}

/// Plan of a campaign that was not submitted.
#[derive(Debug, Serialize)]
pub struct PlanDocument {
    /// Version of the document format.
    pub format_version: u32,
    /// The plan.
    #[serde(flatten)]
    pub plan: CampaignPlan,
}

/// Writes a configuration of the cluster here to `path`, `fleet.toml` if it is `None`, and returns
/// its path. `program` is the path of the program.
///
/// # Errors
/// If the file exists or cannot be written, or the scheduler does not answer.
pub fn init(path: Option<&Path>, program: &Path) -> Result<PathBuf, AppError> {
    let path = path.map_or_else(|| PathBuf::from(FLEET_FILE_NAME), Path::to_owned);
    // A dangling link is kept, too.
    if path.symlink_metadata().is_ok() {
        return Err(AppError::usage(anyhow!(
            "`{}` exists and is not changed; write another with --file",
            path.display()
        )));
    }
    let partitions = partitions()?;
    let partition = starting_partition(&partitions).map(|one| one.name.clone());
    let section = SlurmSection { partition, ..SlurmSection::default() };
    let text = starter_file(&StarterInput {
        program: &program.display().to_string(),
        results_dir: &std::env::current_dir()?.join("fleet").display().to_string(),
        partitions: &partitions,
        nodes: &Slurm { section: &section }.inventory()?,
    });
    output::write(&path, &text).map_err(output_error)?;
    Ok(path)
}

/// Reads the configuration file, `fleet.toml` if `path` is `None`.
///
/// # Errors
/// If the file cannot be read or is invalid.
pub fn read_config(path: Option<&Path>) -> Result<FleetConfig, AppError> {
    let path = path.map_or_else(|| PathBuf::from(FLEET_FILE_NAME), Path::to_owned);
    let shown = path.display();
    let text = rsb_store::read_text(&path).map_err(|error| {
        AppError::usage(anyhow!(
            "cannot read `{shown}`: {error}; write one with `fleet init`, or name it with --file"
        ))
    })?;
    let config = FleetConfig::parse(&text)
        .map_err(|error| AppError::usage(anyhow!("`{shown}`: {error}")))?;
    if let Some(store) = &config.store {
        check_address(&store.address)
            .map_err(|problem| AppError::usage(anyhow!("`{shown}`: `store.address` {problem}")))?;
    }
    Ok(config)
}

/// Checks the address of a store.
fn check_address(address: &str) -> Result<(), &'static str> {
    if !rsb_store::address::is_address(address) {
        return Err("is not a PostgreSQL address; write postgres://USER@HOST/DATABASE");
    }
    if rsb_store::address::has_password(address) {
        return Err(
            "contains a password; move it to a file and set `store.password_file`, or set \
             PGPASSWORD",
        );
    }
    Ok(())
}

/// Returns the nodes of the configured partition.
///
/// # Errors
/// If the scheduler does not answer, or no node fits the configuration.
pub fn nodes(config: &FleetConfig) -> Result<NodesDocument, AppError> {
    let nodes = scheduler(config)?.inventory()?;
    let classes = hardware_classes(&nodes, &config.attributes);
    Ok(NodesDocument { format_version: FORMAT_VERSION, classes, nodes })
}

/// Returns the plan that [`submit`] would submit.
///
/// # Errors
/// As for [`nodes`].
pub fn plan(config: &FleetConfig) -> Result<PlanDocument, AppError> {
    Ok(PlanDocument {
        format_version: FORMAT_VERSION,
        plan: plan_for(config, &scheduler(config)?.inventory()?),
    })
}

fn plan_for(config: &FleetConfig, nodes: &[FleetNode]) -> CampaignPlan {
    let days_since: BTreeMap<String, f64> = measured::days_since(config);
    plan_campaign(&PlanInput { config, nodes, days_since: &days_since })
}
