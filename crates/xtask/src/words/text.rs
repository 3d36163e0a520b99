//! Words in what people read: documents, comments, messages, help.

use super::TEXT;

/// Text in which a word is not ours: a part that holds it, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("\"Processor\"", "a key of /proc/cpuinfo on s390"),
    ("card=none", "an axis of somebody else's benchmark, in a test"),
    ("card=0000", "an id of an earlier version, in tests"),
    ("RSB_CUDA_FOLDERS", "what RSB_CUDA_PATH was called; it is still read"),
    ("-Core Processor", "what a CPU calls itself"),
    ("multiprocessor", "CUDA's and HIP's word for a compute unit"),
    ("multiProcessor", "a field of HIP"),
    ("MultiProcessor", "a function of CUDA"),
    ("work-group processor", "RDNA's pair of compute units"),
    ("preprocessor", "the compiler's"),
    ("Core Processor", "a CPU's name, as the CPU gives it"),
    ("Another Processor", "a CPU's name in tests"),
    ("\"processor\"", "a key of /proc/cpuinfo"),
    ("processor :", "a key of /proc/cpuinfo"),
    ("processor\\t:", "a key of /proc/cpuinfo"),
    ("nprocessor", "a key of /proc/cpuinfo"),
    ("(\"card\")", "the beginning of the DRM's names, cut off"),
    ("drm/card", "the DRM's name of a device"),
    ("card=visa", "an axis of somebody else's benchmark, in a test"),
    ("\"folder\"", "a value that documents have"),
    ("call it `folder`", "a value that documents have"),
];

/// The words in `text` that are not the field's, by line.
pub(super) fn breaches(file: &str, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    lines.flat_map(|(at, line)| of_line(line).map(move |what| format!("{file}:{}: {what}", at + 1))).collect()
}

fn of_line(line: &str) -> impl Iterator<Item = String> {
    let spoken = EXCEPTIONS.iter().fold(line.to_owned(), |line, (part, _)| line.replace(part, ""));
    let lower = spoken.to_ascii_lowercase();
    let is_there = move |old: &str| lower.match_indices(old).any(|(at, _)| is_word(&lower, at, at + old.len()));
    TEXT.iter().filter(move |word| is_there(word.old)).map(|word| format!("`{}`: write {}", word.old, word.new))
}

/// Whether `text[from..to]` is a word of its own or a part of a name in `snake_case`, in the singular or the plural.
/// `card0` is the DRM's name of a device; `discard` is another word.
fn is_word(text: &str, from: usize, to: usize) -> bool {
    let is_letter = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_alphabetic);
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let end = if text.as_bytes().get(to) == Some(&b's') { to + 1 } else { to };
    let begins = from == 0 || !is_letter(from - 1);
    begins && !is_letter(end) && !is_digit(end) && !matches!(text.get(end..end + 1), Some("{" | "["))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_found_in_every_form() {
        for (line, word) in [
            ("/// The card's memory.", "card"),
            ("Graphics cards are asked.", "card"),
            ("    let card = cards.next();", "card"),
            ("//! Runs on the processor.", "processor"),
            ("fn native_maker() {}", "maker"),
            ("name the folders, as `PATH` has them", "folder"),
            ("crates/rsb-lookalike/README.md", "lookalike"),
            ("a software look-alike", "look-alike"),
            ("mod workshop;", "workshop"),
            ("a gang of devices", "gang"),
        ] {
            let found = breaches("docs/a.md", &format!("\n{line}\n"));
            assert!(found.len() == 1 && found[0].starts_with("docs/a.md:2") && found[0].contains(word), "{found:?}");
        }
    }

    #[test]
    fn other_words_and_names_of_others_are_left_alone() {
        for line in [
            "class/drm/card0/device, card1-DP-1, {DRM}/card{number}",
            "a wildcard, to discard, cardinal numbers",
            "a streaming multiprocessor; multiProcessorCount",
            "processor\t: 0 and model name: AMD EPYC 7763 64-Core Processor",
            "what the preprocessor says",
            "GPUs, CPUs, vendors, directories, worktrees",
        ] {
            let line = line.replace("processor\t:", "processor :");
            assert_eq!(breaches("src/a.rs", &line), Vec::<String>::new());
        }
    }
}
