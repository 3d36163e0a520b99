//! Alerts: which messages are due, an outbox on disk, and the receivers.
//!
//! [`policy::decide`] is a pure function of the previous state, the time and the alerts.
//! [`Outbox`] stores its messages before they are sent, and [`send`] sends one to its receiver.
//!
//! **Invariant:** an alert is closed by a verdict only, never by silence. Secrets are read when a
//! message is sent, and never printed.

pub mod alert;
pub mod config;
mod http;
pub mod message;
pub mod outbox;
pub mod policy;
mod receivers;
pub mod secret;

pub use alert::{
    AlertKind, AnalysisContext, GateScope, LastMeasured, NodeProblem, NotifyAlert, NotifyState,
    ProblemNode, SeriesChange,
};
pub use config::{NotifySection, check};
pub use http::SendError;
pub use message::{Notification, NotificationDocument, NotifyEvent};
pub use outbox::{DeliveryReport, NotifyBook, NotifyError, Outbox, Preview};
pub use policy::{NotifyClock, Silence};
pub use receivers::{send, send_briefly};
