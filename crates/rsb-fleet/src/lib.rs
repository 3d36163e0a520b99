//! The pure core of fleet campaigns: which node measures which suites, how jobs are submitted, how
//! far they are, and which nodes are slow.
//!
//! **Invariant:** no file, process, network or clock. Output of the scheduler and of the nodes is
//! passed in as text; argument vectors and scripts are returned.
//!
//! In the order of a campaign: [`FleetConfig::parse`], [`parse_sinfo`] and [`hardware_classes`],
//! [`plan_campaign`], [`job_script`] with [`sbatch_command`], [`ssh`] or [`kubernetes`], [`node_progress`],
//! [`judge_fleet`], [`confirm`], [`drain_advice`].

pub mod advice;
pub mod config;
pub mod engine;
pub mod inventory;
pub mod kubernetes;
pub mod plan;
pub mod progress;
pub mod ssh;
pub mod starter;
pub mod submission;
pub mod verdict;

pub use advice::drain_advice;
pub use config::{FLEET_FILE_NAME, FleetConfig, FleetConfigError, StoreSection, SuiteSection};
pub use engine::{FleetEngine, KubernetesSection, SlurmSection, SshSection};
pub use inventory::{
    Availability, FleetNode, HardwareClass, PARTITION_FORMAT, Partition, SINFO_FORMAT,
    SchedulerOutputError, hardware_classes, parse_node_details, parse_partitions, parse_sinfo,
};
pub use plan::{CampaignPlan, NodeTask, PlanInput, SkippedNode, plan_campaign};
pub use progress::{
    JobObservation, QueueAnswer, QueueLine, SQUEUE_FORMAT, node_progress, not_started_marker,
    parse_squeue,
};
pub use rsb_model::record::{NodeProgress, NodeState};
pub use starter::{StarterInput, starter_file, starting_partition};
pub use submission::{
    FleetJob, JobStep, is_caller_variable, is_campaign_name, job_script, limited_command,
    node_directory, pair_directory, parse_job_id, sbatch_command,
};
pub use verdict::{
    CommonCause, Confirmation, FleetInput, FleetReport, JobPair, MeasuredNode, MetricDeviation,
    MetricValues, NodeReport, NodeTrouble, PairSide, Suspect, VerdictRule, confirm, judge_fleet,
    pair_order,
};
