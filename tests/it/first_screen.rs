//! The first commands of a new user, with the real binary.

use crate::common::{Bench, SMALL, says};

const COPY: [&str; 5] =
    ["memory-bandwidth", "--axis", "size=1MiB,2MiB", "--axis", "operation=copy"];

#[test]
fn no_arguments_show_the_first_steps_and_exit_0() {
    let ended = Bench::new().run(&[]).expect(0);
    assert!(ended.stderr.is_empty() && ended.stdout.lines().count() <= 25, "{}", ended.stdout);
    for command in ["run", "baseline save", "gate", "list", "--help"] {
        assert!(
            ended.stdout.contains(&format!("  rusty-stack-bench {command}")),
            "{command}: {}",
            ended.stdout
        );
    }
}

#[test]
fn help_is_for_all_commands_for_one_or_for_everything() {
    let bench = Bench::new();
    let [overview, help] =
        [&["--help"][..], &["help"]].map(|arguments| bench.run(arguments).expect(0).stdout);
    assert!(overview == help && overview.lines().count() <= 60, "{help}");
    assert!(bench.run("help baseline save").expect(0).stdout.contains("--run"));
    let all = bench.run("help --all").expect(0).stdout;
    assert!(
        all.contains("--replicates")
            && all.contains("rusty-stack-bench store copy")
            && !all.contains('\u{1b}')
    );
    let unknown = bench.run("help frobnicate").expect(2);
    assert!(unknown.stderr.contains("unknown command `frobnicate`"), "{}", unknown.stderr);
}

#[test]
fn a_piped_run_has_one_line_for_each_benchmark_and_ends_with_the_next_step() {
    let bench = Bench::new();
    let arguments = [&COPY[..], &["--replicates", "2", "--runs", "10", "--warmup", "1"]].concat();
    let first = bench.run(&arguments).expect(0);
    let steps: Vec<&str> = first.stderr.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(steps.len(), 1, "{}", first.stderr);
    assert!(steps[0].ends_with("] memory-bandwidth"), "{}", first.stderr);
    says(first.stderr.trim_end().lines().last().unwrap(), &["baseline save"]);
    bench.run("baseline save").expect(0);
    let second = bench.run(&arguments).expect(0);
    assert!(second.stderr.contains("next: `rusty-stack-bench gate`"), "{}", second.stderr);
    let elsewhere = [&arguments[..], &["--results-dir", "my results"]].concat();
    let third = bench.run(&elsewhere).expect(0);
    let next = "next: `rusty-stack-bench gate --results-dir 'my results'`";
    assert!(third.stderr.contains(next), "{}", third.stderr);
    let script = bench.run(&[&["run"], &arguments[..], &["--id-file", "id"]].concat()).expect(0);
    assert!(!script.stderr.contains("next:"), "{}", script.stderr);
}

#[test]
fn targets_are_shown_when_the_user_sets_them_or_asks() {
    let bench = Bench::new();
    let shown = |more: &[&str]| {
        bench.run(&[&COPY[..], &SMALL, more].concat()).expect(0).stdout.contains("Targets")
    };
    let policy = |above: &str| {
        format!(
            "[[target]]\nid = \"*/memory-bandwidth/*\"\nmetric = \"bandwidth_gb_s\"\nabove = \
             {above}\n"
        )
    };
    assert!(!shown(&[]));
    bench.write("baselines/policy.toml", include_str!("../../baselines/policy.toml"));
    assert!(!shown(&[]), "a copy of the built-in policy sets no targets");
    bench.write("baselines/policy.toml", &policy("0.001"));
    assert!(shown(&[]));
    std::fs::remove_file(bench.path("baselines/policy.toml")).unwrap();
    let allocation = ["memory-allocation", "--backend", "cpu", "--targets"];
    let ended = bench.run(&[&allocation[..], &SMALL].concat()).expect(0);
    assert!(ended.stdout.contains("Targets"), "{}", ended.stdout);
}

#[test]
fn a_filter_is_spelled_alike_and_old_spellings_still_work() {
    let bench = Bench::new();
    bench.run(&[&COPY[..], &SMALL].concat()).expect(0);
    let values = |filter: &[&str]| {
        let document = bench.run(&[&["history", "--json"], filter].concat()).expect(0).json();
        document["history"].as_array().map_or(0, Vec::len)
    };
    let all = values(&["--benchmark", "memory-bandwidth"]);
    assert!(all > 0);
    assert_eq!((values(&["--case", "copy"]), values(&["--benchmark", "copy"])), (all, 0));
    for filter in [
        ["--benchmark", "bandwidth"],
        ["--case", "copy/f32"],
        ["--benchmark", "memory-bandwidth/cpu:0/copy"],
    ] {
        bench.run(&[&["chart", "line"], &filter[..]].concat()).expect(0);
        bench.run(&[&["trend"], &filter[..]].concat()).expect(0);
    }
    says(&bench.run("trend --component pytorch").expect(0).stdout, &["no stored series matches"]);
}

#[test]
fn text_wraps_at_the_width_and_is_whole_when_piped() {
    let (narrow, piped) = (Bench::new().set("COLUMNS", "80"), Bench::new());
    for command in [
        &["components"][..],
        &["models", "list"],
        &["models", "compatibility"],
        &["models", "show", "gpt2"],
        &["list", "--verbose"],
        &["doctor"],
    ] {
        let text = |bench: &Bench| bench.run(command).stdout;
        let (narrow, piped) = (text(&narrow), text(&piped));
        // Links and paths are single words, which are never broken.
        let is_wide = |line: &&str| line.chars().count() > 80 && line.trim().contains(' ');
        assert_eq!(narrow.lines().find(is_wide), None, "{command:?}");
        assert!(
            !piped.contains('…') && piped.lines().count() <= narrow.lines().count(),
            "{command:?}: {piped}"
        );
    }
}
