// Vercel's AI SDK: it runs the calls itself, over all three protocols.
//
//     node ai_sdk_client.mjs [URL]
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";

globalThis.AI_SDK_LOG_WARNINGS = false;
const url = process.argv[2] ?? "http://127.0.0.1:8000";
const settings = { name: "mine", baseURL: `${url}/v1`, apiKey: "none" };
const times = { "Asia/Tokyo": "09:00", "Europe/Lisbon": "01:00" };
const clock = tool({
  description: "The time in a zone.",
  inputSchema: jsonSchema({ type: "object", properties: { zone: { type: "string" } }, required: ["zone"] }),
  execute: async ({ zone }) => times[zone],
});

const models = [
  createOpenAICompatible(settings)("mine"),
  createOpenAI(settings).responses("mine"),
  createAnthropic(settings)("mine"),
];
for (const model of models) {
  const { fullStream } = streamText({
    model,
    prompt: "What time is it in Tokyo and in Lisbon?",
    tools: { clock },
    stopWhen: stepCountIs(2),
    providerOptions: { openai: { store: false } }, // otherwise turns are referred to, not sent
  });
  for await (const part of fullStream) {
    if (part.type === "reasoning-delta") console.log("reasoning", part.text);
    else if (part.type === "text-delta") console.log("content", part.text);
    else if (part.type === "tool-call") console.log("call", part.toolCallId, part.toolName, JSON.stringify(part.input));
    else if (part.type === "finish-step") console.log(part.finishReason, part.usage.outputTokens);
    else if (part.type === "error") throw part.error;
  }
}
