// The npm package "@openai/agents": agents on chat completions and on responses, whole and streamed, with a tool.
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { assert, check, finish, fitsWeather, packageSchema, ways, weather } from "./suite.mjs";

setTracingDisabled(true);
const runner = new Runner();

for (const [way, base, fetch] of ways) {
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "none", fetch, maxRetries: 0 });
  for (const Model of [OpenAIChatCompletionsModel, OpenAIResponsesModel]) {
    const make = (more) =>
      new Agent({
        name: "helper",
        instructions: "Be short.",
        model: new Model(client, "default"),
        ...more,
        modelSettings: { temperature: 0, maxTokens: 200, ...more?.modelSettings },
      });
    const run = (name, body) => check(`agents ${way}, ${Model.name}: ${name}`, body);

    await run("a streamed reply joins to the whole one", async () => {
      const whole = await runner.run(make(), "Who are you?");
      assert.ok(whole.finalOutput.length > 0);
      const stream = await runner.run(make(), "Who are you?", { stream: true });
      let text = "";
      for await (const piece of stream.toTextStream()) text += piece;
      await stream.completed;
      assert.equal(text, whole.finalOutput);
      assert.equal(stream.finalOutput, whole.finalOutput);
    });

    for (const stream of [false, true])
      await run(`a tool is called and its result answered, ${stream ? "streamed" : "whole"}`, async () => {
        const inputs = [];
        const execute = async (input) => (inputs.push(input), "Sunny");
        const agent = make({
          tools: [tool({ ...weather, strict: true, execute })],
          modelSettings: { toolChoice: "required", parallelToolCalls: false },
        });
        const result = await runner.run(agent, "Hello", { stream, maxTurns: 2 });
        if (stream) {
          for await (const event of result) assert.ok(event.type);
          await result.completed;
        }
        assert.equal(inputs.length, 1);
        fitsWeather(inputs[0]);
        const kinds = result.newItems.map((item) => item.type);
        assert.deepEqual(kinds.filter((kind) => kind.startsWith("tool_")), ["tool_call_item", "tool_call_output_item"]);
        assert.equal(kinds.at(-1), "message_output_item");
      });

    await run("an output of a schema", async () => {
      const outputType = { type: "json_schema", name: "package", strict: true, schema: packageSchema };
      const { finalOutput } = await runner.run(make({ outputType }), "Describe the package curl.");
      assert.ok(Number.isInteger(finalOutput.size) && Array.isArray(finalOutput.tags));
    });
  }
}

finish();
