//! Accuracy fields of a case's record.

use rsb_model::Fields;

/// Error of a verified result and the largest accepted error, both as max|x − ref| / max|ref|.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Accuracy {
    pub(crate) error: f64,
    pub(crate) limit: f64,
}

impl Accuracy {
    /// Returns the accuracy that is closer to its limit.
    pub(crate) fn worst(self, other: Self) -> Self {
        if other.error * self.limit > self.error * other.limit || self.limit == 0.0 {
            other
        } else {
            self
        }
    }

    /// Stores the error and its limit in the fields of the record.
    pub(crate) fn set(self, fields: &mut Fields) {
        fields.set("accuracy_error", self.error);
        fields.set("accuracy_limit", self.limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_the_closest_to_its_limit() {
        let (exact, small, large) = (
            Accuracy { error: 0.0, limit: 0.0 },
            Accuracy { error: 1e-7, limit: 2e-7 },
            Accuracy { error: 1e-3, limit: 1e-2 },
        );
        assert_eq!(small.worst(large), small);
        assert_eq!(large.worst(small), small);
        assert_eq!(exact.worst(large), large);
    }
}
