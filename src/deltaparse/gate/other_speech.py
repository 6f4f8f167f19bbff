"""Detection of other speakers: invented turns and prompts of a shell.

The patterns are possessive and bounded, because their input is untrusted.
"""

from __future__ import annotations

import re

__all__ = ["begins_turn", "begins_with_prompt", "ends_in_prompt"]

ROLES = (
    "user|human|observation|system|instruction|用户|人类|使用者|ユーザー|人間|사용자|인간"
    "|usuario|usuário|utilisateur|utente|benutzer|nutzer|gebruiker|użytkownik|kullanıcı"
    "|пользователь|человек|المستخدم"
)
"""The names of other speakers in turns invented by models."""

DECOR = r"[ \t#*_>|\[(<{/|-]{0,16}+"
END_OF_DECOR = r"[ \t#*_\])>}/|-]{0,16}+"
# `User:`, `**User**: x`, `User 1 (12:03):`, `User> x`, or a line with only the name.
TURN = re.compile(
    rf"(?i:{DECOR}(?:{ROLES})(?![^\W_]|['’])"
    rf"(?:[ \t]?\d{{1,4}}+)?+(?:[ \t]?\([^()\r\n]{{0,64}}\))?+"
    rf"(?:{END_OF_DECOR}(?:[:：]|(?=[\r\n]|\Z))|[ \t*_\]|)]{{0,8}}+>))"
)
# Headers of chat templates without a role.
TEMPLATE = re.compile(r"[ \t]{0,16}+(?:<s>[ \t]{0,4}+)?+(?:\[INST\]|<<SYS>>|\[SYSTEM_PROMPT\])")

PROMPTS = re.compile(
    r"[ \t]{0,16}+(?:"
    r"\$[ \t]++(?![\d ])"
    r"|>>>"
    r"|(?i:in|out)[ ]?\[\d{1,6}\]:"
    r"|(?:PS )?+[A-Za-z]:[\\/][^\r\n<>]{0,128}+>"
    r"|[\[(]?[\w.-]{1,64}+@[\w.-]{1,64}+"
    r"(?::[^\s$#%]{0,128}+|[ ][^\s$#%\])]{1,128}+)?+[\])]?[ ]?[$#%](?=[ \t]|\Z)"
    r"|[❯➜])"
)
"""The prompt at the start of a line typed in a shell or an interpreter."""

NUMBERED = re.compile(r"(?i:in|out)[ ]?\[\d{1,6}\]:\Z")
AMOUNT = re.compile(r"(?:^|[\s(~≈])[+-]?\d[\d.,]{0,32}[ \u00a0]?[$%]\Z")
ELEMENT = re.compile(r"<[^<>]{1,256}>\Z")
ARROW = re.compile(r"(?:^|[ \t])[-=]{1,3}>\Z")
SIGNS = "$#%>❯➜"
"""The last characters of prompts of shells and interpreters."""

NO_PROMPTS = ("-->", "?>", "%>", "]]>")
"""Ends of comments and similar constructs, which are not prompts."""

LONGEST = 512
"""Number of characters before a call that are searched for a prompt."""


def begins_turn(text: str, start: int = 0, end: int | None = None) -> bool:
    """Return True if the line from `start` to `end` begins another speaker's turn."""
    stop = len(text) if end is None else end
    return any(pattern.match(text, start, stop) for pattern in (TURN, TEMPLATE))


def begins_with_prompt(text: str, start: int = 0, end: int | None = None) -> bool:
    """Return True if the line from `start` to `end` was typed at a prompt."""
    return PROMPTS.match(text, start, len(text) if end is None else end) is not None


def ends_in_prompt(line: str) -> bool:
    """Return True if the text before a call in its line is a prompt."""
    line = line[-LONGEST:].rstrip()
    if line == "..." or NUMBERED.search(line):
        return True
    if line[-1:] not in SIGNS or not line or line.endswith(NO_PROMPTS):
        return False
    if line.lstrip().startswith("#") and line.endswith("#"):
        return False  # a heading
    return not any(pattern.search(line) for pattern in (AMOUNT, ELEMENT, ARROW))
