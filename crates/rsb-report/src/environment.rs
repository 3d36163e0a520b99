//! Descriptions of the machine: one line for the head of a report, and a page for `probe`.

use rsb_model::Environment;
use rsb_model::environment::{Cache, Cpu, MachineState, RocmInstallation, UnreadGpu};
use rsb_model::shape::format_bytes;

use crate::gpus::{self, Section, entry};
use crate::markdown::escape;
use crate::number::{format_count, format_quantity};
use crate::style::{Style, Tone};
use crate::table::{Column, Table};

const UNKNOWN: &str = "unknown";

/// Returns the machine in one line: CPU, memory, GPUs, operating system.
pub fn line(environment: &Environment) -> String {
    let mut parts = Vec::new();
    if let Some(cpu) = &environment.cpu {
        let model = cpu.model.as_deref().unwrap_or("unknown CPU");
        parts.push(format!("{model} ({})", threads(cpu)));
    }
    parts.extend(environment.memory_gb.map(|gb| format!("{} memory", format_quantity(gb, "GB"))));
    parts.push(match environment.gpus.as_slice() {
        [] if !environment.unread_gpus.is_empty() => "no readable GPU".to_owned(),
        [] => "no GPU".to_owned(),
        [one] => one.label().to_owned(),
        [first, ..] => format!("{} × {}", environment.gpus.len(), first.label()),
    });
    let system: Vec<&str> =
        environment.os.iter().chain(&environment.kernel).map(String::as_str).collect();
    if !system.is_empty() {
        parts.push(system.join(", "));
    }
    parts.join(" · ")
}

fn threads(cpu: &Cpu) -> String {
    let usable = format_count(cpu.usable_cores as usize, "thread", "threads");
    match cpu.logical_cores {
        Some(all) if all != cpu.usable_cores => format!("{usable} of {all}"),
        _ => usable,
    }
}

fn sections(environment: &Environment) -> Vec<Section> {
    let mut sections = Vec::new();
    let has_host = has_host(environment);
    if has_host {
        sections.push(("Machine".to_owned(), machine(environment)));
    } else if has_no_gpu(environment) {
        sections.push(("Tree".to_owned(), vec![no_gpus()]));
    }
    let reached =
        if has_host { gpus::BackendDiscovery::Looked } else { gpus::BackendDiscovery::Unknown };
    sections.extend(gpus::sections(&environment.gpus, reached));
    if !environment.unread_gpus.is_empty() {
        sections
            .push(("Not read".to_owned(), environment.unread_gpus.iter().map(unread).collect()));
    }
    if has_host {
        sections.push(("Software".to_owned(), software(environment)));
    }
    if let Some(git) = &environment.git {
        let branch = git
            .branch
            .as_deref()
            .map_or_else(|| "detached".to_owned(), |branch| format!("branch {branch}"));
        let dirty = if git.dirty { ", with uncommitted changes" } else { "" };
        sections.push((
            "Source".to_owned(),
            vec![entry("commit", Some(format!("{} ({branch}{dirty})", git.commit)))],
        ));
    }
    if let Some(state) = &environment.state {
        sections.push(("State".to_owned(), state_lines(state)));
    }
    sections
}

/// Returns whether anything other than the GPUs was read. If a directory tree replaced /sys, the
/// remaining properties were not examined and must not be shown as "unknown" or "not found".
pub(crate) fn has_host(environment: &Environment) -> bool {
    let gpus = environment.clone();
    *environment
        != Environment { gpus: gpus.gpus, unread_gpus: gpus.unread_gpus, ..Environment::default() }
}

/// Returns whether the machine is known to have no GPU. A GPU that does not answer counts as one.
fn has_no_gpu(environment: &Environment) -> bool {
    environment.gpus.is_empty() && environment.unread_gpus.is_empty()
}

/// Returns a line such as `card0 does not answer; asked for its clocks`.
fn unread(gpu: &UnreadGpu) -> (String, Option<String>) {
    entry("GPU", Some(format!("{} {}; asked for {}", gpu.place, gpu.answer.describe(1), gpu.asked)))
}

fn machine(environment: &Environment) -> Vec<(String, Option<String>)> {
    let mut lines =
        vec![entry("system", environment.os.clone()), entry("kernel", environment.kernel.clone())];
    match &environment.cpu {
        None => lines.push(entry("CPU", None)),
        Some(cpu) => lines.extend(cpu_lines(cpu)),
    }
    lines.push(entry("memory", environment.memory_gb.map(|gb| format_quantity(gb, "GB"))));
    if has_no_gpu(environment) {
        lines.push(no_gpus());
    }
    lines
}

fn no_gpus() -> (String, Option<String>) {
    entry("GPUs", Some("no AMD, NVIDIA or Intel GPU".to_owned()))
}

fn cpu_lines(cpu: &Cpu) -> Vec<(String, Option<String>)> {
    let mut cores = format!("{} usable", threads(cpu));
    if let Some(physical) = cpu.physical_cores {
        cores.push_str(&format!(", {}", format_count(physical as usize, "core", "cores")));
    }
    if let Some(mhz) = cpu.max_mhz {
        cores.push_str(&format!(", up to {:.2} GHz", mhz / 1e3));
    }
    let mut lines = vec![
        entry("CPU", cpu.model.as_ref().map(|model| format!("{model}, {}", cpu.architecture))),
        entry("threads", Some(cores)),
    ];
    let caches: Vec<String> = cpu.caches.iter().map(cache_text).collect();
    lines.push(entry("caches", gpus::join_words(&caches)));
    lines.push(entry("vectors", gpus::join_words(&cpu.features)));
    lines.extend(cpu.hypervisor.clone().map(|name| entry("hypervisor", Some(name))));
    lines
}

fn cache_text(cache: &Cache) -> String {
    let size = format_bytes(cache.size_bytes);
    match cache.shared_by {
        Some(shared @ 2..) => format!("L{} {size} (shared by {shared})", cache.level),
        _ => format!("L{} {size}", cache.level),
    }
}

fn software(environment: &Environment) -> Vec<(String, Option<String>)> {
    let or_none =
        |version: &Option<String>| Some(version.clone().unwrap_or_else(|| "not found".to_owned()));
    let frameworks: Vec<String> =
        environment.frameworks.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let frameworks =
        if frameworks.is_empty() { "none found".to_owned() } else { frameworks.join(", ") };
    let mut lines = Vec::new();
    if environment.rocm_installations.is_empty() {
        lines.push(entry("ROCm", or_none(&environment.rocm)));
    }
    lines.extend(environment.rocm_installations.iter().flat_map(rocm));
    if environment.cuda.is_some() {
        lines.push(entry("CUDA toolkit", environment.cuda.clone()));
    }
    let drivers = environment.drivers.iter();
    lines.extend(drivers.map(|(device, driver)| entry(device, Some(driver.clone()))));
    lines.extend([
        entry("Python", or_none(&environment.python)),
        entry("frameworks", Some(frameworks)),
    ]);
    lines
}

fn rocm(one: &RocmInstallation) -> Vec<(String, Option<String>)> {
    let mut text =
        format!("{} in {}", one.version.as_deref().unwrap_or("of an unknown version"), one.path);
    let details = [("build", &one.build), ("built on", &one.build_date), ("commit", &one.commit)];
    for (name, value) in details {
        if let Some(value) = value {
            text.push_str(&format!(", {name} {value}"));
        }
    }
    let parts: Vec<String> =
        one.components.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let mut compilers = Vec::new();
    for compiler in &one.compilers {
        compilers.push(match &compiler.version {
            Some(version) => format!("{} {version}", compiler.name),
            None => compiler.name.clone(),
        });
    }
    let more = [
        ("components", gpus::join_words(&parts)),
        ("compilers", gpus::join_words(&compilers)),
        ("kernels for", gpus::join_words(&one.gpu_targets)),
    ];
    std::iter::once(entry("ROCm", Some(text))).chain(gpus::known_entries(more)).collect()
}

fn state_lines(state: &MachineState) -> Vec<(String, Option<String>)> {
    let known = [
        ("load", state.load_average.map(|load| format!("{load:.2}"))),
        ("governor", state.governor.clone()),
        ("clock", state.mhz.map(|mhz| format!("{:.2} GHz", mhz / 1e3))),
        ("steal", state.steal_percent.map(|percent| format!("{percent:.1} %"))),
        (
            "throttled",
            state.throttle_events.map(|count| format_count(count as usize, "time", "times")),
        ),
        ("temperature", state.temperature_c.map(|celsius| format!("{celsius:.0} °C"))),
    ];
    gpus::known_entries(known).collect()
}

/// Returns the conditions that probably disturbed the measurements, one sentence each.
pub fn warnings(environment: &Environment) -> &[String] {
    environment.state.as_ref().map_or(&[], |state| &state.warnings)
}

/// Formats the page for a terminal.
pub fn text(environment: &Environment, style: Style) -> String {
    let mut out = String::new();
    let sections = sections(environment);
    let names = sections.iter().flat_map(|(_, lines)| lines).map(|(name, _)| name);
    let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
    for (title, lines) in sections {
        out.push_str(&format!("{}\n", style.paint(Tone::Strong, &title)));
        for (name, value) in lines {
            // Wraps as if the name were part of the indent, so that values align.
            let indent = width + 4;
            let body = match value {
                Some(value) => style.wrap(&value, indent),
                None => format!("{:indent$}{}\n", "", style.paint(Tone::Dim, UNKNOWN)),
            };
            out.push_str(&format!("  {name:width$}  {}", body.trim_start()));
        }
        out.push('\n');
    }
    for warning in warnings(environment) {
        out.push_str(&style.line(Tone::Caution, &format!("warning: {warning}")));
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// Formats the page as sections of a Markdown document, each with a list.
pub fn markdown(environment: &Environment) -> String {
    let mut out = String::new();
    for (title, lines) in sections(environment) {
        out.push_str(&format!("**{title}**\n\n"));
        for (name, value) in lines {
            let value = value.as_deref().unwrap_or(UNKNOWN);
            out.push_str(&format!("- {}: {}\n", escape(&name), escape(value)));
        }
        out.push('\n');
    }
    out.extend(warnings(environment).iter().map(|warning| format!("> {}\n", escape(warning))));
    out
}

/// Position of a line on the page: section, name, and number of earlier lines with that name.
type Place = (String, String, usize);

fn lines(environment: &Environment) -> Vec<(Place, String)> {
    let mut lines: Vec<(Place, String)> = Vec::new();
    for (section, entries) in sections(environment) {
        for (name, value) in entries {
            let before =
                lines.iter().filter(|((of, known, _), _)| *of == section && *known == name).count();
            lines.push((
                (section.clone(), name, before),
                value.unwrap_or_else(|| UNKNOWN.to_owned()),
            ));
        }
    }
    lines
}

/// Value shown for a line that one of two machines does not have.
const ABSENT: &str = "absent";

fn value_at(lines: &[(Place, String)], place: &Place) -> String {
    lines
        .iter()
        .find(|(known, _)| known == place)
        .map_or_else(|| ABSENT.to_owned(), |(_, value)| value.clone())
}

/// Returns the differences between two machines, or one machine at two times: one row per line of
/// the page that differs.
pub fn differences(before: &Environment, now: &Environment) -> Table {
    let (before, now) = (lines(before), lines(now));
    let gone = before.iter().filter(|(place, _)| now.iter().all(|(known, _)| known != place));
    let mut table = Table::new([
        Column::left("property"),
        Column::left("in the baseline"),
        Column::left("now"),
    ]);
    for (place, _) in now.iter().chain(gone) {
        let sides = [&before, &now].map(|side| value_at(side, place));
        if sides[0] != sides[1] {
            let (section, name, _) = place;
            let [then, today] = &sides;
            table.push([format!("{section}: {name}").into(), then.into(), today.into()]);
        }
    }
    table
}

/// Returns the page as one table per section, with the differing values of `before`.
pub fn tables(now: &Environment, before: Option<&Environment>) -> Vec<(String, Table)> {
    let before = before.map(lines);
    let mut tables: Vec<(String, Table)> = Vec::new();
    for (place, value) in lines(now) {
        let then =
            before.as_ref().map(|before| value_at(before, &place)).filter(|then| *then != value);
        let (section, name, _) = place;
        if tables.last().is_none_or(|(title, _)| *title != section) {
            let columns =
                [Column::left("property"), Column::left("value"), Column::left("in the baseline")];
            tables.push((section, Table::new(columns)));
        }
        if let Some((_, table)) = tables.last_mut() {
            table.push([name.into(), value.into(), then.unwrap_or_default().into()]);
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn what_differs_is_told_line_by_line_and_what_is_alike_is_not() {
        let before = sample::environment();
        assert!(differences(&before, &before).is_empty());
        let mut now = before.clone();
        now.kernel = Some("6.12.0".into());
        now.git = None;
        now.memory_gb = None;
        now.frameworks.insert("triton".into(), "3.5".into());
        let table = differences(&before, &now);
        let rows: Vec<Vec<&str>> = table
            .rows()
            .iter()
            .map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect())
            .collect();
        assert_eq!(rows[0], ["Machine: kernel", "6.1.0-18-amd64", "6.12.0"]);
        assert_eq!(rows[1], ["Machine: memory", "8.15 GB", "unknown"]);
        assert_eq!(rows[2][0], "Software: frameworks");
        assert_eq!((rows[3][0], rows[3][2], rows.len()), ("Source: commit", "absent", 4));
        let tables = tables(&now, Some(&before));
        let (title, machine) = &tables[0];
        let then: Vec<&str> = machine.rows().iter().map(|row| row.cells[2].text.as_str()).collect();
        assert_eq!((title.as_str(), &then[..2]), ("Machine", &["", "6.1.0-18-amd64"][..]));
    }
}
