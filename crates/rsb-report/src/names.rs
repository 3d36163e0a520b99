//! Shortens names to a width so that the shortened names still differ.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::style::{clean, columns};

/// Maximum number of parts of a name. Text with more parts is treated as prose and shortened in the
/// middle.
const MAX_PARTS: usize = 10;

/// Returns the short form of each of `names` that takes more than `width` columns.
///
/// Omits whole parts of a name (between slashes and spaces), starting with those that most names
/// share. A short form matches no other of `names`.
pub fn shorten_names<'n>(
    names: impl IntoIterator<Item = &'n str>,
    width: usize,
) -> HashMap<String, String> {
    let names: BTreeSet<&str> = names.into_iter().collect();
    let forms = without_axis_names(&names);
    let all: Vec<Name<'_>> = forms.values().map(|form| Name::parse(form)).collect();
    let mut short = HashMap::new();
    for (name, form) in forms.iter().filter(|(name, _)| columns(name) > width) {
        let form = Name::parse(form);
        let weights = form.weights(&all);
        let text =
            form.without_parts(&all, &weights, width).unwrap_or_else(|| form.squeeze(&all, width));
        short.insert((*name).to_owned(), text);
    }
    short
}

/// Returns each name without the axis names whose values are clear on their own: `ring` for
/// `algorithm=ring`, but `num_gpus=4`.
fn without_axis_names<'n>(names: &BTreeSet<&'n str>) -> BTreeMap<&'n str, String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in names {
        *counts.entry(plain_name(name)).or_default() += 1;
    }
    let mut forms = BTreeMap::new();
    for &name in names {
        let plain = plain_name(name);
        let is_unique = counts.get(&plain) == Some(&1);
        forms.insert(name, if is_unique { plain } else { clean(name) });
    }
    forms
}

fn plain_name(name: &str) -> String {
    clean(name).split('/').map(plain_value).collect::<Vec<_>>().join("/")
}

fn plain_value(part: &str) -> &str {
    match part.split_once('=') {
        Some((_, value)) if is_clear(value) => value,
        _ => part,
    }
}

/// Returns whether `value` is clear without the name of its axis.
fn is_clear(value: &str) -> bool {
    let is_word = value.starts_with(|c: char| c.is_ascii_alphabetic());
    is_word && !["on", "off", "yes", "no", "auto", "any"].contains(&value)
}

/// A name in parts, each with the slash or space that ends it.
struct Name<'n> {
    parts: Vec<&'n str>,
}

enum PartDisplay {
    Whole,
    /// Only the first and last characters of the part.
    Ends {
        head: String,
        tail: String,
    },
    /// Omitted; adjacent omitted parts share one ellipsis.
    Hidden,
}

impl<'n> Name<'n> {
    fn parse(text: &'n str) -> Self {
        let parts: Vec<&str> = text.split_inclusive(['/', ' ']).collect();
        Self { parts: if parts.len() > MAX_PARTS { vec![text] } else { parts } }
    }

    /// Returns the number of `all` that lack each part: rare parts carry the most information.
    fn weights(&self, all: &[Self]) -> Vec<usize> {
        let mut weights = Vec::new();
        for part in &self.parts {
            let lacking =
                all.iter().filter(|name| name.parts.iter().all(|other| word(other) != word(part)));
            weights.push(lacking.count());
        }
        weights
    }

    /// Returns the name with whole parts omitted at the least loss; `None` if no selection fits
    /// `width` and is unambiguous.
    fn without_parts(&self, all: &[Self], weights: &[usize], width: usize) -> Option<String> {
        let mut choices = self.choices();
        choices.sort_by_cached_key(|kept| self.loss(*kept, all, weights));
        let shown = choices.into_iter().map(|kept| self.display_parts(kept));
        let mut fitting = shown.filter(|shown| columns(&self.text(shown)) <= width);
        let found = fitting.find(|shown| self.is_unambiguous(shown, all))?;
        Some(self.text(&found))
    }

    /// Returns the loss of showing only the parts `kept`, for sorting: hidden lengths by weight
    /// plus a penalty for each gap, then hidden lengths, then a preference for early parts.
    fn loss(&self, kept: u32, all: &[Self], weights: &[usize]) -> (usize, usize, Reverse<u32>) {
        let (mut weighted, mut length, mut was_kept) = (0, 0, true);
        for (index, (part, weight)) in self.parts.iter().zip(weights).enumerate() {
            let is_kept = is_kept(kept, index);
            if !is_kept {
                weighted += weight * part.len() + if was_kept { all.len() } else { 0 };
                length += part.len();
            }
            was_kept = is_kept;
        }
        (weighted, length, Reverse(kept.reverse_bits()))
    }

    /// Returns the name reduced to the fewest parts that keep it unambiguous, with the longest
    /// parts shortened in the middle.
    fn squeeze(&self, all: &[Self], width: usize) -> String {
        let mut choices = self.choices();
        choices.sort_by_cached_key(|kept| columns(&self.text(&self.display_parts(*kept))));
        let fewest = choices
            .into_iter()
            .map(|kept| self.display_parts(kept))
            .find(|shown| self.is_unambiguous(shown, all));
        let mut shown = fewest.unwrap_or_else(|| self.display_parts(u32::MAX));
        let mut rooms: Vec<usize> =
            self.parts.iter().map(|part| word(part).chars().count()).collect();
        while columns(&self.text(&shown)) > width {
            let visible = rooms.iter_mut().zip(&mut shown).zip(&self.parts);
            let visible = visible
                .filter(|((room, shown), _)| **room > 1 && !matches!(shown, PartDisplay::Hidden));
            let Some(((room, shown), part)) = visible.max_by_key(|((room, _), _)| **room) else {
                break;
            };
            *room -= 1;
            *shown = ends(word(part), *room);
        }
        self.text(&shown).chars().take(width.max(1)).collect()
    }

    /// Returns all non-empty selections of parts, as bit masks.
    fn choices(&self) -> Vec<u32> {
        (1..1 << self.parts.len()).collect()
    }

    fn display_parts(&self, kept: u32) -> Vec<PartDisplay> {
        (0..self.parts.len())
            .map(
                |index| if is_kept(kept, index) { PartDisplay::Whole } else { PartDisplay::Hidden },
            )
            .collect()
    }

    fn text(&self, shown: &[PartDisplay]) -> String {
        let mut text = String::new();
        let mut after_hidden = false;
        for (part, shown) in self.parts.iter().zip(shown) {
            let word = word(part);
            let end = &part[word.len()..];
            match shown {
                PartDisplay::Whole => text.push_str(part),
                PartDisplay::Ends { head, tail } => text.extend([head, "…", tail, end]),
                PartDisplay::Hidden if after_hidden => {
                    text.pop();
                    text.push_str(end);
                }
                PartDisplay::Hidden => text.extend(["…", end]),
            }
            after_hidden = matches!(shown, PartDisplay::Hidden);
        }
        text
    }

    /// Returns whether the shown form of this name matches no other of `all`.
    fn is_unambiguous(&self, shown: &[PartDisplay], all: &[Self]) -> bool {
        let pattern: Vec<(&str, &PartDisplay)> =
            self.parts.iter().map(|part| word(part)).zip(shown).collect();
        all.iter().filter(|name| fits(&pattern, &name.parts)).count() == 1
    }
}

/// Returns whether `parts` matches `pattern`.
fn fits(pattern: &[(&str, &PartDisplay)], parts: &[&str]) -> bool {
    let Some(((whole, shown), rest)) = pattern.split_first() else { return parts.is_empty() };
    let Some((part, others)) = parts.split_first() else { return false };
    match shown {
        PartDisplay::Whole => *whole == word(part) && fits(rest, others),
        PartDisplay::Ends { head, tail } => {
            word(part).starts_with(head) && word(part).ends_with(tail) && fits(rest, others)
        }
        PartDisplay::Hidden => {
            let hidden =
                rest.iter().take_while(|(_, shown)| matches!(shown, PartDisplay::Hidden)).count();
            let rest = rest.get(hidden..).unwrap_or_default();
            (0..=others.len())
                .any(|more| others.get(more..).is_some_and(|others| fits(rest, others)))
        }
    }
}

const fn is_kept(kept: u32, index: usize) -> bool {
    kept & (1 << index) != 0
}

fn word(part: &str) -> &str {
    part.trim_end_matches(['/', ' '])
}

/// Returns the first and last characters of `word` in `room` columns. The tail is longer, because
/// ids differ there.
fn ends(word: &str, room: usize) -> PartDisplay {
    let kept = room.saturating_sub(1);
    let head = kept * 2 / 5;
    let skipped = word.chars().count().saturating_sub(kept - head);
    PartDisplay::Ends {
        head: word.chars().take(head).collect(),
        tail: word.chars().skip(skipped).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shorten_all(names: &[&str], width: usize) -> Vec<String> {
        let short = shorten_names(names.iter().copied(), width);
        names
            .iter()
            .map(|name| short.get(*name).cloned().unwrap_or_else(|| (*name).to_owned()))
            .collect()
    }

    #[test]
    fn whole_parts_are_left_out_and_words_stay_readable() {
        let names =
            ["tensor-ops gelu/f32/1048576", "tensor-ops relu/f32/1048576", "gemm f32/512x512x512"];
        assert_eq!(
            shorten_all(&names, 24),
            ["tensor-ops gelu/f32/…", "tensor-ops relu/f32/…", "gemm f32/512x512x512"]
        );
        assert_eq!(shorten_all(&names, 12)[..2], ["… gelu/f32/…", "… relu/f32/…"]);
        assert_eq!(shorten_all(&names, 10)[..2], ["… gelu/…", "… relu/…"]);
    }

    #[test]
    fn what_every_name_shares_goes_first() {
        let names = [
            "memory-bandwidth copy/f32/64MiB",
            "memory-bandwidth triad/f32/64MiB/stores=non-temporal",
        ];
        assert_eq!(shorten_all(&names, 40)[1], "memory-bandwidth triad/…/non-temporal");
        assert_eq!(shorten_all(&names, 50)[1], "memory-bandwidth triad/f32/64MiB/non-temporal");
    }

    #[test]
    fn the_part_that_differs_stays_wherever_it_is() {
        let names: Vec<String> = ["one", "two", "three"]
            .map(|middle| format!("benchmark/{middle}/1024x1024x1024"))
            .into();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(
            shorten_all(&names, 20),
            ["…/one/1024x1024x1024", "…/two/1024x1024x1024", "benchmark/three/…"]
        );
        assert_eq!(shorten_all(&names, 12), ["…/one/…", "…/two/…", "…/three/…"]);
    }

    #[test]
    fn no_two_names_become_one_at_any_width() {
        let mut names = Vec::new();
        for operation in ["all-gather", "broadcast"] {
            for algorithm in ["ring", "tree"] {
                for launcher in ["threads", "one-thread"] {
                    names.push(format!(
                        "f32/4MiB/backend=rccl/operation={operation}/algorithm={algorithm}/num_gpus=2/launcher={launcher}"
                    ));
                }
            }
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for width in [16, 20, 32, 52] {
            let short = shorten_all(&names, width);
            let different: BTreeSet<&String> = short.iter().collect();
            assert_eq!(different.len(), names.len(), "{width}: {short:?}");
            assert!(short.iter().all(|name| columns(name) <= width), "{width}: {short:?}");
        }
    }

    #[test]
    fn a_single_long_part_keeps_its_ends() {
        assert_eq!(shorten_all(&["amd-epyc-7763-2c-1a2b3c4d"], 16), ["amd-ep…-1a2b3c4d"]);
    }

    #[test]
    fn without_room_nothing_breaks() {
        for width in 0..4 {
            assert!(
                shorten_all(&["abcdefgh", "abc/efgi", ""], width)
                    .iter()
                    .all(|name| columns(name) <= width.max(1))
            );
        }
    }
}
