// What every suite needs: where the daemon is, over TCP and over its socket, and a count of checks.
import assert from "node:assert/strict";
import { Agent, fetch as plainFetch } from "undici";

export const socketUrl = "http://localhost";
const agent = new Agent({ connect: { socketPath: process.env.LOCKSTEP_HTTP_SOCKET } });
const socketFetch = (url, options) => plainFetch(url, { ...options, dispatcher: agent });

// [name, base URL, fetch] of each way to the daemon.
export const ways = [
  ["tcp", process.env.LOCKSTEP_URL, plainFetch],
  ["socket", socketUrl, socketFetch],
];

let passed = 0;
let failed = 0;

export async function check(name, run) {
  try {
    await run();
    ++passed;
    console.log(`ok   ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAIL ${name}: ${error.stack ?? error}`);
  }
}

export function finish() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

export const weather = {
  name: "get_weather",
  description: "Tells the weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string", maxLength: 20 }, days: { type: "integer", minimum: 1, maximum: 9 } },
    required: ["city", "days"],
    additionalProperties: false,
  },
};

export const packageSchema = {
  type: "object",
  properties: {
    name: { type: "string", maxLength: 20 },
    size: { type: "integer", minimum: 0 },
    tags: { type: "array", items: { enum: ["free", "small", "old"] }, maxItems: 3 },
  },
  required: ["name", "size", "tags"],
  additionalProperties: false,
};

export function fitsWeather(input) {
  assert.equal(typeof input.city, "string");
  assert.ok(Number.isInteger(input.days) && input.days >= 1 && input.days <= 9);
}

export { assert };
