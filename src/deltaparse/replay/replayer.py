"""The replay function: parse a recorded output again and compare the results.

It is a picklable callable, so that processes and machines can share the work. Formats and tools
are cached for later records.
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
from deltaparse.stream.wire.format_source import FormatGiven, as_format

from .classes import Difference, difference
from .expected import Made, made_of, read_expected
from .log_schemas import Mapped
from .record_choices import by_choice
from .records import BadRecord, Record, plain_id, read_record

__all__ = ["Replayer", "Verdict", "in_text", "verdict"]

Verdict = str

KEPT = 256
"""Size of each cache of formats and tools."""

GIVEN = frozenset(("messages", "tools", "add_generation_prompt"))

ODD = frozenset(("broken", "unknown_tool", "repaired", "not_a_call"))
"""Statuses of malformed calls, which are faults of the model."""


class Replayer:
    """Callable that parses a record again and returns a JSON-serializable result.

        replayer = Replayer(get_format("hermes"))
        replayer({"id": 1, "text": "...", "expected": {...}})["class"]

    No record raises an exception. The result of an unreadable record has an `error` and no message.

    Args:
        fmt: the format of the outputs, or the name of a format. If omitted, each record needs a
            `format` (a name, or a format as JSON) or a `template` (its source).
        template: the chat template for records with `messages`. Without `fmt`, the format is
            derived from it.
        policies: the handling of malformed output.
        vocabulary: decodes `token_ids`: a `Vocabulary`, or an argument of `Vocabulary.load`.
        fields: paths of record fields, such as `{"text": "response.raw"}`.
        against: another replayer. Its messages replace the expected ones.

    Raises:
        UsageError: an argument is invalid.
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
        """Return the result of a record, or of its first choice.

        Args:
            record: the record.
            number: the id of a record without an id.
        """
        return self.each(record, number)[0]

    def each(self, record: object, number: int = 0) -> list[dict[str, Any]]:
        """Return the result of each choice of a record, or one result if it has no choices."""
        try:
            outputs = self.outputs(record)
        except Exception as error:  # noqa: BLE001 - as in _replayed
            return [{"id": number, "error": f"internal error: {error!r}"}]
        return [self._replayed(one, number) for one in outputs]

    def outputs(self, record: object) -> list[object]:
        """Split a record into one record per output, with all fields at their standard places."""
        if isinstance(record, list) and record and all(isinstance(one, Mapping) for one in record):
            # Some engines return several choices as a list of responses.
            found = [one for each in record for one in self.outputs(each)]
            return [{"choice": at, **one} for at, one in enumerate(found)]  # type: ignore[dict-item]
        mapped = self.mapped(record)
        return [*by_choice(mapped)] if isinstance(mapped, Mapping) else [mapped]

    def _replayed(self, record: object, number: int) -> dict[str, Any]:
        """Return the result of an output with all fields at their standard places."""
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
        except Exception as error:  # noqa: BLE001 - a bug must not stop the other records
            made = {"error": f"internal error: {error!r}"}
        return head | made

    def in_place(self) -> Replayer:
        """Return a copy without field paths, for records with fields at their standard places."""
        against = None if self.against is None else self.against.in_place()
        return _made(self.format, self.template, self.policies, self.source, {}, against)

    def parsed(self, record: Record, chunks: list[str] | None = None) -> TurnParser:
        """Parse a record and return the finished parser.

        Args:
            record: the record.
            chunks: the chunks to feed (default: the complete output at once).

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
        """Return the format, the prompt and the other parser arguments for a record.

        Raises:
            DeltaParseError: the record has no format, or an invalid field.
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
        """Return the result of a record, compared with its expected message."""
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
        """Return the result of a record, compared with the result of the other replayer."""
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
        """Return the finished parser of a record, or the message of a policy error."""
        try:
            return self.parsed(record)
        except MalformedOutput as error:
            return str(error)

    def _format(self, record: Record) -> tuple[WireFormat, ChatTemplate | None]:
        """Return the format and the template for a record."""
        if self.format is not None:
            return self.format, self.template
        if record.format is None and record.template is None:
            raise BadRecord("no format was given, and the record has no format and no template")
        key = _key((record.format, record.template))
        known = self._formats.get(key)
        if known is None:
            known = self._keep(self._formats, key, _own_format(record))
        return known

    def _policies(self, record: Record) -> Policies:
        """Return the policies for a record, with its server's policy for extra calls.

        An explicit `extra_calls` policy of the replayer takes precedence.
        """
        own = record.extra_calls
        if own is None or self.policies.extra_calls != Policies().extra_calls:
            return self.policies
        return replace(self.policies, extra_calls=own)  # type: ignore[arg-type]

    def _read_tools(self, tools: list[Any]) -> Tools:
        """Return the parsed tools of a record, cached for records with equal tools."""
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
        """Cache a value and evict the oldest one if the cache is full."""
        if len(kept) >= KEPT:
            del kept[next(iter(kept))]
        kept[key] = value
        return value

    def _prompt(self, record: Record, template: ChatTemplate | None) -> str | list[int] | None:
        """Return the prompt of a record, rendered from its messages if necessary."""
        if record.prompt is not None or record.messages is None or template is None:
            return record.prompt
        # A record must not override these arguments: a replay needs the generation prompt.
        context = {name: one for name, one in record.context.items() if name not in GIVEN}
        return template.render(
            record.messages, tools=record.tools, add_generation_prompt=True, **context
        )

    def _unrendered(self, record: Record) -> bool:
        """Return True if a record has messages, but no prompt and no template to render one."""
        known = record.prompt is not None or not record.messages
        return not known and self._format(record)[1] is None


def in_text(record: Record, prompt: str | list[int] | None) -> tuple[str, str]:
    """Return the output and the prompt of a record as text.

    Raises:
        BadRecord: the output or the prompt consists of token ids.
    """
    if record.text is None:
        raise BadRecord("the record has only token_ids, so a vocabulary is required")
    if isinstance(prompt, list):
        raise BadRecord("the prompt has token ids, but the output is text (both must be text)")
    return record.text, prompt or ""


def verdict(result: Mapping[str, Any]) -> Verdict:
    """Attribute a result to the parser, the model or the token limit.

    Returns:
        "parser" if the server's message differs, "model" for a malformed call, "limit" for a
        truncated output, and "nobody" otherwise.
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
    """Return the format and the template in a record."""
    source = record.template
    if source is not None and not isinstance(source, str):
        raise BadRecord("template must be text")
    template = None if source is None else ChatTemplate(source)
    given = record.format
    if given is None:
        return analyze(template), template
    if isinstance(given, str):
        return get_format(given), template
    if isinstance(given, Mapping):
        import json  # lazy: few records contain a format as JSON

        return WireFormat.from_json(json.dumps(given)), template
    raise BadRecord("format must be the name of a format, or a format as JSON")


def _told(
    record: Record, parser: TurnParser, message: Message, *, unrendered: bool
) -> dict[str, Any]:
    """Return the result of a parser without a comparison."""
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
    """Return True if the expected message is identical except for call ids.

    This is a fast path: most records are equal, and need no detailed comparison.
    """
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
    """Add the difference to the expected message to a result."""
    found: Difference = difference(made_of(message), expected)
    result["class"] = found.kind
    if found.kind != "same":
        result["difference"] = found.to_json()


def _key(value: Any) -> bytes:
    """Return equal bytes for equal JSON values. This is faster than JSON text."""
    return marshal.dumps(value, 2)  # later versions depend on the identity of objects
