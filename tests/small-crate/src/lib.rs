//! Twelve small functions of different kinds.

use std::collections::BTreeMap;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

pub fn sorted(count: u64) -> Vec<u64> {
    let mut all: Vec<u64> = (0..count).map(|each| each.wrapping_mul(GOLDEN)).collect();
    all.sort_unstable();
    all
}

pub fn joined(count: u64) -> String {
    (0..count).map(|each| each.to_string()).collect::<Vec<_>>().join(",")
}

pub fn fib(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { fib(n - 1) + fib(n - 2) }
}

pub fn primes(below: usize) -> usize {
    let mut is_prime = vec![true; below];
    let mut each = 2;
    while each * each < below {
        if is_prime[each] {
            (each * each..below).step_by(each).for_each(|multiple| is_prime[multiple] = false);
        }
        each += 1;
    }
    is_prime.iter().skip(2).filter(|prime| **prime).count()
}

pub fn product(n: usize) -> f64 {
    let (a, b, mut c) = (vec![1.5; n * n], vec![0.5; n * n], vec![0.0; n * n]);
    for i in 0..n {
        for k in 0..n {
            for j in 0..n {
                c[i * n + j] += a[i * n + k] * b[k * n + j];
            }
        }
    }
    c.iter().sum()
}

pub fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (above + 1).min(row[j] + 1).min(diagonal + usize::from(x != *y));
            diagonal = above;
        }
    }
    row[b.len()]
}

pub fn tree(count: u64) -> usize {
    (0..count).map(|each| (each.wrapping_mul(GOLDEN), each)).collect::<BTreeMap<_, _>>().len()
}

pub fn found(sorted: &[u64], count: u64) -> usize {
    (0..count).filter(|each| sorted.binary_search(&each.wrapping_mul(GOLDEN)).is_ok()).count()
}

pub fn long_words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.len() > 3).count()
}

pub fn collatz(below: u64) -> u64 {
    let steps = |start: u64| {
        std::iter::successors(Some(start), |&x| (x != 1).then(|| if x % 2 == 0 { x / 2 } else { 3 * x + 1 })).count()
    };
    (1..below).map(|start| steps(start) as u64).max().unwrap_or(0)
}
