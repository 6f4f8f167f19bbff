"""What models write, as texts to repeat: prose, Markdown with code, a source file, objects."""

from __future__ import annotations

import json

__all__ = ["BEGINNINGS", "ITEM", "MARKDOWN", "PROSE", "SOURCE", "escaped"]

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
"""Text full of beginnings of markers."""

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

ITEM = '{"a": 1, "b": [true, null, "x"], "c": {"d": 1.5}}, '
"""A small object: 50 characters, most of them syntax."""


def escaped(text: str) -> str:
    """Return the text as it stands in a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
