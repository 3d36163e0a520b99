//! The terminal interface in a real terminal: tmux runs it, the test sends keys and reads the
//! screen.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Bench, says};

/// Maximum time to wait for a text.
const LONGEST: Duration = Duration::from_mins(1);

/// A suite that finishes within a second.
const SMALL_SUITE: &str = "\
[run]
backend = \"cpu\"
replicates = 1
runs = 10
warmup = 1
profile = \"quick\"
[[custom]]
benchmark = \"gemm\"
axes = { dtype = [\"f32\"], shape = [\"16x16x16\", \"32x32x32\"], provider = [\"gemm\"] }
";

/// A terminal of 80 columns and 24 rows that runs the program.
struct Screen {
    socket: PathBuf,
    /// File with the program's exit code.
    ended: PathBuf,
}

impl Screen {
    /// Starts the program, or prints that tmux is missing.
    fn begin(bench: &Bench, arguments: &[&str]) -> Option<Self> {
        Self::begin_with(bench, &bench.command(arguments))
    }

    fn begin_with(bench: &Bench, program: &Command) -> Option<Self> {
        if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err() {
            test_needs::missing("tmux", "the program `tmux` is not here; install it");
            return None;
        }
        let screen = Self { socket: bench.path("tmux"), ended: bench.path("ended") };
        let mut tmux = screen.tmux();
        tmux.args(["start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"]);
        tmux.args(["new-session", "-d", "-x", "80", "-y", "24", "--"]);
        // On a busy machine, tmux may never receive the exit code of a program.
        tmux.args(["sh", "-c", "\"$@\"; echo $? > ended", "sh"]);
        tmux.arg(program.get_program()).args(program.get_args()).current_dir(bench.dir.path());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => tmux.env(name, value),
                None => tmux.env_remove(name),
            };
        }
        // Missing drivers are detected immediately, and no framework is probed.
        tmux.env("RSB_VULKAN_LIBRARY", "/nowhere")
            .env("RSB_OPENCL_LIBRARY", "/nowhere")
            .env("NO_COLOR", "1");
        assert!(tmux.status().unwrap().success());
        Some(screen)
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).stdin(Stdio::null());
        command
    }

    fn press(&self, keys: &[&str]) {
        assert!(self.tmux().arg("send-keys").args(keys).status().unwrap().success());
    }

    fn picture(&self) -> String {
        let output = self.tmux().args(["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until `text` is on the screen.
    fn wait_for(&self, text: &str) -> String {
        let began = Instant::now();
        loop {
            let picture = self.picture();
            if picture.contains(text) {
                return picture;
            }
            assert!(began.elapsed() < LONGEST, "`{text}` did not appear:\n{picture}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until the program has exited and its screen is gone, and returns its exit code.
    fn ended(&self) -> String {
        let began = Instant::now();
        loop {
            let code = std::fs::read_to_string(&self.ended).unwrap_or_default();
            let output =
                self.tmux().args(["display-message", "-p", "#{alternate_on}"]).output().unwrap();
            let page = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            match code.strip_suffix('\n') {
                Some(code) if page == "0" => return code.to_owned(),
                _ => {}
            }
            let said = || format!("{code:?}, its page {page}; {}\n{}", self.left(), self.picture());
            assert!(began.elapsed() < LONGEST, "the program did not end: {}", said());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Returns the state of a program whose exit code tmux does not report: the signal that ended
    /// it, or what its threads wait for.
    fn left(&self) -> String {
        let format = "#{pane_dead_signal} #{pane_pid}";
        let output = self.tmux().args(["display-message", "-p", format]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let pid = said.rsplit(' ').next().unwrap_or_default();
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let told = tasks.map(|task| {
            let read = |name| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
            format!("\n{} waits for {}", read("stat"), read("wchan"))
        });
        format!("signal and process {said}{}", told.collect::<String>())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.tmux().arg("kill-server").stderr(Stdio::null()).status();
    }
}

#[test]
fn a_whole_run_by_keys_in_a_real_terminal() {
    let bench = Bench::new();
    bench.write("rusty-stack-bench.toml", SMALL_SUITE);
    let Some(screen) = Screen::begin(&bench, &["tui"]) else { return };
    screen.wait_for("✓ suite quick");
    screen.press(&["/", "custom", "Enter"]);
    screen.wait_for("2 cases, profile quick");
    screen.press(&["Enter"]);
    screen.wait_for("2 cases to measure, profile quick");
    screen.press(&["Enter"]);
    screen.wait_for("is complete");
    screen.wait_for("there is no earlier run of this suite");
    assert_eq!(bench.run_files().len(), 1);
    // After another run, the comparison is shown automatically.
    screen.press(&["Escape"]);
    screen.wait_for("only rows that contain `custom`");
    screen.press(&["Enter"]);
    screen.wait_for("2 cases to measure");
    screen.press(&["Enter"]);
    let compared = screen.wait_for("verdicts ›");
    assert_eq!(bench.run_files().len(), 2, "{compared}");
    screen.press(&["r", "b"]);
    screen.wait_for("Commit it");
    screen.press(&["Tab"]);
    screen.wait_for("trend of each case");
    screen.press(&["Tab"]);
    screen.wait_for("1/2 findings");
    screen.press(&["q"]);
    assert_eq!(screen.ended(), "0");
}

/// A shell that runs the program, stores its process id in `pid` and the terminal modes before and
/// after it, and prints its exit code.
fn in_shell(bench: &Bench) -> Option<Screen> {
    let program = bench.command("tui");
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "ulimit -c 0; stty -a >before; sh -c 'echo $$ >pid; exec \"$@\"' sh \"$@\"; code=$?; \
         stty -a >after; echo ended: $code; cat",
        "sh",
    ]);
    shell.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        shell.env(name, value);
    }
    let screen = Screen::begin_with(bench, &shell)?;
    screen.wait_for("✓ suite quick");
    Some(screen)
}

/// Returns whether the alternate screen is shown, the mouse is captured, and the cursor is shown.
fn modes(screen: &Screen) -> String {
    let format = "#{alternate_on} #{mouse_any_flag} #{cursor_flag}";
    let modes = screen.tmux().args(["display-message", "-p", format]).output().unwrap();
    String::from_utf8_lossy(&modes.stdout).trim().to_owned()
}

fn assert_restored(bench: &Bench, screen: &Screen) {
    assert_eq!(
        modes(screen),
        "0 0 1",
        "the alternate screen and the mouse must be released and the cursor shown"
    );
    let [before, after] =
        ["before", "after"].map(|name| std::fs::read_to_string(bench.path(name)).unwrap());
    assert!(before.contains("echo") && before == after, "{before}\n{after}");
}

fn kill(bench: &Bench, signal: &str) {
    let pid = std::fs::read_to_string(bench.path("pid")).unwrap();
    assert!(Command::new("kill").args([signal, pid.trim()]).status().unwrap().success());
}

/// If the program panics between two frames, the terminal is restored and shows the panic message.
#[cfg(feature = "fault-injection")]
#[test]
fn a_panic_gives_the_terminal_back() {
    let bench = Bench::new().set("RSB_TEST_PANIC", "1");
    let Some(screen) = in_shell(&bench) else { return };
    screen.press(&["!"]);
    let said = screen.wait_for("ended: 101");
    assert!(said.contains("RSB_TEST_PANIC is set") && !said.contains("Measure"), "{said}");
    assert_restored(&bench, &screen);
}

#[test]
fn a_signal_that_dumps_core_gives_the_terminal_back() {
    for (signal, code) in [("-QUIT", "ended: 131"), ("-ABRT", "ended: 134")] {
        let bench = Bench::new();
        let Some(screen) = in_shell(&bench) else { return };
        kill(&bench, signal);
        let said = screen.wait_for(code);
        assert!(!said.contains("Measure"), "{said}");
        assert_restored(&bench, &screen);
    }
}

#[test]
fn a_stopped_program_gives_the_terminal_back_until_it_continues() {
    let bench = Bench::new();
    let Some(screen) = in_shell(&bench) else { return };
    let stops: [fn(&Bench, &Screen); 2] =
        [|bench, _| kill(bench, "-TSTP"), |_, screen| screen.press(&["C-z"])];
    for stop in stops {
        stop(&bench, &screen);
        let began = Instant::now();
        while modes(&screen) != "0 0 1" {
            assert!(began.elapsed() < LONGEST, "{}\n{}", modes(&screen), screen.picture());
            std::thread::sleep(Duration::from_millis(30));
        }
        kill(&bench, "-CONT");
        screen.wait_for("✓ suite quick");
        assert_eq!(modes(&screen), "1 1 0");
    }
    screen.press(&["q"]);
    screen.wait_for("ended: 0");
    assert_restored(&bench, &screen);
}

#[test]
fn pasted_text_is_not_read_as_keys() {
    let bench = Bench::new();
    let Some(screen) = in_shell(&bench) else { return };
    let set = screen.tmux().args(["set-buffer", "q\nq"]).status().unwrap();
    assert!(set.success());
    assert!(screen.tmux().args(["paste-buffer", "-p"]).status().unwrap().success());
    screen.wait_for("pasted text is not read as keys");
    screen.press(&["q"]);
    screen.wait_for("ended: 0");
}

#[test]
fn without_a_terminal_it_says_what_does_the_same() {
    let ended = Bench::new().run("tui").expect(2);
    says(&ended.stderr, &["needs a terminal", "compare"]);
    assert_eq!(ended.stdout, "");
}
