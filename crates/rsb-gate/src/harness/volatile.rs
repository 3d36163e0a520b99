//! Parts of case names that change between processes: dates, times, addresses, temporary paths,
//! ids. Benchmarks with such names are matched by the rest of the name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// Replacement for a volatile part in a template.
const PLACEHOLDER: &str = "<…>";

/// Volatile parts. Numbers have at least twelve digits: sizes and counts are shorter, ids and times
/// in microseconds are not.
static VOLATILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"\d{4}-\d{2}-\d{2}([T _]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?",
        r"|\d{1,2}:\d{2}:\d{2}(\.\d+)?",
        r"|[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
        r"|0x[0-9a-fA-F]{6,}",
        r"|/(tmp|var/tmp|var/folders)/\S+",
        r"|\d{12,}",
    ))
    .ok()
});

/// Returns the parts of `name` between its volatile ones. One part if nothing is volatile.
pub(super) fn stable_parts(name: &str) -> Vec<&str> {
    VOLATILE.as_ref().map_or_else(|| vec![name], |volatile| volatile.split(name).collect())
}

/// Pairs names of both sides that differ only in volatile parts. If several names of one side share
/// a template, none of them is paired.
pub(crate) fn pair_by_template<'n>(
    sides: [impl IntoIterator<Item = &'n str>; 2],
) -> Vec<[&'n str; 2]> {
    let mut by_template: BTreeMap<String, [Vec<&str>; 2]> = BTreeMap::new();
    for (which, names) in sides.into_iter().enumerate() {
        for name in names {
            let parts = stable_parts(name);
            if parts.len() > 1 {
                let template = parts.join(PLACEHOLDER);
                by_template.entry(template).or_default()[which].push(name);
            }
        }
    }
    let mut pairs = Vec::new();
    for [before, after] in by_template.into_values() {
        if let ([one], [other]) = (before.as_slice(), after.as_slice()) {
            pairs.push([*one, *other]);
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_a_volatile_part_are_paired() {
        for (before, after) in [
            ("format/2026-11-28 11:24:27.123456789 +00:00", "format/2026-11-28 11:25:01.5 +00:00"),
            ("at 2026-11-28T11:24:27Z/long", "at 2026-12-01T00:00:00Z/long"),
            ("day/2026-11-28", "day/2026-11-29"),
            ("clock 9:59:59", "clock 10:00:00"),
            ("ptr/0x7ffd12345678", "ptr/0x55aa12345678"),
            ("read /tmp/.tmpA1b2/file", "read /tmp/.tmpZ9/file"),
            ("id/6f9619ff-8b86-d011-b42d-00cf4fc964ff", "id/00000000-8b86-d011-b42d-00cf4fc96400"),
            ("seed 123456789012345", "seed 99999999999999"),
        ] {
            assert_eq!(pair_by_template([[before], [after]]), [[before, after]]);
        }
    }

    #[test]
    fn parameters_are_no_volatile_parts() {
        for (before, after) in
            [("copy/1048576", "copy/2097152"), ("year/1969", "year/2000"), ("0xff", "0xfe")]
        {
            assert!(pair_by_template([[before], [after]]).is_empty(), "{before}");
        }
    }

    #[test]
    fn a_template_that_two_names_share_pairs_none() {
        let before = ["day/2026-11-27", "day/2026-11-28"];
        assert!(
            pair_by_template([&before[..], &["day/2026-11-29"]].map(|side| side.iter().copied()))
                .is_empty()
        );
    }
}
