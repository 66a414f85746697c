// The npm package "openai": chat completions, completions, responses, models, errors.
import OpenAI from "openai";
import { assert, check, finish, fitsWeather, packageSchema, ways, weather } from "./suite.mjs";

const messages = [{ role: "user", content: "Who are you?" }];
const short = { model: "default", messages, temperature: 0, max_tokens: 40, reasoning_effort: "none" };
const tools = [{ type: "function", function: weather }];

for (const [way, base, fetch] of ways) {
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "none", fetch, maxRetries: 0 });
  const run = (name, body) => check(`openai ${way}: ${name}`, body);

  await run("models", async () => {
    const list = await client.models.list();
    assert.equal(list.data.length, 1);
    const model = await client.models.retrieve(list.data[0].id);
    assert.ok(model.context_length > 0);
  });

  await run("a streamed chat joins to the whole one", async () => {
    const whole = await client.chat.completions.create(short);
    let text = "";
    let usage;
    const stream = await client.chat.completions.create({
      ...short,
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage ?? usage;
    }
    assert.ok(text.length > 0);
    assert.equal(text, whole.choices[0].message.content);
    assert.deepEqual(usage.completion_tokens, whole.usage.completion_tokens);
    assert.ok(whole._request_id);
  });

  await run("n, seed, logprobs, stop", async () => {
    const ask = (more) => client.chat.completions.create({ ...short, temperature: 1, seed: 42, ...more });
    const [first, again, two] = [await ask({}), await ask({}), await ask({ n: 2, logprobs: true, top_logprobs: 2 })];
    assert.equal(first.choices[0].message.content, again.choices[0].message.content);
    assert.equal(two.choices.length, 2);
    assert.equal(two.choices[0].message.content, first.choices[0].message.content);
    const bytes = two.choices[0].logprobs.content.flatMap((token) => token.bytes);
    assert.ok(Buffer.from(bytes).toString().startsWith(two.choices[0].message.content));
    const text = first.choices[0].message.content;
    const stopped = await ask({ stop: [text.slice(3, 6)] });
    assert.equal(stopped.choices[0].message.content, text.slice(0, text.indexOf(text.slice(3, 6))));
  });

  await run("a named tool, replayed with its result", async () => {
    const named = { type: "function", function: { name: "get_weather" } };
    const first = await client.chat.completions.create({ ...short, max_tokens: 200, tools, tool_choice: named });
    assert.equal(first.choices[0].finish_reason, "tool_calls");
    const [call] = first.choices[0].message.tool_calls;
    assert.equal(call.function.name, "get_weather");
    fitsWeather(JSON.parse(call.function.arguments));
    const next = await client.chat.completions.create({
      ...short,
      tools,
      messages: [...messages, first.choices[0].message, { role: "tool", tool_call_id: call.id, content: "Sunny" }],
    });
    assert.equal(next.choices[0].message.role, "assistant");
  });

  await run("streamed tool calls through the package's own helper", async () => {
    const stream = client.chat.completions.stream({ ...short, max_tokens: 200, tools, tool_choice: "required" });
    const final = await stream.finalChatCompletion();
    fitsWeather(JSON.parse(final.choices[0].message.tool_calls[0].function.arguments));
  });

  await run("json_schema", async () => {
    const reply = await client.chat.completions.parse({
      ...short,
      max_tokens: 200,
      response_format: { type: "json_schema", json_schema: { name: "package", strict: true, schema: packageSchema } },
    });
    assert.equal(typeof JSON.parse(reply.choices[0].message.content).name, "string");
  });

  await run("completions", async () => {
    const reply = await client.completions.create({ model: "default", prompt: "Debian is", max_tokens: 5, echo: true });
    assert.ok(reply.choices[0].text.startsWith("Debian is"));
    assert.equal(reply.usage.completion_tokens, 5);
    const scored = await client.completions.create({ model: "default", prompt: "Debian is", max_tokens: 1, echo: true, logprobs: 1 });
    const { tokens, token_logprobs } = scored.choices[0].logprobs;
    assert.equal(tokens.length, scored.usage.total_tokens);
    assert.deepEqual([token_logprobs[0], token_logprobs.every((value, i) => i === 0 || value <= 0)], [null, true]);
  });

  await run("responses: created, streamed, gone on from, listed, deleted", async () => {
    const ask = { model: "default", temperature: 0, max_output_tokens: 40, reasoning: { effort: "none" } };
    const first = await client.responses.create({ ...ask, input: "Who are you?", instructions: "Be short." });
    assert.ok(first.output_text.length > 0);
    const stream = client.responses.stream({ ...ask, input: "Who are you?", instructions: "Be short." });
    const final = await stream.finalResponse();
    assert.equal(final.output.at(-1).content[0].text, first.output_text);
    const next = await client.responses.create({ ...ask, input: "Again?", previous_response_id: first.id });
    assert.ok(next.usage.input_tokens > first.usage.input_tokens);
    assert.equal((await client.responses.retrieve(first.id)).id, first.id);
    const items = [1, 2, 3].map((number) => ({ role: "user", content: `${number}` }));
    const several = await client.responses.create({ ...ask, input: items, max_output_tokens: 1 });
    const listed = [];
    for await (const item of client.responses.inputItems.list(several.id, { limit: 2, order: "asc" })) listed.push(item);
    assert.deepEqual(listed.map((item) => item.content[0].text), ["1", "2", "3"]);
    await client.responses.delete(first.id);
    await assert.rejects(client.responses.retrieve(first.id), OpenAI.NotFoundError);
  });

  await run("responses: a tool's call and its output", async () => {
    const ask = {
      model: "default",
      temperature: 0,
      max_output_tokens: 200,
      reasoning: { effort: "none" },
      tools: [{ type: "function", strict: true, ...weather }],
    };
    const first = await client.responses.create({ ...ask, input: "Weather?", tool_choice: "required" });
    const call = first.output.find((item) => item.type === "function_call");
    fitsWeather(JSON.parse(call.arguments));
    const output = { type: "function_call_output", call_id: call.call_id, output: "Sunny" };
    const next = await client.responses.create({ ...ask, previous_response_id: first.id, input: [output] });
    assert.ok(["completed", "incomplete"].includes(next.status));
  });

  await run("errors have their classes, a model of another name is 404", async () => {
    await assert.rejects(client.chat.completions.create({ ...short, temperature: 3 }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.param, "temperature");
      return true;
    });
    await assert.rejects(client.chat.completions.create({ ...short, model: "gpt-9" }), OpenAI.NotFoundError);
    await assert.rejects(
      client.chat.completions.create({ ...short, messages: [{ role: "user", content: "word ".repeat(5000) }] }),
      (error) => error.code === "context_length_exceeded",
    );
  });
}

finish();
