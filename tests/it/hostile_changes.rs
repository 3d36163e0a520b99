//! Changes under test that try to influence their own verdict. Everything that decides must come
//! from the base revision or from outside the repository.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::common::other_project::{commit, measured, repository, write};
use crate::common::revisions::{self, Source, git};
use crate::common::{Bench, says};

const JSON: [&str; 4] = ["gate", "--against", "HEAD", "--json"];

/// A policy that accepts a slowdown of 20 %.
const LENIENT: &str = "threshold_percent = 50.0\n";
const STRICT: &str = "threshold_percent = 5.0\n";

/// Writes a bench target with one case, whose nanoseconds per iteration are the value of the
/// expression `level` at run time.
fn write_level(bench: &Bench, level: &str) {
    write(bench, "", &[("parsing", &[("fib", 1000.0)])]);
    let path = bench.path("benches/parsing.rs");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace("level * process", "current_level() * process");
    std::fs::write(path, format!("{text}\nfn current_level() -> f64 {{ {level} }}\n")).unwrap();
}

fn notes(result: &Value) -> String {
    result["notes"].to_string()
}

fn verdict_of<'a>(result: &'a Value, id: &str) -> &'a str {
    let rows = result["comparisons"].as_array().unwrap();
    rows.iter()
        .find(|row| row["id"] == id)
        .and_then(|row| row["verdict"].as_str())
        .unwrap_or("no row")
}

#[test]
fn the_target_of_a_link_in_the_base_is_that_of_the_base() {
    let places = [
        ("a link to the policy", "baselines/policy.toml", "../rules/policy.toml"),
        ("a link to the directory above it", "baselines", "rules"),
        ("a link to the configuration", "rusty-stack-bench.toml", "rules/config.toml"),
    ];
    for (name, link, target) in places {
        let bench = repository("");
        write(&bench, "", &[("parsing", &[("fib", 1000.0)])]);
        bench.write("rules/policy.toml", STRICT);
        bench.write("rules/config.toml", "[run]\npolicy = \"rules/policy.toml\"\n");
        std::fs::create_dir_all(bench.path(link).parent().unwrap()).unwrap();
        symlink(target, bench.path(link)).unwrap();
        commit(&bench, "fast");
        write(&bench, "", &[("parsing", &[("fib", 1200.0)])]);
        bench.write("rules/policy.toml", LENIENT);
        bench.write("rules/lenient.toml", LENIENT);
        bench.write("rules/config.toml", "[run]\npolicy = \"rules/lenient.toml\"\n");
        let result = bench.run(&JSON).expect(3).json();
        assert_eq!(result["threshold_percent"], 5.0, "{name}: {result:#}");
    }
}

#[test]
fn a_link_that_leads_out_of_the_base_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("policy.toml"), LENIENT).unwrap();
    let bench = repository("");
    write(&bench, "", &[("parsing", &[("fib", 1000.0)])]);
    std::fs::create_dir(bench.path("baselines")).unwrap();
    symlink(outside.path().join("policy.toml"), bench.path("baselines/policy.toml")).unwrap();
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", &[("fib", 1200.0)])]);
    let ended = bench.run(&JSON).expect(2);
    assert!(ended.stderr.contains("outside the repository; commit the file"), "{}", ended.stderr);
}

#[test]
fn a_policy_in_the_repository_is_that_of_the_base_even_if_it_is_named() {
    let bench = repository("");
    write(&bench, "", &[("parsing", &[("fib", 1000.0)])]);
    bench.write("rules.toml", STRICT);
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", &[("fib", 1200.0)])]);
    bench.write("rules.toml", LENIENT);
    bench.write("new.toml", LENIENT);
    bench.write("config.toml", "[run]\npolicy = \"new.toml\"\n");
    bench.run(&[&JSON[..], &["--policy", "rules.toml"]].concat()).expect(3);
    for named in [["--policy", "new.toml"], ["--config", "config.toml"], ["--custom", "new.toml"]] {
        let ended = bench.run(&[&JSON[..], &named].concat()).expect(2);
        assert!(
            ended.stderr.contains("part of the change under test"),
            "{named:?}: {}",
            ended.stderr
        );
    }
    // A file outside the repository is used as is.
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("policy.toml"), LENIENT).unwrap();
    let path = outside.path().join("policy.toml");
    bench.run(&[&JSON[..], &["--policy", path.to_str().unwrap()]].concat()).expect(0);
}

#[test]
fn both_sides_are_planned_by_the_configuration_of_the_base() {
    let bench = revisions::repository();
    Source::of(revisions::FAST).write(&bench);
    git(&bench, &["add", "."]);
    git(&bench, &["commit", "--quiet", "-m", "fast"]);
    Source { two: "1.3", ..Source::of(revisions::FAST) }.write(&bench);
    // With this configuration, the program of the repository plans only one case.
    bench.write("rusty-stack-bench.toml", "[run]\nprofile = \"thorough\"\n");
    let result = bench.run(&JSON).expect(3).json();
    assert_eq!(verdict_of(&result, "cpu_performance/made-up/cpu:0/two"), "Regressed", "{result:#}");
}

#[test]
fn a_case_that_is_removed_from_a_file_of_commands_has_no_verdict() {
    let entry = |name: &str, output: &str| {
        format!(
            "[[benchmark]]\nname = \"{name}\"\ncommand = \"echo took {output} ms\"\nfigure = \
             {{ after = \"took\", unit = \"ms\" }}\n"
        )
    };
    let bench = repository("");
    bench.write("mine.toml", &(entry("kept", "7") + &entry("removed", "7")));
    commit(&bench, "fast");
    let words = [&JSON[..], &["--custom", "mine.toml", "--budget", "60s"]].concat();
    bench.write("mine.toml", &entry("kept", "7"));
    let result = bench.run(&words).expect(4).json();
    assert_eq!(result["missing"][0], "cpu_performance/removed/cpu:0", "{result:#}");
    assert_eq!(verdict_of(&result, "cpu_performance/kept/cpu:0"), "Unchanged");
    // A new name is a new case, and the old one is missing.
    bench.write("mine.toml", &(entry("kept", "7") + &entry("renamed", "7")));
    let result = bench.run(&words).expect(4).json();
    assert_eq!(
        (&result["missing"][0], &result["new"][0]),
        (&"cpu_performance/removed/cpu:0".into(), &"cpu_performance/renamed/cpu:0".into())
    );
    // Each side runs its own command.
    bench.write("mine.toml", &(entry("kept", "9") + &entry("removed", "7")));
    let result = bench.run(&words).expect(3).json();
    assert_eq!(verdict_of(&result, "cpu_performance/kept/cpu:0"), "Regressed");
    assert!(notes(&result).contains("its own definition of kept"), "{}", notes(&result));
    // All cases are removed.
    std::fs::remove_file(bench.path("mine.toml")).unwrap();
    let result = bench.run(&words).expect(4).json();
    assert_eq!(result["missing"].as_array().unwrap().len(), 2);
}

#[test]
fn each_side_is_built_with_its_own_cargo_configuration() {
    let bench = repository("");
    let level = "if cfg!(slow_on_purpose) { 1300.0 } else { 1000.0 }";
    write_level(&bench, level);
    commit(&bench, "fast");
    bench.write(".cargo/config.toml", "[build]\nrustflags = [\"--cfg\", \"slow_on_purpose\"]\n");
    let result = bench.run(&JSON).expect(3).json();
    assert!(notes(&result).contains("its own .cargo/config.toml"), "{}", notes(&result));
}

#[test]
fn a_configuration_without_effect_is_measured_and_not_called_the_same_code() {
    let bench = repository("");
    write_level(&bench, "1000.0");
    commit(&bench, "fast");
    bench.write(".cargo/config.toml", "[alias]\nx = \"build\"\n");
    bench.run(&JSON).expect(0);
    assert_eq!(measured(&bench), ["fib"]);
}

#[test]
fn what_counts_above_the_repository_counts_for_both_sides() {
    let outer = tempfile::tempdir().unwrap();
    std::fs::create_dir(outer.path().join(".cargo")).unwrap();
    let settings = "[build]\nrustflags = [\"--cfg\", \"slow_on_purpose\"]\n";
    std::fs::write(outer.path().join(".cargo/config.toml"), settings).unwrap();
    let bench = repository("");
    write_level(&bench, "if cfg!(slow_on_purpose) { 1300.0 } else { 1000.0 }");
    commit(&bench, "with the setting");
    write_level(&bench, "1300.0");
    let inner = outer.path().join("inner");
    std::fs::rename(bench.dir.path(), &inner).unwrap();
    let output = bench
        .command(&JSON)
        .current_dir(&inner)
        .env("MEASURED", outer.path().join("measured"))
        .output()
        .unwrap();
    std::fs::rename(&inner, bench.dir.path()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_dependency_outside_the_repository_is_refused_before_the_build() {
    let bench = repository("inner");
    write(&bench, "inner", &[("parsing", &[("fib", 1000.0)])]);
    let manifest = bench.path("inner/Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(
        &manifest,
        format!("{text}\n[dependencies]\noutside = {{ path = \"../../outside\" }}\n"),
    )
    .unwrap();
    commit(&bench, "fast");
    write(&bench, "inner", &[("parsing", &[("fib", 1200.0)])]);
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(
        &manifest,
        format!("{text}\n[dependencies]\noutside = {{ path = \"../../outside\" }}\n"),
    )
    .unwrap();
    let mut command = bench.command(&JSON);
    let output = command.current_dir(bench.path("inner")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("outside") && said.contains("outside the repository"), "{said}");
}

#[test]
fn each_side_reads_its_own_files_and_outputs_and_starts_its_own_program() {
    struct Attack {
        name: &'static str,
        level: &'static str,
        file: &'static str,
        fast: &'static str,
        slow: &'static str,
    }
    let attacks = [
        Attack {
            name: "a file of the repository",
            level: "std::fs::read_to_string(concat!(env!(\"CARGO_MANIFEST_DIR\"), \
                    \"/data\")).unwrap().trim().parse().unwrap()",
            file: "data",
            fast: "1000",
            slow: "1300",
        },
        Attack {
            name: "a file of the working directory, which people read",
            level: "std::fs::read_to_string(\"NOTES.md\").unwrap().trim().parse().unwrap()",
            file: "NOTES.md",
            fast: "1000",
            slow: "1300",
        },
        Attack {
            name: "a table in OUT_DIR",
            level: "std::fs::read_to_string(concat!(env!(\"OUT_DIR\"), \
                    \"/table\")).unwrap().trim().parse().unwrap()",
            file: "build.rs",
            fast: "fn main() { std::fs::write(std::env::var(\"OUT_DIR\").unwrap() + \"/table\", \"1000\").unwrap(); }",
            slow: "fn main() { std::fs::write(std::env::var(\"OUT_DIR\").unwrap() + \"/table\", \"1300\").unwrap(); }",
        },
        Attack {
            name: "a program of the project",
            level: "String::from_utf8(std::process::Command::new(env!(\"CARGO_BIN_EXE_level\")).output().unwrap().stdout).unwrap().trim().parse().unwrap()",
            file: "src/bin/level.rs",
            fast: "fn main() { println!(\"1000\"); }",
            slow: "fn main() { println!(\"1300\"); }",
        },
    ];
    for Attack { name, level, file, fast, slow } in attacks {
        let bench = repository("");
        write_level(&bench, level);
        bench.write(file, fast);
        commit(&bench, "fast");
        bench.write(file, slow);
        let ended = bench.run(&JSON);
        assert_eq!(ended.code, 3, "{name}: {} {}", ended.stdout, ended.stderr);
        // A change to a file that the benchmark does not open is still decided without measuring.
        bench.write(file, fast);
        bench.write("README.md", "what it is\n");
        measured(&bench);
        let ended = bench.run("gate --against HEAD").expect(0);
        assert!(ended.stdout.contains("the same machine code"), "{name}: {}", ended.stdout);
    }
}

#[test]
fn a_package_that_becomes_a_workspace_is_judged() {
    let bench = repository("");
    write(&bench, "", &[("parsing", &[("fib", 1000.0)])]);
    let manifest = bench.path("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap().replace("[workspace]\n", "");
    std::fs::write(&manifest, &text).unwrap();
    commit(&bench, "a package");
    let slower = |level: f64| {
        write(&bench, "", &[("parsing", &[("fib", level)])]);
    };
    slower(1300.0);
    bench.run(&JSON).expect(3);
    // The package moves into a workspace.
    slower(1300.0);
    for name in ["Cargo.toml", "src", "benches"] {
        std::fs::create_dir_all(bench.path("member")).unwrap();
        std::fs::rename(bench.path(name), bench.path("member").join(name)).unwrap();
    }
    let text = std::fs::read_to_string(bench.path("member/Cargo.toml"))
        .unwrap()
        .replace("[workspace]\n", "");
    bench.write("member/Cargo.toml", &text);
    bench.write("Cargo.toml", "[workspace]\nmembers = [\"member\"]\nresolver = \"2\"\n");
    let result = bench.run(&JSON).expect(3).json();
    assert_eq!(verdict_of(&result, "fib"), "Regressed", "{result:#}");
}

#[test]
fn judged_code_has_no_channel_to_the_ci_system() {
    let bench = repository("");
    let channels =
        ["GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "BASH_ENV"];
    let writing = |name: &str| {
        format!(
            "for name in {channels:?} \
             {{ if let Ok(path) = std::env::var(name) {{ std::fs::write(path, \"{name}\").unwrap(); }} }}"
        )
    };
    write_level(&bench, &format!("{{ {} 1000.0 }}", writing("bench")));
    bench.write("build.rs", &format!("fn main() {{ {} }}", writing("build")));
    commit(&bench, "fast");
    write_level(&bench, &format!("{{ {} 1001.0 }}", writing("bench")));
    let mut command = bench.command(&JSON);
    for name in channels {
        command.env(name, bench.write(&format!("channels/{name}"), ""));
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for name in channels {
        assert_eq!(
            std::fs::read_to_string(bench.path(&format!("channels/{name}"))).unwrap(),
            "",
            "{name}"
        );
    }
}

#[test]
fn nothing_that_judged_code_started_outlives_the_judgment() {
    let bench = repository("");
    let mark = format!("left-behind-{}", std::process::id());
    let start = format!(
        "std::process::Command::new(\"setsid\").args([\"sh\", \"-c\", \"sleep 600; : \
         {mark}\"]).stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();"
    );
    write_level(&bench, &format!("{{ {start} 1000.0 }}"));
    commit(&bench, "fast");
    write_level(&bench, &format!("{{ {start} 1001.0 }}"));
    bench.run(&JSON).expect(0);
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let left = processes.filter(|entry| {
        std::fs::read_to_string(entry.path().join("cmdline")).is_ok_and(|line| line.contains(&mark))
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn an_intended_slow_down_or_removal_passes_by_a_list_from_outside() {
    let outside = tempfile::tempdir().unwrap();
    let list = outside.path().join("accept.toml");
    let text = "[[accept]]\ncase = \"fib\"\nlimit_percent = 35\nbecause = \"it checks for overflow \
                now\"\n\
                [[accept]]\ncase = \"gone\"\nremoved = true\nbecause = \"nobody calls it\"\n";
    std::fs::write(&list, text).unwrap();
    let bench = repository("");
    write(&bench, "", &[("parsing", &[("fib", 1000.0), ("gone", 500.0), ("other", 700.0)])]);
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", &[("fib", 1300.0), ("other", 700.0)])]);
    bench.run(&JSON).expect(3);
    let words = [&JSON[..], &["--accept", list.to_str().unwrap()]].concat();
    let result = bench.run(&words).expect(0).json();
    let said = notes(&result);
    says(&said, &["it checks for overflow now", "nobody calls it"]);
    let markdown = bench.run(&[
        "gate",
        "--against",
        "HEAD",
        "--format",
        "markdown",
        "--accept",
        list.to_str().unwrap(),
    ]);
    assert!(markdown.expect(0).stdout.contains("it checks for overflow now"));
    // The slowdown is larger than the accepted one.
    write(&bench, "", &[("parsing", &[("fib", 1500.0), ("other", 700.0)])]);
    bench.run(&words).expect(3);
    // A list inside the working tree is refused, because the change could accept itself.
    bench.write("accept.toml", text);
    let ended = bench.run(&[&JSON[..], &["--accept", "accept.toml"]].concat()).expect(2);
    assert!(ended.stderr.contains("inside the repository"), "{}", ended.stderr);
}

#[test]
fn a_command_whose_first_repetition_alone_is_fast_is_no_pass() {
    let bench = repository("");
    let script = |times: &[u32]| {
        let case = |(at, time): (usize, &u32)| {
            format!(
                r#"{{"name":"loop","run_name":"loop","run_type":"iteration","repetitions":{},"repetition_index":{at},"iterations":10,"real_time":{time},"cpu_time":{time},"time_unit":"ns"}}"#,
                times.len()
            )
        };
        let cases: Vec<String> = times.iter().enumerate().map(case).collect();
        bench.write(
            "bench.sh",
            &format!("echo '{{\"context\":{{}},\"benchmarks\":[{}]}}'\n", cases.join(",")),
        );
    };
    script(&[1000, 1001, 1002, 1001]);
    commit(&bench, "fast");
    script(&[1000, 1301, 1302, 1301]);
    let words = ["--bench", "sh bench.sh", "--bench-format", "google-benchmark"];
    let result = bench.run(&[&JSON[..], &words].concat()).expect(3).json();
    says(result["comparisons"][0]["reason"].as_str().unwrap(), &["not in the fastest"]);
}

#[test]
fn a_command_that_reports_a_case_twice_is_refused() {
    let bench = repository("");
    let case = |time: u32| {
        format!(
            r#"{{"name":"loop","run_type":"iteration","iterations":10,"real_time":{time},"cpu_time":{time},"time_unit":"ns"}}"#
        )
    };
    let script = |cases: &[String]| {
        bench.write(
            "bench.sh",
            &format!("echo '{{\"context\":{{}},\"benchmarks\":[{}]}}'\n", cases.join(",")),
        )
    };
    script(&[case(1000)]);
    commit(&bench, "fast");
    // Only the first result is as fast as before.
    script(&[case(1000), case(3000)]);
    let words = ["--bench", "sh bench.sh", "--bench-format", "google-benchmark"];
    let ended = bench.run(&[&JSON[..], &words].concat());
    assert!(ended.code != 0, "{} {}", ended.stdout, ended.stderr);
}
