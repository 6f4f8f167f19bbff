"""Ids for calls that the model wrote without one.

They are a function of the prompt and of the call's place, so that the same output always gives
the same message, and two turns of a conversation do not share ids. Whoever wants others passes
a factory of their own to `StreamParser`; it is asked once for each call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from secrets import token_hex
from string import ascii_letters, digits

from deltaparse.partial import UsageError

__all__ = [
    "CallPlace",
    "IdFactory",
    "PromptIds",
    "ReplayedIds",
    "call_id",
    "check_id_factory",
    "mistral_call_id",
    "nine_characters",
    "random_call_id",
]

ALPHABET = digits + ascii_letters
NINE = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlace:
    """A call that needs an id: the argument of an id factory.

    `index` counts the calls of the turn from 0; `offset` is where the call begins in the output, in
    characters; `prompt` is that of the parser, "" without one.
    """

    name: str
    index: int
    offset: int
    prompt: str


IdFactory = Callable[[CallPlace], str]
"""A function that makes the id of a call: text that is not empty."""


def call_id(place: CallPlace) -> str:
    """Make an id that looks like OpenAI's: `call_` and 24 hexadecimal digits.

    The same call of the same output, behind the same prompt, has the same id each time.
    """
    digest = _digest(place.name, place.index, place.offset, _key_of(place.prompt))
    return f"call_{digest.hex()}"


def mistral_call_id(place: CallPlace) -> str:
    """Make an id of nine letters and digits: Mistral's templates take no others.

    It is as reproducible as that of `call_id`.
    """
    digest = _digest(place.name, place.index, place.offset, _key_of(place.prompt))
    return _letters(digest, NINE)


def random_call_id(place: CallPlace) -> str:  # noqa: ARG001 - an id factory
    """Make an id that no other call has, in the form of `call_id`: what servers want.

    There, two requests with one prompt must not share ids.
    """
    return f"call_{token_hex(12)}"


def nine_characters(given: str) -> str:
    """Make an id of nine letters and digits of another id, the same each time."""
    return _letters(blake2b(given.encode(errors="replace"), digest_size=12).digest(), NINE)


class ReplayedIds:
    """An id factory that remembers what it made, for a parser that reads the same once more.

    `made` are the ids of a first reading, which come again before `factory` is asked.
    """

    __slots__ = ("_used", "factory", "made")

    def __init__(self, factory: IdFactory, made: list[str]) -> None:
        check_id_factory(factory)
        self.factory = factory
        self.made = made
        self._used = 0

    def __call__(self, place: CallPlace) -> str:
        """Return the id of the next call."""
        if self._used == len(self.made):
            self.made.append(made_id(self.factory, place))
        self._used += 1
        return self.made[self._used - 1]


def check_id_factory(factory: object) -> None:
    """Raise `UsageError` for what cannot make ids: a mistake that would show at the first call."""
    if not callable(factory):
        form = "lambda place: f'call_{place.index}'"
        raise UsageError(f"id_factory is a function of a CallPlace, {form}, not {factory!r:.200}")


class PromptIds:
    """Makes the ids of the calls of one turn, behind a prompt, which it hashes once."""

    __slots__ = ("_key", "busy", "factory", "prompt")

    def __init__(self, factory: IdFactory, prompt: str) -> None:
        # Whether the factory is at work: then the parser must not be fed.
        self.busy = False
        self.factory = factory
        self.prompt = prompt
        self._key: bytes | None = None

    def of(self, name: str, index: int, offset: int) -> str:
        """Return the id that the factory makes for the call in a place.

        Raises:
            UsageError: as `made_id`.
        """
        if self.factory is call_id:
            if self._key is None:
                self._key = _key_of(self.prompt)
            return f"call_{_digest(name, index, offset, self._key).hex()}"
        place = CallPlace(name=name, index=index, offset=offset, prompt=self.prompt)
        self.busy = True
        try:
            return made_id(self.factory, place)
        finally:
            self.busy = False


def made_id(factory: IdFactory, place: CallPlace) -> str:
    """Return the id that a factory makes.

    Raises:
        UsageError: it raised something else, or it made no text.
    """
    try:
        made: object = factory(place)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"the id factory raised {error!r} for {place.name!r}") from error
    if not isinstance(made, str) or not made:
        raise UsageError(f"the id factory returned {made!r} for {place.name!r}: an id is text")
    return made


def _letters(digest: bytes, size: int) -> str:
    number, made = int.from_bytes(digest), ""
    while len(made) < size:
        number, digit = divmod(number, len(ALPHABET))
        made += ALPHABET[digit]
    return made


def _key_of(prompt: str) -> bytes:
    """What stands for a prompt in ids: to hash all of it for each call would not be linear."""
    return blake2b(prompt.encode(errors="replace")).digest() if prompt else b""


def _digest(name: str, index: int, offset: int, key: bytes) -> bytes:
    place = f"{index}\0{offset}\0{name}\0"
    return blake2b(place.encode(errors="replace"), digest_size=12, key=key).digest()
