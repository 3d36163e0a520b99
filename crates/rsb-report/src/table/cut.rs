//! Text that is too long for its column: made shorter so that what was different stays different.

use std::collections::HashMap;

use rsb_model::shown::shorten;

/// Each way to make text shorter, the one that leaves most of it as it is first.
const WAYS: [fn(&str, usize) -> String; 3] = [elide, elide_values, shorten];

/// What stands for those of `texts` that are longer than `width`.
pub(super) fn cuts<'t>(texts: impl Iterator<Item = &'t str>, width: usize) -> HashMap<String, String> {
    let mut whole: Vec<&str> = texts.filter(|text| length(text) > width).collect();
    whole.sort_unstable();
    whole.dedup();
    let mut cuts: HashMap<String, String> = HashMap::new();
    for way in WAYS {
        let tried: Vec<String> = whole.iter().map(|text| way(text, width)).collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        tried.iter().map(String::as_str).chain(cuts.values().map(String::as_str)).for_each(|cut| {
            *times.entry(cut).or_default() += 1;
        });
        let found = whole.iter().zip(&tried).filter(|(_, cut)| times.get(cut.as_str()) == Some(&1));
        let found: Vec<(String, String)> = found.map(|(text, cut)| ((*text).to_owned(), cut.clone())).collect();
        cuts.extend(found);
        whole.retain(|text| !cuts.contains_key(*text));
    }
    // What nothing tells apart, which only a very narrow column brings about.
    cuts.extend(whole.into_iter().map(|text| (text.to_owned(), elide(text, width))));
    cuts
}

pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

/// `text` in at most `width` characters; its middle gives way, since ids differ at their ends.
fn elide(text: &str, width: usize) -> String {
    let count = length(text);
    if count <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = kept * 2 / 5;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - (kept - head))).collect()
}

/// The same of an id without the names of those axes whose values speak for themselves: `ring`, but `num_gpus=4`.
fn elide_values(text: &str, width: usize) -> String {
    let spoken = |segment: &'_ str| match segment.split_once('=') {
        Some((_, value)) if speaks(value) => value.to_owned(),
        _ => segment.to_owned(),
    };
    elide(&text.split('/').map(spoken).collect::<Vec<_>>().join("/"), width)
}

/// Whether `value` tells what it is a value of.
fn speaks(value: &str) -> bool {
    let is_word = value.starts_with(|c: char| c.is_ascii_alphabetic());
    is_word && !["on", "off", "yes", "no", "auto", "any"].contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_different_stays_different() {
        let all = |kind: &str, by: &str, how: &str| {
            format!("f32/4MiB/communication_backend=rccl/operation={kind}/algorithm={by}/num_gpus=2/launcher={how}")
        };
        let texts = ["all-gather", "broadcast"]
            .into_iter()
            .flat_map(|kind| ["ring", "tree"].map(|by| (kind, by)))
            .flat_map(|(kind, by)| ["threads", "one-thread"].map(|how| all(kind, by, how)))
            .collect::<Vec<_>>();
        for width in [16, 20, 32, 52] {
            let cut = cuts(texts.iter().map(String::as_str), width);
            let mut seen: Vec<&String> = cut.values().collect();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), texts.len(), "{width}: {cut:?}");
            assert!(seen.iter().all(|cut| length(cut) <= width), "{width}: {cut:?}");
        }
        let wide = cuts(texts.iter().map(String::as_str), 52);
        assert_eq!(wide[&all("broadcast", "tree", "threads")], "f32/4MiB/rccl/broadcast/tree/num_gpus=2/threads");
    }

    #[test]
    fn what_its_ends_tell_apart_keeps_them() {
        let cut = cuts(["short", "a/long/id/with/num_gpus=2", "a/long/id/with/num_gpus=4"].into_iter(), 16);
        assert_eq!((cut.get("short"), cut["a/long/id/with/num_gpus=4"].as_str()), (None, "a/long…um_gpus=4"));
    }

    #[test]
    fn where_there_is_no_room_nothing_breaks() {
        for width in 0..4 {
            let cut = cuts(["abcdefgh", "abcdefgi"].into_iter(), width);
            assert!(cut.values().all(|cut| length(cut) <= width.max(1)), "{cut:?}");
        }
    }
}
