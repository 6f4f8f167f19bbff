"""State machine of several scanners: interleaved reads and accesses do not change the results.

The oracle is `json.loads` and ijson for JSON, and an unobserved scanner for other text.
"""

from __future__ import annotations

import json

import ijson.backends.python as ijson
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule

from deltaparse.partial import JsonScanner, JsonState, Repairs, heal_json, sound_json

from ...support import is_json, json_texts, nearly_json, open_brackets

OPTIONS = [{}, {"compact": True}, {"repairs": Repairs()}, {"compact": True, "repairs": Repairs()}]
VISIBLE = ("state", "stack", "problem", "end", "unread", "text", "repaired")
sizes = st.sampled_from([0, 1, 2, 3, 5, 8, 20])


class Watched:
    """A scanner with its options, its fed and remaining text, and its results."""

    def __init__(self, text, options):
        self.text, self.options = text, options
        self.scanner = JsonScanner(**options)
        self.fed = self.returned = ""

    def feed(self, size):
        chunk = self.text[len(self.fed) :][:size]
        self.fed += chunk
        self.returned += self.scanner.feed(chunk)
        assert self.scanner.text == self.returned

    def look(self):
        scanner, whole = self.scanner, self.scanner.state in (JsonState.AFTER_VALUE, JsonState.DONE)
        before = [getattr(scanner, name) for name in VISIBLE]
        snapshot = scanner.snapshot()
        healed = heal_json(self.returned + " " * whole)
        assert (snapshot.text, snapshot.value) == (healed.text, healed.value)
        assert [getattr(scanner, name) for name in VISIBLE] == before
        if is_json(self.text):
            assert list(scanner.stack) == open_brackets(self.fed)


class ScannerMachine(RuleBasedStateMachine):
    """Generate scanners with any options, and texts of JSON, nearly JSON or any text."""

    running = Bundle("running")

    @rule(
        target=running,
        text=json_texts() | nearly_json() | st.text(),
        options=st.sampled_from(OPTIONS),
    )
    def begin(self, text, options):
        return Watched(text, options)

    @rule(watched=running, cuts=st.lists(sizes, max_size=9))
    def feed(self, watched, cuts):
        for size in cuts:
            watched.feed(size)

    @rule(watched=running)
    def look(self, watched):
        watched.look()

    @rule(watched=consumes(running), heal=st.booleans())
    def finish(self, watched, heal):
        """Check that the healed result is JSON and equals that of a single reading."""
        returned = watched.returned + watched.scanner.finish(heal=heal)
        whole = JsonScanner(**watched.options)
        assert returned == whole.feed(watched.fed) + whole.finish(heal=heal)
        for name in VISIBLE:
            assert getattr(watched.scanner, name) == getattr(whole, name), name
        if heal:
            assert is_json(returned) or not returned

    @rule(watched=consumes(running))
    def finish_the_whole(self, watched):
        watched.feed(None)
        returned = watched.returned + watched.scanner.finish()
        if is_json(watched.text):
            assert watched.scanner.state is JsonState.DONE
            sound = sound_json(returned)
            value = json.loads(sound)
            assert value == json.loads(sound_json(watched.text))
            if "inf" not in repr(value):  # ijson refuses numbers outside of the range of floats.
                assert [value] == list(ijson.items(sound.encode(), "", use_float=True))


TestScanners = ScannerMachine.TestCase
