//! Names that people read: runs by date, commit and suite, machines by label, cases without their
//! shared parts. Ids are in tooltips and links.

use rsb_model::Timestamp;
use rsb_model::record::RunPoint;
use rsb_report::html::element::{anchor, escape};
use rsb_report::label::split_id;
use rsb_report::{RunRow, trend::short};

use crate::address::{Address, CaseView, PageView};
use crate::site::Site;

/// Usual names of the branch that others are merged into.
const MAIN: [&str; 3] = ["main", "master", "trunk"];
/// Maximum number of branches to choose from.
const BRANCHES: usize = 20;
/// Digits of a commit in a name.
const COMMIT: usize = 7;

/// Formats a moment as `24 Nov 18:15`, with the year if it is not the one of `now`.
pub(crate) fn moment(moment: Timestamp, now: Timestamp) -> String {
    let year = |moment: Timestamp| moment.strftime("%Y").to_string();
    let format = if year(moment) == year(now) { "%-d %b %H:%M" } else { "%-d %b %Y %H:%M" };
    moment.strftime(format).to_string()
}

/// Formats a day as `24 Nov`, with the year if it is not the one of `now`.
pub(crate) fn date(at: Timestamp, now: Timestamp) -> String {
    let text = moment(at, now);
    text.rsplit_once(' ').map_or_else(|| text.clone(), |(date, _)| date.to_owned())
}

/// Returns the first digits of a commit; the whole text if it is no hash.
pub(crate) fn short_commit(commit: &str) -> &str {
    let is_hash = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    commit.get(..COMMIT).filter(|_| is_hash).unwrap_or(commit)
}

/// Returns the benchmark of a case, and the rest of its id: (`gemm`, `cpu:0/f32/64x64x64`).
pub(crate) fn case_parts(id: &str) -> (String, String) {
    id.parse().map_or_else(
        |_| (String::new(), id.to_owned()),
        |id| {
            let (benchmark, case) = split_id(&id);
            (benchmark.to_owned(), case.to_owned())
        },
    )
}

/// Returns the first segments, each with its `/`, that all of `cases` share; their last segment is
/// never part of it.
pub(crate) fn shared_prefix<'c>(cases: impl IntoIterator<Item = &'c str>) -> &'c str {
    let mut shared: Option<&str> = None;
    for case in cases {
        let own = case.rfind('/').map_or("", |end| case.get(..=end).unwrap_or_default());
        shared = Some(match shared {
            None => own,
            Some(known) => {
                let same = known.bytes().zip(own.bytes()).take_while(|(a, b)| a == b).count();
                let same = known.as_bytes().get(..same).unwrap_or_default();
                let end = same.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
                known.get(..end).unwrap_or_default()
            }
        });
    }
    shared.unwrap_or_default()
}

/// Returns `slug` without the hash at its end.
fn without_hash(slug: &str) -> &str {
    let is_hash = |end: &&str| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    slug.rsplit_once('-').filter(|(_, end)| is_hash(end)).map_or(slug, |(name, _)| name)
}

impl Site<'_> {
    /// Returns the label of the machine `slug`: the configured one, or its slug without the hash if
    /// that is unique.
    pub(crate) fn machine(&self, slug: &str) -> String {
        if let Some(label) = self.names().machines.get(slug) {
            return label.clone();
        }
        let name = without_hash(slug);
        let is_unique =
            self.runs().iter().all(|run| run.machine == slug || without_hash(&run.machine) != name);
        if is_unique { name.to_owned() } else { slug.to_owned() }
    }

    /// Returns the label of the machine `slug` as HTML, with the slug in a tooltip.
    pub(crate) fn machine_html(&self, slug: &str) -> String {
        format!("<span title=\"{}\">{}</span>", escape(slug), escape(&self.machine(slug)))
    }

    /// Returns the time of the newest run, in whose year dates have no year.
    pub(crate) fn now(&self) -> Timestamp {
        self.runs().first().map_or(Timestamp::UNIX_EPOCH, |run| run.started)
    }

    /// Formats a moment as `24 Nov 18:15`.
    pub(crate) fn moment(&self, at: Timestamp) -> String {
        moment(at, self.now())
    }

    /// Returns a commit as HTML, with a link to its forge if that is known.
    pub(crate) fn commit(&self, commit: &str) -> String {
        let text = escape(short_commit(commit));
        match self.names().forge.as_ref().and_then(|forge| forge.commit(commit)) {
            Some(address) => format!(
                "<a href=\"{}\" title=\"{}\" rel=\"noreferrer\"><code>{text}</code></a>",
                escape(&address),
                escape(commit)
            ),
            None => format!("<code title=\"{}\">{text}</code>", escape(commit)),
        }
    }

    /// Returns the moment and the commit of a point as text: `24 Nov 18:15 · a72b200`.
    pub(crate) fn since(&self, point: &RunPoint) -> String {
        let commit = point.commit.as_deref().map(|commit| short_commit(commit).to_owned());
        let parts = [Some(self.moment(point.timestamp)), commit];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// Returns the branches of the stored runs, the one measured last first.
    pub(crate) fn branches(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for branch in self.runs().iter().filter_map(|run| run.branch.as_deref()) {
            if names.len() < BRANCHES && !names.contains(&branch) {
                names.push(branch);
            }
        }
        names
    }

    /// Returns the branch that others are merged into, if a stored run is of one with a usual name.
    pub(crate) fn main_branch(&self) -> Option<&'static str> {
        let has_runs =
            |name: &str| self.runs().iter().any(|run| run.branch.as_deref() == Some(name));
        MAIN.into_iter().find(|name| has_runs(name))
    }

    /// Returns the name of a run: `24 Nov 18:15 · a72b200 · quick`, with the branch if there are
    /// several.
    pub(crate) fn run_name(&self, run: &RunRow) -> String {
        let commit = run.commit.as_deref().map(|commit| short_commit(commit).to_owned());
        let branch = run.branch.clone().filter(|_| self.branches().len() > 1);
        let parts = [Some(self.moment(run.started)), commit, Some(run.suite.clone()), branch];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// Returns the name of the run whose id is `id` or begins with it; `id` if there is none.
    pub(crate) fn name_of_run(&self, id: &str) -> String {
        let run = self.runs().iter().find(|run| !id.is_empty() && run.run_id.starts_with(id));
        run.map_or_else(|| id.to_owned(), |run| self.run_name(run))
    }

    /// Returns a link to the run `id`, which is shown as `text`.
    pub(crate) fn run_link(&self, id: &str, text: &str) -> String {
        let link = self.link(Address::page(PageView::Run { id: id.to_owned() }));
        format!("<a href=\"{}\" title=\"{}\">{}</a>", escape(&link), escape(id), escape(text))
    }

    /// Returns a link to a case, which is shown as `text`, with its id in a tooltip.
    pub(crate) fn case_link(&self, view: CaseView, text: &str) -> String {
        let id = escape(&view.id);
        let link = self.link(Address::page(PageView::Case(view)));
        format!("<a href=\"{}\" title=\"{id}\">{}</a>", escape(&link), escape(text))
    }

    /// Returns a link to a case under its usual name: `gemm cpu:0/f32/64x64x64`.
    pub(crate) fn whole_case_link(&self, id: &str) -> String {
        self.case_link(CaseView::of(id), &short(id))
    }

    /// Returns a link to `view`, which is shown as `text`.
    pub(crate) fn page_link(&self, view: PageView, text: &str) -> String {
        anchor(&self.link(Address::page(view)), &escape(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_segments_are_found_and_the_last_one_is_kept() {
        for (cases, expected) in [
            (&["cpu:0/f32/1x1", "cpu:0/f32/2x2"][..], "cpu:0/f32/"),
            (&["cpu:0/f32/1x1", "cpu:0/f64/1x1"], "cpu:0/"),
            (&["cpu:0/f32/1x1"], "cpu:0/f32/"),
            (&["a", "b"], ""),
            (&["ab/1", "ac/1"], ""),
            (&[], ""),
        ] {
            assert_eq!(shared_prefix(cases.iter().copied()), expected, "{cases:?}");
        }
    }

    #[test]
    fn hashes_are_no_names() {
        assert_eq!(without_hash("amd-epyc-2c-a8e027b8"), "amd-epyc-2c");
        assert_eq!(without_hash("amd-epyc-2c"), "amd-epyc-2c");
        assert_eq!(short_commit("a72b200f1c"), "a72b200");
        assert_eq!(short_commit("v1.2.3-beta"), "v1.2.3-beta");
    }

    #[test]
    fn only_other_years_are_named() {
        let [now, other] = ["2026-11-24T18:15:00Z", "2025-01-02T03:04:00Z"]
            .map(|text| text.parse::<Timestamp>().unwrap());
        assert_eq!(moment(now, now), "24 Nov 18:15");
        assert_eq!(moment(other, now), "2 Jan 2025 03:04");
    }
}
