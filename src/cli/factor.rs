//! The factors of a machine that `--across` accepts.

use rsb_model::factor;

/// Factors other than the frameworks: software whose versions must agree.
const SOFTWARE: [&str; 7] = [
    factor::DRIVER,
    factor::ROCM,
    factor::CUDA,
    factor::PYTHON,
    factor::VULKAN,
    factor::OPENCL,
    factor::ONEAPI,
];

/// Parses the name of a factor. Unknown names are errors that list the factors, so that a typo is
/// never ignored.
pub(super) fn parse(text: &str) -> Result<String, String> {
    let name = text.trim().to_ascii_lowercase().replace('_', "-");
    let name = if name == "pytorch" { "torch".to_owned() } else { name };
    let known: Vec<&str> = SOFTWARE.into_iter().chain(rsb_probe::FRAMEWORKS).collect();
    if known.contains(&name.as_str()) {
        return Ok(name);
    }
    let similar = known.into_iter().map(|known| (strsim::jaro_winkler(&name, known), known));
    let nearest =
        similar.filter(|(similarity, _)| *similarity > 0.75).max_by(|a, b| a.0.total_cmp(&b.0));
    let near = nearest.map(|(_, known)| format!(" (did you mean {known}?)")).unwrap_or_default();
    Err(format!(
        "unknown factor `{text}`{near}; use {} or the name of a framework, such as torch",
        SOFTWARE.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_known_by_their_names_alone() {
        for (text, factor) in [("rocm", "rocm"), ("PyTorch", "torch"), ("flash_attn", "flash-attn")]
        {
            assert_eq!(parse(text), Ok(factor.to_owned()));
        }
        assert!(parse("foo").unwrap_err().contains("driver, rocm, cuda, python"));
        assert!(parse("rcom").unwrap_err().contains("did you mean rocm?"));
    }
}
