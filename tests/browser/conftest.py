"""A real browser for `make test-browser`; without a browser, no tests are collected."""

from __future__ import annotations

import os
from shutil import which

import pytest

WANTED = bool(os.environ.get("DELTAPARSE_BROWSER"))
collect_ignore_glob = [] if WANTED else ["test_*.py"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def driver():
    """Chromium, without a window."""
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    browser = next(filter(None, map(which, BROWSERS)), None)
    tool = which("chromedriver")
    if browser is None or tool is None:
        pytest.fail("no browser: apt-get install chromium chromium-driver fonts-dejavu")
    options = ChromeOptions()
    options.binary_location = browser
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--force-color-profile=srgb",
        "--lang=en",
        "--host-resolver-rules=MAP * ~NOTFOUND",  # whatever is asked of a network fails at once
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = Chrome(options=options, service=ChromeService(tool))
    yield started
    started.quit()
