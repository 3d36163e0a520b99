//! Jobs of the interface, run one after the other by the functions of the subcommands, so that
//! nothing else works while a run is measured.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use rsb_catalog::plan::{Machine, Plan, Selection};
use rsb_engine::measure::Settings;
use rsb_engine::{machine, run as engine};
use rsb_insight::health::HealthLimits;
use rsb_insight::model_results::{self, RecommendRequest};
use rsb_model::record::{AlertState, CampaignDocument};
use rsb_model::{Event, Outcome, Profile, Reason, Run, Timestamp};
use rsb_probe::ProbeOptions;
use rsb_report::Style;
use rsb_store::{MergedFile, Store};
use rsb_tui::{
    Command, ComponentRow, HistoryPage, LoadedDocument, Message, PlanSummary, RunEnd, RunSelection,
    StoredRun, Subject,
};

use super::offers;
use super::session::Incoming;
use crate::decision::{self, DecisionInput};
use crate::fleet::{self, CampaignState};
use crate::log::LogOptions;
use crate::measure::{self, MeasureOptions};
use crate::report::{self, ReportFormat};
use crate::{
    AppError, ProjectContext, ProjectPaths, baseline, compare, components, error_chain, health,
    history, judge, project, recommend, trend,
};

/// Maximum number of earlier runs whose results are drawn next to the lists.
const MOST_RECENT: usize = 10;
/// Minimum time between two reads of a campaign.
const CAMPAIGN_PAUSE: Duration = Duration::from_secs(5);

/// Worker that runs the jobs.
pub(super) struct JobWorker {
    pub(super) paths: ProjectPaths,
    pub(super) project: ProjectContext,
    /// Writes events of the engine to standard error, which is shown on the page.
    pub(super) tell: fn(&Event),
    pub(super) incoming: Sender<Incoming>,
    machine: Option<Machine>,
    /// Directory of a run that is not kept yet.
    unkept: Option<tempfile::TempDir>,
    /// Whether a thread waits to load the campaign again.
    is_due_later: Arc<AtomicBool>,
}

impl JobWorker {
    pub(super) fn new(
        paths: ProjectPaths,
        project: ProjectContext,
        tell: fn(&Event),
        incoming: Sender<Incoming>,
    ) -> Self {
        let is_due_later = Arc::default();
        Self { paths, project, tell, incoming, machine: None, unkept: None, is_due_later }
    }

    /// Runs commands until the sender is dropped.
    pub(super) fn work(mut self, commands: &Receiver<Command>) {
        for command in commands {
            let done = catch_unwind(AssertUnwindSafe(|| self.perform(&command)));
            // The panic message itself is already on the page.
            let message = done.unwrap_or_else(|_| {
                failure_message(
                    &command,
                    "an internal error occurred; report this as a bug".to_owned(),
                )
            });
            if self.incoming.send(Incoming::Message(message)).is_err() {
                return;
            }
            if matches!(command, Command::Load(Subject::Offers)) {
                // The lists are sent before their charts, so that a panic while reading the charts
                // does not affect the lists.
                let _ = catch_unwind(AssertUnwindSafe(|| self.send_recent()));
            }
        }
    }

    fn perform(&mut self, command: &Command) -> Message {
        let done = match command {
            Command::Load(subject) => self.load(*subject),
            Command::OpenRun(id) => self.open_run(id),
            Command::Plan(wish) => {
                return Message::Planned(
                    self.preview(wish).map_err(|error| describe_error(&error)),
                );
            }
            Command::Measure(wish) => {
                return Message::Ended(self.measure(wish).map_err(|error| describe_error(&error)));
            }
            Command::Resume(run) => {
                return Message::Ended(
                    self.measure_on(run).map_err(|error| describe_error(&error)),
                );
            }
            Command::Compare { baseline, current } => self.compare(baseline, current),
            Command::SaveBaseline(run) => self.save_baseline(run),
            Command::WriteReport(run) => self.write_report(run),
            Command::Acknowledge { alert, because, seen } => {
                self.acknowledge(alert, because, *seen)
            }
            Command::KeepRun => self.keep_run(),
            // Not handled by this thread.
            Command::Draw | Command::Stop | Command::Copy(_) | Command::Quit(_) => {
                return Message::Done;
            }
        };
        done.unwrap_or_else(|error| failure_message(command, describe_error(&error)))
    }

    fn listener(&self) -> impl FnMut(&Event) + use<> {
        let tell = self.tell;
        move |event: &Event| tell(event)
    }

    /// Shows `text` on the page.
    fn say(&self, text: &str) {
        for line in rsb_report::presentable(text).lines() {
            let message = Message::Said(line.trim_end().to_owned());
            // If the drawing thread has ended, nothing is shown.
            let _ = self.incoming.send(Incoming::Message(message));
        }
    }

    fn store(&self) -> Result<Store, AppError> {
        self.project.store(&mut self.listener())
    }

    fn load(&mut self, subject: Subject) -> Result<Message, AppError> {
        Ok(Message::Loaded(match subject {
            Subject::Offers => {
                let here = machine::here();
                let offers = offers::offers(&here, &self.project.config.custom, |wish| {
                    self.plan(wish, &here).ok()
                });
                self.machine = Some(here);
                LoadedDocument::Offers(offers)
            }
            Subject::Components => {
                let rows =
                    components::rows(&ProjectContext::open(&self.paths)?, &mut self.listener())?;
                LoadedDocument::Components(rows.iter().map(component_row).collect())
            }
            Subject::Runs => LoadedDocument::Runs {
                runs: history::runs(&self.store()?)?,
                baselines: baseline::rows(&self.project.directories, &mut self.listener()),
            },
            Subject::Fleet => LoadedDocument::Fleet(Box::new(self.newest_campaign()?)),
            Subject::History => {
                let store = self.store()?;
                let look = trend::look(&store, &mut self.listener())?;
                let health = health::page(&store, &look, HealthLimits::default())?;
                let runs = recommend::of_models(&store)?;
                let models = model_results::recommend(&runs, RecommendRequest::LATENCY);
                let (trends, alerts, now) = (look.document, look.tracked.alerts, look.now);
                let page = HistoryPage { trends, alerts, health, models, now };
                LoadedDocument::History(Box::new(page))
            }
            Subject::Machine => LoadedDocument::Machine {
                findings: rsb_probe::doctor::examine(&ProbeOptions::default()),
                environment: Box::new(machine::environment()),
            },
            Subject::Run | Subject::Comparison => {
                return Err(anyhow!("a run or comparison must be requested by name").into());
            }
        }))
    }

    /// Sends the newest results of this machine. Without a stored run, sends nothing.
    fn send_recent(&self) {
        let recent = || -> Result<Run, AppError> {
            let store = self.project.store(&mut |_: &Event| {})?;
            let latest = project::chosen_run(&store, None, &mut |_: &Event| {})?;
            history::add_other_results(&store, latest, MOST_RECENT)
        };
        if let Ok(run) = recent() {
            let message = Message::Loaded(LoadedDocument::Recent(Box::new(run)));
            // If the drawing thread has ended, nothing is shown.
            let _ = self.incoming.send(Incoming::Message(message));
        }
    }

    /// Reads the newest campaign. While it is active, the interface loads it again and again.
    fn newest_campaign(&self) -> Result<CampaignDocument, AppError> {
        let begun = Instant::now();
        let campaigns = fleet::campaigns()?;
        let Some(newest) = campaigns.first() else {
            let cure = "`fleet submit` starts one";
            return Err(AppError::usage(anyhow!("there is no campaign; {cure}")));
        };
        let document = CampaignState::read(&newest.name)?.into_document();
        if document.is_active && !self.is_due_later.swap(true, Ordering::Relaxed) {
            let (incoming, is_due_later) = (self.incoming.clone(), Arc::clone(&self.is_due_later));
            let pause = CAMPAIGN_PAUSE.max(begun.elapsed() * 10);
            thread::spawn(move || {
                thread::sleep(pause);
                is_due_later.store(false, Ordering::Relaxed);
                // If the drawing thread has ended, nothing is shown.
                let _ = incoming.send(Incoming::Message(Message::Due(Subject::Fleet)));
            });
        }
        Ok(document)
    }

    fn open_run(&self, id: &str) -> Result<Message, AppError> {
        let run = self.store()?.run(id).map_err(AppError::usage)?;
        Ok(Message::Loaded(LoadedDocument::Run(Box::new(run))))
    }

    /// Resolves `wish` with the configuration and the environment, as `run` does.
    fn resolve(&self, wish: &RunSelection) -> Result<(Selection, Settings), AppError> {
        let options = MeasureOptions { profile: wish.profile, ..MeasureOptions::default() };
        measure::resolve(&wish.names, wish.suite, &options, &self.project.config)
    }

    /// Plans `wish` on `machine`, and returns the profile.
    fn plan(&self, wish: &RunSelection, machine: &Machine) -> Result<(Plan, Profile), AppError> {
        let (selection, settings) = self.resolve(wish)?;
        Ok((measure::plan(&selection, machine, &self.project.config)?, settings.profile))
    }

    fn preview(&mut self, wish: &RunSelection) -> Result<PlanSummary, AppError> {
        let here = self.machine.take().unwrap_or_else(machine::here);
        let planned = self.plan(wish, &here);
        self.machine = Some(here);
        let (plan, profile) = planned?;
        Ok(PlanSummary {
            cases: plan.cases.len(),
            profile: profile.as_str().to_owned(),
            without: counted(&plan),
            notes: plan.notes.iter().map(ToString::to_string).collect(),
        })
    }

    /// Measures like the subcommand `run`. If runs are only kept on request, the run is written to
    /// a temporary directory.
    fn measure(&mut self, wish: &RunSelection) -> Result<Box<RunEnd>, AppError> {
        let (selection, settings) = self.resolve(wish)?;
        let plan = measure::plan(&selection, &machine::here(), &self.project.config)?;
        let keeps = self.project.config.tui.save_results_automatically;
        self.unkept = if keeps { None } else { Some(tempfile::tempdir()?) };
        let results = self
            .unkept
            .as_ref()
            .map_or(self.project.directories.results.as_path(), |dir| dir.path());
        let store = project::open_results(results, &mut self.listener())?;
        let suite = engine::suite_name(&selection);
        let log = LogOptions::default().place(&self.project.config, &store)?;
        let finished = measure::measure(&plan, &suite, &settings, &store, &log, &mut self.drawn())?;
        Ok(run_end(finished, keeps))
    }

    /// Continues a run like `run --resume`.
    fn measure_on(&self, id: &str) -> Result<Box<RunEnd>, AppError> {
        let store = project::open_results(&self.project.directories.results, &mut self.listener())?;
        let options = MeasureOptions::default();
        let finished =
            measure::resume(id, &options, &self.project.config, &store, &mut self.drawn())?;
        Ok(run_end(finished, true))
    }

    /// Returns a listener that has each event drawn before the next sample.
    fn drawn(&self) -> impl FnMut(&Event) + use<> {
        let incoming = self.incoming.clone();
        move |event: &Event| {
            let (drawn, wait) = sync_channel(0);
            let message = Message::Happened { event: event.clone(), at: Timestamp::now() };
            // The drawing thread answers after drawing; if it has ended, nothing is drawn.
            if incoming.send(Incoming::Engine(message, drawn)).is_ok() {
                let _ = wait.recv();
            }
        }
    }

    fn compare(&self, baseline: &str, current: &str) -> Result<Message, AppError> {
        let judge = self.project.judge(Vec::new(), &mut self.listener())?;
        let result = compare::compare_sides(&judge, baseline, &[current.to_owned()])?.result;
        judge::keep(&judge, &result, &mut self.listener());
        Ok(Message::Loaded(LoadedDocument::Comparison(Box::new(result))))
    }

    fn save_baseline(&self, run: &str) -> Result<Message, AppError> {
        let project = ProjectContext::open(&self.paths)?;
        let saved = baseline::save(&project, None, &[run.to_owned()], &mut self.listener())?;
        self.say(&saved.text(&project.directories));
        Ok(Message::Done)
    }

    fn write_report(&self, run: &str) -> Result<Message, AppError> {
        let project = ProjectContext::open(&self.paths)?;
        let listener = &mut self.listener();
        let store = project.store(listener)?;
        let run = store.run(run).map_err(AppError::usage)?;
        let forms = [ReportFormat::Markdown];
        for path in report::write_beside(&forms, &project, &store, &run, listener)? {
            self.say(&format!("report: {}", path.display()));
        }
        Ok(Message::Done)
    }

    /// Acknowledges the change, and returns the history with it.
    fn acknowledge(
        &mut self,
        alert: &str,
        because: &str,
        seen: usize,
    ) -> Result<Message, AppError> {
        let input = DecisionInput {
            alert: alert.to_owned(),
            state: AlertState::Acknowledged,
            because: because.to_owned(),
            author: decision::default_author(),
            caused_by: None,
            seen: Some(seen),
        };
        // Loading the history has stored each of its changes.
        let recorded = decision::decide(&self.project.directories.results, &[], &input)
            .map_err(decision::decision_error)?;
        self.say(&recorded.text());
        if let Some(warning) = &recorded.warning {
            self.say(&format!("warning: {warning}"));
        }
        self.load(Subject::History)
    }

    fn keep_run(&mut self) -> Result<Message, AppError> {
        let Some(dir) = &self.unkept else { return Ok(Message::Done) };
        let store = project::open_results(&self.project.directories.results, &mut self.listener())?;
        let mut kept = None;
        store.merge(dir.path(), |file| {
            if let MergedFile::Taken { path, .. } = file {
                kept = Some(path);
            }
        })?;
        let path = kept.ok_or_else(|| {
            anyhow!("the run cannot be saved: it is no longer in {}", dir.path().display())
        })?;
        self.unkept = None;
        Ok(Message::Kept(path.display().to_string()))
    }
}

fn component_row(row: &serde_json::Value) -> ComponentRow {
    ComponentRow {
        name: row["component_id"].as_str().unwrap_or_default().to_owned(),
        status: components::shown_status(row).to_owned(),
        text: components::lines(row, Style { width: usize::MAX, ..Style::PLAIN }),
        checks: serde::Deserialize::deserialize(&row["threshold_checks"]).unwrap_or_default(),
    }
}

fn run_end(finished: engine::FinishedRun, keeps: bool) -> Box<RunEnd> {
    let stored = match finished.stored {
        Ok(path) if keeps => StoredRun::Kept(path.display().to_string()),
        Ok(path) => StoredRun::NotKept(path.display().to_string()),
        Err(error) => StoredRun::Failed(error_chain(&error)),
    };
    Box::new(RunEnd { run: finished.run, status: finished.status, stored })
}

/// Counts the cases that cannot run by reason, the most common first.
fn counted(plan: &Plan) -> Vec<(usize, Reason)> {
    let mut count_reasons: Vec<(usize, Reason)> = Vec::new();
    for (_, _, reason) in
        plan.without_figures().filter(|(_, outcome, _)| *outcome != Outcome::Measured)
    {
        match count_reasons.iter_mut().find(|(_, known)| known == reason) {
            Some((count, _)) => *count += 1,
            None => count_reasons.push((1, reason.clone())),
        }
    }
    count_reasons.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    count_reasons
}

fn describe_error(error: &AppError) -> String {
    error_chain(&error.error)
}

/// Returns the message that `command` failed.
fn failure_message(command: &Command, why: String) -> Message {
    let subject = match command {
        Command::Load(subject) => *subject,
        Command::Compare { .. } => Subject::Comparison,
        Command::Plan(_) => return Message::Planned(Err(why)),
        Command::Measure(_) | Command::Resume(_) => return Message::Ended(Err(why)),
        Command::Acknowledge { .. } => {
            let why = format!("nothing was recorded: {why}; `A` opens your note again");
            return Message::Unavailable { subject: Subject::Run, why };
        }
        _ => Subject::Run,
    };
    Message::Unavailable { subject, why }
}
