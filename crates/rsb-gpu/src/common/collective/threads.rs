//! One thread per GPU, each of which calls the library for its own GPU, as in frameworks with one
//! thread or process per GPU.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use nccl_sys::Nccl;
use rsb_model::Reason;

use super::super::driver::Activation;
use super::rank::{Group, RankPart};
use rsb_device::device::DeviceError;

type UnitResult = Result<(), DeviceError>;

/// Threads, one for each GPU, by rank.
#[derive(Default)]
pub(super) struct RankThreads {
    threads: Vec<RankThread>,
}

struct RankThread {
    /// Channels that send the number of calls to make and return their result.
    orders: Option<Sender<u64>>,
    answers: Receiver<UnitResult>,
    thread: Option<JoinHandle<()>>,
}

impl RankThreads {
    /// Starts another thread, which waits for orders.
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

    /// Makes every thread call the library `times` times, and waits until all have finished.
    pub(super) fn launch(&self, times: u64) -> UnitResult {
        for orders in self.threads.iter().filter_map(|thread| thread.orders.as_ref()) {
            orders.send(times).map_err(|_| no_thread("it has ended"))?;
        }
        // Receives all results before returning the first error, so that the next launch does not
        // receive a result of this one.
        let mut answers: Vec<UnitResult> = Vec::with_capacity(self.threads.len());
        for thread in &self.threads {
            let answer = thread.answers.recv();
            answers.push(answer.unwrap_or_else(|_| Err(no_thread("it has ended"))));
        }
        answers.into_iter().collect()
    }
}

/// Calls the library once. If the collective takes several calls, they form a group.
fn ask(api: &Nccl, part: &RankPart) -> UnitResult {
    let group = if part.is_several() { Some(Group::begin(api)?) } else { None };
    // SAFETY: the owner of this thread keeps buffers, communicator and stream alive until the
    // thread has ended, and `kernel` checked the sizes of the buffers.
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
        "choose launcher=one-thread, and stop other programs",
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
