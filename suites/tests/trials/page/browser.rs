//! A headless Chromium behind the driver of Debian, by the `WebDriver` protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A browser, which ends when it is dropped.
pub(crate) struct Browser {
    driver: Child,
    /// The driver ends if nobody reads its output.
    _output: BufReader<ChildStdout>,
    port: u16,
    session: String,
}

/// The reason why there is no browser, if there is none.
pub(crate) fn missing() -> Option<String> {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let lacking = ["chromium", "chromedriver"].into_iter().find(|program| !has(program))?;
    Some(format!(
        "there is no program {lacking} (Debian has it in the packages chromium and chromium-driver)"
    ))
}

impl Browser {
    /// Starts a browser that records its requests and its console.
    pub(crate) fn start() -> Self {
        let mut driver = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(driver.stdout.take().unwrap());
        let mut line = String::new();
        let port = loop {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "chromedriver has ended");
            let port =
                line.trim_end().strip_suffix('.').and_then(|line| line.rsplit(' ').next()?.parse().ok());
            if let (true, Some(port)) = (line.contains("started successfully"), port) {
                break port;
            }
        };
        let options = json!({
            "goog:chromeOptions": {"args": ["--headless=new", "--no-sandbox", "--window-size=1280,900"]},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        });
        let mut browser = Self { driver, _output: output, port, session: "/session".to_owned() };
        let session = browser.post("", &json!({"capabilities": {"alwaysMatch": options}}));
        browser.session = format!("/session/{}", session["sessionId"].as_str().unwrap());
        browser
    }

    /// Sends a command, and returns its value.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let (session, length) = (&self.session, body.len());
        write!(
            stream,
            "POST {session}{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let start = head.len();
            answer.read_line(&mut head).unwrap();
            let field = head[start..].to_lowercase();
            let given = field.strip_prefix("content-length:").map(|given| given.trim().parse().unwrap());
            length = given.unwrap_or(length);
        }
        // The driver keeps the connection open.
        let mut body = vec![0; length];
        answer.read_exact(&mut body).unwrap();
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert!(head.contains(" 200 "), "{path}: {value}");
        value["value"].clone()
    }

    /// Opens a page, and waits until its scripts have shown what the address asks for.
    pub(crate) fn open(&self, url: &str) {
        // A page of the same file would only get another fragment.
        self.post("/url", &json!({"url": "about:blank"}));
        self.post("/url", &json!({"url": url}));
        self.wait_for("document.body.dataset.ready");
    }

    /// Waits until an expression is true.
    pub(crate) fn wait_for(&self, expression: &str) {
        let script = format!(
            "const done = arguments[0]; const wait = () => ({expression}) ? done() : requestAnimationFrame(wait); wait();"
        );
        self.post("/execute/async", &json!({"script": script, "args": []}));
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&self, expression: &str) -> Value {
        self.post("/execute/sync", &json!({"script": format!("return {expression};"), "args": []}))
    }

    /// The text of the first element that a selector finds.
    pub(crate) fn text(&self, selector: &str) -> String {
        let found = self.value(&format!("document.querySelector({selector:?})?.textContent"));
        found.as_str().unwrap_or_default().to_owned()
    }

    /// The number of elements that a selector finds.
    pub(crate) fn count(&self, selector: &str) -> u64 {
        self.value(&format!("document.querySelectorAll({selector:?}).length")).as_u64().unwrap()
    }

    /// Presses keys, one after another.
    pub(crate) fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key})))
            .collect();
        self.post("/actions", &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}));
    }

    /// Clicks at a place of the window, in CSS pixels.
    pub(crate) fn click(&self, x: f64, y: f64) {
        let actions = json!([
            {"type": "pointerMove", "x": x.round(), "y": y.round()},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]);
        self.post("/actions", &json!({"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]}));
    }

    /// Clicks in the middle of the first element that a selector finds.
    pub(crate) fn click_on(&self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const box = document.querySelector({selector:?}).getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        self.click(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    }

    /// Returns the messages of a log since the last call.
    /// The log `browser` is the console, and the log `performance` contains the requests.
    pub(crate) fn log(&self, kind: &str) -> Vec<String> {
        let entries = self.post("/se/log", &json!({"type": kind}));
        let entries = entries.as_array().unwrap().iter();
        entries.map(|entry| entry["message"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends the browser when its session ends.
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let session = &self.session;
            let _ =
                write!(stream, "DELETE {session} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            let _ = stream.read(&mut [0; 1024]);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
