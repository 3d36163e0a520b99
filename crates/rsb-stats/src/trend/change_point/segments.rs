//! Sums over stretches of a series, and the sum of squares and lag-1 products of its residual
//! around levels.

/// Running sums, from which the sums of any stretch are computed with a few subtractions.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    values: Vec<f64>,
    sum: Vec<f64>,
    squares: Vec<f64>,
    /// Running sums of the products of each point and its predecessor.
    lagged: Vec<f64>,
}

/// Sum of squares of a residual, and sum of the products of neighboring values.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Remainder {
    pub(super) squares: f64,
    pub(super) lagged: f64,
}

impl Remainder {
    fn plus(self, other: Self, sign: f64) -> Self {
        Self {
            squares: self.squares + sign * other.squares,
            lagged: self.lagged + sign * other.lagged,
        }
    }

    /// Returns the autocorrelation at lag 1, between 0 and `most`.
    pub(super) fn correlation(self, most: f64) -> f64 {
        if self.squares > 0.0 { (self.lagged / self.squares).clamp(0.0, most) } else { 0.0 }
    }

    /// Returns the sum of squares of the part of the residual that its predecessor does not
    /// predict.
    pub(super) fn innovation(self, most: f64) -> f64 {
        let rho = self.correlation(most);
        self.squares * (1.0 + rho * rho) - 2.0 * rho * self.lagged
    }
}

impl Sums {
    pub(super) fn new(values: Vec<f64>) -> Self {
        let sum = running_sums(values.iter().copied());
        let squares = running_sums(values.iter().map(|value| value * value));
        let products = values.iter().enumerate().map(|(at, value)| match at.checked_sub(1) {
            Some(before) => value * values[before],
            None => 0.0,
        });
        let lagged = running_sums(products);
        Self { values, sum, squares, lagged }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the sum of the first `count` points.
    pub(super) fn sum(&self, count: usize) -> f64 {
        self.sum[count]
    }

    pub(super) fn mean(&self, from: usize, to: usize) -> f64 {
        (self.sum[to] - self.sum[from]) / (to - from) as f64
    }

    /// Returns the sum of squares around the mean.
    pub(super) fn scatter(&self, from: usize, to: usize) -> f64 {
        let mean = self.mean(from, to);
        (self.squares[to] - self.squares[from] - (to - from) as f64 * mean * mean).max(0.0)
    }

    /// Returns the residual of a stretch around its mean, with the products of neighbors within it.
    fn within(&self, from: usize, to: usize) -> Remainder {
        let mean = self.mean(from, to);
        let pairs = (to - from - 1) as f64;
        let products = self.lagged[to] - self.lagged[from + 1];
        let (later, earlier) =
            (self.sum[to] - self.sum[from + 1], self.sum[to - 1] - self.sum[from]);
        Remainder {
            squares: self.scatter(from, to),
            lagged: products - mean * (later + earlier) + pairs * mean * mean,
        }
    }

    /// Returns the product of the two neighbors at the boundary between the stretches `from..at`
    /// and `at..to`.
    fn across(&self, from: usize, at: usize, to: usize) -> f64 {
        (self.values[at - 1] - self.mean(from, at)) * (self.values[at] - self.mean(at, to))
    }

    /// Returns the residual around the levels that begin at `starts`.
    pub(super) fn residual(&self, starts: &[usize]) -> Remainder {
        let ends = ends(starts, self.len());
        let mut total = Remainder::default();
        for pair in ends.windows(2) {
            total = total.plus(self.within(pair[0], pair[1]), 1.0);
        }
        for three in ends.windows(3) {
            total.lagged += self.across(three[0], three[1], three[2]);
        }
        total
    }

    /// Returns the residual after the change at `at` is removed from levels with the `ends`, whose
    /// residual is `total`.
    pub(super) fn without(&self, total: Remainder, ends: &[usize], at: usize) -> Remainder {
        let [from, middle, to] = [ends[at], ends[at + 1], ends[at + 2]];
        let mut left = total
            .plus(self.within(from, middle), -1.0)
            .plus(self.within(middle, to), -1.0)
            .plus(self.within(from, to), 1.0);
        left.lagged -= self.across(from, middle, to);
        if let Some(&before) = at.checked_sub(1).and_then(|before| ends.get(before)) {
            left.lagged += self.across(before, from, to) - self.across(before, from, middle);
        }
        if let Some(&after) = ends.get(at + 3) {
            left.lagged += self.across(from, to, after) - self.across(middle, to, after);
        }
        left
    }
}

/// Returns the ends of all levels: 0, the starts, and the number of points.
pub(super) fn ends(starts: &[usize], n: usize) -> Vec<usize> {
    std::iter::once(0).chain(starts.iter().copied()).chain([n]).collect()
}

/// Returns the sums of the first 0, 1, 2, … of `terms`.
fn running_sums(terms: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut total = 0.0;
    let mut sums = vec![0.0];
    for term in terms {
        total += term;
        sums.push(total);
    }
    sums
}
