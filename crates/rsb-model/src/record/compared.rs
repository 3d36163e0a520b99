//! What textbook statistics say of the two sides of a case. They inform a reader; no verdict
//! follows from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tests, effect sizes and distributions of the current side against the baseline. Tests and effect
/// sizes rest on one median for each process, as samples of one process are not independent;
/// outliers and percentiles on all samples. What the figures cannot tell is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonStatistics {
    /// Processes on each side.
    pub replicates: BothSides<usize>,
    /// Welch's t test: the means may differ, and so may the variances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub welch_t: Option<TTest>,
    /// Student's t test of pairs, the n-th process of one side with the n-th of the other. It is
    /// there when both sides have as many processes, and means something only where they were
    /// measured interleaved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired_t: Option<TTest>,
    /// The Mann-Whitney U test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mann_whitney_u: Option<UTest>,
    /// Difference of the means over the pooled standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cohens_d: Option<f64>,
    /// How much oftener a process of the current side takes longer than one of the baseline than
    /// the other way round, from -1 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cliffs_delta: Option<f64>,
    /// Samples far from the others of their side.
    pub outliers: BothSides<OutlierCounts>,
    /// How the percentiles of all samples differ.
    pub percentile_changes: PercentileChanges,
}

/// One thing of each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BothSides<T> {
    /// The baseline's.
    pub baseline: T,
    /// The current side's.
    pub current: T,
}

/// A two-sided t test of the current side against the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TTest {
    /// Above zero where the current side takes longer.
    pub t: f64,
    /// Of Student's distribution.
    pub degrees_of_freedom: f64,
    /// Probability of a t at least as far from zero where there is no difference.
    pub p: f64,
    /// 95 % interval of the difference of the means, current less baseline, in the comparison's
    /// unit; low, high.
    pub confidence_interval: [f64; 2],
}

/// A two-sided U test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UTest {
    /// Pairs of processes, one from each side, in which the current one takes longer; ties count
    /// half.
    pub u: f64,
    /// Probability of a U at least as far from its mean where there is no difference.
    pub p: f64,
}

/// Outliers among the samples of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutlierCounts {
    /// All samples.
    pub samples: usize,
    /// Those more than 1.5 interquartile ranges outside the quartiles.
    pub iqr: usize,
    /// Those more than 3.5 scaled median absolute deviations from the median.
    pub mad: usize,
}

/// Current less baseline over baseline in percent, of each percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileChanges {
    /// Of the median.
    pub p50: f64,
    /// Of the 90th percentile.
    pub p90: f64,
    /// Of the 95th percentile.
    pub p95: f64,
    /// Of the 99th percentile.
    pub p99: f64,
}
