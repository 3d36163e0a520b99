//! HTTPS with a certificate of the system, which `SSL_CERT_FILE` replaces.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use common::servers::{make_certificate, read_request};
use common::{alert, be_sender, start_sender};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

#[test]
#[ignore = "the child process that the other tests of this file start"]
fn sender() {
    be_sender();
}

/// Starts a server with TLS that accepts every request. Returns its address and the requests.
fn serve_tls(certificate: &Path, key: &Path) -> (String, Receiver<String>) {
    let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let (requests, received) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            // A client that does not trust the certificate sends no request.
            let Ok(request) = read_request(&mut stream) else { continue };
            let _ = requests.send(request);
            let text = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            drop(stream.write_all(text));
        }
    });
    (address, received)
}

#[test]
fn a_server_gets_a_message_only_if_its_certificate_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    make_certificate(&path("server.crt"), &path("server.key"));
    make_certificate(&path("other.crt"), &path("other.key"));
    let (address, requests) = serve_tls(&path("server.crt"), &path("server.key"));
    let section = format!("[[notify]]\nname = 'hook'\nwebhook = {{ url = '{address}/hook' }}\n");
    let mut sender = start_sender(dir.path(), &section, &[alert("a-1", 30.0)]);
    let refused = sender.env("SSL_CERT_FILE", path("other.crt")).output().unwrap();
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("1 message waits for `hook`"), "{text}");
    assert_eq!(requests.try_iter().count(), 0);
    // The message waits until the next attempt is due.
    let accepted = sender.env("SSL_CERT_FILE", path("server.crt")).output().unwrap();
    assert!(accepted.status.success(), "{}", String::from_utf8_lossy(&accepted.stderr));
    assert_eq!(requests.try_iter().count(), 1);
}
