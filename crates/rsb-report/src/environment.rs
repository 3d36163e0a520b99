//! The machine: one line for the head of a report, a page for `probe`.

use rsb_model::Environment;
use rsb_model::environment::{Cache, Cpu, MachineState, RocmInstallation, UnreadGpu};
use rsb_model::shape::format_bytes;

use crate::gpus;

use crate::markdown::escape;
use crate::number::{format_count, format_quantity};
use crate::style::{Style, Tone};

const UNKNOWN: &str = "unknown";

/// The machine in a line: CPU, memory, GPUs, system.
pub fn line(environment: &Environment) -> String {
    let mut parts = Vec::new();
    if let Some(cpu) = &environment.cpu {
        let model = cpu.model.as_deref().unwrap_or("unknown CPU");
        parts.push(format!("{model} ({})", threads(cpu)));
    }
    parts.extend(environment.memory_gb.map(|gb| format!("{} memory", format_quantity(gb, "GB"))));
    parts.push(match environment.gpus.as_slice() {
        [] if !environment.unread_gpus.is_empty() => "no GPU that could be read".to_owned(),
        [] => "no GPU".to_owned(),
        [one] => one.label().to_owned(),
        [first, ..] => format!("{} × {}", environment.gpus.len(), first.label()),
    });
    let system: Vec<&str> = environment.os.iter().chain(&environment.kernel).map(String::as_str).collect();
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

/// A titled part of the page: name and value of each line. A value that is not known is `None`.
pub(crate) type Section = (String, Vec<(String, Option<String>)>);

fn sections(environment: &Environment) -> Vec<Section> {
    let mut sections = Vec::new();
    let has_host = has_host(environment);
    if has_host {
        sections.push(("Machine".to_owned(), machine(environment)));
    } else if has_no_gpu(environment) {
        sections.push(("Tree".to_owned(), vec![no_gpus()]));
    }
    let reached = if has_host { gpus::Reach::Looked } else { gpus::Reach::Unknown };
    sections.extend(gpus::sections(&environment.gpus, reached));
    if !environment.unread_gpus.is_empty() {
        sections.push(("Not read".to_owned(), environment.unread_gpus.iter().map(unread).collect()));
    }
    if has_host {
        sections.push(("Software".to_owned(), software(environment)));
    }
    if let Some(git) = &environment.git {
        let branch = git.branch.as_deref().map_or_else(|| "detached".to_owned(), |branch| format!("branch {branch}"));
        let dirty = if git.dirty { ", with changes that are not committed" } else { "" };
        sections.push(("Source".to_owned(), vec![entry("commit", Some(format!("{} ({branch}{dirty})", git.commit)))]));
    }
    if let Some(state) = &environment.state {
        sections.push(("State".to_owned(), state_lines(state)));
    }
    sections
}

/// Whether more than GPUs was read. Of a tree that stands for /sys alone, the rest is not "unknown" or "not found": it
/// was not looked at.
pub(crate) fn has_host(environment: &Environment) -> bool {
    let gpus = environment.clone();
    *environment != Environment { gpus: gpus.gpus, unread_gpus: gpus.unread_gpus, ..Environment::default() }
}

/// Whether it is known that there is no GPU. One that does not answer is one.
fn has_no_gpu(environment: &Environment) -> bool {
    environment.gpus.is_empty() && environment.unread_gpus.is_empty()
}

/// `card0 does not answer; asked for its clocks`.
fn unread(gpu: &UnreadGpu) -> (String, Option<String>) {
    entry("GPU", Some(format!("{} {}; asked for {}", gpu.place, gpu.answer.said(1), gpu.asked)))
}

fn entry(name: &str, value: Option<String>) -> (String, Option<String>) {
    (name.to_owned(), value)
}

fn machine(environment: &Environment) -> Vec<(String, Option<String>)> {
    let mut lines = vec![entry("system", environment.os.clone()), entry("kernel", environment.kernel.clone())];
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
    entry("GPUs", Some("none found".to_owned()))
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
    let list = |words: Vec<String>| (!words.is_empty()).then(|| words.join(", "));
    lines.push(entry("caches", list(cpu.caches.iter().map(cache_text).collect())));
    lines.push(entry("vectors", list(cpu.features.clone())));
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
    let or_none = |version: &Option<String>| Some(version.clone().unwrap_or_else(|| "not found".to_owned()));
    let frameworks: Vec<String> =
        environment.frameworks.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let frameworks = if frameworks.is_empty() { "none found".to_owned() } else { frameworks.join(", ") };
    let mut lines = Vec::new();
    if environment.rocm_installations.is_empty() {
        lines.push(entry("ROCm", or_none(&environment.rocm)));
    }
    lines.extend(environment.rocm_installations.iter().flat_map(rocm));
    lines.extend([entry("Python", or_none(&environment.python)), entry("frameworks", Some(frameworks))]);
    lines
}

/// An installation of ROCm and what is in it.
fn rocm(one: &RocmInstallation) -> Vec<(String, Option<String>)> {
    let mut text = format!("{} in {}", one.version.as_deref().unwrap_or("of an unknown version"), one.path);
    let details = [("build", &one.build), ("built on", &one.build_date), ("commit", &one.commit)];
    for (name, value) in details {
        if let Some(value) = value {
            text.push_str(&format!(", {name} {value}"));
        }
    }
    let list = |words: Vec<String>| (!words.is_empty()).then(|| words.join(", "));
    let parts = one.components.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let compilers = one.compilers.iter().map(|compiler| match &compiler.version {
        Some(version) => format!("{} {version}", compiler.name),
        None => compiler.name.clone(),
    });
    let more = [
        ("components", list(parts)),
        ("compilers", list(compilers.collect())),
        ("kernels for", list(one.gpu_targets.clone())),
    ];
    let more = more.into_iter().filter(|(_, value)| value.is_some()).map(|(name, value)| entry(name, value));
    std::iter::once(entry("ROCm", Some(text))).chain(more).collect()
}

fn state_lines(state: &MachineState) -> Vec<(String, Option<String>)> {
    let known = [
        ("load", state.load_average.map(|load| format!("{load:.2}"))),
        ("governor", state.governor.clone()),
        ("clock", state.mhz.map(|mhz| format!("{:.2} GHz", mhz / 1e3))),
        ("steal", state.steal_percent.map(|percent| format!("{percent:.1} %"))),
        ("throttled", state.throttle_events.map(|count| format_count(count as usize, "time", "times"))),
        ("temperature", state.temperature_c.map(|celsius| format!("{celsius:.0} °C"))),
    ];
    known.into_iter().filter(|(_, value)| value.is_some()).map(|(name, value)| entry(name, value)).collect()
}

fn warnings(environment: &Environment) -> &[String] {
    environment.state.as_ref().map_or(&[], |state| &state.warnings)
}

/// The page, for a terminal.
pub fn text(environment: &Environment, style: Style) -> String {
    let mut out = String::new();
    let sections = sections(environment);
    let width = sections.iter().flat_map(|(_, lines)| lines).map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (title, lines) in sections {
        out.push_str(&format!("{}\n", style.paint(Tone::Strong, &title)));
        for (name, value) in lines {
            // Wrapped as if the name were part of the indent, so that values stand under each other.
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
        out.push_str(&style.paint(Tone::Caution, style.wrap(&format!("warning: {warning}"), 0).trim_end()));
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// As sections of a Markdown document, a list each.
pub fn markdown(environment: &Environment) -> String {
    let mut out = String::new();
    for (title, lines) in sections(environment) {
        out.push_str(&format!("**{title}**\n\n"));
        for (name, value) in lines {
            out.push_str(&format!("- {}: {}\n", escape(&name), escape(value.as_deref().unwrap_or(UNKNOWN))));
        }
        out.push('\n');
    }
    out.extend(warnings(environment).iter().map(|warning| format!("> {}\n", escape(warning))));
    out
}
