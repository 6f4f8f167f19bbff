"""Stop the engine after the first complete call.

`iter_deltas` closes the iterator of chunks. A generator that streams from a server then closes its
connection, and most servers stop the model at that.
"""

from collections.abc import Iterator

import deltaparse as dp

OUTPUT = """<tool_call>
{"name": "clock", "arguments": {"zone": "Asia/Tokyo"}}
</tool_call>
I will wait for the answer, and while I do, let me tell you about time zones. """


def generate() -> Iterator[str]:
    """Simulate an inference engine with a long response."""
    try:
        for at in range(0, len(OUTPUT), 8):
            yield OUTPUT[at : at + 8]
    finally:
        print("stopped after", at + 8, "of", len(OUTPUT), "characters")


def first_call() -> dp.ToolCall | None:
    deltas = dp.iter_deltas(generate(), "hermes")
    for delta in deltas:
        if isinstance(delta, dp.ToolCallDelta) and delta.last:
            deltas.close()
            return deltas.parser.message.tool_calls[delta.index]
    return None


if __name__ == "__main__":
    print(first_call())
