"""One call while it is read, from its first member to its end."""

from __future__ import annotations

import json
import re
from typing import Literal

from deltaparse.partial import Emit, Window, nowhere

from ...message.message import Attempt
from ...message.policy_sink import Verdict
from ...message.provenance import TextRole
from ...wire.call_fields import Field
from ...wire.spellings import stripped
from ...wire.tag_markers import TaggedMarkers
from ..checkpoint import Checkpoint
from ..content import may_become
from ..reading import Reading

__all__ = ["Call"]


# How Python spells what is JSON otherwise, and what has quotes of its own.
PYTHON = ("single_quotes", "python_literals")
UNQUOTED = ("unquoted_keys",)

# The brackets of JSON, and its strings, with the colon behind a key.
KEY_OR_BRACKET = re.compile(r'([{}\[\]]|"[^"\\]*+(?:\\.[^"\\]*+)*+")(?:\s*+(:))?+')


class Call:
    """Collects name, id and arguments in any order, and emits them as soon as may be.

    `id_behind`: the id was read behind the arguments, which ends them. `started` says that its
    arguments have begun, `whole` that they are a whole JSON object, `closed` that the marker which
    closes the call, or part of it, was read by the reader of the call;
    `repairs` counts what was repaired in them, `ambiguous` the markers in them that were taken
    for text, and `swallowed` are the names of other arguments that began in the text of one.
    `not_emitted` is text in the place of the arguments that is none; `extra_members` are members
    beside name, id and arguments, which mean nothing; `odd_members` says which of these stand under
    a key that is not the format's. All three are reported. `fault` says why the call is not
    complete; `written` is the name as it was written, in tags; `overrun` is what proves that a
    string in it was not closed. `listed`: it stands in a list of JSON; `opened`: a marker
    before its arguments was read that another closes. `traces`: somebody asks
    where its arguments stand. `reads` is the window from which its members are read: where they are
    repaired, that of the repaired text.
    """

    __slots__ = (
        "_announced",
        "_arguments_from",
        "_arguments_span",
        "_held",
        "_name_span",
        "_reading",
        "_structural_only",
        "_verdict",
        "ambiguous",
        "checkpoint",
        "closed",
        "extra_members",
        "fault",
        "fmt",
        "id",
        "id_behind",
        "listed",
        "name",
        "not_emitted",
        "odd_members",
        "opened",
        "overrun",
        "reads",
        "repairs",
        "sink",
        "started",
        "swallowed",
        "tables",
        "traces",
        "whole",
        "written",
    )

    def __init__(self, reading: Reading, checkpoint: Checkpoint) -> None:
        self._reading = reading
        self.sink = sink = reading.sink
        self.traces = sink.trail is not None
        self.tables = tables = reading.tables
        self.fmt = tables.fmt
        self.overrun = tables.overrun
        self._structural_only = tables.structural_only
        self.listed = self.opened = False
        self.reads: Window = reading.src
        self._begin(checkpoint)

    def _begin(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.name = self.written = ""
        self._name_span = (0, 0)
        # Of the arguments, for the trail; the prompt's have offsets below 0.
        self._arguments_from: int | None = None
        self._arguments_span = (0, 0)
        self.id = ""
        self.id_behind = False
        self.started = False
        self.whole = False
        self.closed = False
        self.ambiguous = 0
        self.swallowed: set[str] = set()
        self.not_emitted: list[str] = []
        self.sink.not_emitted = self.not_emitted
        self.extra_members: list[str] = []
        self.sink.extra_members = self.extra_members
        self.sink.in_call, self.sink.repaired_ahead = True, False
        self.odd_members: list[str] = []
        self.fault: Literal["", "truncated", "broken"] = ""
        self.repairs: dict[str, int] = {}
        self._announced = False
        self._held: list[str] = []
        self._verdict: Verdict | None = None

    def find_name(self, name: str, start: int, end: int = -1) -> None:
        """Note where the name stands that was just read, from `start` on, or that ends at `end`."""
        self._name_span = (end - len(name), end) if end >= 0 else (start, self._reading.src.offset)

    def called(self, name: str, start: int) -> None:
        """The name is known; it was read from the offset `start` on."""
        self.name = name
        if not self._name_span[1]:
            self.find_name(name, start)
        trail = self.sink.trail
        if trail is not None:
            self._name_span = self._place_of_name()
            trail.said(*self._name_span, TextRole.NAME)

    def _place_of_name(self) -> tuple[int, int]:
        """Where the name stands, without what stands round it; empty where it is not written."""
        start, end = self._name_span
        # What was repaired was read from a window of its own, whose offsets mean nothing here.
        start = max(start, self.checkpoint.start)
        word = re.compile(rf"(?<!\w){re.escape(self.name)}(?!\w)")
        found = (
            word.search(self._reading.src.text_since(start, prompt=True)) if end > start else None
        )
        return (start + found.start(), start + found.end()) if found else self._name_span

    def _reported_at(self) -> tuple[int, int]:
        """What an issue about the name is about: that, or where it is not written, the call."""
        start, end = self._place_of_name()
        return (start, end) if start < end else self.checkpoint.span

    def begin_arguments(self) -> None:
        """Arguments, or one name or value of them, begin where the reader stands.

        Who asks first whether somebody `traces` saves two calls of functions.
        """
        self._arguments_from = self._read_to()

    def end_arguments(self, *, but: int = 0) -> None:
        """They end where the reader stands, or so many characters before."""
        trail, start = self.sink.trail, self._arguments_from
        if trail is None or start is None or self._verdict == "text":
            return
        end = max(self._read_to() - but, start)
        trail.said(start, end, TextRole.ARGUMENTS)
        first, last = self._arguments_span
        self._arguments_span = (start if first == last else first), end
        self._arguments_from = None
        self._place()

    def _read_to(self) -> int:
        """Up to where the output was read; what is unread of a window of its own was not."""
        src = self._reading.src
        return src.offset if self.reads is src else src.offset - len(self.reads.unread)

    def _place(self) -> None:
        """Say where the name and the arguments stand, if the call is known to be one."""
        if self.sink.trail is not None and self._announced:
            self.sink.trail.called(self._name_span, self._arguments_span)

    def _go_back(self) -> None:
        """Say where the arguments begin that were held back, if some were read."""
        first, last = self._arguments_span
        start = first if first < last else self._arguments_from
        if self.sink.trail is not None and start is not None:
            self.sink.trail.goes_back(start)

    @property
    def may_repair(self) -> bool:
        """Whether the arguments may be repaired: by the policy, or because they are no JSON."""
        arguments = self.fmt.arguments
        own = bool(arguments.quote) or arguments.python_literals
        return own or self.sink.policies.malformed_arguments == "repair"

    def repaired(self, repair: str, offset: int) -> None:  # noqa: ARG002 - counted, not placed
        """Count a repair; they are reported together when the call ends.

        What the format spells so is none.
        """
        arguments = self.fmt.arguments
        own = PYTHON if arguments.python_literals else UNQUOTED if arguments.quote else ()
        if repair not in own:
            self.repairs[repair] = self.repairs.get(repair, 0) + 1

    def repeated(self, key: str) -> None:
        """The member `key`, which means something, stands in the call twice."""
        self.extra_members.append(f"{', ' * bool(self.extra_members)}{key} (again)")

    def stands_under(self, key: str, field: Field) -> None:
        """What a field holds stands under this key: it is noted where the format has another."""
        own = self._reading.tables.own_keys[field]
        if own and key not in own:
            self.odd_members.append(f"the key of the {field.name.lower()} is {key!r}")

    def identify(self, id: str) -> None:
        """Take the id of the call; one that comes when another was emitted is reported."""
        if self._announced:
            detail = f"the call of {self.name!r} was emitted before its id {id!r} came"
            self.sink.issue("late_id", self.checkpoint.span, detail)
        else:
            self.id = id

    @property
    def is_call(self) -> bool:
        """Whether this is a call: with a name, and where no marker says so, with arguments.

        Where it stands in no markers at all, the name of a tool says so too.
        """
        if not self.name or not self._structural_only:
            return bool(self.name)
        by_name = self._reading.tables.unmarked and self.name in (self.sink.tools or ())
        return self.started or by_name

    @property
    def is_unknown_unmarked(self) -> bool:
        """Whether only the name could say that this is a call, and it is that of no tool.

        For readers that know calls to be unproven (`MarkerTables.unproven`).
        """
        tools, reading = self.sink.tools, self._reading
        known = tools is None or not self.name or self.name in tools
        return not known and not reading.behind_code

    def stray(self) -> None:
        """Report that this is text, for no tool is called so."""
        self.sink.unknown(self.name, self._reported_at())
        span = self.checkpoint.span
        self.sink.attempts.append(Attempt(self.name, span, "unknown_tool", "it is text"))

    @property
    def emit(self) -> Emit:
        """Where the text of the arguments goes, for as long as no other member is read."""
        if self._announced:
            return self.sink.arguments
        if self._verdict == "text":
            return self._emit_text
        return nowhere if self._verdict == "drop" else self._held.append

    def _emit_text(self, arguments: str) -> None:  # noqa: ARG002 - it is text as it was written
        """Emit what was read of a call that is text by a policy, its arguments among it."""
        self.sink.builder.enter("content")  # also where it interrupts reasoning
        self.sink.content(self.checkpoint.take())

    def announce(self, *, last: bool = False) -> None:
        """Emit the first delta if all that it needs is known; `last`: no more members come.

        The id is waited for where the format has one; under "text", so is the whole call,
        because bad arguments make it content.
        """
        if self._announced or self._verdict is not None or not self.is_call:
            return
        sink, tables = self.sink, self._reading.tables
        waits_for_id = tables.id_before_call and not self.id
        waits_for_all = sink.policies.malformed_arguments == "text" and not self.whole
        waits_for_arguments = self._structural_only and not self.started
        if not last and (waits_for_id or waits_for_all or waits_for_arguments):
            return
        self._verdict = sink.decide(self.name, self._reported_at)
        if self._verdict == "call" and not waits_for_all:
            self._note_text_beside()
            if self.id and sink.is_repeated(self.id):
                detail = f"the call of {self.name!r} has the id of another, {self.id!r}"
                sink.issue("repeated_id", self._reported_at(), detail)
            sink.begin_call(self.name, self.id, self.checkpoint.start)
            if self._held:
                self._go_back()
                sink.arguments("".join(self._held))
            self._announced = True
            if self.traces:
                self._place()
            if self.whole:
                self._complete()
            self.checkpoint.commit()
        elif self._verdict == "text":
            self._emit_text("")
        self._held.clear()

    def _note_text_beside(self) -> None:
        """Note this call, if nothing but its look tells it from text."""
        beside = self.sink.beside
        if beside is not None and not self._reading.behind_code:
            function = self.fmt.function
            head = f"{function.name_prefix}{self.written}{function.name_suffix}"
            beside.call(exact=self.checkpoint.text().startswith(head))

    def close(self) -> None:
        """The arguments are a whole object now: the call is complete, and may be executed."""
        self.whole = True
        if self._announced:
            self._complete()

    def _complete(self) -> None:
        if self.sink.policies.duplicate_keys == "error":
            self._check_keys(self.sink.open_arguments)
        self.sink.complete_call()

    def end(self, *, cut: bool = False) -> bool:
        """The call has ended, or was cut off. Returns whether it was one."""
        if self.traces:
            self.end_arguments()
        sink = self.sink
        if not self.is_call:
            sink.in_call = False
            return False
        if not self.started and not cut:
            self.emit("{}")
            self.close()
            detail = f"the call of {self.name!r} has no arguments: {{}}"
            sink.issue("missing_arguments", self.checkpoint.span, detail)
        if not self._announced:
            self.announce(last=True)
        if self.repairs:
            made = ", ".join(f"{name} ({times})" for name, times in self.repairs.items())
            detail = f"the arguments of {self.name!r} were repaired: {made}"
            sink.issue("repaired_arguments", self.checkpoint.span, detail)
        if self.ambiguous:
            detail = (
                f"{self.ambiguous} times, a marker of arguments was text in one of {self.name!r}"
            )
            sink.issue("ambiguous_marker", self.checkpoint.span, detail)
        if self.odd_members and self._announced:
            odd = ", ".join(self.odd_members)
            sink.issue("odd_member", self.checkpoint.span, f"of {self.name!r}, {odd}")
        if self.extra_members and self._announced:
            extra = "".join(self.extra_members)
            detail = f"left out beside the arguments of {self.name!r}: {extra!r}"
            sink.issue("unused_member", self.checkpoint.span, detail)
        sink.call_is_text = not self._announced and self._verdict != "drop"
        if self._announced:
            src = self._reading.src
            end = src.base + src.pos
            sink.end_call(complete=self.whole, end=end)
            closes = self.tables.closes_behind and not self._reading.behind_code
            if self.whole and closes and not self.closed:
                sink.unclosed = self.name, end, self.closers
        elif self._verdict == "drop":
            sink.issue("extra_call", self.checkpoint.span, f"dropped: {self.checkpoint.text()!r}")
            if sink.trail is not None:
                sink.trail.said(*self.checkpoint.span, TextRole.DROPPED)
        else:
            self._emit_text("")
        self.attempted()
        sink.in_call = False
        return True

    def attempted(self) -> None:
        """Note what became of the call."""
        sink = self.sink
        unknown = sink.tools is not None and self.name not in sink.tools
        repaired = sink.builder.repaired if self._announced else sink.repaired_ahead
        status = self.fault or (
            "unknown_tool" if unknown else "repaired" if repaired else "complete"
        )
        sink.attempts.append(Attempt(self.name, self.checkpoint.span, status))

    @property
    def closers(self) -> set[str]:
        """The markers of which each may close this call."""
        closers = stripped(self.tables.derived.closers)
        if self.tables.derived.closes_by_name:
            function = self.fmt.function
            closers.add(function.close.strip() + self.written + function.close_suffix.strip())
        return closers

    def report_missing_closer(self, m: TaggedMarkers) -> None:
        """Report that nothing closes the arguments, if another might have stood behind them.

        None might where the output ends in what can only become the closer.
        """
        src = self._reading.src
        another = m.names_unmarked or may_become(src, m.key) or may_become(src, m.separator)
        if src.unread.strip() and not another:
            return
        offset = src.offset
        detail = f"the output has no marker that closes the arguments of {self.name!r}"
        self.sink.issue("missing_closer", (offset, offset), detail)

    def between_calls(self) -> Checkpoint | None:
        """Where another call may begin in the same object; None where none does."""
        named = self.fmt.tools.name_is_key and self.name
        return self._reading.checkpoint() if named else None

    def start_next_call(self, checkpoint: Checkpoint) -> None:
        """End this call where another began in the same object."""
        self.checkpoint.end_at(checkpoint)
        trail = self.sink.trail
        if trail is not None:
            trail.behind = self._reading.src.offset - checkpoint.start
        self.end()
        if trail is not None:
            trail.behind = 0
        self.checkpoint.commit()
        self._begin(checkpoint)

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
                    self.sink.issue("duplicate_keys", self.checkpoint.span, detail, "error")
                open_keys[-1].add(key)
