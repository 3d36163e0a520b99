//! State of campaigns for the dashboard and the terminal interface. Only files are read: the
//! scheduler is not queried, and nothing is written.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use rsb_fleet::{
    FLEET_FILE_NAME, FleetConfig, FleetReport, MetricDeviation, NodeReport, NodeState, Suspect,
    drain_advice,
};
use rsb_model::Timestamp;
use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{
    CampaignClass, CampaignDocument, CampaignNode, CampaignNodeDocument, CaseDeviation, CaseSpread,
    NodeProgress, PairProgress,
};
use rsb_stats::estimate::{median, median_absolute_deviation};

use super::campaign::{self, CampaignDir};
use super::progress::{Observer, StatusDocument, status_with};
use super::report::report_with;
use super::{FleetDocument, read_config, text};
use crate::AppError;

/// Maximum number of notes and problems, and of letters in each.
const MAX_LINES: usize = 50;
const MAX_LETTERS: usize = 600;

/// A campaign in the results directory of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignEntry {
    /// Name.
    pub name: String,
    /// Time of its plan, if known.
    pub planned: Option<Timestamp>,
}

/// Returns the campaigns that `fleet.toml` in the current directory refers to, newest first; none
/// without that file.
///
/// # Errors
/// If the configuration is invalid, or the results directory exists and cannot be read.
pub fn campaigns() -> Result<Vec<CampaignEntry>, AppError> {
    if !Path::new(FLEET_FILE_NAME).exists() {
        return Ok(Vec::new());
    }
    let mut entries = campaign::entries(&read_config(None)?.results_dir)?;
    entries.reverse();
    Ok(entries)
}

/// State of a campaign at the time when its files were read.
#[derive(Debug)]
pub struct CampaignState {
    document: CampaignDocument,
    /// Ids of the cases, which the deviations refer to by position.
    cases: Vec<String>,
    /// Deviations by node.
    deviations: HashMap<String, Vec<StoredDeviation>>,
}

/// A deviation without the text of its case: a campaign has one for each node and case.
#[derive(Debug)]
struct StoredDeviation {
    case: u32,
    peers: u32,
    slower_percent: f64,
    interval_percent: [f64; 2],
    spread_percent: f64,
    state: NodeState,
}

impl CampaignState {
    /// Reads the markers and results of the campaign `name`.
    ///
    /// # Errors
    /// If there is none, or its plan or list of jobs cannot be read.
    pub fn read(name: &str) -> Result<Self, AppError> {
        let config = read_config(None)?;
        let dir = CampaignDir::open(&config, Some(name))?;
        let seconds = dir.campaign.duration_seconds;
        Self::of(&dir, &config.with_duration(seconds.map(Duration::from_secs)))
    }

    fn of(dir: &CampaignDir, config: &FleetConfig) -> Result<Self, AppError> {
        let status = status_with(dir, &Observer::without_queue(config), &dir.jobs()?);
        let is_active = status.is_active();
        let (progress, pairs) = progress_of(&status);
        let mut problems = Vec::new();
        let document = report_with(dir, config, status, &mut |problem| {
            if problems.len() < MAX_LINES {
                problems.push(shortened(problem));
            }
        })?;
        let notes = notes_of(&document);
        let classes = classes_of(&document.report);
        let nodes =
            NodeMaker { campaign: &document.campaign, config, report: &document.report, progress }
                .nodes();
        let (cases, deviations) = stored_deviations(document.report);
        let document = CampaignDocument {
            format_version: FORMAT_VERSION,
            campaign: document.campaign,
            planned: dir.planned(),
            read: Timestamp::now(),
            is_active,
            nodes,
            pairs,
            classes,
            notes,
            problems,
        };
        Ok(Self { document, cases, deviations })
    }

    /// Returns the state without the cases of the nodes.
    pub const fn document(&self) -> &CampaignDocument {
        &self.document
    }

    /// Returns the state without the cases of the nodes.
    pub fn into_document(self) -> CampaignDocument {
        self.document
    }

    /// Returns a node with all its cases; `None` if the campaign does not have it.
    pub fn node(&self, name: &str) -> Option<CampaignNodeDocument> {
        let node = self.document.nodes.iter().find(|node| node.name == name)?.clone();
        let mut cases = Vec::new();
        for one in self.deviations.get(name).into_iter().flatten() {
            cases.push(CaseDeviation {
                case: self.cases.get(one.case as usize)?.clone(),
                slower_percent: one.slower_percent,
                interval_percent: one.interval_percent,
                spread_percent: one.spread_percent,
                peers: one.peers as usize,
                state: one.state,
            });
        }
        Some(CampaignNodeDocument {
            format_version: FORMAT_VERSION,
            campaign: self.document.campaign.clone(),
            node,
            cases,
        })
    }
}

/// Returns the progress of the planned nodes by name, and of the unfinished jobs of pairs.
fn progress_of(status: &StatusDocument) -> (HashMap<String, NodeProgress>, Vec<PairProgress>) {
    let (mut nodes, mut pairs) = (HashMap::new(), Vec::new());
    for one in &status.nodes {
        let Some(progress) = one.progress.clone() else { continue };
        match &one.pair {
            None => drop(nodes.insert(one.node.clone(), progress)),
            Some(_) if progress == NodeProgress::Done => {}
            Some(pair) => pairs.push(PairProgress {
                suspect: pair.suspect.clone(),
                node: one.node.clone(),
                turn: pair.turn,
                progress,
            }),
        }
    }
    (nodes, pairs)
}

fn notes_of(document: &FleetDocument) -> Vec<String> {
    let mut notes = text::group_lines(&document.report);
    notes.extend(text::differences(&document.hardware));
    notes.extend(text::skipped_lines(&document.skipped));
    notes.extend(document.burn_in.iter().flat_map(text::burn_in_lines));
    notes.truncate(MAX_LINES);
    notes.iter().map(|note| shortened(note)).collect()
}

fn shortened(line: &str) -> String {
    if line.chars().count() <= MAX_LETTERS {
        return line.to_owned();
    }
    line.chars().take(MAX_LETTERS).chain(['…']).collect()
}

/// Minimum number of nodes for which a spread is shown.
const MIN_NODES: usize = 3;

/// Deviations of the nodes of one class by case, in percent.
type ClassDeviations<'r> = BTreeMap<&'r str, Vec<f64>>;

fn classes_of(report: &FleetReport) -> Vec<CampaignClass> {
    let mut deviations: BTreeMap<&str, ClassDeviations<'_>> = BTreeMap::new();
    for node in &report.nodes {
        let class = deviations.entry(&node.class).or_default();
        for one in &node.deviations {
            class.entry(&one.metric).or_default().push(one.slower_percent);
        }
    }
    let mut classes = Vec::new();
    for class in &report.classes {
        let mut cases = Vec::new();
        for (case, percents) in deviations.remove(class.name.as_str()).unwrap_or_default() {
            // Slow nodes do not widen it.
            let spread = median_absolute_deviation(&percents);
            cases.extend(spread.filter(|_| percents.len() >= MIN_NODES).map(|one| (case, one)));
        }
        let widest = cases.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        classes.push(CampaignClass {
            name: class.name.clone(),
            nodes: class.nodes,
            judged: class.judged,
            suspects: class.suspects,
            is_breaker_open: class.is_breaker_open,
            spread_percent: median(&cases.iter().map(|(_, spread)| *spread).collect::<Vec<_>>()),
            widest: widest.map(|(case, spread)| CaseSpread {
                case: (*case).to_owned(),
                spread_percent: *spread,
            }),
        });
    }
    classes
}

/// Makes the nodes of the document.
struct NodeMaker<'r> {
    campaign: &'r str,
    config: &'r FleetConfig,
    report: &'r FleetReport,
    progress: HashMap<String, NodeProgress>,
}

impl NodeMaker<'_> {
    /// Returns the nodes, those that are not ok first.
    fn nodes(mut self) -> Vec<CampaignNode> {
        let mut advice = drain_advice(self.report, self.config.engine()).into_iter();
        let suspects: HashMap<&str, &Suspect> =
            self.report.suspects.iter().map(|one| (one.node.as_str(), one)).collect();
        let mut nodes = Vec::new();
        for node in &self.report.nodes {
            let progress = self.progress.remove(&node.name);
            let is_slow = node.state == NodeState::Slow;
            nodes.push(CampaignNode {
                name: node.name.clone(),
                class: node.class.clone(),
                state: node.state,
                reason: shortened(&node.reason),
                evidence: clearest(node).map(deviation),
                advice: if is_slow { advice.next() } else { None },
                next: self.next(node, suspects.get(node.name.as_str()).copied(), progress.as_ref()),
                progress,
            });
        }
        nodes.sort_by(|a, b| rank(a).cmp(&rank(b)).then(slowness(b).total_cmp(&slowness(a))));
        nodes
    }

    /// Returns what to do next about a node that is not ok.
    fn next(
        &self,
        node: &NodeReport,
        suspect: Option<&Suspect>,
        progress: Option<&NodeProgress>,
    ) -> Option<String> {
        let resume = format!("`rusty-stack-bench fleet resume --campaign {}`", self.campaign);
        if let Some(suspect) = suspect {
            return Some(match &suspect.reference {
                Some(reference) => format!("{resume} measures it in pairs with {reference}"),
                None => "no node of its class passed, so it cannot be confirmed".to_owned(),
            });
        }
        let is_missing = matches!(node.state, NodeState::Error | NodeState::NotMeasured);
        let is_active = progress.is_some_and(NodeProgress::is_active);
        (is_missing && !is_active).then(|| format!("{resume} measures what is missing"))
    }
}

/// Returns the position of a node's state in the list of nodes.
const fn rank(node: &CampaignNode) -> u8 {
    match node.state {
        NodeState::Slow => 0,
        NodeState::Failed => 1,
        NodeState::Error => 2,
        NodeState::Undecided => 3,
        NodeState::NotMeasured if !matches!(node.progress, Some(NodeProgress::Queued { .. })) => 4,
        NodeState::NotMeasured => 5,
        NodeState::Ok => 6,
    }
}

/// Returns the slowdown by which nodes of one state that is not ok are sorted.
fn slowness(node: &CampaignNode) -> f64 {
    let is_ok = node.state == NodeState::Ok;
    node.evidence.as_ref().filter(|_| !is_ok).map_or(0.0, |one| one.slower_percent)
}

/// Returns the deviation that decides the state of a node.
fn clearest(node: &NodeReport) -> Option<&MetricDeviation> {
    let open = node.deviations.iter().find(|one| one.state == NodeState::Undecided);
    open.filter(|_| node.state == NodeState::Undecided).or(node.deviations.first())
}

fn deviation(one: &MetricDeviation) -> CaseDeviation {
    CaseDeviation {
        case: one.metric.clone(),
        slower_percent: one.slower_percent,
        interval_percent: one.interval_percent,
        spread_percent: one.spread_percent,
        peers: one.peers,
        state: one.state,
    }
}

/// Returns the ids of the cases, and the deviations of each node.
fn stored_deviations(report: FleetReport) -> (Vec<String>, HashMap<String, Vec<StoredDeviation>>) {
    let (mut cases, mut places) = (Vec::new(), HashMap::new());
    let mut by_node = HashMap::new();
    for node in report.nodes {
        let mut own = Vec::with_capacity(node.deviations.len());
        for one in node.deviations {
            let case = *places.entry(one.metric).or_insert_with_key(|name: &String| {
                cases.push(name.clone());
                u32::try_from(cases.len() - 1).unwrap_or(u32::MAX)
            });
            own.push(StoredDeviation {
                case,
                peers: u32::try_from(one.peers).unwrap_or(u32::MAX),
                slower_percent: one.slower_percent,
                interval_percent: one.interval_percent,
                spread_percent: one.spread_percent,
                state: one.state,
            });
        }
        by_node.insert(node.name, own);
    }
    (cases, by_node)
}
