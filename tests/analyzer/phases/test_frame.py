"""What stands around a turn."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, analyze
from deltaparse.analyzer.phases.frame import (
    find_frame,
    needs_eos_token,
    with_first_ends,
    without_start_of_calls,
)
from deltaparse.analyzer.renderer import CallStyle, Renderer
from deltaparse.analyzer.turns import Turns

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


def test_headers_ends_and_generation_prompt():
    _, frame = frame_of(OWN.reasoning_forced_open)
    assert [text.strip() for text in frame.turn.headers] == ["<a>"]
    assert frame.turn.ends == ("</a>",)
    assert frame.turn.generation_prompt.endswith("<a>[mind]\n")
    assert frame.trailer == ""


def test_a_turn_that_begins_where_the_other_ends():
    _, frame = frame_of(INSTRUCT, eos_token="</s>")
    assert frame.turn.headers == ("[/ASK]", "[/GOT]")
    assert frame.turn.ends == ("</s>",)
    assert frame.turn.generation_prompt == "[/ASK]"
    assert frame.returned == ""  # calls need no results there
    _, frame = frame_of(INSTRUCT.replace("]\n{%-", "]{{ '\\n' }}{%-"), eos_token="</s>")
    assert frame.turn.headers == ("[/ASK]\n", "[/GOT]\n")


def test_without_an_end_the_next_user_is_one():
    assert frame_of(INSTRUCT)[1].turn.ends == ("[ASK]",)
    lines = turns(SHOWN + "{{ '\\n' if not loop.last }}")
    assert frame_of(lines)[1].turn.ends == ("<user>",)
    assert frame_of(lines, eos_token="</s>")[1].turn.ends == ("</s>",)


def test_a_prompt_at_every_end_is_no_part_of_the_turn():
    _, frame = frame_of(OWN.reasoning_beside_calls_only)
    assert frame.turn.ends == ("</a>",)
    assert "<a>" in frame.trailer


@pytest.mark.parametrize(
    "source",
    [
        "",
        "{{ raise_exception('no') }}",
        "{% if messages[1] %}" + INSTRUCT + "{% endif %}",  # shows no question alone
        "{{ raise_exception('no') if messages[-1].role == 'user' }}" + INSTRUCT,  # or refuses it
    ],
)
def test_no_frame(source):
    assert frame_of(source)[1] is None


def test_templates_that_list_the_tools_without_asking_are_given_some():
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


def test_a_template_that_shows_no_answer_has_no_frame():
    assert frame_of(turns("{% if m.role == 'user' %}<user>{{ m.content }}{% endif %}"))[1] is None


def test_white_space_is_no_header():
    _, frame = frame_of("{% for m in messages %}{{ m.content }}\n\n{% endfor %}")
    assert frame.turn.headers == ()


def test_white_space_that_a_prompt_adds_is_no_header():
    _, frame = frame_of(INSTRUCT + "{% if add_generation_prompt %}\n{% endif %}", eos_token="</s>")
    assert frame.turn.headers[0] == "[/ASK]"
    said = "{{ '\\n' if m.role == 'assistant' else '<user>' }}{{ m.content }}</m>"
    _, frame = frame_of(turns(said, "{{ '\\n' }}"))
    assert frame.turn.headers == ("</m>\n",)  # but where all turns have it


def test_the_end_of_the_last_turn_and_of_one_in_the_middle_are_both_ends():
    """But not where one begins as the other, or where the middle has no marker, or a header."""
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


def test_white_space_that_ends_the_users_message_is_the_end_of_none():
    lines = turns(SHOWN + "{{ '</m>' if m.role == 'assistant' }}{{ '\\n' }}")
    assert frame_of(lines)[1].turn.ends == ("</m>\n",)
    alone = turns(LAST_ONLY + SHOWN + "</m>")  # a turn that nothing may follow
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
def test_what_ends_reasoning_too_ends_no_turn(thought, end, ends):
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
def test_a_turn_that_nothing_ends_at_the_last_ends_as_before_another_message(
    between, refuses, ends
):
    body = refuses + SHOWN + "{% if m.role == 'assistant' and not loop.last %}" + between
    _, frame = frame_of(turns(body + "{% endif %}"))
    assert (frame.turn.ends, frame.trailer) == (ends, "")


@pytest.mark.parametrize("refuses", ["", LAST_ONLY])
def test_a_prompt_at_every_end_is_none_of_the_turns_end(refuses):
    always = "{% for m in messages %}" + refuses + SHOWN + "</m>{% endfor %}<model>"
    _, frame = frame_of(always)
    assert (frame.turn.ends, frame.trailer) == (("</m>",), "<model>")
    # White space before the end is that of turns alone, or the user's too.
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
        ("('<f>' if m.tool_calls else '<e>') ~ '\\n'", "<e>\n"),  # white space is none
        ("('' if m.tool_calls else ' ok') ~ '<e>'", "<e>"),
        ("'' if m.tool_calls and m.content else (' ok' if m.content else '') ~ '<e>'", "<e>"),
    ],
)
def test_before_a_prompt_at_the_end_stands_what_turns_of_all_kinds_end_with(said, end):
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
def test_what_begins_each_call_is_none_of_the_header(header, start, end, found):
    """But where it is all of the header, each call is a message of its own."""
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
def test_whether_what_ends_turns_is_a_token_that_is_not_given(source, needs):
    assert needs_eos_token(Renderer(ChatTemplate(source))) is needs
    assert not needs_eos_token(Renderer(ChatTemplate(source, eos_token="</s>")))


def test_the_last_marker_of_an_end_may_be_cut_off():
    ends = ("<a><b><c>", "x<b>", "<d>", "<e>\n<f>")
    assert with_first_ends(ends) == (*ends, "<a><b>", "<e>\n")
    assert with_first_ends(("",)) == ("",)


def test_a_template_that_refuses_to_be_a_prompt_has_none():
    refuses = "{% if add_generation_prompt %}{{ raise_exception('no') }}{% endif %}"
    _, frame = frame_of(refuses + turns(SHOWN + "</m>"))
    assert frame.turn.generation_prompt == ""
    assert frame.turn.headers == ("</m>",)


@pytest.mark.parametrize(
    ("source", "returned"),
    [
        (turns(SHOWN + "</m>"), "<tool>"),
        (turns(SHOWN), "<tool>"),  # behind no end
        (turns("{{ raise_exception('no') if m.role == 'tool' }}" + SHOWN), "<model>"),
    ],
)
def test_what_begins_a_result_where_calls_need_one(source, returned):
    render = Renderer(ChatTemplate(source))
    assert find_frame(render.styled(CallStyle(answered=True))).returned == returned
    assert find_frame(render).returned == ""


def test_what_ends_the_message_before_the_users_is_not_what_opens_it():
    _, frame = frame_of("<system>Hello</m>" + turns(SHOWN + "</m>"))
    assert (frame.opening, frame.asked) == ("<user>", "</m>")
    _, frame = frame_of("Hello\n" + turns(SHOWN + "\n"))
    assert (frame.opening, frame.asked) == ("\n<user>", "\n")


def test_what_begins_a_turn_of_calls_only_counts_too():
    said = "{% if m.content %}<x>{{ m.content }}{% else %}<y>" + CALLED.replace("CALL", NAMED)
    said = "{% if m.role == 'assistant' %}<model>" + said + "{% endif %}</m>"
    _, frame = frame_of(turns(said + "{% else %}<user>{{ m.content }}{% endif %}", "<model><x>"))
    assert frame.header == "<model>"


def frame_under(source, switch):
    render = Renderer(ChatTemplate(source))
    prompts = [render.prompt_tail(context={switch: on}) or "" for on in (False, True)]
    return find_frame(render, prompts)


@pytest.mark.parametrize("space", ["", "\n"])
def test_a_header_may_say_more_in_its_middle_under_a_switch(space):
    body = "<m>{{ 'model' if m.role == 'assistant' else m.role }}<c>{{ m.content }}</m>"
    body = body.replace("<c>", "<c>" + space)
    frame = frame_under(turns(body, "<m>model{{ ' deep' if deep }}<c>" + space), "deep")
    assert frame.turn.headers == ("<m>model<c>" + space, "<m>model deep<c>" + space)


def test_what_only_a_switch_adds_to_the_header_is_none_of_it():
    said = "{{ 'model:' if m.role == 'assistant' else '<user>' }}{{ m.content }}</m>"
    assert frame_under(turns(said, "model:{{ ' now' if deep }}"), "deep").turn.headers == (
        "model:",
    )
    # Nor is what stands behind a marker of its own.
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
def test_a_turn_may_have_another_header_behind_a_result(header, result, headers):
    begun = "{{ HEADER if messages[loop.index0 - 1].role == 'tool' else '<a>' }}"
    said = "{% if m.role == 'assistant' %}" + begun + "{{ m.content }}" + NAMED_CALLS + "</m>"
    said += (
        "{% elif m.role == 'tool' %}" + result + "{% else %}<user>{{ m.content }}</m>{% endif %}"
    )
    prompt = begun.replace("loop.index0", "0")
    source = turns(said, prompt).replace("HEADER", repr(header))
    assert frame_of(source)[1].turn.headers == headers


def test_white_space_round_the_header_of_a_prompt():
    line = "{{ '\\n' }}"
    assert frame_of(turns(line + SHOWN + "</m>", line + "<model>"))[1].header == "\n<model>"
    said = "{% if m.content %}<say>" + line + "{{ m.content }}{% else %}" + line + NAMED_CALLS
    said = "{% if m.role == 'assistant' %}<model>" + said + "{% endif %}"
    source = turns(said + "{% else %}<user>{{ m.content }}{% endif %}", "<go><model>" + line)
    assert frame_of(source)[1].header == "<model>"


def test_white_space_that_turns_go_on_behind_otherwise_is_no_header():
    said = "{{ '\\n' }}{% if m.content %}<x>{{ m.content }}{% else %}<y>" + NAMED_CALLS
    said = "{% if m.role == 'assistant' %}" + said + "{% endif %}{% else %}<user>{{ m.content }}"
    assert frame_of(turns(said + "{% endif %}", "{{ '\\n' }}"))[1].header == ""


def test_where_no_message_follows_a_turn_nothing_is_known_to_open_it():
    said = "{{ '<model>' if m.role == 'assistant' else 'Question?' }}{{ m.content }}"
    assert frame_of(turns(LAST_ONLY + said))[1].opening == ""
    assert frame_of(turns(said))[1].opening == "Question?"


def test_a_header_that_a_switch_ends_otherwise_is_what_both_begin_with():
    said = "<m>{{ 'model' if m.role == 'assistant' else m.role }}<c>{{ m.content }}</m>"
    source = turns(said, "<m>model{{ ' deep<d>' if deep else '<c>' }}")
    assert frame_under(source, "deep").turn.headers == ("<m>model",)


def test_a_switch_may_leave_the_header_out():
    source = turns(SHOWN + "</m>", "{{ '<model>' if not raw }}")
    turn = frame_under(source, "raw").turn
    assert (turn.headers, turn.generation_prompt) == (("<model>",), "<model>")


def test_a_switch_may_add_the_header_that_the_prompt_of_the_default_has_not():
    render = Renderer(ChatTemplate(turns(SHOWN + "</m>", "{{ '<model>' if deep else 'go' }}")))
    deep = render.under({"deep": True})
    frame = find_frame(deep, [render.prompt_tail(), deep.prompt_tail()])
    assert (frame.turn.headers, frame.turn.generation_prompt) == (("<model>",), "</m>go")


def test_what_a_prompt_alone_has_before_the_header_is_none_of_it():
    assert frame_of(turns(SHOWN, "<go><model>"))[1].header == "<model>"
    said = "{{ ('<y>' if m.tool_calls else '<x>') if m.role == 'assistant' }}" + SHOWN + NAMED_CALLS
    assert frame_of(turns(said, "<go><model>"))[1].header == "<model>"


def test_what_ends_the_users_message_is_no_header_under_a_switch_that_adds_none():
    said = "{{ '<|><|>' if m.role == 'assistant' }}{{ m.content }}<|>"
    turn = frame_under(turns(said, "{{ '<|><|>' if not raw }}"), "raw").turn
    assert (turn.headers, turn.generation_prompt) == (("<|><|>",), "<|><|>")


def test_what_the_last_turn_alone_has_behind_the_end_is_a_part_of_it():
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
def test_what_turns_begin_with_that_go_on_otherwise(end, begun, prompt, header):
    content = "{% if m.content %}<say>{{ m.content }}{% else %}" + NAMED_CALLS + "{% endif %}"
    said = "{% if m.role == 'assistant' %}" + begun + content
    source = turns(said + "{% else %}<user>{{ m.content }}" + end + "{% endif %}", prompt)
    assert frame_of(source)[1].header == header


def test_white_space_before_what_begins_each_call_is_the_headers():
    said = (
        "{% if m.role == 'assistant' %}<model>{% if m.content %}{{ '\\n' }}<x>{{ m.content }}</m>"
    )
    said += "{% else %}" + CALLED.replace("CALL", "{{ '\\n' }}<x>" + NAMED + "</m>") + "{% endif %}"
    source = turns(said + "{% else %}<user>{{ m.content }}</u>{% endif %}", "<model>{{ '\\n' }}<x>")
    render, frame = frame_of(source)
    assert frame.header == "<model>\n<x>"
    assert without_start_of_calls(Turns(render, frame)).header == "<model>\n"


def test_the_header_behind_a_result_of_a_template_that_refuses_content_beside_calls():
    refuses = "{{ raise_exception('no') if message.content and message.tool_calls }}"
    source = INSTRUCT.replace(
        "{% if message.role == 'user'", refuses + "{% if message.role == 'user'"
    )
    assert frame_of(source, eos_token="</s>")[1].turn.headers == ("[/ASK]", "[/GOT]")


def test_what_ends_content_alone_is_no_end_of_the_turn():
    body = SHOWN.replace("{{ m.content }}", "<say>{{ m.content }}</say>")
    assert frame_of(turns(body + "</m>"))[1].turn.ends == ("</say></m>",)
    user = "{% if m.role == 'user' %}<user>{{ m.content }}</m>{% else %}"
    assert frame_of(turns(user + body + "</m>{% endif %}"))[1].turn.ends == ("</m>",)
    spaced = frame_of(turns(user + SHOWN + " </m>{% endif %}"))[1]
    assert spaced.turn.ends == (" </m>",)


def test_what_stands_behind_a_result_is_no_header():
    source = INSTRUCT.replace(
        '"id": "{{ message.tool_call_id }}"}[/GOT]', "<id>{{ message.tool_call_id }}[/GOT]"
    )
    assert source != INSTRUCT
    assert frame_of(source, eos_token="</s>")[1].turn.headers == ("[/ASK]", "[/GOT]")


def test_what_turns_behind_a_result_alone_begin_with_is_no_header():
    said = "{% if m.role == 'assistant' %}{{ '<go>' if messages[loop.index0 - 1].role == 'tool' }}"
    body = SHOWN.replace("{{ m.content }}", said + "{% endif %}{{ m.content }}</m>" + NAMED_CALLS)
    prompt = "<model>{{ '<go>' if messages[-1].role == 'tool' }}"
    assert frame_of(turns(body, prompt))[1].turn.headers == ("<model>",)


def test_a_colon_behind_two_different_words_is_no_marker():
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
    assert all("that holds 'Action:' did not come back" in issue for issue in fmt.issues)
    assert [text.strip() for text in fmt.turn.headers] == ["ASSISTANT:"]
    assert (fmt.tools.section_start, fmt.function.name_prefix) == ("", "Action: ")
