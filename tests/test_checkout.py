"""A checkout whose links are text files is refused in one sentence, by imports and by builds."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from deltaparse.checkout import FOLDERS, NO_LINKS

ROOT = Path(__file__).parents[1]


@pytest.fixture
def checkout(tmp_path):
    """The repository as git writes it where it makes no links, without what is not looked at."""
    package = tmp_path / "src" / "deltaparse"
    shutil.copytree(ROOT / "src" / "deltaparse", package, ignore=shutil.ignore_patterns(*FOLDERS))
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
        (package / folder).write_text(f"../../{folder}", encoding="utf-8")
    return tmp_path


@pytest.fixture
def hook(monkeypatch):
    """The build's hook, with a base of its own: hatchling may not be at hand."""

    class Interface:
        def __class_getitem__(cls, _):
            return cls

    name = "hatchling.builders.hooks.plugin.interface"
    module = ModuleType(name)
    module.BuildHookInterface = Interface
    monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("how", [("-c", "import deltaparse"), ("-m", "deltaparse")])
def test_import_without_links_raises_with_instructions(checkout, how):
    done = subprocess.run(
        [sys.executable, *how],
        cwd=checkout / "src",
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert "ImportError" in said
    assert NO_LINKS in said


def test_build_without_links_raises_with_instructions(checkout, hook):
    builder = hook.LinksHook()
    builder.root = str(checkout)
    with pytest.raises(SystemExit, match="without symbolic links"):
        builder.initialize("standard", {})


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_build_wants_every_folder(checkout, hook, folder):
    package = checkout / "src" / "deltaparse"
    for name in FOLDERS:
        (package / name).unlink()
        if name != folder:
            (package / name).mkdir()
            (package / name / "__init__.py").touch()
    with pytest.raises(SystemExit, match="without symbolic links"):
        hook.check_links(checkout)


def test_a_build_of_the_repository_goes_on(hook):
    hook.check_links(ROOT)


def test_the_sentence_names_the_folders():
    assert all(folder in NO_LINKS for folder in FOLDERS)
    assert "\n" not in NO_LINKS
