//! Chooses which commit to try next, and keeps the result of the search. Pure.
//!
//! Commits are numbered along the searched range: 0 is the first after the good one, and the last
//! is known to be bad. A commit that cannot be judged does not narrow the range; it is just not
//! tried again.

use std::ops::RangeInclusive;

rsb_model::named_enum! {
    /// Outcome of trying a commit.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum StepOutcome {
        /// Not slower than the good commit by the threshold.
        Good = "good",
        /// Regressed against the good commit.
        Bad = "bad",
        /// It does not build, or does not have the case.
        Skipped = "skipped",
        /// Measured, but undecided.
        Undecided = "undecided",
    }
}

/// A search for the first bad commit.
#[derive(Debug, Clone)]
pub struct Search {
    seen: Vec<Option<StepOutcome>>,
    /// All commits before this one are good.
    low: usize,
    /// First commit that is known to be bad.
    high: usize,
}

impl Search {
    /// Creates a search among `count` commits, at least one, of which the last is bad.
    pub fn new(count: usize) -> Self {
        let high = count.saturating_sub(1);
        let mut seen = vec![None; high];
        seen.push(Some(StepOutcome::Bad));
        Self { seen, low: 0, high }
    }

    /// Returns the commit to try next: the middle of the range. If that one cannot be judged, its
    /// neighbors, at a distance that doubles with each try, so that a long stretch that does not
    /// build is left quickly. `None` if no try can narrow the range further.
    pub fn next(&self) -> Option<usize> {
        let middle = self.low + (self.high - self.low).saturating_sub(1) / 2;
        let steps = std::iter::successors(Some(1_usize), |step| step.checked_mul(2));
        let near = steps.take_while(|step| *step <= self.high - self.low);
        let around =
            near.flat_map(|step| [middle.checked_sub(step), middle.checked_add(step)]).flatten();
        let near = std::iter::once(middle).chain(around).find(|index| self.is_open(*index));
        near.or_else(|| {
            (self.low..self.high)
                .filter(|index| self.is_open(*index))
                .min_by_key(|index| index.abs_diff(middle))
        })
    }

    fn is_open(&self, index: usize) -> bool {
        (self.low..self.high).contains(&index) && self.seen.get(index).is_some_and(Option::is_none)
    }

    /// Records the outcome of trying `index`.
    pub fn record(&mut self, index: usize, outcome: StepOutcome) {
        let Some(slot) = self.seen.get_mut(index) else { return };
        *slot = Some(outcome);
        match outcome {
            StepOutcome::Good if index < self.high => self.low = self.low.max(index + 1),
            StepOutcome::Bad if index >= self.low => self.high = self.high.min(index),
            _ => {}
        }
    }

    /// Returns the range that contains the first bad commit. If it contains a single commit, the
    /// search is finished.
    pub fn suspect_range(&self) -> RangeInclusive<usize> {
        self.low..=self.high
    }

    /// Returns how many commits must still be tried if all of them can be judged.
    pub fn steps_left(&self) -> u32 {
        (self.high - self.low + 1).next_power_of_two().ilog2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a history with one letter per commit, `g b s u`. Returns the tried commits and the
    /// remaining range.
    fn search(history: &str) -> (Vec<usize>, RangeInclusive<usize>) {
        let outcomes: Vec<StepOutcome> = history
            .chars()
            .map(|letter| match letter {
                'g' => StepOutcome::Good,
                'b' => StepOutcome::Bad,
                's' => StepOutcome::Skipped,
                _ => StepOutcome::Undecided,
            })
            .collect();
        let mut search = Search::new(outcomes.len());
        let mut seen = Vec::new();
        while let Some(index) = search.next() {
            seen.push(index);
            search.record(index, outcomes[index]);
        }
        (seen, search.suspect_range())
    }

    #[test]
    fn the_first_bad_one_is_found_and_what_cannot_be_told_is_left() {
        for (history, seen, left) in [
            ("b", &[][..], 0..=0),
            ("bb", &[0], 0..=0),
            ("gb", &[0], 1..=1),
            ("gggb", &[1, 2], 3..=3),
            ("ggbb", &[1, 2], 2..=2),
            ("gggggbbb", &[3, 5, 4], 5..=5),
            // The middle does not build, so its neighbors are tried.
            ("ggssgbbb", &[3, 2, 4, 5], 5..=5),
            ("gggsbbbb", &[3, 2, 4], 3..=4),
            ("ggsb", &[1, 2], 2..=3),
            ("gusb", &[1, 0, 2], 1..=3),
            ("sb", &[0], 0..=1),
            ("uub", &[0, 1], 0..=2),
        ] {
            assert_eq!(search(history), (seen.to_vec(), left), "{history}");
        }
    }

    #[test]
    fn a_long_stretch_that_does_not_build_is_soon_left() {
        let history =
            ["g".repeat(20).as_str(), &"s".repeat(60), &"g".repeat(20), &"b".repeat(28)].concat();
        let (seen, left) = search(&history);
        assert_eq!(left, 100..=100);
        assert!(seen.len() < 20, "{seen:?}");
    }

    #[test]
    fn the_steps_that_are_left_are_told() {
        for (count, steps) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1024, 10)] {
            assert_eq!(Search::new(count).steps_left(), steps, "{count}");
        }
    }

    fn any_outcome() -> impl proptest::strategy::Strategy<Value = StepOutcome> {
        proptest::sample::select(vec![
            StepOutcome::Good,
            StepOutcome::Bad,
            StepOutcome::Skipped,
            StepOutcome::Undecided,
        ])
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

        #[test]
        fn one_regression_is_found_or_among_what_is_left(
            count in 1_usize..200,
            at in proptest::arbitrary::any::<proptest::sample::Index>(),
            unclear in proptest::collection::vec(proptest::sample::select(vec![0, 0, 0, 1, 2]), 200),
        ) {
            let first_bad = at.index(count);
            let outcome = |index: usize| match (unclear[index], index >= first_bad) {
                _ if index + 1 == count => StepOutcome::Bad,
                (1, _) => StepOutcome::Skipped,
                (2, _) => StepOutcome::Undecided,
                (_, true) => StepOutcome::Bad,
                (_, false) => StepOutcome::Good,
            };
            let mut search = Search::new(count);
            let mut looked = 0;
            while let Some(index) = search.next() {
                proptest::prop_assert!(search.seen[index].is_none(), "no commit is measured twice");
                search.record(index, outcome(index));
                looked += 1;
            }
            let left = search.suspect_range();
            proptest::prop_assert!(left.contains(&first_bad));
            let is_clear = |index: usize| matches!(outcome(index), StepOutcome::Good | StepOutcome::Bad);
            for index in left.clone().filter(|index| index != left.end()) {
                proptest::prop_assert!(!is_clear(index), "clear commits must not stay suspects");
            }
            if is_clear(first_bad) && (first_bad == 0 || is_clear(first_bad - 1)) {
                proptest::prop_assert_eq!(left, first_bad..=first_bad);
            }
            if (0..count).all(is_clear) {
                proptest::prop_assert!(looked <= count.next_power_of_two().ilog2());
            }
        }

        #[test]
        fn whatever_the_history_the_ends_are_what_was_seen(
            outcomes in proptest::collection::vec(any_outcome(), 0..60),
        ) {
            let outcomes: Vec<StepOutcome> = outcomes.into_iter().chain([StepOutcome::Bad]).collect();
            let mut search = Search::new(outcomes.len());
            while let Some(index) = search.next() {
                search.record(index, outcomes[index]);
            }
            let left = search.suspect_range();
            proptest::prop_assert_eq!(outcomes[*left.end()], StepOutcome::Bad);
            proptest::prop_assert!(*left.start() == 0 || outcomes[left.start() - 1] == StepOutcome::Good);
        }
    }
}
