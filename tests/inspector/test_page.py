"""The page is complete and safe for untrusted text."""

from __future__ import annotations

import json
import re
import subprocess
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from shutil import which
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.inspector import POLICY, live_page, page, svg_picture, text_picture
from deltaparse.inspector.html_page import script
from deltaparse.inspector.page_data import page_data, script_text

from .outputs import FORMAT, HOSTILE, TEXT, inspected

hostile_texts = st.lists(
    st.sampled_from(
        [
            "</script>",
            "<!--",
            "-->",
            "<script>",
            "]]>",
            "<",
            "&",
            "\u2028",
            "\ud800",
            "\x00",
            "\\",
            '"',
            "'",
            "</SCRIPT ",
            "a",
            "\n",
            "\r",
            "😀",
            "<think>",
            "</think>",
            "<tool_call>",
        ]
    )
).map("".join)


class Reader(HTMLParser):
    """The elements of a page, and the text of its scripts and styles, as a browser finds them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts = [], []
        self.open = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open = tag
        if tag in ("script", "style"):
            self.scripts.append((tag, dict(attributes), []))

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open in ("script", "style"):
            self.scripts[-1][2].append(data)

    def texts(self, tag):
        return [("".join(text), had) for kind, had, text in self.scripts if kind == tag]


def shape(html):
    """All elements of a page, with their attributes."""
    return Reader(html).tags


def test_hostile_markup_stays_text():
    hostile = inspected(HOSTILE, title=HOSTILE, named=HOSTILE)
    html = page([hostile])
    assert shape(html) == shape(page([inspected("plain")]))
    texts = Reader(html).texts("script")
    assert json.loads(texts[1][0]) == page_data(hostile)
    assert json.loads(texts[0][0]) == {"outputs": [hostile.title]}
    assert HOSTILE not in html


@given(text=hostile_texts, title=hostile_texts)
def test_no_text_ends_the_script_that_holds_it(text, title):
    html = page([inspected(text, title=title or "x")])
    assert not re.search("[\u2028\u2029\ud800-\udfff]", html)
    for inside, had in Reader(html).texts("script"):
        assert not had or not set("<>&") & set(inside)
    html.encode()


@given(value=hostile_texts)
def test_json_for_scripts_means_the_same(value):
    assert json.loads(script_text({value: [value]})) == {value: [value]}


def test_the_policy_allows_its_own_script_and_style_only():
    html = page([inspected()])
    reader = Reader(html)
    (policy,) = [had["content"] for tag, had in reader.tags if had.get("http-equiv")]
    assert policy == POLICY
    assert policy.startswith("default-src 'none'; ")
    (own,) = [text for text, had in reader.texts("script") if not had]
    ((style, _),) = reader.texts("style")
    for kind, text in (("script", own), ("style", style)):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    # The policy would reject inline handlers and styles, and data must not become markup.
    attributes = {name for _, had in reader.tags for name in had}
    assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert not {"src", "href"} & attributes - {"href"}
    assert [had["href"] for _, had in reader.tags if "href" in had] == ["#slider"]
    for words in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "http"):
        assert words not in own
    assert "url(" not in style
    assert "@import" not in style


@pytest.mark.skipif(which("node") is None, reason="node reads the script")
def test_the_script_is_one():
    subprocess.run(["node", "--check", "-"], input=script().encode(), check=True)


def test_the_page_of_a_server():
    records = [
        {"id": "one", "chunks": ["Let ", "me."], "finish_reason": "stop"},
        inspected(title="two"),
        {"id": 3},
    ]
    texts = [
        json.loads(text) for text, had in Reader(live_page(records, FORMAT)).texts("script") if had
    ]
    assert texts[0] == {"outputs": ["one", "two", "3"]}
    assert texts[1]["chunks"] == [4, 3, 0]
    assert texts[2]["text"] == TEXT
    assert "lacks text" in texts[3]["error"]
    assert json.loads(Reader(live_page([])).texts("script")[0][0]) == {"outputs": []}


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("text", [TEXT, HOSTILE, "", "x", "long " * 5000, "\n" * 500])
def test_a_picture_is_well_formed_and_shows_the_text(text):
    picture = svg_picture(inspected(text, title=text[:60] or "none"))
    root = ET.fromstring(picture)
    assert {one.tag for one in root.iter()} <= {
        SVG + name for name in ("svg", "title", "style", "rect", "text", "path")
    }
    assert not [name for one in root.iter() for name in one.attrib if name.startswith("on")]
    shown = "".join(one.text or "" for one in root.iter(SVG + "text"))
    words = ["Let me check that for you.", "get_weather", "⚑ unknown_tool"] if text == TEXT else []
    words += ["lines more"] if len(text) > 1000 else []
    assert [word for word in words if word not in shown] == []
    assert len(picture) < 40_000
    assert "prefers-color-scheme:dark" in picture


def test_picture_legend_lists_its_roles():
    root = ET.fromstring(svg_picture(inspected("Hello")))
    assert [one.text for one in root.iter(SVG + "text")][-2:] == ["Hello", "content"]


def test_a_picture_wraps_wide_characters():
    picture = svg_picture(inspected("天" * 60))
    assert re.findall(">(天+)<", picture) == ["天" * 48, "天" * 12]


def test_text_for_a_terminal():
    shown = text_picture(inspected())
    assert shown.splitlines()[0] == (
        "Paris · format qwen3 · 266 characters · 67 chunks · finish reason tool_calls"
    )
    for line in (
        "    marker │ <think>↵",
        " reasoning │ She asks about 天気 😀, so I look it up.",
        "      name │ get_weather",
        ' arguments │ {"city": "Paris", "days": 3}',
        "       end │ <|im_end|>",
        "      call │ get_weather, complete",
    ):
        assert line in shown.splitlines()
    assert "unknown_tool at " in shown


@pytest.mark.parametrize("colour", [False, True])
def test_model_text_cannot_control_a_terminal(colour):
    shown = text_picture(inspected(HOSTILE, title="\x1b[2J"), colour=colour)
    without = re.sub("\x1b\\[[0-9;]*m", "", shown) if colour else shown
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", without)
    assert "\\x1b[31mred\\x07 \\u202eevil\\x00" in without
    assert ("\x1b[" in shown) is colour
    assert "error: " in text_picture(inspected(text=None))
