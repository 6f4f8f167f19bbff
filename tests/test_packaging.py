"""Wheels with the top-level folders, and a repository without symbolic links."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def build(monkeypatch):
    """Return the module hatch_build, with a fake base class if hatchling is not installed."""

    class Interface:
        def __class_getitem__(cls, _):
            return cls

    for path, name in (
        ("hatchling.builders.hooks.plugin.interface", "BuildHookInterface"),
        ("hatchling.metadata.plugin.interface", "MetadataHookInterface"),
    ):
        module = ModuleType(path)
        setattr(module, name, Interface)
        monkeypatch.setitem(sys.modules, path, module)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def checkout(tmp_path, build):
    """Return a checkout with the three folders and a package without links."""
    for folder in build.FOLDERS:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "src" / "deltaparse").mkdir(parents=True)
    return tmp_path


def run_hook(build, root, version, target="wheel"):
    """Run the build hook and return the files that it adds."""
    hook = build.FoldersHook()
    hook.root, hook.target_name = str(root), target
    data = {"force_include": {}}
    hook.initialize(version, data)
    return data["force_include"]


def linked(build, root):
    return [
        folder
        for folder in build.FOLDERS
        if (root / "src" / "deltaparse" / folder / "__init__.py").is_file()
    ]


def test_wheel_contains_every_folder_without_links(build, checkout):
    added = run_hook(build, checkout, "standard")
    assert added == {str(checkout / name): f"deltaparse/{name}" for name in build.FOLDERS}
    assert linked(build, checkout) == []


def test_sdist_is_unchanged(build, checkout):
    assert run_hook(build, checkout, "standard", "sdist") == {}
    assert linked(build, checkout) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows gets junctions")
def test_editable_install_links_every_folder(build, checkout):
    assert run_hook(build, checkout, "editable") == {}
    assert linked(build, checkout) == [*build.FOLDERS]
    links = [checkout / "src" / "deltaparse" / name for name in build.FOLDERS]
    assert [link.readlink() for link in links] == [Path(f"../../{name}") for name in build.FOLDERS]
    run_hook(build, checkout, "editable")  # a second install has no effect
    assert linked(build, checkout) == [*build.FOLDERS]


@pytest.mark.skipif(os.name == "nt", reason="Windows gets junctions")
def test_editable_install_replaces_a_broken_link(build, checkout):
    link = checkout / "src" / "deltaparse" / build.FOLDERS[0]
    link.symlink_to(checkout / "moved")
    run_hook(build, checkout, "editable")
    assert linked(build, checkout) == [*build.FOLDERS]


def test_editable_install_on_windows_makes_junctions(build, checkout, monkeypatch):
    made = []
    junctions = SimpleNamespace(CreateJunction=lambda *paths: made.append(paths))
    monkeypatch.setitem(sys.modules, "_winapi", junctions)
    windows = SimpleNamespace(name="nt", path=os.path)
    monkeypatch.setattr(build, "os", windows)
    run_hook(build, checkout, "editable")
    package = checkout / "src" / "deltaparse"
    assert made == [(str(checkout / name), str(package / name)) for name in build.FOLDERS]


def test_git_tracks_no_symbolic_link():
    listed = subprocess.run(
        ["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("this is not a git checkout")
    entries = listed.stdout.splitlines()
    assert entries
    assert [entry for entry in entries if entry.startswith("120000")] == []
