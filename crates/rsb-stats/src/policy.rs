//! What a comparison is held to: thresholds, floors, targets, and what is left out. The valid form;
//! for the form in a file see [`crate::policy_file`].

mod extent;
mod patterns;

use std::collections::BTreeMap;

use rsb_model::record::ThresholdCheck;
use rsb_model::{BenchmarkType, Better, Field};

pub use extent::{Percentile, Weight};
pub use patterns::PolicyPattern;

use crate::glob;

/// The threshold where nothing else is said, in percent.
pub const DEFAULT_THRESHOLD_PERCENT: f64 = 10.0;

/// The change of a control case that is a move of the machine, in percent, at most, where nothing
/// else is said.
pub const MOVED_PERCENT: f64 = 5.0;

/// This product's own benchmark of the machine.
const CONTROL: &str = "control";

/// Changes smaller than this, in the metric's own unit, are none, however large they are against a
/// tiny value: an error of 2e-7 after one of 1e-7 is no regression. For metrics that are compared
/// by value.
const DEFAULT_FLOORS: &[(&str, f64)] = &[
    ("accuracy_error", 1e-6),
    ("allocations_per_iteration", 0.5),
    ("cache_hit_percent", 1.0),
    // Drivers give memory by 2 MiB.
    ("device_memory_leaked_bytes", 4_194_304.0),
    ("gpu_memory_peak_mb", 1.0),
    ("instructions", 1.0),
    ("memory_average_mb", 1.0),
    ("memory_fragmentation_percent", 2.0),
    ("memory_leaked_bytes", 1024.0),
    ("memory_used_mb", 1.0),
    // malloc keeps some of what was freed in each thread's own lists.
    ("native_memory_leaked_bytes", 65_536.0),
    ("occupancy_percent", 1.0),
];

/// Thresholds in percent of metrics that have one of their own: they hardly vary, so that less is
/// news.
const OWN_THRESHOLDS: &[(&str, f64)] = &[("instructions", 2.0)];

/// What a comparison is held to. Start from `Policy::default()` or a [`crate::PolicyFile`].
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    default_threshold: Option<f64>,
    /// In place of it, for once.
    asked_threshold: Option<f64>,
    overrides: Vec<Override>,
    floors: BTreeMap<String, f64>,
    ignored_cases: Vec<String>,
    ignored_metrics: Vec<String>,
    targets: Vec<Target>,
    control: Control,
    percentiles: Vec<Percentile>,
    weights: Vec<Weight>,
    alpha: f64,
    miss: f64,
    critical_factor: f64,
}

/// The cases that tell whether the machine moved, and what is done when it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// Patterns on case ids, as in [`glob::matches`]; none: nothing is known of the machine.
    pub cases: Vec<String>,
    /// A clear change of a control case by at least this much, in percent, means that the machine
    /// moved. Where nobody says it: [`MOVED_PERCENT`], or half of the smallest threshold.
    pub moved_percent: Option<f64>,
    /// What is done then.
    pub when_moved: WhenMoved,
}

/// What is done when the machine moved between the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenMoved {
    /// What the move may have caused, or hidden, has no verdict.
    Refuse,
    /// The mean move of the control cases is taken out of every change.
    Correct,
    /// Nothing: everything is judged as though there were no control set.
    Ignore,
}

impl Default for Control {
    fn default() -> Self {
        let cases = BenchmarkType::ALL.map(|kind| format!("{kind}/{CONTROL}/*"));
        Self { cases: cases.to_vec(), moved_percent: None, when_moved: WhenMoved::Refuse }
    }
}

/// Another threshold for some cases, some metrics, or both.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// Pattern on the case's id, as in [`glob::matches`]; every case where absent.
    pub id: Option<String>,
    /// The metric; every metric where absent.
    pub metric: Option<String>,
    /// The threshold in percent.
    pub percent: f64,
}

/// An absolute figure to reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Pattern on the case's id, as in [`glob::matches`].
    pub id_pattern: String,
    /// The metric.
    pub metric: String,
    /// On which side of `value` the figure must lie.
    pub op: TargetOp,
    /// The limit, in the metric's unit.
    pub value: f64,
    /// What a miss does.
    pub effect: TargetEffect,
    /// What was achieved elsewhere, to judge the target by.
    pub reference: Option<String>,
}

impl Target {
    /// Whether `check` is of this target.
    pub fn is_checked_by(&self, check: &ThresholdCheck) -> bool {
        // The check has the very value of its target.
        let is_value = self.value.to_bits() == check.expected.to_bits();
        is_value && self.metric == check.metric && glob::matches(&self.id_pattern, &check.id)
    }
}

/// On which side of a target a figure must lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetOp {
    /// The figure must be greater.
    Above,
    /// The figure must be smaller.
    Below,
}

/// What a missed target does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetEffect {
    /// It is shown, and the overall status is at best a warning.
    Show,
    /// It is a regression: the gate fails.
    Fail,
}

/// A policy that means nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// A figure out of its range.
    #[error("`{key}` is {value}, but must be {allowed}")]
    OutOfRange {
        /// Where in the policy.
        key: String,
        /// What it says.
        value: f64,
        /// What it may say.
        allowed: &'static str,
    },
    /// A metric that no result carries.
    #[error("`{key}` names `{metric}`, which is no metric{}; `docs/glossary.md` lists them", nearest(.metric))]
    UnknownMetric {
        /// Where in the policy.
        key: String,
        /// What it says.
        metric: String,
    },
    /// A pattern that matches nothing.
    #[error("`{key}` is empty; write a pattern on case ids such as \"*/gemm/*\"")]
    EmptyPattern {
        /// Where in the policy.
        key: String,
    },
    /// A target without a limit, or with two.
    #[error("`{key}` must have exactly one of `above` and `below`")]
    OneLimit {
        /// Where in the policy.
        key: String,
    },
    /// A control set that is blind to what the thresholds see.
    #[error(
        "`control.moved_percent` is {moved}, but must be below the smallest threshold, {smallest}: \
         a machine that moved by so much would pass for code that changed"
    )]
    MovedTooFar {
        /// What it says.
        moved: f64,
        /// The smallest threshold in percent.
        smallest: f64,
    },
    /// An entry that would change every threshold.
    #[error(
        "`{key}` has neither `id` nor `metric`; for every case at once set `threshold_percent`"
    )]
    EmptyOverride {
        /// Where in the policy.
        key: String,
    },
}

fn nearest(metric: &str) -> String {
    let known = rsb_model::field::FIELDS.iter().filter(|field| field.better().is_some());
    let stem = metric.split('_').next().unwrap_or_default();
    let alike: Vec<&str> =
        known.map(|field| field.name).filter(|name| name.starts_with(stem)).take(3).collect();
    if alike.is_empty() || stem.is_empty() {
        String::new()
    } else {
        format!(" (there is {})", alike.join(", "))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            default_threshold: None,
            asked_threshold: None,
            overrides: Vec::new(),
            floors: DEFAULT_FLOORS
                .iter()
                .map(|&(name, floor)| (name.to_owned(), floor))
                .collect::<BTreeMap<_, _>>(),
            ignored_cases: Vec::new(),
            ignored_metrics: Vec::new(),
            targets: Vec::new(),
            control: Control::default(),
            percentiles: Vec::new(),
            weights: Vec::new(),
            alpha: 0.05,
            miss: 0.05,
            critical_factor: 2.0,
        }
    }
}

impl Policy {
    /// Sets the threshold in percent of every case of `benchmark`, such as `gemm`, where no
    /// override of the policy fits.
    ///
    /// # Errors
    /// When it is not a finite figure above zero.
    pub fn or_benchmark_threshold(
        mut self,
        benchmark: &str,
        percent: f64,
    ) -> Result<Self, PolicyError> {
        let percent = checked_threshold(&format!("thresholds.{benchmark}"), percent)?;
        self.overrides
            .insert(0, Override { id: Some(format!("*/{benchmark}/*")), metric: None, percent });
        Ok(self)
    }

    /// Replaces the default threshold in percent.
    ///
    /// # Errors
    /// When it is not a finite figure above zero.
    pub fn set_threshold(&mut self, key: &str, percent: f64) -> Result<(), PolicyError> {
        self.default_threshold = Some(checked_threshold(key, percent)?);
        Ok(())
    }

    /// Another default threshold in percent, in place of the policy's own, which is remembered.
    ///
    /// # Errors
    /// When it is not a finite figure above zero.
    pub fn ask_threshold(&mut self, key: &str, percent: f64) -> Result<(), PolicyError> {
        self.asked_threshold = Some(checked_threshold(key, percent)?);
        Ok(())
    }

    /// Adds an override; the last one that fits a case decides. `key` is where it comes from, for
    /// the error.
    ///
    /// # Errors
    /// When its threshold, its pattern or its metric means nothing.
    pub fn add_override(&mut self, key: &str, added: Override) -> Result<(), PolicyError> {
        if added.id.is_none() && added.metric.is_none() {
            return Err(PolicyError::EmptyOverride { key: key.to_owned() });
        }
        if let Some(id) = &added.id {
            check_pattern(&format!("{key}.id"), id)?;
        }
        if let Some(metric) = &added.metric {
            check_metric(&format!("{key}.metric"), metric)?;
        }
        checked_threshold(&format!("{key}.percent"), added.percent)?;
        self.overrides.push(added);
        Ok(())
    }

    /// Adds a target. `key` is where it comes from, for the error.
    ///
    /// # Errors
    /// When its pattern, metric or limit means nothing.
    pub fn add_target(&mut self, key: &str, target: Target) -> Result<(), PolicyError> {
        check_pattern(&format!("{key}.id"), &target.id_pattern)?;
        check_metric(&format!("{key}.metric"), &target.metric)?;
        in_range(key, target.value, f64::is_finite, "a finite figure")?;
        self.targets.push(target);
        Ok(())
    }

    /// Sets the floor of `metric`: the smallest change, in its unit, that counts.
    ///
    /// # Errors
    /// When there is no such metric, or the floor is not a finite figure of at least zero.
    pub fn set_floor(&mut self, key: &str, metric: &str, floor: f64) -> Result<(), PolicyError> {
        check_metric(key, metric)?;
        let floor = in_range(
            key,
            floor,
            |floor| floor.is_finite() && floor >= 0.0,
            "a finite figure of at least 0",
        )?;
        self.floors.insert(metric.to_owned(), floor);
        Ok(())
    }

    /// Leaves out every case whose id matches `pattern`.
    ///
    /// # Errors
    /// When the pattern is empty.
    pub fn ignore_cases(&mut self, key: &str, pattern: String) -> Result<(), PolicyError> {
        check_pattern(key, &pattern)?;
        self.ignored_cases.push(pattern);
        Ok(())
    }

    /// Leaves out `metric`.
    ///
    /// # Errors
    /// When there is no such metric.
    pub fn ignore_metric(&mut self, key: &str, metric: String) -> Result<(), PolicyError> {
        check_metric(key, &metric)?;
        self.ignored_metrics.push(metric);
        Ok(())
    }

    /// Replaces the control set.
    ///
    /// # Errors
    /// When a pattern is empty, or `moved_percent` is no finite percentage above zero.
    pub fn set_control(&mut self, key: &str, control: Control) -> Result<(), PolicyError> {
        for (at, pattern) in control.cases.iter().enumerate() {
            check_pattern(&format!("{key}.cases[{at}]"), pattern)?;
        }
        if let Some(moved) = control.moved_percent {
            checked_threshold(&format!("{key}.moved_percent"), moved)?;
        }
        self.control = control;
        Ok(())
    }

    /// Sets the error rate of the intervals.
    ///
    /// # Errors
    /// Unless it is from 0.0001 to 0.2.
    pub fn set_alpha(&mut self, key: &str, alpha: f64) -> Result<(), PolicyError> {
        self.alpha =
            in_range(key, alpha, |alpha| (0.0001..=0.2).contains(&alpha), "from 0.0001 to 0.2")?;
        Ok(())
    }

    /// Sets how many thresholds make a regression critical.
    ///
    /// # Errors
    /// Unless it is a finite figure of at least 1.
    pub fn set_critical_factor(&mut self, key: &str, factor: f64) -> Result<(), PolicyError> {
        self.critical_factor = in_range(
            key,
            factor,
            |factor| factor.is_finite() && factor >= 1.0,
            "a finite figure of at least 1",
        )?;
        Ok(())
    }

    /// The threshold in percent where no override fits.
    pub fn threshold_percent(&self) -> f64 {
        self.asked_threshold.unwrap_or_else(|| self.own_threshold_percent())
    }

    /// The same, whatever was asked for in its place.
    pub fn own_threshold_percent(&self) -> f64 {
        self.default_threshold.unwrap_or(DEFAULT_THRESHOLD_PERCENT)
    }

    /// The threshold in percent of `metric` of the case called `id`. A metric with a threshold of
    /// its own has another one only where its name is said.
    pub fn threshold_percent_for(&self, id: &str, metric: &str) -> f64 {
        let own =
            OWN_THRESHOLDS.iter().find(|(name, _)| *name == metric).map(|(_, percent)| *percent);
        let fitting = self.overrides.iter().rev().find(|entry| {
            entry.metric.as_deref().map_or(own.is_none(), |wanted| wanted == metric)
                && entry.id.as_deref().is_none_or(|pattern| glob::matches(pattern, id))
        });
        let said = fitting.map(|entry| entry.percent);
        said.or(own).unwrap_or_else(|| self.threshold_percent())
    }

    /// The smallest change of `metric`, in its unit, that counts.
    pub fn floor(&self, metric: &str) -> f64 {
        self.floors.get(metric).copied().unwrap_or(0.0)
    }

    /// Whether the case called `id` is left out.
    pub fn ignores_case(&self, id: &str) -> bool {
        self.ignored_cases.iter().any(|pattern| glob::matches(pattern, id))
    }

    /// Whether `metric` is left out.
    pub fn ignores_metric(&self, metric: &str) -> bool {
        self.ignored_metrics.iter().any(|ignored| ignored == metric)
    }

    /// The cases that tell whether the machine moved.
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// Whether the case called `id` belongs to the control set, where that is heard.
    pub fn is_control(&self, id: &str) -> bool {
        let heard = self.control.when_moved != WhenMoved::Ignore;
        heard && self.control.cases.iter().any(|pattern| glob::matches(pattern, id))
    }

    /// Whether it measures the machine and nothing else: of this product's own control benchmark,
    /// and in the control set. Any other case of the set is code that somebody wants judged.
    pub fn is_own_control(&self, id: &str) -> bool {
        let mut parts = id.split('/');
        let kind = parts.next().is_some_and(|kind| kind.parse::<BenchmarkType>().is_ok());
        kind && parts.next() == Some(CONTROL) && self.is_control(id)
    }

    /// Absolute figures to reach.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Error rate of the intervals: 0.05 gives 95 %.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// How many thresholds make a regression critical.
    pub const fn critical_factor(&self) -> f64 {
        self.critical_factor
    }
}

fn checked_threshold(key: &str, percent: f64) -> Result<f64, PolicyError> {
    in_range(
        key,
        percent,
        |percent| percent.is_finite() && percent > 0.0,
        "a finite percentage above 0",
    )
}

fn in_range(
    key: &str,
    value: f64,
    fits: impl Fn(f64) -> bool,
    allowed: &'static str,
) -> Result<f64, PolicyError> {
    if fits(value) {
        Ok(value)
    } else {
        Err(PolicyError::OutOfRange { key: key.to_owned(), value, allowed })
    }
}

fn check_metric(key: &str, metric: &str) -> Result<Better, PolicyError> {
    Field::find(metric).and_then(Field::better).ok_or_else(|| PolicyError::UnknownMetric {
        key: key.to_owned(),
        metric: metric.to_owned(),
    })
}

fn check_pattern(key: &str, pattern: &str) -> Result<(), PolicyError> {
    if pattern.trim().is_empty() {
        Err(PolicyError::EmptyPattern { key: key.to_owned() })
    } else {
        Ok(())
    }
}
