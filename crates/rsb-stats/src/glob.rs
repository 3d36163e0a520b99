//! Glob patterns on case ids: `*` matches any text, including slashes, and `?` any one character.

/// Returns whether `pattern` matches the whole of `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut read) = (0, 0);
    // Position of the last star, and the start of the text after its match. On a mismatch, the star
    // matches one more character.
    let mut star: Option<(usize, usize)> = None;
    while let Some(&character) = text.get(read) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == character => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                read = taken + 1;
            }
        }
    }
    pattern.iter().skip(at).all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_is_any_text_and_a_question_mark_one_character() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*/gemm/*", "cpu_performance/gemm/cpu:0/f32/64x64x64", true),
            ("*/gemm/*", "cpu_performance/gemm-batched/cpu:0", false),
            ("gemm", "cpu_performance/gemm/cpu:0", false),
            ("a*b*c", "a-bb-b-c", true),
            ("a*b*c", "a-bb-b-", false),
            ("f??", "f32", true),
            ("f??", "f3", false),
            ("*é?", "caféx", true),
            ("**x", "x", true),
            ("*/card=visa", "shop/payments/card=visa", true),
            ("*/card=visa", "shop/payments/card=none", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }
}
