"""Drives headless Chromium over its debugging pipe (Chrome DevTools Protocol), with nothing but
Python's own library: messages are JSON, each ended by a zero byte, on descriptors 3 and 4."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Chromium:
    def __init__(self, width=1280, height=900):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if program is None:
            raise FileNotFoundError("chromium is not installed")
        self.profile = tempfile.mkdtemp(prefix="bb-chromium-")
        to_child, self.write_end = os.pipe()
        self.read_end, from_child = os.pipe()

        def wire():
            # The two ends may already be 3 or 4: they are moved out of the way first.
            a, b = os.dup(to_child), os.dup(from_child)
            os.dup2(a, 3)
            os.dup2(b, 4)

        # No sandbox: inside a container, as root, it cannot be set up; the pages are our own.
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--disable-background-networking",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
             f"--window-size={width},{height}", "about:blank"],
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.buffer = b""
        self.next_id = 0
        self.session = None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            block = os.read(self.read_end, 1 << 20)
            if not block:
                raise ConnectionError("Chromium ended")
            self.buffer += block
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, timeout=60, **params):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            answer = self.receive(deadline)
            if answer.get("id") != self.next_id:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def wait_for(self, event, timeout=60):
        deadline = time.monotonic() + timeout
        while True:
            for i, seen in enumerate(self.events):
                if seen.get("method") == event:
                    return self.events.pop(i)
            self.events.append(self.receive(deadline))

    def open(self, path, timeout=60):
        """Seconds until the load event."""
        self.events.clear()
        start = time.monotonic()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("Page.loadEventFired", timeout)
        return time.monotonic() - start

    def run(self, expression, timeout=60):
        """The value of a JavaScript expression; promises are awaited."""
        result = self.call("Runtime.evaluate", timeout=timeout, expression=expression,
                           returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def media(self, kind="screen", theme="light"):
        self.call("Emulation.setEmulatedMedia", media=kind,
                  features=[{"name": "prefers-color-scheme", "value": theme}])

    def mouse(self, kind, x, y, button="none", clicks=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button,
                  buttons=1 if button == "left" else 0, clickCount=clicks)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def key(self, name):
        text = {"text": name} if len(name) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def complaints(self):
        """Console errors and warnings, exceptions, and requests that leave the page."""
        out = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                out.append(details.get("exception", {}).get("description", details["text"]))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                out.append(f"console.{params['type']}: {params['args']}")
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                out.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file://", "data:", "blob:")):
                    out.append("asks for " + url[:200])
            elif method == "Page.javascriptDialogOpening":
                out.append("opens a dialog: " + params["message"])
        return out
