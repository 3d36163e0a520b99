//! Mail over SMTP with STARTTLS or TLS, as text and HTML. Later messages about an alert are answers
//! to the first one.

use std::time::Duration;

use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::{Message, SmtpTransport, Transport as _};

use super::{fit, read};
use crate::config::{EmailSection, TlsMode};
use crate::http::SendError;
use crate::message::Notification;

const MAX_SUBJECT: usize = 200;

/// Maximum number of attached charts.
const MAX_CHARTS: usize = 5;

/// Time limit of one command.
const LIMIT: Duration = Duration::from_secs(5);

/// SMTP status codes about encryption and authentication, not about the mail.
const AUTHENTICATION: [u16; 4] = [530, 534, 535, 538];

/// Sends the mail.
pub(super) fn send(
    section: &EmailSection,
    notification: &Notification,
    dashboard: Option<&str>,
) -> Result<(), SendError> {
    let mail = mail(section, notification, dashboard).map_err(SendError::later)?;
    let transport = transport(section)?;
    // A server that refuses the connection or the password may accept the mail after a correction.
    transport.test_connection().map_err(|error| SendError::later(error.to_string()))?;
    transport.send(&mail).map(drop).map_err(|error| {
        let code = error.status().map(u16::from);
        if error.is_permanent() && !code.is_some_and(|code| AUTHENTICATION.contains(&code)) {
            SendError::permanent(error.to_string())
        } else {
            SendError::later(error.to_string())
        }
    })
}

fn transport(section: &EmailSection) -> Result<SmtpTransport, SendError> {
    let host = &section.host;
    let builder = match section.tls {
        TlsMode::Starttls => SmtpTransport::starttls_relay(host),
        TlsMode::Implicit => SmtpTransport::relay(host),
        TlsMode::None => Ok(SmtpTransport::builder_dangerous(host)),
    };
    let builder = builder.map_err(|error| SendError::later(error.to_string()))?;
    let mut builder = builder.timeout(Some(LIMIT));
    if let Some(port) = section.port {
        builder = builder.port(port);
    }
    if let (Some(user), Some(source)) = (&section.user, &section.password) {
        let password = read(source)?.expose().to_owned();
        builder = builder.credentials(Credentials::new(user.clone(), password));
    }
    Ok(builder.build())
}

/// Returns the mail.
fn mail(
    section: &EmailSection,
    notification: &Notification,
    dashboard: Option<&str>,
) -> Result<Message, String> {
    let address = |text: &str| {
        text.parse::<Mailbox>().map_err(|error| format!("`{text}` is not an address: {error}"))
    };
    let from = address(&section.from)?;
    let domain = from.email.domain().to_owned();
    let id = |id: &str| format!("<{id}@{domain}>");
    let automatic = HeaderValue::new(
        HeaderName::new_from_ascii_str("Auto-Submitted"),
        "auto-generated".to_owned(),
    );
    let mut builder = Message::builder()
        .from(from)
        .subject(fit(&notification.title(), MAX_SUBJECT))
        .message_id(Some(id(&notification.id)))
        .raw_header(automatic);
    for recipient in &section.to {
        builder = builder.to(address(recipient)?);
    }
    if let Some(first) = &notification.reply_to {
        builder = builder.in_reply_to(id(first)).references(id(first));
    }
    let text = notification.text(dashboard);
    let html = html(&text);
    let content = MultiPart::alternative_plain_html(text, html);
    let charts: Vec<&String> =
        notification.alerts.iter().filter_map(|alert| alert.chart.as_ref()).collect();
    if charts.is_empty() {
        return builder.multipart(content).map_err(|error| error.to_string());
    }
    let kind = ContentType::parse("image/svg+xml").map_err(|error| error.to_string())?;
    let mut mixed = MultiPart::mixed().multipart(content);
    for (at, chart) in charts.into_iter().take(MAX_CHARTS).enumerate() {
        let attachment = Attachment::new(format!("chart-{}.svg", at + 1));
        mixed = mixed.singlepart(attachment.body(chart.clone(), kind.clone()));
    }
    builder.multipart(mixed).map_err(|error| error.to_string())
}

/// Returns the text as HTML in a monospaced font, so that numbers are aligned.
fn html(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<!doctype html><html><body><pre>{text}</pre></body></html>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::tests::change;

    fn formatted(notification: &Notification) -> String {
        let section: EmailSection = toml::from_str(
            "host = 'mail.example'\nfrom = 'Bench <bench@lab.example>'\nto = ['a@b.example']",
        )
        .unwrap();
        let mail = mail(&section, notification, Some("https://bench.example")).unwrap();
        String::from_utf8(mail.formatted()).unwrap()
    }

    fn message() -> Notification {
        let alert = change("a-1", 15.0);
        let mut message = Notification::test("mail", alert.since);
        (message.id, message.alerts) = ("x-1-1".to_owned(), vec![alert]);
        message
    }

    #[test]
    fn reminder_and_recovery_are_answers_to_the_first_mail() {
        let first = formatted(&message());
        for header in [
            "Message-ID: <x-1-1@lab.example>",
            "Auto-Submitted: auto-generated",
            "Subject: gemm/a-1 time_ms +15.0 % on epyc since run r7",
            "From: Bench <bench@lab.example>",
            "Content-Type: multipart/alternative",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Type: text/html; charset=utf-8",
        ] {
            assert!(first.contains(header), "{header}\n{first}");
        }
        assert!(!first.contains("In-Reply-To"));
        let mut later = message();
        (later.id, later.reply_to) = ("x-1-2".to_owned(), Some("x-1-1".to_owned()));
        let later = formatted(&later);
        for header in ["In-Reply-To: <x-1-1@lab.example>", "References: <x-1-1@lab.example>"] {
            assert!(later.contains(header), "{header}\n{later}");
        }
    }

    #[test]
    fn a_chart_is_attached() {
        let mut message = message();
        message.alerts[0].chart = Some("<svg></svg>".to_owned());
        let mail = formatted(&message);
        for part in ["multipart/mixed", "image/svg+xml", "filename=\"chart-1.svg\"", "<svg></svg>"]
        {
            assert!(mail.contains(part), "{part}\n{mail}");
        }
    }

    #[test]
    fn names_can_add_no_header_and_no_markup() {
        let mut message = message();
        message.alerts[0].machine = "x\r\nBcc: all@b.example".to_owned();
        let text = formatted(&message);
        let (headers, _) = text.split_once("\r\n\r\n").unwrap();
        assert!(!headers.lines().any(|line| line.starts_with("Bcc:")), "{headers}");
        assert!(html("<script> &amp;").contains("<pre>&lt;script&gt; &amp;amp;</pre>"));
    }
}
