//! Webhook: the JSON document of a message, signed as in Standard Webhooks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use rsb_model::Timestamp;
use sha2::Sha256;

use super::{post, read};
use crate::config::WebhookSection;
use crate::http::SendError;
use crate::message::Notification;

/// Prefix of a secret that is encoded with base64.
const SECRET_PREFIX: &str = "whsec_";

/// Sends the document.
pub(super) fn send(
    section: &WebhookSection,
    notification: &Notification,
    dashboard: Option<&str>,
) -> Result<(), SendError> {
    let url = read(&section.url)?;
    let body = serde_json::to_string(&notification.document(dashboard))
        .map_err(|error| SendError::permanent(error.to_string()))?;
    let seconds = Timestamp::now().as_second();
    let mut headers =
        vec![("webhook-id", notification.id.clone()), ("webhook-timestamp", seconds.to_string())];
    if let Some(source) = &section.secret {
        let secret = read(source)?;
        let key = signing_key(secret.expose()).map_err(SendError::later)?;
        let signature = signature(&key, &notification.id, seconds, &body);
        headers.push(("webhook-signature", signature));
    }
    post(url.expose(), headers, body).map(drop)
}

/// Returns the bytes of a secret: decoded after `whsec_`, else as they are.
fn signing_key(secret: &str) -> Result<Vec<u8>, String> {
    match secret.strip_prefix(SECRET_PREFIX) {
        Some(encoded) => STANDARD
            .decode(encoded)
            .map_err(|_| "the secret of the webhook is not base64 after whsec_".to_owned()),
        None => Ok(secret.as_bytes().to_vec()),
    }
}

/// Returns the header `webhook-signature`: an HMAC with SHA-256 over id, time and body.
fn signature(key: &[u8], id: &str, seconds: i64, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        // HMAC takes keys of any length.
        return String::new();
    };
    mac.update(format!("{id}.{seconds}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes().as_slice()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        // The example of the reference libraries.
        let key = signing_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = "{\"test\": 2432232314}";
        assert_eq!(
            signature(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
        assert_eq!(signing_key("plain").unwrap(), b"plain");
        assert!(signing_key("whsec_?").is_err());
    }
}
