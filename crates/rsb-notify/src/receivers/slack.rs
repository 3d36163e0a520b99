//! Slack: an incoming webhook with Block Kit. It cannot edit a message or answer in a thread.

use serde_json::{Value, json};

use super::{fit, post, read};
use crate::alert::NotifyAlert;
use crate::config::SlackSection;
use crate::http::SendError;
use crate::message::Notification;

/// Maximum number of blocks of a message.
const MAX_BLOCKS: usize = 50;

/// Maximum length of a header.
const MAX_HEADER: usize = 150;

/// Maximum length of a section. Slack accepts 3,000 characters; with this limit, the sections of
/// one alert always fit into a message.
const MAX_SECTION: usize = 2000;

/// Maximum length of a line, so that a section has more than one.
const MAX_LINE: usize = 300;

/// Maximum length of all texts. Slack refuses about 13,200 characters, which is not documented.
const MAX_TOTAL: usize = 12_500;

/// Maximum length of the link. Instead of a longer one, there is a link to the dashboard's first
/// page.
const MAX_LINK: usize = 800;

/// Length that is kept free for the link and the number of alerts that are left out.
const RESERVED: usize = MAX_LINK + 200;

/// Length counted for each block in addition to its text.
const PER_BLOCK: usize = 20;

/// Sends the message.
pub(super) fn send(
    section: &SlackSection,
    notification: &Notification,
    dashboard: Option<&str>,
) -> Result<(), SendError> {
    let url = read(&section.url)?;
    let answer = post(url.expose(), Vec::new(), payload(notification, dashboard).to_string())?;
    // Any other answer comes from a proxy or a sign-in page.
    if answer.trim() == "ok" {
        Ok(())
    } else {
        Err(SendError::later("the answer is not that of Slack; check the address"))
    }
}

/// Returns the body of the request.
pub(super) fn payload(notification: &Notification, dashboard: Option<&str>) -> Value {
    let title = notification.title();
    let mut blocks = Blocks::default();
    let header = json!({"type": "plain_text", "text": fit(&title, MAX_HEADER), "emoji": false});
    blocks.push(json!({"type": "header", "text": header}), MAX_HEADER);
    let has_several = notification.alerts.len() > 1;
    let mut left = 0;
    for alert in &notification.alerts {
        if left > 0 || !blocks.push_sections(&section_texts(alert, has_several)) {
            left += 1;
        }
    }
    if left > 0 {
        let more = format!("{left} more: `rusty-stack-bench notify status` lists all");
        blocks.push(context(&more), more.len());
    }
    let links = [notification.link(dashboard), dashboard.map(str::to_owned)];
    let mut links = links.into_iter().flatten().map(|link| escape(&link));
    if let Some(link) = links.find(|link| link.len() <= MAX_LINK) {
        let link = format!("<{link}|Dashboard>");
        blocks.push(context(&link), link.len());
    }
    json!({"text": fit(&escape(&title), MAX_LINE), "blocks": blocks.list})
}

/// Blocks and the length of their texts.
#[derive(Default)]
struct Blocks {
    list: Vec<Value>,
    length: usize,
}

impl Blocks {
    fn push(&mut self, block: Value, length: usize) {
        self.list.push(block);
        self.length += length + PER_BLOCK;
    }

    /// Adds the sections if all of them fit, with room for two more blocks. Returns whether they
    /// fit.
    fn push_sections(&mut self, texts: &[String]) -> bool {
        let length: usize = texts.iter().map(|text| text.encode_utf16().count() + PER_BLOCK).sum();
        if self.list.len() + texts.len() + 2 > MAX_BLOCKS
            || self.length + length + RESERVED > MAX_TOTAL
        {
            return false;
        }
        for text in texts {
            let length = text.encode_utf16().count();
            let text = json!({"type": "mrkdwn", "text": text});
            self.push(json!({"type": "section", "text": text}), length);
        }
        true
    }
}

fn context(text: &str) -> Value {
    json!({"type": "context", "elements": [{"type": "mrkdwn", "text": text}]})
}

/// Returns the texts of the sections of `alert`. Names are in code blocks, where Slack interprets
/// nothing.
fn section_texts(alert: &NotifyAlert, has_headline: bool) -> Vec<String> {
    let mut texts = Vec::new();
    if has_headline {
        texts.push(format!("`{}`", fit(&code(&alert.headline()), MAX_LINE)));
    }
    for section in alert.sections() {
        let mut text = format!("*{}*\n```", section.heading);
        let mut left = section.lines.len();
        for line in &section.lines {
            let line = escape(&fit(&line.replace('`', "'"), MAX_LINE));
            if text.encode_utf16().count() + line.encode_utf16().count() + 40 > MAX_SECTION {
                break;
            }
            text.extend(["\n", &line]);
            left -= 1;
        }
        text.push_str("\n```");
        if left > 0 {
            text.extend(["\nand ", &left.to_string(), " more lines"]);
        }
        texts.push(text);
    }
    texts
}

/// Escapes `text` for a code span.
fn code(text: &str) -> String {
    escape(&text.replace('`', "'"))
}

/// Escapes the three characters that Slack interprets, which also disarms mentions and links.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::SeriesChange;
    use crate::alert::tests::change;
    use crate::message::NotifyEvent;

    fn message(alerts: Vec<NotifyAlert>) -> Notification {
        let mut message = Notification::test("team", alerts[0].since);
        (message.alerts, message.event) = (alerts, NotifyEvent::New);
        message
    }

    /// Checks the limits of Slack, and returns the number of blocks.
    fn check(payload: &Value) -> usize {
        let blocks = payload["blocks"].as_array().unwrap();
        let mut total = 0;
        for block in blocks {
            let text = block["text"]["text"].as_str().or(block["elements"][0]["text"].as_str());
            let length = text.unwrap().encode_utf16().count();
            let most = if block["type"] == "header" { 150 } else { 3000 };
            assert!((1..=most).contains(&length), "{block}");
            total += length;
        }
        assert!(blocks.len() <= 50 && total <= 13_000, "{} blocks, {total}", blocks.len());
        blocks.len()
    }

    #[test]
    fn a_message_has_a_header_the_cases_and_a_link() {
        let payload = payload(&message(vec![change("a-1", 15.0)]), Some("https://bench.example"));
        assert_eq!(check(&payload), 3);
        assert_eq!(
            payload["blocks"][0]["text"]["text"],
            "gemm/a-1 time_ms +15.0 % on epyc since run r7"
        );
        assert_eq!(
            payload["blocks"][1]["text"]["text"],
            "*Cases*\n```\ngemm/a-1 time_ms +15.0 %\n```"
        );
        assert_eq!(
            payload["blocks"][2]["elements"][0]["text"],
            "<https://bench.example/case?id=gemm/a-1&amp;machine=epyc|Dashboard>"
        );
    }

    #[test]
    fn the_limits_hold_for_many_and_for_huge_alerts() {
        let mut huge = change("a-1", 15.0);
        huge.series = (0..20)
            .map(|_| SeriesChange {
                id: "<&>`\u{1f600}".repeat(40),
                metric: "m".repeat(200),
                change_percent: Some(1e300),
            })
            .collect();
        huge.series_count = 1000;
        huge.causes = vec!["&".repeat(200); 10];
        huge.commits = vec!["<".repeat(200); 10];
        huge.next = vec![">".repeat(200); 10];
        huge.because = Some("&".repeat(200));
        let payload_of = |alerts| payload(&message(alerts), Some("https://bench.example"));
        assert!(check(&payload_of(vec![huge.clone()])) >= 6, "one alert is never cut out");
        check(&payload_of(vec![huge; 30]));
        let many = payload_of((0..200).map(|at| change(&format!("a-{at}"), 15.0)).collect());
        let blocks = check(&many);
        assert!(many["blocks"][blocks - 2].to_string().contains("more:"), "{many}");
    }

    #[test]
    fn names_cannot_mention_link_or_leave_the_code_block() {
        let mut alert = change("a-1", 15.0);
        alert.machine = "<!channel> <@U1> `x`".to_owned();
        alert.series[0].id = "``` <http://evil|click> &lt;".to_owned();
        let payload = payload(&message(vec![alert.clone(), alert]), None);
        let text = payload["blocks"][2]["text"]["text"].as_str().unwrap();
        assert_eq!(text.matches("```").count(), 2, "{text}");
        assert!(text.contains("&lt;http://evil|click&gt; &amp;lt;"), "{text}");
        let fallback = payload["text"].as_str().unwrap();
        assert!(!fallback.contains("<!channel>"), "{fallback}");
        let headline = payload["blocks"][1]["text"]["text"].as_str().unwrap();
        assert_eq!(headline.matches('`').count(), 2, "{headline}");
    }
}
