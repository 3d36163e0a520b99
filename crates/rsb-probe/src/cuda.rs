//! The version of the CUDA toolkit that programs would use, read from the files of NVIDIA's
//! installers. No process is started.

use crate::host::Host;

/// Returns the version of the first toolkit in `$CUDA_PATH`, `$CUDA_HOME` and the usual
/// directories, such as `12.8.1`.
pub(crate) fn version(host: &Host) -> Option<String> {
    let named =
        ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(|name| host.variable(name)?.to_str());
    let mut roots = named.chain(["/usr/local/cuda", "/opt/cuda"]);
    roots.find_map(|root| version_in(host, root.trim_end_matches('/')))
}

fn version_in(host: &Host, root: &str) -> Option<String> {
    // CUDA 11.1 and later: `{"cuda": {"version": "12.8.1", …}, …}`.
    if let Some(text) = host.text(&format!("{root}/version.json")) {
        let document = rsb_model::json::parse(&text).ok()?;
        return document["cuda"]["version"].as_str().map(str::to_owned);
    }
    // CUDA 11.0 and earlier: `CUDA Version 10.2.89`.
    let line = host.line(&format!("{root}/version.txt"))?;
    line.strip_prefix("CUDA Version ").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    #[test]
    fn the_version_is_that_of_the_toolkit_named_first() {
        let json = r#"{"cuda": {"name": "CUDA SDK", "version": "12.8.1"}, "nvcc": {"version": "12.8.93"}}"#;
        let files = [
            ("usr/local/cuda/version.txt", "CUDA Version 10.2.89\n"),
            ("opt/cuda-12/version.json", json),
        ];
        for (home, expected) in [("/opt/cuda-12/", "12.8.1"), ("/nowhere", "10.2.89")] {
            let tree = Tree::new(&files).variable("CUDA_HOME", home);
            assert_eq!(version(&tree.host()).as_deref(), Some(expected), "{home}");
        }
    }

    #[test]
    fn a_missing_or_broken_file_is_unknown() {
        assert_eq!(version(&Tree::new(&[]).host()), None);
        for json in ["{", "[]", "{\"cuda\": {}}"] {
            assert_eq!(
                version(&Tree::new(&[("usr/local/cuda/version.json", json)]).host()),
                None,
                "{json}"
            );
        }
    }
}
