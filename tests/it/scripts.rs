//! The top-level scripts, with the real program and without it.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::common::{Bench, says};

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn run(bench: &Bench, name: &str, arguments: &[&str]) -> Output {
    let results = bench.path("results");
    Command::new(script(name))
        .args(arguments)
        .env("RUSTY_STACK_BENCH", env!("CARGO_BIN_EXE_rusty-stack-bench"))
        .env("RSB_CACHE_DIR", bench.cache.path())
        .env("RSB_RESULTS_DIR", &results)
        .env("RSB_BASELINES_DIR", bench.path("baselines"))
        .output()
        .unwrap()
}

const SMALL: [&str; 9] =
    ["gemm", "--axis", "shape=32x32x32", "--replicates", "1", "--runs", "10", "--warmup", "1"];

#[test]
fn the_main_job_measures_reports_and_says_no_verdict_without_a_baseline() {
    let bench = Bench::new();
    let output = run(&bench, "run_benchmarks.sh", &SMALL);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{stdout}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(stdout.contains("NO VERDICT") && stdout.contains("baseline save"), "{stdout}");
    for ending in [".md", ".html"] {
        assert!(
            stdout.lines().any(|line| line.contains("benchmark_report_") && line.ends_with(ending)),
            "{stdout}"
        );
    }
    let strict = run(&bench, "run_benchmarks.sh", &[&["--gate"][..], &SMALL].concat());
    assert_eq!(strict.status.code(), Some(4));
}

#[test]
fn the_summary_of_a_job_has_the_trend_of_every_case() {
    let bench = Bench::new();
    for _ in 0..2 {
        assert_eq!(run(&bench, "run_benchmarks.sh", &SMALL).status.code(), Some(0));
    }
    let output = run(&bench, "scripts/trend_summary.sh", &[]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.starts_with("## Benchmarks\n\n```\n"), "{stdout}");
    says(&stdout, &["<summary>Every case</summary>", "| gemm f32/32x32x32 | time"]);
    assert!(stdout.ends_with("</details>\n"), "{stdout}");
    let workflow = std::fs::read_to_string(script(".github/workflows/history.yml")).unwrap();
    says(&workflow, &["run: ./run_benchmarks.sh", "trend_summary.sh >>\"$GITHUB_STEP_SUMMARY\""]);
}

#[test]
fn the_weekly_workflow_measures_by_default_a_suite_with_a_committed_baseline() {
    let workflow = std::fs::read_to_string(script(".github/workflows/bench.yml")).unwrap();
    let default = workflow.split("default: ").nth(1).and_then(|text| text.lines().next()).unwrap();
    assert!(workflow.contains(&format!("inputs.suite || '{default}'")), "{workflow}");
    let mut machines = std::fs::read_dir(script("baselines")).unwrap();
    let file = format!("{default}.json");
    let is_committed = machines.any(|entry| entry.unwrap().path().join(&file).exists());
    assert!(is_committed, "no machine has a baseline of the suite {default}");
}

#[test]
fn a_baseline_is_committed_only_with_known_arguments() {
    let output = run(&Bench::new(), "scripts/commit_baseline.sh", &["--gpu"]);
    assert_eq!(output.status.code(), Some(2));
    says(&String::from_utf8_lossy(&output.stderr), &["--suite SUITE"]);
}

#[test]
fn without_gate_a_missing_verdict_is_shown_and_exits_0() {
    let bench = Bench::new();
    let first = run(&bench, "run_benchmarks.sh", &SMALL);
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    // A baseline of other hardware in place of this machine's: nothing is comparable.
    let saved = bench.run("baseline save --results-dir results").expect(0);
    assert!(saved.stdout.contains("baselines/"), "{}", saved.stdout);
    let file = std::fs::read_dir(bench.path("baselines"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join("gemm.json");
    let mut baseline: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    for case in baseline["runs"][0]["benchmarks"].as_array_mut().unwrap() {
        case["device_type"] = "gpu".into();
    }
    bench.write_sealed(file.strip_prefix(bench.dir.path()).unwrap().to_str().unwrap(), &baseline);
    let measured = run(&bench, "run_benchmarks.sh", &SMALL);
    let stdout = String::from_utf8_lossy(&measured.stdout);
    assert_eq!(
        measured.status.code(),
        Some(0),
        "{stdout}\n{}",
        String::from_utf8_lossy(&measured.stderr)
    );
    assert!(stdout.contains("NO VERDICT") && stdout.contains("baseline"), "{stdout}");
    let strict = run(&bench, "run_benchmarks.sh", &[&["--gate"][..], &SMALL].concat());
    assert_eq!(strict.status.code(), Some(4));
}

#[test]
fn trends_are_over_what_is_stored() {
    let bench = Bench::new();
    run(&bench, "run_benchmarks.sh", &SMALL);
    let output = run(&bench, "analyze_performance_trends.sh", &[]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("gflops"), "{stdout}");
    let dir = bench.path("results");
    let named = run(&bench, "analyze_performance_trends.sh", &[dir.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&named.stdout).contains("gflops"));
}

#[test]
fn help_needs_no_toolchain_and_a_missing_one_is_told_how_to_get() {
    // A PATH with only the tools that the scripts need, and without the system's toolchain.
    let tools = tempfile::tempdir().unwrap();
    for tool in ["dirname", "realpath", "cat"] {
        let real = ["/usr/bin", "/bin"]
            .map(|dir| PathBuf::from(dir).join(tool))
            .into_iter()
            .find(|path| path.exists());
        std::os::unix::fs::symlink(real.unwrap(), tools.path().join(tool)).unwrap();
    }
    for name in ["run_benchmarks.sh", "analyze_performance_trends.sh"] {
        let help = Command::new(script(name)).arg("--help").output().unwrap();
        assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("Usage"));
        let without = Command::new("/bin/bash")
            .arg(script(name))
            .env_clear()
            .env("PATH", tools.path())
            .output()
            .unwrap();
        assert_eq!(without.status.code(), Some(1), "{}", String::from_utf8_lossy(&without.stderr));
        assert!(String::from_utf8_lossy(&without.stderr).contains("https://rustup.rs"));
    }
}

/// Returns a comparison with a row for each of these verdicts, and an overall verdict.
fn comparison(verdict: &str, rows: &[&str]) -> String {
    let rows: Vec<_> =
        rows.iter().map(|verdict| serde_json::json!({ "verdict": verdict })).collect();
    serde_json::json!({ "verdict": verdict, "comparisons": rows }).to_string()
}

/// The event for which GitHub calls `scripts/pr_comment.sh`, and the artifacts of the pr-gate run.
struct Event<'a> {
    action: &'a str,
    conclusion: &'a str,
    /// Number of the commit's open pull request.
    number: &'a str,
    /// The id of the existing comment, and the run that wrote it.
    existing: &'a str,
    /// Content of `comment.md` in the artifact, and of `comparison.json` below. An empty one is not
    /// in the artifact.
    text: &'a str,
    json: &'a str,
}

impl Default for Event<'_> {
    fn default() -> Self {
        Event {
            action: "completed",
            conclusion: "failure",
            number: "12",
            existing: "",
            text: TEXT,
            json: "",
        }
    }
}

/// Results of the script.
struct Commented {
    output: Output,
    /// Requests to `gh`.
    asked: String,
    /// The posted comment; empty if there is none.
    posted: String,
}

impl Commented {
    /// Returns the line with the verdict.
    fn headline(&self) -> &str {
        assert!(self.output.status.success(), "{}", String::from_utf8_lossy(&self.output.stderr));
        self.posted.lines().nth(2).unwrap_or_default()
    }
}

/// Runs `scripts/pr_comment.sh` with a fake `gh` that records its requests and answers like GitHub,
/// and a schema checker that rejects documents with the word `broken`.
fn comment(event: &Event<'_>) -> Commented {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    for (name, content) in [("comment.md", event.text), ("comparison.json", event.json)] {
        if !content.is_empty() {
            bench.write(name, content);
        }
    }
    let gh = bench.write(
        "tools/gh",
        r#"#!/bin/sh
echo "$*" >>"$NOTED"
case "$*" in
"run download"*) while [ "$1" != --dir ]; do shift; done; [ -e "$TEXT" ] && cp "$TEXT" "$2"; [ ! -e "$JSON" ] || cp "$JSON" "$2" ;;
*/pulls*) echo "$NUMBER" ;;
*--paginate*) [ -z "$EXISTING" ] || echo "$EXISTING" ;;
*--method*) for word in "$@"; do case "$word" in body=@*) cp "${word#body=@}" "$POSTED" ;; esac; done ;;
esac
"#,
    );
    let checker = bench
        .write("tools/check-jsonschema", "#!/bin/sh\n[ -f \"$2\" ] && ! grep -q broken \"$3\"\n");
    for tool in [&gh, &checker] {
        std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", gh.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new(script("scripts/pr_comment.sh"))
        .env("PATH", path)
        .envs([
            ("GH_REPO", "owner/name"),
            ("RUN", "7"),
            ("HEAD_OWNER", "fork"),
            ("HEAD_BRANCH", "b"),
            ("HEAD_SHA", "c0ffee"),
        ])
        .envs([("ACTION", event.action), ("CONCLUSION", event.conclusion)])
        .envs([("NUMBER", event.number), ("EXISTING", event.existing)])
        .envs([("NOTED", bench.path("noted")), ("POSTED", bench.path("posted"))])
        .envs([("TEXT", bench.path("comment.md")), ("JSON", bench.path("comparison.json"))])
        .output()
        .unwrap();
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap_or_default();
    Commented { output, asked: read("noted"), posted: read("posted") }
}

/// Returns whether `jq`, which reads the comparison, is installed; if not, tests that need it are
/// skipped.
fn has_jq() -> bool {
    let is_here = Command::new("jq").arg("--version").output().is_ok();
    if !is_here {
        test_needs::missing("jq", "the program `jq` is not installed");
    }
    is_here
}

const TEXT: &str = "<!-- rusty-stack-bench:gate -->\nPASS, says @somebody\n";

#[test]
fn one_comment_is_posted_and_then_updated() {
    if !has_jq() {
        return;
    }
    let json = comparison("Regressed", &["Regressed", "Unchanged"]);
    for (existing, expected) in [
        ("", "--method POST repos/owner/name/issues/12/comments"),
        ("99 7", "--method PATCH repos/owner/name/issues/comments/99"),
        ("99 0", "--method PATCH repos/owner/name/issues/comments/99"),
    ] {
        let done = comment(&Event { existing, json: &json, ..Event::default() });
        let headline =
            "**REGRESSED** at c0ffee: 1 of 2 comparisons (the workflow ended with: failure)";
        assert_eq!(done.headline(), headline);
        says(&done.asked, &[expected, "head=fork:b"]);
        assert!(
            done.posted.starts_with("<!-- rusty-stack-bench:gate -->\n<!-- run 7 -->\n"),
            "{}",
            done.posted
        );
        says(&done.posted, &["written by the code of this pull request, at c0ffee"]);
        assert!(
            !done.posted.contains("@somebody"),
            "the comment must not mention users: {}",
            done.posted
        );
    }
}

#[test]
fn a_comment_says_that_a_new_run_measures_as_soon_as_it_starts() {
    for action in ["requested", "in_progress"] {
        let json = comparison("Unchanged", &["Unchanged"]);
        let event =
            Event { action, conclusion: "", existing: "99 6", json: &json, ..Event::default() };
        let done = comment(&event);
        assert_eq!(done.headline(), "**MEASURING** c0ffee: no verdict yet");
        assert!(
            done.asked.contains("--method PATCH") && !done.asked.contains("run download"),
            "{}",
            done.asked
        );
        assert!(!done.posted.contains("PASS"), "{}", done.posted);
    }
}

#[test]
fn the_verdict_is_made_from_the_checked_document_and_never_better_than_the_workflow() {
    if !has_jq() {
        return;
    }
    for (verdict, rows, conclusion, expected) in [
        (
            "Unchanged",
            &["Improved", "Unchanged"][..],
            "success",
            "**PASS** at c0ffee: none of 2 comparisons regressed",
        ),
        (
            "Inconclusive",
            &["Inconclusive", "Unchanged"],
            "success",
            "**NO VERDICT** for c0ffee: 1 of 2 comparisons are undecided",
        ),
        (
            "Unchanged",
            &["Inconclusive", "NotComparable"],
            "success",
            "**NO VERDICT** for c0ffee: 2 of 2 comparisons are undecided",
        ),
        ("Unchanged", &[], "success", "**NO VERDICT** for c0ffee: nothing was compared"),
        ("Improved", &[], "failure", "**NO VERDICT** for c0ffee: nothing was compared"),
        (
            "Unchanged",
            &["Unchanged"],
            "failure",
            "**NO VERDICT** for c0ffee: the comparison passed, but the workflow did not",
        ),
        ("Unchanged", &["Regressed"], "success", "**REGRESSED** at c0ffee: 1 of 1 comparisons"),
        (
            "broken",
            &[],
            "success",
            "**NO VERDICT** for c0ffee: the comparison does not match the schema",
        ),
        (
            "Regressed",
            &["Regressed"],
            "cancelled",
            "**NO VERDICT** for c0ffee: the workflow ended with cancelled",
        ),
        (
            "Unchanged",
            &["Unchanged"],
            "timed_out",
            "**NO VERDICT** for c0ffee: the workflow ended with timed_out",
        ),
        (
            "Unchanged",
            &["Unchanged"],
            "$(x)",
            "**NO VERDICT** for c0ffee: the workflow ended without a conclusion",
        ),
    ] {
        let done =
            comment(&Event { conclusion, json: &comparison(verdict, rows), ..Event::default() });
        assert!(done.headline().starts_with(expected), "{}", done.posted);
    }
}

#[test]
fn a_run_that_leaves_no_verdict_replaces_an_earlier_one() {
    if !has_jq() {
        return;
    }
    let json = comparison("Unchanged", &["Unchanged"]);
    for (text, json, cause) in [
        ("", "", "left no comment"),
        ("anything else", &*json, "was not written by the gate"),
        (TEXT, "", "left no comparison"),
        (TEXT, "not JSON", "cannot be read"),
    ] {
        let event =
            Event { conclusion: "success", existing: "99 6", text, json, ..Event::default() };
        let done = comment(&event);
        assert!(done.headline().starts_with("**NO VERDICT** for c0ffee: "), "{}", done.posted);
        assert!(
            done.headline().contains(cause) && done.asked.contains("--method PATCH"),
            "{cause}: {}",
            done.posted
        );
        assert!(!done.posted.contains("anything else"), "{}", done.posted);
    }
}

#[test]
fn nothing_is_posted_for_a_stale_commit_or_over_a_newer_run() {
    let json = comparison("Unchanged", &["Unchanged"]);
    for action in ["requested", "completed"] {
        for (number, existing) in [("", "99 6"), ("12", "99 8")] {
            let done =
                comment(&Event { action, number, existing, json: &json, ..Event::default() });
            assert!(
                done.output.status.success() && done.posted.is_empty(),
                "{action} {number}: {}",
                done.asked
            );
        }
    }
}

#[test]
fn a_long_comment_is_cut_and_posted() {
    if !has_jq() {
        return;
    }
    let long =
        format!("<!-- rusty-stack-bench:gate -->\n{}", "ä line of a long comment\n".repeat(40_000));
    let done = comment(&Event {
        text: &long,
        json: &comparison("Regressed", &["Regressed"]),
        ..Event::default()
    });
    assert!(done.headline().starts_with("**REGRESSED**"), "{}", done.headline());
    assert!((60_000..65_536).contains(&done.posted.len()), "{}", done.posted.len());
}

/// Runs `scripts/action_gate.sh` in a repository for the event `before`. Returns its exit code, the
/// revision that it compares with, and its output for the runner and for people.
fn gated(bench: &Bench, before: &str) -> (Option<i32>, String, String) {
    use std::os::unix::fs::PermissionsExt;
    let program = bench.write("runner/program", "#!/bin/sh\necho \"$3\" >against\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let _ = std::fs::remove_file(bench.path("against"));
    let output = Command::new(script("scripts/action_gate.sh"))
        .current_dir(bench.dir.path())
        .envs([("AGAINST", ""), ("BASE", ""), ("BEFORE", before), ("DEFAULT_BRANCH", "main")])
        .envs([
            ("PROGRAM", program),
            ("RUNNER_TEMP", bench.path("runner")),
            ("GITHUB_OUTPUT", bench.path("runner/output")),
        ])
        .env_remove("GITHUB_STEP_SUMMARY")
        .output()
        .unwrap();
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap_or_default();
    let said = read("runner/output") + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), read("against").trim().to_owned(), said)
}

#[test]
fn what_judged_code_prints_is_no_command_for_the_runner() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    crate::common::revisions::git(&bench, &["init", "--quiet"]);
    crate::common::revisions::git(&bench, &["commit", "--quiet", "--allow-empty", "-m", "base"]);
    let program = bench.write(
        "runner/program",
        "#!/bin/sh\nenv >seen\necho ::set-output name=verdict::unchanged\necho \
         ::stop-commands::guess >&2\necho ::guess::\n\
         echo ::error::slower >runner/rusty-stack-bench.annotations\nexit 3\n",
    );
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let gate = || {
        let output = Command::new(script("scripts/action_gate.sh"))
            .current_dir(bench.dir.path())
            .envs([("AGAINST", "HEAD"), ("ACCEPT", "[[accept]]")])
            .envs([("PROGRAM", &program), ("RUNNER_TEMP", &bench.path("runner"))])
            .envs(
                ["GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "BASH_ENV"]
                    .map(|name| (name, bench.write(name, ""))),
            )
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = gate();
    assert_eq!(code, Some(3), "{said}");
    let (before, rest) = said.split_once("::stop-commands::").unwrap();
    let (token, rest) = rest.split_once('\n').unwrap();
    let (log, after) = rest.split_once(&format!("\n::{token}::\n")).unwrap();
    assert!(
        token.len() == 32 && log.contains("::set-output") && log.contains("::guess::"),
        "{said}"
    );
    assert!(!before.contains("::") && after == "::error::slower\n", "{said}");
    assert!(!gate().1.contains(token), "each run must have a new token");
    let seen = std::fs::read_to_string(bench.path("seen")).unwrap();
    assert!(!seen.contains("GITHUB_") && !seen.contains("BASH_ENV"), "{seen}");
    let outputs = std::fs::read_to_string(bench.path("GITHUB_OUTPUT")).unwrap();
    assert!(outputs.contains("verdict=regressed") && !outputs.contains("unchanged"), "{outputs}");
    assert_eq!(
        std::fs::read_to_string(bench.path("runner/rusty-stack-bench-accept.toml")).unwrap(),
        "[[accept]]\n"
    );
}

#[test]
fn valgrind_is_installed_if_apt_get_can_and_its_absence_is_no_error() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let write_tool = |name: &str, text: &str| {
        let tool = bench.write(&format!("tools/{name}"), &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    write_tool("id", "echo 1000");
    write_tool("sudo", "shift; exec \"$@\"");
    // A fake apt-get whose package lists are out of date.
    let apt_get = "echo \"$*\" >>\"$LOG\"\n\
                   case $* in *update) : >\"$LOG.new\" ;; *) [ -e \"$LOG.new\" ] ;; esac";
    write_tool("apt-get", apt_get);
    let install = || {
        drop(std::fs::remove_file(bench.path("log")));
        let mut bash = Command::new("/bin/bash");
        bash.arg(script("scripts/action_valgrind.sh"));
        bash.envs([("PATH", bench.path("tools")), ("LOG", bench.path("log"))]);
        let output = bash.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let log = std::fs::read_to_string(bench.path("log")).unwrap_or_default();
        (log, String::from_utf8(output.stdout).unwrap())
    };
    let line = "-qq install --yes --no-install-recommends valgrind\n";
    assert_eq!(install(), (format!("{line}-qq update\n{line}"), String::new()));
    write_tool("apt-get", "exit 100");
    let (_, said) = install();
    assert!(said.starts_with("::notice::apt-get cannot install Valgrind"), "{said}");
    write_tool("valgrind", "");
    assert_eq!(install(), (String::new(), String::new()));
}

#[test]
fn a_push_is_compared_with_the_commit_before_it_or_where_its_branch_began() {
    const NEW: &str = "0000000000000000000000000000000000000000";
    let bench = Bench::new();
    let git = |words: &[&str]| crate::common::revisions::git(&bench, words);
    let commit = |name: &str| {
        git(&["commit", "--quiet", "--allow-empty", "-m", name]);
        git(&["rev-parse", "HEAD"]).trim().to_owned()
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    let (first, second) = (commit("first"), commit("second"));
    git(&["update-ref", "refs/remotes/origin/main", &second]);
    let (third, fourth) = (commit("third"), commit("fourth"));
    for (before, against) in
        [(&second, &second), (&third, &third), (&first, &first), (&NEW.to_owned(), &second)]
    {
        let (code, found, said) = gated(&bench, before);
        assert_eq!((code, &found), (Some(0), against), "{said}");
    }
    // A force push: the previous commit is no longer part of the history, or not even in the clone.
    git(&["reset", "--quiet", "--hard", &third]);
    commit("another fourth");
    for before in [&fourth, "0123456789abcdef0123456789abcdef01234567"] {
        let (code, found, said) = gated(&bench, before);
        assert_eq!((code, found), (Some(0), second.clone()), "{said}");
    }
    // A new default branch, and one without common history.
    git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    for (before, cause) in [(NEW, "the branch is new"), (&*fourth, "(a force push)")] {
        let (code, found, said) = gated(&bench, before);
        assert_eq!((code, found.as_str()), (Some(4), ""), "{said}");
        assert!(said.contains("verdict=none") && said.contains(cause), "{said}");
    }
    git(&["checkout", "--quiet", "--orphan", "other"]);
    commit("root");
    let (code, _, said) = gated(&bench, NEW);
    assert!(code == Some(4) && said.contains("no common ancestor"), "{said}");
}
