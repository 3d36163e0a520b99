//! A headless Chromium, driven over HTTP with the W3C `WebDriver` protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Maximum time to wait for a condition.
const LONGEST: Duration = Duration::from_mins(1);

/// A browser with one page. It exits when this value is dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    axe: String,
    profile: tempfile::TempDir,
}

/// Width of the page, and color scheme of the reader's system.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    pub width: u32,
    pub dark: bool,
}

impl Reader {
    /// Desktop, light mode.
    pub const DESK: Self = Self { width: 1280, dark: false };
    /// Phone, dark mode.
    pub const PHONE: Self = Self { width: 390, dark: true };
}

impl Browser {
    /// Starts a browser, or prints the missing program.
    pub fn begin() -> Option<Self> {
        let said = |why: &str| {
            test_needs::missing("chromium", why);
            None
        };
        let Some(axe) =
            std::env::var_os("RSB_AXE_CORE").and_then(|path| std::fs::read_to_string(path).ok())
        else {
            return said(
                "RSB_AXE_CORE does not name axe.min.js; get it with `npm install axe-core`",
            );
        };
        let begun = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = begun else {
            return said("the program `chromedriver` is not here; install chromium-driver");
        };
        let port = port(&mut driver);
        let mut browser = Self {
            driver,
            port,
            session: String::new(),
            axe,
            profile: tempfile::tempdir().unwrap(),
        };
        let profile = format!("--user-data-dir={}", browser.profile.path().display());
        // Chromium cannot use its sandbox as root, as in most containers. Only pages of this test
        // are opened.
        let arguments =
            ["--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", &profile];
        let session = browser.call(
            "POST",
            "/session",
            &json!({ "capabilities": { "alwaysMatch": {
                "goog:chromeOptions": { "args": arguments },
                "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            } } }),
        );
        browser.session = format!("/session/{}", session["sessionId"].as_str().unwrap());
        Some(browser)
    }

    /// Opens `address` and waits until it is loaded.
    pub fn open(&self, address: &str) {
        self.ask("url", &json!({ "url": address }));
    }

    /// Opens the file `path`.
    pub fn open_file(&self, path: &Path) {
        self.open(&format!("file://{}", path.display()));
    }

    /// Runs `script` as a function body on the page and returns its result. Promises are awaited.
    pub fn run(&self, script: &str) -> Value {
        self.ask("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs `script` like [`Browser::run`] and returns its result as text.
    pub fn text(&self, script: &str) -> String {
        self.run(script)
            .as_str()
            .unwrap_or_else(|| panic!("`{script}` must return text"))
            .to_owned()
    }

    /// Waits until the page is complete and `condition` holds on it.
    pub fn wait_until(&self, condition: &str) {
        let began = Instant::now();
        let holds = format!("return document.readyState === 'complete' && ({condition})");
        while self.run(&holds) != true {
            assert!(began.elapsed() < LONGEST, "`{condition}` did not become true");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Presses `key` on the focused element.
    pub fn press(&self, key: char) {
        let actions =
            json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        self.ask(
            "actions",
            &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] }),
        );
    }

    /// Sets the page width and the color scheme to those of `reader`.
    pub fn read_as(&self, reader: Reader) {
        let scheme = if reader.dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": features }));
        let size = json!({ "width": reader.width, "height": 900, "deviceScaleFactor": 1, "mobile": reader.width < 500 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Returns the accessibility violations found by axe-core.
    pub fn barriers(&self) -> Vec<String> {
        self.run(&format!("if (!window.axe) {{ {} }}", self.axe));
        let script = "const { violations } = await axe.run(document, { resultTypes: ['violations'] }); return violations.flatMap(
            rule => rule.nodes.map(node => `${rule.id}: ${node.target} ${node.failureSummary}`));";
        let found = self.run(&format!("return (async () => {{ {script} }})()"));
        found.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
    }

    /// Returns the console messages of the page and of the browser since the last call.
    pub fn console(&self) -> Vec<String> {
        self.log("browser")
            .iter()
            .map(|entry| entry["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns the addresses that pages requested since the last call.
    pub fn requests(&self) -> Vec<String> {
        let events = self.log("performance");
        let address = |entry: &Value| {
            let event: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let (method, request) = (&event["message"]["method"], &event["message"]["params"]);
            // The browser's own first page requests internal resources.
            let is_of_a_page = |address: &&str| !address.starts_with("chrome://");
            request["documentURL"]
                .as_str()
                .filter(is_of_a_page)
                .filter(|_| method == "Network.requestWillBeSent")?;
            Some(request["request"]["url"].as_str()?.to_owned())
        };
        events.iter().filter_map(address).collect()
    }

    fn log(&self, name: &str) -> Vec<Value> {
        self.ask("se/log", &json!({ "type": name })).as_array().unwrap().clone()
    }

    fn devtools(&self, command: &str, parameters: &Value) {
        self.ask("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    fn ask(&self, command: &str, body: &Value) -> Value {
        self.call("POST", &format!("{}/{command}", self.session), body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let value = self.send(method, path, body).unwrap()["value"].take();
        assert!(value["error"].is_null(), "{path}: {}: {}", value["error"], value["message"]);
        value
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
        let (port, body) = (self.port, body.to_string());
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: \
             {length}\r\n\r\n{body}"
        )?;
        let mut reply = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reply.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().unwrap();
                }
                // Skip the status: errors have a message in the body.
                None if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        // Read exactly the announced length, because the driver keeps the connection open.
        let mut body = vec![0; length];
        reply.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }
}

/// Returns the port that the driver printed.
fn port(driver: &mut Child) -> u16 {
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let told = lines.map_while(Result::ok).find_map(|line| {
        line.strip_prefix("ChromeDriver was started successfully on port ")?
            .trim_end_matches('.')
            .parse()
            .ok()
    });
    told.expect("ChromeDriver must print its port")
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver closes the browser with its session.
        let _ = self.send("DELETE", &self.session, &json!({}));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
