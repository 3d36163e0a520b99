//! Thresholds, floors, targets and exclusions of a comparison, in validated form. For the form in a
//! file see [`crate::policy_file`].

mod extent;
mod patterns;

use std::collections::BTreeMap;

use rsb_model::record::ThresholdCheck;
use rsb_model::{BenchmarkType, Field};

pub use extent::{Percentile, Weight};
pub use patterns::PolicyPattern;

use crate::glob;

/// Default threshold, in percent.
pub const DEFAULT_THRESHOLD_PERCENT: f64 = 10.0;

/// Default change of a control case, in percent, that indicates a change of the machine; less if
/// thresholds are small.
pub const MOVED_PERCENT: f64 = 5.0;

/// Name of this product's own benchmark of the machine.
const CONTROL: &str = "control";

/// Default floors of metrics that are compared by value: changes up to this size, in the metric's
/// own unit, do not count. They prevent regressions relative to a tiny value, such as an error of
/// 2e-7 after one of 1e-7.
const DEFAULT_FLOORS: &[(&str, f64)] = &[
    ("accuracy_error", 1e-6),
    ("allocated_bytes_per_iteration", 16.0),
    ("allocations_per_iteration", 0.5),
    ("cache_hit_percent", 1.0),
    // Drivers allocate memory in units of 2 MiB.
    ("device_memory_leaked_bytes", 4_194_304.0),
    ("gpu_memory_peak_mb", 1.0),
    ("estimated_cycles", 10.0),
    ("instructions", 1.0),
    ("memory_average_mb", 1.0),
    ("memory_fragmentation_percent", 2.0),
    ("memory_leaked_bytes", 1024.0),
    ("memory_used_mb", 1.0),
    // malloc keeps some of the freed memory in per-thread lists.
    ("native_memory_leaked_bytes", 65_536.0),
    ("occupancy_percent", 1.0),
    // malloc rounds sizes up, by more if the rest of a freed block is small.
    ("peak_heap_bytes", 256.0),
];

/// Default thresholds in percent of metrics that vary little, so that smaller changes matter.
const OWN_THRESHOLDS: &[(&str, f64)] = &[
    ("allocated_bytes_per_iteration", 2.0),
    ("code_size_bytes", 2.0),
    ("estimated_cycles", 2.0),
    ("instructions", 2.0),
    ("peak_heap_bytes", 2.0),
];

/// Criteria of a comparison. Start from `Policy::default()` or a [`crate::PolicyFile`].
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    default_threshold: Option<f64>,
    /// Threshold of a single invocation, which replaces the default.
    requested_threshold: Option<f64>,
    overrides: Vec<Override>,
    floors: BTreeMap<String, f64>,
    ignored_cases: Vec<String>,
    ignored_metrics: Vec<String>,
    targets: Vec<Target>,
    control: Control,
    percentiles: Vec<Percentile>,
    weights: Vec<Weight>,
    metric_weights: BTreeMap<String, f64>,
    alpha: f64,
    miss: f64,
    critical_factor: f64,
}

/// The cases that detect a change of the machine, and the reaction to one.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// Patterns on case ids, as in [`glob::matches`]; with none, changes of the machine are not
    /// detected.
    pub cases: Vec<String>,
    /// Smallest clear change of a control case, in percent, that indicates a change of the machine.
    /// If unset, [`MOVED_PERCENT`] is used, or half of the smallest threshold if that is less.
    pub moved_percent: Option<f64>,
    /// Reaction to a change of the machine.
    pub when_moved: WhenMoved,
}

/// Reaction to a change of the machine between the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenMoved {
    /// Withholds the verdicts that the change may have caused or hidden.
    Refuse,
    /// Subtracts the mean change of the control cases from every change.
    Correct,
    /// Judges everything as if there were no control set.
    Ignore,
}

impl Default for Control {
    fn default() -> Self {
        let cases = BenchmarkType::ALL.map(|kind| format!("{kind}/{CONTROL}/*"));
        Self { cases: cases.to_vec(), moved_percent: None, when_moved: WhenMoved::Refuse }
    }
}

/// A different threshold for some cases, some metrics, or both.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// Pattern on the case's id, as in [`glob::matches`]; every case if absent.
    pub id: Option<String>,
    /// The metric; every metric if absent.
    pub metric: Option<String>,
    /// The threshold in percent.
    pub percent: f64,
}

/// An absolute target value.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Pattern on the case's id, as in [`glob::matches`].
    pub id_pattern: String,
    /// The metric.
    pub metric: String,
    /// Side of `value` on which the measured value must be.
    pub op: TargetOp,
    /// The limit, in the metric's unit.
    pub value: f64,
    /// Effect of a miss.
    pub effect: TargetEffect,
    /// Value achieved elsewhere, for reference.
    pub reference: Option<String>,
}

impl Target {
    /// Returns whether `check` is the result of this target for some case.
    pub fn is_checked_by(&self, check: &ThresholdCheck) -> bool {
        // A check stores a copy of its target's value, so the bits must be equal.
        let is_value = self.value.to_bits() == check.expected.to_bits();
        is_value && self.metric == check.metric && glob::matches(&self.id_pattern, &check.id)
    }
}

/// Side of a target on which the measured value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetOp {
    /// The value must be greater.
    Above,
    /// The value must be smaller.
    Below,
}

/// Effect of a missed target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetEffect {
    /// The miss is shown, and the overall status is at best a warning.
    Show,
    /// The miss is a regression: the gate fails.
    Fail,
}

/// An invalid policy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// A value out of its range.
    #[error("`{key}` is {value}, but must be {allowed}")]
    OutOfRange {
        /// Key in the policy.
        key: String,
        /// Its value.
        value: f64,
        /// Allowed values.
        allowed: &'static str,
    },
    /// An unknown metric.
    #[error("`{key}` names the unknown metric `{metric}`{}; `docs/glossary.md` lists all \
             metrics", nearest(.metric))]
    UnknownMetric {
        /// Key in the policy.
        key: String,
        /// Name of the metric.
        metric: String,
    },
    /// An empty pattern.
    #[error("`{key}` is empty; write a pattern on case ids such as \"*/gemm/*\"")]
    EmptyPattern {
        /// Key in the policy.
        key: String,
    },
    /// A target without a limit, or with two.
    #[error("`{key}` must have exactly one of `above` and `below`")]
    OneLimit {
        /// Key in the policy.
        key: String,
    },
    /// A metric without a target.
    #[error("`{key}` is {metric}, for which the policy has no target; add a [[target]] first")]
    NoTarget {
        /// Key in the policy.
        key: String,
        /// The metric.
        metric: String,
    },
    /// A weight entry with neither `id` nor `metric`, or with both.
    #[error(
        "`{key}` needs either `id` (weight in the overall change) or `metric` (rank in the report)"
    )]
    OneWeight {
        /// Key in the policy.
        key: String,
    },
    /// A control set whose limit is not below every threshold.
    #[error(
        "`control.moved_percent` is {moved}, but must be below the smallest threshold, {smallest}: \
         a change of the machine by that much would look like a change of the code"
    )]
    MovedTooFar {
        /// Configured limit in percent.
        moved: f64,
        /// The smallest threshold in percent.
        smallest: f64,
    },
    /// An override without a pattern and without a metric, which would change every threshold.
    #[error(
        "`{key}` has neither `id` nor `metric`; for every case at once set `threshold_percent`"
    )]
    EmptyOverride {
        /// Key in the policy.
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
        format!(" (similar: {})", alike.join(", "))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            default_threshold: None,
            requested_threshold: None,
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
            metric_weights: BTreeMap::new(),
            alpha: 0.05,
            miss: 0.05,
            critical_factor: 2.0,
        }
    }
}

impl Policy {
    /// Sets the threshold in percent of every case of `benchmark`, such as `gemm`, unless an
    /// override of the policy matches.
    ///
    /// # Errors
    /// If it is not a finite number above zero.
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
    /// If it is not a finite number above zero.
    pub fn set_threshold(&mut self, key: &str, percent: f64) -> Result<(), PolicyError> {
        self.default_threshold = Some(checked_threshold(key, percent)?);
        Ok(())
    }

    /// Sets a default threshold in percent that replaces the policy's own, which is kept for
    /// reference.
    ///
    /// # Errors
    /// If it is not a finite number above zero.
    pub fn ask_threshold(&mut self, key: &str, percent: f64) -> Result<(), PolicyError> {
        self.requested_threshold = Some(checked_threshold(key, percent)?);
        Ok(())
    }

    /// Adds an override; the last one that matches a case is used. `key` is its source, for the
    /// error.
    ///
    /// # Errors
    /// If its threshold, its pattern or its metric is invalid, or if it has neither a pattern nor a
    /// metric.
    pub fn add_override(&mut self, key: &str, mut added: Override) -> Result<(), PolicyError> {
        if added.id.is_none() && added.metric.is_none() {
            return Err(PolicyError::EmptyOverride { key: key.to_owned() });
        }
        if let Some(id) = &added.id {
            check_pattern(&format!("{key}.id"), id)?;
        }
        if let Some(metric) = &mut added.metric {
            *metric = checked_metric(&format!("{key}.metric"), metric)?;
        }
        checked_threshold(&format!("{key}.percent"), added.percent)?;
        self.overrides.push(added);
        Ok(())
    }

    /// Makes a miss of every target of `metric` a regression. `key` is its source, for the error.
    ///
    /// # Errors
    /// If the metric is unknown or has no target.
    pub fn fail_targets_of(&mut self, key: &str, metric: &str) -> Result<(), PolicyError> {
        let metric = checked_metric(key, metric)?;
        let mut has_target = false;
        for target in self.targets.iter_mut().filter(|target| target.metric == metric) {
            target.effect = TargetEffect::Fail;
            has_target = true;
        }
        if has_target {
            return Ok(());
        }
        Err(PolicyError::NoTarget { key: key.to_owned(), metric })
    }

    /// Adds a target. `key` is its source, for the error.
    ///
    /// # Errors
    /// If its pattern, metric or limit is invalid.
    pub fn add_target(&mut self, key: &str, mut target: Target) -> Result<(), PolicyError> {
        check_pattern(&format!("{key}.id"), &target.id_pattern)?;
        target.metric = checked_metric(&format!("{key}.metric"), &target.metric)?;
        in_range(key, target.value, f64::is_finite, "a finite number")?;
        self.targets.push(target);
        Ok(())
    }

    /// Sets the floor of `metric`: changes up to it, in the unit of the metric, do not count.
    ///
    /// # Errors
    /// If there is no such metric, or the floor is not a finite number of at least zero.
    pub fn set_floor(&mut self, key: &str, metric: &str, floor: f64) -> Result<(), PolicyError> {
        let metric = checked_metric(key, metric)?;
        let floor = in_range(
            key,
            floor,
            |floor| floor.is_finite() && floor >= 0.0,
            "a finite number of at least 0",
        )?;
        self.floors.insert(metric, floor);
        Ok(())
    }

    /// Ignores every case whose id matches `pattern`.
    ///
    /// # Errors
    /// If the pattern is empty.
    pub fn ignore_cases(&mut self, key: &str, pattern: String) -> Result<(), PolicyError> {
        check_pattern(key, &pattern)?;
        self.ignored_cases.push(pattern);
        Ok(())
    }

    /// Ignores `metric`.
    ///
    /// # Errors
    /// If there is no such metric.
    pub fn ignore_metric(&mut self, key: &str, metric: &str) -> Result<(), PolicyError> {
        self.ignored_metrics.push(checked_metric(key, metric)?);
        Ok(())
    }

    /// Replaces the control set.
    ///
    /// # Errors
    /// If a pattern is empty, or `moved_percent` is not a finite percentage above zero.
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
    /// If it is not from 0.0001 to 0.2.
    pub fn set_alpha(&mut self, key: &str, alpha: f64) -> Result<(), PolicyError> {
        self.alpha =
            in_range(key, alpha, |alpha| (0.0001..=0.2).contains(&alpha), "from 0.0001 to 0.2")?;
        Ok(())
    }

    /// Divides the error rate of the intervals among `comparisons` separate comparisons, so that it
    /// holds for all of them together.
    pub fn share_alpha(&mut self, comparisons: usize) {
        self.alpha /= comparisons.max(1) as f64;
    }

    /// Sets the multiple of the threshold from which a regression is critical.
    ///
    /// # Errors
    /// If it is not a finite number of at least 1.
    pub fn set_critical_factor(&mut self, key: &str, factor: f64) -> Result<(), PolicyError> {
        self.critical_factor = in_range(
            key,
            factor,
            |factor| factor.is_finite() && factor >= 1.0,
            "a finite number of at least 1",
        )?;
        Ok(())
    }

    /// Returns the threshold in percent for cases that no override matches.
    pub fn threshold_percent(&self) -> f64 {
        self.requested_threshold.unwrap_or_else(|| self.own_threshold_percent())
    }

    /// Returns the same threshold, without the one set for a single invocation.
    pub fn own_threshold_percent(&self) -> f64 {
        self.default_threshold.unwrap_or(DEFAULT_THRESHOLD_PERCENT)
    }

    /// Returns the threshold in percent of `metric` of the case called `id`. A metric with a
    /// default threshold of its own is changed only by overrides that name it.
    pub fn threshold_percent_for(&self, id: &str, metric: &str) -> f64 {
        let own =
            OWN_THRESHOLDS.iter().find(|(name, _)| *name == metric).map(|(_, percent)| *percent);
        let fitting = self.overrides.iter().rev().find(|entry| {
            entry.metric.as_deref().map_or(own.is_none(), |wanted| wanted == metric)
                && entry.id.as_deref().is_none_or(|pattern| glob::matches(pattern, id))
        });
        let percent = fitting.map(|entry| entry.percent);
        percent.or(own).unwrap_or_else(|| self.threshold_percent())
    }

    /// Returns the largest change of `metric`, in its unit, that does not count.
    pub fn floor(&self, metric: &str) -> f64 {
        self.floors.get(metric).copied().unwrap_or(0.0)
    }

    /// Returns whether the case called `id` is ignored.
    pub fn ignores_case(&self, id: &str) -> bool {
        self.ignored_cases.iter().any(|pattern| glob::matches(pattern, id))
    }

    /// Returns whether `metric` is ignored.
    pub fn ignores_metric(&self, metric: &str) -> bool {
        self.ignored_metrics.iter().any(|ignored| ignored == metric)
    }

    /// Returns the control set.
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// Returns whether the case called `id` belongs to a control set that is in use.
    pub fn is_control(&self, id: &str) -> bool {
        let heard = self.control.when_moved != WhenMoved::Ignore;
        heard && self.control.cases.iter().any(|pattern| glob::matches(pattern, id))
    }

    /// Returns whether the case only measures the machine: it belongs to this product's own control
    /// benchmark, and to the control set. Any other case of the set is also code under test.
    pub fn is_own_control(&self, id: &str) -> bool {
        let mut parts = id.split('/');
        let kind = parts.next().is_some_and(|kind| kind.parse::<BenchmarkType>().is_ok());
        kind && parts.next() == Some(CONTROL) && self.is_control(id)
    }

    /// Returns the absolute targets.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Returns the error rate of the intervals: 0.05 gives 95 %.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Returns the multiple of the threshold from which a regression is critical.
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

/// Returns the name in documents of the metric that a user calls `metric`.
fn checked_metric(key: &str, metric: &str) -> Result<String, PolicyError> {
    match Field::resolve(metric) {
        Some(field) if field.better().is_some() => Ok(field.name.to_owned()),
        _ => Err(PolicyError::UnknownMetric { key: key.to_owned(), metric: metric.to_owned() }),
    }
}

fn check_pattern(key: &str, pattern: &str) -> Result<(), PolicyError> {
    if pattern.trim().is_empty() {
        Err(PolicyError::EmptyPattern { key: key.to_owned() })
    } else {
        Ok(())
    }
}
