"""What a parser costs: characters that it looks at, and bytes that it keeps. No clock."""

from __future__ import annotations

import gc
import tracemalloc

from deltaparse.partial import JsonLexer, Markers, Pattern, Window


def counted(monkeypatch):
    """Begin to count; return the list of all counts, which the test sums up and clears.

    Counted are the characters that are searched, scanned, kept in a window or put together again.
    """
    seen = []
    find, scan, look = Markers.find, JsonLexer.scan, Pattern._look
    feed, text_since = Window.feed, Window.text_since

    def counted_find(self, text, pos=0, *, final=False):
        start, end = find(self, text, pos, final=final)
        # From where nothing was found, the search went on to the end.
        seen.append((end if end > start else len(text)) - pos)
        return start, end

    def counted_scan(self, text, pos=0, *, final=False):
        end = scan(self, text, pos, final=final)
        seen.append(end - pos + 1)
        return end

    def counted_look(self, text, pos, final, *, anchored):
        seen.append(len(text))
        return look(self, text, pos, final, anchored=anchored)

    def counted_feed(self, text):
        feed(self, text)
        seen.append(len(self.text))

    def counted_since(self, mark, *, prompt=False):
        text = text_since(self, mark, prompt=prompt)
        seen.append(len(text))
        return text

    monkeypatch.setattr(Markers, "find", counted_find)
    monkeypatch.setattr(JsonLexer, "scan", counted_scan)
    monkeypatch.setattr(Pattern, "_look", counted_look)
    monkeypatch.setattr(Window, "feed", counted_feed)
    monkeypatch.setattr(Window, "text_since", counted_since)
    return seen


def is_linear(work, read, *texts):
    """Whether a character of each text costs `read` no more than one of the first.

    `work` is what `counted` returned. The first must be longer than what may be held back: the
    cost of a character grows up to there.
    """
    shares = []
    for text in texts:
        work.clear()
        read(text)
        shares.append(sum(work) / len(text))
    return max(shares) <= shares[0] * 1.1 + 2


def peak(run):
    """The bytes that `run()` had at most beside what there was before."""
    run()  # What is made once and kept, such as patterns, is made here.
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
