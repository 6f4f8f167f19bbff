"""Typical outputs of models, for repetition: prose, Markdown with code, a source file, objects."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["BEGINNINGS", "MARKDOWN", "OBJECTS", "PROSE", "SOURCE", "escaped", "listed"]

PROSE = """\
The clocks were striking thirteen, and the wind blew grit along the pavement. "Is it far?" asked
Julia. It wasn't — two stops on the tram, then a short walk (ten minutes at most) past the brewery.

Three things matter here: the rent, which is €640 a month; the light, from the south and west; and
the neighbours, who are quiet. I'd look at the second flat first. It's smaller, but nothing in it
needs repair, and the landlord – a Mrs. Größler – lives in the house. Does that help, or shall I go
on?

"""

MARKDOWN = """\
Here is how to do it. A `Map<K, V>` keeps the order, so this is enough:

```ts
export function group<T>(items: T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (let i = 0; i < items.length; i++) {
    const name = key(items[i]);
    if (!groups.has(name)) { groups.set(name, []); }
    groups.get(name)!.push(items[i]);
  }
  return groups;
}
```

And in the page: `<ul id="list"><li>{item}</li></ul>`, or `<ul></ul>` when a < 1 && b << 2.

"""

BEGINNINGS = "if (a < b && c <d> e) { <call } "
"""Text with many possible marker prefixes."""

SOURCE = '''\
"""Reads the log of a day; prints who came, and how often."""

import re
import sys

LINE = re.compile(r"^(\\d{4}-\\d\\d-\\d\\d)\\s+\\"(\\w+)\\"\\t(.*)$")
NAMES = {"zoë": "Zoë Grünwald", "lí": "李明", "o'neil": 'Pat "Patsy" O\\'Neil'}


def visits(path: str, *, limit: int = 10) -> dict[str, int]:
    """How often each visitor came, most often first."""
    found: dict[str, int] = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            match = LINE.match(line.rstrip("\\r\\n"))
            if match is None:
                print(f"{path}:{number}: no visit: {line!r}", file=sys.stderr)
                continue
            name = NAMES.get(match[2], match[2])
            found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items(), key=lambda pair: -pair[1])[:limit])


if __name__ == "__main__" and len(sys.argv) > 1:
    for name, count in visits(sys.argv[1]).items():
        print(f"{name}\\t{count if count < 100 else '100+'}\\n", end="")

'''

KEYS = ("id", "name", "type", "path", "query", "created", "tags", "user", "city", "count", "lat")
WORDS = tuple(dict.fromkeys(re.findall(r"\w{2,}", PROSE + MARKDOWN)))
LARGE = 64_000


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.random()
    if depth and kind < 0.2:
        return {chance.choice(KEYS): _value(chance, depth - 1) for _ in range(chance.randint(1, 4))}
    if depth and kind < 0.35:
        return [_value(chance, depth - 1) for _ in range(chance.randint(0, 4))]
    if kind < 0.55:
        return chance.choice([chance.randint(-9, 10_000), round(chance.uniform(-90, 90), 2)])
    if kind < 0.7:
        return chance.choice([True, False, None])
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))


def _objects(size: int) -> list[dict[str, Any]]:
    """Return the same pseudorandom objects each time, whose JSON has about `size` characters."""
    chance, objects, length = random.Random(1), list[dict[str, Any]](), 0
    while length < size:
        objects.append({key: _value(chance, 2) for key in chance.sample(KEYS, 3)})
        length += len(json.dumps(objects[-1])) + 2
    return objects


OBJECTS = _objects(LARGE)
"""Objects with changing names, numbers and words. Without repetition, a reader cannot profit from a
cache of earlier input.
"""


def listed(objects: Iterable[Any], spell: Callable[[Any], str] = json.dumps) -> str:
    """Return objects as the items of a list, each followed by a comma."""
    return "".join(f"{spell(each)}, " for each in objects)


def escaped(text: str) -> str:
    """Return the text as the inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
