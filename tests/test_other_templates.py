"""The program of `make other-templates`."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from .strategies.templates import OWN


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "tools"))
    yield importlib.import_module("other_templates")
    sys.modules.pop("other_templates")


def test_templates_of_wheels_are_extracted_once(tool, tmp_path):
    wheel = tmp_path / "things-1.0-py3-none-any.whl"
    models = [
        {"model_name": "a", "chat_template": OWN.json_in_tags},
        {"model_name": "b", "chat_template": f"{OWN.json_in_tags}\n"},
        {"model_name": "c", "chat_template": "no template", "more": {"chat_template": None}},
        {"model_name": "d", "specs": [{"chat_template": OWN.channels}]},
    ]
    with ZipFile(wheel, "w") as files:
        files.writestr("things/x.jinja", OWN.name_id_and_json)
        files.writestr("things/models.json", json.dumps(models))
        files.writestr("things/odd.json", "{ // no JSON, and no template")
        files.writestr("things/x.py", "chat_template = 1")
    found = tool.in_wheel(wheel)
    assert found == {
        "things: x.jinja": OWN.name_id_and_json,
        "things: a": OWN.json_in_tags,
        "things: ?": OWN.channels,
    }
    assert tool.report(found) == (3, [])


def test_unsupported_syntax_is_reported(tool, tmp_path, capsys, monkeypatch):
    (tmp_path / "good.jinja").write_text(OWN.json_in_tags, encoding="utf-8")
    (tmp_path / "odd.jinja").write_text(OWN.calls_not_shown, encoding="utf-8")
    (tmp_path / "none.jinja").write_text("{% if %}", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["other_templates.py", str(tmp_path)])
    tool.main()
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("none.jinja: the chat template does not compile")
    assert said[1].startswith("odd.jinja: the template does not render tool calls")
    assert said[2:] == ["1 of 3 templates are supported"]
