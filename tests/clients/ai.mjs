// The npm packages "ai" and "@ai-sdk/openai-compatible": text, streams, objects, tools.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, jsonSchema, streamText, tool } from "ai";
import { assert, check, finish, fitsWeather, packageSchema, ways, weather } from "./suite.mjs";

for (const [way, base, fetch] of ways) {
  const provider = createOpenAICompatible({
    name: "lockstep",
    baseURL: `${base}/v1`,
    fetch,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  const short = { model: provider("default"), temperature: 0, maxOutputTokens: 60, maxRetries: 0 };
  const run = (name, body) => check(`ai ${way}: ${name}`, body);

  await run("a streamed text joins to the whole one", async () => {
    const prompt = "Who are you?";
    const whole = await generateText({ ...short, prompt });
    const stream = streamText({ ...short, prompt });
    let text = "";
    for await (const piece of stream.textStream) text += piece;
    assert.ok(text.length + (whole.reasoningText ?? "").length > 0);
    assert.equal(text, whole.text);
    assert.equal((await stream.usage).outputTokens, whole.usage.outputTokens);
  });

  await run("an object of a schema", async () => {
    const { object } = await generateObject({
      ...short,
      maxOutputTokens: 900,
      schema: jsonSchema(packageSchema),
      prompt: "Describe the package curl.",
    });
    assert.ok(Number.isInteger(object.size) && Array.isArray(object.tags));
  });

  await run("a tool that must be used", async () => {
    let seen;
    await generateText({
      ...short,
      maxOutputTokens: 900,
      prompt: "Hello",
      toolChoice: "required",
      tools: {
        get_weather: tool({
          description: weather.description,
          inputSchema: jsonSchema(weather.parameters),
          execute: async (input) => ((seen = input), "Sunny"),
        }),
      },
    });
    fitsWeather(seen);
  });
}

finish();
