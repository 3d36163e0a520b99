//! Other names of fields, accepted wherever a user names a field.

use crate::field::Field;

/// Another name of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldAlias {
    /// The other name.
    pub name: &'static str,
    /// Name of the field in documents.
    pub field: &'static str,
}

const fn alias(name: &'static str, field: &'static str) -> FieldAlias {
    FieldAlias { name, field }
}

/// All other names of fields.
pub const FIELD_ALIASES: &[FieldAlias] = &[
    alias("input_shapes", "input_shape"),
    alias("output_shapes", "output_shape"),
    alias("precision", "dtype"),
    alias("stage", "zero_stage"),
    alias("throughput_tflops", "tflops"),
    alias("throughput_samples_per_sec", "throughput_samples_per_second"),
    alias("time_backward_ms", "backward_time_ms"),
    alias("time_forward_ms", "forward_time_ms"),
];

/// Name of a value elsewhere that is no alias of one field, and where the value is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameElsewhere {
    /// The name elsewhere.
    pub name: &'static str,
    /// Where the value is here, in Markdown.
    pub here: &'static str,
}

const fn elsewhere(name: &'static str, here: &'static str) -> NameElsewhere {
    NameElsewhere { name, here }
}

/// Names of values elsewhere, for documentation. The Python package uses them.
pub const NAMES_ELSEWHERE: &[NameElsewhere] = &[
    elsewhere("HSA_VERSION", "`hsa_version` of a performance baseline"),
    elsewhere("ROCM_SMI_VERSION", "`rocm_smi_version` of a performance baseline"),
    elsewhere("alert_threshold_percent", "`trend --threshold`"),
    elsewhere("change_type", "`change_status` of `compare --json`"),
    elsewhere("compare_percentiles", "`percentiles` of the policy"),
    elsewhere("copy_bandwidth_gb_s", "`bandwidth_gb_s` of the case whose `operation` is copy"),
    elsewhere("ignore_metrics", "`ignore.metrics` of the policy"),
    elsewhere("include_comparison", "`parts` of `[report]`"),
    elsewhere("include_environment", "`parts` of `[report]`"),
    elsewhere("include_recommendations", "`parts` of `[report]`"),
    elsewhere("kernel_name", "`operation`, or `source_file` of a compiled kernel"),
    elsewhere("last_run", "`components --json`"),
    elsewhere("lookback_days", "`trend --lookback-days`"),
    elsewhere("metric_name", "`metric` of `compare --json`"),
    elsewhere("metric_thresholds", "`[[threshold]]` of the policy, with `metric`"),
    elsewhere("min_data_points", "`trend --min-points`"),
    elsewhere("prediction", "`forecast` of `trend --json`"),
    elsewhere("read_bandwidth_gb_s", "`bandwidth_gb_s` of the case whose `operation` is read"),
    elsewhere("roofline_performance", "100 × `tflops` / `roofline_percent`"),
    elsewhere("significance_level", "`alpha` of the policy"),
    elsewhere("significance_threshold", "`trend --significance`"),
    elsewhere("slope", "`slope_per_day` of `trend --json`"),
    elsewhere("weight_metrics", "`[[weight]]` of the policy, with `metric`"),
    elsewhere("write_bandwidth_gb_s", "`bandwidth_gb_s` of the case whose `operation` is write"),
];

impl Field {
    /// Returns the row that a user calls `name`: its own name, or one of [`FIELD_ALIASES`].
    pub fn resolve(name: &str) -> Option<&'static Self> {
        let alias = FIELD_ALIASES.iter().find(|alias| alias.name == name);
        Self::find(alias.map_or(name, |alias| alias.field))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_names_a_field_and_is_not_one() {
        for alias in FIELD_ALIASES {
            assert_eq!(Field::resolve(alias.name).unwrap().name, alias.field);
            assert!(Field::find(alias.name).is_none(), "{} is a field", alias.name);
        }
        assert_eq!(Field::resolve("tflops").unwrap().name, "tflops");
        assert!(Field::resolve("speed").is_none());
    }
}
