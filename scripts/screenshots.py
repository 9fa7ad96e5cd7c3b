#!/usr/bin/env python3
"""Makes the screenshots of the page in docs/page, with Debian's chromium-driver.

Usage: CAPSIZE=target/debug/capsize scripts/screenshots.py [FOLDER]
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDINGS = ROOT / "suites/recordings"

# The name of each picture, the histories, the keys that are pressed, and the place in the URL.
PICTURES = [
    ("passing", ["karmada-1.18.2/duplicated-refused.jsonl"], "", "at=12.546"),
    ("failing", ["karmada-1.18.2/divided-weighted.jsonl"], "n", ""),
]
SIZE = (1280, 860)


class Browser:
    """A headless Chromium behind a driver."""

    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--hide-scrollbars",
                     "--disable-lcd-text", f"--window-size={SIZE[0]},{SIZE[1]}"]
        options = {"goog:chromeOptions": {"args": arguments}}
        session = self.post("/session", {"capabilities": {"alwaysMatch": options}})
        self.base += f"/session/{session['sessionId']}"

    def post(self, path, body):
        """Sends a command, and returns its value."""
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["value"]

    def end(self):
        """Ends the session, and so the browser."""
        urllib.request.urlopen(urllib.request.Request(self.base, method="DELETE")).close()

    def devtools(self, command, parameters):
        """Sends a command of the DevTools protocol."""
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def shoot(self, page, keys, scheme):
        """Opens a page, presses keys, and returns a PNG."""
        self.devtools("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.devtools("Emulation.setDeviceMetricsOverride",
                      {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False})
        self.post("/url", {"url": "about:blank"})
        self.post("/url", {"url": page})
        script = "const done = arguments[0]; const wait = () => document.body.dataset.ready ? done() : setTimeout(wait, 20); wait()"
        self.post("/execute/async", {"script": script, "args": []})
        for key in keys:
            actions = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
            self.post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})
        self.post("/execute/async", {"script": "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))", "args": []})
        return base64.b64decode(self.devtools("Page.captureScreenshot", {"format": "png"})["data"])


def connect(port):
    """Returns a browser as soon as the driver answers."""
    for _ in range(100):
        try:
            return Browser(port)
        except urllib.error.URLError:
            time.sleep(0.1)
    sys.exit("chromedriver does not answer")


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs/page")
    folder.mkdir(parents=True, exist_ok=True)
    capsize = str(pathlib.Path(os.environ.get("CAPSIZE", ROOT / "target/debug/capsize")).resolve())
    driver = subprocess.Popen(["chromedriver", "--port=9517"], stdout=subprocess.DEVNULL)
    try:
        browser = connect(9517)
        with tempfile.TemporaryDirectory() as temporary:
            for name, histories, keys, place in PICTURES:
                page = pathlib.Path(temporary) / f"{name}.html"
                subprocess.run([capsize, "show", *histories, "--html", str(page)], check=True, cwd=RECORDINGS)
                for scheme in ("light", "dark"):
                    case = "/".join(pathlib.Path(histories[0]).with_suffix("").parts[-2:])
                    url = f"file://{page}" + (f"#case={case}&{place}" if place else "")
                    (folder / f"{name}-{scheme}.png").write_bytes(browser.shoot(url, keys, scheme))
        browser.end()
    finally:
        driver.terminate()


main()
