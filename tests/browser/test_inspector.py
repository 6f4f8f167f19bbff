"""The inspector's page in a real browser: slider, keys, search, readers, hostile text, a megabyte.

The pictures of the documentation are made here, of what was tested.
"""

from __future__ import annotations

import random
from itertools import accumulate
from pathlib import Path

import pytest
from selenium.webdriver import Keys

from deltaparse import Vocabulary, get_format
from deltaparse.inspector import inspect_record, svg_picture
from deltaparse.replay import Replayer

from ..inspector.outputs import FORMAT, HOSTILE, TEXT, TOOLS, call, inspected
from .opened import LEFT, NARROW, RIGHT, TAB, WIDE, Opened

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
READABLE = 4.5
"""The contrast that letters need, by WCAG 2."""


@pytest.fixture
def opened(driver, tmp_path):
    made = Opened(driver, tmp_path)
    yield made
    complaints = made.complaints()
    assert complaints == []


def message_until(inspection, step):
    """The parts of the message when a step is done: kind, name and text."""
    parts = []
    for part in inspection.parts:
        size = sum(length for at, length in part.deltas if at <= step)
        if part.deltas and part.deltas[0][0] <= step:
            parts.append([part.kind, part.name, part.text[:size]])
    return parts


MESSAGE = """
return [...document.querySelectorAll('.parts > li:not(.none)')].map(part => [
  part.querySelector('.tag').className.replace('tag t-', ''),
  part.querySelector('.head b')?.textContent ?? '', part.querySelector('.mono').textContent])
"""


def test_page_shows_the_deltas_of_each_chunk(opened):
    inspection = inspected()
    opened.open([inspection], after="#0,,0")
    ends = [0, *accumulate(inspection.chunks)]
    held = {one.step: one.size for one in inspection.held}
    size = 0
    opened.focus("#slider")
    for step in range(1, inspection.steps + 1):
        opened.press(RIGHT)
        size = held.get(step, size)
        assert opened.run(MESSAGE) == message_until(inspection, step)
        assert opened.text(".raw") == TEXT
        shown = {name: opened.run(JOINED, f".raw .{name}") for name in ("held", "ahead")}
        assert shown == {
            "held": TEXT[ends[step] - size : ends[step]],
            "ahead": TEXT[ends[step] :],
        }
        assert opened.text(".path b").replace(" ", "_") == where(inspection, step)
    assert opened.text("#place") == "the end of the output"
    opened.press(RIGHT)
    assert opened.run("return document.querySelector('#slider').value") == str(inspection.steps)


JOINED = """
return [...document.querySelectorAll(arguments[0])].map(one => {
  const copy = one.cloneNode(true);
  copy.querySelectorAll('.nl').forEach(inner => inner.remove());
  return copy.textContent;
}).join('')
"""


def where(inspection, step):
    """The name of the innermost sub-parser that waits when a step is done."""
    return [state for at, state in inspection.states if at <= step][-1].split(" > ")[-1]


def test_page_is_usable_by_keyboard(opened):
    inspection = inspected()
    opened.open([inspection])
    place = lambda: opened.run("return Number(document.querySelector('#slider').value)")  # noqa: E731
    assert place() == inspection.steps
    opened.press(Keys.HOME)
    assert place() == 0
    opened.press(RIGHT, RIGHT, RIGHT, LEFT)
    assert place() == 2
    opened.press((Keys.SHIFT, RIGHT))
    assert place() == 12
    opened.press("n")
    assert place() == inspection.issues[0][0]
    assert opened.text("#issue-count") == "1 of 2 issues"
    opened.press("n", "p")
    assert place() == inspection.issues[0][0]
    opened.press("/", *"PARIS", Keys.ENTER)
    assert opened.text("#matches") == "1 of 1"
    assert opened.text(".hit.here") == "Paris"
    opened.press(Keys.ESCAPE, Keys.ARROW_LEFT)
    assert place() == inspection.issues[0][0] - 1
    # Whoever speaks to the machine can switch letters off.
    opened.focus("#letters").press(Keys.SPACE, "n")
    assert place() == inspection.issues[0][0] - 1
    opened.press(Keys.END)
    assert place() == inspection.steps


def test_tab_reaches_all_controls_with_visible_focus(opened):
    opened.open([inspected(), inspected(title="two")])
    wanted = opened.run(
        "return [...document.querySelectorAll('a, button, input, select, [tabindex]')]"
        ".filter(one => one.checkVisibility() && !one.disabled).length"
    )
    seen = set()
    for _ in range(wanted):
        opened.press(TAB)
        name, outline = opened.run(
            "const one = document.activeElement; const all = [...document.querySelectorAll('*')];"
            "return [all.indexOf(one), parseFloat(getComputedStyle(one).outlineWidth)]"
        )
        assert outline >= 2
        seen.add(name)
    assert len(seen) == wanted > 15


def test_search(opened):
    opened.open([inspected("The cat, the <b>Cat</b>, and the 😀 cat.\n" * 3)])
    opened.focus("#words").press(*"cat", Keys.ENTER)
    assert (opened.text("#matches"), opened.count(".hit")) == ("1 of 9", 9)
    opened.press(Keys.ENTER, Keys.ENTER)
    assert opened.text("#matches") == "3 of 9"
    opened.press((Keys.SHIFT, Keys.ENTER))
    assert opened.text("#matches") == "2 of 9"
    opened.press((Keys.SHIFT, Keys.ENTER), (Keys.SHIFT, Keys.ENTER))
    assert opened.text("#matches") == "9 of 9"
    opened.press(*"alogue", Keys.ENTER)
    assert (opened.text("#matches"), opened.count(".hit")) == ("no match", 0)


def test_screen_reader_announces_each_step(opened):
    inspection = inspected()
    opened.open([inspection], after="#0,,20")
    opened.forget()
    opened.focus("#slider").press(RIGHT)
    assert opened.told().startswith("chunk 21 of 67. content: ")
    step = inspection.issues[0][0]
    opened.forget()
    opened.move_to(step)
    assert "issue unknown_tool: 'get_whether' is not one of the tools" in opened.told()
    held = next(one for one in inspection.held if one.size > 8)
    opened.forget()
    opened.move_to(held.step)
    told = opened.told()
    assert f"nothing came out. {held.size} characters held back: {held.why}." in told

    tree = opened.tree()
    by_role = {}
    for node in tree:
        by_role.setdefault(node["role"], []).append(node)
    (slider,) = by_role["slider"]
    assert slider["name"] == "Chunk"
    # Newer Chromiums have the number in the tree instead of the page's text.
    told = opened.run("return document.querySelector('#slider').ariaValueText")
    assert told == f"chunk {held.step} of 67"
    assert slider["value"] == held.step
    controls = [*by_role["button"], *by_role["combobox"], *by_role["searchbox"]]
    assert all(node["name"] for node in [*controls, *by_role["checkbox"]])
    names = {node["name"] for node in tree}
    assert {"Raw text", "Legend", "Keys", "Place in the output", "Output Paris"} <= names
    assert {"Previous chunk", "Next chunk", "Next issue", "Find in the text"} <= names
    words = [node["name"].strip() for node in by_role["StaticText"]]
    assert {"[reasoning]", "[marker]", "[held back]", "[not come yet]"} <= set(words)
    assert not by_role.get("image")
    live = opened.run("return document.querySelector('#told').getAttribute('aria-live')")
    assert live == "polite"


def test_hostile_markup_is_text(opened):
    opened.open([inspected(HOSTILE, title=HOSTILE, named=HOSTILE)])
    # Invisible characters and bidirectional controls are shown by name.
    named = {char: f"U+{ord(char):04X}" for char in "\u2028\u202e\x1b\x07\x00"}
    seen = HOSTILE.translate(str.maketrans(named))
    assert opened.text(".raw") == seen
    assert opened.text(".about h2") == f"{HOSTILE[:80]}…".translate(str.maketrans(named))
    opened.press(Keys.HOME, RIGHT, RIGHT, "n", "/", *"<script>", Keys.ENTER)
    assert opened.text("#matches").endswith("of 3")
    assert opened.run("return window.owned") is None
    assert opened.count("main script, main img, main svg, main style, main base, main meta") == 0
    assert opened.count("script") == 3
    assert opened.run("return performance.getEntriesByType('resource').length") == 0


def test_the_policy_holds(driver, tmp_path):
    """Injected markup could not run, load or send data."""
    opened = Opened(driver, tmp_path).open([inspected()])
    opened.run(
        "window.refused = [];"
        "addEventListener('securitypolicyviolation', one => refused.push(one.effectiveDirective));"
        "const script = document.createElement('script'); script.textContent = 'window.owned = 1';"
        "const image = new Image(); image.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=';"
        "const style = document.createElement('style'); style.textContent = 'body { opacity: 0 }';"
        "const link = document.createElement('p');"
        "link.setAttribute('onclick', 'window.owned = 2');"
        "document.body.append(script, image, style, link); link.click();"
    )
    refused = opened.until(
        lambda: len(opened.run("return refused")) > 3 and opened.run("return refused")
    )
    assert set(refused) == {"script-src-elem", "script-src-attr", "style-src-elem", "img-src"}
    assert opened.run("return [window.owned, getComputedStyle(document.body).opacity]") == [
        None,
        "1",
    ]


def megabyte():
    """A megabyte of all sorts of text, with issues in it."""
    draw = random.Random(7)
    words = ["the", "model", "writes", "of", "tokens", "and", "streams", "天気", "😀"]
    words += ["<b>", "{", "}", "\n"]
    text = ["<think>\n"]
    while sum(map(len, text)) < 1_000_000:
        text.append(" ".join(draw.choices(words, k=2000)))
        if len(text) == 60:
            text.append("</think>\n\n")
        if len(text) > 60:
            text.append("\n" + call(draw.choice(["get_weather", "look"]), '{"a": [1, 2]}') + "\n")
    return "".join(text)


def test_a_megabyte(opened):
    inspection = inspected(megabyte(), title="a megabyte")
    assert len(inspection.text) > 1_000_000
    assert inspection.steps > 250_000
    opened.open([inspection])
    ready = opened.run("return performance.timing.domComplete - performance.timing.fetchStart")
    print(f"a page of a megabyte: ready in {ready} ms, {inspection.steps} steps")
    steps = inspection.steps
    jumps = [opened.run(MOVED, step) for step in (0, steps // 2, steps // 3, steps - 1, steps)]
    moves = [opened.run(MOVED, steps // 2 + more) for more in range(20)]
    print("to jump:", [round(took) for took, _ in jumps], "ms")
    print("to move on:", [round(took) for took, _ in moves], "ms")
    # The page draws only the visible part, whatever the size of the output.
    assert max(drawn for _, drawn in jumps) < 3000
    assert max(drawn for _, drawn in moves) < 1000
    assert opened.count("*") < 8000
    opened.move_to(steps // 2)
    end = sum(inspection.chunks[: steps // 2])
    shown = opened.run(
        "return [...document.querySelectorAll('.raw .now')].map(one => one.textContent)"
    )
    assert (
        "".join(shown).replace("↵", "")
        == inspection.text[end - inspection.chunks[steps // 2 - 1] : end]
    )
    box, pane = opened.box(".raw .now"), opened.box(".raw")
    assert pane["top"] <= box["top"] <= pane["bottom"]
    opened.focus("#words").press(*"streams", Keys.ENTER)
    assert opened.text("#matches") == "1 of more than 10,000"


MOVED = """
const start = performance.now(), slider = document.querySelector('#slider');
const watch = new MutationObserver(() => {});
watch.observe(document.body, { childList: true, subtree: true, characterData: true });
slider.value = arguments[0];
slider.dispatchEvent(new Event('input', { bubbles: true }));
document.body.offsetHeight;
const drawn = watch.takeRecords().reduce((sum, one) => sum + one.addedNodes.length, 0);
return [performance.now() - start, drawn];
"""


@pytest.mark.parametrize("text", ["x", "", "\n", "😀"])
def test_output_of_one_or_no_characters(opened, text):
    opened.open([inspected(text, title="little")])
    assert opened.text("#place") == "the end of the output"
    opened.press(Keys.HOME, RIGHT, RIGHT, RIGHT, "n", "p", "/", *"x", Keys.ENTER)
    assert opened.text("#matches") == ("1 of 1" if text == "x" else "no match")


def test_unreadable_and_missing_outputs(opened):
    opened.open([inspected(text=None, title="bad")])
    assert opened.text(".error").startswith("the record lacks text")
    opened.press(Keys.HOME, RIGHT)
    opened.open([])
    assert opened.text("main") == "There are no outputs yet."


def test_two_side_by_side(opened):
    one, two = inspected(), inspected(fmt=get_format("qwen3_coder"), title="coder", named="coder")
    opened.open([one, two], beside=1)
    assert opened.count(".view") == 2
    assert opened.box(".view")["right"] <= opened.box(".view + .view")["left"]
    words = "The messages differ: part 1 is reasoning here, content there."
    assert opened.text(".differ") == words
    opened.press(Keys.HOME, RIGHT, RIGHT, RIGHT)
    assert opened.run("return [...document.querySelectorAll('.ahead')].length") >= 2
    assert opened.until(lambda: opened.run("return location.hash") == "#0,1,3")
    opened.focus("#second").press("n")
    opened.run(
        "const one = document.querySelector('#second'); one.value = '';"
        "one.dispatchEvent(new Event('change'))"
    )
    assert opened.count(".view") == 1
    opened.focus("#first").press(Keys.ARROW_DOWN)
    assert opened.text(".about h2") == "coder"


def test_where_two_messages_differ(opened):
    same, other = inspected(title="same"), inspected(TEXT.replace("Oslo", "Bern"))
    opened.open([inspected(), same, other], beside=1)
    assert opened.text(".differ") == "Both make the same message."
    opened.run("location.hash = '#0,2,3'")
    words = "The messages differ: part 4, call get_whether, from character 11 on."
    assert opened.until(lambda: opened.text(".differ") == words)


def test_tokens(opened):
    tokens = [b"<tool_call>", b"</tool_call>", *(bytes([at]) for at in range(256))]
    vocabulary = Vocabulary(dict(enumerate(tokens)), special=[0, 1])
    ids = [0, *(at + 2 for at in '\n{"name": "f", "arguments": {"é": 1}}\n'.encode()), 1]
    made = inspect_record(
        {"token_ids": ids}, Replayer(FORMAT, vocabulary=vocabulary), format="qwen3"
    )
    opened.open([made], after=f"#0,,{ids.index(0xC3 + 2) + 1}")
    assert opened.text(".side .card h3 span") == "token 32 of 41, id 197"
    assert opened.text(".derived dd") == ""  # the first half of a character
    opened.press(RIGHT)
    assert opened.text(".derived dd") == "é"
    assert opened.run("return document.querySelector('.raw').textContent").count("é") == 1


def test_address_contains_the_step(opened):
    opened.open([inspected(), inspected("two", title="two")])
    opened.run("location.hash = '#1,,1'")
    assert opened.until(lambda: opened.text(".about h2") == "two")
    assert opened.text("#place") == "chunk 1 of 1"


def test_a_click_on_the_text_goes_to_its_chunk(opened):
    inspection = inspected("abcdefgh " * 4)
    opened.open([inspection])
    opened.run(
        "const text = document.querySelector('.raw .content').firstChild, range = new Range();"
        "range.setStart(text, 21); range.setEnd(text, 22);"
        "const box = range.getBoundingClientRect();"
        "window.at = [box.left + 2, box.top + box.height / 2]"
    )
    x, y = opened.run("return window.at")
    for kind in ("mousePressed", "mouseReleased"):
        opened.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    assert opened.text("#place") == "chunk 6 of 9"


CONTRASTS = """
const pen = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
const over = (under, colour) => {
  pen.globalAlpha = 1; pen.fillStyle = `rgb(${under})`; pen.fillRect(0, 0, 1, 1);
  pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const linear = one => one <= .03928 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4;
const light = colour => colour.map(one => linear(one / 255))
  .reduce((sum, one, at) => sum + one * [.2126, .7152, .0722][at], 0);
const skipped = '.unseen, script, noscript, :disabled, select, .skip';
const found = [];
for (const one of document.querySelectorAll('body *')) {
  const own = [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  if (!own || !one.checkVisibility() || one.closest(skipped)) continue;
  const line = [];
  for (let at = one; at; at = at.parentElement) line.unshift(getComputedStyle(at).backgroundColor);
  const under = line.reduce(over, [255, 255, 255]);
  const ink = over(under, getComputedStyle(one).color);
  const [a, b] = [light(under), light(ink)].sort((one, two) => two - one);
  found.push([(a + .05) / (b + .05), one.className || one.tagName, one.textContent.slice(0, 20)]);
}
return found.sort((one, two) => one[0] - two[0]);
"""


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_in_light_and_dark(opened, dark):
    from deltaparse import Policies

    refused = inspected(f"{call('f', '{}')} more", policies=Policies(text_after_tool_call="error"))
    opened.open([inspected(), refused], dark=dark, beside=1, after="#0,1,40")
    ground = opened.run("return getComputedStyle(document.documentElement).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) < 300) is dark
    opened.focus("#words").press(*"the", Keys.ENTER)
    found = opened.run(CONTRASTS)
    assert len(found) > 60
    assert [one for one in found if one[0] < READABLE] == []


STYLES = """
return Object.fromEntries([...document.querySelectorAll('.legend span:first-child')].map(one => {
  const style = getComputedStyle(one);
  const names = ['textDecorationLine', 'textDecorationStyle', 'fontStyle', 'fontWeight',
    'borderBottomStyle', 'borderTopStyle', 'boxShadow', 'backgroundImage'];
  return [one.className, names.map(name => style[name].replace(/rgba?\\([^)]*\\)/g, ''))];
}))
"""


def test_roles_differ_without_colours(opened):
    opened.open([inspected()])
    styles = opened.run(STYLES)
    assert len(styles) > 10
    plain = {"content", "ahead"}  # on the two sides of the chunk
    different = {str(style) for name, style in styles.items() if name not in plain}
    assert len(different) == len(styles.keys() - plain)


@pytest.mark.parametrize("size", [WIDE, NARROW, (320, 640)])
@pytest.mark.parametrize("beside", [None, 1])
def test_page_fits_the_screen(opened, size, beside):
    long = inspected("x" * 500 + "\n" + TEXT, title="unbroken" * 30, named="y" * 200)
    opened.open([long, inspected(title="two")], size=size, beside=beside)
    assert opened.run("return document.documentElement.scrollWidth") <= size[0]
    assert opened.run("return document.querySelector('.raw').clientHeight") > 100


PICTURED = (
    "<think>\nThey ask about Paris and Oslo. I look up both,\nin one turn.\n</think>\n\n"
    "Let me check the weather in both cities.\n"
    + call("get_weather", '{"city": "Paris", "days": 3}')
    + "\n"
    + call("get_whether", '{"city": "Oslo", "days": 3,}')
    + "<|im_end|>"
)


def pictured(title="weather.txt", fmt=FORMAT, named="qwen3"):
    record = {"id": title, "text": PICTURED, "tools": TOOLS, "finish_reason": "stop"}
    return inspect_record(record, Replayer(fmt), format=named)


@pytest.mark.parametrize(
    ("name", "size", "dark", "after"),
    [
        ("inspector-light", (1280, 940), False, "#0,,43"),
        ("inspector-dark", (1280, 940), True, "#0,,28"),
        ("inspector-narrow", (390, 1160), False, "#0,,43"),
        ("inspector-beside", (1280, 1060), False, "#0,1,60"),
    ],
)
def test_pictures_for_the_documentation(opened, name, size, dark, after):
    coder = pictured("the same", get_format("qwen3_coder"), "qwen3_coder")
    opened.open([pictured(), coder], size=size, dark=dark, after=after)
    opened.run("document.activeElement.blur()")
    PICTURES.mkdir(exist_ok=True)
    picture = opened.picture()
    assert 10_000 < len(picture) < 90_000
    (PICTURES / f"{name}.png").write_bytes(picture)


def test_the_picture_in_svg(opened):
    (PICTURES / "inspector.svg").write_text(svg_picture(pictured()), encoding="utf-8")
    for dark in (False, True):
        opened.look(dark=dark)
        opened.driver.get((PICTURES / "inspector.svg").as_uri())
        fill = opened.run("return getComputedStyle(document.querySelector('.paper')).fill")
        assert (fill == "rgb(30, 32, 34)") is dark
