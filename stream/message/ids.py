"""Ids for calls without an id of the model's own.

An id depends on the prompt, the name and the position of the call. So the same output always gives
the same message, and two turns of a conversation do not share ids. For other ids, pass a factory to
`StreamParser`. It is called once for each call.
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

# The templates of Mistral accept only letters and digits.
ALPHABET = digits + ascii_letters
# The templates of Mistral raise an exception for ids of another length.
NINE = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlace:
    """A call without an id; the argument of an id factory.

    Attributes:
        name: name of the called function.
        index: number of the call in the turn, from 0.
        offset: start of the call in the output, in characters.
        prompt: the prompt of the parser, "" if it has none.
    """

    name: str
    index: int
    offset: int
    # Part of the id, so that two turns of a conversation do not share ids.
    prompt: str


IdFactory = Callable[[CallPlace], str]
"""A function that returns the id of a call: a non-empty string."""


def call_id(place: CallPlace) -> str:
    """Return an id like OpenAI's: `call_` and 24 hexadecimal digits.

    The same call after the same prompt always has the same id.

    Args:
        place: the call.
    """
    digest = _digest(place.name, place.index, place.offset, _key_of(place.prompt))
    return f"call_{digest.hex()}"


def mistral_call_id(place: CallPlace) -> str:
    """Return an id of nine letters and digits, as the templates of Mistral require.

    It is reproducible, like the id of `call_id`.

    Args:
        place: the call.
    """
    digest = _digest(place.name, place.index, place.offset, _key_of(place.prompt))
    return _letters(digest, NINE)


def random_call_id(place: CallPlace) -> str:  # noqa: ARG001 - an id factory
    """Return a random, unique id: `call_` and 24 hexadecimal digits.

    Use this in servers, because two requests with the same prompt must not share ids.

    Args:
        place: the call. It is ignored.
    """
    return f"call_{token_hex(12)}"


def nine_characters(given: str) -> str:
    """Derive an id of nine letters and digits from another id, the same each time.

    Args:
        given: the other id.
    """
    # 12 bytes have 96 bits, and nine characters of 62 need only 54.
    return _letters(blake2b(given.encode(errors="replace"), digest_size=12).digest(), NINE)


class ReplayedIds:
    """An id factory for a parser that reads the same output again.

    It returns the recorded ids first, then calls `factory` and records its ids.

    Args:
        factory: makes the ids beyond the recorded ones.
        made: the ids of the first reading. New ids are appended.

    Raises:
        UsageError: `factory` is not callable.
    """

    __slots__ = ("_used", "factory", "made")

    def __init__(self, factory: IdFactory, made: list[str]) -> None:
        check_id_factory(factory)
        self.factory = factory
        self.made = made
        # Counts the calls of this reading. The first reading may have had more.
        self._used = 0

    def __call__(self, place: CallPlace) -> str:
        """Return the id of the next call."""
        # A reading that goes further than the first needs new ids.
        if self._used == len(self.made):
            self.made.append(made_id(self.factory, place))
        self._used += 1
        return self.made[self._used - 1]


def check_id_factory(factory: object) -> None:
    """Raise `UsageError` if an id factory is not callable.

    Without this check the error would appear only at the first call.
    """
    if not callable(factory):
        form = "lambda place: f'call_{place.index}'"
        raise UsageError(
            f"id_factory must be a function of a CallPlace, e.g. {form}, not {factory!r:.200}"
        )


class PromptIds:
    """The ids of the calls of one turn, after one prompt.

    Attributes:
        busy: True while the factory runs. The parser must not be fed then.
        factory: makes the ids.
        prompt: the prompt of the turn.
    """

    __slots__ = ("_key", "busy", "factory", "prompt")

    def __init__(self, factory: IdFactory, prompt: str) -> None:
        self.busy = False
        self.factory = factory
        self.prompt = prompt
        # Computed for the first call, because most turns have no calls.
        self._key: bytes | None = None

    def of(self, name: str, index: int, offset: int) -> str:
        """Return the id of a call.

        Args:
            name: name of the called function.
            index: number of the call in the turn.
            offset: start of the call in the output, in characters.

        Raises:
            UsageError: as `made_id`.
        """
        # Most turns use the default factory. Here it skips the CallPlace and hashes a long prompt
        # once, not for each call.
        if self.factory is call_id:
            if self._key is None:
                self._key = _key_of(self.prompt)
            return f"call_{_digest(name, index, offset, self._key).hex()}"
        place = CallPlace(name=name, index=index, offset=offset, prompt=self.prompt)
        # A factory that feeds the parser would change the state of the call that waits for its id.
        self.busy = True
        try:
            return made_id(self.factory, place)
        finally:
            self.busy = False


def made_id(factory: IdFactory, place: CallPlace) -> str:
    """Return the id that a factory makes for a call.

    Raises:
        UsageError: the factory raised another exception, or did not return a non-empty string.
    """
    try:
        # A factory is code of the user, so its result is checked.
        made: object = factory(place)
    # Raised if the factory feeds the parser. The message already names this mistake.
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"the id factory raised {error!r} (call of {place.name!r})") from error
    # Results refer to calls by id, so an empty id would be useless.
    if not isinstance(made, str) or not made:
        raise UsageError(
            f"the id factory must return a non-empty string, not {made!r} (call of {place.name!r})"
        )
    return made


def _letters(digest: bytes, size: int) -> str:
    number, made = int.from_bytes(digest), ""
    while len(made) < size:
        number, digit = divmod(number, len(ALPHABET))
        made += ALPHABET[digit]
    return made


def _key_of(prompt: str) -> bytes:
    """Return a digest of the prompt as the key of the ids."""
    # A key of blake2b has at most 64 bytes, the size of this digest. Hashing the complete prompt
    # for each call would take quadratic time.
    return blake2b(prompt.encode(errors="replace")).digest() if prompt else b""


def _digest(name: str, index: int, offset: int, key: bytes) -> bytes:
    # NUL separates the fields, because digits could otherwise belong to either number.
    # Index and offset distinguish equal calls of one turn.
    place = f"{index}\0{offset}\0{name}\0"
    # A name may contain a lone surrogate. UTF-8 cannot encode it without `replace`.
    return blake2b(place.encode(errors="replace"), digest_size=12, key=key).digest()
