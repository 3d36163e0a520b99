//! A thread for each GPU, which calls the library for it alone, as frameworks have one or a process
//! for each.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use nccl_sys::Nccl;
use rsb_model::Reason;

use super::super::driver::Activation;
use super::rank::{Group, RankPart};
use rsb_device::device::DeviceError;

type UnitResult = Result<(), DeviceError>;

/// One for each GPU, by rank.
#[derive(Default)]
pub(super) struct RankThreads {
    threads: Vec<RankThread>,
}

struct RankThread {
    /// How often it shall call, and what came of it.
    orders: Option<Sender<u64>>,
    answers: Receiver<UnitResult>,
    thread: Option<JoinHandle<()>>,
}

impl RankThreads {
    /// One more, which waits for orders.
    pub(super) fn start(
        &mut self,
        api: Arc<Nccl>,
        part: RankPart,
        activation: Activation,
    ) -> UnitResult {
        let (orders, to_do) = channel::<u64>();
        let (answer, answers) = channel();
        let thread = Builder::new()
            .name(format!("rank {}", self.threads.len()))
            .spawn(move || {
                let is_ready = activation();
                for times in to_do {
                    let done = is_ready
                        .clone()
                        .and_then(|()| (0..times).try_for_each(|_| ask(&api, &part)));
                    if answer.send(done).is_err() {
                        break;
                    }
                }
            })
            .map_err(|error| no_thread(&error.to_string()))?;
        self.threads.push(RankThread { orders: Some(orders), answers, thread: Some(thread) });
        Ok(())
    }

    /// All of them call the library `times` times; the last answer is waited for.
    pub(super) fn launch(&self, times: u64) -> UnitResult {
        for orders in self.threads.iter().filter_map(|thread| thread.orders.as_ref()) {
            orders.send(times).map_err(|_| no_thread("it has ended"))?;
        }
        // All answers are taken before the first error is told, so that none is left for the next
        // time.
        let mut answers: Vec<UnitResult> = Vec::with_capacity(self.threads.len());
        for thread in &self.threads {
            let answer = thread.answers.recv();
            answers.push(answer.unwrap_or_else(|_| Err(no_thread("it has ended"))));
        }
        answers.into_iter().collect()
    }
}

/// Calls once. What are several calls for the library begins together.
fn ask(api: &Nccl, part: &RankPart) -> UnitResult {
    let group = if part.is_several() { Some(Group::begin(api)?) } else { None };
    // SAFETY: whoever started this thread keeps buffers, communicator and stream until it has
    // ended, and `kernel` has checked their sizes.
    unsafe { part.enqueue(api) }?;
    match group {
        Some(group) => group.end(),
        None => Ok(()),
    }
}

fn no_thread(why: &str) -> DeviceError {
    DeviceError::Failed(Reason::new(
        "a thread for a GPU",
        why,
        "choose launcher=one-thread, and end what else runs here",
    ))
}

impl Drop for RankThreads {
    fn drop(&mut self) {
        for thread in &mut self.threads {
            thread.orders = None;
            if let Some(thread) = thread.thread.take() {
                let _ = thread.join();
            }
        }
    }
}
