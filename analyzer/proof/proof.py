"""Proof of a format: render conversations other than the probes, parse the turns, compare."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product, repeat
from time import thread_time

from deltaparse.stream import WireFormat

from ..assistant_turns import Turns
from ..cache import OUT_OF_TIME
from ..format_markers import confusing
from ..phases.find_reasoning import ReasoningFinding
from ..phases.find_switches import SwitchSetting
from ..trace import phase
from .conversations import ALONE, FEW, TWO, Turn, turns_in_doubt, turns_named_so, turns_without
from .odd_names import lost_names
from .proved_turn import Shown, Wire
from .round_trip import RoundTrip, beside
from .switch_combinations import other_settings

__all__ = ["Proof", "by_cause", "prove"]

# A format is correct if the parser reads the model's output with it. The analysis does not run a
# model, but templates render past output of models. A rendered and parsed turn must therefore
# be parsed back exactly.
#
# The turns are not probes, since probes are nearly always parsed correctly. Formats fail on quotes,
# on a number among strings, on a second call, or on a call without arguments. The turns therefore
# include all of these (`conversations`). They share only the names of functions with the probes.
#
# All rendered parts must be parsed back, even if the phases missed them. Reasoning is given under
# every key templates read, and calls are given even if their syntax is unknown. Turns are rendered
# under each switch with an effect on a turn or its prompt, after the prompt under that switch, and
# both with tools and without.
#
# Correct formats must not fail because of the template's own limits:
#
# - History differs from the model's output. `expected_output` reconstructs the output.
# - Some templates render the last turn and earlier turns differently, and only one rendering
#   equals the model's output. One correct rendering is sufficient.
# - Texts exclude the format's own markers, because parsers cannot distinguish the two.
#
# Each turn is parsed with and without its end, since some servers strip the end. Parsing by
# characters takes many times as long, so it is done only for the first rendering of each turn.

MAX_SECONDS = 2.0
"""Most processor time for the proof. Real templates take 0.1 s."""

TOO_LONG = f"{OUT_OF_TIME}: more than {MAX_SECONDS} s for the proof"
OTHERWISE = "with {label}, calls are written in another way: use analyze(template, {given})"
FIRST_CALL = 6
"""Number of the first call, for numbered ids."""

MOST_SETTINGS = 6
"""Most settings from the phases, besides the first. Real templates have six."""

MOST_RENDERINGS = 160
"""Renderings after which combinations of switches are skipped."""

NOT_BACK = " did not round-trip"


@dataclass(slots=True)
class Proof:
    """The turns parsed back correctly, and the failures.

    Attributes:
        labels: the correct turns under the setting of the analysis.
        failed: descriptions of all failures.
        shown: all correct turns, under any setting.
        content: the number of conversations with proved content, for each setting.
        reasoning: the number of conversations with proved reasoning, for each setting.
        calls: the number of conversations with proved calls, for each setting.
    """

    labels: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    content: dict[str, int] = field(default_factory=dict)
    reasoning: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        turn: Turn,
        wire: Wire | None,
        problem: str,
        setting: SwitchSetting,
        *,
        tools: bool,
        first: bool,
    ) -> None:
        """Record the result of a turn. `first` is True under the setting of the analysis."""
        if problem:
            where = "" if first else f" (with {setting.label})"
            words = f"{turn.label}{NOT_BACK}{where}: {problem}"
            if turn.calls and "calls" in setting.changes and not first:
                words = OTHERWISE.format(label=setting.label, given=setting.given)
            known_failures = (words, f"{turn.label}{NOT_BACK}")
            if not any(text.startswith(known_failures) for text in self.failed):
                self.failed.append(words)
        if wire is not None:
            self.shown.append(Shown(turn, wire, tools))
            self.note(wire, setting.label + ", tools" * tools)
            shown = bool(wire.reasoning) or "reasoning" not in turn.label
            if first and shown and turn.label not in self.labels:
                self.labels.append(turn.label)

    def note(self, wire: Wire, setting: str) -> None:
        """Record the proved parts of a turn, under a setting."""
        for text, places in ((wire.content, self.content), (wire.reasoning, self.reasoning)):
            if text:
                places[setting] = places.get(setting, 0) + 1
        if wire.calls:
            self.calls[setting] = self.calls.get(setting, 0) + 1


@phase("proof")
def prove(
    turns: Turns,
    reasoning: ReasoningFinding,
    fmt: WireFormat,
    chosen: SwitchSetting,
    others: Sequence[SwitchSetting],
    lost: Sequence[str] = (),
) -> Proof:
    """Parse rendered turns with a format, under the setting of the analysis and others.

    Other settings are the given ones, then unseen switches and combinations with a different
    rendering.

    Args:
        turns: access to rendered turns, with a renderer under the setting of the analysis.
        reasoning: the reasoning found by the phases.
        fmt: the format.
        chosen: the setting of the analysis.
        others: the other settings of the phases.
        lost: the kinds of arguments the template does not render.

    Returns:
        The proof, incomplete if it takes more than `MAX_SECONDS`.
    """
    proof, start = Proof(), thread_time()
    markers = confusing(fmt)
    awkward = turns_without(markers, lost)
    if not lost:
        awkward += turns_in_doubt(markers, reasoning=fmt.derived.has_reasoning)
        awkward += turns_named_so(fmt)
    given = [beside(turn, turns.render) for turn in awkward]
    alone = () if fmt.tools.supports_parallel_calls else (ALONE,)
    few, two = (
        [turn for turn in given if turn.label in (*labels, *alone)] for labels in (FEW, TWO)
    )
    found = others[:MOST_SETTINGS]
    base = turns.render.unswitched()
    # Ids differ from the probes, so numbers in them cannot be parts of markers.
    base = base.styled(replace(base.settings.style, first=FIRST_CALL))
    known: dict[Hashable, tuple[Wire | None, str]] = {}
    rounds = chain(
        [(chosen, given)],
        zip(found, repeat(few)),
        zip(other_settings(base, [chosen, *found]), repeat(two)),
    )
    for setting, asked in rounds:
        first = asked is given
        trial = RoundTrip(turns, base.under(setting.context), reasoning, fmt, known)
        if asked is two and turns.trace.rendered["proof"] > MOST_RENDERINGS:
            break
        for tools, turn in product((False, True), asked):
            if thread_time() - start > MAX_SECONDS:
                proof.failed.append(TOO_LONG)
                return proof
            if trial.is_asked(turn, tools=tools, first=first):
                wire, problem = trial.outcome(turn, tools=tools, thorough=first)
                proof.add(turn, wire, problem, setting, tools=tools, first=first)
    if proof.calls and not lost:
        trial = RoundTrip(turns, base.under(chosen.context), reasoning, fmt, known)
        proof.failed += lost_names(trial)
    broken = {text.partition(NOT_BACK)[0] for text in proof.failed}
    came = set(proof.labels) - broken
    proof.labels = list(dict.fromkeys(turn.label for turn in given if turn.label in came))
    return proof


def by_cause(failed: Sequence[str]) -> Iterator[str]:
    """Yield the first failure for each cause, with the number of other failures."""
    alike: dict[str, list[str]] = {}
    for words in failed:
        cause = words.partition(NOT_BACK)[2].partition(", from ")[0]
        alike.setdefault(cause or words, []).append(words)
    for first, *others in alike.values():
        count = f"{len(others)} other turn{'s' * (len(others) > 1)}"
        yield f"{first} (same cause: {count})" if others else first
