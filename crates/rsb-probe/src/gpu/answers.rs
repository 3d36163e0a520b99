//! Bookkeeping of the GPUs that were read. A GPU must not silently disappear if a read hangs or the
//! kernel refuses it.

use std::io::ErrorKind;
use std::time::Instant;

use rsb_model::gpu::{Answer, UnreadGpu};

use crate::limit::{Completion, Pending};

/// Progress report of the reader of one GPU.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GpuReport<T> {
    /// Facts about the GPU that are known at this point; `None` until it is known to be a GPU.
    known: Option<T>,
    /// Fact that is being read, or could not be read.
    fact: &'static str,
    refused: Option<Answer>,
}

/// Name of the first fact that is read.
pub(crate) const IDENTITY: &str = "its identity";

impl<T> GpuReport<T> {
    /// Creates a report without facts.
    pub(crate) fn nothing() -> Self {
        Self { known: None, fact: IDENTITY, refused: None }
    }

    /// Creates a report with the facts known before `next` is read.
    pub(crate) fn so_far(gpu: T, next: &'static str) -> Self {
        Self { known: Some(gpu), fact: next, refused: None }
    }

    /// Creates a report of a GPU whose identity the kernel did not provide.
    pub(crate) fn from_error(error: ErrorKind) -> Self {
        // A control group hides GPUs in this way: the compute driver refuses to describe their
        // nodes.
        let answer =
            if error == ErrorKind::PermissionDenied { Answer::Denied } else { Answer::Failed };
        Self { refused: Some(answer), ..Self::nothing() }
    }
}

/// A read in progress, and the name of the GPU or node that it reads.
pub(crate) struct GpuQuery<T> {
    pub(crate) place: String,
    pub(crate) reading: Pending<GpuReport<T>>,
}

/// Returns the facts reported by `deadline`, and the GPUs with missing facts.
pub(crate) fn gather<T: Send + 'static>(
    queries: Vec<GpuQuery<T>>,
    deadline: Instant,
) -> (Vec<T>, Vec<UnreadGpu>) {
    let (mut known, mut unread) = (Vec::new(), Vec::new());
    for GpuQuery { place, reading } in queries {
        let (report, ended) = reading.outcome(deadline);
        // If there is no report, the reader was not started or panicked.
        let started = report.is_some();
        let report = report.unwrap_or_else(GpuReport::nothing);
        let answer = match ended {
            Completion::Late => Some(Answer::Late),
            Completion::InTime if !started => Some(Answer::Failed),
            Completion::InTime => report.refused,
        };
        unread.extend(answer.map(|answer| UnreadGpu {
            place,
            asked: report.fact.to_owned(),
            answer,
        }));
        known.extend(report.known);
    }
    (known, unread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather_one(
        job: impl FnOnce(&dyn Fn(GpuReport<u8>)) + Send + 'static,
    ) -> (Vec<u8>, Vec<(String, Answer)>) {
        let far = Instant::now() + std::time::Duration::from_mins(1);
        let (known, unread) =
            gather(vec![GpuQuery { place: "card0".into(), reading: Pending::start(job) }], far);
        assert!(unread.iter().all(|one| one.place == "card0"));
        (known, unread.into_iter().map(|one| (one.asked, one.answer)).collect())
    }

    /// Returns the expected result of [`gather_one`] for a GPU about which no facts are known.
    fn unread(answer: Answer) -> (Vec<u8>, Vec<(String, Answer)>) {
        (vec![], vec![(IDENTITY.to_owned(), answer)])
    }

    #[test]
    fn only_what_was_refused_or_never_asked_is_unread() {
        let whole = gather_one(|report| {
            report(GpuReport::nothing());
            report(GpuReport::so_far(1, "its name"));
        });
        assert_eq!(whole, (vec![1], vec![]));
        assert_eq!(gather_one(|report| report(GpuReport::nothing())), (vec![], vec![]), "no GPU");
        assert_eq!(
            gather_one(|report| report(GpuReport::from_error(ErrorKind::Other))),
            unread(Answer::Failed)
        );
        assert_eq!(
            gather_one(|report| report(GpuReport::from_error(ErrorKind::PermissionDenied))),
            unread(Answer::Denied)
        );
        assert_eq!(gather_one(|_| ()), unread(Answer::Failed));
    }
}
