//! Addresses of the dashboard's pages, as a path with a query or as the name of an exported file.
//!
//! All addresses are in one directory, so links are the same under any prefix and in a directory of
//! files. Default values are left out, which keeps addresses short.

mod query;
#[cfg(test)]
mod tests;

use rsb_model::shown::short_hash;

use query::{Query, encode, pairs};

/// A view, and the form in which it is requested.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// The view.
    pub view: PageView,
    /// Requested form.
    pub form: Form,
}

/// Format of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Form {
    /// An HTML page.
    Page,
    /// A JSON document for programs.
    Json,
    /// One chart of the page.
    Chart {
        /// [`rsb_report::Chart::name`].
        name: String,
        /// File format.
        format: ChartFileFormat,
    },
}

/// File format of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChartFileFormat {
    /// Values of the chart.
    Csv,
    /// SVG drawing.
    Svg,
    /// PNG image, if the build can make one.
    Png,
}

/// A page of the dashboard.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PageView {
    /// The overall state.
    Overview {
        /// Branch whose runs are shown; empty for all.
        branch: String,
    },
    /// The stored runs.
    Runs(ListFilter),
    /// The cases that were ever measured.
    Cases(ListFilter),
    /// Cases and runs whose names contain a text.
    Search {
        /// The text.
        find: String,
    },
    /// One run.
    Run {
        /// Id of the run, or the beginning of one.
        id: String,
    },
    /// Every chart that a run has values for.
    Charts {
        /// Id of the run, or the beginning of one.
        id: String,
    },
    /// Two runs, or a saved baseline and a run.
    Compare(CompareView),
    /// One metric of one case over time.
    Case(CaseView),
    /// The machines side by side.
    Machines,
    /// The recommendation for each model.
    Models,
    /// The saved baselines.
    Baselines,
    /// The findings of the doctor on this machine.
    Doctor,
    /// The runs that are being measured.
    Live,
    /// The campaigns over the nodes of a fleet, one of them, or one of its nodes.
    Fleet(FleetView),
}

/// The list of campaigns, a campaign, or a node of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct FleetView {
    /// Name of the campaign; empty for the list.
    pub campaign: String,
    /// Name of the node; empty for the whole campaign.
    pub node: String,
    /// Text that names of nodes must contain.
    pub find: String,
}

/// A part of a long list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ListFilter {
    /// Text that names must contain.
    pub find: String,
    /// Branch whose runs are shown; empty for all.
    pub branch: String,
    /// Number of the page, from 0.
    pub page: usize,
    /// Order of the cases; runs are always listed from the newest on.
    pub sort: CaseOrder,
}

/// Order of the cases within their benchmark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum CaseOrder {
    /// By name.
    #[default]
    Name,
    /// The longest time first.
    Value,
    /// The largest change over 7 days first.
    Week,
    /// The largest change over 30 days first.
    Month,
    /// The most often measured first.
    Runs,
    /// The least recently measured first.
    Last,
}

impl CaseOrder {
    /// Each order with its name in an address and the title of its column.
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Name, "name", "case"),
        (Self::Value, "value", "last"),
        (Self::Week, "week", "7 days"),
        (Self::Month, "month", "30 days"),
        (Self::Runs, "runs", "runs"),
        (Self::Last, "measured", "measured"),
    ];
}

/// A comparison, with the filter and the order of its rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct CompareView {
    /// The run, or the name of the baseline, on the baseline side; empty if none is chosen yet.
    pub from: String,
    /// The run that is compared with it.
    pub to: String,
    /// Verdicts that are shown.
    pub show: ShownVerdicts,
    /// Order of the rows.
    pub sort: Order,
    /// Text that case names must contain.
    pub find: String,
}

/// One metric of one case, on one machine, in a window of its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct CaseView {
    /// The case.
    pub id: String,
    /// The metric; empty for the time of an iteration.
    pub metric: String,
    /// Slug of the machine; empty for the one that measured last.
    pub machine: String,
    /// First and last run that are shown, counted from 1; `None` for all runs.
    pub window: Option<(usize, usize)>,
    /// Page of the values, from 0.
    pub page: usize,
    /// Series that are drawn together with the case.
    pub by: SeriesBy,
    /// Whether they are drawn as ratios to the first.
    pub ratio: bool,
}

/// Series that are drawn together with a case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SeriesBy {
    /// None.
    #[default]
    Nothing,
    /// The same case with other data types.
    Dtype,
    /// The case on each branch.
    Branch,
    /// The case on other machines.
    Machine,
    /// The geometric mean of the benchmark.
    Mean,
}

impl SeriesBy {
    /// Each choice with its name in an address and its title.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Nothing, "none", "none"),
        (Self::Dtype, "dtype", "data type"),
        (Self::Branch, "branch", "branch"),
        (Self::Machine, "machine", "machine"),
        (Self::Mean, "mean", "geometric mean"),
    ];

    /// Returns what the series differ in.
    pub fn title(self) -> &'static str {
        Self::ALL.iter().find(|(each, ..)| *each == self).map_or("", |(_, _, title)| title)
    }
}

/// Filter of a comparison by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ShownVerdicts {
    /// All except Unchanged.
    #[default]
    Changed,
    /// All verdicts.
    All,
    /// Only Regressed.
    Regressed,
    /// Only Improved.
    Improved,
    /// Only those without a verdict.
    Undecided,
}

/// Order of a comparison's rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The worst first.
    #[default]
    Importance,
    /// The largest change first.
    Change,
    /// By name.
    Case,
}

impl ShownVerdicts {
    /// Each filter with its name in an address and its title.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Changed, "changed", "all except Unchanged"),
        (Self::All, "all", "every row"),
        (Self::Regressed, "regressed", "Regressed"),
        (Self::Improved, "improved", "Improved"),
        (Self::Undecided, "undecided", "no verdict"),
    ];
}

impl Order {
    /// Each order with its name in an address and its title.
    pub const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Importance, "importance", "worst first"),
        (Self::Change, "change", "largest change first"),
        (Self::Case, "case", "by name"),
    ];
}

impl ChartFileFormat {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Csv, "csv"), (Self::Svg, "svg"), (Self::Png, "png")];

    /// Returns the file name extension, without a dot.
    pub fn ending(self) -> &'static str {
        name_of(&Self::ALL, &self)
    }
}

fn name_of<T: PartialEq>(all: &[(T, &'static str)], wanted: &T) -> &'static str {
    all.iter().find(|(each, _)| each == wanted).map_or("", |(_, name)| name)
}

/// An invalid path or query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// There is no such page.
    #[error("there is no page `{0}`")]
    NoPage(String),
    /// The page does not accept this key in a query.
    #[error("`{key}` is not a parameter of the page `{page}`")]
    UnknownKey {
        /// The page.
        page: String,
        /// The key.
        key: String,
    },
    /// A value is not allowed.
    #[error("`{key}={value}`: {expected}")]
    BadValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// Description of the allowed values.
        expected: String,
    },
}

/// Maximum length of a query in bytes, ample for two ids and a text.
pub const LONGEST_QUERY: usize = 4096;

impl Address {
    /// Returns the address of the page of `view`.
    pub const fn page(view: PageView) -> Self {
        Self { view, form: Form::Page }
    }

    /// Returns the address of the JSON document of `view`.
    pub const fn json(view: PageView) -> Self {
        Self { view, form: Form::Json }
    }

    /// Parses `path`, without the leading slash, and `query`, without the question mark.
    ///
    /// # Errors
    /// If there is no such page, the page does not accept a key, or a value is invalid.
    pub fn parse(path: &str, query: &str) -> Result<Self, AddressError> {
        let (is_json, name) = path.strip_prefix("api/").map_or((false, path), |name| (true, name));
        let mut query = Query::of(name, query);
        let chart = query.take("chart");
        let view = match name {
            "" if !is_json => PageView::Overview { branch: query.text("branch") },
            "overview" if is_json => PageView::Overview { branch: query.text("branch") },
            "runs" => PageView::Runs(query.list_filter()?),
            "cases" => {
                let sort = query.choice("sort", &CaseOrder::ALL)?;
                PageView::Cases(ListFilter { sort, ..query.list_filter()? })
            }
            "search" if !is_json => PageView::Search { find: query.text("find") },
            "run" => PageView::Run { id: query.text("id") },
            "charts" => PageView::Charts { id: query.text("id") },
            "compare" => PageView::Compare(query.compare()?),
            "case" => PageView::Case(query.case()?),
            "machines" => PageView::Machines,
            "models" => PageView::Models,
            "baselines" => PageView::Baselines,
            "doctor" => PageView::Doctor,
            "live" => PageView::Live,
            "fleet" => PageView::Fleet(FleetView {
                campaign: query.text("campaign"),
                node: query.text("node"),
                find: query.text("find"),
            }),
            _ => return Err(AddressError::NoPage(path.to_owned())),
        };
        let form = match chart {
            None if is_json => Form::Json,
            None => Form::Page,
            Some(file) => chart_file(&file)?,
        };
        query.finish().map(|()| Self { view, form })
    }

    /// Returns the address as a link from any page: a path with a query.
    pub fn link(&self) -> String {
        let mut pairs = self.view.pairs();
        let name = self.view.name();
        let path = match &self.form {
            Form::Json if name.is_empty() => "api/overview".to_owned(),
            Form::Json => format!("api/{name}"),
            Form::Page | Form::Chart { .. } if name.is_empty() => "./".to_owned(),
            Form::Page | Form::Chart { .. } => name.to_owned(),
        };
        if let Form::Chart { name, format } = &self.form {
            pairs.push(("chart", format!("{name}.{}", format.ending())));
        }
        let query: Vec<String> =
            pairs.iter().map(|(key, value)| format!("{key}={}", encode(value))).collect();
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }

    /// Returns the address as a file of an export, relative to its directory.
    pub fn file(&self) -> String {
        let name = if self.view.name().is_empty() { "index" } else { self.view.name() };
        let stem = match self.view.pairs().as_slice() {
            [] => name.to_owned(),
            [("id", value)] => format!("{name}-{}", file_part(value)),
            [(key, value)] => format!("{name}-{key}-{}", file_part(value)),
            // Line breaks, which no value contains, make `file_part` append a hash.
            several => format!(
                "{name}-{}",
                file_part(
                    &several
                        .iter()
                        .map(|(key, value)| format!("{key}-{value}\n"))
                        .collect::<String>()
                )
            ),
        };
        match &self.form {
            Form::Page => format!("{stem}.html"),
            Form::Json => format!("api/{stem}.json"),
            Form::Chart { name, format } => {
                format!("{stem}-{}.{}", file_part(name), format.ending())
            }
        }
    }
}

/// Returns the pairs of a query or of the body of a form, decoded.
pub(crate) fn form_fields(text: &str) -> Vec<(String, String)> {
    pairs(text)
}

/// Returns the link to the form `path` with one value.
pub(crate) fn form_link(path: &str, key: &str, value: &str) -> String {
    format!("{path}?{key}={}", encode(value))
}

impl PageView {
    /// Returns the first part of its address; empty for the overview.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Overview { .. } => "",
            Self::Runs(_) => "runs",
            Self::Cases(_) => "cases",
            Self::Search { .. } => "search",
            Self::Run { .. } => "run",
            Self::Charts { .. } => "charts",
            Self::Compare(_) => "compare",
            Self::Case(_) => "case",
            Self::Machines => "machines",
            Self::Models => "models",
            Self::Baselines => "baselines",
            Self::Doctor => "doctor",
            Self::Live => "live",
            Self::Fleet(_) => "fleet",
        }
    }

    /// Returns the pairs of its query, without default values.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs: Vec<(&'static str, String)> = match self {
            Self::Runs(list) => list.pairs(),
            Self::Cases(list) => {
                let sort = CaseOrder::ALL.iter().find(|(each, ..)| *each == list.sort);
                let name = sort.map_or("", |(_, name, _)| name);
                let mut pairs = list.pairs();
                pairs.push(("sort", name_unless_default(name, list.sort == CaseOrder::default())));
                pairs
            }
            Self::Search { find } => vec![("find", find.clone())],
            Self::Run { id } | Self::Charts { id } => vec![("id", id.clone())],
            Self::Compare(view) => view.pairs(),
            Self::Case(view) => view.pairs(),
            Self::Fleet(view) => vec![
                ("campaign", view.campaign.clone()),
                ("node", view.node.clone()),
                ("find", view.find.clone()),
            ],
            Self::Overview { branch } => vec![("branch", branch.clone())],
            Self::Machines | Self::Models | Self::Baselines | Self::Doctor | Self::Live => {
                Vec::new()
            }
        };
        pairs.retain(|(_, value)| !value.is_empty());
        pairs
    }
}

impl FleetView {
    /// Returns the view of a campaign.
    pub fn of(campaign: &str) -> Self {
        Self { campaign: campaign.to_owned(), ..Self::default() }
    }
}

impl ListFilter {
    fn pairs(&self) -> Vec<(&'static str, String)> {
        vec![
            ("find", self.find.clone()),
            ("branch", self.branch.clone()),
            ("page", page_text(self.page)),
        ]
    }
}

impl CompareView {
    /// Returns the comparison of `from` with `to` with the default filter and order.
    pub fn of(from: &str, to: &str) -> Self {
        Self { from: from.to_owned(), to: to.to_owned(), ..Self::default() }
    }

    fn pairs(&self) -> Vec<(&'static str, String)> {
        let show = ShownVerdicts::ALL
            .iter()
            .find(|(each, ..)| *each == self.show)
            .map_or("", |(_, name, _)| name);
        let sort =
            Order::ALL.iter().find(|(each, ..)| *each == self.sort).map_or("", |(_, name, _)| name);
        vec![
            ("from", self.from.clone()),
            ("to", self.to.clone()),
            ("show", name_unless_default(show, self.show == ShownVerdicts::default())),
            ("sort", name_unless_default(sort, self.sort == Order::default())),
            ("find", self.find.clone()),
        ]
    }
}

fn name_unless_default(name: &str, is_default: bool) -> String {
    if is_default { String::new() } else { name.to_owned() }
}

impl CaseView {
    /// Returns the view of the time per iteration of `id`, on the machine that measured it last.
    pub fn of(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    fn pairs(&self) -> Vec<(&'static str, String)> {
        let window =
            self.window.map_or_else(String::new, |(first, last)| format!("{first}-{last}"));
        let by = SeriesBy::ALL.iter().find(|(each, ..)| *each == self.by);
        let by = by.map_or("", |(_, name, _)| name);
        vec![
            ("id", self.id.clone()),
            ("metric", self.metric.clone()),
            ("machine", self.machine.clone()),
            ("runs", window),
            ("page", page_text(self.page)),
            ("by", name_unless_default(by, self.by == SeriesBy::default())),
            ("ratio", name_unless_default("first", !self.ratio)),
        ]
    }
}

/// Returns the number of a page, counted from 1; empty for the first one, which needs no number.
fn page_text(page: usize) -> String {
    if page == 0 { String::new() } else { (page + 1).to_string() }
}

fn chart_file(file: &str) -> Result<Form, AddressError> {
    let known = ChartFileFormat::ALL.iter().find_map(|(format, ending)| {
        let name = file.strip_suffix(ending)?.strip_suffix('.')?;
        (!name.is_empty()).then(|| Form::Chart { name: name.to_owned(), format: *format })
    });
    known.ok_or_else(|| bad("chart", file, "expected the name of a chart with .csv, .svg or .png"))
}

fn bad(key: &str, value: &str, expected: impl Into<String>) -> AddressError {
    AddressError::BadValue {
        key: key.to_owned(),
        value: value.to_owned(),
        expected: expected.into(),
    }
}

/// Returns `text` as a part of a file name: safe on any file system, and unique for each text.
fn file_part(text: &str) -> String {
    let name: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .take(80)
        .collect();
    let name = name.trim_matches('-');
    // Some file systems do not distinguish upper case from lower case. The letters of a run's id
    // are always in the same positions.
    if name == text && text.chars().all(|c| !c.is_ascii_uppercase() || matches!(c, 'T' | 'Z')) {
        text.to_owned()
    } else {
        format!("{name}-{}", short_hash(text))
    }
}
