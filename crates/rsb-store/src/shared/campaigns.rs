//! Campaigns of `fleet` in the shared store: which of its runs belong to which job.
//!
//! A run of a campaign is identified by its job and its number within the job. Its place and the
//! run itself are added in one transaction, so a collection that is cut off can be repeated.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use postgres::{Client, Transaction};
use rsb_model::{Fingerprint, Run, Timestamp};

use super::{
    MetricRows, RunRow, SharedStore, SharedStoreError, StoredRun, broken, insert, own_id, store_run,
};
use crate::error::StoreError;
use crate::read;

/// Tables of campaigns.
pub(super) const TABLES: &str = "
    CREATE TABLE rsb_campaigns (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL, created_us bigint NOT NULL, document text NOT NULL,
        UNIQUE (name, created_us)
    );
    CREATE TABLE rsb_campaign_runs (
        campaign bigint NOT NULL REFERENCES rsb_campaigns ON DELETE CASCADE,
        job text NOT NULL, step int NOT NULL, attempt text NOT NULL,
        run bigint NOT NULL REFERENCES rsb_runs ON DELETE CASCADE,
        PRIMARY KEY (campaign, job, step)
    );
    CREATE INDEX rsb_campaign_runs_by_run ON rsb_campaign_runs (run);";

/// Description of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignRow {
    /// Name, which campaigns of different clusters may share.
    pub name: String,
    /// Creation time; distinguishes campaigns with the same name.
    pub created: Timestamp,
    /// The description.
    pub text: String,
}

/// Number of a campaign in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CampaignNumber(i64);

/// A run of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignRun {
    /// Job that measured it.
    pub job: String,
    /// Its number within the job.
    pub step: usize,
    /// Attempt of the job.
    pub attempt: String,
    /// The run.
    pub run: Run,
}

impl SharedStore {
    /// Stores the description of a campaign, which replaces an earlier one, and returns its number.
    ///
    /// # Errors
    /// If the connection breaks or the server does not answer in time.
    pub fn put_campaign(
        &mut self,
        campaign: &CampaignRow,
    ) -> Result<CampaignNumber, SharedStoreError> {
        let CampaignRow { name, created, text } = campaign.clone();
        let sql = "INSERT INTO rsb_campaigns (name, created_us, document) VALUES ($1, $2, $3)
                   ON CONFLICT (name, created_us) DO UPDATE SET document = excluded.document
                   RETURNING number";
        let created = created.as_microsecond();
        let row = self.ask(move |client| client.query_one(sql, &[&name, &created, &text]))?;
        Ok(CampaignNumber(row.map_err(|error| self.broken(&error))?.get(0)))
    }

    /// Returns the latest campaign called `name`, or the latest of all; `None` if there is none.
    ///
    /// # Errors
    /// If the connection breaks or the server does not answer in time.
    pub fn campaign(
        &mut self,
        name: Option<&str>,
    ) -> Result<Option<(CampaignNumber, CampaignRow)>, SharedStoreError> {
        let sql = "SELECT number, name, created_us, document FROM rsb_campaigns
                   WHERE name = coalesce($1, name) ORDER BY created_us DESC LIMIT 1";
        let name = name.map(str::to_owned);
        let row = self.ask(move |client| client.query_opt(sql, &[&name]))?;
        let Some(row) = row.map_err(|error| self.broken(&error))? else { return Ok(None) };
        let created = Timestamp::from_microsecond(row.get(2)).unwrap_or_default();
        let document = CampaignRow { name: row.get(1), created, text: row.get(3) };
        Ok(Some((CampaignNumber(row.get(0)), document)))
    }

    /// Returns the jobs and numbers of the runs that the campaign has.
    ///
    /// # Errors
    /// If the connection breaks or the server does not answer in time.
    pub fn campaign_steps(
        &mut self,
        campaign: CampaignNumber,
    ) -> Result<HashSet<(String, usize)>, SharedStoreError> {
        let sql = "SELECT job, step FROM rsb_campaign_runs WHERE campaign = $1";
        let rows = self.ask(move |client| client.query(sql, &[&campaign.0]))?;
        let rows = rows.map_err(|error| self.broken(&error))?;
        let steps = rows.iter().map(|row| (row.get(0), row.get::<_, i32>(1)));
        Ok(steps.map(|(job, step)| (job, usize::try_from(step).unwrap_or_default())).collect())
    }

    /// Adds the runs that the campaign lacks, in one transaction, and returns their number. A step
    /// that the campaign has is never replaced.
    ///
    /// # Errors
    /// If the connection breaks, the server does not answer in time, or it refuses a run. In this
    /// case nothing was added.
    pub fn add_campaign_runs(
        &mut self,
        campaign: CampaignNumber,
        runs: &Arc<Vec<CampaignRun>>,
    ) -> Result<usize, SharedStoreError> {
        let (runs, shown) = (Arc::clone(runs), self.shown.clone());
        self.ask(move |client| add(client, &shown, campaign, &runs))?
    }

    /// Returns the runs of a job, by number.
    ///
    /// # Errors
    /// If the connection breaks, the server does not answer in time, or a run cannot be read.
    pub fn campaign_runs(
        &mut self,
        campaign: CampaignNumber,
        job: &str,
    ) -> Result<Vec<CampaignRun>, SharedStoreError> {
        let sql = "SELECT c.step, c.attempt, r.run_id, r.document FROM rsb_campaign_runs c
                   JOIN rsb_runs r ON r.number = c.run
                   WHERE c.campaign = $1 AND c.job = $2 ORDER BY c.step";
        let wanted = job.to_owned();
        let rows = self.ask(move |client| client.query(sql, &[&campaign.0, &wanted]))?;
        let mut runs = Vec::new();
        for row in rows.map_err(|error| self.broken(&error))? {
            let (name, text): (String, String) = (row.get(2), row.get(3));
            let run = read::parse_run(Path::new(&name), text.as_bytes());
            let run = run.map_err(StoreError::from)?;
            let step = usize::try_from(row.get::<_, i32>(0)).unwrap_or_default();
            runs.push(CampaignRun { job: job.to_owned(), step, attempt: row.get(1), run });
        }
        Ok(runs)
    }
}

fn add(
    client: &mut Client,
    shown: &str,
    campaign: CampaignNumber,
    runs: &[CampaignRun],
) -> Result<usize, SharedStoreError> {
    let broken = |error: postgres::Error| broken(shown, &error);
    let mut transaction = client.transaction().map_err(broken)?;
    // Another process may collect the same campaign.
    let lock = "SELECT FROM rsb_campaigns WHERE number = $1 FOR UPDATE";
    transaction.execute(lock, &[&campaign.0]).map_err(broken)?;
    let jobs: Vec<&str> = runs.iter().map(|one| one.job.as_str()).collect();
    let sql = "SELECT job, step FROM rsb_campaign_runs WHERE campaign = $1 AND job = ANY($2)";
    let known = transaction.query(sql, &[&campaign.0, &jobs]).map_err(broken)?;
    let known: HashSet<(String, i32)> = known.iter().map(|row| (row.get(0), row.get(1))).collect();
    let step_of = |one: &CampaignRun| i32::try_from(one.step).unwrap_or(i32::MAX);
    let mut new: Vec<&CampaignRun> = runs.iter().collect();
    new.retain(|one| !known.contains(&(one.job.clone(), step_of(one))));
    let numbers = store_runs(&mut transaction, shown, &new)?;
    let column = |value: fn(&CampaignRun) -> &str| new.iter().map(|one| value(one)).collect();
    let (jobs, attempts): (Vec<&str>, Vec<&str>) =
        (column(|one| &one.job), column(|one| &one.attempt));
    let steps: Vec<i32> = new.iter().map(|one| step_of(one)).collect();
    let sql = "INSERT INTO rsb_campaign_runs (campaign, job, step, attempt, run)
               SELECT $1, * FROM unnest($2::text[], $3::int[], $4::text[], $5::bigint[])";
    let values =
        [&campaign.0 as &(dyn postgres::types::ToSql + Sync), &jobs, &steps, &attempts, &numbers];
    transaction.execute(sql, &values).map_err(broken)?;
    transaction.commit().map_err(broken)?;
    Ok(new.len())
}

/// Adds the runs that the database lacks, and returns the number of each.
fn store_runs(
    transaction: &mut Transaction<'_>,
    shown: &str,
    new: &[&CampaignRun],
) -> Result<Vec<i64>, SharedStoreError> {
    let mut rows = Vec::new();
    for one in new {
        rows.push(RunRow::of(&one.run, &own_id(&one.run).0)?);
    }
    let inserted = insert(transaction, &rows).map_err(|error| broken(shown, &error))?;
    drop(rows);
    let mut numbers = Vec::new();
    let mut metrics = MetricRows::default();
    let mut others = Vec::new();
    for one in new {
        let (id, started) = (own_id(&one.run), one.run.started.as_microsecond());
        let machine = Fingerprint::of(&one.run.environment).slug();
        let row = inserted
            .iter()
            .find(|row| row.run_id == id.0 && row.started == started && row.machine == machine);
        if let Some(row) = row {
            metrics.add(&one.run, row.number, &row.machine);
        } else {
            others.push(numbers.len());
        }
        numbers.push(row.map_or(0, |row| row.number));
    }
    metrics.write(transaction).map_err(|error| broken(shown, &error))?;
    for at in others {
        let StoredRun { number, .. } = store_run(transaction, shown, &new[at].run)?;
        numbers[at] = number;
    }
    Ok(numbers)
}
