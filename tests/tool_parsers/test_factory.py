"""Tool parsers by the word in a configuration, and parsers that users write."""

from __future__ import annotations

import json
import re
import sys

import pytest

from deltaparse import (
    BaseToolParser,
    ContentDelta,
    ParseResult,
    ToolCallDelta,
    ToolCallItem,
    UsageError,
    create_tool_parser,
    get_format,
)
from deltaparse.tool_parsers import (
    WireToolParser,
    factory,
    register_tool_parser,
    safe_value,
    tool_parser_from_config,
)


class MyModelParser(BaseToolParser):
    """As users write them."""

    def __init__(self):
        super().__init__()
        self._pattern = re.compile(r"CALL (\w+) (.*?);")

    def detect_tool_call(self, text):
        return "CALL " in text

    def extract_tool_string(self, text):
        found = re.search(r"CALL .*;", text)
        return found[0] if found else None

    def parse_tool_string(self, tool_string):
        matches = self._pattern.findall(tool_string)
        if not matches:
            return ParseResult(tool_calls=None, is_valid=False)
        calls = [
            ToolCallItem(
                id=f"call-{at}",
                type="function",
                function={"name": name, "arguments": json.dumps({"value": safe_value(text)})},
            )
            for at, (name, text) in enumerate(matches)
        ]
        return ParseResult(tool_calls=calls, is_valid=True)


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    factory._registered.clear()


def formats_of(parser):
    assert isinstance(parser, WireToolParser)
    return parser.wire_format


def test_a_parser_of_ones_own():
    register_tool_parser("My-Model", MyModelParser)
    parser = create_tool_parser("my_model")
    result = parser.parse("Hi CALL f 1; CALL g ls -la; bye")

    assert isinstance(parser, MyModelParser)
    assert result.is_valid
    assert [call.function for call in result.tool_calls] == [
        {"name": "f", "arguments": '{"value": 1}'},
        {"name": "g", "arguments": '{"value": "ls -la"}'},
    ]
    assert parser.parse("Hi") == ParseResult(None, False)


def test_it_streams_when_the_response_is_whole():
    parser = MyModelParser()
    assert list(parser.stream(["Hi CA", "LL f 1;", " bye"])) == [
        ContentDelta("Hi "),
        ToolCallDelta(0, "call-0", "f", '{"value": 1}'),
        ContentDelta(" bye"),
    ]
    assert list(parser.stream(["Hi ", "CALL f"])) == [ContentDelta("Hi CALL f")]
    assert list(parser.stream([])) == []


def test_a_base_parser_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        BaseToolParser()


def test_a_registered_class_wins_over_a_format():
    register_tool_parser("hermes", MyModelParser)
    assert isinstance(create_tool_parser("Hermes"), MyModelParser)


def test_types_are_names_aliases_and_formats():
    assert formats_of(create_tool_parser()) is get_format("qwen25")
    assert formats_of(create_tool_parser("QWEN")) is get_format("qwen25")
    assert formats_of(create_tool_parser(get_format("glm45"))) is get_format("glm45")


@pytest.mark.parametrize("name", ["qwen_25", "qwen2.6", "deepseekv32x", "my_modell"])
def test_unknown_type_suggests_similar_names(name):
    register_tool_parser("my_model", MyModelParser)
    with pytest.raises(ValueError, match=r"unknown tool parser .* did you mean '") as raised:
        create_tool_parser(name)
    close = {"qwen_25": "'qwen25'", "qwen2.6": "'qwen2.5'", "my_modell": "'my_model'"}
    assert close.get(name, "'deepseekv32'") in str(raised.value)


@pytest.mark.parametrize("name", [None, 3, ["qwen"]])
def test_invalid_type_is_rejected(name):
    with pytest.raises(UsageError, match="parser_type must be a str"):
        create_tool_parser(name)


def test_invalid_registration_is_rejected():
    for name, made in (("", MyModelParser), (3, MyModelParser), ("x", "no class")):
        with pytest.raises(UsageError, match="requires a name and a tool parser class"):
            register_tool_parser(name, made)


CONFIGS = [
    ({}, "qwen25"),
    ({"inference_service": {}}, "qwen25"),
    ({"inference_service": {"tool_parser": "deepseek"}}, "deepseekv31"),
    ({"tool_parser": "hermes"}, "hermes"),
    ({"tool_parser": "hermes", "inference_service": {"tool_parser": "xml"}}, "simple_xml"),
    ({"inference_service": None, "tool_parser": None}, "qwen25"),
]


@pytest.mark.parametrize(("config", "name"), CONFIGS)
def test_a_configuration(config, name, tmp_path):
    assert formats_of(tool_parser_from_config(config)) is get_format(name)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    assert formats_of(tool_parser_from_config(path)) is get_format(name)
    assert formats_of(tool_parser_from_config(str(path), prompt="x")) is get_format(name)


def test_a_configuration_in_yaml(tmp_path):
    pytest.importorskip("yaml")
    path = tmp_path / "config.yaml"
    path.write_text('inference_service:\n  tool_parser: "qwen3_coder"  # a word\n')
    assert formats_of(tool_parser_from_config(path)) is get_format("qwen3_coder")
    path.write_text("")
    assert formats_of(tool_parser_from_config(path)) is get_format("qwen25")
    path.write_text("a: [")
    with pytest.raises(UsageError, match=r"config\.yaml: "):
        tool_parser_from_config(path)


def test_yaml_without_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    path = tmp_path / "config.yaml"
    path.write_text("a: 1")
    with pytest.raises(UsageError, match="a YAML file requires PyYAML"):
        tool_parser_from_config(path)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"tool_parser": "hermess"}, "did you mean 'hermes'"),
        ({"tool_parser": 3}, "parser_type must be a str"),
        ({"inference_service": "qwen"}, "inference_service in a configuration must be a mapping"),
        (3, "config must be a mapping or the path"),
        ("/no/such/file.yaml", "No such file"),
    ],
)
def test_a_bad_configuration(config, words):
    with pytest.raises(UsageError, match=words):
        tool_parser_from_config(config)


@pytest.mark.parametrize("text", ["[1]", "{", "3"])
def test_a_file_without_a_mapping(tmp_path, text):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"c\.json: "):
        tool_parser_from_config(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        (' {"a": [1, null]} ', {"a": [1, None]}),
        ("{'a': (1, None, True)}", {"a": [1, None, True]}),
        ("true", True),
        ("True", True),
        ("None", None),
        ('"quoted"', "quoted"),
        ("plain text", "plain text"),
        ("", ""),
        ("__import__('os')", "__import__('os')"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_safe_values(text, value):
    got = safe_value(text)
    assert (got, type(got)) == (value, type(value))
