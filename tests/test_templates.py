"""Chat templates of this project, one for each wire form, and the results of the analysis.

The templates are in `templates/`, written for these tests in the style of real ones. The responses
are handwritten here, and are parsed in all chunks after the prompt of the template. All other
results of the analysis are in `templates/formats.json`, so that each change is noticed.
`python -m tests.test_templates` writes this file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from deltaparse import ChatTemplate, ToolFormat, WireFormat, analyze
from deltaparse.analyzer.phases.find_python_calls import LEFT_OUT
from deltaparse.analyzer.phases.find_tool_calls import NOT_READ, not_rendered
from deltaparse.analyzer.phases.reasoning_prompts import CLOSED_BY_NAME, OPENED_ONLY
from deltaparse.analyzer.probes import PROBE_TEXTS

from .strategies.templates import SOURCES
from .strategies.wire_by_hand import fed

CITY, DAYS = {"type": "string", "description": "where"}, {"type": "integer", "description": "many"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "the weather",
            "parameters": {"type": "object", "properties": {"city": CITY, "days": DAYS}},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "say",
            "description": "a word",
            "parameters": {"type": "object", "properties": {"text": CITY}},
        },
    },
]
FOUND = Path(__file__).with_name("templates") / "formats.json"
LOOK = ("look_up", {"city": "Ghent", "days": 3})
SAY = ("say", {"text": "Hi <b>"})
ASKED = {"role": "user", "content": "Will it rain?"}
LOOKS, SAYS = '{"city": "Ghent", "days": 3}', '{"text": "Hi <b>"}'


class Said(NamedTuple):
    """A response after the prompt, and its expected parts."""

    output: str
    reasoning: str = ""
    content: str = ""
    calls: tuple = ()
    ids: tuple = ()
    issues: tuple = ()


class Form(NamedTuple):
    """The expected fields and issues of a template, and responses of its model."""

    finds: dict
    outputs: tuple
    issues: tuple = ()


def form(*outputs, issues=(), **finds):
    """Return a form with the fields of its format from `group__field` arguments."""
    return Form({tuple(key.split("__")): finds[key] for key in finds}, outputs, issues)


def whole(output, reasoning="", content="Dry.", calls=(LOOK, SAY), ids=()):
    """Return a response with content and two calls."""
    return Said(output, reasoning, content, calls, ids)


NOT_UNDERSTOOD = (
    "tool calls are rendered, but their syntax was not understood, {shown!r}: describe it with "
    "fmt.replace(tools=..., function=..., arguments=...), or use a built-in format"
)
FORMS = {
    # Calls in JSON.
    "json_in_tags": form(
        whole(
            "<ponder>\nhm\n</ponder>\n\nDry."
            f'\n<call>\n{{"name": "look_up", "arguments": {LOOKS}}}\n</call>'
            f'\n<call>\n{{"name": "say", "arguments": {SAYS}}}\n</call><|done|>\n',
            "hm",
        ),
        tools__format="JSON_NATIVE",
        tools__per_call_start="<call>\n",
        tools__per_call_end="\n</call>",
        reasoning__mode="TAG_BASED",
        reasoning__start="<ponder>\n",
        reasoning__end="\n</ponder>\n\n",
        turn__ends=("<|done|>\n",),
    ),
    "json_list_behind_a_marker": form(
        whole(
            f'Dry.[CALLING][{{"name": "look_up", "arguments": {LOOKS}, "id": "k3Qz81abC"}}, '
            f'{{"name": "say", "arguments": {SAYS}, "id": "k3Qz81abD"}}]</s>',
            ids=("k3Qz81abC", "k3Qz81abD"),
        ),
        tools__section_start="[CALLING]",
        tools__section_end="",
        tools__array_wrapped=True,
        tools__id_field="id",
        reasoning__mode="NONE",
        turn__headers=("[/ASK]", "[/RESULT]"),
    ),
    "json_with_ids_in_tags": form(
        whole(
            f'Dry.<use id="k3Qz81abC">{{"tool": "look_up", "input": {LOOKS}}}</use>'
            f'<use id="k3Qz81abD">{{"tool": "say", "input": {SAYS}}}</use><|over|>',
            ids=("k3Qz81abC", "k3Qz81abD"),
        ),
        tools__format="TAG_WITH_JSON",
        call_id__position="PRE_FUNC_NAME",
        call_id__suffix='">{"tool": "',
    ),
    "arguments_in_a_list": form(
        whole(
            'Dry.<do>{"name": "look_up", "given": [{"name": "city", "value": "Ghent"}, '
            '{"name": "days", "value": 3}]}</do>'
            '<do>{"name": "say", "given": [{"name": "text", "value": "Hi <b>"}]}</do><|over|>'
        ),
        Said('<do>{"name": "say", "given": []}</do><|over|>', calls=(("say", {}),)),
        tools__format="TAG_WITH_TAGGED",
        arguments__name_prefix='{"name": "',
        arguments__quoted_strings=True,
    ),
    "content_in_parts": form(
        whole(
            f' Dry.<act>{{"name": "look_up", "arguments": {LOOKS}}}</act>'
            f'<act>{{"name": "say", "arguments": {SAYS}}}</act></turn>'
        ),
        tools__per_call_start="<act>",
        content__requires_nonnull=True,
    ),
    "calls_with_a_separator": form(
        whole(
            f'Dry.<|calls|>{{"name": "look_up", "arguments": {LOOKS}}}<|next|>'
            f'{{"name": "say", "arguments": {SAYS}}}<|/calls|></a>'
        ),
        tools__section_start="<|calls|>",
        tools__separator="<|next|>",
    ),
    "json_list_in_an_object": form(
        whole(
            f'Dry.{{"calls": [{{"tool": "look_up", "input": {LOOKS}}}, '
            f'{{"tool": "say", "input": {SAYS}}}]}}</a>'
        ),
        tools__section_start='{"calls": ',
        tools__section_end="}",
        tools__array_wrapped=True,
    ),
    "json_list_behind_words": form(
        whole(
            f'Dry. CALL>>> [{{"name": "look_up", "arguments": {LOOKS}}}, '
            f'{{"name": "say", "arguments": {SAYS}}}]</a>'
        ),
        tools__section_start="CALL>>> ",
        tools__content_separator=" ",
        tools__section_end="",
        tools__array_wrapped=True,
    ),
    "json_nested_with_ids": form(
        whole(
            'Dry.{CALLS}[{"id": "c1", "type": "function", "function": {"name": "look_up", '
            f'"arguments": {LOOKS}}}}}, {{"id": "c2", "type": "function", "function": '
            f'{{"name": "say", "arguments": {SAYS}}}}}]{{END CALLS}}{{END}}\n',
            ids=("c1", "c2"),
        ),
        tools__function_field="function",
        tools__section_start="{CALLS}",
        tools__section_end="{END CALLS}",
        tools__id_field="id",
    ),
    "names_as_keys": form(
        whole(
            f'<|inside|>hm<|/inside|>Dry.<|calls|>[{{"look_up": {LOOKS}}}, {{"say": {SAYS}}}]'
            "<|/calls|><|/assistant|>",
            "hm",
        ),
        tools__name_is_key=True,
        tools__section_start="<|calls|>",
        tools__section_end="<|/calls|>",
    ),
    "json_unmarked": form(
        Said(f'{{"name": "look_up", "parameters": {LOOKS}}}\n</a>', calls=(LOOK,)),
        Said("Dry.</a>", content="Dry."),
        tools__section_start="",
        tools__per_call_start="",
        tools__arguments_field="parameters",
        tools__supports_parallel_calls=False,
    ),
    "json_unmarked_behind_content": form(
        whole(
            f'A {{"name": "x"}}: Dry.{{"name": "look_up", "arguments": {LOOKS}}}\n'
            f'{{"name": "say", "arguments": {SAYS}}}</a>',
            content='A {"name": "x"}: Dry.',
        ),
        Said('{"name": "say", "arguments": ' + SAYS + "}</a>", calls=(SAY,)),
        tools__behind_content=True,
    ),
    "json_list_unmarked": form(
        Said(
            f'[{{"name": "look_up", "arguments": {LOOKS}}}, '
            f'{{"name": "say", "arguments": {SAYS}}}]</a>',
            calls=(LOOK, SAY),
        ),
        Said("Dry.</a>", content="Dry."),
        tools__array_wrapped=True,
        tools__section_start="",
        tools__per_call_start="",
    ),
    "python_dictionaries": form(
        whole(
            f"Dry.<call>{ {'name': LOOK[0], 'arguments': LOOK[1]} }</call>"
            f"<call>{ {'name': SAY[0], 'arguments': SAY[1]} }</call></a>"
        ),
        tools__format="JSON_NATIVE",
        arguments__python_literals=True,
    ),
    "arguments_given_as_text": form(
        whole(
            f'Dry.<do>{{"name": "look_up", "arguments": {LOOKS}}}</do>\n'
            f'<do>{{"name": "say", "arguments": {SAYS}}}</do>\n</a>'
        ),
        tools__arguments_as_text=False,
        tools__per_call_start="<do>",
        content__requires_nonnull=True,
    ),
    "system_message_wanted": form(
        whole(
            f'Dry.<c>{{"name": "look_up", "arguments": {LOOKS}}}</c>'
            f'<c>{{"name": "say", "arguments": {SAYS}}}</c></a>'
        ),
        tools__per_call_start="<c>",
        tools__per_call_end="</c>",
    ),
    "calls_inside_content": form(
        whole(
            f'<mind>hm</mind><say>Dry.<acts>[{{"name": "look_up", "arguments": {LOOKS}}}, '
            f'{{"name": "say", "arguments": {SAYS}}}]</acts></say></a>',
            "hm",
        ),
        content__mode="ALWAYS_WRAPPED",
        content__start="<say>",
        content__end="</say>",
        tools__section_start="<acts>",
        tools__section_end="</acts>",
    ),
    "calls_behind_the_end_of_a_turn": form(
        whole(
            f'Dry.</a>call:<b>{{"name": "look_up", "arguments": {LOOKS}}}'
            f'</a>call:<b>{{"name": "say", "arguments": {SAYS}}}</a>'
        ),
        turn__ends=("</a>",),
    ),
    # Names outside of JSON arguments.
    "name_and_json_in_tags": form(
        whole(f"Dry.<do=look_up>{LOOKS}</do><do=say>{SAYS}</do></a>"),
        tools__format="TAG_WITH_JSON",
        function__name_prefix="<do=",
        function__name_suffix=">",
        function__close="</do>",
    ),
    "name_and_json_on_lines": form(
        whole(
            f"Dry.\nAction: look_up\nAction Input: {LOOKS}\n"
            f"\nAction: say\nAction Input: {SAYS}\n</a>"
        ),
        function__name_prefix="\nAction: ",
        function__name_suffix="\nAction Input: ",
    ),
    "one_call_at_most": form(
        whole(f"Dry.<c>look_up<j>{LOOKS}</a>", calls=(LOOK,)),
        tools__per_call_start="<c>",
        function__name_suffix="<j>",
        tools__supports_parallel_calls=False,
    ),
    "name_id_and_json": form(
        whole(
            "<thoughts>hm</thoughts>Dry.<|calls_start|>"
            f"<|call_start|>look_up<|call_id|>c:0<|call_args|>{LOOKS}<|call_stop|>"
            f"<|call_start|>say<|call_id|>c:1<|call_args|>{SAYS}<|call_stop|>"
            "<|calls_stop|><|im_stop|>",
            "hm",
            ids=("c:0", "c:1"),
        ),
        call_id__position="BETWEEN_FUNC_AND_ARGS",
        call_id__prefix="<|call_id|>",
        call_id__suffix="<|call_args|>",
        tools__section_start="<|calls_start|>",
    ),
    "id_and_name_in_one_tag": form(
        whole(
            f'Dry.<call id="c1" name="look_up">{LOOKS}</call>'
            f'<call id="c2" name="say">{SAYS}</call></a>',
            ids=("c1", "c2"),
        ),
        call_id__position="PRE_FUNC_NAME",
        call_id__suffix='" name="',
    ),
    "id_behind_the_arguments": form(
        whole(
            f"Dry.<call>look_up<args>{LOOKS}<id>c1</call><call>say<args>{SAYS}<id>c2</call></a>",
            ids=("c1", "c2"),
        ),
        call_id__position="POST_ARGS",
        call_id__prefix="<id>",
    ),
    "own_quotes": form(
        whole(
            "<hidden>\nhm\n</hidden>Dry.<do>call:look_up{city:<q>Ghent<q>,days:3}</do>"
            "<do>call:say{text:<q>Hi <b><q>}</do></turn>\n",
            "hm",
        ),
        arguments__quote="<q>",
        function__name_prefix="call:",
    ),
    "recipients": form(
        whole(f"all\nDry.@@look_up\n{LOOKS}@@say\n{SAYS}</a>"),
        content__start="@@all\n",
        function__name_prefix="@@",
        turn__generation_prompt="<a>@@",
    ),
    # Arguments in their own tags.
    "tagged_arguments": form(
        whole(
            "hm\n</mull>\nDry.\n<act>\n<function=look_up>\n<parameter=city>\nGhent\n</parameter>\n"
            "<parameter=days>\n3\n</parameter>\n</function>\n</act>"
            "\n<act>\n<function=say>\n<parameter=text>\nHi <b>\n</parameter>\n</function>\n</act>"
            "<|tail|>\n",
            "hm",
        ),
        tools__format="TAG_WITH_TAGGED",
        tools__per_call_start="<act>\n",
        function__name_prefix="<function=",
        function__close="</function>\n",
        arguments__name_prefix="<parameter=",
        arguments__value_suffix="\n</parameter>\n",
        reasoning__mode="FORCED_OPEN",
    ),
    "keys_and_values_in_tags": form(
        whole(
            "<reason>hm</reason>\nDry.\n<use>look_up\n<key>city</key>\n<value>Ghent</value>"
            "\n<key>days</key>\n<value>3</value>\n</use>"
            "\n<use>say\n<key>text</key>\n<value>Hi <b></value>\n</use>",
            "hm",
        ),
        tools__format="TAG_WITH_TAGGED",
        arguments__name_prefix="<key>",
        arguments__name_suffix="</key>\n",
        arguments__value_prefix="<value>",
        reasoning__mode="TAG_BASED",
    ),
    "tags_that_tell_types": form(
        whole(
            'Dry.\n\n<|X|calls>\n<|X|invoke name="look_up">\n'
            '<|X|arg name="city" string="true">Ghent</|X|arg>\n'
            '<|X|arg name="days" string="false">3</|X|arg>\n</|X|invoke>\n'
            '<|X|invoke name="say">\n<|X|arg name="text" string="true">Hi <b></|X|arg>\n'
            "</|X|invoke>\n</|X|calls></a>"
        ),
        arguments__name_suffix='" string="true">',
        arguments__literal_name_suffix='" string="false">',
    ),
    "functions_closed_by_name": form(
        whole(f"Dry.<run=look_up>{LOOKS}</run=look_up>\n<run=say>{SAYS}</run=say>\n</a>"),
        tools__format="TAG_WITH_JSON",
        function__close="</run=",
        function__close_suffix=">\n",
    ),
    "names_as_tags": form(
        whole(
            "Dry.<calls>\n<look_up>\n<city>Ghent</city>\n<days>3</days>\n</look_up>\n"
            "<say>\n<text>Hi <b></text>\n</say>\n</calls><|z|>"
        ),
        function__name_prefix="<",
        function__close="</",
        function__close_suffix=">\n",
        arguments__key_suffix=">\n",
    ),
    "arguments_marked_by_type": form(
        whole(
            'Dry.<do f="look_up"><s k="city">Ghent</s><n k="days">3</n></do>'
            '<do f="say"><s k="text">Hi <b></s></do></a>'
        ),
        arguments__name_prefix='<s k="',
        arguments__alternatives=(
            *("integer number", '<n k="', '">', "</n>"),
            *("boolean null array object", '<j k="', '">', "</j>"),
        ),
    ),
    "types_before_names": form(
        whole(
            'Dry.<do f="look_up"><in type=str name=city>Ghent</in><in type=int name=days>3</in>'
            '</do><do f="say"><in type=str name=text>Hi <b></in></do></a>'
        ),
        arguments__name_prefix="<in type=",
        arguments__type_suffix=" name=",
        arguments__type_first=True,
    ),
    "strings_in_quotes_of_their_own": form(
        whole(
            'Dry.<do f="look_up"><in k="city"><![RAW[Ghent]]></in><in k="days">3</in></do>'
            '<do f="say"><in k="text"><![RAW[Hi <b>]]></in></do></a>'
        ),
        arguments__escape_start="<![RAW[",
        arguments__escape_end="]]>",
        arguments__alternatives=(),
    ),
    "values_in_attributes": form(
        whole('Dry.<do f="look_up" city="Ghent" days="3"/><do f="say" text="Hi <b>"/></a>'),
        Said(
            '<do f="say" text="a "b" c"/><do f="say"/></a>',
            calls=(("say", {"text": 'a "b" c'}), ("say", {})),
            issues=("ambiguous_marker",),
        ),
        function__name_suffix='"',
        arguments__name_prefix=" ",
        arguments__name_suffix='="',
    ),
    "calls_in_fences": form(
        whole(
            f'Dry.\n```json\n{{"name": "look_up", "arguments": {LOOKS}}}\n```'
            f'\n```json\n{{"name": "say", "arguments": {SAYS}}}\n```</a>'
        ),
        Said(
            'So:\n```json\n{"name": "left-pad", "version": "1.0"}\n```\nIs it?</a>',
            content='So:\n```json\n{"name": "left-pad", "version": "1.0"}\n```\nIs it?',
        ),
        tools__per_call_start="```json\n",
        tools__per_call_end="\n```",
    ),
    "calls_in_lines": form(
        whole(
            'Dry.<call>\nname: look_up\narguments:\n  city: "Ghent"\n  days: 3\n</call>'
            '<call>\nname: say\narguments:\n  text: "Hi <b>"\n</call></a>'
        ),
        arguments__value_suffix="\n",
        arguments__quoted_strings=True,
    ),
    "all_in_own_quotes": form(
        whole(
            "Dry.<do>look_up{city:<q>Ghent<q>,days:<q>3<q>}</do><do>say{text:<q>Hi <b><q>}</do></a>"
        ),
        tools__format="TAG_WITH_TAGGED",
        arguments__name_prefix="",
        arguments__value_suffix="<q>",
        arguments__separator=",",
    ),
    "values_that_nothing_ends": form(
        whole(
            "Dry.<|do|>look_up<|key|>city<|is|>Ghent<|key|>days<|is|>3"
            "<|do|>say<|key|>text<|is|>Hi <b></a>"
        ),
        arguments__value_suffix="",
    ),
    "functions_in_a_section": form(
        whole(f"Dry.<|do|>look_up({LOOKS}); say({SAYS})<|/do|></a>"),
        tools__section_start="<|do|>",
        tools__separator="; ",
        function__name_suffix="(",
        arguments__end=")",
    ),
    # Calls in Python.
    "python_list_in_markers": form(
        whole('Dry.<|do|>[look_up(city="Ghent", days=3), say(text="Hi <b>")]<|/do|></a>'),
        tools__format="PYTHONIC",
        tools__section_start="<|do|>",
        tools__array_wrapped=True,
    ),
    "python_lines_in_markers": form(
        whole("Dry.<calls>look_up(city='Ghent', days=3)\nsay(text='Hi <b>')</calls></a>"),
        tools__format="PYTHONIC",
        tools__section_start="<calls>",
        tools__array_wrapped=False,
    ),
    "python_unmarked": form(
        Said("[look_up(city='Ghent', days=3), say(text='Hi <b>')]</a>", calls=(LOOK, SAY)),
        Said("Dry.</a>", content="Dry."),
        tools__format="PYTHONIC",
        tools__section_start="",
    ),
    "python_unmarked_behind_content": form(
        whole(
            "A [list] of (1): Dry.\n[look_up(city='Ghent', days=3), say(text='Hi <b>')]</a>",
            content="A [list] of (1): Dry.",
        ),
        Said("[say(text='Hi <b>')]</a>", calls=(SAY,)),
        tools__behind_content=True,
        tools__content_separator="\n",
    ),
    # Messages with headers.
    "channels": form(
        whole(
            "<|channel|>musing<|body|>hm<|close|><|open|>assistant<|channel|>reply<|body|>Dry."
            "<|close|><|open|>assistant to=functions.look_up<|channel|>work json<|body|>"
            f"{LOOKS}<|run|><|open|>assistant<|channel|>work to=functions.say<|body|>{SAYS}<|run|>",
            "hm",
        ),
        channels__start="<|open|>",
        channels__channel="<|channel|>",
        channels__message="<|body|>",
        channels__recipient=" to=",
        channels__reasoning=("musing",),
        function__namespace="functions.",
    ),
    "channels_with_one_end": form(
        whole(
            "<|channel|>musing<|body|>hm<|close|><|open|>assistant<|channel|>reply<|body|>Dry."
            "<|close|><|open|>assistant to=functions.look_up<|channel|>work json<|body|>"
            f"{LOOKS}<|run|><|open|>assistant<|channel|>work to=functions.say<|body|>{SAYS}<|run|>",
            "hm",
        ),
        turn__ends=("<|close|>",),
        turn__several_messages=True,
        channels__ends=("<|close|>", "<|run|>"),
    ),
    "channels_without_a_system_message": form(
        whole(
            "<part>mull<text>hm<stop>"
            f"<go>model to fn.look_up<part>work<text>{LOOKS}<act>"
            f"<go>model to fn.say<part>work<text>{SAYS}<act>"
            "<go>model<part>say<text>Dry.<done>",
            "hm",
        ),
        channels__start="<go>",
        channels__recipient=" to ",
        channels__reasoning=("mull",),
        function__namespace="fn.",
    ),
    "recipients_in_headers": form(
        whole(
            " for=me<|txt|>hm<run:calls><|more|><|msg|>model for=reader<|txt|>Dry.<|more|>"
            '<|msg|>model for=look_up<|txt|><run:calls>\n<run:invoke name="look_up">\n'
            '<run:arg name="city">Ghent</run:arg>\n<run:arg name="days">3</run:arg>\n'
            "</run:invoke>\n</run:calls><|more|>"
            '<|msg|>model for=say<|txt|><run:calls>\n<run:invoke name="say">\n'
            '<run:arg name="text">Hi <b></run:arg>\n</run:invoke>\n</run:calls><|fin|>',
            "hm<run:calls>",
        ),
        Said(
            ' for=reader<|txt|>The tag <run:calls>\n<run:invoke name="say">.<|fin|>',
            content='The tag <run:calls>\n<run:invoke name="say">.',
        ),
        tools__format="TAG_WITH_TAGGED",
        tools__per_call_start="<run:calls>\n",
        channels__channel="",
        channels__recipient=" for=",
        channels__reasoning=("me",),
        channels__readers=("reader",),
    ),
    "recipients_of_json": form(
        whole(
            " @self<|txt|>hm<|more|><|msg|>model @you<|txt|>Dry.<|more|>"
            f"<|msg|>model @look_up<|txt|>{LOOKS}<|more|><|msg|>model @say<|txt|>{SAYS}<|fin|>",
            "hm",
        ),
        channels__channel="",
        channels__recipient=" @",
        channels__reasoning=("self",),
        channels__readers=("you",),
    ),
    "content_and_calls_in_messages": form(
        whole(
            f'Dry.</msg><msg by="model"><call name="look_up">{LOOKS}</call></msg>'
            f'<msg by="model"><call name="say">{SAYS}</call></msg>'
        ),
        turn__several_messages=True,
        tools__separator='</msg><msg by="model">',
        tools__supports_parallel_calls=True,
        function__name_prefix='<call name="',
    ),
    "members_that_say_nothing": form(
        whole(
            'Dry.<do>{"type": "tool_use", "v": 2, "at": 1, "id": "k1", "name": "look_up", '
            f'"input": {LOOKS}, "by": {{"kind": "direct"}}}}</do>'
            '<do>{"type": "tool_use", "v": 2, "at": 2, "id": "k2", "name": "say", '
            f'"input": {SAYS}, "by": {{"kind": "direct"}}}}</do></a>\n',
            ids=("k1", "k2"),
        ),
        tools__constants=("type", '"tool_use"', "v", "2", "at", "", "by", '{"kind": "direct"}'),
    ),
    "messages_with_one_end": form(
        whole(
            "/think\nhm<|end|>\n<|im|>assistant/say\nDry.<|end|>\n"
            f"<|im|>assistant/call:look_up\n{LOOKS}<|end|>\n"
            f"<|im|>assistant/call:say\n{SAYS}<|end|>\n",
            "hm",
        ),
        reasoning__end="<|end|>\n<|im|>assistant",
        turn__ends=("<|end|>\n",),
    ),
    "elements_in_a_call": form(
        whole(
            "Dry.<call><name>look_up</name><with><city>Ghent</city><days>3</days></with></call>"
            "<call><name>say</name><with><name>Bo</name></with></call><|z|>\n",
            calls=(LOOK, ("say", {"name": "Bo"})),
        ),
        function__name_prefix="<name>",
        arguments__key_suffix=">",
    ),
    "calls_without_a_header": form(
        Said(
            f'<|tool_calls|>\n{{"name": "look_up", "arguments": {LOOKS}}}\n'
            f'{{"name": "say", "arguments": {SAYS}}}\n<|end|>\n',
            calls=(LOOK, SAY),
        ),
        tools__section_start="<|tool_calls|>\n",
        turn__headers=("<|assistant|>\n",),
    ),
    "sections_in_lines": form(
        whole(
            "<|mind|>\nhm\n<|voice|>\nDry.\n"
            f'<|hand|>\n{{"id": "1", "name": "look_up", "arguments": {LOOKS}}}\n'
            f'<|hand|>\n{{"id": "2", "name": "say", "arguments": {SAYS}}}\n<|over|>\n',
            "hm",
            ids=("1", "2"),
        ),
        Said("<|voice|>\nDry.\n<|over|>\n", content="Dry."),
        Said("<|mind|>\nhm\n<|voice|>\nDry.", "hm", "Dry."),
        content__mode="ALWAYS_WRAPPED",
        content__start="<|voice|>\n",
        reasoning__end="\n<|voice|>\n",
        tools__id_field="id",
    ),
    "sections_that_the_next_one_ends": form(
        whole(
            "<|thoughts|>hm<|response|>Dry."
            f'<|actions|>[{{"name": "look_up", "arguments": {LOOKS}}}, '
            f'{{"name": "say", "arguments": {SAYS}}}]<|end|>',
            "hm",
        ),
        Said("<|response|>Dry.<|end|>", content="Dry."),
        Said(
            f'<|thoughts|>hm<|actions|>[{{"name": "say", "arguments": {SAYS}}}]<|end|>',
            "hm",
            calls=(SAY,),
        ),
        content__mode="ALWAYS_WRAPPED",
        content__start="<|response|>",
        tools__section_start="<|actions|>",
    ),
    # Positions of reasoning.
    "reasoning_forced_open": form(
        Said("hm[/mind]Dry.</a>", "hm", "Dry."),
        reasoning__mode="FORCED_OPEN",
        reasoning__start="[mind]\n",
        reasoning__end="[/mind]",
    ),
    "reasoning_forced_closed": form(
        Said("Dry.</a>", "", "Dry."),
        Said("[mind]hm[/mind]Dry.</a>", "hm", "Dry."),
        reasoning__mode="FORCED_CLOSED",
        turn__generation_prompt="<a>[mind][/mind]",
    ),
    "reasoning_switched_by_the_user": form(
        Said("hm[/mind]Dry.</a>", "hm", "Dry."),
        reasoning__mode="FORCED_CLOSED",
        turn__generation_prompt="<a>[mind]",
    ),
    "reasoning_dropped_from_history": form(
        whole(
            "hm\n</musing>Dry.<|Calls|><|Call|>function<|sep|>look_up\n"
            f"```json\n{LOOKS}\n```<|/Call|>\n<|Call|>function<|sep|>say\n"
            f"```json\n{SAYS}\n```<|/Call|><|/Calls|><|/Assistant|>",
            "hm\n",
        ),
        reasoning__mode="FORCED_OPEN",
        reasoning__end="</musing>",
        function__name_prefix="function<|sep|>",
        arguments__end="\n```",
    ),
    "reasoning_cut_from_history": form(
        whole(
            f'<mull>hm</mull>Dry.<do>{{"name": "look_up", "with": {LOOKS}}}</do>'
            f'<do>{{"name": "say", "with": {SAYS}}}</do></a>',
            "hm",
        ),
        Said("Dry.</a>", content="Dry."),
        reasoning__mode="TAG_BASED",
        reasoning__start="<mull>",
        reasoning__end="</mull>",
    ),
    "reasoning_up_to_a_delimiter": form(
        Said("hm\n=== ANSWER ===\nDry.</a>", "hm", "Dry."),
        reasoning__mode="DELIMITER",
        reasoning__start="",
        reasoning__end="\n=== ANSWER ===\n",
    ),
    "reasoning_beside_calls_only": form(
        Said(
            f'<act>[{{"number": "0", "tool": "look_up", "input": {LOOKS}}},'
            f'{{"number": "1", "tool": "say", "input": {SAYS}}}]</act>\n</a>',
            calls=(LOOK, SAY),
        ),
        Said("<say>Dry.</say></a>", content="Dry."),
        reasoning__mode="TOOLS_ONLY",
        reasoning__start="<plan>",
        content__mode="ALWAYS_WRAPPED",
        tools__generated_id_field="number",
        turn__generation_prompt="\n<a><plan></plan>",
    ),
    "reasoning_as_a_part_of_content": form(
        Said("[MULL]hm[/MULL]Dry.</a>", "hm", "Dry."),
        reasoning__start="[MULL]",
        reasoning__end="[/MULL]",
    ),
    "reasoning_under_a_switch": form(
        whole(
            f'Dry.<act>{{"name": "look_up", "arguments": {LOOKS}}}</act>'
            f'<act>{{"name": "say", "arguments": {SAYS}}}</act><|stop|>'
        ),
        reasoning__mode="FORCED_OPEN",
        reasoning__start="<mull>",
        reasoning__end="</mull>",
        turn__headers=("<|model|>",),
        turn__generation_prompt="<|model|></mull>",
    ),
    "reasoning_in_several_markers": form(
        whole(
            f'<plan>hm</mull></plan>Dry.<fc>{{"name": "look_up", "arguments": {LOOKS}}}</fc>'
            f'<fc>{{"name": "say", "arguments": {SAYS}}}</fc><|eot|>',
            "hm</mull>",
        ),
        Said("<mull>hm</mull>Dry.<|eot|>", "hm", "Dry."),
        Said("<deep>\nhm\n</deep>\nDry.<|eot|>", "hm", "Dry."),
        reasoning__start="<mull>",
        reasoning__end="</mull>",
        reasoning__alternatives=("<plan>", "</plan>", "<deep>\n", "\n</deep>\n"),
    ),
    "reasoning_ended_in_the_instructions": form(
        Said("hm</reflect>Dry.</a>", "hm", "Dry."),
        reasoning__mode="FORCED_OPEN",
        reasoning__start="<reflect>\n",
        reasoning__end="</reflect>",
    ),
    "reasoning_closed_by_its_name": form(
        Said("hm</reflect>Dry.</a>", "hm", "Dry."),
        reasoning__mode="FORCED_OPEN",
        reasoning__end="</reflect>",
        issues=(CLOSED_BY_NAME.format(start="<reflect>", end="</reflect>"),),
    ),
    "reasoning_opened_only": form(
        Said("hm<|/reflect|>Dry.</a>", content="hm<|/reflect|>Dry."),
        reasoning__mode="NONE",
        issues=(OPENED_ONLY.format(rest="<|reflect|>"),),
    ),
    "reasoning_opened_or_ended": form(
        whole(
            f"Dry.<|calls|><|call|>look_up<|with|>{LOOKS}<|/call|>"
            f"<|call|>say<|with|>{SAYS}<|/call|><|/calls|><|over|>",
        ),
        Said("<mind>hm</mind>Dry.<|over|>", "hm", "Dry."),
        reasoning__start="<mind>",
        reasoning__end="</mind>",
        turn__generation_prompt="<|me|></mind>",
        tools__section_start="<|calls|>",
    ),
    "switch_before_the_header": form(
        whole(
            f'<muse>\nhm\n</muse>\nDry.<run>\n{{"name": "look_up", "arguments": {LOOKS}}}\n</run>'
            f'<run>\n{{"name": "say", "arguments": {SAYS}}}\n</run><|over|>',
            "hm",
        ),
        Said("Dry.<|over|>", content="Dry."),
        reasoning__mode="FORCED_CLOSED",
        reasoning__start="\n<muse>\n",
        reasoning__end="\n</muse>\n",
        turn__headers=(" Me:",),
    ),
    "arguments_in_indented_lines": form(
        whole(
            "Dry.<use look_up>\n  <with city>Ghent</with>\n  <with days>3</with>\n</use>"
            "<use say>\n  <with text>Hi <b></with>\n</use><|over|>"
        ),
        Said("<use look_up>\n</use><|over|>", calls=(("look_up", {}),)),
        function__name_suffix=">\n",
        arguments__start="",
        arguments__name_prefix="  <with ",
    ),
    # The ends of turns.
    "calls_with_an_end_of_their_own": form(
        whole(
            "\nDry.<|/msg|>\n<|msg|>bot -> tools\n"
            f'[{{"name": "look_up", "arguments": {LOOKS}}}, {{"name": "say", "arguments": {SAYS}}}]'
            "<|/msg|><|wait|>\n"
        ),
        Said("\nDry.<|/msg|><|over|>\n", content="Dry."),
        tools__section_start="-> tools\n",
        tools__section_end="",
        turn__ends=("<|/msg|><|over|>\n", "<|/msg|><|wait|>\n", "<|/msg|>"),
    ),
    "last_turn_with_another_end": form(
        whole('Dry.<|do|>[look_up(city="Ghent", days=3), say(text="Hi <b>")]<|/do|><|next|>\n'),
        whole('Dry.<|do|>[look_up(city="Ghent", days=3), say(text="Hi <b>")]<|/do|><|end|>'),
        turn__ends=("<|next|>\n", "<|end|>"),
    ),
    # Whitespace at the edges.
    "space_behind_the_header": form(
        Said(" Dry.<over>\n", content="Dry."),
        Said("Dry.", content="Dry."),
        content__start=" ",
        turn__headers=("MODEL:",),
        turn__ends=("<over>\n",),
    ),
    "prompt_with_other_space": form(
        whole(
            f"Dry.<call:look_up>{LOOKS}</call><call:say>{SAYS}</call><|end|>",
        ),
        reasoning__mode="FORCED_CLOSED",
        reasoning__start="<muse>",
        function__name_prefix="<call:",
        turn__headers=("<|me|>",),
    ),
    # Calls rendered in some messages only.
    "calls_beside_null_only": form(
        Said(
            f"<go>look_up<with>{LOOKS}</go><go>say<with>{SAYS}</go></a>",
            calls=(LOOK, SAY),
        ),
        tools__per_call_start="<go>",
        function__name_suffix="<with>",
    ),
    "calls_beside_content_only": form(
        whole(
            f'Dry.<do id="1" fn="look_up">{LOOKS}</do><do id="2" fn="say">{SAYS}</do></a>',
            ids=("1", "2"),
        ),
        call_id__position="PRE_FUNC_NAME",
        call_id__suffix='" fn="',
    ),
    "names_in_ids": form(
        whole(
            f"Dry.<|runs|><|run|>functions.look_up:0<|args|>{LOOKS}<|/run|>"
            f"<|run|>functions.say:1<|args|>{SAYS}<|/run|><|/runs|></a>",
            ids=("functions.look_up:0", "functions.say:1"),
        ),
        call_id__holds_name=True,
        function__namespace="functions.",
        tools__section_start="<|runs|>",
    ),
    # Unusual tags.
    "elements_in_elements": form(
        whole(
            'Dry.~}sig{~<jobs>\n~}sig{~<job of="look_up">~}sig{~<city>Ghent~}sig{~</city>'
            "~}sig{~<days>3~}sig{~</days>~}sig{~</job>\n"
            '~}sig{~<job of="say">~}sig{~<text>Hi <b>~}sig{~</text>~}sig{~</job>\n'
            "~}sig{~</jobs><|z|>\n"
        ),
        Said(
            '~}sig{~<jobs>\n~}sig{~<job of="look_up">~}sig{~<stops>~}sig{~<entry>1~}sig{~</entry>'
            "~}sig{~<entry>~}sig{~<at>Ghent~}sig{~</at>~}sig{~</entry>~}sig{~</stops>"
            "~}sig{~</job>\n~}sig{~</jobs><|z|>\n",
            calls=(("look_up", {"stops": [1, {"at": "Ghent"}]}),),
        ),
        arguments__name_prefix="~}sig{~<",
        arguments__value_suffix="~}sig{~</",
        arguments__key_suffix=">",
        arguments__item="entry",
    ),
    "generic_brackets": form(
        whole(
            "hm<!off!>musing<!/!><!on!>reply<!/!>Dry.<!off!>reply<!/!><!on!>works<!/!>"
            '<!on!>work name="look_up" number="1"<!/!>'
            '<!on!>given name="city" kind="string"<!/!>Ghent<!off!>given<!/!>'
            '<!on!>given name="days" kind="number"<!/!>3<!off!>given<!/!><!off!>work<!/!>'
            '<!on!>work name="say" number="2"<!/!>'
            '<!on!>given name="text" kind="string"<!/!>Hi <b><!off!>given<!/!><!off!>work<!/!>'
            "<!off!>works<!/!><!off!>turn<!/!>",
            "hm",
            ids=("1", "2"),
        ),
        reasoning__mode="FORCED_OPEN",
        reasoning__end="<!off!>musing<!/!>",
        content__mode="ALWAYS_WRAPPED",
        content__start="<!on!>reply<!/!>",
        function__name_prefix='<!on!>work name="',
        call_id__position="BETWEEN_FUNC_AND_ARGS",
        arguments__type_suffix='"<!/!>',
    ),
    "escaped_values": form(
        whole(
            'Dry.<do name="look_up"><in name="city">Ghent</in><in name="days">3</in></do>'
            '<do name="say"><in name="text"><!RAW[Hi <b>]!></in></do></a>'
        ),
        arguments__escape_start="<!RAW[",
        arguments__escape_end="]!>",
    ),
    # Python calls damaged by the template.
    "python_without_escapes": form(
        whole('Dry.<|py|>[look_up(city="Ghent", days=3), say(text="Hi <b>")]<|/py|></a>'),
        tools__format="PYTHONIC",
        issues=(f"the template writes quotes in strings without escaping them: {LEFT_OUT}",),
    ),
    "python_without_quotes": form(
        whole('Dry.<|py|>[look_up(city="Ghent", days=3), say(text="Hi <b>")]<|/py|></a>'),
        tools__format="PYTHONIC",
        issues=(f"the template writes strings without quotes: {LEFT_OUT}",),
    ),
    "python_all_quoted": form(
        whole('Dry.<|py|>[look_up(city="Ghent", days=3), say(text="Hi <b>")]<|/py|></a>'),
        tools__format="PYTHONIC",
        issues=(
            f"the template writes quotes in strings without escaping them: {LEFT_OUT}",
            f"the template writes numbers as strings: {LEFT_OUT}",
        ),
    ),
    # Content in markers.
    "content_begun_in_the_prompt": form(
        Said("Dry.<|/answer|><|/turn|>", content="Dry."),
        Said("Dry.<|/answer|>", content="Dry."),
        Said("Dry.", content="Dry."),
        tools__format="NONE",
        turn__headers=("<|turn|><|bot|><|answer|>",),
        turn__ends=("<|/answer|><|/turn|>", "<|/turn|>", "<|/answer|>"),
    ),
    "wrapped_content": form(
        Said(
            "<|START_PLAN|>hm<|END_PLAN|><|START_CALLS|>[\n"
            f'    {{"call_number": "0", "tool": "look_up", "input": {LOOKS}}},\n'
            f'    {{"call_number": "1", "tool": "say", "input": {SAYS}}}\n]<|END_CALLS|>',
            "hm",
            calls=(LOOK, SAY),
        ),
        Said("<|START_ANSWER|>Dry.<|END_ANSWER|><|END_TURN|>", content="Dry."),
        content__mode="ALWAYS_WRAPPED",
        content__start="<|START_ANSWER|>",
        reasoning__mode="TOOLS_ONLY",
        reasoning__start="<|START_PLAN|>",
        tools__name_field="tool",
        tools__arguments_field="input",
    ),
    "content_wrapped_beside_reasoning": form(
        Said("<mind>hm</mind><say>Dry.</say></a>", "hm", "Dry."),
        Said("The tag <say> says it.</a>", content="The tag <say> says it."),
        content__mode="WRAPPED_WITH_REASONING",
        content__start="<say>",
    ),
    "content_wrapped_beside_calls": form(
        Said(
            f'<|aside|>Dry.<|/aside|>{{"name": "look_up", "arguments": {LOOKS}}}'
            f'{{"name": "say", "arguments": {SAYS}}}<|over|>',
            content="Dry.",
            calls=(LOOK, SAY),
        ),
        Said(
            f'<|aside|><|/aside|>{{"name": "say", "arguments": {SAYS}}}<|over|>',
            calls=(SAY,),
        ),
        Said(f'<|aside|>{{"name": "say", "arguments": {SAYS}}}<|/aside|><|over|>', calls=(SAY,)),
        Said("Dry.<|over|>", content="Dry."),
        content__mode="WRAPPED_WITH_CALLS",
        content__start="<|aside|>",
    ),
    # Information missing in a template.
    "reasoning_asked_for": form(
        Said("<muse>hm</muse><reply>Dry.</reply></a>", "hm", "Dry."),
        reasoning__start="<muse>",
        content__start="<reply>",
        issues=("muse requests reasoning between <muse> and </muse>, but it is never rendered",),
    ),
    "calls_not_shown": form(
        Said("Dry.</a>", content="Dry."),
        tools__format="NONE",
        tools__supports_tools=True,
        issues=(not_rendered(NOT_READ),),
    ),
    "calls_described": form(
        Said("Dry.</assistant>", content="Dry."),
        tools__format="NONE",
        tools__supports_tools=True,
        issues=(not_rendered(NOT_READ),),
    ),
    "calls_described_to_the_system": form(
        Said("Dry.</assistant>", content="Dry."),
        tools__format="NONE",
        tools__supports_tools=True,
        issues=(not_rendered(NOT_READ),),
    ),
    "calls_in_spoilt_json": form(
        Said("Dry.<|over|>", content="Dry."),
        tools__format="NONE",
        issues=(
            NOT_UNDERSTOOD.format(shown='<do>{"name": "NAME, "arguments": {"KEY": "VALUE"}"}</do>'),
        ),
    ),
    "calls_in_prose": form(
        Said("Dry.\nI do say text Hi</a>", content="Dry.\nI do say text Hi"),
        tools__format="NONE",
        tools__supports_tools=True,
        issues=(NOT_UNDERSTOOD.format(shown="I do NAME KEY VALUE"),),
    ),
}


def unusual(fmt):
    """Return the fields of a format that differ from the defaults, by group."""
    found, usual = json.loads(fmt.to_json()), json.loads(WireFormat().to_json())
    groups = {}
    for group, values in found.items():
        if values != usual[group]:
            groups[group] = values
        if isinstance(values, dict) and group in groups and usual[group]:
            of = usual[group]
            groups[group] = {key: values[key] for key in values if values[key] != of.get(key)}
    return groups


def test_each_template_has_its_row():
    assert sorted(FORMS) == sorted(SOURCES)


@pytest.mark.parametrize("name", FORMS)
def test_analysis_finds_and_verifies_the_form(name):
    fmt, found = analyze(SOURCES[name]), FORMS[name]
    assert {key: getattr(getattr(fmt, key[0]), key[1]) for key in found.finds} == found.finds
    assert fmt.issues == found.issues
    assert fmt.verified is not bool(found.issues)
    assert WireFormat.from_json(fmt.to_json()) == fmt
    assert unusual(fmt) == json.loads(FOUND.read_text(encoding="utf-8"))[name]
    assert not [probe for probe in PROBE_TEXTS if probe in fmt.to_json()]


STRICT = """{% for m in messages -%}
{% if m.tool_calls and (loop.last or loop.nextitem.role != "tool") -%}
{{ raise_exception("results must follow calls") }}
{%- endif %}{% endfor %}"""
"""The start of a template that rejects conversations with unanswered calls."""

PARTS = ("turn", "reasoning", "content", "tools", "function", "arguments", "call_id", "channels")


@pytest.mark.parametrize("name", FORMS)
def test_form_is_found_if_calls_must_be_answered(name):
    fmt, strict = analyze(SOURCES[name]), analyze(STRICT + SOURCES[name])
    if fmt.tools.format is not ToolFormat.NONE:
        assert [getattr(strict, part) for part in PARTS] == [getattr(fmt, part) for part in PARTS]
        assert (strict.issues, strict.verified) == (fmt.issues, fmt.verified)


@pytest.mark.parametrize(
    ("name", "said"), [(name, said) for name, found in FORMS.items() for said in found.outputs]
)
def test_response_in_the_form_is_parsed(name, said):
    template = ChatTemplate(SOURCES[name])
    messages = [{"role": "system", "content": "Be brief."}, ASKED]
    prompt = template.render(messages, tools=TOOLS, add_generation_prompt=True)
    parser = fed(analyze(template), said.output, prompt=prompt, tools=TOOLS)
    message = parser.message

    assert (message.reasoning_content, message.content) == (said.reasoning, said.content)
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == [*said.calls]
    assert all(call.complete for call in message.tool_calls)
    assert not said.ids or [call.id for call in message.tool_calls] == [*said.ids]
    assert [issue.kind for issue in parser.issues] == [*said.issues]


if __name__ == "__main__":
    shown = []
    for name, source in sorted(SOURCES.items()):
        found = unusual(analyze(source)).items()
        groups = (f"  {json.dumps(key)}: {json.dumps(of, ensure_ascii=False)}" for key, of in found)
        shown.append(f' "{name}": {{\n' + ",\n".join(groups) + "\n }")
    FOUND.write_text("{\n" + ",\n".join(shown) + "\n}\n", encoding="utf-8")
