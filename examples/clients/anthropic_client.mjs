// The package @anthropic-ai/sdk: blocks of thinking, text and calls, and a second turn.
//
//     node anthropic_client.mjs [URL]
import Anthropic from "@anthropic-ai/sdk";

const url = process.argv[2] ?? "http://127.0.0.1:8000";
const client = new Anthropic({ baseURL: url, apiKey: "none" });
const schema = { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] };
const tools = [{ name: "clock", input_schema: schema }];
const times = { "Asia/Tokyo": "09:00", "Europe/Lisbon": "01:00" };
const messages = [{ role: "user", content: "What time is it in Tokyo and in Lisbon?" }];
const asked = { model: "mine", max_tokens: 1000, tools };

const stream = client.messages.stream({ messages, ...asked });
stream.on("thinking", (delta) => console.log("reasoning", delta));
stream.on("text", (delta) => console.log("content", delta));
stream.on("contentBlock", (block) => {
  if (block.type === "tool_use") console.log("call", block.id, block.name, JSON.stringify(block.input));
});
const message = await stream.finalMessage();
console.log(message.stop_reason, message.usage.output_tokens);

const results = message.content
  .filter((block) => block.type === "tool_use")
  .map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: times[input.zone] }));
messages.push({ role: "assistant", content: message.content }, { role: "user", content: results });
console.log((await client.messages.create({ messages, ...asked })).content[0].text);
