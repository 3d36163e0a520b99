//! Limits that the next runs stay within if nothing changed. Within the range of the earlier runs,
//! a limit follows from ranks; beyond the outermost run, from an exponential tail.
//!
//! Ranks are valid for noise of any shape, such as one-sided noise or two levels. Only the decay of
//! the density beyond all earlier runs is an assumption.

/// Number of runs of one revision that are examined.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looks {
    runs: usize,
    /// Smallest majority of these runs.
    most: usize,
}

impl Looks {
    pub(crate) const fn new(runs: usize) -> Self {
        Self { runs, most: runs / 2 + 1 }
    }

    /// Returns the probability that more than half of the judged runs are beyond the `rank`-th
    /// outermost of `seen` earlier runs, if all have the same distribution.
    ///
    /// This happens if at least `most` of the outermost `rank − 1 + most` of all runs are judged
    /// runs: a hypergeometric tail, which is `rank / (seen + 1)` for one run.
    fn chance_beyond(self, rank: usize, seen: usize) -> f64 {
        let outermost = rank - 1 + self.most;
        let ways = choose(seen + self.runs, outermost);
        let with_more = (self.most..=self.runs.min(outermost))
            .map(|these| choose(self.runs, these) * choose(seen, outermost - these));
        with_more.sum::<f64>() / ways
    }
}

/// One end of the range of the earlier runs, and the tail beyond it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edge {
    outermost_first: Vec<f64>,
    /// Distance over which the density of runs beyond the outermost falls by a factor of e.
    reach: f64,
}

impl Edge {
    pub(crate) fn new(values: Vec<f64>, reach: f64) -> Self {
        let mut outermost_first = values;
        outermost_first.sort_unstable_by(|a, b| b.total_cmp(a));
        Self { outermost_first, reach }
    }

    /// Returns the limit that more than half of the next runs exceed with a probability of at most
    /// `level`.
    pub(crate) fn limit(&self, looks: Looks, level: f64) -> f64 {
        let seen = self.outermost_first.len();
        let allowed = self
            .outermost_first
            .iter()
            .zip(1..)
            .take_while(|(_, rank)| looks.chance_beyond(*rank, seen) <= level);
        allowed
            .last()
            .map_or_else(|| self.outermost() + self.tail(looks, level), |(value, _)| *value)
    }

    /// Returns the probability that more than half of the next runs are at `value` or beyond.
    pub(crate) fn chance(&self, looks: Looks, value: f64) -> f64 {
        let seen = self.outermost_first.len();
        let beyond = value - self.outermost();
        if beyond > 0.0 {
            return looks.chance_beyond(1, seen) * (-beyond / self.reach).exp();
        }
        let further = self.outermost_first.iter().take_while(|known| **known > value).count();
        if further < seen { looks.chance_beyond(further + 1, seen) } else { 1.0 }
    }

    fn outermost(&self) -> f64 {
        self.outermost_first.first().copied().unwrap_or(f64::NAN)
    }

    /// Returns the distance of the limit beyond the outermost run. Repeats within an hour share the
    /// state of the machine, so the tail of several runs decays no faster than that of a single
    /// run.
    fn tail(&self, looks: Looks, level: f64) -> f64 {
        self.reach * (looks.chance_beyond(1, self.outermost_first.len()) / level).ln()
    }
}

/// Returns the number of ways to choose `some` of `all`.
fn choose(all: usize, some: usize) -> f64 {
    if some > all {
        return 0.0;
    }
    (0..some).map(|taken| (all - taken) as f64 / (some - taken) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_exceeds_by_rank() {
        for (rank, seen, chance) in
            [(1, 15, 1.0 / 16.0), (3, 15, 3.0 / 16.0), (15, 15, 15.0 / 16.0), (1, 1, 0.5)]
        {
            assert!(
                (Looks::new(1).chance_beyond(rank, seen) - chance).abs() < 1e-12,
                "{rank} of {seen}"
            );
        }
    }

    /// Expected: `scipy.stats.hypergeom.sf(most - 1, seen + runs, runs, rank - 1 + most)`, SciPy
    /// 1.17.1.
    #[test]
    fn repeats_exceed_as_the_hypergeometric_tail_says() {
        for (runs, rank, chance) in [
            (2, 1, 0.007_352_941),
            (2, 2, 0.022_058_824),
            (3, 1, 0.019_607_843),
            (5, 1, 0.008_771_930),
            (5, 2, 0.031_991_744),
        ] {
            let actual = Looks::new(runs).chance_beyond(rank, 15);
            assert!((actual - chance).abs() < 1e-9, "{runs} runs, rank {rank}: {actual}");
        }
    }

    #[test]
    fn limit_and_chance_agree() {
        let edge = Edge::new((0..20).map(|at| f64::from(at * 7 % 20)).collect(), 2.0);
        for runs in 1..8 {
            let looks = Looks::new(runs);
            for level in [1e-6, 1e-3, 0.01, 0.025, 0.1, 0.3] {
                let limit = edge.limit(looks, level);
                let chance = edge.chance(looks, limit);
                assert!(chance <= level * (1.0 + 1e-9), "{runs} runs at {level}: {chance}");
                assert!(
                    limit >= 19.0 || edge.chance(looks, limit - 1.0) > level,
                    "{runs} runs at {level}"
                );
            }
        }
    }

    #[test]
    fn without_noise_nothing_lies_beyond() {
        let edge = Edge::new(vec![5.0; 15], 0.0);
        assert_exact(edge.limit(Looks::new(1), 0.01), 5.0);
        assert_exact(edge.chance(Looks::new(1), 5.1), 0.0);
        assert_exact(edge.chance(Looks::new(1), 4.9), 1.0);
    }

    fn assert_exact(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < f64::EPSILON, "{actual}");
    }
}
