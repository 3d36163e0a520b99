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
