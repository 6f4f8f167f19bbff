"""Detection of other speakers in lines."""

from __future__ import annotations

import pytest

from deltaparse.gate.other_speech import begins_turn, begins_with_prompt, ends_in_prompt


@pytest.mark.parametrize(
    "line",
    [
        *("User: x", "user:", "**Human:** x", "_User_: x", "### User", "## user ##", "[USER]: x"),
        *(
            "> User: x",
            "- Human: x",
            "User (12:03): x",
            "User 2: x",
            "USER> x",
            "<user>",
            "<|user|>",
        ),
        *("### Instruction:", "Observation: x", "system\n", "[INST] x", "<s>[INST] x", "<<SYS>>"),
        *("用户：x", "人类:", "사용자: x", "Пользователь: x", "Benutzer: x", "UTILISATEUR: x"),
    ],
)
def test_invented_turns_are_detected(line):
    assert begins_turn(line)
    assert begins_turn(f"x\n{line}", 2)
    assert not begins_turn(f"The {line}") or line[:1] in "[<>"


@pytest.mark.parametrize(
    "line",
    [
        *("The user: x", "Users: 5", "User's: x", "user-input: x", "<user-input>x", "userid: 5"),
        *("User asked: x", "| User | Role |", "Observations:", "systemd: x", "", "用户的问题：x"),
    ],
)
def test_mention_of_a_role_is_not_a_turn(line):
    assert not begins_turn(line)


@pytest.mark.parametrize(
    "prompt",
    [
        *("$", "user@host:~$", "user@host:/var/log$", "[root@host ~]#", "me@mac ~ %", "(venv) $"),
        *("bash-5.1$", "/ #", "C:\\Users>", "PS C:\\x>", "mysql>", "mydb=>", "irb(main):001:0>"),
        *("In [1]:", "Out[12]:", ">>>", "...", "❯", "➜"),
    ],
)
def test_text_ending_in_a_prompt_is_detected(prompt):
    assert ends_in_prompt(prompt)
    assert ends_in_prompt(f"{prompt} ")


@pytest.mark.parametrize(
    "line",
    [
        *(
            "So:",
            "",
            "It costs 5 $",
            "It costs 5$",
            "100 %",
            "at 99.5%",
            "<b>x</b>",
            "<br />",
            "->",
        ),
        *(
            "x =>",
            "🔎 ->",
            "<!-- x -->",
            "<![CDATA[<b>]]>",
            "<% x %>",
            "# X #",
            "see...",
            "a@b.com",
        ),
    ],
)
def test_amounts_elements_arrows_and_headings_are_not_prompts(line):
    assert not ends_in_prompt(line)


def test_lines_beginning_with_a_prompt_are_detected():
    for line in (
        "$ ls",
        ">>> f()",
        "In [1]: f()",
        "user@host:~$ ls",
        "[me@host ~]$ ls",
        "C:\\x> dir",
    ):
        assert begins_with_prompt(line)
        assert begins_with_prompt(f"  {line}")
    for line in (
        "$ 5 is much",
        "5 $ is",
        "a@b.com costs 5% more",
        "in [that] case",
        "C: x > y",
        "",
    ):
        assert not begins_with_prompt(line)
