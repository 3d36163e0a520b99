//! Commands as benchmarks. A command runs once for verification and is then timed, by the clock or
//! by a number that it prints.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rsb_model::{Better, Field, Fields, Params, Reason, Unit};
use rsb_workloads::{Failure, Prepared};

/// SIGINT and SIGTERM. A scheduler sends one of them to every process of a job, and the command may
/// end before the run, which then would take it for a failure.
const STOP_SIGNALS: [Option<i32>; 2] = [Some(2), Some(15)];
/// Time in which such a signal reaches the run and this process, too.
const SIGNAL_DELAY: Duration = Duration::from_secs(1);

/// Command to run: a shell line, or a program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandLine {
    /// Line for `/bin/sh`.
    Shell(String),
    /// Program and its arguments, run without a shell.
    Program(Vec<String>),
}

/// Conditions that each run of a command must meet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Expected {
    /// Exit code.
    pub(super) exit_code: i32,
    /// Complete output, ignoring white space at both ends.
    pub(super) output: Option<String>,
    /// Text that the output must contain.
    pub(super) contains: Option<String>,
}

/// Rule for reading the measured value from the output of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FigureReader {
    /// Text that precedes the number. If `None`, the first number is used.
    pub(super) after: Option<String>,
    /// Unit of the number.
    pub(super) unit: FigureUnit,
}

/// Unit of a printed number: a time, or a rate (the inverse of the time per unit of work).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FigureUnit {
    /// Factor that converts the number to the unit of `field`.
    factor: f64,
    /// Field in which the value is stored.
    field: &'static Field,
}

/// Case of a command.
pub(super) struct CommandCase {
    pub(super) what: String,
    pub(super) line: CommandLine,
    pub(super) expected: Expected,
    pub(super) figure: Option<FigureReader>,
}

/// Supported units of printed values, with the factor and the field of each.
const UNITS: [(&str, f64, &str); 10] = [
    ("ns", 1e-6, "time_ms"),
    ("us", 1e-3, "time_ms"),
    ("µs", 1e-3, "time_ms"),
    ("ms", 1.0, "time_ms"),
    ("s", 1e3, "time_ms"),
    ("MB/s", 1e-3, "throughput_gb_s"),
    ("GB/s", 1.0, "throughput_gb_s"),
    ("GFLOP/s", 1.0, "gflops"),
    ("TFLOP/s", 1.0, "tflops"),
    ("1/s", 1.0, "throughput_samples_per_second"),
];

impl FigureUnit {
    /// Returns the unit called `name`, stored in `field` if given.
    ///
    /// # Errors
    /// If the unit is unknown, or the field has a different unit or direction.
    pub(super) fn of(
        name: &str,
        field: Option<&str>,
        better: Option<Better>,
    ) -> Result<Self, String> {
        let Some((_, factor, usual)) = UNITS.iter().find(|(unit, ..)| *unit == name) else {
            let known = UNITS.map(|(name, ..)| name).join(", ");
            return Err(format!("`{name}` is not a unit for `figure`; use one of {known}"));
        };
        let usual = Field::find(usual).ok_or_else(|| format!("no field has the unit {name}"))?;
        let chosen = field
            .map_or(Some(usual), Field::find)
            .filter(|field| field.unit == usual.unit && field.better() == usual.better());
        let field = chosen.ok_or_else(|| {
            let field = field.unwrap_or_default();
            format!(
                "`{field}` is not a field for values in {name}; omit it to use `{}`, or see \
                 docs/glossary.md",
                usual.name
            )
        })?;
        if better.is_some_and(|better| Some(better) != field.better()) {
            return Err(format!("`better` is the wrong direction for values in {name}; omit it"));
        }
        Ok(Self { factor: *factor, field })
    }

    /// Converts `number` to nanoseconds per iteration, or per unit of work if it is a rate.
    fn time_ns(self, number: f64) -> f64 {
        let value = number * self.factor;
        if self.field.unit == Unit::Milliseconds { value * 1e6 } else { 1e9 / value }
    }
}

impl FigureReader {
    fn time_ns(&self, printed: &str) -> Result<f64, String> {
        let text = match &self.after {
            None => printed,
            Some(mark) => {
                printed.split_once(mark.as_str()).map(|(_, rest)| rest).ok_or_else(|| {
                    format!("the output does not contain `{mark}`: {}", excerpt(printed))
                })?
            }
        };
        let number = text
            .split(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
            .find_map(leading_number);
        let number =
            number.ok_or_else(|| format!("the output contains no number: {}", excerpt(text)))?;
        let time_ns = self.unit.time_ns(number);
        if time_ns.is_finite() && time_ns > 0.0 {
            Ok(time_ns)
        } else {
            Err(format!("the value {number} must be finite and above zero"))
        }
    }
}

/// Parses the number at the start of `word`: `12.5`, `1e-3`, `3ms`, `nan`.
fn leading_number(word: &str) -> Option<f64> {
    let whole = word.trim_end_matches('.');
    if let Ok(number) = whole.parse() {
        return Some(number);
    }
    let end = whole.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c)))?;
    whole[..end].parse().ok()
}

fn excerpt(text: &str) -> String {
    let text = text.trim();
    let short: String = text.chars().take(200).collect();
    format!("`{}{}`", short.escape_debug(), if short.len() < text.len() { " …" } else { "" })
}

impl CommandLine {
    /// Replaces `{axis}` with the value of each axis.
    pub(super) fn substitute(&self, params: &Params) -> Self {
        match self {
            Self::Shell(line) => Self::Shell(fill(line, params)),
            Self::Program(words) => {
                Self::Program(words.iter().map(|word| fill(word, params)).collect())
            }
        }
    }

    fn texts(&self) -> &[String] {
        match self {
            Self::Shell(line) => std::slice::from_ref(line),
            Self::Program(words) => words,
        }
    }

    /// Returns whether the command contains `{axis}`.
    pub(super) fn mentions(&self, axis: &str) -> bool {
        self.texts().iter().any(|text| in_braces(text).any(|(_, name)| name == axis))
    }

    /// Returns the names in braces that must be axes. `%{name}`, `@{name}` and `^{name}` are
    /// excluded, because they have a meaning in curl and git.
    pub(super) fn placeholders(&self) -> Vec<&str> {
        let mut found = Vec::new();
        for text in self.texts() {
            for (at, name) in in_braces(text) {
                let before = text.get(..at).unwrap_or_default();
                if !before.ends_with(['%', '@', '^']) {
                    found.push(name);
                }
            }
        }
        found
    }

    /// Returns the command as text for messages.
    fn display_text(&self) -> String {
        match self {
            Self::Shell(line) => line.clone(),
            Self::Program(words) => words.join(" "),
        }
    }

    fn run(&self) -> std::io::Result<Output> {
        let mut command = match self {
            Self::Shell(line) => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", line]);
                shell
            }
            Self::Program(words) => {
                let mut program =
                    Command::new(words.first().map(String::as_str).unwrap_or_default());
                program.args(words.get(1..).unwrap_or_default());
                program
            }
        };
        command.stdin(Stdio::null()).output()
    }
}

/// Replaces each `{name}` in `text` with its value in `params`, if there is one.
fn fill(text: &str, params: &Params) -> String {
    let (mut filled, mut rest) = (String::new(), 0);
    for (at, name) in in_braces(text) {
        let Some(value) = params.text(name) else { continue };
        filled.push_str(text.get(rest..at).unwrap_or_default());
        filled.push_str(value);
        rest = at + name.len() + 2;
    }
    filled + text.get(rest..).unwrap_or_default()
}

impl CommandCase {
    /// Runs the set-up, then the command once to verify its result, so that a wrong result is never
    /// timed.
    pub(super) fn prepare(self, set_up: Option<&CommandLine>) -> Result<Self, Failure> {
        if let Some(line) = set_up {
            let output = self.run(line, "its set-up")?;
            self.check_end(&output, 0, "its set-up")?;
        }
        let printed = self.once()?.1;
        let Expected { output, contains, .. } = &self.expected;
        if let Some(whole) = output.as_ref().filter(|whole| whole.trim() != printed.trim()) {
            return Err(self.wrong_output(&printed, whole));
        }
        if let Some(part) = contains.as_ref().filter(|part| !printed.contains(part.as_str())) {
            return Err(self.wrong_output(&printed, part));
        }
        Ok(self)
    }

    fn wrong_output(&self, printed: &str, expected: &str) -> Failure {
        let (printed, expected) = (excerpt(printed), excerpt(expected));
        let why = format!("it printed {printed}, but {expected} is expected");
        self.failure(why, "fix the command, or the expected output in its file")
    }

    fn failure(&self, why: String, cure: &str) -> Failure {
        Failure::Failed(Reason::new(self.what.clone(), why, cure))
    }

    fn run(&self, line: &CommandLine, role: &str) -> Result<Output, Failure> {
        line.run().map_err(|error| {
            let why = format!("{role} `{}` cannot be started: {error}", line.display_text());
            let reason = Reason::new(
                self.what.clone(),
                why,
                "install the program, or specify its full path",
            );
            if error.kind() == std::io::ErrorKind::NotFound {
                Failure::Skipped(reason)
            } else {
                Failure::Failed(reason)
            }
        })
    }

    fn check_end(&self, output: &Output, expected: i32, role: &str) -> Result<(), Failure> {
        if output.status.code() == Some(expected) {
            return Ok(());
        }
        if STOP_SIGNALS.contains(&output.status.signal()) {
            std::thread::sleep(SIGNAL_DELAY);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let more = if stderr.trim().is_empty() {
            String::new()
        } else {
            format!("; it printed {}", excerpt(&stderr))
        };
        let why = format!("{role} ended with {}, but {expected} is expected{more}", output.status);
        Err(self.failure(why, "run the command by hand to see its output, or set `exit_code`"))
    }

    /// Runs the command once and returns its time in nanoseconds and its output.
    fn once(&self) -> Result<(f64, String), Failure> {
        let began = Instant::now();
        let output = self.run(&self.line, "its command")?;
        let wall_ns = began.elapsed().as_nanos() as f64;
        self.check_end(&output, self.expected.exit_code, "its command")?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let time_ns = match &self.figure {
            None => wall_ns,
            Some(figure) => figure
                .time_ns(&printed)
                .map_err(|why| self.failure(why, "check `after` and `unit` of its `figure`"))?,
        };
        Ok((time_ns, printed))
    }
}

impl Prepared for CommandCase {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        (0..iters).try_fold(0.0, |total, _| Ok(total + self.once()?.0))
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        let fields =
            Fields::new().with("operation", self.line.display_text()).with("provider", "command");
        let fields = fields.with("time_ms", time_ns / 1e6);
        Ok(match &self.figure {
            Some(FigureReader { unit, .. }) if unit.field.unit != Unit::Milliseconds => {
                fields.with(unit.field.name, 1e9 / time_ns)
            }
            Some(FigureReader { unit, .. }) => fields.with(unit.field.name, time_ns / 1e6),
            None => fields,
        })
    }
}

/// Returns the names in braces that can be axes, with the offsets of the opening braces. `${name}`
/// and `{{name}}` are excluded, because they belong to the shell and to templates.
fn in_braces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('{').filter_map(move |(at, _)| {
        let is_other = text.get(..at).is_some_and(|before| before.ends_with(['$', '{']));
        let (name, _) = text.get(at + 1..)?.split_once('}')?;
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        (is_name && !is_other).then_some((at, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(line: &str, expected: Expected, figure: Option<(&str, &str)>) -> CommandCase {
        let figure = figure.map(|(after, unit)| FigureReader {
            after: (!after.is_empty()).then(|| after.to_owned()),
            unit: FigureUnit::of(unit, None, None).unwrap(),
        });
        CommandCase {
            what: "case a".to_owned(),
            line: CommandLine::Shell(line.to_owned()),
            expected,
            figure,
        }
    }

    fn prints(text: &str) -> Expected {
        Expected { output: Some(text.to_owned()), ..Expected::default() }
    }

    #[test]
    fn a_number_on_the_output_is_a_time_or_a_rate_turned_round() {
        for (line, figure, time_ns) in [
            ("echo took 2.5 ms", ("took", "ms"), 2.5e6),
            ("echo 3us", ("", "us"), 3e3),
            ("echo run 7: 0.5 GB/s", ("run 7:", "GB/s"), 2e9),
            ("echo 1e3", ("", "1/s"), 1e6),
            ("echo 'rate=200.'", ("rate=", "MB/s"), 5e9),
        ] {
            let mut case = case(line, Expected::default(), Some(figure)).prepare(None).unwrap();
            let found = case.sample(2).unwrap() / 2.0;
            assert!((found - time_ns).abs() < 1e-6 * time_ns, "{line}: {found}");
        }
        let mut rate =
            case("echo 0.5", Expected::default(), Some(("", "GB/s"))).prepare(None).unwrap();
        assert_eq!(rate.fields(2e9).unwrap().number("throughput_gb_s"), Some(0.5));
        let mut timed = case("true", Expected::default(), None).prepare(None).unwrap();
        assert!(timed.sample(1).unwrap() > 0.0);
        assert_eq!(timed.fields(2e6).unwrap().number("time_ms"), Some(2.0));
    }

    #[test]
    fn what_is_wrong_with_a_command_is_told_before_it_is_timed() {
        for (line, expected, figure, told) in [
            ("echo no >&2; exit 3", Expected::default(), None, "exit status: 3"),
            ("echo no >&2; exit 3", Expected::default(), None, "no"),
            ("kill -9 $$", Expected::default(), None, "SIGKILL"),
            ("echo 41", prints("42"), None, "`41`, but `42`"),
            (
                "echo 41",
                Expected { contains: Some("2".into()), ..Expected::default() },
                None,
                "`2` is expected",
            ),
            ("echo nan", Expected::default(), Some(("", "ms")), "NaN"),
            ("echo 0", Expected::default(), Some(("", "GB/s")), "above zero"),
            ("echo -4 ms", Expected::default(), Some(("", "ms")), "above zero"),
            ("echo fast", Expected::default(), Some(("", "ms")), "no number"),
            ("echo 4 ms", Expected::default(), Some(("took", "ms")), "not contain `took`"),
        ] {
            let Err(Failure::Failed(reason)) = case(line, expected, figure).prepare(None) else {
                panic!("{line}")
            };
            assert!(reason.why.contains(told) && !reason.cure.is_empty(), "{line}: {reason}");
        }
        let passes = Expected { exit_code: 3, ..prints("42") };
        assert!(case("echo 42; exit 3", passes, None).prepare(None).is_ok());
        let set_up = CommandLine::Shell("exit 1".to_owned());
        let Err(failure) = case("true", Expected::default(), None).prepare(Some(&set_up)) else {
            panic!("a failing setup command must be an error")
        };
        assert!(failure.reason().why.starts_with("its set-up ended"), "{failure}");
        let missing = CommandLine::Program(vec!["/no/such/program".to_owned()]);
        let none =
            CommandCase { line: missing, ..case("", Expected::default(), None) }.prepare(None);
        assert!(matches!(none, Err(Failure::Skipped(_))));
    }

    #[test]
    fn values_stand_for_their_axes() {
        let line =
            CommandLine::Program(vec!["seq".to_owned(), "{n}".to_owned(), "{print $1}".to_owned()]);
        let filled = line.substitute(&Params::new().with("n", "7"));
        assert_eq!(
            filled,
            CommandLine::Program(vec!["seq".to_owned(), "7".to_owned(), "{print $1}".to_owned()])
        );
        assert!(line.mentions("n") && !line.mentions("m"));
        assert_eq!(line.placeholders(), ["n"]);
        let own = CommandLine::Shell("head -c ${n} {{n}} {n} me@{n} {n}{n}".to_owned());
        let CommandLine::Shell(filled) = own.substitute(&Params::new().with("n", "7")) else {
            panic!()
        };
        assert_eq!(filled, "head -c ${n} {{n}} 7 me@7 77", "shell variables must stay unchanged");
        assert!(!CommandLine::Shell("echo ${n}".to_owned()).mentions("n"));
        let others = "echo ${HOME} %{http_code} HEAD@{u} v1^{tree} {{json}} {} {a,b} { n } {1} \
                      { | {size}-{n-2}";
        assert_eq!(CommandLine::Shell(others.to_owned()).placeholders(), ["size", "n-2"]);
    }

    #[test]
    fn a_unit_goes_with_its_field_and_its_direction() {
        let of =
            |unit, field, better| FigureUnit::of(unit, field, better).map(|unit| unit.field.name);
        assert_eq!(
            of("1/s", Some("tokens_per_second"), Some(Better::Higher)),
            Ok("tokens_per_second")
        );
        assert_eq!(of("us", None, None), Ok("time_ms"));
        for (unit, field, better, told) in [
            ("MB", None, None, "one of ns"),
            ("1/s", Some("time_ms"), None, "not a field"),
            ("1/s", Some("speediness"), None, "not a field"),
            ("ms", None, Some(Better::Higher), "wrong direction"),
        ] {
            let message = of(unit, field, better).unwrap_err();
            assert!(message.contains(told), "{message}");
        }
    }
}
