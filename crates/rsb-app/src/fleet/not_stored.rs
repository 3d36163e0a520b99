//! Stub of the campaign store for builds without PostgreSQL.

use std::collections::HashSet;

use rsb_fleet::{FleetConfig, StoreSection};

use super::campaign::{Campaign, CampaignDir, CollectedJob};
use super::measured::{CollectCounts, CollectedRun, StepRuns};
use crate::AppError;
use crate::store_copy::without_postgres;

pub(super) use {AbsentCampaign as DatabaseCampaign, AbsentSink as StoreSink};

#[derive(Debug)]
pub(super) enum AbsentCampaign {}

impl AbsentCampaign {
    pub(super) fn open(config: &FleetConfig, _: Option<&str>) -> Result<Option<Self>, AppError> {
        if config.store.is_some() { Err(without_postgres()) } else { Ok(None) }
    }

    pub(super) const fn campaign(&self) -> &Campaign {
        match *self {}
    }

    pub(super) fn jobs(&self) -> &[CollectedJob] {
        match *self {}
    }

    pub(super) fn job(&self, _: u64) -> Option<&CollectedJob> {
        match *self {}
    }

    pub(super) fn step_runs(&self, _: &str) -> Result<StepRuns, AppError> {
        match *self {}
    }
}

pub(super) enum AbsentSink {}

impl AbsentSink {
    pub(super) fn open(_: &StoreSection, _: &CampaignDir) -> Result<Self, AppError> {
        Err(without_postgres())
    }

    pub(super) fn known(&mut self) -> Result<HashSet<(String, usize)>, AppError> {
        match *self {}
    }

    pub(super) fn add(
        &mut self,
        _: CollectedRun,
        _: &mut CollectCounts,
        _: &mut dyn FnMut(&str),
    ) -> Result<(), AppError> {
        match *self {}
    }

    pub(super) fn flush(
        &mut self,
        _: &mut CollectCounts,
        _: &mut dyn FnMut(&str),
    ) -> Result<(), AppError> {
        match *self {}
    }
}
