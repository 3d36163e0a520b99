//! `rusty-stack-bench.toml`: strict wire types, converted to validated ones. A typo is an error
//! with its position, never the default.

mod parts;
mod user;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rsb_catalog::entry_file::AxisValues;
use rsb_catalog::frameworks;
use rsb_catalog::plan::{CustomEntry, Plan};
use rsb_model::ids::ParseIdError;
use rsb_model::{BackendId, Profile, Suite};
use rsb_notify::NotifySection;
use rsb_report::theme::UnknownPigment;
use rsb_report::{CharacterSet, Glyphs, PageLook, PageTheme, ReportPart, Theme, ThemeName};
use rsb_stats::policy_file::TargetFile;
use serde::Deserialize;

pub use parts::{ComponentMetric, ComponentSection, GpuSection};
pub use user::UserConfig;

/// Name of the file in the current directory.
pub const FILE_NAME: &str = "rusty-stack-bench.toml";

/// Another name of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyAlias {
    /// Section that has both names.
    pub section: &'static str,
    /// The other name.
    pub name: &'static str,
    /// Name of the key.
    pub key: &'static str,
}

const fn alias(section: &'static str, name: &'static str, key: &'static str) -> KeyAlias {
    KeyAlias { section, name, key }
}

/// All other names of keys, which the fields repeat for serde.
pub const KEY_ALIASES: &[KeyAlias] = &[
    alias("run", "output_dir", "results_dir"),
    alias("run", "num_runs", "runs"),
    alias("run", "warmup_runs", "warmup"),
    alias("run", "timeout_seconds", "timeout"),
    alias("report", "generate_ascii_reports", "generate_ascii"),
    alias("report", "generate_markdown_reports", "generate_markdown"),
    alias("report", "generate_html_reports", "generate_html"),
    alias("report", "generate_json_reports", "generate_json"),
];

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}; `rusty-stack-bench config save FILE` writes one with every \
             key", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The text or a value is invalid; the message contains the position and the valid keys.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Position and cause.
        message: String,
    },
}

/// The whole file. Every key is optional.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Cases to run, and how thoroughly.
    pub run: RunSection,
    /// Time limits.
    pub time_limits: TimeLimits,
    /// Settings of single framework components, by name.
    pub components: BTreeMap<String, ComponentSection>,
    /// Benchmarks on GPUs.
    pub gpu: GpuSection,
    /// Threshold in percent by benchmark name; those of `baselines/policy.toml` take precedence.
    pub thresholds: BTreeMap<String, f64>,
    /// Contents and look of reports.
    pub report: ReportSection,
    /// Entries of the suite `custom`.
    pub custom: Vec<CustomSection>,
    /// The terminal interface.
    pub tui: TuiSection,
    /// Look of charts.
    pub charts: ChartsSection,
    /// Labels of machines in the dashboard, by the name that `serve` shows in a tooltip.
    pub machines: BTreeMap<String, String>,
    /// Receivers of alerts.
    pub notify: Vec<NotifySection>,
}

/// `[run]`: keys named like the flags, and the steps after a run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, clippy::struct_excessive_bools)]
pub struct RunSection {
    pub suite: Option<Suite>,
    pub profile: Option<Profile>,
    pub backend: Option<String>,
    pub device: Vec<u32>,
    #[serde(alias = "num_runs")]
    pub runs: Option<usize>,
    #[serde(alias = "warmup_runs")]
    pub warmup: Option<u64>,
    pub replicates: Option<u32>,
    /// Seconds for one replicate of a case, unless `[time_limits]`, `[gpu]` or the component's
    /// section has a limit.
    #[serde(alias = "timeout_seconds")]
    pub timeout: Option<u64>,
    #[serde(alias = "output_dir")]
    pub results_dir: Option<PathBuf>,
    pub log_dir: Option<PathBuf>,
    pub log_format: Option<LogFormat>,
    pub baselines_dir: Option<PathBuf>,
    pub policy: Option<PathBuf>,
    /// The run or saved baseline to compare a run with; `None` for the baseline of its machine and
    /// suite.
    pub baseline_run_id: Option<String>,
    pub compare_with_baseline: bool,
    pub save_raw_results: bool,
    pub generate_reports: bool,
    pub verbose: bool,
    /// Whether kernels are compiled in parallel before anything is measured. Nothing else ever runs
    /// in parallel.
    pub parallel: bool,
    pub max_workers: Option<usize>,
}

impl Default for RunSection {
    fn default() -> Self {
        Self {
            suite: None,
            profile: None,
            backend: None,
            device: Vec::new(),
            runs: None,
            warmup: None,
            replicates: None,
            timeout: None,
            results_dir: None,
            log_dir: None,
            log_format: None,
            baselines_dir: None,
            policy: None,
            baseline_run_id: None,
            compare_with_baseline: false,
            save_raw_results: true,
            generate_reports: false,
            verbose: false,
            parallel: false,
            max_workers: None,
        }
    }
}

rsb_model::named_enum! {
    serde
    /// Format of the log of a run.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
    pub enum LogFormat {
        /// One line of text for each event.
        #[default]
        Text = "text",
        /// One JSON object for each event, on a line of its own.
        Json = "json",
    }
}

/// `[time_limits]`, in seconds.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)]
pub struct TimeLimits {
    pub component_seconds: Option<u64>,
    pub gpu_seconds: Option<u64>,
    pub suite_seconds: Option<u64>,
}

/// `[report]`: reports for people; documents for programs always contain everything.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, clippy::struct_excessive_bools)]
pub struct ReportSection {
    pub title: Option<String>,
    pub theme: PageTheme,
    pub parts: Vec<ReportPart>,
    pub chart_width: u32,
    #[serde(alias = "generate_ascii_reports")]
    pub generate_ascii: bool,
    #[serde(alias = "generate_markdown_reports")]
    pub generate_markdown: bool,
    #[serde(alias = "generate_html_reports")]
    pub generate_html: bool,
    #[serde(alias = "generate_json_reports")]
    pub generate_json: bool,
}

impl Default for ReportSection {
    fn default() -> Self {
        let look = PageLook::default();
        Self {
            title: None,
            theme: look.theme,
            parts: ReportPart::ALL.to_vec(),
            chart_width: look.chart_width,
            generate_ascii: true,
            generate_markdown: true,
            generate_html: true,
            generate_json: false,
        }
    }
}

impl ReportSection {
    fn check(&self) -> Result<(), String> {
        if self
            .title
            .as_ref()
            .is_some_and(|title| title.trim().is_empty() || title.chars().count() > 200)
        {
            return Err("`report.title` must have 1 to 200 characters".to_owned());
        }
        if !(300..=4000).contains(&self.chart_width) {
            return Err(
                "`report.chart_width` must be at least 300 and at most 4000 pixels".to_owned()
            );
        }
        Ok(())
    }
}

/// Refuses an unknown benchmark in a section of the file.
fn check_benchmark(name: &str, section: &str) -> Result<(), String> {
    if rsb_workloads::find(name).is_some() || rsb_catalog::frameworks::find(name).is_some() {
        return Ok(());
    }
    let near = rsb_catalog::plan::nearest(name)
        .map(|near| format!(", did you mean `{near}`?"))
        .unwrap_or_default();
    Err(format!("`{section}`: unknown benchmark `{name}`{near}"))
}

/// `[tui]`. A build without the interface reads it too, so that one file works for all builds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, clippy::struct_excessive_bools)]
pub struct TuiSection {
    pub show_live_progress: bool,
    pub auto_run_on_selection: bool,
    pub save_results_automatically: bool,
    pub show_comparison_after_run: bool,
    pub animation_style: Animation,
}

impl Default for TuiSection {
    fn default() -> Self {
        Self {
            show_live_progress: true,
            auto_run_on_selection: false,
            save_results_automatically: true,
            show_comparison_after_run: true,
            animation_style: Animation::Bar,
        }
    }
}

/// Animation shown while a run is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Animation {
    Spinner,
    Bar,
    None,
}

/// `[[custom]]`: one benchmark with its axes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct CustomSection {
    pub benchmark: String,
    #[serde(default)]
    pub axes: BTreeMap<String, AxisValues>,
}

/// `[charts]`: theme, characters, and the colors of single roles.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)]
pub struct ChartsSection {
    pub theme: Option<ThemeName>,
    pub glyphs: Option<Glyphs>,
    /// Characters of charts in a terminal, by the character that each replaces.
    pub characters: BTreeMap<String, String>,
    pub colors: BTreeMap<String, String>,
    /// Whether charts draw simulated results, too, with a mark.
    pub simulated: bool,
}

impl ChartsSection {
    /// Returns the characters of charts in a terminal.
    ///
    /// # Errors
    /// If a character cannot be used.
    pub fn glyphs(&self) -> Result<Glyphs, String> {
        if self.characters.is_empty() {
            return Ok(self.glyphs.unwrap_or_default());
        }
        if self.glyphs == Some(Glyphs::Ascii) {
            return Err("`charts.characters` replace those of `glyphs = \"unicode\"`".to_owned());
        }
        let set = CharacterSet::new(&self.characters)
            .map_err(|error| format!("`charts.characters`: {error}"))?;
        // Read once per process.
        Ok(Glyphs::Custom(Box::leak(Box::new(set))))
    }

    /// Returns the theme with the changed colors; `usual` if no theme is named.
    ///
    /// # Errors
    /// If a role or a color is unknown.
    pub fn theme(&self, usual: ThemeName) -> Result<Theme, String> {
        let mut theme = Theme::from(self.theme.unwrap_or(usual));
        for (role, color) in &self.colors {
            let pigment = color
                .parse()
                .map_err(|error: UnknownPigment| format!("`charts.colors.{role}`: {error}"))?;
            theme =
                theme.with(role, pigment).map_err(|error| format!("`charts.colors`: {error}"))?;
        }
        Ok(theme)
    }
}

/// Describes `error` with its line of `text`. Within `[[notify]]`, which may contain secrets, gives
/// only the line number and the expected keys.
fn describe(error: &toml::de::Error, text: &str) -> String {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or(text);
    let rest = text.get(before.len()..).unwrap_or_default();
    let line = rest.lines().next().unwrap_or_default();
    let until = before.to_owned() + line;
    let is_table = |line: &&str| {
        let inner = line.trim_start_matches('[').trim_start();
        line.starts_with('[') && inner.starts_with(|first: char| first.is_ascii_alphabetic())
    };
    let table = until.lines().map(str::trim_start).rfind(is_table);
    let table = table.map(|line| line.trim_start_matches('[').trim_start());
    let is_inline = until.lines().any(|line| line.trim_start().starts_with("notify"));
    if !is_inline && !table.is_some_and(|table| table.starts_with("notify")) {
        return error.to_string();
    }
    let message = error.message();
    let expected = match message.split_once(", expected ") {
        Some((found, expected)) if found.starts_with("invalid") => format!("expected {expected}"),
        _ => message.to_owned(),
    };
    format!("line {}: `notify`: {expected}", before.matches('\n').count() + 1)
}

impl Config {
    /// Reads `path`.
    ///
    /// # Errors
    /// If it cannot be read, is not TOML, has an unknown key, or a value is out of range.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        Self::of_text(&Self::read_text(path)?, path)
    }

    /// Reads the text of `path`.
    ///
    /// # Errors
    /// If it cannot be read or is not UTF-8.
    pub fn read_text(path: &Path) -> Result<String, ConfigError> {
        rsb_store::read_text(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })
    }

    /// Reads the named file, else the one in the current directory. Returns the defaults if there
    /// is neither.
    ///
    /// # Errors
    /// Same as [`Config::read`].
    pub fn find(named: Option<&Path>) -> Result<Self, ConfigError> {
        match named {
            Some(path) => Self::read(path),
            // A dangling link counts as a file, too.
            None if Path::new(FILE_NAME).symlink_metadata().is_ok() => {
                Self::read(Path::new(FILE_NAME))
            }
            None => Ok(Self::default()),
        }
    }

    /// Parses `text`; errors name `path`.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn of_text(text: &str, path: &Path) -> Result<Self, ConfigError> {
        Self::parse(text).map_err(|message| ConfigError::Invalid { path: path.to_owned(), message })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let config: Self = toml::from_str(text).map_err(|error| describe(&error, text))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        if let Some(backends) = &self.run.backend {
            parse_backends(backends)?;
        }
        if self.run.runs.is_some_and(|runs| runs < 10) {
            return Err(
                "`run.runs` must be at least 10: Criterion takes no fewer samples".to_owned()
            );
        }
        if self.run.runs.is_some_and(|runs| runs > 1_000_000) {
            return Err("`run.runs` must be at most 1000000".to_owned());
        }
        if self.run.replicates.is_some_and(|replicates| !(1..=10_000).contains(&replicates)) {
            return Err("`run.replicates` must be at least 1 and at most 10000".to_owned());
        }
        let seconds = [
            self.time_limits.component_seconds,
            self.time_limits.gpu_seconds,
            self.time_limits.suite_seconds,
            self.run.timeout,
        ];
        if seconds.contains(&Some(0)) || self.gpu.timeout_seconds == Some(0) {
            return Err("a time limit must be at least 1 second".to_owned());
        }
        if self.gpu.timeout_seconds.is_some() && self.time_limits.gpu_seconds.is_some() {
            return Err(
                "`gpu.timeout_seconds` and `time_limits.gpu_seconds` mean the same; keep one"
                    .to_owned(),
            );
        }
        if self.run.max_workers.is_some_and(|workers| !(1..=1024).contains(&workers)) {
            return Err("`run.max_workers` must be at least 1 and at most 1024".to_owned());
        }
        self.components.iter().try_for_each(|(name, component)| component.check(name))?;
        self.report.check()?;
        self.charts.theme(ThemeName::Dark)?;
        self.charts.glyphs()?;
        rsb_notify::check(&self.notify)?;
        for section in &self.custom {
            check_benchmark(&section.benchmark, "custom.benchmark")?;
            parts::check_entry(section)?;
        }
        for (name, percent) in &self.thresholds {
            check_benchmark(name, "thresholds")?;
            if !(percent.is_finite() && *percent > 0.0) {
                return Err(format!(
                    "`thresholds.{name}` must be a percentage above 0, not {percent}"
                ));
            }
        }
        Ok(())
    }

    /// Removes disabled cases from `plan`, and adds an entry with the reason.
    pub fn leave_out(&self, plan: &mut Plan) {
        plan.leave_out(|case| {
            let is_off =
                self.components.get(&case.benchmark).is_some_and(|component| !component.enabled);
            if is_off && frameworks::find(&case.benchmark).is_some() {
                let why = format!("[components.{}] has `enabled = false`", case.benchmark);
                return Some(parts::instead(case, &case.benchmark, "", &why));
            }
            self.gpu.left_out(case)
        });
    }

    /// Returns the targets of components, in the format of a policy.
    pub fn targets(&self) -> impl Iterator<Item = TargetFile> + '_ {
        self.components.iter().flat_map(|(name, component)| component.targets(name))
    }

    /// Returns how many workers may compile kernels in parallel.
    pub fn prepare_workers(&self) -> usize {
        if !self.run.parallel {
            return 1;
        }
        self.run.max_workers.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        })
    }

    /// Returns the entries of the suite `custom`.
    pub fn custom_entries(&self) -> Vec<CustomEntry> {
        let mut entries = Vec::new();
        for section in &self.custom {
            let axes =
                section.axes.iter().map(|(name, values)| (name.clone(), values.texts())).collect();
            entries.push(CustomEntry { benchmark: section.benchmark.clone(), axes });
        }
        entries
    }
}

/// Parses the names of backends, separated by commas; empty for `auto`.
///
/// # Errors
/// If a name is unknown or a backend only runs models, or `auto` is combined with other names.
pub fn parse_backends(text: &str) -> Result<Vec<BackendId>, String> {
    if text == "auto" {
        return Ok(Vec::new());
    }
    let mut backends = Vec::new();
    for name in text.split(',').map(str::trim) {
        if name == "auto" {
            return Err(
                "`auto` cannot be combined with other backends: name several backends".to_owned()
            );
        }
        let of_models = rsb_catalog::suites::RUNTIMES_OF_MODELS;
        if let Some((name, cure)) = of_models.iter().find(|(known, _)| *known == name) {
            return Err(format!("`{name}` only runs models: {cure}"));
        }
        let backend = name.parse::<BackendId>().map_err(|error: ParseIdError| error.to_string())?;
        if !backends.contains(&backend) {
            backends.push(backend);
        }
    }
    Ok(backends)
}

/// Returns `given` seconds, or the default.
pub fn seconds(given: Option<u64>, default: Duration) -> Duration {
    given.map_or(default, Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_in_the_documentation_is_valid() {
        let example = include_str!("../../../docs/rusty-stack-bench.example.toml");
        let config = Config::parse(example).unwrap();
        assert_eq!(config.run.runs, Some(100));
        assert_eq!(config.time_limits.component_seconds, Some(300));
        assert_eq!(config.report, ReportSection::default(), "the example shows the defaults");
        assert_eq!(config.custom_entries().len(), 2);
        assert_eq!(config.tui, TuiSection::default(), "the file shows the defaults");
        assert_eq!(config.gpu, GpuSection { timeout_seconds: None, ..GpuSection::default() });
        let component = ComponentSection {
            thresholds: BTreeMap::new(),
            ..config.components["pytorch"].clone()
        };
        let shown = ComponentSection {
            timeout_seconds: Some(300),
            num_runs: Some(100),
            warmup_runs: Some(10),
            ..ComponentSection::default()
        };
        assert_eq!(component, shown);
    }

    #[test]
    fn a_component_that_is_disabled_is_skipped_once_and_its_thresholds_are_targets() {
        let text = "[components.pytorch]\nenabled = \
                    false\n[components.triton.thresholds]\ncompile_time_ms = 5.0\n";
        let config = Config::parse(text).unwrap();
        let ids = ["pytorch/cpu:0/matmul", "pytorch/cpu:0/attention", "triton/cpu:0/compile"];
        let cases = ids.map(|id| case(&format!("component_specific/{id}"))).to_vec();
        let mut plan = Plan { cases, ..Plan::default() };
        config.leave_out(&mut plan);
        let left: Vec<&str> = plan.cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(left, ["component_specific/triton/cpu:0/compile"]);
        let [(skipped, reason)] = plan.skipped.as_slice() else { panic!("{:?}", plan.skipped) };
        assert_eq!(skipped.id.as_str(), "component_specific/pytorch");
        assert!(reason.why.contains("enabled = false"), "{reason}");
        let [target] = config.targets().collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(
            (target.id.as_str(), target.above, target.below),
            ("component_specific/triton/*", None, Some(5.0))
        );
    }

    #[test]
    fn a_key_may_have_its_other_name_but_not_both() {
        for &KeyAlias { section, name, key } in KEY_ALIASES {
            let value = match key {
                "results_dir" => "\"x\"",
                "runs" | "warmup" | "timeout" => "33",
                _ => "false",
            };
            let line = |name: &str| format!("{name} = {value}\n");
            let parse = |lines: &str| Config::parse(&format!("[{section}]\n{lines}"));
            let expected = parse(&line(key)).unwrap();
            assert_eq!(parse(&line(name)), Ok(expected), "{name}");
            let both = parse(&(line(name) + &line(key))).unwrap_err();
            assert!(both.contains("duplicate field"), "{name}: {both}");
        }
    }

    fn case(id: &str) -> rsb_model::Case {
        rsb_model::Case {
            id: id.parse().unwrap(),
            benchmark: id.split('/').nth(1).unwrap().to_owned(),
            benchmark_type: rsb_model::BenchmarkType::ComponentSpecific,
            device: rsb_model::DeviceRef::CPU.into(),
            params: rsb_model::Params::new(),
        }
    }

    #[test]
    fn each_mistake_says_where_and_what_is_valid() {
        for (text, expected) in [
            ("[run]\nrunz = 3\n", "expected one of `suite`, `profile`"),
            ("[run]\nrunz = 3\n", "line 2"),
            ("[rum]\n", "expected one of `run`"),
            ("[run\n", "line 1"),
            ("[run]\ntimeout_seconds = 0\n", "at least 1 second"),
            ("[run]\nlog_format = \"xml\"\n", "`text` or `json`"),
            ("[run]\nsuite = \"fast\"\n", "pre-installation"),
            ("[run]\nruns = 3\n", "at least 10"),
            ("[run]\nruns = \"many\"\n", "line 2"),
            ("[run]\nreplicates = 0\n", "at least 1"),
            ("[run]\nruns = 1000000000000\n", "at most 1000000"),
            ("[run]\nbackend = \"toaster\"\n", "rocm, cuda, vulkan"),
            ("[run]\nbackend = \"mps\"\n", "models --backend mps"),
            ("[run]\nbackend = \"cpu,toaster\"\n", "rocm, cuda, vulkan"),
            ("[run]\nbackend = \"auto,cpu\"\n", "name several backends"),
            ("[time_limits]\nsuite_seconds = 0\n", "at least 1 second"),
            ("[thresholds]\ngem = 5.0\n", "did you mean `gemm`?"),
            ("[thresholds]\ngemm = -1.0\n", "above 0"),
            ("[thresholds]\ngemm = nan\n", "above 0"),
            (
                "[report]\ntitel = \"x\"\n",
                "expected one of `title`, `theme`, `parts`, `chart_width`",
            ),
            ("[report]\ngenerate_pdf = true\n", "`generate_html`"),
            ("[report]\ntitle = \" \"\n", "1 to 200"),
            ("[report]\ntheme = \"blue\"\n", "expected one of `auto`, `light`, `dark`"),
            (
                "[report]\nparts = [\"verdict\"]\n",
                "expected one of `environment`, `comparison`, `recommendations`, `charts`",
            ),
            ("[report]\nchart_width = 20\n", "at least 300"),
            ("[[custom]]\naxes = {}\n", "benchmark"),
            ("[[custom]]\nbenchmark = \"gem\"\n", "did you mean `gemm`?"),
            (
                "[[custom]]\nbenchmark = \"gemm\"\naxes = { dtpe = [\"f32\"] }\n",
                "gemm has no axis `dtpe`; it has",
            ),
            (
                "[[custom]]\nbenchmark = \"gemm\"\naxes = { dtype = [\"f33\"] }\n",
                "`f33` is not a value",
            ),
            ("[[custom]]\nbenchmark = \"gemm\"\naxes = { dtype = [] }\n", "has no value"),
            (
                "[[custom]]\nbenchmark = \"gemm\"\naxes = { threads = [-1] }\n",
                "`-1` is not a value",
            ),
            ("[[custom]]\nbenchmark = \"gemm\"\naxes = { threads = [true] }\n", "write a number"),
            (
                "[[custom]]\nbenchmark = \"pytorch\"\naxes = { dtpe = [\"f32\"] }\n",
                "`pytorch` has no axis `dtpe`",
            ),
            (
                "[[custom]]\nbenchmark = \"pytorch\"\naxes = { dtype = [\"f33\"] }\n",
                "`f33` is not a value",
            ),
            (
                "[[custom]]\nbenchmark = \"pytorch\"\naxes = { workload = [\"matmull\"] }\n",
                "one of matmul",
            ),
            ("[components.pytroch]\n", "did you mean `pytorch`?"),
            ("[components.pytorch]\nnum_run = 3\n", "expected one of `enabled`, `timeout_seconds`"),
            ("[components.pytorch]\nnum_runs = 3\n", "at least 10"),
            ("[components.pytorch]\ntimeout_seconds = 0\n", "at least 1"),
            ("[components.pytorch]\nmetrics = [\"speed\"]\n", "throughput"),
            ("[components.pytorch.thresholds]\nspeed = 3.0\n", "is not a target"),
            ("[components.pytorch.thresholds]\ntflops = nan\n", "is not a target"),
            ("[gpu]\ntest_memroy = true\n", "test_memory"),
            ("[gpu]\ntimeout_seconds = 5\n[time_limits]\ngpu_seconds = 5\n", "keep one"),
            ("[run]\nmax_workers = 0\n", "at least 1"),
            ("[tui]\nanimation_style = \"bars\"\n", "spinner"),
            ("[tui]\nshow_progress = true\n", "show_live_progress"),
            ("[charts]\ntheme = \"blue\"\n", "high-contrast"),
            ("[[notify]]\nname = \"team\"\n", "exactly one of `slack`"),
            ("[[notify]]\nname = \"team\"\nslack = {}\n", "url"),
            ("[charts]\nglyphs = \"emoji\"\n", "ascii"),
            ("[charts.characters]\n\"█\" = \"##\"\n", "not one printable character"),
            ("[charts]\nglyphs = \"ascii\"\ncharacters = { \"█\" = \"#\" }\n", "unicode"),
            ("[charts.colors]\nbase = \"red\"\n", "baseline, current"),
            ("[charts.colors]\nbaseline = \"rot\"\n", "light-red"),
        ] {
            let message = Config::parse(text).unwrap_err();
            assert!(message.contains(expected), "{text}\n{message}");
        }
    }

    #[test]
    fn an_error_in_notify_names_its_line_and_no_secret() {
        struct Row {
            table: &'static str,
            expected: &'static str,
        }
        for Row { table, expected } in [
            Row { table: "slack = 'https://hooks/SECRET'", expected: "line 3: `notify`" },
            Row { table: "slack = { url = 'https://hooks/SECRET' ", expected: "line 3" },
            Row { table: "slack = { uri = 'https://hooks/SECRET' }", expected: "unknown field" },
            Row { table: "slack = { url = 'https://hooks/SECRET", expected: "line 3: `notify`" },
            Row { table: "[notify.slack]\nurl = { value = 'SECRET' }", expected: "env = " },
            Row {
                table: "[notify.email]\nhost = 'm'\npassword = ['SECRET']",
                expected: "line 5: `notify`: expected",
            },
        ] {
            let text = format!("[[notify]]\nname = 'team'\n{table}\n");
            let message = Config::parse(&text).unwrap_err();
            assert!(message.contains(expected), "{table}\n{message}");
            assert!(!message.contains("SECRET"), "{table}\n{message}");
        }
        let message = Config::parse("[[notify]]\nname = 1\n").unwrap_err();
        assert_eq!(message, "line 2: `notify`: expected a string");
        let other = "[run]\nrunz = 3\n[[notify]]\nname = 'x'\ncommand = { run = ['x'] }\n";
        assert!(Config::parse(other).unwrap_err().contains("runz = 3"));
    }
}
