"""The proof of a format: render conversations that were no probes, parse the turns, compare."""

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

# A format is right if the parser reads with it what the model writes. There is no model here, but
# the template writes down what models have written: so a turn that is rendered and parsed must
# come back, to the character.
#
# It must not be a probe. The phases would have to be very wrong for those not to come back; formats
# fail on quotes, on a number among strings, on a second call, on no argument. So the turns are as
# awkward as turns may be (`conversations`), and the only words that they share with the probes are
# the names of the functions.
#
# It must not lie. What the template shows must come back, whether or not a phase has seen it:
# reasoning is given under every key that templates read, calls are given whether or not their
# form was found, and all of it under each switch that changes a turn or its prompt, behind the
# prompt that the template makes under that switch, with tools and without.
#
# It must not ask for more than a template can show, or right formats would fail:
#
# - A history is not what was written; `wires` says what was.
# - The last turn and one in the middle differ in some templates, and only one of them is as the
#   model writes it. It is enough if one comes back.
# - What would be a marker of the format itself is left out of texts: no parser could know better.
#
# Each turn is parsed with its end and without, as servers cut it off or do not. To go through it by
# the character takes many times as long, so only the first rendering of each turn does.

MAX_SECONDS = 2.0
"""Of processor time for the proof; that of real templates takes 0.1."""

TOO_LONG = f"{OUT_OF_TIME}: more than {MAX_SECONDS} s for the proof"
OTHERWISE = (
    "with {label}, calls are written in another way: analyze(template, {given}) finds out which"
)
FIRST_CALL = 6
"""The number of the first call, in ids that have one."""

MOST_SETTINGS = 6
"""Settings beside the first that are proved as a phase found them; real templates have six."""

MOST_RENDERINGS = 160
"""Renderings for a proof beyond which no more pairs of switches are tried."""

NOT_BACK = " did not come back"


@dataclass(slots=True)
class Proof:
    """What came back, and what did not.

    `labels` are those of the turns that did, under the settings the format was found in; `failed`
    say what is wrong with the others; `shown` are all turns that came back, under any setting. The
    rest names for each part of a turn the settings under which it came back, and says in how many
    conversations.
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
        """Note what came of a turn; `first`: under the setting the format was found in."""
        if problem:
            where = "" if first else f" (with {setting.label})"
            words = f"{turn.label}{NOT_BACK}{where}: {problem}"
            if turn.calls and "calls" in setting.changes and not first:
                words = OTHERWISE.format(label=setting.label, given=setting.given)
            told = (words, f"{turn.label}{NOT_BACK}")
            if not any(text.startswith(told) for text in self.failed):
                self.failed.append(words)
        if wire is not None:
            self.shown.append(Shown(turn, wire, tools))
            self.note(wire, setting.label + ", tools" * tools)
            shown = bool(wire.reasoning) or "reasoning" not in turn.label
            if first and shown and turn.label not in self.labels:
                self.labels.append(turn.label)

    def note(self, wire: Wire, setting: str) -> None:
        """Note what came back in a turn, under a setting."""
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
    """Parse with a format what the template renders, under the setting it was found in and others.

    The renderer of `turns` has that setting; `others` are rendered in its place, and then, where
    they render something else, settings of which no phase saw a change, and pairs. `lost` is what
    of arguments the template does not show.
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
    # Other ids than those of the probes: a number in them is no part of a marker.
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
    """Yield of what a proof says is wrong the first for each cause, and how many others have it."""
    alike: dict[str, list[str]] = {}
    for words in failed:
        cause = words.partition(NOT_BACK)[2].partition(", from ")[0]
        alike.setdefault(cause or words, []).append(words)
    for first, *others in alike.values():
        count = f"{len(others)} other turn{'s' * (len(others) > 1)}"
        yield f"{first}; so it is with {count}" if others else first
