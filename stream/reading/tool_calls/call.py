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


# Python spells these differently from JSON, and has a second kind of quotation marks.
PYTHON = ("single_quotes", "python_literals")
UNQUOTED = ("unquoted_keys",)

# Brackets of JSON, and strings with the colon after a key.
KEY_OR_BRACKET = re.compile(r'([{}\[\]]|"[^"\\]*+(?:\\.[^"\\]*+)*+")(?:\s*+(:))?+')


class Call:
    """The name, id and arguments of one call, in any order, emitted as early as possible.

    Attributes:
        id_after: True if the id was read after the arguments, and ended them.
        started: True if the arguments have started.
        whole: True if the arguments are a complete JSON object.
        closed: True if the reader of the call read its closer, or a part of the closer.
        repairs: the number of repairs in the arguments, by name.
        ambiguous: the number of markers in the arguments read as text.
        swallowed: the names of other arguments that started in the text of an argument.
        not_emitted: text in place of the arguments that is not emitted. It is reported.
        extra_members: members other than name, id and arguments, without a meaning. Reported.
        odd_members: notes on members with a key that is not the format's. Reported.
        fault: the reason for an incomplete call.
        written: the name as written, in tags.
        overrun: the patterns of text after an unclosed string in the call.
        listed: True in a JSON list.
        opened: True if a marker before the arguments was read that has a closer.
        traces: True if the positions of the arguments are requested.
        reads: the window of its members. Repaired members have their own window.
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
        "id_after",
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
        self.traces = sink.recorder is not None
        self.tables = tables = reading.tables
        self.fmt = tables.fmt
        self.overrun = tables.overrun
        self._structural_only = tables.structural_only
        self.listed = self.opened = False
        # Another call may follow in the same object, so the state of one call is set separately.
        self.reads: Window = reading.src
        self._begin(checkpoint)

    def _begin(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.name = self.written = ""
        self._name_span = (0, 0)
        # Offsets of the arguments for the recorder. Offsets in the prompt are negative.
        self._arguments_from: int | None = None
        self._arguments_span = (0, 0)
        self.id = ""
        self.id_after = False
        self.started = False
        self.whole = False
        self.closed = False
        self.ambiguous = 0
        self.swallowed: set[str] = set()
        self.not_emitted: list[str] = []
        # The sink refers to unread text, so an exception while reading does not lose it.
        self.sink.not_emitted = self.not_emitted
        self.extra_members: list[str] = []
        self.sink.extra_members = self.extra_members
        # Repairs before the first delta belong to this call, so the sink must know that it is read.
        self.sink.in_call, self.sink.repaired_ahead = True, False
        self.odd_members: list[str] = []
        self.fault: Literal["", "truncated", "broken"] = ""
        self.repairs: dict[str, int] = {}
        self._announced = False
        self._held: list[str] = []
        self._verdict: Verdict | None = None

    def find_name(self, name: str, start: int, end: int = -1) -> None:
        """Note the offsets of the name just read, by its start or its end."""
        self._name_span = (end - len(name), end) if end >= 0 else (start, self._reading.src.offset)

    def called(self, name: str, start: int) -> None:
        """Take the name read from the offset `start` on."""
        self.name = name
        # A reader that knows the exact offsets has noted them before.
        if not self._name_span[1]:
            self.find_name(name, start)
        recorder = self.sink.recorder
        # The search for the name costs time, so it is limited to requests with a recorder.
        if recorder is not None:
            self._name_span = self._place_of_name()
            recorder.set_role(*self._name_span, TextRole.NAME)

    def _place_of_name(self) -> tuple[int, int]:
        """Return the offsets of the name without delimiters, which are equal if it is implied."""
        start, end = self._name_span
        # Repaired text was read from another window, and its offsets are not valid here.
        start = max(start, self.checkpoint.start)
        # The name may have a namespace or quotation marks around it, so search for it as a word.
        word = re.compile(rf"(?<!\w){re.escape(self.name)}(?!\w)")
        found = (
            word.search(self._reading.src.text_since(start, prompt=True)) if end > start else None
        )
        return (start + found.start(), start + found.end()) if found else self._name_span

    def _reported_at(self) -> tuple[int, int]:
        """Return the offsets of the name for an issue, or of the call if the name is implied."""
        start, end = self._place_of_name()
        return (start, end) if start < end else self.checkpoint.span

    def begin_arguments(self) -> None:
        """Note the start of the arguments, or of one name or value, at the current position.

        Check `traces` before the call to save two function calls.
        """
        self._arguments_from = self._read_to()

    def end_arguments(self, *, but: int = 0) -> None:
        """Note the end of the arguments at the current position, minus `but` characters."""
        recorder, start = self.sink.recorder, self._arguments_from
        # Arguments of a call that is text are content, so the recorder must not count them.
        if recorder is None or start is None or self._verdict == "text":
            return
        end = max(self._read_to() - but, start)
        recorder.set_role(start, end, TextRole.ARGUMENTS)
        first, last = self._arguments_span
        self._arguments_span = (start if first == last else first), end
        self._arguments_from = None
        self._place()

    def _read_to(self) -> int:
        """Return the offset up to which the output was read, without the unread repaired text."""
        src = self._reading.src
        return src.offset if self.reads is src else src.offset - len(self.reads.unread)

    def _place(self) -> None:
        """Record the offsets of the name and the arguments, if the call was announced."""
        if self.sink.recorder is not None and self._announced:
            self.sink.recorder.called(self._name_span, self._arguments_span)

    def _go_back(self) -> None:
        """Record the start of buffered arguments, if some were read."""
        first, last = self._arguments_span
        start = first if first < last else self._arguments_from
        if self.sink.recorder is not None and start is not None:
            self.sink.recorder.rewind(start)

    @property
    def may_repair(self) -> bool:
        """Return True if a policy allows repairs, or if the format's arguments are not JSON."""
        arguments = self.fmt.arguments
        # Such arguments must be converted to JSON whatever the policy is.
        own = bool(arguments.quote) or arguments.python_literals
        return own or self.sink.policies.malformed_arguments == "repair"

    def repaired(self, repair: str, offset: int) -> None:  # noqa: ARG002 - counted, not placed
        """Count a repair for the report at the end, unless it is the format's spelling."""
        arguments = self.fmt.arguments
        own = PYTHON if arguments.python_literals else UNQUOTED if arguments.quote else ()
        # The format's own spelling is converted too, but that is not a repair.
        if repair not in own:
            self.repairs[repair] = self.repairs.get(repair, 0) + 1

    def repeated(self, key: str) -> None:
        """Note that the member `key` is repeated, although it has a meaning."""
        self.extra_members.append(f"{', ' * bool(self.extra_members)}{key} (again)")

    def note_key(self, key: str, field: Field) -> None:
        """Note the key of a field, if the format has another key for it."""
        own = self._reading.tables.own_keys[field]
        if own and key not in own:
            self.odd_members.append(f"the key of the {field.name.lower()} is {key!r}")

    def identify(self, id: str) -> None:
        """Take the id of the call. An id after the first delta is too late, and is reported."""
        if self._announced:
            detail = f"the id {id!r} follows the call of {self.name!r}, which was already emitted"
            self.sink.issue("late_id", self.checkpoint.span, detail)
        else:
            self.id = id

    @property
    def is_call(self) -> bool:
        """True if this is a call: it has a name, and also arguments if no marker proves it.

        Without any markers, the name of a tool proves it too.
        """
        if not self.name or not self._structural_only:
            return bool(self.name)
        # Ordinary JSON often has a member `name`, so without a marker the name alone is not enough.
        by_name = self._reading.tables.unmarked and self.name in (self.sink.tools or ())
        return self.started or by_name

    @property
    def is_unknown_unmarked(self) -> bool:
        """True if only the name could prove the call, and it is not the name of a tool.

        For readers of unproven calls (`MarkerTables.unproven`).
        """
        tools, reading = self.sink.tools, self._reading
        # Without a list of tools any name may be the name of a tool.
        known = tools is None or not self.name or self.name in tools
        return not known and not reading.after_code_marker

    def stray(self) -> None:
        """Report that the call is text, because its name is not the name of a tool."""
        self.sink.unknown(self.name, self._reported_at())
        span = self.checkpoint.span
        self.sink.attempts.append(Attempt(self.name, span, "unknown_tool", "it is text"))

    @property
    def emit(self) -> Emit:
        """The receiver of the arguments' text, until another member is read."""
        if self._announced:
            return self.sink.arguments
        if self._verdict == "text":
            return self._emit_text
        return nowhere if self._verdict == "drop" else self._held.append

    def _emit_text(self, arguments: str) -> None:  # noqa: ARG002 - emitted as written
        """Emit the text of a call that is content by a policy, including its arguments."""
        self.sink.builder.enter("content")  # the call may interrupt reasoning
        self.sink.content(self.checkpoint.take())

    def announce(self, *, last: bool = False) -> None:
        """Emit the first delta if everything for it is known. `last` means that no members follow.

        It waits for the id if the format has one. With the policy "text" it waits for the complete
        call, because bad arguments make the call content.
        """
        # Called after every member, and decided once.
        if self._announced or self._verdict is not None or not self.is_call:
            return
        sink, tables = self.sink, self._reading.tables
        # The first delta contains the id, and cannot be changed later.
        waits_for_id = tables.id_before_call and not self.id
        waits_for_all = sink.policies.malformed_arguments == "text" and not self.whole
        waits_for_arguments = self._structural_only and not self.started
        if not last and (waits_for_id or waits_for_all or waits_for_arguments):
            return
        self._verdict = sink.decide(self.name, self._reported_at)
        # With waits_for_all the arguments are incomplete at the end, so the call is content.
        if self._verdict == "call" and not waits_for_all:
            self._note_if_like_text()
            # Clients match results by id, so a repeated id must be reported.
            if self.id and sink.is_repeated(self.id):
                detail = f"the call of {self.name!r} has the id of another, {self.id!r}"
                sink.issue("repeated_id", self._reported_at(), detail)
            sink.begin_call(self.name, self.id, self.checkpoint.start)
            # These arguments preceded the name, so they were buffered until now.
            if self._held:
                self._go_back()
                sink.arguments("".join(self._held))
            self._announced = True
            if self.traces:
                self._place()
            if self.whole:
                self._complete()
            # An announced call is never taken back, so its text need not be kept.
            self.checkpoint.commit()
        # The text so far is emitted at once, because the decision is final.
        elif self._verdict == "text":
            self._emit_text("")
        self._held.clear()

    def _note_if_like_text(self) -> None:
        """Note this call if only its form distinguishes it from text."""
        surrounding = self.sink.surrounding
        # The code marker proves the call, whatever text is next to it.
        if surrounding is not None and not self._reading.after_code_marker:
            function = self.fmt.function
            head = f"{function.name_prefix}{self.written}{function.name_suffix}"
            surrounding.call(exact=self.checkpoint.text().startswith(head))

    def close(self) -> None:
        """Mark the arguments as a complete object, so that the call is complete."""
        self.whole = True
        if self._announced:
            self._complete()

    def _complete(self) -> None:
        # Only this policy needs the keys. The check reads all arguments again.
        if self.sink.policies.duplicate_keys == "error":
            self._check_keys(self.sink.open_arguments)
        self.sink.complete_call()

    def end(self, *, cut: bool = False) -> bool:
        """End the call, truncated if `cut`. Returns True if it was a call."""
        if self.traces:
            self.end_arguments()
        sink = self.sink
        if not self.is_call:
            sink.in_call = False
            return False
        # A call without arguments needs an empty object to be executable.
        if not self.started and not cut:
            self.emit("{}")
            self.close()
            detail = f"the call of {self.name!r} has no arguments; {{}} is used"
            sink.issue("missing_arguments", self.checkpoint.span, detail)
        # The last chance to decide, because no id and no arguments will follow.
        if not self._announced:
            self.announce(last=True)
        if self.repairs:
            made = ", ".join(f"{name} ({times})" for name, times in self.repairs.items())
            detail = f"the arguments of {self.name!r} were repaired: {made}"
            sink.issue("repaired_arguments", self.checkpoint.span, detail)
        if self.ambiguous:
            detail = (
                f"{self.ambiguous} argument markers were read as text in the call of {self.name!r}"
            )
            sink.issue("ambiguous_marker", self.checkpoint.span, detail)
        if self.odd_members and self._announced:
            odd = ", ".join(self.odd_members)
            sink.issue("odd_member", self.checkpoint.span, f"in the call of {self.name!r}, {odd}")
        if self.extra_members and self._announced:
            extra = "".join(self.extra_members)
            detail = f"not emitted in the call of {self.name!r}: {extra!r}"
            sink.issue("unused_member", self.checkpoint.span, detail)
        # The closer of a call that is text is text too. A dropped call takes its closer with it.
        sink.call_is_text = not self._announced and self._verdict != "drop"
        if self._announced:
            src = self._reading.src
            end = src.base + src.pos
            sink.end_call(complete=self.whole, end=end)
            # The closer may still follow, so a missing one is reported later by the sink.
            closes = self.tables.needs_closer and not self._reading.after_code_marker
            # An incomplete call has another issue, and not every format has a closer.
            if self.whole and closes and not self.closed:
                sink.unclosed = self.name, end, self.closers
        elif self._verdict == "drop":
            sink.issue("extra_call", self.checkpoint.span, f"dropped: {self.checkpoint.text()!r}")
            if sink.recorder is not None:
                sink.recorder.set_role(*self.checkpoint.span, TextRole.DROPPED)
        else:
            self._emit_text("")
        self.attempted()
        sink.in_call = False
        return True

    def attempted(self) -> None:
        """Record the call with its status."""
        sink = self.sink
        # A fault takes precedence over the name, and the name over repairs.
        unknown = sink.tools is not None and self.name not in sink.tools
        repaired = sink.builder.repaired if self._announced else sink.repaired_ahead
        status = self.fault or (
            "unknown_tool" if unknown else "repaired" if repaired else "complete"
        )
        sink.attempts.append(Attempt(self.name, self.checkpoint.span, status))

    @property
    def closers(self) -> set[str]:
        """The possible closers of this call."""
        closers = stripped(self.tables.derived.closers)
        if self.tables.derived.closes_by_name:
            function = self.fmt.function
            closers.add(function.close.strip() + self.written + function.close_suffix.strip())
        return closers

    def report_missing_closer(self, m: TaggedMarkers) -> None:
        """Report that the arguments were not closed, if another marker could have followed them.

        At the end of the output only the closer may be possible, and then it is not missing.
        """
        src = self._reading.src
        another = m.names_unmarked or may_become(src, m.key) or may_become(src, m.separator)
        # The output is truncated before the only possible marker, so the end is reported elsewhere.
        if src.unread.strip() and not another:
            return
        offset = src.offset
        detail = f"the arguments of {self.name!r} have no closing marker"
        self.sink.issue("missing_closer", (offset, offset), detail)

    def between_calls(self) -> Checkpoint | None:
        """Return a checkpoint if another call may start in the same object, else None."""
        # Only in this layout can one object contain several calls.
        named = self.fmt.tools.name_is_key and self.name
        return self._reading.checkpoint() if named else None

    def start_next_call(self, checkpoint: Checkpoint) -> None:
        """End this call at the start of another in the same object."""
        # The text of this call must not include the key of the next.
        self.checkpoint.end_at(checkpoint)
        recorder = self.sink.recorder
        # Text after this call was read already, so the recorder must not count it.
        if recorder is not None:
            recorder.behind = self._reading.src.offset - checkpoint.start
        self.end()
        if recorder is not None:
            recorder.behind = 0
        self.checkpoint.commit()
        self._begin(checkpoint)

    def _check_keys(self, arguments: str) -> None:
        # Arguments can be nested deeply, and `json.loads` would recurse.
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
                    detail = f"a key is repeated in the arguments of {self.name!r}"
                    self.sink.issue("duplicate_keys", self.checkpoint.span, detail, "error")
                open_keys[-1].add(key)
