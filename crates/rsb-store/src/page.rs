//! A run inside an HTML page: its compressed document, in an element that browsers do not render.
//! Every function that reads a run also reads such a page; the document's own checksum detects
//! changes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};

/// Text before the compressed document. In generated pages `<` begins only markup, so no text can
/// forge it.
const OPEN: &str = "<template id=\"run\" data-encoding=\"zlib base64\">";
const CLOSE: &str = "</template>";
const LINE: usize = 120;
/// Compression level from 0 to 10. Higher levels take twice as long and save only 1 % of the size.
const LEVEL: u8 = 9;

const WRITE_AGAIN: &str = "write the page again with `rusty-stack-bench report --format html`, or \
                           name the file of the run";

/// Returns a page element with `document`, the text of a run from [`crate::sealed_text`].
pub fn data_element(document: &str) -> String {
    let packed = STANDARD.encode(compress_to_vec_zlib(document.as_bytes(), LEVEL));
    let lines = packed.as_bytes().chunks(LINE).map(|line| String::from_utf8_lossy(line) + "\n");
    format!("{OPEN}\n{}{CLOSE}\n", lines.collect::<String>())
}

/// Extracts the document of at most `most` bytes from `bytes`; `None` if they are not an HTML page.
///
/// # Errors
/// The problem of the page, and how to fix it.
pub(crate) fn document_in(bytes: &[u8], most: u64) -> Option<Result<Vec<u8>, String>> {
    const BEGIN: &[u8] = b"<!doctype html";
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let is_page = bytes.get(..BEGIN.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(BEGIN));
    is_page.then(|| unpack(bytes, most))
}

fn unpack(page: &[u8], most: u64) -> Result<Vec<u8>, String> {
    let page = std::str::from_utf8(page).map_err(|_| changed_page("is no longer UTF-8"))?;
    let (_, rest) = page.split_once(OPEN).ok_or_else(|| {
        format!(
            "it is an HTML page without a run: it was cut off, or written with --no-data; \
             {WRITE_AGAIN}"
        )
    })?;
    if rest.contains(OPEN) {
        return Err(changed_page("appears twice"));
    }
    let (packed, _) = rest.split_once(CLOSE).ok_or_else(|| changed_page("was cut off"))?;
    let packed: Vec<u8> = packed.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let packed =
        STANDARD.decode(packed).map_err(|_| changed_page("was changed after it was written"))?;
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    decompress_to_vec_zlib_with_limit(&packed, limit).map_err(|error| match error.status {
        TINFLStatus::HasMoreOutput => {
            changed_page(&format!("has more than {} MiB, the limit for a run", most >> 20))
        }
        TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => {
            changed_page("was cut off")
        }
        _ => changed_page("was changed after it was written"),
    })
}

/// Formats the error for a page whose run was changed, cut off or is too large; `how` completes the
/// sentence.
fn changed_page(how: &str) -> String {
    format!("it is an HTML page, and the run in it {how}; {WRITE_AGAIN}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 1 << 20;

    fn page(element: &str) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\"><title>x</title><body>{element}</body></html>\n"
        )
    }

    fn problem(page: &[u8]) -> String {
        match document_in(page, MOST) {
            Some(Err(problem)) => problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_went_into_a_page_comes_out_of_it() {
        for text in ["", "{}", &"{\"a\": [1, 2, 3]}".repeat(999)] {
            let page = page(&data_element(text));
            assert!(page.lines().all(|line| line.len() <= 2 * LINE), "{page}");
            let spellings = [
                page.clone(),
                page.replace('\n', "\r\n"),
                format!("\u{feff}  {}", page.replacen("doctype", "DOCTYPE", 1)),
            ];
            for page in spellings {
                assert_eq!(document_in(page.as_bytes(), MOST), Some(Ok(text.as_bytes().to_vec())));
            }
        }
        for other in ["", "{}", "<html>", "<!doctype svg>", "#doctype html"] {
            assert_eq!(document_in(other.as_bytes(), MOST), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_run_any_more_says_so_with_a_cure() {
        let element = data_element(&"{\"a\": [1, 2, 3]}".repeat(40));
        let bomb = data_element(&"a".repeat(1 + MOST as usize));
        assert!(bomb.len() < 3000, "{}", bomb.len());
        let kept = element.len() - CLOSE.len() - 30;
        let short = page(&format!("{}{CLOSE}", &element[..kept - kept % 4]));
        for (page, expected) in [
            (page(""), "without a run"),
            (page(&format!("{element}{element}")), "twice"),
            (page(element.trim_end().strip_suffix(CLOSE).unwrap()), "cut off"),
            (short, "was c"),
            (page(&element.replacen(OPEN, &format!("{OPEN}!"), 1)), "was changed"),
            (page(&bomb), "more than 1 MiB"),
        ] {
            let problem = problem(page.as_bytes());
            assert!(
                problem.contains(expected) && problem.contains("report --format html"),
                "{problem}"
            );
        }
        assert!(problem(b"<!doctype html>\xff").contains("UTF-8"));
    }

    #[test]
    fn no_byte_of_the_element_can_change_unseen() {
        let text = "{\"a\": [1, 2, 3]}".repeat(20);
        let page = page(&data_element(&text));
        let start = page.find(OPEN).unwrap() + OPEN.len();
        let end = page.find(CLOSE).unwrap();
        for at in start..end {
            let mut bytes = page.clone().into_bytes();
            bytes[at] ^= 1;
            // A changed line break has no effect on the document.
            let read = document_in(&bytes, MOST).unwrap();
            assert!(read.is_err() || read == Ok(text.clone().into_bytes()), "byte {at}");
        }
    }
}
