//! A store shared by many machines, in PostgreSQL.
//!
//! The run files of each machine stay authoritative for that machine and serve as its send queue.
//! When the database can be reached, each run is sent in one transaction, unless the database
//! already has it. Runs from other machines are fetched as a directory of run files and merged. For
//! SQL queries, the metrics are stored next to the documents, ordered by time.

mod campaigns;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use postgres::config::SslMode;
use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Transaction};
use rsb_model::{Better, Fields, Fingerprint, Run, RunId};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::without_password;
use crate::error::StoreError;
use crate::files;
use crate::read;
use crate::seal::sealed_text;
use crate::store::{RunSummary, Store};

pub use campaigns::{CampaignNumber, CampaignRow, CampaignRun};

/// Migrations: each step upgrades the tables by one version; the first creates them.
const MIGRATIONS: [&str; 2] = ["
    CREATE TABLE rsb_runs (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        run_id text NOT NULL UNIQUE, own_id text NOT NULL, started_us bigint NOT NULL, machine text NOT NULL,
        started timestamptz NOT NULL, suite text NOT NULL, profile text NOT NULL, commit_hash text,
        document text NOT NULL, received timestamptz NOT NULL DEFAULT now(),
        UNIQUE (own_id, started_us, machine)
    );
    CREATE TABLE rsb_series (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        machine text NOT NULL, id text NOT NULL, metric text NOT NULL, unit text NOT NULL, better text NOT NULL,
        UNIQUE (machine, id, metric, unit, better)
    );
    CREATE TABLE rsb_metrics (
        series bigint NOT NULL REFERENCES rsb_series, started timestamptz NOT NULL, value double precision NOT NULL,
        run bigint NOT NULL REFERENCES rsb_runs ON DELETE CASCADE
    );
    CREATE INDEX rsb_metrics_by_time ON rsb_metrics (series, started) INCLUDE (value);
    CREATE INDEX rsb_metrics_by_run ON rsb_metrics (run);", campaigns::TABLES];

/// Key of the advisory lock that is held while tables are migrated; an arbitrary number.
const LOCK: i64 = 0x7273_625f_7374_6f72;

/// Connection timeout if the address does not contain one.
const CONNECT: Duration = Duration::from_secs(10);

/// Time limit for one request, such as sending a run. The connection timeout does not cover a
/// server that accepts the connection and then never answers.
const ANSWER: Duration = Duration::from_mins(2);

/// Variable with the password if the address has none, as in psql.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";

/// Maximum number of different runs with the same name. The second machine that sends a run of this
/// name gets `-2` appended.
const NAMESAKES: u32 = 10_000;

/// Number of names under which a run is searched among the local runs.
const NAMED_HERE: usize = 100;

/// Error from the shared store.
#[derive(Debug, thiserror::Error)]
pub enum SharedStoreError {
    /// The address is invalid.
    #[error(
        "`{shown}` is not a PostgreSQL address: {problem}; write postgres://USER@HOST/DATABASE"
    )]
    Address {
        /// The address without its password.
        shown: String,
        /// Problem of the address.
        problem: String,
    },
    /// The server cannot be reached, or refuses the connection.
    #[error(
        "{shown} cannot be reached: {problem}; runs stay in the results directory and are sent \
         with the next `store copy`"
    )]
    Unreachable {
        /// The address without its password.
        shown: String,
        /// Error message.
        problem: String,
    },
    /// The tables were created by a later program.
    #[error(
        "{shown} has tables of version {found}, newer than {known}, the newest that this program \
         reads; update rusty-stack-bench"
    )]
    Newer {
        /// The address without its password.
        shown: String,
        /// Their version.
        found: i32,
        /// Newest version that this program supports.
        known: i32,
    },
    /// The connection broke, or the server refused a row.
    #[error("{shown}: {problem}; no run was sent partially: repeat the command")]
    Broken {
        /// The address without its password.
        shown: String,
        /// Error message.
        problem: String,
    },
    /// The runs of this machine cannot be read or written.
    #[error(transparent)]
    Local(#[from] StoreError),
}

/// Result of sending a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    /// The run was added.
    Added,
    /// The database already had the run with other contents, which were replaced.
    Replaced,
    /// The database already had the run.
    Known,
}

/// A connection to the shared store.
pub struct SharedStore {
    /// `None` after a request that was not answered in time.
    client: Option<Client>,
    shown: String,
    /// Time limit for one request.
    limit: Duration,
}

impl std::fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedStore").field(&self.shown).finish()
    }
}

impl SharedStore {
    /// Connects to `address`, encrypted if the server supports it, and always if the address has
    /// `sslmode=require`. Certificates are checked against those of the system, or those in
    /// `SSL_CERT_FILE`. The password may be in PGPASSWORD instead of the address. Tables are created
    /// or migrated.
    ///
    /// # Errors
    /// If the address is invalid, the server cannot be reached or does not answer in time, or the
    /// tables were made by a later program.
    pub fn connect(address: &str) -> Result<Self, SharedStoreError> {
        Self::connect_with_limit(address, None, ANSWER)
    }

    /// Connects as [`SharedStore::connect`] does, with `password`.
    ///
    /// # Errors
    /// As for [`SharedStore::connect`].
    pub fn connect_with(address: &str, password: &str) -> Result<Self, SharedStoreError> {
        Self::connect_with_limit(address, Some(password), ANSWER)
    }

    /// Connects with a time limit for each request.
    fn connect_with_limit(
        address: &str,
        password: Option<&str>,
        limit: Duration,
    ) -> Result<Self, SharedStoreError> {
        let shown = without_password(address);
        let mut config: Config = address.parse().map_err(|error: postgres::Error| {
            SharedStoreError::Address { shown: shown.clone(), problem: words(&error) }
        })?;
        let timeout = config.get_connect_timeout().copied().unwrap_or(CONNECT);
        config.connect_timeout(timeout);
        config.application_name("rusty-stack-bench");
        let password =
            password.map(str::to_owned).or_else(|| std::env::var(PASSWORD_VARIABLE).ok());
        if let (None, Some(password)) = (config.get_password(), password) {
            config.password(password);
        }
        // A host name may have two addresses, which are tried one after the other.
        let attempts = 2 * u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX / 2).max(1);
        let patience = timeout.saturating_mul(attempts);
        let connected = within(patience, move || open(&config))
            .unwrap_or_else(|| Err(format!("{}; check the server", no_answer(patience))));
        let client = connected
            .map_err(|problem| SharedStoreError::Unreachable { shown: shown.clone(), problem })?;
        let mut store = Self { client: Some(client), shown, limit };
        store.migrate()?;
        Ok(store)
    }

    /// Runs `request` in a separate thread, and returns its result.
    ///
    /// # Errors
    /// If it takes longer than the limit. In this case the thread keeps the connection and
    /// continues to wait, because nothing can interrupt it.
    fn ask<T: Send + 'static>(
        &mut self,
        request: impl FnOnce(&mut Client) -> T + Send + 'static,
    ) -> Result<T, SharedStoreError> {
        let problem = no_answer(self.limit);
        let silent = SharedStoreError::Broken { shown: self.shown.clone(), problem };
        let Some(mut client) = self.client.take() else { return Err(silent) };
        let answered = within(self.limit, move || {
            let answer = request(&mut client);
            (client, answer)
        });
        let Some((client, answer)) = answered else { return Err(silent) };
        self.client = Some(client);
        Ok(answer)
    }

    /// Returns whether the connection is encrypted.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn is_encrypted(&mut self) -> Result<bool, SharedStoreError> {
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let row = self.ask(move |client| client.query_one(sql, &[]))?;
        Ok(row.map_err(|error| self.broken(&error))?.get(0))
    }

    /// Migrates the tables, and refuses those of a later program.
    fn migrate(&mut self) -> Result<(), SharedStoreError> {
        let known = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
        let migrated = self.ask(migrate)?;
        let found = migrated.map_err(|error| self.broken(&error))?;
        if found > known {
            return Err(SharedStoreError::Newer { shown: self.shown.clone(), found, known });
        }
        Ok(())
    }

    fn broken(&self, error: &postgres::Error) -> SharedStoreError {
        SharedStoreError::Broken { shown: self.shown.clone(), problem: words(error) }
    }

    /// Sends `run` in one transaction. A run that was sent before is replaced if `run` has more
    /// samples.
    ///
    /// # Errors
    /// If the connection breaks or the server does not answer in time. In this case no part of the
    /// run was sent.
    pub fn send(&mut self, run: &Run) -> Result<SendOutcome, SharedStoreError> {
        // Cloned, because the thread that waits for the server may outlive this call.
        let (run, shown) = (run.clone(), self.shown.clone());
        self.ask(move |client| send(client, &shown, &run))?
    }

    /// Sends every run of `store` that the database lacks or whose file has changed since it was
    /// sent. Calls `report` with each run that is sent or refused; a refused run does not stop the
    /// others.
    ///
    /// # Errors
    /// If the connection breaks, or a run cannot be read.
    pub fn send_all(
        &mut self,
        store: &Store,
        mut report: impl FnMut(&RunId, Result<SendOutcome, SharedStoreError>),
    ) -> Result<(), SharedStoreError> {
        let known = self.list_runs()?;
        for run in store.runs()?.into_iter().rev() {
            let changed = std::fs::metadata(&run.path).and_then(|file| file.modified()).ok();
            let changed = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            let received =
                known.get(&(run.run_id.0.clone(), run.started.as_microsecond(), run.slug));
            // Clocks of different machines differ, so a run is skipped only if its file changed at
            // least a day before the database received it; any other is compared in full.
            let is_older = received.is_some_and(|received| {
                changed.is_some_and(|changed| changed.as_secs_f64() + 86_400.0 < *received)
            });
            if is_older {
                continue;
            }
            let run = store.run(&run.run_id.0)?;
            match self.send(&run) {
                Ok(SendOutcome::Known) => {}
                Err(error) if self.is_closed() => return Err(error),
                sent => report(&run.run_id, sent),
            }
        }
        Ok(())
    }

    /// Returns whether the connection is lost; a new one is needed.
    pub fn is_closed(&self) -> bool {
        self.client.as_ref().is_none_or(Client::is_closed)
    }

    /// Returns when each stored run was received, in seconds since 1970, by name, start time in
    /// microseconds, and machine. A run with two names has two entries.
    fn list_runs(&mut self) -> Result<HashMap<(String, i64, String), f64>, SharedStoreError> {
        let sql = "SELECT own_id, run_id, started_us, machine, extract(epoch FROM \
                   received)::double precision FROM rsb_runs";
        let rows = self.ask(move |client| client.query(sql, &[]))?;
        let rows = rows.map_err(|error| self.broken(&error))?;
        let mut known = HashMap::new();
        for row in &rows {
            for name in [0, 1] {
                known.insert((row.get(name), row.get(2), row.get(3)), row.get(4));
            }
        }
        Ok(known)
    }

    /// Writes the runs that `store` does not have into `dir`, one file each, for [`Store::merge`].
    /// Returns the number of files.
    ///
    /// # Errors
    /// If the connection breaks, or a file cannot be written.
    pub fn fetch(&mut self, store: &Store, dir: &Path) -> Result<usize, SharedStoreError> {
        let runs = store.runs()?;
        let taken: HashSet<&str> = runs.iter().map(|run| run.run_id.0.as_str()).collect();
        let sql =
            "SELECT number, own_id, started_us, machine FROM rsb_runs ORDER BY started_us, number";
        let all = self.ask(move |client| client.query(sql, &[]))?;
        let all = all.map_err(|error| self.broken(&error))?;
        let mut fetched = HashSet::new();
        for row in all {
            let (number, own_id): (i64, String) = (row.get(0), row.get(1));
            let (started, machine): (i64, String) = (row.get(2), row.get(3));
            let has_its_name =
                |run: &RunSummary| names(&own_id).take(NAMED_HERE).any(|name| name == run.run_id.0);
            let is_it =
                |run: &&RunSummary| run.started.as_microsecond() == started && run.slug == machine;
            if runs.iter().filter(is_it).any(has_its_name) {
                continue;
            }
            let sql = "SELECT document FROM rsb_runs WHERE number = $1";
            let row = self.ask(move |client| client.query_one(sql, &[&number]))?;
            let document: String = row.map_err(|error| self.broken(&error))?.get(0);
            let free = names(&own_id)
                .find(|name| !taken.contains(name.as_str()) && !fetched.contains(name));
            let run_id = free.unwrap_or_else(|| own_id.clone());
            files::check_name(&run_id)?;
            let path = dir.join(format!("{run_id}.json"));
            files::write_atomically(&path, &document)?;
            // If the document is unreadable, the merge reports it.
            if let Ok(run) = read::read_run(&path)
                && run.run_id.0 != run_id
            {
                files::write_atomically(&path, &self::document(&run, &run_id)?)?;
            }
            fetched.insert(run_id);
        }
        let fetched = fetched.len();
        Ok(fetched)
    }
}

/// Runs `work` in a separate thread and returns its result; `None` if it takes longer than `limit`.
/// The thread is not stopped.
fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(limit).ok()
}

fn no_answer(limit: Duration) -> String {
    format!("no answer within {} s", limit.as_secs_f64())
}

/// Connects with `config`. The error is a description of the problem.
fn open(config: &Config) -> Result<Client, String> {
    let connected = if config.get_ssl_mode() == SslMode::Disable {
        config.connect(NoTls)
    } else {
        match MakeRustlsConnect::with_native_certs() {
            Ok((tls, _)) => config.connect(tls),
            Err(_) if config.get_ssl_mode() == SslMode::Prefer => config.connect(NoTls),
            Err(errors) => {
                let why = errors.first().map_or_else(
                    || "the system has no certificates".to_owned(),
                    ToString::to_string,
                );
                return Err(format!(
                    "there is no certificate to verify the server with: {why}; set SSL_CERT_FILE \
                     to a certificate file"
                ));
            }
        }
    };
    connected.map_err(|error| words(&error))
}

/// Migrates the tables and returns their previous version. A lock prevents concurrent migrations.
fn migrate(client: &mut Client) -> Result<i32, postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])?;
    transaction.batch_execute("CREATE TABLE IF NOT EXISTS rsb_schema (version int NOT NULL)")?;
    let found: i32 =
        transaction.query_one("SELECT coalesce(max(version), 0) FROM rsb_schema", &[])?.get(0);
    for (step, version) in MIGRATIONS.iter().zip(1_i32..).filter(|(_, version)| *version > found) {
        transaction.batch_execute(step)?;
        transaction.execute("INSERT INTO rsb_schema VALUES ($1)", &[&version])?;
    }
    transaction.commit()?;
    Ok(found)
}

/// Sends `run` in one transaction, see [`SharedStore::send`].
fn send(client: &mut Client, shown: &str, run: &Run) -> Result<SendOutcome, SharedStoreError> {
    let mut transaction = client.transaction().map_err(|error| broken(shown, &error))?;
    let stored = store_run(&mut transaction, shown, run)?;
    transaction.commit().map_err(|error| broken(shown, &error))?;
    Ok(stored.outcome)
}

fn broken(shown: &str, error: &postgres::Error) -> SharedStoreError {
    SharedStoreError::Broken { shown: shown.to_owned(), problem: words(error) }
}

/// A run in the database.
struct StoredRun {
    number: i64,
    outcome: SendOutcome,
}

/// Adds `run`, or replaces it if `run` has more samples.
fn store_run(
    transaction: &mut Transaction<'_>,
    shown: &str,
    run: &Run,
) -> Result<StoredRun, SharedStoreError> {
    let broken = |error: postgres::Error| broken(shown, &error);
    let machine = Fingerprint::of(&run.environment).slug();
    let key =
        Key { own_id: &own_id(run).0, started: run.started.as_microsecond(), machine: &machine };
    if let Some(known) = find(transaction, key).map_err(broken)? {
        let text = document(run, &known.run_id)?;
        let number = known.number;
        // This copy may be older than the stored one, which then has more samples and is kept.
        if text == known.document || samples(run) <= samples_of(&known.document) {
            return Ok(StoredRun { number, outcome: SendOutcome::Known });
        }
        let replaced = (|| {
            let update = "UPDATE rsb_runs SET document = $2, received = now() WHERE number = $1";
            transaction.execute(update, &[&number, &text])?;
            transaction.execute("DELETE FROM rsb_metrics WHERE run = $1", &[&number])?;
            MetricRows::of(run, number, &machine).write(transaction)
        })();
        replaced.map_err(broken)?;
        return Ok(StoredRun { number, outcome: SendOutcome::Replaced });
    }
    for run_id in names(&own_id(run).0) {
        let row = RunRow::of(run, &run_id)?;
        match insert(transaction, &[row]).map_err(broken)?.first() {
            Some(inserted) => {
                let number = inserted.number;
                MetricRows::of(run, number, &machine).write(transaction).map_err(broken)?;
                return Ok(StoredRun { number, outcome: SendOutcome::Added });
            }
            // Either another run has this name, or another process of this machine has just sent
            // this run.
            None => {
                if let Some(known) = find(transaction, key).map_err(broken)? {
                    return Ok(StoredRun { number: known.number, outcome: SendOutcome::Known });
                }
            }
        }
    }
    Err(SharedStoreError::Broken {
        shown: shown.to_owned(),
        problem: format!("{NAMESAKES} runs are named {}", run.run_id),
    })
}

/// Formats a PostgreSQL error together with its causes.
fn words(error: &postgres::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Serializes a run under its name in the shared store.
fn document(run: &Run, run_id: &str) -> Result<String, SharedStoreError> {
    let own = own_id(run);
    let origin_id = (own.0 != run_id).then(|| own.clone());
    let document =
        Run { run_id: RunId(run_id.to_owned()), origin_id, sequence: None, ..run.clone() };
    let text = sealed_text(&document)
        .map_err(|error| StoreError::write(Path::new(run_id), error.into()))?;
    Ok(text)
}

/// Returns the original id of a run, from the machine that measured it.
fn own_id(run: &Run) -> &RunId {
    run.origin_id.as_ref().unwrap_or(&run.run_id)
}

/// Returns `id`, then the same with `-2`, `-3` … appended.
fn names(id: &str) -> impl Iterator<Item = String> {
    (1..=NAMESAKES)
        .map(move |namesake| if namesake == 1 { id.to_owned() } else { format!("{id}-{namesake}") })
}

fn samples(run: &Run) -> usize {
    run.benchmarks.iter().flat_map(|case| &case.samples).map(|samples| samples.times_ns.len()).sum()
}

/// Returns the number of samples in a document; 0 if this program cannot read it as a run.
fn samples_of(document: &str) -> usize {
    serde_json::from_str(document).map_or(0, |run: Run| samples(&run))
}

struct Known {
    number: i64,
    run_id: String,
    document: String,
}

fn find(transaction: &mut Transaction<'_>, key: Key<'_>) -> Result<Option<Known>, postgres::Error> {
    let sql = "SELECT number, run_id, document FROM rsb_runs \
               WHERE own_id = $1 AND started_us = $2 AND machine = $3 FOR UPDATE";
    let row = transaction.query_opt(sql, &[&key.own_id, &key.started, &key.machine])?;
    Ok(row.map(|row| Known { number: row.get(0), run_id: row.get(1), document: row.get(2) }))
}

/// A row of `rsb_runs`.
struct RunRow<'a> {
    run: &'a Run,
    run_id: String,
    machine: String,
    document: String,
}

impl<'a> RunRow<'a> {
    fn of(run: &'a Run, run_id: &str) -> Result<Self, SharedStoreError> {
        Ok(Self {
            run,
            run_id: run_id.to_owned(),
            machine: Fingerprint::of(&run.environment).slug(),
            document: document(run, run_id)?,
        })
    }
}

/// A row that was inserted, with the key of its run.
struct InsertedRun {
    number: i64,
    run_id: String,
    started: i64,
    machine: String,
}

/// Inserts runs. Leaves out a run that exists, or whose name another run has.
fn insert(
    transaction: &mut Transaction<'_>,
    rows: &[RunRow<'_>],
) -> Result<Vec<InsertedRun>, postgres::Error> {
    let column = |value: fn(&RunRow<'_>) -> String| rows.iter().map(value).collect::<Vec<_>>();
    let own_ids = column(|row| own_id(row.run).0.clone());
    let started: Vec<i64> = rows.iter().map(|row| row.run.started.as_microsecond()).collect();
    let commits: Vec<Option<&str>> = rows
        .iter()
        .map(|row| row.run.environment.git.as_ref().map(|git| git.commit.as_str()))
        .collect();
    let rows = transaction.query(
        "INSERT INTO rsb_runs (run_id, own_id, started_us, machine, started, suite, profile, commit_hash, document)
         SELECT run_id, own_id, started_us, machine, to_timestamp(started_us / 1e6), suite, profile, commit_hash, document
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
              AS new (run_id, own_id, started_us, machine, suite, profile, commit_hash, document)
         ON CONFLICT DO NOTHING RETURNING number, run_id, started_us, machine",
        &[
            &column(|row| row.run_id.clone()),
            &own_ids,
            &started,
            &column(|row| row.machine.clone()),
            &column(|row| row.run.suite.clone()),
            &column(|row| row.run.profile.clone()),
            &commits,
            &rows.iter().map(|row| row.document.as_str()).collect::<Vec<_>>(),
        ],
    )?;
    let inserted = rows.iter().map(|row| InsertedRun {
        number: row.get(0),
        run_id: row.get(1),
        started: row.get(2),
        machine: row.get(3),
    });
    Ok(inserted.collect())
}

/// Identity of a run: its original id, its start time and the machine.
#[derive(Clone, Copy)]
struct Key<'a> {
    own_id: &'a str,
    started: i64,
    machine: &'a str,
}

/// The metrics of runs, one list per column.
#[derive(Default)]
struct MetricRows<'a> {
    runs: Vec<i64>,
    machines: Vec<&'a str>,
    seconds: Vec<f64>,
    ids: Vec<&'a str>,
    metrics: Vec<&'a str>,
    units: Vec<&'static str>,
    better: Vec<&'static str>,
    values: Vec<f64>,
}

impl<'a> MetricRows<'a> {
    fn of(run: &'a Run, number: i64, machine: &'a str) -> Self {
        let mut rows = Self::default();
        rows.add(run, number, machine);
        rows
    }

    fn add(&mut self, run: &'a Run, number: i64, machine: &'a str) {
        for result in &run.benchmarks {
            for (field, value) in result.fields().into_iter().flat_map(Fields::metrics) {
                self.runs.push(number);
                self.machines.push(machine);
                self.seconds.push(run.started.as_microsecond() as f64 / 1e6);
                self.ids.push(result.benchmark_id.as_str());
                self.metrics.push(field.name);
                self.units.push(field.unit.symbol());
                self.better.push(field.better().map_or("", Better::as_str));
                self.values.push(value);
            }
        }
    }

    fn write(&self, transaction: &mut Transaction<'_>) -> Result<(), postgres::Error> {
        // All writers use the same order, which prevents deadlocks.
        transaction.execute(
            "INSERT INTO rsb_series (machine, id, metric, unit, better)
             SELECT DISTINCT machine, id, metric, unit, better
             FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
                  AS new (machine, id, metric, unit, better)
             ORDER BY machine, id, metric, unit, better
             ON CONFLICT DO NOTHING",
            &[&self.machines, &self.ids, &self.metrics, &self.units, &self.better],
        )?;
        let columns: [&(dyn ToSql + Sync); 8] = [
            &self.machines,
            &self.ids,
            &self.metrics,
            &self.units,
            &self.better,
            &self.seconds,
            &self.runs,
            &self.values,
        ];
        transaction.execute(
            "INSERT INTO rsb_metrics (series, started, value, run)
             SELECT s.number, to_timestamp(new.seconds), new.value, new.run
             FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
                         $6::double precision[], $7::bigint[], $8::double precision[])
                  AS new (machine, id, metric, unit, better, seconds, run, value)
             JOIN rsb_series s ON s.machine = new.machine AND s.id = new.id AND s.metric = new.metric
                  AND s.unit = new.unit AND s.better = new.better",
            &columns,
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_server_that_stops_answering_is_given_up_at_the_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let length = stream.read(&mut [0; 1024]).unwrap();
            assert!(length > 0, "the client must begin");
            // Server messages: authenticated, and ready for a query.
            stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
            stream
        });
        let address = format!("postgres://me:secret@{host}/results?sslmode=disable");
        let limit = Duration::from_millis(200);
        let error = SharedStore::connect_with_limit(&address, None, limit).unwrap_err().to_string();
        assert!(
            error.contains("no answer within 0.2 s; no run was sent partially: repeat the command"),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
        // The server keeps the connection open until here.
        drop(server.join().unwrap());
    }
}
