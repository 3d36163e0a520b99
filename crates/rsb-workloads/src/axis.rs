//! Axes: the parameters of a benchmark, how a value of each is written, and how it shows in a
//! case's id.

use rsb_model::Dtype;
use rsb_model::shape::{format_bytes, format_shape, parse_bytes, parse_shape};

/// A parameter of a benchmark.
#[derive(Debug, Clone, Copy)]
pub struct AxisInfo {
    /// As in `--axis name=value`.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// The value where no other is given; left out of the id.
    pub default: Option<&'static str>,
    /// How it shows in the id.
    pub form: IdForm,
    /// What its values are.
    pub kind: AxisKind,
}

/// How an axis shows in an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdForm {
    /// The bare value, always: `f32`.
    Value,
    /// `name=value`, unless it is the default.
    Named,
}

/// What the values of an axis are.
#[derive(Debug, Clone, Copy)]
pub enum AxisKind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A data type, in any common spelling.
    Dtype,
    /// An instruction set of a GPU, such as `gfx90a`.
    Architecture,
    /// The same, or `here` for that of the GPU that is here.
    ArchitectureOrHere,
    /// An address on the bus such as `0000:03:00.0`, or `here` for that of the device itself.
    BusAddressOrHere,
    /// A size in bytes, such as `64MiB`.
    Bytes,
    /// So many sizes with an `x` between them; the text is an example.
    Shape(usize, &'static str),
    /// A whole number above zero.
    Count,
    /// A whole number, also zero.
    CountOrZero,
    /// Any finite number.
    Number,
    /// A number from zero on.
    NumberOrZero,
    /// This word, or the path of a file or directory.
    Path(&'static str),
    /// A name of letters, digits, dashes and dots; the text is an example.
    Name(&'static str),
    /// Any word of a benchmark of one's own: nothing that a shell, an id or a list would take for
    /// something else.
    Word,
}

impl AxisInfo {
    /// An axis without a default that shows as its bare value.
    pub(crate) const fn value(name: &'static str, about: &'static str, kind: AxisKind) -> Self {
        Self { name, about, default: None, form: IdForm::Value, kind }
    }

    /// An axis with a default that shows where it differs.
    pub(crate) const fn with_default(
        name: &'static str,
        about: &'static str,
        default: &'static str,
        kind: AxisKind,
    ) -> Self {
        Self { name, about, default: Some(default), form: IdForm::Named, kind }
    }

    /// `text` as ids and documents write it; `None` when it is not a value of this axis.
    pub fn canonical(&self, text: &str) -> Option<String> {
        let text = text.trim();
        match self.kind {
            AxisKind::Choice(words) => words.contains(&text).then(|| text.to_owned()),
            AxisKind::Dtype => text.parse::<Dtype>().ok().map(|dtype| dtype.to_string()),
            AxisKind::Architecture => {
                Some(text.to_ascii_lowercase()).filter(|name| is_architecture(name))
            }
            AxisKind::ArchitectureOrHere => Some(text.to_ascii_lowercase())
                .filter(|name| name == "here" || is_architecture(name)),
            AxisKind::BusAddressOrHere => Some(text.to_ascii_lowercase())
                .filter(|name| name == "here" || is_bus_address(name)),
            AxisKind::Bytes => parse_bytes(text).ok().map(format_bytes),
            AxisKind::Shape(rank, _) => parse_shape(text)
                .ok()
                .filter(|sizes| sizes.len() == rank)
                .map(|sizes| format_shape(&sizes)),
            AxisKind::Count => {
                text.parse::<u32>().ok().filter(|&count| count > 0).map(|count| count.to_string())
            }
            AxisKind::CountOrZero => text.parse::<u32>().ok().map(|count| count.to_string()),
            AxisKind::Number => text
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
                .map(|number| number.to_string()),
            AxisKind::NumberOrZero => {
                let number = text
                    .parse::<f64>()
                    .ok()
                    .filter(|number| number.is_finite() && *number >= 0.0)?;
                Some((number + 0.0).to_string())
            }
            AxisKind::Path(word) => {
                (text == word || text.contains(['/', '.'])).then(|| text.to_owned())
            }
            AxisKind::Name(_) => is_name(text).then(|| text.to_owned()),
            AxisKind::Word => is_word(text).then(|| text.to_owned()),
        }
    }

    /// What a value looks like, for messages and help.
    pub fn form_of_values(&self) -> String {
        match self.kind {
            AxisKind::Choice(words) => format!("one of {}", words.join(", ")),
            AxisKind::Dtype => "a data type such as f32".to_owned(),
            AxisKind::Architecture => "an instruction set such as gfx90a or sm_90".to_owned(),
            AxisKind::ArchitectureOrHere => {
                "an instruction set such as gfx90a or sm_90, or here".to_owned()
            }
            AxisKind::BusAddressOrHere => {
                "an address on the bus such as 0000:03:00.0, or here".to_owned()
            }
            AxisKind::Bytes => "a size such as 64MiB".to_owned(),
            AxisKind::Shape(rank, example) => format!("{rank} sizes such as {example}"),
            AxisKind::Count => "a whole number from 1 to 4294967295".to_owned(),
            AxisKind::CountOrZero => "a whole number from 0 to 4294967295".to_owned(),
            AxisKind::Number => "a number".to_owned(),
            AxisKind::NumberOrZero => "a number from 0 on".to_owned(),
            AxisKind::Path(word) => format!("{word}, or a path such as /path/to/dir"),
            AxisKind::Name(example) => format!("a name such as {example}"),
            AxisKind::Word => "a word of letters, digits and -+._:%@".to_owned(),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-+._:%@".contains(c))
}

/// `gfx` and a number whose last two digits are hexadecimal.
fn is_architecture(name: &str) -> bool {
    if let Some(number) = name.strip_prefix("sm_") {
        return (2..=3).contains(&number.len())
            && number.chars().all(|digit| digit.is_ascii_digit());
    }
    let number = name.strip_prefix("gfx").unwrap_or_default();
    (3..=5).contains(&number.len()) && number.chars().all(|digit| digit.is_ascii_hexdigit())
}

/// Domain, bus, device and function, as sysfs writes them.
fn is_bus_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let is_hexadecimal =
        |part: &&str| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_hexdigit());
    parts.len() == 4 && parts.iter().all(is_hexadecimal)
}

/// The type of an element.
pub(crate) const DTYPE: AxisInfo = AxisInfo::value("dtype", "type of an element", AxisKind::Dtype);

/// How many threads of the CPU work.
pub(crate) const THREADS: AxisInfo =
    AxisInfo::with_default("threads", "CPU threads (a GPU ignores it)", "1", AxisKind::Count);

/// Who multiplies matrices.
pub(crate) const PROVIDER: AxisInfo = AxisInfo::with_default(
    "provider",
    "the library that does it; auto: the device's own choice",
    "auto",
    AxisKind::Choice(&[
        "auto",
        "gemm",
        "openblas",
        "mkl",
        "onednn",
        "rocblas",
        "hipblaslt",
        "cublas",
        "cublaslt",
        "native",
        "native-naive",
        "native-amx",
        "native-avx512fp16",
        "native-avx512",
        "native-avx2",
    ]),
);

/// Which memory holds the data, on a host with several NUMA nodes.
pub(crate) const NUMA: AxisInfo = AxisInfo::with_default(
    "numa",
    "memory of a CPU: any, as the system gives it; near, of the node that threads run on; far, of \
     the farthest other",
    "any",
    AxisKind::Choice(&["any", "near", "far"]),
);

/// Whether the inputs are in the caches.
pub(crate) const CACHE: AxisInfo = AxisInfo::with_default(
    "cache",
    "hot: iterations follow one another; cold: caches are flushed before each",
    "hot",
    AxisKind::Choice(&["hot", "cold"]),
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_canonical_or_are_refused() {
        let arch = AxisInfo::value("arch", "", AxisKind::Architecture);
        let shape = AxisInfo::value("shape", "", AxisKind::Shape(3, "1x2x3"));
        let gpu = AxisInfo::with_default("gpu", "", "here", AxisKind::BusAddressOrHere);
        let bytes = AxisInfo::value("size", "", AxisKind::Bytes);
        let number = AxisInfo::with_default("alpha", "", "1", AxisKind::Number);
        let rate = AxisInfo::with_default("rate", "", "0", AxisKind::NumberOrZero);
        let name = AxisInfo::value("model", "", AxisKind::Name("gpt2"));
        let word = AxisInfo::value("n", "", AxisKind::Word);
        for (axis, text, expected) in [
            (&DTYPE, "float32", Some("f32")),
            (&DTYPE, "f33", None),
            (&rate, "2.50", Some("2.5")),
            (&rate, "-0", Some("0")),
            (&rate, "-1", None),
            (&THREADS, "04", Some("4")),
            (&THREADS, "0", None),
            (&CACHE, "cold", Some("cold")),
            (&CACHE, "warm", None),
            (&arch, "GFX90A", Some("gfx90a")),
            (&arch, "gfx90a:xnack-", None),
            (&arch, "sm_90", Some("sm_90")),
            (&arch, "sm_9x", None),
            (&shape, "8x16x032", Some("8x16x32")),
            (&shape, "8x16", None),
            (&gpu, "0000:0C:00.0", Some("0000:0c:00.0")),
            (&gpu, "here", Some("here")),
            (&gpu, "card0", None),
            (&bytes, "65536", Some("64KiB")),
            (&bytes, "-1", None),
            (&number, "1.0", Some("1")),
            (&number, "nan", None),
            (&name, "llama-2-7b", Some("llama-2-7b")),
            (&name, "a/b", None),
            (&word, "-1.5e+3", Some("-1.5e+3")),
            (&word, "a;b", None),
            (&word, "a b", None),
            (&word, "", None),
        ] {
            assert_eq!(axis.canonical(text).as_deref(), expected, "{}={text}", axis.name);
        }
    }
}
