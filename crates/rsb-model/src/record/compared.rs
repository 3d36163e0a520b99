//! Textbook statistics of the two sides of a case. They are information for readers; no verdict
//! depends on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tests, effect sizes and distributions of the current side relative to the baseline. Tests and
/// effect sizes use one median per process, because samples of one process are not independent;
/// outliers and percentiles use all samples. Statistics that cannot be computed are absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonStatistics {
    /// Number of processes on each side.
    pub replicates: BothSides<usize>,
    /// Welch's t test, which allows different variances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub welch_t: Option<TTest>,
    /// Paired Student's t test of the n-th process of one side with the n-th of the other. Present
    /// if both sides have the same number of processes; meaningful only if they were measured
    /// interleaved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired_t: Option<TTest>,
    /// Mann-Whitney U test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mann_whitney_u: Option<UTest>,
    /// Cohen's d: difference of the means divided by the pooled standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cohens_d: Option<f64>,
    /// Cliff's delta, from -1 to 1: share of process pairs in which the current side takes longer,
    /// minus the share in which the baseline takes longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cliffs_delta: Option<f64>,
    /// Outliers among the samples of each side.
    pub outliers: BothSides<OutlierCounts>,
    /// Changes of the percentiles of all samples.
    pub percentile_changes: PercentileChanges,
}

/// Values of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BothSides<T> {
    /// Value of the baseline.
    pub baseline: T,
    /// Value of the current side.
    pub current: T,
}

/// Two-sided t test of the current side against the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TTest {
    /// Test statistic; positive if the current side takes longer.
    pub t: f64,
    /// Degrees of freedom of Student's distribution.
    pub degrees_of_freedom: f64,
    /// Probability of a t at least this far from zero if there is no difference.
    pub p: f64,
    /// 95 % confidence interval of the difference of the means, current minus baseline, in the unit
    /// of the comparison: `[low, high]`.
    pub confidence_interval: [f64; 2],
}

/// Two-sided Mann-Whitney U test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UTest {
    /// Number of process pairs, one process per side, in which the current one takes longer; ties
    /// count half.
    pub u: f64,
    /// Probability of a U at least this far from its mean if there is no difference.
    pub p: f64,
}

/// Outliers among the samples of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutlierCounts {
    /// Number of samples.
    pub samples: usize,
    /// Samples more than 1.5 interquartile ranges outside the quartiles.
    pub iqr: usize,
    /// Samples more than 3.5 scaled median absolute deviations from the median.
    pub mad: usize,
}

/// Relative change of each percentile in percent: (current − baseline) / baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileChanges {
    /// Change of the median.
    pub p50: f64,
    /// Change of the 90th percentile.
    pub p90: f64,
    /// Change of the 95th percentile.
    pub p95: f64,
    /// Change of the 99th percentile.
    pub p99: f64,
}
