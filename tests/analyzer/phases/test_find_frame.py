"""The frame of a turn."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, analyze
from deltaparse.analyzer.assistant_turns import Turns
from deltaparse.analyzer.phases.find_frame import (
    find_frame,
    needs_eos_token,
    with_first_ends,
    without_start_of_calls,
)
from deltaparse.analyzer.renderer import CallStyle, Renderer

from ...strategies.templates import OWN

INSTRUCT = """{% for message in messages %}{% if message.role == 'user' -%}
[ASK]{{ message.content }}[/ASK]
{%- elif message.role == 'tool' -%}
[GOT]{"content": {{ message.content }}, "id": "{{ message.tool_call_id }}"}[/GOT]
{%- elif message.tool_calls -%}
[CALLS]{{ message.tool_calls[0].function.name }}{{ eos_token }}
{%- else -%}
{{ message.content + eos_token }}
{%- endif %}{% endfor %}"""


def frame_of(source, **tokens):
    render = Renderer(ChatTemplate(source, **tokens))
    return render, find_frame(render)


def test_frame_has_headers_ends_and_generation_prompt():
    _, frame = frame_of(OWN.reasoning_forced_open)
    assert [text.strip() for text in frame.turn.headers] == ["<a>"]
    assert frame.turn.ends == ("</a>",)
    assert frame.turn.generation_prompt.endswith("<a>[mind]\n")
    assert frame.trailer == ""


def test_turn_may_begin_at_the_end_of_the_user_message():
    _, frame = frame_of(INSTRUCT, eos_token="</s>")
    assert frame.turn.headers == ("[/ASK]", "[/GOT]")
    assert frame.turn.ends == ("</s>",)
    assert frame.turn.generation_prompt == "[/ASK]"
    assert frame.returned == ""  # calls do not require results here
    _, frame = frame_of(INSTRUCT.replace("]\n{%-", "]{{ '\\n' }}{%-"), eos_token="</s>")
    assert frame.turn.headers == ("[/ASK]\n", "[/GOT]\n")


def test_next_user_start_ends_a_turn_without_an_end():
    assert frame_of(INSTRUCT)[1].turn.ends == ("[ASK]",)
    lines = turns(SHOWN + "{{ '\\n' if not loop.last }}")
    assert frame_of(lines)[1].turn.ends == ("<user>",)
    assert frame_of(lines, eos_token="</s>")[1].turn.ends == ("</s>",)


def test_prompt_always_appended_is_a_trailer():
    _, frame = frame_of(OWN.reasoning_beside_calls_only)
    assert frame.turn.ends == ("</a>",)
    assert "<a>" in frame.trailer


@pytest.mark.parametrize(
    "source",
    [
        "",
        "{{ raise_exception('no') }}",
        "{% if messages[1] %}" + INSTRUCT + "{% endif %}",  # requires a second message
        "{{ raise_exception('no') if messages[-1].role == 'user' }}"
        + INSTRUCT,  # or rejects a user message
    ],
)
def test_frame_is_missing_without_a_conversation(source):
    assert frame_of(source)[1] is None


def test_template_that_requires_tools_gets_tools():
    assert frame_of(OWN.json_unmarked)[1] is not None


def turns(body, prompt="<model>"):
    return (
        "{% for m in messages %}" + body + "{% endfor %}"
        "{% if add_generation_prompt %}" + prompt + "{% endif %}"
    )


SHOWN = "<{{ 'model' if m.role == 'assistant' else m.role }}>{{ m.content }}"
ANSWERED = "{% if m.role == 'assistant' %}<model>{{ m.content }}"
NEXT = "{% set next = messages[loop.index] if not loop.last %}"
LAST_ONLY = (
    "{% if messages | length > 2 and not m.tool_calls %}{{ raise_exception('no') }}{% endif %}"
)


def test_template_without_answers_has_no_frame():
    assert frame_of(turns("{% if m.role == 'user' %}<user>{{ m.content }}{% endif %}"))[1] is None


def test_whitespace_is_not_a_header():
    _, frame = frame_of("{% for m in messages %}{{ m.content }}\n\n{% endfor %}")
    assert frame.turn.headers == ()


def test_whitespace_added_by_the_prompt_is_not_a_header():
    _, frame = frame_of(INSTRUCT + "{% if add_generation_prompt %}\n{% endif %}", eos_token="</s>")
    assert frame.turn.headers[0] == "[/ASK]"
    said = "{{ '\\n' if m.role == 'assistant' else '<user>' }}{{ m.content }}</m>"
    _, frame = frame_of(turns(said, "{{ '\\n' }}"))
    assert frame.turn.headers == ("</m>\n",)  # unless all turns contain it


def test_ends_include_last_and_middle_turn_ends():
    """Exceptions: common prefixes, and middle ends without a marker or with a header."""
    for between, last, ends in (
        ("<end>", "</m>", ("<end>", "</m>")),
        (" \n<end>", "</m>", (" \n<end>", "</m>")),
        ("<end>\n", "<end>", ("<end>",)),
        (" <end><n>", "<end>", ("<end>",)),
        (" <end><n>", "<end>\n", ("<end>\n",)),
        ("<end>", " <end><stop>", (" <end><stop>",)),
        ("<end>", "<end><stop>", ("<end><stop>",)),
        (" and so on", "</m>", ("</m>",)),
        ("<end><model>", "</m>", ("</m>",)),
    ):
        end = "{% if loop.last %}" + last + "{% else %}" + between + "{% endif %}"
        answered = ANSWERED.replace("<model>", "<model>\n")
        body = answered + end + "{% else %}<user>{{ m.content }}</u>{% endif %}"
        _, frame = frame_of(turns(body, "<model>\n"))
        assert frame.turn.ends == ends, between


def test_whitespace_after_user_messages_is_not_a_turn_end():
    lines = turns(SHOWN + "{{ '</m>' if m.role == 'assistant' }}{{ '\\n' }}")
    assert frame_of(lines)[1].turn.ends == ("</m>\n",)
    alone = turns(LAST_ONLY + SHOWN + "</m>")  # no message may follow the turn
    assert frame_of(alone)[1].turn.ends == ("</m>",)


@pytest.mark.parametrize(
    ("thought", "end", "ends"),
    [
        ("<m>in<c>{{ m.thinking }}<end>", "<end>", ("<done>",)),
        ("<m>in<c>{{ m.thinking }}<end>", "<end>\n", ("<done>",)),
        ("{{ '<m>in<c>' ~ m.thinking ~ '<end>' if m.tool_calls }}", "<end>", ("<done>",)),
        ("", "<end>", ("<end>", "<done>")),
    ],
)
def test_text_after_reasoning_is_not_a_turn_end(thought, end, ends):
    said = "{% if m.thinking %}" + thought + "{% endif %}<m>out<c>{{ m.content }}" + NAMED_CALLS
    said += "{{ '<done>' if loop.last else END }}".replace("END", repr(end))
    body = "{% if m.role == 'assistant' %}" + said + "{% else %}<user>{{ m.content }}</u>"
    assert frame_of(turns(body + "{% endif %}", "<m>"))[1].turn.ends == ends


@pytest.mark.parametrize(
    ("between", "refuses", "ends"),
    [
        ("<end>", "", ("<end>",)),
        ("", "", ("<user>",)),
        ("<end>", LAST_ONLY, ()),
        ("", LAST_ONLY, ()),
    ],
)
def test_last_turn_without_end_uses_the_middle_turn_end(between, refuses, ends):
    body = refuses + SHOWN + "{% if m.role == 'assistant' and not loop.last %}" + between
    _, frame = frame_of(turns(body + "{% endif %}"))
    assert (frame.turn.ends, frame.trailer) == (ends, "")


@pytest.mark.parametrize("refuses", ["", LAST_ONLY])
def test_prompt_always_appended_is_not_in_the_turn_end(refuses):
    always = "{% for m in messages %}" + refuses + SHOWN + "</m>{% endfor %}<model>"
    _, frame = frame_of(always)
    assert (frame.turn.ends, frame.trailer) == (("</m>",), "<model>")
    # Whitespace before the end is only in turns, or in user messages too.
    for space, end in (("'\\n'", "\n</m>"), ("'\\n' if m.role == 'assistant'", "</m>")):
        _, frame = frame_of(always.replace("</m>", "{{ " + space + " }}</m>"))
        assert (frame.turn.ends, frame.trailer) == ((end,), "<model>")


CALLED = "{% for c in m.tool_calls or [] %}CALL{% endfor %}"
NAMED = "{{ c.function.name }}{{ c.function.arguments | tojson }}"
NAMED_CALLS = CALLED.replace("CALL", NAMED)


@pytest.mark.parametrize(
    ("said", "end"),
    [
        ("'<e>'", "<e>"),
        ("raise_exception('no') if m.tool_calls else '<e>'", "<e>"),
        ("('<f>' if m.tool_calls else '<e>') ~ '\\n'", "<e>\n"),  # whitespace is not an end
        ("('' if m.tool_calls else ' ok') ~ '<e>'", "<e>"),
        ("'' if m.tool_calls and m.content else (' ok' if m.content else '') ~ '<e>'", "<e>"),
    ],
)
def test_turn_end_before_a_trailer_is_shared_by_all_turns(said, end):
    turn = SHOWN + NAMED_CALLS + "{% if m.role == 'assistant' %}{{ " + said + " }}{% endif %}"
    prompt = "{% if add_generation_prompt or messages[-1].role == 'assistant' %}<model>{% endif %}"
    _, frame = frame_of("{% for m in messages %}" + turn + "{% endfor %}" + prompt)
    assert (frame.turn.ends, frame.trailer) == ((end,), "<model>")


@pytest.mark.parametrize(
    ("header", "start", "end", "found"),
    [
        ("<model>", "<x>", "</m>", "<model>"),
        ("", "<model>", "</m>", "<model>"),
        ("<model>", "::", "</m>", "<model>"),
        ("<model>", "<x>", "end", "<model>"),
    ],
)
def test_call_start_is_removed_from_the_header(header, start, end, found):
    """Exception: if it is the entire header, each call is a separate message."""
    calls = CALLED.replace("CALL", start + NAMED + end)
    content = "{% if m.content %}" + start + "{{ m.content }}</m>{% else %}"
    said = "{% if m.role == 'assistant' %}" + header + content + calls + "{% endif %}"
    source = turns(said + "{% else %}<user>{{ m.content }}</u>{% endif %}", header + start)
    render, frame = frame_of(source)
    assert frame.header == header + start
    assert without_start_of_calls(Turns(render, frame)).header == found


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        (turns(SHOWN + "{{ eos_token }}"), True),
        (turns(SHOWN + CALLED.replace("CALL", NAMED + "{{ eos_token }}")), True),
        (
            turns(SHOWN + "{% if not m.content %}" + NAMED_CALLS + "{{ eos_token }}{% endif %}"),
            True,
        ),
        ("{{ eos_token }}" + turns(SHOWN), False),
        (turns(SHOWN) + "{{ eos_token }}", False),
        (turns(SHOWN), False),
    ],
)
def test_needs_eos_token_detects_a_missing_token(source, needs):
    assert needs_eos_token(Renderer(ChatTemplate(source))) is needs
    assert not needs_eos_token(Renderer(ChatTemplate(source, eos_token="</s>")))


def test_with_first_ends_adds_ends_without_the_last_marker():
    ends = ("<a><b><c>", "x<b>", "<d>", "<e>\n<f>")
    assert with_first_ends(ends) == (*ends, "<a><b>", "<e>\n")
    assert with_first_ends(("",)) == ("",)


def test_template_that_rejects_prompts_has_no_prompt():
    refuses = "{% if add_generation_prompt %}{{ raise_exception('no') }}{% endif %}"
    _, frame = frame_of(refuses + turns(SHOWN + "</m>"))
    assert frame.turn.generation_prompt == ""
    assert frame.turn.headers == ("</m>",)


@pytest.mark.parametrize(
    ("source", "returned"),
    [
        (turns(SHOWN + "</m>"), "<tool>"),
        (turns(SHOWN), "<tool>"),  # without an end
        (turns("{{ raise_exception('no') if m.role == 'tool' }}" + SHOWN), "<model>"),
    ],
)
def test_returned_is_the_start_of_a_required_result(source, returned):
    render = Renderer(ChatTemplate(source))
    assert find_frame(render.styled(CallStyle(answered=True))).returned == returned
    assert find_frame(render).returned == ""


def test_message_end_is_not_the_user_message_start():
    _, frame = frame_of("<system>Hello</m>" + turns(SHOWN + "</m>"))
    assert (frame.opening, frame.asked) == ("<user>", "</m>")
    _, frame = frame_of("Hello\n" + turns(SHOWN + "\n"))
    assert (frame.opening, frame.asked) == ("\n<user>", "\n")


def test_header_covers_turns_of_calls_only():
    said = "{% if m.content %}<x>{{ m.content }}{% else %}<y>" + CALLED.replace("CALL", NAMED)
    said = "{% if m.role == 'assistant' %}<model>" + said + "{% endif %}</m>"
    _, frame = frame_of(turns(said + "{% else %}<user>{{ m.content }}{% endif %}", "<model><x>"))
    assert frame.header == "<model>"


def frame_under(source, switch):
    render = Renderer(ChatTemplate(source))
    prompts = [render.prompt_tail(context={switch: on}) or "" for on in (False, True)]
    return find_frame(render, prompts)


@pytest.mark.parametrize("space", ["", "\n"])
def test_header_may_have_text_inserted_by_a_switch(space):
    body = "<m>{{ 'model' if m.role == 'assistant' else m.role }}<c>{{ m.content }}</m>"
    body = body.replace("<c>", "<c>" + space)
    frame = frame_under(turns(body, "<m>model{{ ' deep' if deep }}<c>" + space), "deep")
    assert frame.turn.headers == ("<m>model<c>" + space, "<m>model deep<c>" + space)


def test_header_excludes_text_appended_by_a_switch():
    said = "{{ 'model:' if m.role == 'assistant' else '<user>' }}{{ m.content }}</m>"
    assert frame_under(turns(said, "model:{{ ' now' if deep }}"), "deep").turn.headers == (
        "model:",
    )
    # Text after another marker is excluded too.
    said = said.replace("model:", "<m><c>")
    assert frame_under(turns(said, "<m>{{ '<d>' if deep }}<c>"), "deep").turn.headers == ("<m>",)


@pytest.mark.parametrize(
    ("header", "result", "headers"),
    [
        ("<b>", "<r>{{ m.content }}</r>", ("<a>", "</r><b>")),
        ("<b><c>", "<r>{{ m.content }}</r>", ("<a>", "</r><b><c>")),
        ("<a>", "<r>{{ m.content }}</r>", ("<a>",)),
        ("<b>", "{{ '<r>' ~ m.content ~ '</r>' if not loop.last }}", ("<a>",)),  # not in a prompt
        ("<b>", "{{ '<r>' if loop.last else raise_exception('no') }}{{ m.content }}", ("<a>",)),
    ],
)
def test_header_after_a_tool_result_may_differ(header, result, headers):
    begun = "{{ HEADER if messages[loop.index0 - 1].role == 'tool' else '<a>' }}"
    said = "{% if m.role == 'assistant' %}" + begun + "{{ m.content }}" + NAMED_CALLS + "</m>"
    said += (
        "{% elif m.role == 'tool' %}" + result + "{% else %}<user>{{ m.content }}</m>{% endif %}"
    )
    prompt = begun.replace("loop.index0", "0")
    source = turns(said, prompt).replace("HEADER", repr(header))
    assert frame_of(source)[1].turn.headers == headers


def test_header_keeps_whitespace_of_the_prompt():
    line = "{{ '\\n' }}"
    assert frame_of(turns(line + SHOWN + "</m>", line + "<model>"))[1].header == "\n<model>"
    said = "{% if m.content %}<say>" + line + "{{ m.content }}{% else %}" + line + NAMED_CALLS
    said = "{% if m.role == 'assistant' %}<model>" + said + "{% endif %}"
    source = turns(said + "{% else %}<user>{{ m.content }}{% endif %}", "<go><model>" + line)
    assert frame_of(source)[1].header == "<model>"


def test_header_excludes_whitespace_before_differing_text():
    said = "{{ '\\n' }}{% if m.content %}<x>{{ m.content }}{% else %}<y>" + NAMED_CALLS
    said = "{% if m.role == 'assistant' %}" + said + "{% endif %}{% else %}<user>{{ m.content }}"
    assert frame_of(turns(said + "{% endif %}", "{{ '\\n' }}"))[1].header == ""


def test_opening_is_empty_if_turns_must_be_last():
    said = "{{ '<model>' if m.role == 'assistant' else 'Question?' }}{{ m.content }}"
    assert frame_of(turns(LAST_ONLY + said))[1].opening == ""
    assert frame_of(turns(said))[1].opening == "Question?"


def test_header_is_the_common_prefix_under_a_switch():
    said = "<m>{{ 'model' if m.role == 'assistant' else m.role }}<c>{{ m.content }}</m>"
    source = turns(said, "<m>model{{ ' deep<d>' if deep else '<c>' }}")
    assert frame_under(source, "deep").turn.headers == ("<m>model",)


def test_switch_may_omit_the_header():
    source = turns(SHOWN + "</m>", "{{ '<model>' if not raw }}")
    turn = frame_under(source, "raw").turn
    assert (turn.headers, turn.generation_prompt) == (("<model>",), "<model>")


def test_switch_may_add_a_header_missing_by_default():
    render = Renderer(ChatTemplate(turns(SHOWN + "</m>", "{{ '<model>' if deep else 'go' }}")))
    deep = render.under({"deep": True})
    frame = find_frame(deep, [render.prompt_tail(), deep.prompt_tail()])
    assert (frame.turn.headers, frame.turn.generation_prompt) == (("<model>",), "</m>go")


def test_header_excludes_text_only_in_prompts():
    assert frame_of(turns(SHOWN, "<go><model>"))[1].header == "<model>"
    said = "{{ ('<y>' if m.tool_calls else '<x>') if m.role == 'assistant' }}" + SHOWN + NAMED_CALLS
    assert frame_of(turns(said, "<go><model>"))[1].header == "<model>"


def test_user_message_end_is_not_a_header_under_a_switch():
    said = "{{ '<|><|>' if m.role == 'assistant' }}{{ m.content }}<|>"
    turn = frame_under(turns(said, "{{ '<|><|>' if not raw }}"), "raw").turn
    assert (turn.headers, turn.generation_prompt) == (("<|><|>",), "<|><|>")


def test_turn_end_includes_text_after_the_last_turn():
    stopped = "{{ '<stop>' if m.role == 'assistant' and loop.last }}"
    _, frame = frame_of(turns(SHOWN + "</m>" + stopped))
    assert (frame.turn.ends, frame.trailer) == (("</m><stop>",), "")


@pytest.mark.parametrize(
    ("end", "begun", "prompt", "header"),
    [
        ("", "<model>", "<go><model>", "<model>"),
        ("</u>", "<model>", "<go><model>", "<model>"),
        ("</u>", "<model>", "<go><other>", "<go><other>"),
        ("", "{{ '\n' }}", "<go>{{ '\n' }}<other>", "<go>\n<other>"),
    ],
)
def test_header_is_the_shared_start_of_differing_turns(end, begun, prompt, header):
    content = "{% if m.content %}<say>{{ m.content }}{% else %}" + NAMED_CALLS + "{% endif %}"
    said = "{% if m.role == 'assistant' %}" + begun + content
    source = turns(said + "{% else %}<user>{{ m.content }}" + end + "{% endif %}", prompt)
    assert frame_of(source)[1].header == header


def test_whitespace_before_the_call_start_stays_in_the_header():
    said = (
        "{% if m.role == 'assistant' %}<model>{% if m.content %}{{ '\\n' }}<x>{{ m.content }}</m>"
    )
    said += "{% else %}" + CALLED.replace("CALL", "{{ '\\n' }}<x>" + NAMED + "</m>") + "{% endif %}"
    source = turns(said + "{% else %}<user>{{ m.content }}</u>{% endif %}", "<model>{{ '\\n' }}<x>")
    render, frame = frame_of(source)
    assert frame.header == "<model>\n<x>"
    assert without_start_of_calls(Turns(render, frame)).header == "<model>\n"


def test_header_after_result_without_content_before_calls():
    refuses = "{{ raise_exception('no') if message.content and message.tool_calls }}"
    source = INSTRUCT.replace(
        "{% if message.role == 'user'", refuses + "{% if message.role == 'user'"
    )
    assert frame_of(source, eos_token="</s>")[1].turn.headers == ("[/ASK]", "[/GOT]")


def test_end_of_content_only_is_not_a_turn_end():
    body = SHOWN.replace("{{ m.content }}", "<say>{{ m.content }}</say>")
    assert frame_of(turns(body + "</m>"))[1].turn.ends == ("</say></m>",)
    user = "{% if m.role == 'user' %}<user>{{ m.content }}</m>{% else %}"
    assert frame_of(turns(user + body + "</m>{% endif %}"))[1].turn.ends == ("</m>",)
    spaced = frame_of(turns(user + SHOWN + " </m>{% endif %}"))[1]
    assert spaced.turn.ends == (" </m>",)


def test_text_after_a_result_is_not_a_header():
    source = INSTRUCT.replace(
        '"id": "{{ message.tool_call_id }}"}[/GOT]', "<id>{{ message.tool_call_id }}[/GOT]"
    )
    assert source != INSTRUCT
    assert frame_of(source, eos_token="</s>")[1].turn.headers == ("[/ASK]", "[/GOT]")


def test_start_of_turns_after_results_only_is_not_a_header():
    said = "{% if m.role == 'assistant' %}{{ '<go>' if messages[loop.index0 - 1].role == 'tool' }}"
    body = SHOWN.replace("{{ m.content }}", said + "{% endif %}{{ m.content }}</m>" + NAMED_CALLS)
    prompt = "<model>{{ '<go>' if messages[-1].role == 'tool' }}"
    assert frame_of(turns(body, prompt))[1].turn.headers == ("<model>",)


def test_colon_after_different_words_is_not_a_marker():
    call = "Action: {{ c.function.name }}\nAction Input: {{ c.function.arguments | tojson }}\n"
    source = (
        "{{ 'SYSTEM: ' + (tools | tojson) + '</s>' if tools }}"
        "{% for m in messages %}{{ m.role | upper }}: {{ m.content or '' }}"
        "{% for c in m.tool_calls or [] %}" + call + "{% endfor %}</s>{% endfor %}"
        "{{ 'ASSISTANT: ' if add_generation_prompt }}"
    )
    fmt = analyze(source)
    assert fmt.proved.content
    assert fmt.proved.calls
    assert all("containing 'Action:' did not round-trip" in issue for issue in fmt.issues)
    assert [text.strip() for text in fmt.turn.headers] == ["ASSISTANT:"]
    assert (fmt.tools.section_start, fmt.function.name_prefix) == ("", "Action: ")
