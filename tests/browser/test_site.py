"""The site of the documentation, opened from a folder, without a network."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")

ROOT = Path(__file__).parents[2]
REQUESTED = "return performance.getEntriesByType('resource').map(entry => entry.name)"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "-d", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return folder


@pytest.fixture
def opened(driver, site):
    def open_page(name):
        driver.get((site / name).as_uri())
        return driver

    return open_page


def test_search_finds_pages(opened):
    driver = opened("index.html")
    box = driver.find_element("css selector", "input.md-search__input")
    driver.execute_script("arguments[0].focus()", box)
    box.send_keys("finish reason")
    found = []
    for _ in range(100):
        found = driver.find_elements("css selector", ".md-search-result__link")
        if found:
            break
        time.sleep(0.1)
    assert found[0].get_attribute("href").endswith("/finish-reasons.html")


@pytest.mark.parametrize("name", ["index.html", "inspector.html", "reference.html"])
def test_site_makes_no_network_requests(opened, name):
    driver = opened(name)
    driver.execute_script("sessionStorage.clear()")  # what a page has asked, it does not ask again
    driver.get_log("browser")
    driver.refresh()
    time.sleep(1)
    elsewhere = [url for url in driver.execute_script(REQUESTED) if url.startswith("http")]
    assert (elsewhere, driver.get_log("browser")) == ([], [])


def test_no_page_is_wider_than_a_telephone(opened):
    driver = opened("server-author.html")
    driver.set_window_size(400, 800)
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert driver.execute_script(wide) <= 0
    driver.set_window_size(1200, 900)
