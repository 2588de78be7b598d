"""Headless Chromium, signed in to MaiBot's web UI as its owner is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
"""As root in a container, and without the requests that a browser makes by itself."""

PAGE_MILLISECONDS = 60_000
"""Longest wait for anything on a page; a second when the machine is idle."""

SIZE = {"width": 1400, "height": 1100}
"""Of the window, in pixels."""


@contextmanager
def signed_in(address: str, token: str) -> Iterator[Any]:
    """Yield a page of a browser that carries the owner's cookie for `address`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            context = browser.new_context(viewport=SIZE, locale="zh-CN")
            context.add_cookies([{"name": "maibot_session", "value": token, "url": address}])
            page = context.new_page()
            page.set_default_timeout(PAGE_MILLISECONDS)
            yield page
        finally:
            browser.close()
