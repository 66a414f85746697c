// A coding agent as people run it, the npm package "@mariozechner/pi-coding-agent", without its screen: a session that
// asks and gets a reply, by each of the three APIs that it speaks. It has no option for a Unix socket; there whatever it
// connects to becomes the socket.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { assert, check, finish, ways } from "./suite.mjs";

const agent = join(dirname(new URL(import.meta.resolve("@mariozechner/pi-coding-agent")).pathname), "cli.js");

// Events of a session, and the exit status.
async function session(api, way, base) {
  const home = await mkdtemp(join(tmpdir(), "lockstep-agent-"));
  try {
    const model = { id: "default", reasoning: true, contextWindow: 65536, maxTokens: 64 };
    const baseUrl = api === "anthropic-messages" ? base : `${base}/v1`;
    const providers = { lockstep: { baseUrl, api, apiKey: "none", models: [model] } };
    await mkdir(join(home, ".pi/agent"), { recursive: true });
    await writeFile(join(home, ".pi/agent/models.json"), JSON.stringify({ providers }));
    const environment = { PATH: process.env.PATH, HOME: home, NODE_NO_WARNINGS: "1" };
    if (way === "socket") {
      const preload = join(home, "socket.cjs");
      const path = JSON.stringify(process.env.LOCKSTEP_HTTP_SOCKET);
      await writeFile(preload, `const net = require("node:net"), { connect } = net;
net.connect = (options, then) => connect({ ...options, path: ${path} }, then);
require("node:module").syncBuiltinESMExports();`);
      environment.NODE_OPTIONS = `--require=${preload}`;
    }
    const options = ["--offline", "--print", "--mode", "json", "--no-session", "--thinking", "off"];
    const run = [agent, ...options, "--provider", "lockstep", "--model", "default", "Say hello."];
    return await new Promise((resolve) => {
      const child = execFile(process.execPath, run, { cwd: home, env: environment, timeout: 300000 }, (error, out, text) =>
        resolve({ error, text, events: out.split("\n").filter(Boolean).map((line) => JSON.parse(line)) }),
      );
      child.stdin.end();
    });
  } finally {
    await rm(home, { recursive: true });
  }
}

for (const [way, base] of ways)
  for (const api of ["openai-completions", "openai-responses", "anthropic-messages"])
    await check(`agent ${way}: a session by ${api}`, async () => {
      const { error, text, events } = await session(api, way, base);
      assert.ok(!error, `${error}\n${text}`);
      const last = events.findLast((event) => event.type === "agent_end").messages.at(-1);
      assert.equal(last.role, "assistant", text);
      assert.ok(["stop", "length", "toolUse"].includes(last.stopReason), JSON.stringify(last));
      assert.ok(last.usage.input > 1000 && last.content.length > 0);
    });

finish();
