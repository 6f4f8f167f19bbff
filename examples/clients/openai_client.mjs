// The openai package: its accumulators of Chat Completions and of Responses, and both calls.
//
//     node openai_client.mjs [URL]
import OpenAI from "openai";

const url = process.argv[2] ?? "http://127.0.0.1:8000";
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
const parameters = { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] };
const question = { role: "user", content: "What time is it in Tokyo and in Lisbon?" };
const times = { "Asia/Tokyo": "09:00", "Europe/Lisbon": "01:00" };

// Chat Completions
let tools = [{ type: "function", function: { name: "clock", parameters } }];
const messages = [question];
const stream = client.chat.completions.stream({
  model: "mine", messages, tools, stream_options: { include_usage: true },
});
// A field that OpenAI does not have: the message at the end has the last of these only.
stream.on("chunk", ({ choices: [choice] }) => {
  if (choice?.delta.reasoning_content) console.log("reasoning", choice.delta.reasoning_content);
});
stream.on("content", (delta) => console.log("content", delta));
stream.on("tool_calls.function.arguments.done", (call) => console.log("whole", call.name));
const { choices: [{ message, finish_reason }], usage } = await stream.finalChatCompletion();
console.log(finish_reason, usage.total_tokens);

messages.push(message);
for (const call of message.tool_calls) {
  console.log("call", call.id, call.function.name, call.function.arguments);
  const content = times[JSON.parse(call.function.arguments).zone];
  messages.push({ role: "tool", tool_call_id: call.id, content });
}
const answer = await client.chat.completions.create({ model: "mine", messages, tools });
console.log(answer.choices[0].message.content);

// Responses
tools = [{ type: "function", name: "clock", parameters, strict: false }];
const response = await client.responses.stream({ model: "mine", input: [question], tools }).finalResponse();
const input = [question, ...response.output];
for (const item of response.output) {
  if (item.type === "reasoning") console.log("reasoning", item.summary[0].text);
  if (item.type !== "function_call") continue;
  console.log("call", item.call_id, item.name, item.arguments);
  const output = times[JSON.parse(item.arguments).zone];
  input.push({ type: "function_call_output", call_id: item.call_id, output });
}
console.log(response.status, response.usage.total_tokens);
console.log((await client.responses.create({ model: "mine", input, tools })).output_text);
