"""Formats kept in a directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deltaparse import ChatTemplate, FormatError, UsageError, WireFormat, analyze
from deltaparse.analyzer import cache, renderer
from deltaparse.analyzer.cache import load_or_analyze, ran_out_of_time
from deltaparse.analyzer.template.budget import Limits

from ..strategies.templates import OWN

SOURCE = OWN.reasoning_beside_calls_only
FOUND = analyze(SOURCE)
OTHER = FOUND.replace(turn={"ends": ("<other>",)})


def made():
    return FOUND


def unneeded():
    raise AssertionError("it is there already")


def test_cached_format_is_not_derived_again(tmp_path):
    folder = tmp_path / "not" / "there"
    template = ChatTemplate(SOURCE)
    assert load_or_analyze(folder, template, {}, made) == FOUND
    (path,) = folder.iterdir()
    assert WireFormat.from_json(path.read_text(encoding="utf-8")) == FOUND
    assert load_or_analyze(str(folder), template, {}, unneeded) == FOUND


def test_analyze_keeps_on_request(tmp_path):
    assert analyze(SOURCE, cache=tmp_path) == FOUND
    (path,) = tmp_path.iterdir()
    path.write_text(OTHER.to_json(), encoding="utf-8")
    assert analyze(SOURCE, cache=tmp_path) == OTHER
    assert analyze(SOURCE) == FOUND


def test_each_template_version_and_token_has_a_file_of_its_own(tmp_path, monkeypatch):
    for template in (
        ChatTemplate(SOURCE),
        ChatTemplate(SOURCE + " "),
        ChatTemplate(SOURCE, "<s>"),
        ChatTemplate(SOURCE, "", "<s>"),
        ChatTemplate(SOURCE, added_tokens=("<s>",)),
        ChatTemplate(SOURCE + "\ud800"),
        ChatTemplate(SOURCE, limits=Limits(text=20)),
    ):
        load_or_analyze(tmp_path, template, {}, made)
    assert len(list(tmp_path.iterdir())) == 7
    monkeypatch.setattr(cache, "__version__", "next")
    load_or_analyze(tmp_path, ChatTemplate(SOURCE), {}, made)
    assert len(list(tmp_path.iterdir())) == 8


def test_each_setting_of_the_switches_has_a_file_of_its_own(tmp_path):
    template, settings = ChatTemplate(SOURCE), [{}, {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 2}]
    for switches in (*settings, {"b": 2, "a": 1}):
        load_or_analyze(tmp_path, template, switches, made)
    assert len(list(tmp_path.iterdir())) == len(settings)


@pytest.mark.parametrize(
    "junk",
    [b"", b"{", b"\xff\xfe", b"[]", b'{"turn": 1}', b'{"more": {}}', FOUND.to_json().encode()[:90]],
)
def test_invalid_cache_file_is_replaced(tmp_path, junk):
    template = ChatTemplate(SOURCE)
    load_or_analyze(tmp_path, template, {}, made)
    (path,) = tmp_path.iterdir()
    path.write_bytes(junk)
    assert load_or_analyze(tmp_path, template, {}, made) == FOUND
    assert load_or_analyze(tmp_path, template, {}, unneeded) == FOUND
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


def test_a_format_with_an_issue_is_kept(tmp_path):
    odd = FOUND.replace(issues=("content is not shown",))
    assert load_or_analyze(tmp_path, ChatTemplate(SOURCE), {}, lambda: odd) == odd
    assert load_or_analyze(tmp_path, ChatTemplate(SOURCE), {}, unneeded) == odd


def test_half_a_character_is_kept(tmp_path):
    odd = FOUND.replace(turn={"ends": ("<\ud800>",)})
    template = ChatTemplate(SOURCE)
    assert load_or_analyze(tmp_path, template, {}, lambda: odd) == odd
    assert load_or_analyze(tmp_path, template, {}, unneeded) == odd


def test_read_only_cache_is_ignored(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr("pathlib.Path.replace", full)
    assert load_or_analyze(tmp_path, ChatTemplate(SOURCE), {}, made) == FOUND
    assert list(tmp_path.iterdir()) == []


def test_cache_file_is_written_atomically(tmp_path, monkeypatch):
    texts, replace = [], Path.replace

    def watched(path, to):
        texts.append(path.read_text(encoding="utf-8"))
        return replace(path, to)

    monkeypatch.setattr("pathlib.Path.replace", watched)
    load_or_analyze(tmp_path, ChatTemplate(SOURCE), {}, made)
    assert list(map(WireFormat.from_json, texts)) == [FOUND]


def test_format_out_of_time_is_not_cached(tmp_path, monkeypatch):
    source = OWN.reasoning_beside_calls_only + "{# slow once #}"
    monkeypatch.setattr(renderer, "MAX_SECONDS", 0.0)
    for late in (analyze(source), analyze(source, cache=tmp_path)):
        assert ran_out_of_time(late)
        assert not late.verified
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    # A file of one that is there all the same is not believed either.
    load_or_analyze(tmp_path, ChatTemplate(source), {}, made)
    (path,) = tmp_path.iterdir()
    path.write_text(late.to_json(), encoding="utf-8")
    for found in (analyze(source), analyze(source, cache=tmp_path)):
        assert found.verified
    assert WireFormat.from_json(path.read_text(encoding="utf-8")) == found


@pytest.mark.parametrize("version", [0, 2, "1", True, None, 1.0, [1]])
def test_a_format_of_another_version_is_made_again(tmp_path, version):
    template = ChatTemplate(SOURCE)
    load_or_analyze(tmp_path, template, {}, made)
    (path,) = tmp_path.iterdir()
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["version"] == 1
    path.write_text(json.dumps({**document, "version": version}), encoding="utf-8")
    with pytest.raises(FormatError, match="version"):
        WireFormat.from_json(path.read_text(encoding="utf-8"))
    assert load_or_analyze(tmp_path, template, {}, made) == FOUND
    assert load_or_analyze(tmp_path, template, {}, unneeded) == FOUND


def test_a_file_is_no_cache(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(UsageError, match="must be a directory"):
        analyze(SOURCE, cache=path)
