//! The pages of campaigns.

use rsb_model::Timestamp;
use rsb_model::record::{
    CampaignClass, CampaignDocument, CampaignNode, CampaignNodeDocument, CaseDeviation, CaseSpread,
    NodeProgress, NodeState, PairProgress,
};
use serde_json::Value;

use super::made_up::MadeUp;
use super::{check, open, page, served};
use crate::address::{FleetView, PageView};
use crate::source::CampaignData;
use crate::{Medium, Site, export_site, respond};

const CASE: &str = "cpu_performance/gemm/cpu:0/f32/64x64x64";

pub(super) struct MadeUpCampaign(pub(super) CampaignDocument);

impl CampaignData for MadeUpCampaign {
    fn document(&self) -> &CampaignDocument {
        &self.0
    }

    fn node(&self, name: &str) -> Option<CampaignNodeDocument> {
        let node = self.0.nodes.iter().find(|node| node.name == name)?.clone();
        let cases = node.evidence.clone().into_iter().collect();
        let campaign = self.0.campaign.clone();
        Some(CampaignNodeDocument { format_version: 3, campaign, node, cases })
    }
}

fn deviation(percent: f64, state: NodeState) -> CaseDeviation {
    CaseDeviation {
        case: CASE.to_owned(),
        slower_percent: percent,
        interval_percent: [percent - 0.7, percent + 0.7],
        spread_percent: 0.15,
        peers: 5,
        state,
    }
}

fn node(name: &str, state: NodeState) -> CampaignNode {
    CampaignNode {
        name: name.to_owned(),
        class: "mi300x:8gpu".to_owned(),
        state,
        reason: "largest deviation: gemm +0.1 %".to_owned(),
        progress: Some(NodeProgress::Done),
        evidence: Some(deviation(0.1, NodeState::Ok)),
        advice: None,
        next: None,
    }
}

/// Returns a campaign with a node in each state; `name` is part of every text.
pub(super) fn campaign(campaign: &str, name: &str) -> CampaignDocument {
    let slow = CampaignNode {
        reason: format!("gemm +9.8 % time [+9.1, +10.5], +10.1 % in pairs {name}"),
        evidence: Some(deviation(9.8, NodeState::Slow)),
        advice: Some(format!("scontrol update nodename=n8 state=drain reason='{name}'")),
        ..node(&format!("n8{name}"), NodeState::Slow)
    };
    let error = CampaignNode {
        reason: format!("the scheduler reports NODE_FAIL {name}"),
        progress: Some(NodeProgress::NotReachable { why: name.to_owned() }),
        evidence: None,
        next: Some("`rusty-stack-bench fleet resume --campaign first` measures it".to_owned()),
        ..node("n5", NodeState::Error)
    };
    let running = NodeProgress::Running {
        case: Some(CASE.to_owned()),
        done: 3,
        total: 12,
        eta_seconds: Some(130),
    };
    let underway = |name: &str, progress| CampaignNode {
        reason: "is being measured".to_owned(),
        progress: Some(progress),
        evidence: None,
        ..node(name, NodeState::NotMeasured)
    };
    let queued = NodeProgress::Queued { why: name.to_owned() };
    CampaignDocument {
        format_version: 3,
        campaign: campaign.to_owned(),
        planned: Timestamp::from_second(1_795_251_792).ok(),
        read: Timestamp::from_second(1_795_255_000).unwrap(),
        is_active: true,
        nodes: vec![
            slow,
            error,
            underway("n3", running.clone()),
            underway("n4", queued),
            node("n1", NodeState::Ok),
            node("n2", NodeState::Ok),
        ],
        pairs: vec![PairProgress {
            suspect: "n8".to_owned(),
            node: "n1".to_owned(),
            turn: 2,
            progress: running,
        }],
        classes: vec![CampaignClass {
            name: "mi300x:8gpu".to_owned(),
            nodes: 6,
            judged: 3,
            suspects: 1,
            is_breaker_open: false,
            spread_percent: Some(0.154),
            widest: Some(CaseSpread { case: CASE.to_owned(), spread_percent: 0.3 }),
        }],
        notes: vec![format!("driver in mi300x:8gpu: 6.1, but n2 6.0 {name}")],
        problems: vec![format!("left out: {name}")],
    }
}

fn with(campaigns: Vec<CampaignDocument>) -> MadeUp {
    let mut source = MadeUp::new("64");
    source.campaigns = campaigns;
    source
}

fn campaign_page(source: &MadeUp) -> String {
    page(&served(source), PageView::Fleet(FleetView::of("first")))
}

/// Returns the content of the page without tags.
fn text(html: &str) -> String {
    let main = html.split_once("<main").unwrap().1.split_once("</main>").unwrap().0;
    let mut text = String::new();
    for part in main.split('<').skip(1) {
        let (tag, words) = part.split_once('>').unwrap_or(("", part));
        let is_block = ["td", "th", "span", "strong", "code", "a ", "/"]
            .iter()
            .all(|inline| !tag.starts_with(inline));
        text.push_str(if is_block { "\n" } else { " " });
        text.push_str(words.trim());
    }
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_campaign_opens_on_the_nodes_that_are_not_ok_with_evidence_and_advice() {
    let html = campaign_page(&with(vec![campaign("first", "x")]));
    insta::assert_snapshot!(text(&html));
    for part in [
        "<p class=\"say bad\">1 of 6 nodes slow · 2 ok · 1 error · 1 being measured · 1 \
         queued",
        "<div class=\"command\">",
        "<code>scontrol update nodename=n8 state=drain",
        "<progress value=\"3\" max=\"12\">",
        "<details id=\"ok\"><summary>2 nodes are ok",
        "data-refresh=\"5\"",
        "href=\"fleet?campaign=first\" aria-current=\"page\">Fleet",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let place = |part: &str| html.find(part).unwrap_or_else(|| panic!("{part}\n{html}"));
    let order = ["id=\"not-ok\"", "id=\"progress\"", "id=\"classes\"", "id=\"ok\""].map(place);
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn a_campaign_that_ended_is_not_followed_and_a_healthy_one_is_good() {
    let mut healthy = campaign("first", "x");
    (healthy.is_active, healthy.pairs) = (false, Vec::new());
    healthy.nodes.retain(|node| node.state == NodeState::Ok);
    let html = campaign_page(&with(vec![healthy]));
    assert!(html.contains("<p class=\"say good\">0 of 2 nodes slow · 2 ok"), "{html}");
    for part in ["data-refresh", "id=\"not-ok\"", "id=\"progress\""] {
        assert!(!html.contains(part), "{part}\n{html}");
    }
}

#[test]
fn only_a_fleet_has_an_entry_and_several_campaigns_a_list() {
    let none = with(Vec::new());
    assert!(
        !page(&served(&none), PageView::Overview { branch: String::new() }).contains(">Fleet<")
    );
    let html = open(&served(&none), "fleet");
    assert!(html.contains("There is no campaign.") && html.contains("fleet submit"), "{html}");
    let three = MadeUp::new("64");
    let html = open(&served(&three), "fleet");
    check("fleet", &html);
    for part in [
        "<a href=\"fleet?campaign=first\">first</a>",
        "1 of 6 nodes slow",
        "`campaign.json` is not a campaign",
        "The campaign large is being read",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let mut empty = campaign("first", "x");
    empty.nodes.clear();
    assert!(campaign_page(&with(vec![empty])).contains("The campaign has no nodes"));
}

#[test]
fn a_campaign_that_cannot_be_read_says_why() {
    let source = MadeUp::new("64");
    let site = served(&source);
    let torn = open(&site, "fleet?campaign=torn");
    assert!(torn.contains("cannot be shown: ") && torn.contains("is not a campaign"), "{torn}");
    let large = open(&site, "fleet?campaign=large");
    assert!(large.contains("is being read") && large.contains("data-refresh"), "{large}");
    for (query, status, why) in [
        ("campaign=torn", 500, "is not a campaign"),
        ("campaign=large", 503, "is being read"),
        ("campaign=../first", 404, "no campaign is called"),
        ("campaign=first&node=n99", 404, "has no node `n99`"),
    ] {
        let response = respond(&site, "api/fleet", query);
        let body = String::from_utf8(response.body).unwrap();
        assert_eq!(response.status, status, "{query}: {body}");
        assert!(body.contains(why), "{query}: {body}");
    }
}

#[test]
fn a_node_has_a_page_with_its_cases_and_documents_have_both() {
    let source = MadeUp::new("64");
    let site = served(&source);
    let html = open(&site, "fleet?campaign=first&node=n864");
    for part in [
        "<h1>Node n864</h1>",
        "<p class=\"say bad\">slow: +9.8 % [+9.1, +10.5] %",
        "<section id=\"cases\"",
        "data-label=\"spread\">0.15 %",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let json = |link: &str| serde_json::from_str::<Value>(&open(&site, link)).unwrap();
    assert_eq!(json("api/fleet")["campaigns"][2]["campaign"], "first");
    assert_eq!(json("api/fleet?campaign=first")["nodes"][2]["progress"]["state"], "running");
    let node = json("api/fleet?campaign=first&node=n864");
    assert_eq!(node["cases"][0]["slower_percent"], 9.8, "{node:#}");
}

#[test]
fn ten_thousand_nodes_are_one_small_page_and_each_is_found() {
    let mut large = campaign("first", "x");
    let slow = large.nodes[0].clone();
    for number in 0..10_000 {
        let state = if number % 3 == 0 { NodeState::Undecided } else { NodeState::Ok };
        large.nodes.push(node(&format!("node{number:05}"), state));
    }
    large.nodes.extend(std::iter::repeat_n(slow, 500));
    let source = with(vec![large]);
    let html = campaign_page(&source);
    assert!(html.len() < 400_000, "{} bytes", html.len());
    assert!(html.contains("more nodes; filter by node name below"), "{html}");
    let found = open(&served(&source), "fleet?campaign=first&find=NODE09999");
    assert!(found.contains("node=node09999") && !found.contains("node=node09998"), "{found}");
}

#[test]
fn an_export_has_the_pages_of_nodes_that_are_not_ok() {
    let source = with(vec![campaign("torn", "x"), campaign("first", "x")]);
    let site = Site::new(&source, Medium::Exported);
    let mut files = Vec::new();
    export_site(&site, |name, _| {
        files.push(name.to_owned());
        Ok::<(), std::convert::Infallible>(())
    })
    .unwrap();
    let of = |part: &str| files.iter().filter(|name| name.contains(part)).count();
    assert_eq!((of("fleet-campaign-first.html"), of("fleet-campaign-torn.html")), (1, 1));
    let nodes = files.iter().filter(|name| name.starts_with("fleet-") && name.contains("node-"));
    assert_eq!(nodes.count(), 2, "{files:?}");
}
