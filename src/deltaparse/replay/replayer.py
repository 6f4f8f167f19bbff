"""The one function over a record: parse again what a model wrote, and compare.

It is a callable object that pickles, so that processes and machines can share the work; what it
reads of formats and tools it keeps for the records that follow.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from deltaparse.analyzer import ChatTemplate, analyze
from deltaparse.partial import DeltaParseError, MalformedOutput
from deltaparse.stream import (
    Message,
    Policies,
    StreamParser,
    TokenParser,
    Tools,
    Vocabulary,
    WireFormat,
    get_format,
)
from deltaparse.stream.message.fields import REASONING_KEYS
from deltaparse.stream.parser import TurnParser
from deltaparse.stream.wire.given import FormatGiven, as_format

from .choices import by_choice
from .classes import Difference, difference
from .expected import Made, made_of, read_expected
from .layouts import Mapped
from .records import BadRecord, Record, plain_id, read_record

__all__ = ["Replayer", "Verdict", "in_text", "verdict"]

Verdict = str

KEPT = 256
"""Formats, and lists of tools, that are kept for the records that follow."""

GIVEN = frozenset(("messages", "tools", "add_generation_prompt"))

ODD = frozenset(("broken", "unknown_tool", "repaired", "not_a_call"))
"""What becomes of calls that the model wrote badly."""


class Replayer:
    """Parses records again, each by itself; the result is a dictionary that goes to JSON.

        replayer = Replayer(get_format("hermes"))
        replayer({"id": 1, "text": "...", "expected": {...}})["class"]

    No record raises: what cannot be read has an `error` in its result, and no message.

    Args:
        fmt: how the model writes, or the name of a format. Without it, each record has a `format`
            (a name, or a format as JSON), or a `template` (the source of one).
        template: the chat template that prompts are rendered with, for records that have
            `messages`; without `fmt`, the format is found in it.
        policies: what to do where an output is odd.
        vocabulary: what `token_ids` are read with: a `Vocabulary`, or what `Vocabulary.load` takes.
        fields: where records have what is read of them, such as `{"text": "response.raw"}`.
        against: another replayer, whose message stands for what was expected: before and after.

    Raises:
        UsageError: an argument makes no sense.
    """

    def __init__(
        self,
        fmt: FormatGiven | None = None,
        *,
        template: ChatTemplate | None = None,
        policies: Policies = Policies(),  # noqa: B008 - frozen
        vocabulary: Any = None,
        fields: Mapping[str, str] | None = None,
        against: Replayer | None = None,
    ) -> None:
        if fmt is None and template is not None:
            fmt = analyze(template)
        self.format = None if fmt is None else as_format(fmt)
        self.template, self.policies = template, policies
        self.source, self.against = vocabulary, against
        self.mapped = Mapped(fields or {})
        self._tools: dict[bytes, Tools] = {}
        self._formats: dict[bytes, tuple[WireFormat, ChatTemplate | None]] = {}

    def __reduce__(self) -> tuple[Callable[..., Replayer], tuple[Any, ...]]:
        given = (self.format, self.template, self.policies, self.source, self.mapped.fields)
        return _made, (*given, self.against)

    def __call__(self, record: object, number: int = 0) -> dict[str, Any]:
        """Return the result of a record; `number` is its id where it has none.

        Of a record with several choices it is that of the first; `each` returns all.
        """
        return self.each(record, number)[0]

    def each(self, record: object, number: int = 0) -> list[dict[str, Any]]:
        """Return the result of each choice of a record: one, where it has no choices."""
        try:
            outputs = self.outputs(record)
        except Exception as error:  # noqa: BLE001 - as in _replayed
            return [{"id": number, "error": f"internal error: {error!r}"}]
        return [self._replayed(one, number) for one in outputs]

    def outputs(self, record: object) -> list[object]:
        """Return a record of each output of a record, with all fields in their places."""
        if isinstance(record, list) and record and all(isinstance(one, Mapping) for one in record):
            # What an engine returned for several choices.
            found = [one for each in record for one in self.outputs(each)]
            return [{"choice": at, **one} for at, one in enumerate(found)]  # type: ignore[dict-item]
        mapped = self.mapped(record)
        return [*by_choice(mapped)] if isinstance(mapped, Mapping) else [mapped]

    def _replayed(self, record: object, number: int) -> dict[str, Any]:
        """The result of an output whose fields stand in their places."""
        head: dict[str, Any] = {"id": number}
        if isinstance(record, Mapping):
            if record.get("id") is not None:
                head["id"] = plain_id(record["id"])
            if isinstance(record.get("choice"), int):
                head["choice"] = record["choice"]
        try:
            read = read_record(record)
            made = self._result(read) if self.against is None else self._both(read)
        except DeltaParseError as error:
            made = {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - a bug must not cost the other records
            made = {"error": f"internal error: {error!r}"}
        return head | made

    def in_place(self) -> Replayer:
        """Return the same for records that were mapped: all fields stand where they belong."""
        against = None if self.against is None else self.against.in_place()
        return _made(self.format, self.template, self.policies, self.source, {}, against)

    def parsed(self, record: Record, chunks: list[str] | None = None) -> TurnParser:
        """Return the finished parser of a record, fed with its output as one, or with these chunks.

        Raises:
            DeltaParseError: the record cannot be parsed.
        """
        fmt, prompt, given = self.arguments(record)
        parser: StreamParser | TokenParser
        if chunks is None and record.token_ids is not None and self.source is not None:
            parser = TokenParser(fmt, self.vocabulary, prompt=prompt, spans=False, **given)
            parser.feed(record.token_ids)
        else:
            text, before = in_text(record, prompt)
            parser = StreamParser(fmt, prompt=before, **given)
            for chunk in [text] if chunks is None else chunks:
                parser.feed(chunk)
        parser.finish(record.finish_reason, stop_reason=record.stop_reason)
        return parser

    def arguments(
        self, record: Record
    ) -> tuple[WireFormat, str | list[int] | None, dict[str, Any]]:
        """Return what a parser of a record is made of: format, prompt, and its other arguments.

        Raises:
            DeltaParseError: the record has none, or what cannot be used.
        """
        fmt, template = self._format(record)
        tools = None if record.tools is None else self._read_tools(record.tools)
        given = {"tools": tools, "policies": self._policies(record), **record.request}
        return fmt, self._prompt(record, template), given

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the model, loaded when the first record needs them."""
        source = self.source
        return source if isinstance(source, Vocabulary) else Vocabulary.load(source)

    def _result(self, record: Record) -> dict[str, Any]:
        """The result of a record, compared with what was expected."""
        parser = self.parsed(record)
        message = parser.message
        result = _told(record, parser, message, unrendered=self._unrendered(record))
        if record.expected is not None:
            if _is_as_written(result["message"], record.expected):
                result["class"] = "same"
            else:
                _compare(result, message, read_expected(record.expected))
        return result

    def _both(self, record: Record) -> dict[str, Any]:
        """The result of a record, and what the other replayer makes of it."""
        assert self.against is not None  # noqa: S101 - for the type checker
        one, two = self.parsed_or_why(record), self.against.parsed_or_why(record)
        if isinstance(one, str) or isinstance(two, str):
            if one == two:
                return {"class": "same", "error": one}
            words = [each if isinstance(each, str) else "no error" for each in (one, two)]
            return {"error": f"before: {words[0]}; after: {words[1]}"}
        message, other = one.message, two.message
        result = _told(record, one, message, unrendered=self._unrendered(record))
        result["against"] = {"message": other.to_openai(), "finish_reason": two.finish_reason}
        _compare(result, message, made_of(other))
        return result

    def parsed_or_why(self, record: Record) -> TurnParser | str:
        """The finished parser of a record, or why a policy refuses its output."""
        try:
            return self.parsed(record)
        except MalformedOutput as error:
            return str(error)

    def _format(self, record: Record) -> tuple[WireFormat, ChatTemplate | None]:
        """The format and the template that a record is read with."""
        if self.format is not None:
            return self.format, self.template
        if record.format is None and record.template is None:
            raise BadRecord("it names no format and has no template, and none was given")
        key = _key((record.format, record.template))
        known = self._formats.get(key)
        if known is None:
            known = self._keep(self._formats, key, _own_format(record))
        return known

    def _policies(self, record: Record) -> Policies:
        """The policies for a record: its server's for extra calls, unless another was asked for."""
        own = record.extra_calls
        if own is None or self.policies.extra_calls != Policies().extra_calls:
            return self.policies
        return replace(self.policies, extra_calls=own)  # type: ignore[arg-type]

    def _read_tools(self, tools: list[Any]) -> Tools:
        """The tools of a record, read once for all records that have the same."""
        try:
            key = _key(tools)
        except ValueError:
            return Tools(tools)
        known = self._tools.get(key)
        if known is None:
            known = self._keep(self._tools, key, Tools(tools))
        return known

    @staticmethod
    def _keep(kept: dict[bytes, Any], key: bytes, value: Any) -> Any:
        """Keep a value under its key, and no more than so many."""
        if len(kept) >= KEPT:
            del kept[next(iter(kept))]
        kept[key] = value
        return value

    def _prompt(self, record: Record, template: ChatTemplate | None) -> str | list[int] | None:
        """The prompt of a record; that of its messages is rendered."""
        if record.prompt is not None or record.messages is None or template is None:
            return record.prompt
        # Whatever a record has under these names, the generation prompt is wanted.
        context = {name: one for name, one in record.context.items() if name not in GIVEN}
        return template.render(
            record.messages, tools=record.tools, add_generation_prompt=True, **context
        )

    def _unrendered(self, record: Record) -> bool:
        """Whether a record has messages that nothing renders, and so no prompt."""
        known = record.prompt is not None or not record.messages
        return not known and self._format(record)[1] is None


def in_text(record: Record, prompt: str | list[int] | None) -> tuple[str, str]:
    """Return the output of a record and its prompt, where both are text.

    Raises:
        BadRecord: one of them is in ids.
    """
    if record.text is None:
        raise BadRecord("it has token_ids only, and no vocabulary was given")
    if isinstance(prompt, list):
        raise BadRecord("its prompt is in ids, and its output in text")
    return record.text, prompt or ""


def verdict(result: Mapping[str, Any]) -> Verdict:
    """Say who a result speaks against: "parser", "model", "limit" (it was cut off), "nobody".

    The parser is that of the server, where the record has what it made of the output.
    """
    if result.get("class", "same") not in ("same", "whitespace"):
        return "parser"
    statuses = {attempt["status"] for attempt in result.get("attempts", ())}
    if statuses & ODD:
        return "model"
    return "limit" if result.get("finish_reason") == "length" else "nobody"


def _made(
    fmt: WireFormat | None,
    template: ChatTemplate | None,
    policies: Policies,
    vocabulary: Any,
    fields: Mapping[str, str],
    against: Replayer | None,
) -> Replayer:
    return Replayer(
        fmt,
        template=template,
        policies=policies,
        vocabulary=vocabulary,
        fields=fields,
        against=against,
    )


def _own_format(record: Record) -> tuple[WireFormat, ChatTemplate | None]:
    """The format that a record has itself."""
    source = record.template
    if source is not None and not isinstance(source, str):
        raise BadRecord("its template is no text")
    template = None if source is None else ChatTemplate(source)
    given = record.format
    if given is None:
        return analyze(template), template
    if isinstance(given, str):
        return get_format(given), template
    if isinstance(given, Mapping):
        import json  # few records have a format as JSON

        return WireFormat.from_json(json.dumps(given)), template
    raise BadRecord("its format is neither a name nor a format as JSON")


def _told(
    record: Record, parser: TurnParser, message: Message, *, unrendered: bool
) -> dict[str, Any]:
    """The result of a parser, but for what is compared."""
    result: dict[str, Any] = {}
    if record.model is not None:
        result["model"] = record.model
    if isinstance(record.format, str):
        result["format"] = record.format
    result["message"] = message.to_openai()
    result["finish_reason"] = parser.finish_reason
    result["attempts"] = [
        {"name": one.name, "span": one.span, "status": one.status}
        | ({"detail": one.detail} if one.detail else {})
        for one in parser.attempts
    ]
    result["issues"] = [
        {"kind": one.kind, "span": one.span, "detail": one.detail} for one in parser.issues
    ]
    if unrendered:
        result["unrendered"] = True
    return result


def _is_as_written(message: Mapping[str, Any], expected: object) -> bool:
    """Whether what was expected is the very same message, but for the ids of calls."""
    if type(expected) is not dict or "choices" in expected:
        return False
    for name in ("content", "reasoning_content"):
        if (message.get(name) or "") != (expected.get(name) or ""):
            return False
    if not expected.get("reasoning_content"):
        for name in REASONING_KEYS:
            if expected.get(name):
                return False
    calls, others = message.get("tool_calls") or (), expected.get("tool_calls") or ()
    if not calls:
        return not others and expected.get("function_call") is None
    if type(others) is not list or len(calls) != len(others):
        return False
    for one, two in zip(calls, others, strict=True):
        if type(two) is not dict or two.get("function") != one["function"]:
            return False
    return True


def _compare(result: dict[str, Any], message: Message, expected: Made) -> None:
    """Add to a result how what was expected differs."""
    found: Difference = difference(made_of(message), expected)
    result["class"] = found.kind
    if found.kind != "same":
        result["difference"] = found.to_json()


def _key(value: Any) -> bytes:
    """What is the same for equal values of JSON: cheaper than their text."""
    return marshal.dumps(value, 2)  # later versions say which values are one object
