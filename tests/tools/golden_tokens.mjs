// Makes tests/data/tokenizer/golden.json: random texts and the ids that Hugging Face's tokenizers (the Rust
// library, as the npm package @anush008/tokenizers 0.6.0 ships it: tokenizers 0.22.2) gives them.
//
//   npm install @anush008/tokenizers@0.6.0        (anywhere; name its folder in NODE_PATH)
//   NODE_PATH=.../node_modules node tests/tools/golden_tokens.mjs [FACTOR [OUTPUT [SEED]]]
//
// FACTOR multiplies the number of texts (1: what the repository holds). Run from the repository's root.
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { randomTexts } from './random_text.mjs';

const { Tokenizer } = createRequire(import.meta.url)('@anush008/tokenizers');
const factor = Number(process.argv[2] ?? 1);
const output = process.argv[3] ?? 'tests/data/tokenizer/golden.json';
const seed = Number(process.argv[4] ?? 20240607);
const { text, pick, shipped, contractions, blanks } = randomTexts(seed);

// An added token of the last variant. Ids follow the file's own 2048.
const flagged = [
  { content: '<|user|>', rstrip: true }, { content: '<mask>', lstrip: true }, { content: 'foo', single_word: true },
  { content: 'foobar!', normalized: true }, { content: '<both>', lstrip: true, rstrip: true, normalized: true }, { content: 'Zoë', normalized: true },
  { content: 'Zoe\u0308\u0323', normalized: false }, { content: '<|user|>!', special: true }, { content: 'état', single_word: true, normalized: true },
  { content: ' x ', normalized: false }, { content: '語彙', single_word: true, lstrip: true }, { content: 'foo-bar', rstrip: true, single_word: true },
].map((token, i) => ({ id: 2048 + i, single_word: false, lstrip: false, rstrip: false, normalized: false, special: false, ...token }));
const flaggedTexts = [...flagged.map((t) => t.content), 'Zoe\u0308', 'e\u0301tat', 'foobar', 'xfoo', 'foo_', 'foo ', ' foo\n', '  <mask>  ', '<|user|>  ', '\u00a0<mask>\u3000',
  '<both>\n\n', ' \t<both>', 'foo\u0301', '語彙語', '. 語彙', 'état,', 'un état ', '<|user|> <mask>', 'foo-bar  foo', ' x  x ', 'foo\u200d', '1foo', '-foo-'];

const letters = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const lettersAndMarks = letters.replace('\\p{L}+', '[\\p{L}\\p{M}]+').replace('[^\\s\\p{L}\\p{N}]', '[^\\s\\p{L}\\p{M}\\p{N}]');
const inJson = (value) => JSON.stringify(value).slice(1, -1);
const endOfAdded = '}\n  ],\n  "normalizer": {';

// `replace`: edits of the file's text, [from, to] with `from` found exactly once.
const variants = [
  { name: 'starter', file: 'packaging/starter/tokenizer.json', replace: [], count: 2600, extra: { weight: 3, list: shipped } },
  { name: 'Qwen2 and Qwen3 expression', file: 'tests/data/tiny-dense/tokenizer.json', replace: [[inJson(lettersAndMarks), inJson(letters)]], count: 800,
    extra: { weight: 1, list: shipped } },
  { name: 'added-token flags', file: 'tests/data/tiny-dense/tokenizer.json', count: 900, extra: { weight: 60, list: flaggedTexts },
    replace: [[endOfAdded, endOfAdded.replace('}', '}, ' + JSON.stringify(flagged).slice(1, -1))]] },
];

const result = { made_with: 'tokenizers 0.22.2 (npm @anush008/tokenizers 0.6.0), tests/tools/golden_tokens.mjs', seed, variants: [] };
for (const variant of variants) {
  let json = readFileSync(variant.file, 'utf8');
  for (const [from, to] of variant.replace) {
    if (json.split(from).length !== 2) throw new Error(`${variant.name}: ${from} is not there exactly once`);
    json = json.replace(from, () => to);
  }
  const tokenizer = Tokenizer.fromString(json);
  const texts = Array.from({ length: variant.count * factor }, () => text(variant.extra, 12));
  const samples = [];
  for (let at = 0; at < texts.length; at += 1000) {
    const batch = texts.slice(at, at + 1000);
    const encodings = await tokenizer.encodeBatch(batch, { addSpecialTokens: false });
    batch.forEach((sample, i) => samples.push([sample, encodings[i].getIds()]));
  }
  result.variants.push({ name: variant.name, file: variant.file, replace: variant.replace, samples });
}

// Words: texts and the lengths in bytes of what each expression cuts them into.
result.words = [];
for (const expression of [letters, lettersAndMarks]) {
  const json = JSON.parse(readFileSync('tests/data/tiny-dense/tokenizer.json', 'utf8'));
  json.pre_tokenizer = json.pre_tokenizer.pretokenizers[0];
  json.pre_tokenizer.pattern.Regex = expression;
  const splitter = Tokenizer.fromString(JSON.stringify(json)).getPreTokenizer();
  const samples = Array.from({ length: 1000 * factor }, () => text({ weight: 12, list: [...contractions, ...blanks] }, 12))
    .map((sample) => [sample, splitter.preTokenizeString(sample).map(([word]) => Buffer.byteLength(word))]);
  result.words.push({ expression, samples });
}

// Long runs: the number of ids and their FNV-1a hash (32 bits, over the ids as little-endian u32).
const starter = Tokenizer.fromString(readFileSync('packaging/starter/tokenizer.json', 'utf8'));
const mixed = Array.from({ length: 200000 }, () => pick([...'etaoinshrdlu'])).join('');
result.long = [];
for (const [unit, count] of [['A', 1000000], ['_', 50000], [' ', 1000000], ['你', 300000], ['\n', 1000000], [mixed, 1]]) {
  const ids = (await starter.encode(unit.repeat(count), null, { addSpecialTokens: false })).getIds();
  let hash = 0x811c9dc5;
  for (const id of ids) for (let shift = 0; shift < 32; shift += 8) hash = Math.imul(hash ^ ((id >>> shift) & 255), 0x01000193);
  result.long.push([unit, count, ids.length, hash >>> 0]);
}
writeFileSync(output, JSON.stringify(result).replaceAll('],["', '],\n["') + '\n');
