"""Headless Chromium by the WebDriver protocol in plain HTTP, to use a page."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

import pytest

#: What keeps Chromium from asking for anything outside.
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
SECONDS = 60.0


class Browser:
    """A browser; the test is skipped if there is none."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("chromedriver") is None:
            pytest.skip("chromedriver is not installed")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        quiet = subprocess.DEVNULL
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=quiet, stderr=quiet
        )
        self.url = f"http://127.0.0.1:{port}"
        self.session = ""
        arguments = [*OPTIONS, f"--user-data-dir={folder / 'profile'}"]
        wanted = {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        try:
            self._wait()
            made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = f"/session/{made['sessionId']}"
        except BaseException:
            self.driver.terminate()
            raise

    def _wait(self) -> None:
        ends = time.monotonic() + SECONDS
        while True:
            try:
                if self._ask("GET", "/status")["ready"]:
                    return
            except OSError:
                if time.monotonic() > ends:
                    raise
            time.sleep(0.05)

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        head = {"Content-Type": "application/json"}
        wanted = urllib.request.Request(self.url + path, data, head, method=method)
        with urllib.request.urlopen(wanted, timeout=SECONDS) as answer:
            return json.load(answer)["value"]

    def open(self, path: Path, hash_: str = "") -> None:
        """Load a page."""
        self._ask("POST", f"{self.session}/url", {"url": f"{path.as_uri()}{hash_}"})

    def run(self, script: str, *given: Any) -> Any:
        """Return the result of a function body that runs in the page."""
        return self._ask(
            "POST", f"{self.session}/execute/sync", {"script": script, "args": list(given)}
        )

    def keys(self, text: str) -> None:
        """Press keys, one after another; WebDriver has numbers for keys without letters."""
        steps = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keys", "actions": steps}]
        self._ask("POST", f"{self.session}/actions", {"actions": actions})

    def complaints(self) -> list[str]:
        """Return the lines of the console since the last call."""
        found = self._ask("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in found]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self.session:
                self._ask("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
