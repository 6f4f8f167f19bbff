"""The cost of a parser in scanned characters and kept bytes, without a clock."""

from __future__ import annotations

import gc
import tracemalloc

from deltaparse.partial import JsonLexer, Markers, Pattern, Window


def counted(monkeypatch):
    """Start counting, and return the list of counts for the test to add up and clear.

    Each count is a number of characters searched, scanned, kept in a window or joined again.
    """
    seen = []
    find, scan, look = Markers.find, JsonLexer.scan, Pattern._look
    feed, text_since = Window.feed, Window.text_since

    def counted_find(self, text, pos=0, *, final=False):
        start, end = find(self, text, pos, final=final)
        # A failed search has scanned the text to its end.
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
    """Return whether the cost per character of each text is at most that of the first.

    `work` is the result of `counted`. The first text must be longer than the buffer limit, since
    the cost per character grows up to it.
    """
    shares = []
    for text in texts:
        work.clear()
        read(text)
        shares.append(sum(work) / len(text))
    return max(shares) <= shares[0] * 1.1 + 2


def peak(run):
    """Return the peak number of bytes that `run()` allocates."""
    run()  # Fills the caches, e.g. of patterns, before the measurement.
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
