"""Constrained-decoding grammar of a turn, derived from the format that parses the turn.

    eager = [reasoning] ( calls | content | text [calls] )        lazy = calls

A lazy grammar begins at a trigger and constrains only calls, but not prose and reasoning before the
trigger. The grammar is eager if a call is required, if the content must be JSON, or if triggers
are not wanted. An eager grammar covers the whole turn from the end of the prompt. It excludes the
end-of-turn marker, since engines end a turn with a token. With required calls, content is not
allowed. Whitespace at markers is as in the template, and whitespace in JSON follows `spacing`.

With a vocabulary, special tokens in the format's markers are tokens in the grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Items
from dataclasses import dataclass, field
from typing import Any, Literal

from deltaparse.partial import UsageError
from deltaparse.stream import ContentMode, ReasoningMode, Vocabulary, WireFormat
from deltaparse.stream.request import check_flag, check_response_schema
from deltaparse.stream.tools import ToolChoice
from deltaparse.stream.wire.format_source import as_format
from deltaparse.stream.wire.spellings import leading, stripped, trailing

from ..notation.write_gbnf import XGRAMMAR, to_gbnf
from ..notation.write_lark import to_lark
from ..rules.prefixes import lead, without
from ..rules.rulebook import GrammarRules, RuleBook, Tokens
from ..rules.rules import (
    EMPTY,
    NOTHING,
    Expr,
    TextUntil,
    choice,
    is_special,
    literal,
    optional,
    seq,
    walk,
)
from ..rules.text_until import is_separate, text_until
from ..rules.work import counted_work
from ..schema.json_schema import NotExpressed, schema_rules
from ..text.json_text import COMPACT, DUMPS, EITHER, FLEXIBLE
from .call_rules import Calls
from .channel_calls import ChannelCalls
from .format_with_tokens import with_tokens
from .free_text import FreeText, headers_in_markup, is_wrapped
from .offered_tools import Tool, offered, with_sorted_names
from .triggers import Trigger, triggers
from .turn_start import Thought, TurnStart, turn_start, with_opened_pair

__all__ = ["Grammar", "JsonSpacing", "gbnf"]

JsonSpacing = Literal["flexible", "compact", "dumps", "either"]

ANY_LARK = "start: /(?s:.*)/\n"
"""A grammar of any text, because llguidance refuses an empty grammar."""

BUDGET = NotExpressed("reasoning", "max_tokens")

BY_PROMPTS = (ReasoningMode.FORCED_OPEN, ReasoningMode.FORCED_CLOSED)
"""Modes in which the prompt opens and closes reasoning."""

SPACINGS = {"flexible": FLEXIBLE, "compact": COMPACT, "dumps": DUMPS, "either": EITHER}


@dataclass(frozen=True, slots=True)
class Grammar:
    """A constrained-decoding grammar (GBNF, Lark or structural tag) for one turn.

    Attributes:
        text: the grammar as GBNF with the start rule `root`, or "" if the turn is unconstrained.
            With a vocabulary, special tokens are written as ids: `<[151657]>`.
        lazy: True if the grammar applies from one of `triggers` on, not from the start.
        triggers: the places at which a lazy grammar begins.
        preserved_tokens: markers the tokenizer must keep when it decodes.
        not_expressed: schema keywords that `text` does not enforce, each with its place, e.g.
            `get_weather#/properties/x`.
        rules: the same grammar as data, None if the turn is unconstrained.
    """

    text: str = ""
    lazy: bool = False
    triggers: tuple[Trigger, ...] = ()
    preserved_tokens: tuple[str, ...] = ()
    not_expressed: tuple[NotExpressed, ...] = ()
    rules: GrammarRules | None = field(default=None, repr=False, compare=False)

    @property
    def not_expressed_in_lark(self) -> tuple[NotExpressed, ...]:
        """`not_expressed` for `as_lark`, without the reasoning budget if llguidance counts it."""
        return self._without_counted_budget(lambda text: is_special(text.marker[0]))

    @property
    def not_expressed_in_tag(self) -> tuple[NotExpressed, ...]:
        """`not_expressed` for `as_tag`, without the reasoning budget if xgrammar counts it."""
        return self._without_counted_budget(is_separate)

    def as_lark(self) -> str:
        """Return the grammar in llguidance's dialect of Lark (any text if unconstrained)."""
        return to_lark(self.rules) if self.rules else ANY_LARK

    def as_tag(self) -> dict[str, Any]:
        """Return the grammar as a structural tag for xgrammar (any text if unconstrained)."""
        made = {"type": "any_text"}
        if self.rules:
            made = {"type": "grammar", "grammar": to_gbnf(self.rules, XGRAMMAR)}
        return {"type": "structural_tag", "format": made}

    def _without_counted_budget(
        self, counts: Callable[[TextUntil], bool]
    ) -> tuple[NotExpressed, ...]:
        """Return `not_expressed`, without the budget if `counts` accepts every such text."""
        rules = self.rules.rules.values() if self.rules else ()
        parts = (part for body in rules for part in walk(body))
        counted = [
            counts(part) for part in parts if isinstance(part, TextUntil) and part.most_tokens
        ]
        held = bool(counted) and all(counted)
        return tuple(one for one in self.not_expressed if not (held and one == BUDGET))


@counted_work()
def gbnf(
    fmt: WireFormat | str,
    tools: Items[Mapping[str, Any]] | None,
    *,
    tool_choice: ToolChoice = "auto",
    parallel_tool_calls: bool = True,
    response_schema: Mapping[str, Any] | None = None,
    prompt: str = "",
    reasoning: Literal["include", "exclude"] = "include",
    spacing: JsonSpacing = "flexible",
    vocabulary: Vocabulary | None = None,
    lazy: bool = True,
    reasoning_budget: int | None = None,
) -> Grammar:
    """Return the grammar of turns in a format, with valid calls of the given tools.

    `StreamParser` parses any text of this grammar into calls with valid arguments, except for the
    keywords in `not_expressed`. The arguments before `reasoning` are those of `StreamParser`.

    Args:
        fmt: the wire format, or the name of a built-in format.
        tools: the tools of the request, in any shape `Tools` reads, or `Tools`.
        tool_choice: "auto" returns a lazy grammar; "required", or a tool choice object, an eager
            one. With "none", only a `response_schema` is constrained.
        parallel_tool_calls: False to allow at most one call.
        response_schema: the JSON Schema of the content. The grammar is then eager, and with "auto"
            the model chooses between content and calls. In formats with unmarked calls, JSON is
            then content, as it is for the parser.
        prompt: the rendered prompt or its end, which may have opened or closed reasoning (default:
            the format's own generation prompt).
        reasoning: "include" puts the model's reasoning into the grammar, and ignores triggers
            within it; "exclude" constrains only the text after reasoning.
        spacing: the whitespace in JSON: "flexible" (a space, or a new line and indentation, at any
            place), "compact" (without whitespace), "dumps" (as in `json.dumps`) or "either" of the
            last two.
        vocabulary: the model's tokens. The model writes special tokens in markers as tokens, and a
            grammar of characters does not accept them.
        lazy: False returns an eager grammar with "auto" too, of text without calls and then
            optional calls. Use it for engines without triggers.
        reasoning_budget: the most tokens of reasoning. xgrammar counts them, and llguidance does if
            a vocabulary is given and the end of reasoning is one special token. GBNF cannot, so
            `not_expressed` lists it. `not_expressed_in_lark` and `not_expressed_in_tag` list it
            only if it is not counted there either.

    Returns:
        The grammar, with its triggers and the schema keywords it does not enforce.

    Raises:
        UsageError: an argument is invalid, or a call is required of a format without calls. A tool
            has an invalid schema, one without valid values or with too much work, or a name the
            format cannot write. The message names the tool and the place.
    """
    if spacing not in SPACINGS or reasoning not in ("include", "exclude"):
        raise UsageError(
            f"spacing must be one of {', '.join(SPACINGS)}, and reasoning 'include' or 'exclude',"
            f" not {spacing!r} and {reasoning!r}"
        )
    fmt = as_format(fmt)
    check_flag("parallel_tool_calls", parallel_tool_calls)
    check_flag("lazy", lazy)
    if reasoning_budget is not None and not (
        type(reasoning_budget) is int and reasoning_budget > 0
    ):
        raise UsageError(
            f"reasoning_budget must be a positive number of tokens, not {reasoning_budget!r}"
        )
    if response_schema is not None:
        check_response_schema(response_schema)
    found, asked = offered(tools, tool_choice)
    fmt, prompt, tokens = with_tokens(fmt, prompt, vocabulary)
    derived = fmt.derived
    forced = asked.mode == "required"
    if forced and not derived.has_calls:
        raise UsageError("a call is required, but the format has no tool-call syntax")
    if response_schema is not None and derived.unmarked_calls and not forced:
        found = []
    pairs = fmt.reasoning.pairs
    fmt = with_opened_pair(fmt, prompt)
    start = turn_start(fmt, prompt, reasons=reasoning == "include")
    offers = found if derived.has_calls else []
    if fmt.arguments.sorted_names:
        offers = [with_sorted_names(tool) for tool in offers]
    turn = _TurnRules(fmt, offers, start, spacing, parallel_tool_calls, tokens)
    turn.known_pairs = pairs
    if start.thought is Thought.POSSIBLE:
        turn.pairs = pairs
    reasons = derived.has_reasoning or bool(fmt.channels.reasoning)
    if reasoning_budget is not None and reasons and reasoning == "include":
        turn.budget = turn.channels.budget = reasoning_budget
        turn.not_expressed.append(BUDGET)
    if forced or response_schema is not None:
        return turn.grammar(turn.whole(response_schema if not forced else None))
    if not turn.tools:
        return Grammar(preserved_tokens=_markers(fmt, tokens))
    if not lazy:
        return turn.grammar(turn.free())
    return turn.grammar(turn.from_trigger(), triggers(fmt, turn.tools, start, tokens))


class _TurnRules:
    """Builds the rules of one turn. `not_expressed` collects the unexpressed schema keywords."""

    def __init__(
        self,
        fmt: WireFormat,
        tools: Items[Tool],
        start: TurnStart,
        spacing: JsonSpacing,
        parallel: bool,
        tokens: Tokens,
    ) -> None:
        self.fmt = fmt
        self.tools = tools
        self.start = start
        self.parallel = parallel
        self.tokens = tokens
        self.spacing = SPACINGS[spacing]
        self.rules = RuleBook(tokens)
        self.calls = Calls(fmt, tools, self.rules, self.spacing)
        own = fmt.derived.calls_in_messages
        body = self.calls.of if own else self.calls.arguments.json
        self.channels = ChannelCalls(fmt, tools, self.rules, body)
        self.known_pairs = fmt.reasoning.pairs
        self.pairs = (fmt.reasoning.pairs[:1]) if fmt.derived.has_reasoning else ()
        self.budget: int | None = None
        self.not_expressed: list[NotExpressed] = [
            NotExpressed(f"{tool.name}#", "strict") for tool in tools if not tool.strict
        ]

    def whole(self, response_schema: Mapping[str, Any] | None) -> Expr:
        """Return the turn from its start: calls, or content if a schema is given."""
        ways = []
        if response_schema is not None:
            ways.append(self._content(response_schema))
        if self.tools:
            calls = self._calls()
            rest = without(self.start.written.lstrip(), calls, self.rules.rules)
            ways.append(calls if rest == NOTHING else rest)
            gap = self.fmt.tools.content_separator
            if gap and rest == calls:
                ways.append(lead(gap, calls, self.rules))
            content = self.fmt.content
            if content.mode is ContentMode.WRAPPED_WITH_CALLS:
                ways.append(lead(content.start + content.end, calls, self.rules))
            elif self._always_wrapped:
                # Some templates write empty content in its markers before calls, or put the markers
                # around calls.
                ways.append(lead(content.start + content.end, calls, self.rules))
                within = seq(lead(content.start, calls, self.rules), literal(content.end))
                ways.append(within)
            elif content.mode is ContentMode.PLAIN and rest == calls:
                ways.append(lead(content.start, calls, self.rules))
        return self._after_reasoning(choice(*ways))

    def free(self) -> Expr:
        """Return the turn from its start: text, and optional calls."""
        if self.fmt.derived.has_channels:
            return self.channels.free(self._calls())
        calls, code = self._own_calls(), self.calls.code()
        marks = [mark for pair in self.known_pairs for mark in pair]
        text = FreeText(self.fmt, self.tools, self.rules, calls, code, marks)
        return self._after_reasoning(text.turn(self.start), gap="")

    def from_trigger(self) -> Expr:
        """Return the text from a trigger on: calls, without the whitespace before them."""
        calls = self._calls()
        code = self.calls.code()
        own = without(leading(self.fmt.code.start), code, self.rules.rules)
        space = leading("".join(self.fmt.derived.openers))
        ways = [without(space, calls if code == EMPTY else self._own_calls(), self.rules.rules)]
        ways += [own] if code != EMPTY else []
        rest = without(self.start.written.lstrip(), calls, self.rules.rules)
        if self.start.written.strip() and rest != NOTHING:
            ways.append(rest)
        if self._always_wrapped:
            # A content marker opened before the trigger may be closed after the calls.
            return seq(choice(*ways), optional(literal(self.fmt.content.end)))
        return choice(*ways)

    @property
    def _always_wrapped(self) -> bool:
        """True if content is always in markers, and calls therefore may be too."""
        content = self.fmt.content
        return content.mode is ContentMode.ALWAYS_WRAPPED and bool(content.end.strip())

    def grammar(self, root: Expr, found: tuple[Trigger, ...] = ()) -> Grammar:
        """Return the grammar of a root expression."""
        rules = self.rules.grammar(root)
        return Grammar(
            text=to_gbnf(rules),
            lazy=bool(found),
            triggers=found,
            preserved_tokens=_markers(self.fmt, self.tokens),
            not_expressed=(*self.not_expressed, *self.calls.arguments.not_expressed),
            rules=rules,
        )

    def _calls(self) -> Expr:
        code = self.calls.code()
        own = self._own_calls()
        return own if code == EMPTY else choice(own, code)

    def _own_calls(self) -> Expr:
        if self.fmt.derived.has_channels:
            return self.channels.text(parallel=self.parallel)
        return self.calls.text(parallel=self.parallel)

    def _content(self, schema: Mapping[str, Any]) -> Expr:
        try:
            made = schema_rules(schema, name="answer", spacing=self.spacing, rules=self.rules)
        except UsageError as error:
            raise UsageError(f"response_schema: {error}") from None
        self.not_expressed += made.not_expressed
        if self.fmt.derived.has_channels:
            return self.channels.content(made.value)
        content = self.fmt.content
        if not is_wrapped(self.fmt, self.start) or self.start.written.strip().endswith(
            content.start.strip()
        ):
            return made.value
        return seq(literal(content.start), made.value, literal(content.end))

    def _after_reasoning(self, rest: Expr, gap: str | None = None) -> Expr:
        """Put reasoning and `gap` (default: the template's whitespace) before the rest."""
        if self.fmt.derived.has_channels:
            return seq(self.channels.reasoning(), rest)
        if self.start.thought is Thought.NONE:
            return rest
        # Of two ends for one start, only the usual one is offered: a lexer takes both for one text.
        pairs = dict(reversed(self.pairs))
        ways = [self._section(start, end, rest, gap) for start, end in pairs.items()]
        if self.start.thought is Thought.OPEN:
            return choice(*ways)
        if self.fmt.reasoning.mode in BY_PROMPTS:
            # As in a prompt, the end marker alone means empty reasoning.
            _, end = self.pairs[0]
            ways.append(lead(end.strip() + _between(end, gap), rest, self.rules))
        return choice(*ways, rest)

    def _section(self, start: str, end: str, rest: Expr, gap: str | None) -> Expr:
        """Return reasoning between two markers, and the rest after it."""
        fmt = self.fmt
        # Calls in reasoning are drafts, and text after the end of the turn is dropped. Reasoning
        # cannot be opened twice, or be closed by another end marker.
        ends = [other for opener, other in self.known_pairs if opener.strip() == start.strip()]
        begun = (start, *headers_in_markup(fmt))
        cores = stripped((*fmt.derived.openers, fmt.code.start, *fmt.turn.ends, *begun, *ends))
        if fmt.derived.next_ends_reasoning:
            nexts = dict.fromkeys([end.strip(), *stripped(fmt.derived.openers[:1])])
            behind = {core: without(core, rest, self.rules.rules) for core in nexts}
        else:
            behind = {end.strip(): lead(_between(end, gap), rest, self.rules)}
        ways = []
        for core, following in behind.items():
            others = sorted(
                (cores | behind.keys()) - {one for one in cores if one in core} - {core}
            )
            text = text_until(core, *others, most_tokens=self.budget)
            ways.append(seq(text, following))
        section = choice(*ways)
        if self.start.thought is Thought.OPEN:
            return section
        return lead(start, section, self.rules)


def _between(end: str, gap: str | None) -> str:
    """Return the whitespace after the end of reasoning: `gap`, or the template's."""
    return trailing(end) if gap is None else gap


def _markers(fmt: WireFormat, tokens: Tokens) -> tuple[str, ...]:
    """List the markers that decoding must keep: the format's own, and call markers."""
    tools, reasoning = fmt.tools, fmt.reasoning
    texts = (
        reasoning.start,
        reasoning.end,
        tools.section_start,
        tools.section_end,
        tools.per_call_start,
        tools.per_call_end,
        fmt.channels.message,
    )
    found = (*fmt.preserved_tokens, *(text.strip() for text in texts))
    spelled = GrammarRules({}, tokens).spelled
    return tuple(dict.fromkeys(spelled(text) for text in found if text))
