//! Axes: the parameters of a benchmark, the format of their values, and their part in a case's ID.

use rsb_model::Dtype;
use rsb_model::shape::{format_bytes, format_shape, parse_bytes, parse_shape};

/// A parameter of a benchmark.
#[derive(Debug, Clone, Copy)]
pub struct AxisInfo {
    /// Name, as in `--axis name=value`.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Default value, which is omitted from the ID.
    pub default: Option<&'static str>,
    /// Form of the axis in a case ID.
    pub form: IdForm,
    /// Type of its values.
    pub kind: AxisKind,
}

/// Form of an axis in an ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdForm {
    /// Always the value without the name: `f32`.
    Value,
    /// `name=value`, unless it has the default value.
    Named,
}

/// Type of the values of an axis.
#[derive(Debug, Clone, Copy)]
pub enum AxisKind {
    /// One of the listed words.
    Choice(&'static [&'static str]),
    /// A data type, in any common spelling.
    Dtype,
    /// An instruction set of a GPU, such as `gfx90a`.
    Architecture,
    /// An instruction set of a GPU, or `here` for that of this host's GPU.
    ArchitectureOrHere,
    /// A PCI address such as `0000:03:00.0`, or `here` for that of the device itself.
    BusAddressOrHere,
    /// A size in bytes, such as `64MiB`.
    Bytes,
    /// A fixed number of sizes separated by `x`, and an example.
    Shape(usize, &'static str),
    /// An integer above zero.
    Count,
    /// An integer of zero or more.
    CountOrZero,
    /// Any finite number.
    Number,
    /// A finite number of zero or more.
    NumberOrZero,
    /// The given word, or the path of a file or directory.
    Path(&'static str),
    /// A name of letters, digits, dashes and dots, and an example.
    Name(&'static str),
    /// A value of a user-defined benchmark: any word without characters that are special in a
    /// shell, an ID or a list.
    Word,
}

impl AxisInfo {
    /// Creates an axis without a default; IDs contain only its value.
    pub(crate) const fn value(name: &'static str, about: &'static str, kind: AxisKind) -> Self {
        Self { name, about, default: None, form: IdForm::Value, kind }
    }

    /// Creates an axis with a default; IDs contain the axis if its value differs.
    pub(crate) const fn with_default(
        name: &'static str,
        about: &'static str,
        default: &'static str,
        kind: AxisKind,
    ) -> Self {
        Self { name, about, default: Some(default), form: IdForm::Named, kind }
    }

    /// Returns `text` in the form used in IDs and documents, or `None` if it is not a value of this
    /// axis.
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

    /// Describes the format of a value, for messages and help.
    pub fn form_of_values(&self) -> String {
        match self.kind {
            AxisKind::Choice(words) => format!("one of {}", words.join(", ")),
            AxisKind::Dtype => "a data type such as f32".to_owned(),
            AxisKind::Architecture => "an instruction set such as gfx90a or sm_90".to_owned(),
            AxisKind::ArchitectureOrHere => {
                "an instruction set such as gfx90a or sm_90, or here".to_owned()
            }
            AxisKind::BusAddressOrHere => "a PCI address such as 0000:03:00.0, or here".to_owned(),
            AxisKind::Bytes => "a size such as 64MiB".to_owned(),
            AxisKind::Shape(rank, example) => format!("{rank} sizes such as {example}"),
            AxisKind::Count => "a whole number from 1 to 4294967295".to_owned(),
            AxisKind::CountOrZero => "a whole number from 0 to 4294967295".to_owned(),
            AxisKind::Number => "a number".to_owned(),
            AxisKind::NumberOrZero => "a number of at least 0".to_owned(),
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

/// Returns whether `name` is `gfx` with three to five hexadecimal digits, or `sm_` with two or
/// three decimal digits.
fn is_architecture(name: &str) -> bool {
    if let Some(number) = name.strip_prefix("sm_") {
        return (2..=3).contains(&number.len())
            && number.chars().all(|digit| digit.is_ascii_digit());
    }
    let number = name.strip_prefix("gfx").unwrap_or_default();
    (3..=5).contains(&number.len()) && number.chars().all(|digit| digit.is_ascii_hexdigit())
}

/// Returns whether `name` has the four hexadecimal parts of a sysfs PCI address: domain, bus,
/// device and function.
fn is_bus_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let is_hexadecimal =
        |part: &&str| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_hexdigit());
    parts.len() == 4 && parts.iter().all(is_hexadecimal)
}

/// Data type of the elements.
pub(crate) const DTYPE: AxisInfo =
    AxisInfo::value("dtype", "data type of the elements", AxisKind::Dtype);

/// Number of CPU threads.
pub(crate) const THREADS: AxisInfo =
    AxisInfo::with_default("threads", "CPU threads (ignored on GPUs)", "1", AxisKind::Count);

/// Provider of matrix products.
pub(crate) const PROVIDER: AxisInfo = AxisInfo::with_default(
    "provider",
    "library that computes the products; auto: chosen by the device",
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

/// Memory for the data, on a host with several NUMA nodes.
pub(crate) const NUMA: AxisInfo = AxisInfo::with_default(
    "numa",
    "NUMA node of CPU memory: any, chosen by the system; near, the node of the threads; far, the \
     most distant node",
    "any",
    AxisKind::Choice(&["any", "near", "far"]),
);

/// Whether the inputs are in the caches.
pub(crate) const CACHE: AxisInfo = AxisInfo::with_default(
    "cache",
    "hot: iterations run back to back; cold: caches are flushed before each iteration",
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
