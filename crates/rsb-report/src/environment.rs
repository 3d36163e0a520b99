//! The machine: one line for the head of a report, a page for `probe`.

use rsb_model::Environment;
use rsb_model::environment::{Cache, Cpu, Gpu, MachineState};
use rsb_model::shape::format_bytes;

use crate::markdown::escape;
use crate::number::{format_count, format_quantity};
use crate::style::{Style, Tone};

const UNKNOWN: &str = "unknown";

/// The machine in a line: processor, memory, cards, system.
pub fn line(environment: &Environment) -> String {
    let mut parts = Vec::new();
    if let Some(cpu) = &environment.cpu {
        let model = cpu.model.as_deref().unwrap_or("unknown processor");
        parts.push(format!("{model} ({})", threads(cpu)));
    }
    parts.extend(environment.memory_gb.map(|gb| format!("{} memory", format_quantity(gb, "GB"))));
    parts.push(match environment.gpus.as_slice() {
        [] => "no GPU".to_owned(),
        [one] => name(one).to_owned(),
        [first, ..] => format!("{} × {}", environment.gpus.len(), name(first)),
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

fn name(gpu: &Gpu) -> &str {
    gpu.name.as_deref().or(gpu.gfx_target.as_deref()).or(gpu.pci_id.as_deref()).unwrap_or("unknown GPU")
}

/// A titled part of the page: name and value of each line. A value that is not known is `None`.
type Section = (&'static str, Vec<(String, Option<String>)>);

fn sections(environment: &Environment) -> Vec<Section> {
    let mut sections = vec![("Machine", machine(environment)), ("Software", software(environment))];
    if let Some(git) = &environment.git {
        let branch = git.branch.as_deref().map_or_else(|| "detached".to_owned(), |branch| format!("branch {branch}"));
        let dirty = if git.dirty { ", with changes that are not committed" } else { "" };
        sections.push(("Source", vec![entry("commit", Some(format!("{} ({branch}{dirty})", git.commit)))]));
    }
    if let Some(state) = &environment.state {
        sections.push(("State", state_lines(state)));
    }
    sections
}

fn entry(name: &str, value: Option<String>) -> (String, Option<String>) {
    (name.to_owned(), value)
}

fn machine(environment: &Environment) -> Vec<(String, Option<String>)> {
    let mut lines = vec![entry("system", environment.os.clone()), entry("kernel", environment.kernel.clone())];
    match &environment.cpu {
        None => lines.push(entry("processor", None)),
        Some(cpu) => lines.extend(cpu_lines(cpu)),
    }
    lines.push(entry("memory", environment.memory_gb.map(|gb| format_quantity(gb, "GB"))));
    if environment.gpus.is_empty() {
        lines.push(entry("GPUs", Some("none found".to_owned())));
    }
    lines.extend(environment.gpus.iter().map(|gpu| entry(&format!("GPU {}", gpu.index), Some(gpu_text(gpu)))));
    lines
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
        entry("processor", cpu.model.as_ref().map(|model| format!("{model}, {}", cpu.architecture))),
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

fn gpu_text(gpu: &Gpu) -> String {
    let mut parts = vec![name(gpu).to_owned()];
    let named = gpu.name.is_some();
    parts.extend(gpu.gfx_target.clone().filter(|_| named));
    parts.extend(gpu.compute_units.map(|units| format!("{units} compute units")));
    parts.extend(gpu.vram_gb.map(|gb| format_quantity(gb, "GB")));
    parts.extend(gpu.memory_bandwidth_gb_s.map(|rate| format!("up to {}", format_quantity(rate, "GB/s"))));
    parts.extend(gpu.partition.clone());
    parts.extend(gpu.driver.clone());
    parts.extend(gpu.pci_address.clone());
    parts.push(match gpu.backends.as_slice() {
        [] => "reached by no run time".to_owned(),
        backends => format!("reached by {}", backends.join(", ")),
    });
    parts.join(", ")
}

fn software(environment: &Environment) -> Vec<(String, Option<String>)> {
    let or_none = |version: &Option<String>| Some(version.clone().unwrap_or_else(|| "not found".to_owned()));
    let frameworks: Vec<String> =
        environment.frameworks.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let frameworks = if frameworks.is_empty() { "none found".to_owned() } else { frameworks.join(", ") };
    vec![
        entry("ROCm", or_none(&environment.rocm)),
        entry("Python", or_none(&environment.python)),
        entry("frameworks", Some(frameworks)),
    ]
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
        out.push_str(&format!("{}\n", style.paint(Tone::Strong, title)));
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
