// Replies held to JSON schemas, judged by the npm package "ajv": sampled, several at once.
import Ajv from "ajv/dist/2020.js";
import { assert, check, finish, packageSchema, ways, weather } from "./suite.mjs";

const object = (properties, more) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});
const short = { type: "string", maxLength: 8 };
const tree = {
  $defs: {
    node: object({ value: { type: "integer" }, next: { anyOf: [{ type: "null" }, { $ref: "#/$defs/node" }] } }),
  },
  $ref: "#/$defs/node",
};
const schemas = [
  packageSchema,
  weather.parameters,
  tree,
  { type: "integer", minimum: -20, exclusiveMaximum: 35 },
  { type: "number", exclusiveMinimum: 0.5, maximum: 2.25 },
  { type: "string", pattern: "^[a-z]{2,5}-\\d{3}$" },
  { type: "string", minLength: 3, maxLength: 6 },
  { enum: ["a", 2, null, { b: [true] }] },
  { const: { "quoted \"key\"": ["ü", 1.5] } },
  { type: ["boolean", "null"] },
  { type: "array", items: { type: "integer", minimum: 0, maximum: 9 }, minItems: 2, maxItems: 5 },
  { type: "array", prefixItems: [{ type: "boolean" }, short], items: false, minItems: 2 },
  { anyOf: [{ type: "integer", maximum: 99, minimum: 0 }, object({ a: short })] },
  { oneOf: [object({ kind: { const: "x" }, n: { type: "boolean" } }), object({ kind: { const: "y" }, s: short })] },
  { allOf: [{ type: "object", properties: { a: short }, required: ["a"] }, { properties: { b: short }, required: ["b"] }] },
  object({ a: object({ b: object({ c: { enum: [1, 2, 3] } }) }) }),
  { type: "object", additionalProperties: { type: "integer", minimum: 0, maximum: 5 }, properties: { first: short } },
  object({ date: { type: "string", format: "date" }, when: { enum: ["now", "later"] } }),
  object({ "a/b~c": short, "": { type: "null" }, 你: { type: "boolean" } }),
];
const ajv = new Ajv({ strict: false, validateFormats: false });

// One way is enough: the other suites see that both are the same.
for (const [way, base, fetch] of ways.slice(0, 1)) {
  const ask = async (schema, seed) => {
    const body = {
      messages: [{ role: "user", content: "Describe the package curl." }],
      temperature: 1,
      seed,
      max_tokens: 200,
      reasoning_effort: "none",
      draft: seed % 2 === 0,
      response_format: { type: "json_schema", json_schema: { name: "s", strict: true, schema } },
    };
    const answer = await fetch(`${base}/v1/chat/completions`, { method: "POST", body: JSON.stringify(body) });
    const reply = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(reply));
    return reply.choices[0];
  };
  for (const [index, schema] of schemas.entries())
    await check(`schemas ${way}: ${JSON.stringify(schema).slice(0, 90)}`, async () => {
      const valid = ajv.compile(schema);
      const choices = await Promise.all([1, 2, 3].map((seed) => ask(schema, seed + 10 * index)));
      const whole = choices.filter((choice) => choice.finish_reason === "stop");
      for (const { message } of whole)
        assert.ok(valid(JSON.parse(message.content)), `${message.content}: ${ajv.errorsText(valid.errors)}`);
      assert.ok(whole.length > 0 || schema === tree, "no reply came to its end");
    });
  await check(`schemas ${way}: what cannot be held to is told, or refused under strict`, async () => {
    const post = (strict) =>
      fetch(`${base}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify({
          messages: [{ role: "user", content: "Hi" }],
          max_tokens: 5,
          response_format: { type: "json_schema", json_schema: { strict, schema: { type: "string", not: { const: "a" } } } },
        }),
      });
    const told = await post(false);
    assert.equal(told.status, 200);
    assert.match(told.headers.get("lockstep-warning"), /not/);
    const refused = await post(true);
    assert.equal(refused.status, 400);
    assert.match((await refused.json()).error.message, /'not'/);
  });
}

finish();
