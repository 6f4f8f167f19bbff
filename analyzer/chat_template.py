"""The chat template of a model, with the operations that need its wire format.

`ChatTemplate` is a layer above the analysis. `JinjaTemplate`, used by the analysis, is a layer
below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream.message.message import Message as ParsedMessage

from .next_prompt import Bridge, find_bridge
from .template.jinja_template import JinjaTemplate

__all__ = ["ChatTemplate"]


class ChatTemplate(JinjaTemplate):
    """A compiled Jinja chat template.

    It renders the same text as transformers. It also accepts some input on which transformers
    fails:

    - The `arguments` of a tool call can be an object or JSON text. The template receives the form
      in `arguments_shape`. Truncated JSON is completed. Missing arguments and arguments other than
      objects are replaced by an empty object.
    - Optional members of tools that the template requires are added: an empty description of a
      tool or argument, and an empty object schema.
    - `tojson` writes any iterable as a list.
    - A template can `append` to and `pop` from lists that it created itself.
    - `functions` and `datetime` have defaults if the template reads them: the tools as JSON text
      ("" without tools), and the time of day. If the template reads parts of `functions`, it
      receives a list.

    Jinja's `lipsum` and the string method `encode` are not available.

    Templates are equal, and have equal hashes, if their source and tokens are equal.

    Attributes:
        source: the Jinja source.
        bos_token: the token at the beginning of a text, or "".
        eos_token: the token at the end of a text, or "".
        limits: limits on processor time, memory and nesting of each rendering.
        added_tokens: tokens that the tokenizer adds to its base vocabulary, if known.

    Raises:
        TemplateError: `source` does not compile.
        UsageError: an argument has the wrong type.
    """

    def bridge(
        self,
        /,
        output: str,
        new_messages: Sequence[Mapping[str, Any] | ParsedMessage],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        messages: Sequence[Mapping[str, Any] | ParsedMessage] | None = None,
        **switches: Any,
    ) -> str | None:
        """Return the text to append to a prompt and its output to get the next prompt.

        The text consists of the end of the turn (if the output lacks it), the new messages and the
        next generation prompt. The output is never rendered again, so its tokens do not change.

        Args:
            output: the sampled text, with or without its end-of-turn marker.
            new_messages: the messages after the output: tool results or a user message.
            tools: the tools of the prompt.
            messages: the conversation of the prompt. If given, the proof covers only this
                conversation. Default: the proof covers any conversation.
            switches: the template variables of the prompt.

        Returns:
            The text, or None if it is not proved to be independent of the output. `why_no_bridge`
            returns the reason.

        Raises:
            UsageError: an argument has the wrong type.
        """
        return self._bridge(output, new_messages, tools, messages, switches).text

    def why_no_bridge(
        self,
        /,
        output: str,
        new_messages: Sequence[Mapping[str, Any] | ParsedMessage],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        messages: Sequence[Mapping[str, Any] | ParsedMessage] | None = None,
        **switches: Any,
    ) -> str:
        """Return the reason why `bridge` returns None for these arguments, or ""."""
        return self._bridge(output, new_messages, tools, messages, switches).reason

    def _bridge(
        self, output: str, new: Any, tools: Any, messages: Any, switches: Mapping[str, Any]
    ) -> Bridge:

        if "add_generation_prompt" in switches:
            raise UsageError(
                "add_generation_prompt is not allowed here: a bridge always ends with the "
                "generation prompt"
            )
        return find_bridge(self, output, new, tools=tools, messages=messages, switches=switches)
