// What the JavaScript clients make of the streams at a URL: a line of JSON for each.
//
//     node javascript_clients.mjs URL FOLDER
//
// FOLDER has the node_modules with openai, @anthropic-ai/sdk, ai and @ai-sdk/*.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [base, folder] = process.argv.slice(2);
const require = createRequire(join(folder, "index.js"));
const load = async (name) => await import(pathToFileURL(require.resolve(name)).href);
const first = (module, name) => module[name] ?? module.default[name] ?? module.default;
globalThis.AI_SDK_LOG_WARNINGS = false;

const OpenAI = first(await load("openai"), "OpenAI");
const Anthropic = first(await load("@anthropic-ai/sdk"), "Anthropic");
const { streamText, tool, jsonSchema } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { createAnthropic } = await load("@ai-sdk/anthropic");

const messages = [{ role: "user", content: "hi" }];
const settings = { apiKey: "x", baseURL: base, maxRetries: 0 };
const openai = new OpenAI(settings);
const anthropic = new Anthropic(settings);

const clients = {
  async openai_chat() {
    const stream = openai.chat.completions.stream({ model: "m", messages });
    const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0];
    const calls = (message.tool_calls ?? []).map((c) => [c.id, c.function.name, c.function.arguments]);
    return { content: message.content ?? "", calls, reason: finish_reason };
  },
  async openai_responses() {
    const response = await openai.responses.stream({ model: "m", input: "hi" }).finalResponse();
    const made = response.output.filter((item) => item.type === "function_call");
    const calls = made.map((c) => [c.call_id, c.name, c.arguments]);
    return { content: response.output_text, calls, reason: response.status };
  },
  async anthropic() {
    const stream = anthropic.messages.stream({ model: "m", messages, max_tokens: 9 });
    const { content, stop_reason } = await stream.finalMessage();
    const texts = content.filter((block) => block.type === "text").map((block) => block.text);
    const used = content.filter((block) => block.type === "tool_use");
    const calls = used.map((c) => [c.id, c.name, c.input]);
    return { content: texts.join(""), calls, reason: stop_reason };
  },
};

const tools = { look: tool({ description: "looks", inputSchema: jsonSchema({ type: "object" }) }) };
const models = {
  ai_chat: createOpenAICompatible({ name: "x", ...settings })("m"),
  ai_responses: createOpenAI(settings).responses("m"),
  ai_anthropic: createAnthropic(settings)("m"),
};
for (const [name, model] of Object.entries(models)) {
  clients[name] = async () => {
    const found = { content: "", reasoning: "", calls: [], reason: null };
    const options = { model, prompt: "hi", tools, maxRetries: 0, maxOutputTokens: 9 };
    for await (const part of streamText({ ...options, onError() {} }).fullStream) {
      if (part.type === "text-delta") found.content += part.text;
      else if (part.type === "reasoning-delta") found.reasoning += part.text;
      else if (part.type === "tool-call") found.calls.push([part.toolCallId, part.toolName, part.input]);
      else if (part.type === "finish") found.reason = part.finishReason;
      else if (part.type === "error") throw part.error;
    }
    return found;
  };
}

for (const [name, client] of Object.entries(clients)) {
  const found = await client().catch((error) => ({ error: String(error?.message ?? error) }));
  console.log(JSON.stringify({ client: name, ...found }));
}
