"""Releases: a single owner for all URLs, a portable README, and valid workflows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import deltaparse

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
SKIPPED = {".git", ".venv", ".venv-wheel", "build", "dist", "vocabularies"}


@pytest.fixture
def owner(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import owner

    yield owner
    sys.modules.pop("owner")


def texts():
    """Return the text files of the repository by their paths."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    paths = [ROOT / name for name in names] or [
        path for path in ROOT.rglob("*") if not SKIPPED & {*path.relative_to(ROOT).parts}
    ]
    for path in paths:
        if path.is_file() and not path.is_symlink() and path.suffix not in {".png", ".gz"}:
            yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8", errors="replace")


def test_every_url_has_the_owner_of_the_project(owner):
    places = {}
    for name, text in texts():
        if not name.startswith(("tests/", "tools/", "CONTRIBUTING")):
            found = set(owner.URL.findall(text))
            places |= {name: found} if found else {}
    assert set(places) == set(owner.PLACES)
    assert set().union(*places.values()) == {owner.owner()}


def test_one_variable_fills_every_url(owner, tmp_path):
    for place in owner.PLACES:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / place, tmp_path / place)
    for name in ("acme", "some-body"):  # and again, for a move to another owner
        owner.write(name, tmp_path)
        assert owner.owner(tmp_path) == name
        for place in owner.PLACES:
            text = (tmp_path / place).read_text(encoding="utf-8")
            assert set(owner.URL.findall(text)) == {name}
            assert owner.UNKNOWN not in re.findall(r"[\w./-]*deltaparse[\w./-]*", text)
    for bad in ("", "a b", "a/b", "-a"):
        with pytest.raises(ValueError, match="valid account name"):
            owner.write(bad, tmp_path)


def test_readme_of_the_package_index_links_to_the_repository(monkeypatch):
    pytest.importorskip("hatchling")
    monkeypatch.syspath_prepend(str(ROOT))
    import hatch_build

    metadata = dict(PROJECT)
    hatch_build.ReadmeHook(str(ROOT), {}).update(metadata)
    links = re.findall(r"\]\(([^)]*)\)", metadata["readme"]["text"])
    tag = f"v{deltaparse.__version__}"
    assert f"{PROJECT['urls']['Repository']}/blob/{tag}/docs/start.md" in links
    assert [link for link in links if not link.startswith("https://")] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*\.png)\)", metadata["readme"]["text"])
    assert pictures
    assert all(f"/raw/{tag}/docs/pictures/" in link for link in pictures)
    sys.modules.pop("hatch_build")


def test_workflows_run_existing_makefile_targets():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    run = set()
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        matrices = [names.replace(",", " ") for names in re.findall(r"target: \[(.*)\]", text)]
        for line in (*matrices, *re.findall(r"run: make ([^#\n]*)", text)):
            run |= {word for word in line.split() if re.fullmatch("[a-z-]+", word)}
    assert run >= {
        "lint",
        "test",
        "docs",
        "fuzz",
        "release-check",
        "coverage",
        "test-browser",
        "suites",
    }
    assert run <= targets


def test_workflows_test_each_python_on_each_system():
    text = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    (pythons,) = re.findall(r"^        python: (\[.*\])$", text, re.MULTILINE)
    assert re.findall(r'"([^"]+)"', pythons) == [*named, f"{named[-1]}t"]
    for system in ("ubuntu", "macos", "windows"):
        assert f"{system}-latest" in text.partition("python:")[0]
    assert f">={named[0]}" == PROJECT["requires-python"]
