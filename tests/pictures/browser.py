"""A page as a person sees it: Chromium without a window, steered over its debugging port."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --enable-unsafe-swiftshader --no-first-run --hide-scrollbars "
    "--disable-background-networking --remote-debugging-port=0 --window-size=1100,800"
)


def screenshot(url: str, profile: Path, ready: Callable[[], bool], done: Callable[[bytes], bool]) -> bytes:
    """The PNG of a page that `ready` says has loaded: the first that is `done`, or the last within 20 s."""
    from websockets.sync.client import connect

    command = [str(CHROMIUM), *FLAGS.split(), f"--user-data-dir={profile}", "about:blank"]
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = wait(lambda: (profile / "DevToolsActivePort").read_text().split("\n")[0])
        listed = wait(lambda: json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list")))
        (page,) = [target for target in listed if target["type"] == "page"]
        with connect(page["webSocketDebuggerUrl"], max_size=None) as tab:

            def ask(number: int, method: str, **parameters: object) -> dict:
                tab.send(json.dumps({"id": number, "method": method, "params": parameters}))
                while True:
                    answer = json.loads(tab.recv(timeout=60))
                    if answer.get("id") == number:
                        return answer["result"]

            ask(1, "Page.navigate", url=url)
            wait(ready)
            for number in range(2, 42):
                time.sleep(0.5)
                png = base64.b64decode(ask(number, "Page.captureScreenshot", format="png")["data"])
                if done(png):
                    break
            return png
    finally:
        browser.terminate()
        browser.wait(10)


def wait(ask: Callable, seconds: float = 30.0):
    """What `ask` gives as soon as it gives something."""
    end = time.monotonic() + seconds
    while True:
        try:
            found = ask()
        except (OSError, ValueError):
            found = None
        if found:
            return found
        assert time.monotonic() < end, "the browser did not answer in time"
        time.sleep(0.1)
