// The npm package "@anthropic-ai/sdk": messages, streams, tools, token counts, errors.
import Anthropic from "@anthropic-ai/sdk";
import { assert, check, finish, fitsWeather, ways, weather } from "./suite.mjs";

const tools = [{ name: weather.name, description: weather.description, input_schema: weather.parameters }];
const short = {
  model: "default",
  max_tokens: 60,
  temperature: 0,
  system: "Be short.",
  messages: [{ role: "user", content: "Who are you?" }],
};

for (const [way, base, fetch] of ways) {
  const client = new Anthropic({ baseURL: base, apiKey: "none", fetch, maxRetries: 0 });
  const run = (name, body) => check(`anthropic ${way}: ${name}`, body);

  await run("a streamed message joins to the whole one", async () => {
    const whole = await client.messages.create(short);
    assert.equal(whole.content[0].type, "text");
    const final = await client.messages.stream(short).finalMessage();
    assert.equal(final.content[0].text, whole.content[0].text);
    assert.equal(final.stop_reason, whole.stop_reason);
    assert.equal(final.usage.output_tokens, whole.usage.output_tokens);
  });

  await run("count_tokens tells what the message then uses", async () => {
    const { max_tokens, temperature, ...rest } = short;
    const count = await client.messages.countTokens(rest);
    const { usage } = await client.messages.create(short);
    assert.equal(usage.input_tokens + usage.cache_read_input_tokens, count.input_tokens);
  });

  await run("stop sequences and max_tokens", async () => {
    const whole = await client.messages.create(short);
    const stop = whole.content[0].text.slice(2, 5);
    const stopped = await client.messages.create({ ...short, stop_sequences: [stop] });
    assert.equal(stopped.stop_reason, "stop_sequence");
    assert.equal(stopped.stop_sequence, stop);
    const cut = await client.messages.create({ ...short, max_tokens: 2 });
    assert.equal(cut.stop_reason, "max_tokens");
  });

  for (const stream of [false, true])
    await run(`a tool that must be used, ${stream ? "streamed" : "whole"}, and its result`, async () => {
      const ask = { ...short, max_tokens: 200, tools, tool_choice: { type: "tool", name: "get_weather" } };
      const first = stream ? await client.messages.stream(ask).finalMessage() : await client.messages.create(ask);
      assert.equal(first.stop_reason, "tool_use");
      const use = first.content.find((block) => block.type === "tool_use");
      fitsWeather(use.input);
      const result = { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "Sunny" }] };
      const messages = [...short.messages, { role: "assistant", content: first.content }, result];
      const next = await client.messages.create({ ...short, tools, messages });
      assert.equal(next.role, "assistant");
    });

  await run("errors have their classes", async () => {
    await assert.rejects(client.messages.create({ ...short, temperature: 3 }), Anthropic.BadRequestError);
    await assert.rejects(client.messages.create({ ...short, model: "claude" }), Anthropic.NotFoundError);
    const image = { type: "image", source: { type: "url", url: "http://localhost/" } };
    await assert.rejects(
      client.messages.create({ ...short, messages: [{ role: "user", content: [image] }] }),
      Anthropic.BadRequestError,
    );
  });
}

finish();
