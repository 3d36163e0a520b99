//! The Python environment in which frameworks are measured, and the components that can run in it.

use std::path::Path;

use anyhow::anyhow;
use rsb_catalog::frameworks::{self, PythonEnvironment};
use rsb_engine::python_worker;
use rsb_model::Reason;
use rsb_model::format::FORMAT_VERSION;
use serde_json::{Value, json};

/// The environment of an interpreter, or the reason why there is none.
pub struct EnvironmentReport {
    found: Result<PythonEnvironment, Reason>,
    is_named: bool,
}

impl EnvironmentReport {
    /// Inspects the environment of `python`, else of the default interpreter.
    pub fn new(python: Option<&Path>) -> Self {
        let found = python.map_or_else(frameworks::default_environment, frameworks::ask);
        Self { found, is_named: python.is_some() }
    }

    /// Returns whether there is an environment.
    pub const fn is_found(&self) -> bool {
        self.found.is_ok()
    }

    /// Returns the installed packages of components, with their versions.
    fn packages(&self) -> Vec<(String, String)> {
        let known: Vec<&str> = frameworks::all()
            .iter()
            .flat_map(|component| component.packages.iter().chain(component.install))
            .copied()
            .collect();
        let packages = self.found.as_ref().map(frameworks::packages_of).unwrap_or_default();
        packages
            .into_iter()
            .filter(|(name, _)| known.contains(name))
            .map(|(name, version)| (name.to_owned(), version.to_owned()))
            .collect()
    }

    /// Returns the environment and its packages as a JSON document.
    pub fn packages_document(&self) -> Value {
        let found = self.found.as_ref().ok();
        let packages: serde_json::Map<_, _> =
            self.packages().into_iter().map(|(name, version)| (name, json!(version))).collect();
        json!({
            "format_version": FORMAT_VERSION,
            "program": found.map(|found| &found.program),
            "version": found.map(|found| &found.version),
            "packages": packages,
        })
    }

    /// Formats the environment and its packages for people.
    ///
    /// # Errors
    /// If there is no environment.
    pub fn packages_text(&self) -> anyhow::Result<String> {
        let found = self.found.as_ref().map_err(|reason| anyhow!("{reason}"))?;
        let mut text = format!("Python {} at {}\n", found.version, found.program.display());
        for (name, version) in self.packages() {
            text.extend(["  ", &name, " ", &version, "\n"]);
        }
        Ok(text)
    }

    /// Returns whether each component can run.
    pub fn components(&self) -> Vec<ComponentState> {
        let mut states = Vec::new();
        for component in frameworks::all() {
            // Some components may have their own environment, unless one was named.
            let environment = if self.is_named {
                self.found.clone()
            } else {
                frameworks::of_component(component)
            };
            let state = environment
                .and_then(|environment| python_worker::readiness_in(component.name, &environment));
            states.push(ComponentState { name: component.name, state });
        }
        states
    }

    /// Returns `states` as a JSON document.
    pub fn doctor_document(&self, states: &[ComponentState]) -> Value {
        let rows: Vec<_> = states.iter().map(ComponentState::document).collect();
        json!({
            "format_version": FORMAT_VERSION,
            "program": self.found.as_ref().ok().map(|found| &found.program),
            "components": rows,
        })
    }

    /// Formats `states` for people.
    pub fn doctor_text(&self, states: &[ComponentState]) -> String {
        let head = self.found.as_ref().map_or_else(
            |reason| format!("no Python: {reason}"),
            |found| format!("Python {} at {}", found.version, found.program.display()),
        );
        let mut lines = vec![head];
        for ComponentState { name, state } in states {
            lines.push(match state {
                Ok(()) => format!("  {name}: ready"),
                Err(reason) => format!("  {name}: {reason}"),
            });
        }
        lines.join("\n")
    }
}

/// Whether a component can run.
pub struct ComponentState {
    name: &'static str,
    state: Result<(), Reason>,
}

impl ComponentState {
    fn document(&self) -> Value {
        let reason = self.state.as_ref().err();
        json!({
            "component_id": self.name,
            "runnable": reason.is_none(),
            "what": reason.map(|reason| &reason.what),
            "why": reason.map(|reason| &reason.why),
            "cure": reason.map(|reason| &reason.cure),
        })
    }
}
