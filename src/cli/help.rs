//! The first screen, the overview of `--help`, and `help`.

use clap::builder::StyledStr;
use clap::{Args, Command, CommandFactory};
use rsb_catalog::frameworks;
use rsb_report::{Color, Style};

use super::{Cli, command};

/// The text that is shown without arguments.
pub const CARD: &str = "\
rusty-stack-bench measures this machine or your code. Its gate exits with 3 if
a case is more than 10 % slower, and with 4 if there is no verdict.

Start here:
  rusty-stack-bench run             measure this machine and store the result
  rusty-stack-bench baseline save   save the latest run as the baseline
  rusty-stack-bench run && rusty-stack-bench gate   later: what got slower?

In a Rust project with Criterion or Divan benchmarks:
  rusty-stack-bench gate --against main   did my branch make anything slower?

More:
  rusty-stack-bench list            benchmarks that can run here
  rusty-stack-bench --help          all commands
  rusty-stack-bench help COMMAND    one command and its flags";

/// Arguments of `help`.
#[derive(Debug, Clone, Args)]
pub struct HelpArgs {
    /// Show the short help of every command
    #[arg(long, conflicts_with = "command")]
    pub all: bool,
    /// Show the help of this command, such as `baseline save`
    pub command: Vec<String>,
}

/// The subcommands by purpose. Benchmarks are listed by name below them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["list", "run", "watch", "tui", "fleet"]),
    ("Judge", &["gate", "compare", "bisect", "baseline"]),
    (
        "History",
        &["history", "trend", "health", "notify", "query", "export", "import", "prune", "store"],
    ),
    ("Reports", &["report", "chart", "serve"]),
    ("Models", &["models", "recommend", "components", "python"]),
    (
        "Setup",
        &[
            "doctor",
            "probe",
            "gpu-capability",
            "init",
            "config",
            "schema",
            "completions",
            "man",
            "help",
        ],
    ),
];

/// Width of the overview in columns, on any terminal.
const WIDTH: usize = 80;
/// Width of the name column in the overview.
const NAME: usize = 15;

/// Returns the help of the program: its subcommands in groups, and the names of the benchmarks.
pub(super) fn overview() -> String {
    let command = Cli::command();
    let mut text =
        format!("{}\n\n", command.get_about().map(ToString::to_string).unwrap_or_default());
    text.extend([&heading("Usage: "), "rusty-stack-bench [OPTIONS] [COMMAND]\n"]);
    for (group, names) in GROUPS {
        text.extend(["\n", &heading(group), "\n"]);
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.extend(["  ", &format!("{name:<NAME$}"), " ", &about, "\n"]);
        }
    }
    text.extend([
        "\n",
        &heading("Benchmarks"),
        ": one by its name, or all with `all` (quick profile)\n",
    ]);
    let names: Vec<&str> = benchmarks().collect();
    text.push_str(&Style { width: WIDTH, ..Style::PLAIN }.wrap(&names.join(" "), 2));
    text.push_str(
        "\nOptions: --color auto|always|never, -h or --help, -V or --version\n\
         Exit: 0 pass, 1 failure, 2 usage, 3 regression, 4 no verdict, 5 nothing ran\n\
         More: rusty-stack-bench help COMMAND, or rusty-stack-bench help --all\n",
    );
    text
}

fn heading(text: &str) -> String {
    format!("\u{1b}[1m{text}\u{1b}[0m")
}

/// Returns the names of all benchmarks, in the order of the catalog.
fn benchmarks() -> impl Iterator<Item = &'static str> {
    let native = rsb_workloads::all().iter().map(|benchmark| benchmark.name());
    native.chain(
        frameworks::all().iter().map(|component| component.name).filter(|name| !is_grouped(name)),
    )
}

fn is_grouped(name: &str) -> bool {
    GROUPS.iter().any(|(_, names)| names.contains(&name))
}

/// Returns the overview, then the help of every command.
pub fn everything(style: Style) -> String {
    let mut command = command();
    command.build();
    let mut text = overview();
    add_all(&mut command, &mut text);
    match style.color {
        Color::Always => text,
        Color::Never => StyledStr::from(text).to_string(),
    }
}

fn add_all(command: &mut Command, text: &mut String) {
    for subcommand in command.get_subcommands_mut().filter(|subcommand| !subcommand.is_hide_set()) {
        let name = subcommand.get_bin_name().unwrap_or_default().to_owned();
        text.extend(["\n", &heading(&name), "\n\n", &subcommand.render_help().ansi().to_string()]);
        add_all(subcommand, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        StyledStr::from(text.to_owned()).to_string()
    }

    #[test]
    fn the_first_screens_fit_a_terminal() {
        insta::assert_snapshot!("card", CARD);
        insta::assert_snapshot!("overview", plain(&overview()));
        for (text, most) in [(CARD.to_owned(), 25), (plain(&overview()), 60)] {
            assert!(text.lines().count() <= most, "{} lines", text.lines().count());
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        }
    }

    #[test]
    fn every_subcommand_is_in_one_group_or_a_benchmark() {
        let benchmarks: Vec<&str> = benchmarks().collect();
        for subcommand in command().get_subcommands() {
            let name = subcommand.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            let places = groups + benchmarks.iter().filter(|benchmark| **benchmark == name).count();
            assert_eq!(places, usize::from(name != super::super::ALL), "{name}");
        }
    }

    #[test]
    fn everything_has_the_flags_of_nested_commands() {
        let text = everything(Style::PLAIN);
        assert!(text.contains("rusty-stack-bench baseline save") && text.contains("--replicates"));
    }

    /// Flags with detailed help also need a short first line.
    #[test]
    fn help_texts_are_one_short_line() {
        fn check(command: &Command) {
            let arguments = command.get_arguments().filter_map(|argument| argument.get_help());
            for help in arguments.chain(command.get_about()) {
                let help = help.to_string();
                let is_short =
                    help.chars().count() < 80 && !help.contains('\n') && !help.ends_with('.');
                assert!(is_short, "{}: {help}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
