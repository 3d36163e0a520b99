//! The process that sends is killed: each alert arrives, with at most one duplicate per crash.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use common::servers::{Reaction, answer, serve};
use common::{alert, be_sender, start_sender};
use rsb_model::random::Generator;
use rsb_notify::NotifyBook;

const RECEIVERS: usize = 4;
const KILLS: u64 = 20;

#[test]
#[ignore = "the child process that the other tests of this file start"]
fn sender() {
    be_sender();
}

fn accepted() -> Reaction {
    answer("204 No Content", "", "")
}

fn webhooks(address: &str) -> String {
    let section = |at| {
        format!("[[notify]]\nname = 'hook-{at}'\nwebhook = {{ url = '{address}/hook-{at}' }}\n")
    };
    (0..RECEIVERS).map(section).collect()
}

/// Returns the header `webhook-id` of each request to the receiver `at`.
fn ids_of(requests: &[String], at: usize) -> Vec<&str> {
    let start = format!("POST /hook-{at} ");
    let own = requests.iter().filter(|request| request.starts_with(&start));
    own.map(|request| request.lines().find_map(|line| line.strip_prefix("webhook-id: ")).unwrap())
        .collect()
}

/// Checks that each receiver got its message, always with the same id; returns the number of
/// duplicates.
fn duplicates(requests: &Receiver<String>) -> usize {
    let requests: Vec<String> = requests.try_iter().collect();
    for at in 0..RECEIVERS {
        let ids = ids_of(&requests, at);
        assert!(!ids.is_empty(), "hook-{at} got no message");
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
    requests.len() - RECEIVERS
}

#[test]
fn a_kill_at_a_random_moment_loses_no_alert_and_sends_at_most_one_twice() {
    let mut random = Generator::new(51);
    let longest = time_of_a_sender();
    let mut interrupted = 0;
    for kill in 0..KILLS {
        let dir = tempfile::tempdir().unwrap();
        let (address, requests) = serve(vec![accepted()]);
        let mut sender = start_sender(dir.path(), &webhooks(&address), &[alert("a-1", 30.0)]);
        let mut killed = sender.spawn().unwrap();
        thread::sleep(longest.mul_f64(random.unit()));
        killed.kill().unwrap();
        killed.wait().unwrap();
        interrupted += usize::from(!NotifyBook::read(dir.path()).unwrap().pending.is_empty());
        assert!(sender.status().unwrap().success(), "after kill {kill}");
        let duplicates = duplicates(&requests);
        assert!(duplicates <= 1, "{duplicates} after kill {kill}");
        // What was sent is not sent again.
        assert!(sender.status().unwrap().success());
        assert_eq!(requests.try_iter().count(), 0, "after kill {kill}");
    }
    assert!(interrupted > 0, "no kill was between storing and sending");
}

/// Returns how long the sender takes if it is not killed.
fn time_of_a_sender() -> Duration {
    let dir = tempfile::tempdir().unwrap();
    let (address, _requests) = serve(vec![accepted()]);
    let mut sender = start_sender(dir.path(), &webhooks(&address), &[alert("a-1", 30.0)]);
    let start = Instant::now();
    assert!(sender.status().unwrap().success());
    start.elapsed()
}

#[test]
fn a_kill_between_request_and_answer_sends_one_message_again_with_the_same_id() {
    let dir = tempfile::tempdir().unwrap();
    let (address, requests) = serve(vec![accepted(), Reaction::Hang, accepted()]);
    let mut sender = start_sender(dir.path(), &webhooks(&address), &[alert("a-1", 30.0)]);
    let mut killed = sender.spawn().unwrap();
    let before: Vec<String> = requests.iter().take(2).collect();
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(sender.status().unwrap().success());
    let after: Vec<String> = requests.try_iter().collect();
    assert_eq!((ids_of(&before, 0).len(), ids_of(&after, 0).len()), (1, 0));
    assert_eq!(ids_of(&before, 1), ids_of(&after, 1));
    assert_eq!(after.len(), RECEIVERS - 1);
}
