"""A server in one screen: three protocols for one model, simulated here by a script.

python server.py [PORT]
"""

import json
import re
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import deltaparse as dp
from deltaparse import protocols as p

TEMPLATE = dp.ChatTemplate("""\
{%- for m in messages -%}<{{ m.role }}>
{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}
{%- for c in m.tool_calls or [] %}<use>{{ c.function | tojson }}</use>{% endfor %}</{{ m.role }}>
{%- endfor %}{% if add_generation_prompt %}<assistant>{% endif %}""")
FORMAT = dp.analyze(TEMPLATE)
CALL = '<use>{"name": "clock", "arguments": {"zone": "%s"}}</use>'
SAID = "<think>Two zones: two calls.</think>Let me look."
CALLS = SAID + CALL % "Asia/Tokyo" + CALL % "Europe/Lisbon"
ANSWER = "It is nine in Tokyo, and one in Lisbon."
USAGE = {"prompt_tokens": 30, "completion_tokens": 20, "total_tokens": 50}
PATHS = {
    "/v1/chat/completions": (p.read_chat_completions_request, p.ChatCompletions),
    # Clients display summaries, the only kind of reasoning sent by OpenAI's own models.
    "/v1/responses": (p.read_responses_request, partial(p.Responses, reasoning="summary")),
    "/v1/messages": (p.read_messages_request, p.AnthropicMessages),
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        read, protocol = PATHS[self.path.partition("?")[0]]
        request = read(body, template=TEMPLATE)
        prompt = TEMPLATE.render(request.messages, request.tools, add_generation_prompt=True)
        options = request.parser_options() | {"prompt": prompt, "id_factory": dp.random_call_id}
        chunks = re.findall(".{1,5}", ANSWER if "<tool>" in prompt else CALLS)  # from your engine
        deltas = dp.iter_deltas(chunks, FORMAT, finish_reason="stop", **options)
        machine, parser = protocol(id="id-1", model=body["model"]), deltas.parser
        streams = body.get("stream", False)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streams else "application/json")
        self.end_headers()
        if streams:
            for event in machine.events(deltas, lambda: parser.finish_reason, USAGE):
                self.wfile.write(machine.sse([event]))
        else:
            list(deltas)
            whole = machine.response(parser.message, parser.finish_reason, USAGE)
            self.wfile.write(json.dumps(whole).encode())


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int((sys.argv[1:] or [8000])[0])), Handler).serve_forever()
