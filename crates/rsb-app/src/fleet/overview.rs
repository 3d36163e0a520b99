//! Totals of a campaign as of its last report. They stay small for any number of nodes, so a page
//! can show them at once.

use std::collections::BTreeMap;

use rsb_fleet::NodeState;
use rsb_model::Timestamp;
use rsb_model::format::FORMAT_VERSION;
use serde::{Deserialize, Serialize};

use super::FleetDocument;
use super::metrics::state_name;

/// Maximum number of nodes that are listed.
const MAX_EXCEPTIONS: usize = 1000;

/// Totals of a campaign, and the nodes that are not ok.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CampaignOverview {
    /// Version of the document format.
    pub format_version: u32,
    /// Name of the campaign.
    pub campaign: String,
    /// Time of the report.
    pub judged: Timestamp,
    /// Exit code of the report.
    pub exit_code: u8,
    /// Number of nodes in each state, by hardware class.
    pub classes: BTreeMap<String, BTreeMap<String, usize>>,
    /// Nodes that are not ok: slow ones first, then in the order of the plan.
    pub exceptions: Vec<NodeException>,
    /// Number of nodes that are not ok and not listed.
    pub omitted: usize,
}

/// A node that is not ok.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeException {
    /// Name.
    pub node: String,
    /// Hardware class.
    pub class: String,
    /// State as in the report.
    pub state: String,
    /// Reason in one sentence.
    pub reason: String,
}

impl CampaignOverview {
    /// Returns the totals of a report.
    pub(super) fn of(document: &FleetDocument) -> Self {
        let mut classes: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        let (mut slow, mut others) = (Vec::new(), Vec::new());
        for node in &document.report.nodes {
            let state = state_name(node);
            *classes.entry(node.class.clone()).or_default().entry(state.clone()).or_default() += 1;
            let list = match node.state {
                NodeState::Ok => continue,
                NodeState::Slow => &mut slow,
                _ => &mut others,
            };
            list.push(NodeException {
                node: node.name.clone(),
                class: node.class.clone(),
                state,
                reason: node.reason.clone(),
            });
        }
        let mut exceptions = slow;
        exceptions.append(&mut others);
        let omitted = exceptions.len().saturating_sub(MAX_EXCEPTIONS);
        exceptions.truncate(MAX_EXCEPTIONS);
        Self {
            format_version: FORMAT_VERSION,
            campaign: document.campaign.clone(),
            judged: Timestamp::now(),
            exit_code: document.exit_code(),
            classes,
            exceptions,
            omitted,
        }
    }
}
