use std::path::Path;

use super::*;
use crate::host::fake::Tree;

/// Content of a file that looks like an executable but cannot be started.
const BINARY: &str = "\u{7f}ELF";

fn program(tree: &Tree, path: &str, content: &str) {
    tree.write(path, content);
    make_executable(&tree.path(path));
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
fn installation(tree: &Tree, prefix: &str, version: &str, frameworks: &[&str]) {
    let short = version.rsplit_once('.').unwrap().0;
    program(tree, &format!("{prefix}/bin/python{short}"), BINARY);
    std::os::unix::fs::symlink(
        format!("python{short}"),
        tree.path(&format!("{prefix}/bin/python3")),
    )
    .unwrap();
    tree.write(
        &format!("{prefix}/include/python{short}/patchlevel.h"),
        &format!("#define PY_VERSION \"{version}\"\n"),
    );
    for name in frameworks {
        tree.write(
            &format!("{prefix}/lib/python{short}/site-packages/{name}.dist-info/METADATA"),
            "",
        );
    }
}

fn found(tree: &Tree) -> (Option<String>, Vec<String>) {
    let found = read_within(&tree.host(), Duration::from_secs(30));
    (
        found.version,
        found.frameworks.into_iter().map(|(name, version)| format!("{name} {version}")).collect(),
    )
}

fn expect(tree: &Tree, version: Option<&str>, frameworks: &[&str]) {
    assert_eq!(
        found(tree),
        (version.map(str::to_owned), frameworks.iter().map(|&name| name.to_owned()).collect())
    );
}

#[cfg(unix)]
mod unix {
    use super::*;

    #[test]
    fn an_installation_on_the_path_is_read_from_its_headers() {
        let tree = Tree::new(&[]);
        installation(&tree, "opt/py", "3.11.7", &["torch-2.9.1", "requests-2.0"]);
        let bin = tree.path("opt/py/bin");
        let tree = tree.variable("PATH", bin);
        expect(&tree, Some("3.11.7"), &["torch 2.9.1"]);
    }

    #[test]
    fn a_virtual_environment_goes_before_the_path_and_hides_the_base_unless_told() {
        let tree = Tree::new(&[]);
        installation(&tree, "base", "3.12.1", &["numpy-2.1.0", "torch-2.0.0"]);
        let home = tree.path("base/bin");
        program(&tree, "venv/bin/python3", BINARY);
        tree.write("venv/lib/python3.12/site-packages/torch-2.9.1.dist-info/METADATA", "");
        let config = format!("home = {}\nversion = 3.12.1\n", home.display());
        tree.write("venv/pyvenv.cfg", &config);
        let environment = tree.path("venv");
        let tree = tree.variable("VIRTUAL_ENV", environment).variable("PATH", home);
        expect(&tree, Some("3.12.1"), &["torch 2.9.1"]);
        tree.write(
            "venv/pyvenv.cfg",
            &config.replace(
                "version = 3.12.1",
                "version_info = 3.12.1.final.0\ninclude-system-site-packages = true",
            ),
        );
        expect(&tree, Some("3.12.1"), &["numpy 2.1.0", "torch 2.9.1"]);
    }

    #[test]
    fn uv_and_the_environment_of_setup_go_before_the_path() {
        let tree = Tree::new(&[]);
        installation(&tree, "usr", "3.11.7", &[]);
        installation(&tree, "data/rusty-stack-bench/python", "3.12.1", &[]);
        installation(&tree, "uv", "3.13.0", &[]);
        let (bin, data, uv) =
            (tree.path("usr/bin"), tree.path("data"), tree.path("uv/bin/python3"));
        let tree = tree.variable("PATH", bin).variable("XDG_DATA_HOME", data);
        expect(&tree, Some("3.12.1"), &[]);
        let tree = tree.variable("UV_PYTHON", uv);
        expect(&tree, Some("3.13.0"), &[]);
        expect(&tree.variable("UV_PYTHON", "3.9"), Some("3.12.1"), &[]);
    }

    #[test]
    fn conda_is_known_by_its_records() {
        let tree = Tree::new(&[("conda/conda-meta/python-3.10.13-h955ad1f_0.json", "{}")]);
        installation(&tree, "conda", "3.10.13", &["onnxruntime-1.20.0"]);
        std::fs::remove_dir_all(tree.path("conda/include")).unwrap();
        let prefix = tree.path("conda");
        expect(&tree.variable("CONDA_PREFIX", prefix), Some("3.10.13"), &["onnxruntime 1.20.0"]);
    }

    fn pyenv() -> Tree {
        let tree = Tree::new(&[("pyenv/version", "3.11\n")]);
        for version in ["3.9.18", "3.11.7", "3.11.12"] {
            installation(&tree, &format!("pyenv/versions/{version}"), version, &[]);
        }
        program(
            &tree,
            "pyenv/shims/python3",
            "#!/usr/bin/env bash\nexec \"/x/libexec/pyenv\" exec \"$program\" \"$@\"\n",
        );
        let shims = tree.path("pyenv/shims");
        tree.variable("PATH", shims)
    }

    #[test]
    fn shims_of_pyenv_are_resolved_without_running_them() {
        expect(&pyenv(), Some("3.11.12"), &[]);
        expect(&pyenv().variable("PYENV_VERSION", "3.99.1:3.9.18"), Some("3.9.18"), &[]);
        let local = pyenv();
        local.write("work/.python-version", "# for this project\n3.11.7\n");
        expect(&local, Some("3.11.7"), &[]);
        expect(&pyenv().variable("PYENV_VERSION", "system"), None, &[]);
    }

    #[test]
    fn the_variable_of_the_project_goes_first_and_is_never_passed_over() {
        let tree = Tree::new(&[]);
        installation(&tree, "a", "3.11.7", &[]);
        installation(&tree, "b", "3.13.0", &[]);
        let (path, mine) = (tree.path("a/bin"), tree.path("b/bin/python3"));
        let tree = tree.variable("PATH", path).variable("MLSTACK_PYTHON_BIN", mine);
        expect(&tree, Some("3.13.0"), &[]);
        let tree = tree.variable("MLSTACK_BENCHMARK_PYTHON", "python3");
        expect(&tree, Some("3.11.7"), &[]);
        expect(&tree.variable("MLSTACK_BENCHMARK_PYTHON", "/no/such/python3"), None, &[]);
    }

    #[test]
    fn a_version_that_no_file_tells_is_asked_for_within_the_limit() {
        let tree = Tree::new(&[]);
        program(&tree, "bin/launcher", "#!/bin/sh\necho Python 3.12.4");
        program(&tree, "env/bin/python3", "#!/bin/sh\nexec tail -f /dev/null");
        tree.write("env/pyvenv.cfg", "home = /nowhere\n");
        assert!(
            Layout::of(&tree.path("bin/launcher"), Duration::from_secs(30))
                .is_some_and(|l| l.version == "3.12.4")
        );
        assert_eq!(Layout::of(&tree.path("env/bin/python3"), Duration::from_millis(50)), None);
        let path = tree.path("env/bin");
        let hung = read_within(&tree.variable("PATH", path).host(), Duration::from_millis(50));
        assert_eq!(hung, Python::default());
    }

    #[test]
    fn a_launcher_is_asked_which_interpreter_it_starts() {
        let tree = Tree::new(&[]);
        installation(&tree, "real", "3.13.2", &["jax-0.6.0"]);
        let real = tree.path("real/bin/python3");
        program(
            &tree,
            "bin/python3",
            &format!("#!/bin/sh\nprintf '3.13.2\\n{}\\n'", real.display()),
        );
        let path = tree.path("bin");
        expect(&tree.variable("PATH", path), Some("3.13.2"), &["jax 0.6.0"]);
    }
}

#[test]
fn no_python_is_none() {
    expect(&Tree::new(&[]), None, &[]);
    let tree = Tree::new(&[("bin/python3", "not executable")]);
    let path = tree.path("bin");
    #[cfg(unix)]
    expect(&tree.variable("PATH", path), None, &[]);
}
