"""One call while it is read, from its first member to its end."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable

from deltaparse.partial import Window

from ...message.sink import Sink, Verdict
from ...wire.format import CallIdPosition, WireFormat
from ...wire.marker_tables import MarkerTables
from ..checkpoint import Checkpoint

__all__ = ["Call", "nowhere"]


# How Python spells what is JSON otherwise, and what has quotes of its own.
PYTHON = ("single_quotes", "python_literals")
UNQUOTED = ("unquoted_keys",)

# The brackets of JSON, and its strings, with the colon behind a key.
KEY_OR_BRACKET = re.compile(r'([{}\[\]]|"[^"\\]*+(?:\\.[^"\\]*+)*+")(?:\s*+(:))?+')


def nowhere(text: str) -> None:
    """Take text that is not handed out."""


class Call:
    """Collects name, id and arguments in any order, and hands them out as soon as may be.

    `started` says that its arguments have begun, `whole` that they are a whole JSON object;
    `closers` are the brackets that would make them one where they break off; `repairs` counts
    what was mended in them, `ambiguous` the markers in them that were taken for text. `unused`
    is text in the place of the arguments that is none, `beside` what stands beside them and
    means nothing; both are told in issues.
    """

    __slots__ = (
        "_begun",
        "_held",
        "_lex",
        "_name_span",
        "_src",
        "_verdict",
        "ambiguous",
        "beside",
        "closers",
        "id",
        "name",
        "region",
        "repairs",
        "started",
        "turn",
        "unused",
        "whole",
    )

    def __init__(self, src: Window, turn: Sink, lex: MarkerTables, region: Checkpoint) -> None:
        self._src = src
        self.turn = turn
        self._lex = lex
        self._begin(region)

    def _begin(self, region: Checkpoint) -> None:
        self.region = region
        self.name = ""
        self._name_span = (0, 0)
        self.id = ""
        self.started = False
        self.whole = False
        self.closers = ""
        self.ambiguous = 0
        self.unused: list[str] = []
        self.beside: list[str] = []
        self.repairs: Counter[str] = Counter()
        self._begun = False
        self._held: list[str] = []
        self._verdict: Verdict | None = None

    def called(self, name: str, start: int) -> None:
        """The name is known; it was read from the offset `start` on."""
        self.name = name
        self._name_span = (start, self._src.offset)

    @property
    def fmt(self) -> WireFormat:
        """The format it is written in."""
        return self._lex.fmt

    @property
    def may_repair(self) -> bool:
        """Whether the arguments may be mended: by the policy, or because they are no JSON."""
        arguments = self.fmt.arguments
        own = bool(arguments.quote) or arguments.python_literals
        return own or self.turn.policies.malformed_arguments == "repair"

    def repaired(self, repair: str, offset: int) -> None:  # noqa: ARG002 - counted, not placed
        """Count a repair; they are told together when the call ends.

        What the format spells so is none.
        """
        arguments = self.fmt.arguments
        own = PYTHON if arguments.python_literals else UNQUOTED if arguments.quote else ()
        if repair not in own:
            self.repairs[repair] += 1

    @property
    def known(self) -> bool:
        """Whether this is a call: with a name, and where no marker says so, with arguments."""
        if not self.name or not self._lex.bare:
            return bool(self.name)
        return self.started or self.name in (self.turn.tools or ())

    @property
    def emit(self) -> Callable[[str], None]:
        """Where the text of the arguments goes, for as long as no other member is read."""
        if self._begun:
            return self.turn.arguments
        return self._held.append if self._verdict in (None, "call") else nowhere

    def announce(self, *, last: bool = False) -> None:
        """Hand out the first delta if all that it needs is known; `last`: no more members come.

        The id is waited for where the format has one; under "text", so is the whole call,
        because bad arguments make it content.
        """
        turn, fmt = self.turn, self._lex.fmt
        if self._begun or self._verdict is not None or not self.known:
            return
        behind = fmt.call_id.position is CallIdPosition.POST_ARGS
        has_id = fmt.tools.id_field or fmt.tools.generated_id_field or behind
        waits_for_id = has_id and not self.id
        waits_for_all = turn.policies.malformed_arguments == "text" and not self.whole
        if not last and (waits_for_id or waits_for_all or (self._lex.bare and not self.started)):
            return
        self._verdict = turn.admit(self.name, self._name_span)
        if self._verdict == "call" and (self.whole or not waits_for_all):
            turn.begin_call(self.name, self.id, self.region.start)
            turn.arguments("".join(self._held))
            self._begun = True
            self.region.settle()
        self._held.clear()

    def end(self, *, cut: bool = False) -> bool:
        """The call has ended, or was cut off. Returns whether it was one."""
        if not self.known:
            return False
        turn = self.turn
        if not self.started and not cut:
            self.emit("{}")
            self.started = self.whole = True
        self.announce(last=True)
        if self.repairs:
            made = ", ".join(f"{name} ({times})" for name, times in self.repairs.items())
            detail = f"the arguments of {self.name!r} were mended: {made}"
            turn.issue("repaired_arguments", self.region.span, detail)
        if self.ambiguous:
            detail = f"{self.ambiguous} times, what ends a value was text in {self.name!r}"
            turn.issue("ambiguous_marker", self.region.span, detail)
        if self.beside and self._begun:
            detail = f"left out beside the arguments of {self.name!r}: {''.join(self.beside)!r}"
            turn.issue("unused_member", self.region.span, detail)
        if self._begun:
            if self.whole and turn.policies.duplicate_keys == "error":
                self._check_keys(turn.open_arguments)
            turn.end_call(complete=self.whole, end=self._src.offset)
        elif self._verdict == "drop":
            turn.issue("extra_call", self.region.span, f"dropped: {self.region.text()!r}")
        else:
            turn.content(self.region.text())
        return True

    def another(self) -> None:
        """End this call; the next member is the beginning of another in the same object."""
        self.end()
        self.region.settle()
        self._begin(Checkpoint(self._src))

    def _check_keys(self, arguments: str) -> None:
        # Nesting is data here too: `json.loads` would recurse.
        open_keys: list[set[str]] = []
        for token in KEY_OR_BRACKET.finditer(arguments):
            text = token[1]
            if text in "{[":
                open_keys.append(set())
            elif text in "}]":
                open_keys.pop()
            elif token[2]:
                key = json.loads(text)
                if key in open_keys[-1]:
                    detail = f"a key stands twice in the arguments of {self.name!r}"
                    self.turn.issue("duplicate_keys", self.region.span, detail, "error")
                open_keys[-1].add(key)
