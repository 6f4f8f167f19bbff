"""The window, compared with a model of the complete text and a position."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from deltaparse.partial import Lane, Markers, Waiter, Window, until

from ..support import Driver

TEXT = st.text("abc<\n😀", max_size=5)
COUNT = st.integers(0, 6)
AT = re.compile("<").search
LANE = Lane(AT, AT)


class WindowAndModel(RuleBasedStateMachine):
    """A model of the window: `whole` is all fed text with the prompt, `read` the position."""

    @initialize(prompt=TEXT, text=TEXT)
    def start(self, prompt, text):
        self.src = Window(prompt + text, offset=-len(prompt))
        self.whole = prompt + text
        self.prompt = len(prompt)
        self.read = 0
        self.marks = []
        self.plain = []
        self.check()

    def check(self):
        assert self.src.offset == self.read - self.prompt
        assert self.src.end == len(self.whole) - self.prompt
        assert self.src.unread == self.whole[self.read :]
        assert self.src.previous == self.whole[: self.read][-1:]
        assert self.src.text[self.src.pos :] == self.src.unread

    @rule(text=TEXT)
    def feed(self, text):
        self.src.feed(text)
        self.whole += text
        assert self.src.pos == 0
        assert self.src.text == self.whole[self.read :]
        self.check()

    @rule(count=COUNT)
    def take(self, count):
        count = min(count, len(self.whole) - self.read)
        got = self.src.consume(self.src.pos + count)
        assert got == self.whole[max(self.read, self.prompt) : self.read + count]
        self.read += count
        self.check()

    @rule(count=COUNT)
    def move(self, count):
        count = min(count, len(self.whole) - self.read)
        self.src.pos += count
        self.read += count
        self.check()

    @rule()
    def mark(self):
        self.marks.append(self.read)
        assert self.src.mark() == self.read - self.prompt

    @precondition(lambda self: self.marks)
    @rule(data=st.data())
    def since(self, data):
        mark = data.draw(st.sampled_from(self.marks))
        expected = self.whole[max(mark, self.prompt) : self.read]
        assert self.src.text_since(mark - self.prompt) == expected
        self.check()

    @precondition(lambda self: self.marks)
    @rule(data=st.data())
    def back(self, data):
        self.read = data.draw(st.integers(self.marks[-1], self.read))
        self.src.rewind_to(self.read - self.prompt)
        self.check()

    @precondition(lambda self: self.marks)
    @rule()
    def release(self):
        self.src.release()
        self.marks.pop()
        self.check()

    @rule(texts=st.lists(TEXT, max_size=3), last=TEXT)
    def wait(self, texts, last):
        self.src.wait(self.plain.append, LANE)
        passes = self.read == len(self.whole) and not self.marks
        assert (self.src.waiter is not None) is passes
        if passes:
            self.plain.clear()
            for text in texts:
                self.src.pass_by(text)
                self.whole += text
                self.read += len(text)
                self.check()
            assert self.plain == texts
            self.src.waiter = None
        self.feed(last)


TestWindowAndModel = WindowAndModel.TestCase
TestWindowAndModel.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)


def test_a_new_window_is_open_and_at_zero():
    src = Window()

    assert (src.text, src.pos, src.offset, src.unread) == ("", 0, 0, "")
    assert not src.closed
    assert src.waiter is None
    assert Window(closed=True).closed


def test_feed_removes_read_text():
    src = Window("read, unread")
    src.consume(6)
    src.feed("!")

    assert (src.text, src.pos, src.offset) == ("unread!", 0, 6)


@pytest.mark.parametrize(
    ("end", "emitted"),
    [(2, ""), (4, ""), (5, "m"), (9, "model")],
)
def test_prompt_is_never_emitted(end, emitted):
    src = Window("<p>\nmodel", offset=-4)
    mark = src.mark()

    assert src.consume(end) == emitted
    assert src.text_since(mark) == emitted
    assert (mark, src.offset) == (-4, end - 4)


def test_marks_nest():
    src = Window("a")
    outer = src.mark()
    src.consume(1)
    src.feed("bc")
    src.consume(1)
    inner = src.mark()
    src.feed("d")
    src.consume(2)

    assert (src.text_since(outer), src.text_since(inner)) == ("abcd", "cd")

    src.release()
    src.feed("e")
    src.consume(1)

    assert src.text_since(outer) == "abcde"


def test_new_mark_drops_text_of_an_old_one():
    src = Window("ab")
    src.mark()
    src.consume(1)
    src.text_since(0)
    src.release()
    mark = src.mark()
    src.consume(2)

    assert src.text_since(mark) == "b"


def test_mark_holds_the_text_also_before_the_prompt_ends():
    src = Window("pr", offset=-4)
    mark = src.mark()
    src.consume(2)
    src.feed("om")
    src.consume(1)

    assert src.text_since(mark) == ""

    src.feed("pt!")
    src.consume(3)

    assert src.text_since(mark) == "pt"


def test_bypassing_text_does_not_resume():
    def steps(src, emit):
        while not src.closed:
            emit(src.consume(len(src.text)))
            src.wait(emit, LANE)
            yield

    driver = Driver(steps)
    driver.feed("a", "b", "c<", "d", "<e")

    assert driver.emitted == ["a", "b", "c<", "d", "<e"]
    assert driver.resumes == 3
    assert driver.src.offset == 7


@pytest.mark.parametrize("keep", ["unread text", "a mark"])
def test_no_bypass_while_text_is_kept(keep):
    src = Window("ab")
    src.pos = 1 if keep == "unread text" else 2
    if keep == "a mark":
        src.mark()
    src.wait(print, LANE)

    assert src.waiter is None


def test_text_may_pass_by_before_anything_else():
    src = Window()
    src.pass_by("lost, since nobody said what becomes of it")

    assert src.offset == 42


def test_text_that_passes_by_may_be_the_prompts():
    driver = Driver(lambda src, emit: until(src, Markers(["<"]), emit), prompt=4)
    driver.feed("pr", "om", "a")
    assert driver.text == "a"
    driver = Driver(lambda src, emit: until(src, Markers(["<"]), emit), prompt=4)
    driver.feed("pr", "ompt", "a")
    assert driver.text == "pta"


@pytest.mark.parametrize("prompt", [0, 2, 9])
@pytest.mark.parametrize("marks", [0, 1, 2])
@pytest.mark.parametrize("cuts", [["abcdef"], [*"abcdef"], ["ab", "cd", "ef"]])
def test_who_gives_up_goes_back_to_the_first_mark(cuts, marks, prompt):
    src = Window(offset=-prompt)
    read = 0
    for chunk in cuts:
        src.feed(chunk)
        while src.pos < len(src.text) and read < 4:
            if read in range(1, 1 + marks):
                src.mark()
            src.pos += 1
            read += 1
    end = src.end
    src.rewind()
    assert src.previous == "abcdef"[: src.offset + prompt][-1:]
    rest = src.consume(len(src.text))

    # Text of the prompt never belongs to the model.
    assert rest == "abcdef"[max(1 if marks else 4, prompt) :]
    assert src.end == src.offset == end
    src.feed("g")
    assert src.consume(1) == "g"[: max(end + 1, 0)]


@pytest.mark.parametrize(
    ("pos", "closed"), [(0, False), (0, True), (1, True), (2, False), (2, True)]
)
def test_it_has_ended_where_all_is_read_and_no_more_comes(pos, closed):
    src = Window("ab", closed=closed)
    src.pos = pos

    assert src.ended is (pos == 2 and closed)


@pytest.mark.parametrize("marks", [[], [1], [3], [1, 3]])
@pytest.mark.parametrize("prompt", [0, 2, 9])
@pytest.mark.parametrize("cuts", [["abcdef"], [*"abcdef"], ["ab", "cd", "ef"]])
def test_held_counts_rereadable_model_text(cuts, prompt, marks):
    src, read = Window(offset=-prompt), 0
    for chunk in cuts:
        src.feed(chunk)
        while src.pos < len(src.text) and read < 4:
            if read in marks:
                src.mark()
            src.pos += 1
            read += 1
            kept = min([mark for mark in marks if mark < read], default=read)
            assert src.held_from == kept - prompt
            assert src.held == max(src.end - max(kept - prompt, 0), 0)


def test_a_waiter_that_cannot_read_on_is_gone():
    for step in (None, lambda _: None):
        src = Window("a")
        src.waiter = Waiter(print, step, print)
        assert src.step() is None
        assert src.waiter is None
    src.waiter = waiter = Waiter(print, lambda src: src.consume(1), print)
    assert src.step() == "a"
    assert src.waiter is waiter


def test_a_lane_is_opened_past_a_waiter_that_has_read_all():
    src = Window("a")
    src.let_pass(LANE)
    assert src.waiter is None
    src.waiter = Waiter(print, None, print)
    src.let_pass(LANE)
    assert src.waiter.lane is None
    src.consume(1)
    src.mark()
    src.let_pass(LANE)
    assert src.waiter.lane is None
    src.release()
    src.let_pass(LANE)
    assert src.waiter.lane is LANE


@pytest.mark.parametrize("prompt", range(8))
def test_bypassing_prompt_text_is_not_emitted(prompt):
    src, emitted = Window(offset=-prompt), []
    src.wait(emitted.append, LANE)
    for chunk in ("abc", "", "def"):
        src.pass_by(chunk)

    assert "".join(emitted) == "abcdef"[prompt:]
    assert (src.offset, src.previous) == (6 - prompt, "f")


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("outer", range(3))
def test_kept_text_after_a_rewind(outer, size):
    text = "abcdefgh"
    for inner, end in product(range(outer, 8), range(8)):
        for back in range(inner, end + 1):
            src = Window()
            for at in range(0, len(text), size):
                src.feed(text[at : at + size])
                while src.pos < len(src.text) and src.offset < end:
                    for mark in (outer, inner):
                        if src.offset == mark:
                            assert src.mark() == mark
                    src.pos += 1
            if src.marks < 2:
                continue
            assert src.text_since(inner) == text[inner:end]
            src.rewind_to(back)
            assert (src.unread, src.previous) == (text[back:], text[:back][-1:])
            assert (src.text_since(outer), src.text_since(inner)) == (
                text[outer:back],
                text[inner:back],
            )
            src.consume(len(src.text))
            assert (src.text_since(outer), src.text_since(inner)) == (text[outer:], text[inner:])
            src.release()
            assert src.text_since(outer) == text[outer:]


@pytest.mark.parametrize("emits_prompt", [False, True])
@pytest.mark.parametrize("prompt", range(6))
def test_clipped_text_excludes_the_prompt(prompt, emits_prompt):
    for before in ("", "x"):
        src = Window(before + "abcd", offset=-prompt)
        src.emits_prompt = emits_prompt
        models = (before + "abcd") if emits_prompt else (before + "abcd")[prompt:]
        assert src.clipped(0, 5) == models
        assert src.prompt_end == (0 if emits_prompt else prompt)


def test_text_after_the_prompt_is_not_clipped():
    src = Window("abc")
    assert (src.clipped(0, 2), src.clipped(1, 3), src.prompt_end) == ("ab", "bc", 0)
    src.consume(2)
    src.feed("de")
    assert (src.clipped(0, 2), src.consume(2)) == ("cd", "cd")


def test_previous_character_survives_empty_text():
    src = Window("a")
    src.pos = 1
    src.move_after("")
    assert src.previous == "a"
    src.move_after("bc")
    assert (src.previous, src.offset) == ("c", 3)


def test_where_the_prompt_ends_in_a_text():
    assert [Window("abc", offset).prompt_end for offset in (-2, 0, 2)] == [2, 0, 0]


def test_without_a_waiter_no_lane_opens():
    src = Window()
    src.let_pass(LANE)
    assert src.waiter is None


def test_marks_are_released_from_the_last_on():
    src = Window("abcdef")
    for _ in range(4):
        src.mark()
        src.pos += 1
    src.release()
    assert (src.marks, src.held_from) == (3, 0)
    src.release(to=1)
    assert (src.marks, src.held_from, src.text_since(0)) == (1, 0, "abcd")
    src.release(to=0)
    assert (src.marks, src.held_from) == (0, 4)


@pytest.mark.parametrize("marks", [1, 2, 3])
def test_who_gives_up_has_no_mark_left(marks):
    src = Window("abcdef")
    src.pos = 1
    for _ in range(marks):
        src.mark()
        src.pos += 1
    src.rewind()
    assert (src.marks, src.unread, src.offset, src.previous) == (0, "bcdef", 1, "a")
