"""Compare the servers' parsers with our formats of the same names: part of `make test-servers`.

    python tools/servers/names.py [vllm] [sglang] [NAME ...]

A server's own parser of each name reads the outputs of our format of that name. Unknown names must
be in `MISSING`, and different results in `DIFFERS`, each with a reason. So names added or changed
by a new version are detected.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib import import_module

from cases import Expected, Reader, cases_of
from stand_ins import stand_in, suffixes

import peers
from deltaparse import UsageError, WireFormat, get_format, list_formats

MISSING = {
    ("vllm", "hf"): "the tokenizer's own response template: give it to from_response_template",
    ("sglang", "response_template"): "the same",
    ("vllm", "beam"): "arguments in tags right behind a channel's header",
    ("sglang", "beam"): "the same",
    ("vllm", "inkling"): "names of functions in the headers of messages",
    ("sglang", "inkling"): "the same",
    ("vllm", "muse"): "Muse Spark: messages without a recipient are reasoning",
    ("vllm", "musespark1x"): "the same",
    ("vllm", "xlam"): "several spellings, of which each is another format: hermes, mistral, JSON",
    ("vllm", "minicpmv"): "line ends that are written as two characters",
    ("vllm", "minimax_m2_append_think"): "`minimax_m2` with its reasoning left in content",
    ("sglang", "minimax-append-think"): "the same",
}
"""Parser names without a format, by server."""

ALWAYS = "all is reasoning up to its end marker there, whatever the prompt and the request say"
ALL = ("one", "two", "thinks", "says", "before_calls")
REASONS = {
    "vLLM reads gpt-oss itself, not with the parser of that name": [
        ("vllm", "openai", ALL),
        ("vllm", "openai_gptoss", ["thinks", "says"]),
    ],
    ALWAYS: [
        ("vllm", "deepseek_r1", ["says"]),
        ("vllm", "ernie45", ["says"]),
        ("vllm", "minimax_m2", ["says"]),
        ("vllm", "step3", ALL),
        ("vllm", "step5", ["says"]),
        ("sglang", "deepseek-r1", ["says"]),
        ("sglang", "gigachat35", ["one", "two", "says", "before_calls"]),
        ("sglang", "minimax", ["says"]),
        ("sglang", "qwen3-thinking", ["says"]),
        ("sglang", "step3", ["one", "two", "says", "before_calls"]),
        ("sglang", "step3p5", ["says"]),
    ],
    "content before calls is dropped there": [
        ("vllm", "minicpm5", ["before_calls"]),
        ("vllm", "muse_glimmer", ["before_calls"]),
        ("vllm", "olmo3", ["before_calls"]),
        ("vllm", "phi4_mini_json", ["before_calls"]),
    ],
    "line ends before the start marker are not read there": [
        ("sglang", "glm45", ["thinks"]),
    ],
    "the prompt is not looked at there": [
        ("vllm", "cohere_command3", ["thinks"]),
        ("vllm", "granite", ["thinks"]),
        ("vllm", "hunyuan_a13b", ["thinks"]),
        ("vllm", "minimax_m3", ["thinks"]),
        ("vllm", "mistral", ["thinks"]),
    ],
    "a second call is an error there": [("vllm", "internlm", ["two"])],
    "values that are no strings are not read there": [("vllm", "functiongemma", ["two"])],
    "a call is not found there without `<|start|>assistant` before it": [
        ("sglang", "gpt-oss", ["one"])
    ],
}
DIFFERS = {
    (server, name, kind): reason
    for reason, places in REASONS.items()
    for server, name, kinds in places
    for kind in kinds
}
"""Different results, by server, name and kind of output, with the reason."""


def plain(read: Expected) -> tuple[str, str, list[tuple[str, object]]]:
    """Return a result as values, without surrounding whitespace and the spelling of JSON."""
    content, reasoning, calls = read
    return content.strip(), reasoning.strip(), [(name, value(text)) for name, text in calls]


def value(text: str) -> object:
    """Return the value of JSON arguments, or the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def main(arguments: list[str]) -> int:
    """Read with each parser. Return 1 if a name is unknown or has another meaning."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    servers = [one for one in peers.VERSIONS if one in arguments] or list(peers.VERSIONS)
    chosen = [one for one in arguments if one not in peers.VERSIONS]
    peers.install(tuple(servers))
    wrong = 0
    for server in servers:
        module = import_module(f"names_{server}")
        counts: Counter[str] = Counter()
        stale = set() if chosen else {key for key in (*MISSING, *DIFFERS) if key[0] == server}
        known: set[tuple[str, WireFormat | None]] = set()
        for suffix in ("", *suffixes()):
            tokenizer = stand_in(suffix=suffix)
            for name, reader in module.readers(tokenizer):
                fmt = format_of(server, name, tokenizer)
                if (chosen and name not in chosen) or (name, fmt) in known:
                    continue
                known.add((name, fmt))
                for count, key, said in differences(server, name, fmt, reader):
                    counts[count] += 1
                    stale.discard(key)
                    if said:
                        wrong += 1
                        print(said)
        for key in sorted(stale):
            wrong += 1
            print(" ".join(key), "is no longer missing or different")
        print(f"{server} {peers.VERSIONS[server]}, {len(known)} names:", dict(counts))
    return min(wrong, 1)


def format_of(server: str, name: str, tokenizer: object) -> WireFormat | None:
    """Return our format for a server's name and a tokenizer, None if there is none."""
    if (server, name) in MISSING:
        return None
    try:
        return get_format(f"{server}:{name}", tokenizer)
    except UsageError:
        return None


def differences(
    server: str, name: str, fmt: WireFormat | None, reader: Reader
) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield the result of each output of a format: the class, its key, and the error."""
    if (server, name) in MISSING:
        yield "missing", (server, name), ""
        return
    if fmt is None:
        yield "unknown", (server, name), f"{server} {name}: no format, and not in MISSING"
        return
    for case in filter(reader.reads, cases_of(own_name(fmt), fmt)):
        key, expected = (server, name, case.kind), plain(case.expected)
        try:
            found = [plain(one) for one in reader.read(case)]
        except Exception as error:  # noqa: BLE001 - an exception is a result of the peer
            found = [("", f"{type(error).__name__}: {error}", [])]
        if expected in found:
            yield "the same", (), ""
        elif key in DIFFERS:
            yield "explained", key, ""
        else:
            where = f"{' '.join(key)}, in {case.name} behind the prompt {case.prompt_kind}"
            yield "different", key, f"{where}: {case.text!r}\n   {found[0]}\n   {expected}"


def own_name(fmt: WireFormat) -> str:
    """Return the built-in name of a format."""
    return next(name for name in list_formats() if get_format(name) is fmt)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
