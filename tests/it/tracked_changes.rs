//! Trends, health and advice with the real binary, on stores of made-up runs.

#[cfg(feature = "fault-injection")]
use crate::common::made_up::scale;
use crate::common::made_up::{store, template};
use crate::common::{Bench, says};
use rsb_model::random::Generator;
use serde_json::{Value, json};

const CASES: u32 = 10;

/// Factor for the time of case 2 in a run.
type Factor<'a> = &'a dyn Fn(u32) -> f64;

/// Returns the run of day `day`, in which every case varies by 2 % (sd) and case 2 takes `factor`
/// times as long.
fn made_up(run: &Value, day: u32, factor: f64, random: &mut Generator) -> Value {
    let mut made_up = run.clone();
    let moment = jiff::Timestamp::from_second(1_735_689_600 + 86_400 * i64::from(day)).unwrap();
    made_up["run_id"] = format!("day-{day:03}").into();
    made_up["started"] = moment.to_string().into();
    made_up["finished"] = moment.to_string().into();
    made_up["sequence"] = (day + 1).into();
    made_up["environment"]["git"] = json!({ "commit": format!("{day:04}{}", "c".repeat(36)), "branch": "main", "dirty": false });
    made_up["environment"]["state"] = Value::Null;
    made_up["benchmarks"] = (0..CASES)
        .map(|index| {
            let mut case = run["benchmarks"][0].clone();
            case["benchmark_id"] =
                format!("cpu_performance/tensor-ops/cpu:0/made-up-{index}").into();
            // The sum of twelve uniform values is approximately normal.
            let noise = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            let time = 1e6
                * f64::from(index + 1)
                * (1.0 + 0.02 * noise)
                * if index == 2 { factor } else { 1.0 };
            let times: Vec<f64> = (0..10).map(|at| time * (1.0 + f64::from(at) / 1e6)).collect();
            case["samples"] = json!([{ "replicate": 0, "iters": vec![1; 10], "times_ns": times }]);
            case["results"] = json!([{ "time_ms": time / 1e6 }]);
            case
        })
        .collect();
    made_up
}

/// Returns a bench with `days` runs, one per day.
pub(crate) fn with_history(days: u32, factor: Factor<'_>) -> (Bench, Value, Generator) {
    let (bench, run) = template("add");
    let mut random = Generator::new(16);
    (0..days).for_each(|day| store(&bench, &made_up(&run, day, factor(day), &mut random)));
    (bench, run, random)
}

/// Makes `receivers` older than all runs: a new receiver gets no changes that began long ago.
fn know_receivers(bench: &Bench, receivers: &[&str]) {
    let since = json!({ "since": "2025-01-01T00:00:00Z", "alerts": {} });
    let receivers: serde_json::Map<String, Value> =
        receivers.iter().map(|name| ((*name).to_owned(), since.clone())).collect();
    let book = json!({
        "format_version": 1, "receivers": receivers, "silences": [], "pending": [], "failed": []
    });
    bench.write("benchmark_results/notify.json", &book.to_string());
}

/// Sets the name that is recorded with decisions, whatever git's configuration says.
fn as_ada(bench: Bench) -> Bench {
    let git = [("COUNT", "1"), ("KEY_0", "user.name"), ("VALUE_0", "Ada")];
    git.iter().fold(bench, |bench, (name, value)| bench.set(&format!("GIT_CONFIG_{name}"), value))
}

fn step_at_120(day: u32) -> f64 {
    if day < 120 { 1.0 } else { 1.12 }
}

/// Returns the changes in `trend --json`.
pub(crate) fn changes(bench: &Bench) -> Vec<Value> {
    bench.run("trend --json").expect(0).json()["changes"].as_array().unwrap().clone()
}

#[test]
fn a_planted_step_is_named_with_its_run_and_commit_and_nothing_else_is() {
    let (bench, ..) = with_history(200, &step_at_120);
    let found = changes(&bench);
    assert_eq!(found.len(), 1, "{found:#?}");
    let change = &found[0];
    assert_eq!(change["range"]["first_after"]["run_id"], "day-120");
    assert_eq!(change["range"]["first_after"]["commit"], format!("0120{}", "c".repeat(36)));
    assert_eq!((&change["direction"], &change["state"]), (&json!("worse"), &json!("new")));
    let moves = change["moves"].as_array().unwrap();
    assert_eq!(moves.len(), 1);
    assert_eq!(moves[0]["id"], "cpu_performance/tensor-ops/cpu:0/made-up-2");
    assert!((moves[0]["change_percent"].as_f64().unwrap() - 12.0).abs() < 2.0);
    let page = bench.run("trend --summary").expect(0).stdout;
    assert!(page.contains("run day-120 (commit 0120cccccc)"), "{page}");
    assert_eq!(page.matches("day-").count(), 1, "{page}");
}

#[test]
fn a_change_is_sent_once_and_a_receiver_that_fails_changes_no_exit_code() {
    let (bench, ..) = with_history(130, &step_at_120);
    let bench = as_ada(bench);
    know_receivers(&bench, &["team"]);
    let receive = |script: &str| {
        let run = format!("command = {{ run = [\"sh\", \"-c\", \"{script}\"] }}");
        bench.write("rusty-stack-bench.toml", &format!("[[notify]]\nname = \"team\"\n{run}\n"));
    };
    receive("exit 1");
    let failed = bench.run("trend --summary").expect(0);
    assert!(failed.stderr.contains("1 message waits for `team`"), "{}", failed.stderr);
    let status = bench.run("notify status").expect(0).stdout;
    assert!(status.contains("team (command): 1 open alert\n"), "{status}");
    assert!(status.contains(", for team: "), "{status}");
    receive("cat >> messages");
    bench.run("notify").expect(0);
    bench.run("trend --json").expect(0).json();
    let sent = std::fs::read_to_string(bench.path("messages")).unwrap();
    let message: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(message["event"], "new");
    assert_eq!(
        message["alerts"][0]["series"][0]["id"],
        "cpu_performance/tensor-ops/cpu:0/made-up-2"
    );
    let id = message["alerts"][0]["key"].as_str().unwrap();
    let ended = bench.run(&["notify", "ack", &id[..6], "--because", "wanted"]).expect(0);
    let recorded = format!("{id} is acknowledged: wanted (by Ada)");
    assert!(ended.stdout.contains(&recorded), "{}", ended.stdout);
    let status = bench.run("notify status").expect(0).stdout;
    assert!(status.contains("; acknowledged: wanted (Ada)"), "{status}");
    let known = &changes(&bench)[0];
    assert_eq!((&known["id"], &known["state"]), (&json!(id), &json!("acknowledged")));
    assert_eq!(known["decisions"][0]["author"], "Ada");
    bench.run("notify test team").expect(0);
    bench.run("notify test other").expect(2);
    bench.run("notify silence made-up-2 --for 1d").expect(0);
    bench.run("notify silence made-up-2 --end").expect(0);
    bench.run("notify silence made-up-2 --end").expect(2);
    let due = bench.run("notify --dry-run").expect(0).stdout;
    assert!(due.contains("team: 0 messages"), "{due}");
}

#[test]
fn health_sends_a_change_once_whatever_trend_and_its_receiver_do() {
    let (bench, ..) = with_history(130, &step_at_120);
    know_receivers(&bench, &["team"]);
    let receive = |script: &str| {
        let run = format!("command = {{ run = ['sh', '-c', '{script}'] }}");
        bench.write("rusty-stack-bench.toml", &format!("[[notify]]\nname = 'team'\n{run}\n"));
    };
    receive("exit 1");
    let failed = bench.run("health --json").expect(0);
    assert_eq!(failed.json()["status"], "warning");
    assert!(failed.stderr.contains("1 message waits for `team`"), "{}", failed.stderr);
    receive("cat >> messages; echo >> messages");
    std::thread::sleep(std::time::Duration::from_secs(1)); // The second attempt is due then.
    for arguments in ["health", "trend --summary", "health"] {
        bench.run(arguments).expect(0);
    }
    let sent = std::fs::read_to_string(bench.path("messages")).unwrap();
    let message: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(message["event"], "new");
    let case = "cpu_performance/tensor-ops/cpu:0/made-up-2";
    assert_eq!(message["alerts"][0]["series"][0]["id"], case);
}

#[test]
fn a_slowdown_is_one_message_with_its_second_run_and_one_when_it_is_over() {
    let (bench, run, mut random) = with_history(60, &|_| 1.0);
    let receiver = "[[notify]]\nname = \"team\"\ncommand = { run = [\"sh\", \"-c\", \"cat >> \
                    messages; echo >> messages\"] }\n";
    bench.write("rusty-stack-bench.toml", receiver);
    know_receivers(&bench, &["team"]);
    let mut events = Vec::new();
    for day in 60..80 {
        let factor = if (62..68).contains(&day) { 1.25 } else { 1.0 };
        store(&bench, &made_up(&run, day, factor, &mut random));
        bench.run("trend --summary").expect(0);
        let text = std::fs::read_to_string(bench.path("messages")).unwrap_or_default();
        for line in text.lines() {
            let message: Value = serde_json::from_str(line).unwrap();
            assert_eq!(message["alerts"][0]["series_count"], 1, "{message}");
            events.push(format!("day {day}: {}", message["event"].as_str().unwrap()));
        }
        bench.write("messages", "");
    }
    assert_eq!(events, ["day 63: new", "day 72: recovered"]);
}

/// Stores a history for `watch` to continue: the run that it took as one run per day, about 3 %
/// apart, so that the noise of later runs is within the known noise.
#[cfg(feature = "fault-injection")]
fn with_watched_history(bench: &Bench) {
    bench.run(WATCH).expect(0);
    let file = bench.run_files().remove(0);
    let run: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(file).unwrap();
    let newest: jiff::Timestamp = run["started"].as_str().unwrap().parse().unwrap();
    let mut random = Generator::new(16);
    for day in 0..60_i64 {
        let mut copy = run.clone();
        let moment = newest - jiff::SignedDuration::from_hours(24 * (60 - day));
        copy["run_id"] = format!("day-{day:03}").into();
        copy["started"] = moment.to_string().into();
        copy["finished"] = moment.to_string().into();
        copy["sequence"] = (day + 1).into();
        let noise = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        scale(&mut copy["benchmarks"][0], (0.03 * noise).exp());
        store(bench, &copy);
    }
}

#[cfg(feature = "fault-injection")]
const WATCH: &str = "watch --once --suite custom --custom custom.toml --max-load 1000000";

#[cfg(feature = "fault-injection")]
#[test]
fn a_slowdown_and_its_end_are_one_message_each_in_slack_mail_and_alertmanager() {
    use crate::alert_servers::{
        MailServer, Slack, answer, next_statuses, serve, start_alertmanager,
    };

    let (hook, reports) = serve(vec![answer("200 OK", "", "")]);
    let files = tempfile::tempdir().unwrap();
    let Some((_server, address)) = start_alertmanager(files.path(), &hook) else { return };
    let Some(mail) = MailServer::start() else { return };
    let slack = Slack::start();
    let certificate = mail.certificate().display().to_string();
    let mut bench =
        Bench::new().set("SLACK_URL", &slack.address).set("SSL_CERT_FILE", &certificate);
    bench.write("password", "secret\n");
    let port = &mail.starttls;
    bench.write(
        "rusty-stack-bench.toml",
        &format!(
            "[run]\nbackend = 'cpu'\nruns = 10\nwarmup = 1\nreplicates = 1\n[[custom]]\nbenchmark = \
             'pause'\n[[notify]]\nname = 'slack'\nslack = {{ url = {{ env = 'SLACK_URL' }} \
             }}\n[[notify]]\nname = 'am'\nalertmanager = {{ url = '{address}' \
             }}\n[[notify]]\nname = 'mail'\n[notify.email]\nhost = '127.0.0.1'\nport = {port}\nuser = 'bench'\npassword = \
             {{ file = 'password' }}\nfrom = 'bench@lab.example'\nto = ['team@lab.example']\n"
        ),
    );
    // The command prints its time, so that other work of the machine does not change it; the
    // process id makes it vary by up to 4 %.
    bench.write(
        "custom.toml",
        "[[benchmark]]\nname = 'pause'\ncommand = ['sh', '-c', 'echo took $((100000 + $$ % \
         4000))e-7 ms']\nfigure = { after = 'took', unit = 'ms' }\n",
    );
    with_watched_history(&bench);
    let case = "cpu_performance/pause/cpu:0";
    let mut posts = Vec::new();
    bench = bench.set("RSB_TEST_SLOWDOWN", "pause=30");
    for _ in 0..6 {
        bench.run(WATCH).expect(0);
    }
    posts.extend(slack.accepted.try_iter());
    assert_eq!((posts.len(), mail.mails().len()), (1, 1), "{posts:?}");
    bench = bench.set("RSB_TEST_SLOWDOWN", "none=1");
    // The noise decides how many runs confirm the end.
    for _ in 0..12 {
        bench.run(WATCH).expect(0);
        posts.extend(slack.accepted.try_iter());
        if posts.len() > 1 {
            break;
        }
    }
    assert_eq!((posts.len(), mail.mails().len()), (2, 2), "{posts:?}");
    assert_eq!(slack.refused.try_iter().collect::<Vec<_>>(), [] as [String; 0]);
    says(&posts[0], &["critical: suspected: ", case, "rusty-stack-bench run pause --custom"]);
    says(&posts[1], &["recovered: ", case]);
    says(&mail.mails()[0], &["image/svg+xml", "chart-1.svg"]);
    says(&mail.mails()[1], &["In-Reply-To: ", "recovered: "]);
    for expected in ["firing", "resolved"] {
        let statuses = next_statuses(&reports);
        assert!(statuses.len() == 1 && statuses[0].ends_with(expected), "{statuses:?}");
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(reports.try_recv().is_err());
}

#[test]
fn without_a_step_nothing_is_named() {
    let (bench, ..) = with_history(200, &|_| 1.0);
    assert_eq!(changes(&bench), [] as [Value; 0]);
    let page = bench.run("trend --summary").expect(0).stdout;
    assert!(!page.contains("day-"), "{page}");
    let health = bench.run("health --json --unmeasured-days 100000").expect(0).json();
    assert_eq!(
        (&health["status"], &health["runs"]),
        (&json!("healthy"), &json!(200)),
        "{health:#}"
    );
}

#[test]
fn a_change_is_told_once_keeps_its_name_and_is_closed_by_a_person_or_by_a_fix() {
    let (bench, run, mut random) = with_history(126, &step_at_120);
    let bench = as_ada(bench);
    let id = changes(&bench)[0]["id"].as_str().unwrap().to_owned();
    let again = changes(&bench);
    assert_eq!((again.len(), &again[0]["id"]), (1, &json!(id)));
    let wrong = bench.run("trend ack a-nothing --because x").expect(2);
    assert!(wrong.stderr.contains(&id), "the open changes must be named: {}", wrong.stderr);
    bench.run(&["trend", "ack", &id[..6], "--because", "the new allocator, wanted"]).expect(0);
    let known = &changes(&bench)[0];
    assert_eq!(
        (&known["state"], &known["because"]),
        (&json!("acknowledged"), &json!("the new allocator, wanted"))
    );
    let page = bench.run("trend --summary").expect(0).stdout;
    assert!(page.contains("acknowledged by Ada: the new allocator, wanted"), "{page}");
    assert_eq!(known["decisions"][0]["author"], "Ada");
    // Ten runs later the level is back: confirmed by enough runs, not by the first fast one.
    for day in 126..130 {
        store(&bench, &made_up(&run, day, 1.0, &mut random));
    }
    assert!(changes(&bench).iter().all(|change| change["state"] != "fixed"));
    for day in 130..140 {
        store(&bench, &made_up(&run, day, 1.0, &mut random));
    }
    let all = changes(&bench);
    let first = all.iter().find(|change| change["id"] == json!(id)).unwrap();
    assert_eq!(first["state"], "fixed", "{all:#?}");
}

#[test]
fn what_changed_on_the_machine_is_named_before_the_code() {
    let (bench, run, mut random) = with_history(60, &|_| 1.0);
    for day in 60..80 {
        let mut run = made_up(&run, day, 1.3, &mut random);
        run["environment"]["kernel"] = "99.1.0-other".into();
        store(&bench, &run);
    }
    let found = changes(&bench);
    let fields: Vec<&str> = found[0]["environment_changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["kernel"]);
    let page = bench.run("trend --summary").expect(0).stdout;
    assert!(page.contains("check the machine first: kernel"), "{page}");
    let health = bench.run("health --unmeasured-days 100000").expect(0).stdout;
    assert!(health.starts_with("critical: 80 runs"), "{health}");
    assert!(health.contains("check the machine before the code"), "{health}");
}

#[test]
fn health_names_the_run_in_which_the_case_changed_and_not_a_later_run_without_it() {
    let step = |day| if day < 40 { 1.0 } else { 1.3 };
    let (bench, run, mut random) = with_history(41, &step);
    for day in 0..41 {
        let mut other = made_up(&run, day, 1.0, &mut random);
        let moment =
            jiff::Timestamp::from_second(1_735_689_600 + 86_400 * i64::from(day) + 3600).unwrap();
        other["run_id"] = format!("other-{day:03}").into();
        other["suite"] = "other".into();
        (other["started"], other["finished"]) =
            (moment.to_string().into(), moment.to_string().into());
        let mut case = other["benchmarks"][0].clone();
        case["benchmark_id"] = "cpu_performance/tensor-ops/cpu:0/noisy".into();
        if day == 40 {
            for time in case["samples"][0]["times_ns"].as_array_mut().unwrap() {
                *time = (1.6 * time.as_f64().unwrap()).into();
            }
            case["results"][0]["time_ms"] =
                (1.6 * case["results"][0]["time_ms"].as_f64().unwrap()).into();
        }
        other["benchmarks"] = json!([case]);
        store(&bench, &other);
    }
    let found = changes(&bench);
    assert_eq!((found.len(), found[0]["moves"].as_array().unwrap().len()), (1, 2), "{found:#?}");
    assert_eq!(
        found[0]["range"]["first_after"]["run_id"], "other-040",
        "the larger change must come first"
    );
    let health = bench.run("health --json").expect(0).json();
    let evidence = |id: &str| {
        let items = health["degraded"].as_array().unwrap();
        let item = items.iter().find(|item| item["id"].as_str().unwrap().ends_with(id));
        item.unwrap_or_else(|| panic!("{health:#}"))["evidence"].as_str().unwrap().to_owned()
    };
    assert!(evidence("made-up-2").starts_with("since run day-040 "), "{health:#}");
    assert!(evidence("noisy").starts_with("since run other-040 "), "{health:#}");
    let page = bench.run("trend --summary").expect(0).stdout;
    let line = page.lines().find(|line| line.contains("made-up-2")).unwrap();
    assert!(line.contains("since run day-040"), "{page}");
}

#[test]
fn a_drift_that_trend_warns_of_is_in_health_and_on_the_dashboard() {
    let (bench, run) = template("add");
    let mut random = Generator::new(16);
    for day in 0..75 {
        let mut run = made_up(&run, day, 1.0, &mut random);
        // Case 2 drifts, with less noise than the other cases, so that no part of the drift looks
        // like a step.
        let time =
            3e6 * (1.0 + 0.16 * f64::from(day) / 74.0) * (1.0 + 0.001 * f64::from(day * 7 % 5));
        let case = &mut run["benchmarks"][2];
        case["samples"][0]["times_ns"] =
            json!((0..10).map(|at| time + f64::from(at)).collect::<Vec<_>>());
        case["results"][0]["time_ms"] = (time / 1e6).into();
        store(&bench, &run);
    }
    let trend = bench.run("trend --json").expect(0).json();
    let drifts = |series: &Value| {
        series["alerts"].as_array().unwrap().iter().any(|alert| alert["basis"] == "drift")
    };
    assert!(trend["series"].as_array().unwrap().iter().any(drifts), "{trend:#}");
    let is_told = |health: &Value| {
        let items = health["degraded"].as_array().unwrap();
        let item = items.iter().find(|item| item["id"].as_str().unwrap().ends_with("made-up-2"));
        let item = item.unwrap_or_else(|| panic!("{health:#}"));
        assert!((item["percent"].as_f64().unwrap() - 16.0).abs() < 2.0, "{item}");
        assert!(item["evidence"].as_str().unwrap().starts_with("drifts by +"), "{item}");
        assert_eq!(health["status"], "warning");
        assert!(health["recommendations"].to_string().contains("1 drifting"), "{health:#}");
    };
    is_told(&bench.run("health --json").expect(0).json());
    let page = bench.run("health").expect(0).stdout;
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("Degraded")
            && words.contains(" time_ms +1")
            && words.contains(" over 74.0 days"),
        "{page}"
    );
    #[cfg(feature = "serve")]
    {
        let server = crate::serve::Server::begin(&bench, &["serve"]);
        let overview = server.page("/");
        says(&overview, &["What moved", "made-up-2", "drifts by +"]);
        let case = server.page("/case?id=cpu_performance/tensor-ops/cpu:0/made-up-2");
        assert!(case.contains("time_ms drifts by +"), "{case}");
    }
}

#[test]
fn what_is_known_of_changes_survives_a_file_that_cannot_be_read() {
    let (bench, ..) = with_history(126, &step_at_120);
    changes(&bench);
    let book = bench.path("benchmark_results/alerts.json");
    let text = std::fs::read_to_string(&book).unwrap();
    std::fs::write(&book, &text[..text.len() / 2]).unwrap();
    let refused = bench.run("trend").expect(2);
    assert!(refused.stderr.contains("alerts.json"), "{}", refused.stderr);
    assert_eq!(
        std::fs::read_to_string(&book).unwrap().len(),
        text.len() / 2,
        "the damaged file must stay unchanged"
    );
}

#[test]
fn a_trend_is_exported_in_each_form() {
    let (bench, ..) = with_history(30, &|_| 1.0);
    bench.run("trend export --format csv trend.csv").expect(0);
    let csv = std::fs::read_to_string(bench.path("trend.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + CASES as usize);
    bench.run("trend export --format json trend.json").expect(0);
    let text = std::fs::read_to_string(bench.path("trend.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap()["series"].as_array().unwrap().len(),
        CASES as usize
    );
    let parquet = bench.run("trend export --format parquet trend.parquet");
    if cfg!(feature = "parquet") {
        parquet.expect(0);
        let bytes = std::fs::read(bench.path("trend.parquet")).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    } else {
        assert!(parquet.expect(2).stderr.contains("--features parquet"));
    }
    let nowhere = bench.run("trend export no/trend.csv").expect(2).stderr;
    assert!(nowhere.contains("the directory `no` does not exist; create it"), "{nowhere}");
}

#[test]
fn watch_prints_units_and_takes_a_turn() {
    let bench = Bench::new();
    let units = bench.run("watch --print-unit --every 6h --suite quick").expect(0).stdout;
    for part in [
        "OnUnitActiveSec=21600s",
        "Nice=10",
        "0 */6 * * *",
        "watch --once --suite quick",
        "ConditionACPower=true",
    ] {
        assert!(units.contains(part), "{part} is not in {units}");
    }
    let left_out = bench.run("watch --once --max-load 0.000001").expect(0);
    assert!(
        left_out.stderr.contains("skipped this run") || bench.run_files().len() == 1,
        "{}",
        left_out.stderr
    );
    bench.run("watch --every 10s").expect(2);
}

#[cfg(feature = "parquet")]
#[test]
fn runs_go_to_parquet_and_come_back_as_they_were() {
    let (bench, ..) = with_history(12, &|_| 1.0);
    let refused = bench.run("export --format parquet").expect(2);
    assert!(refused.stderr.contains("--output FILE"), "{}", refused.stderr);
    bench.run("export --format parquet --output runs.parquet").expect(0);
    let said = bench.run("import runs.parquet --results-dir other").expect(0).stdout;
    assert!(said.contains("12 runs imported"), "{said}");
    let again = bench.run("import runs.parquet --results-dir other").expect(0).stdout;
    assert!(again.contains("0 runs imported, 12 already stored"), "{again}");
    let all = |dir: &str| {
        let mut document =
            bench.run(&["export", "--format", "json", "--results-dir", dir]).expect(0).json();
        for run in document["runs"].as_array_mut().unwrap() {
            run.as_object_mut().unwrap().remove("sequence");
        }
        document
    };
    assert_eq!(all("benchmark_results"), all("other"));
    std::fs::write(bench.path("cut.parquet"), b"PAR1 and nothing else").unwrap();
    let cut = bench.run("import cut.parquet").expect(2);
    assert!(cut.stderr.contains("cut.parquet` is not a readable export"), "{}", cut.stderr);
}
