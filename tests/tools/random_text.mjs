// Random texts that are hard for a tokenizer: code, contractions, blanks, digits and letters of many scripts, emoji,
// what composes, broken and whole names of special tokens. The same seed gives the same texts.

export function randomTexts(seed) {
  // mulberry32
  let state = seed >>> 0;
  function random() {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  const below = (n) => Math.floor(random() * n);
  const pick = (list) => list[below(list.length)];
  const range = (first, last) => () => String.fromCodePoint(first + below(last - first + 1));
  const many = (atom, most) => () => Array.from({ length: 1 + below(most) }, atom).join('');

  const words = ('the a package manager installs Debian software computer reads word Hello World I am not sure ' +
    'naïve café Straße ĲSSEL Ǆ ﬁne coöperate résumé Zürich Ångström İstanbul ΣΊΣΥΦΟΣ привет мир שלום مرحبا').split(' ');
  const code = ['->', '=>', '::', '(x):\n', '    return ', '\t\tif (', '){\n', '};\n\n', '/* ', ' */', '//', '#include <', '>\n',
    '!=', '+=', '&&', '||', '"%s\\n"', '[0]', '0x1F', '3.14e-10', '12345', '_name', 'camelCase', 'snake_case', 'a.b.c()', '$HOME',
    '{{', '}}', '...', '---', '***', '\\', '`', '<div class="x">', '</div>\r\n', 'https://example.org/?q=1&r=2#top', '@property', '--flag'];
  const contractions = ["'s", "'S", "'t", "'T", "'re", "'RE", "'rE", "'ve", "'Ve", "'m", "'M", "'ll", "'LL", "'lL", "'d", "'D",
    "'ſ", "'l", "'r", "'v", "'x", "''", "’s", "ʼs", "'st", "'sS", "I'm", "we'll", "'s's", "'\u017f\u0301", "'K", "'\u212a"];
  const emoji = ['😀', '👍🏽', '👩‍👩‍👧‍👦', '🏳️‍🌈', '🇩🇪', '❤️', '1️⃣', '👨🏿‍🚀', '🫠', '☺︎', '🧑‍💻', '🏴󠁧󠁢󠁥󠁮󠁧󠁿'];
  const composing = ['e\u0301', 'E\u0301\u0323', 'A\u030a', '\u212b', '\u2126', '\u212a', '\u1e9b\u0323', '\u0958', '\u0915\u093c', '\ufb1d',
    '\u1100\u1161\u11a8', '\uac00\u11a8', '\u1100\u1161', '\u1161\u11a8', '\u0344', '\u0f73', '\u0f71\u0f72', '\u0f71\u0f71\u0f72', '\uf900', '\u2f800',
    '\u09c7\u09be', '\u0b47\u0b3e', '\u0dd9\u0dcf\u0dca', '\u1025\u102e', '\u{110a5}\u{110ba}', '\u{11131}\u{11127}', '\u{1d15e}', '\u{1d157}\u{1d165}',
    '\u{105d2}\u0307', '\u{11935}\u{11930}', 'q\u0307\u0323', '\u0387', '\u2000', '\u2329', 'a\u0315\u0300\u05ae\u0300\u0062', '\u0d46\u0d3e',
    '\u0cc6\u0cc2\u0cd5', '\u30ab\u3099', '\u304b\u3099', '\u3046\u0301\u3099', '\u03b1\u0313\u0301\u0345', '\u1fef', '\u037e'];
  const blanks = [' ', ' ', ' ', '  ', '   ', '\t', '\n', '\n\n', '\r\n', '\r', ' \n', '\n ', '\t\n\t', '\u00a0', '\u0085', '\u000b', '\u000c', '\u1680',
    '\u2003', '\u2028', '\u2029', '\u202f', '\u205f', '\u3000', '\u200b', '\u180e', '\ufeff', ' \u00a0 ', '\u3000\n', '\u001c', '\u2060'];
  const digits = ['\u0030', '\u0660', '\u06f0', '\u0966', '\u09e6', '\u0e50', '\u0f20', '\u1040', '\u17e0', '\ua8d0', '\uff10', '\u{104a0}', '\u{1d7ce}', '\u{1e950}',
    '\u{11450}', '\u{10d40}', '\u{16130}'].map((zero) => range(zero.codePointAt(0), zero.codePointAt(0) + 9));
  const numbers = ['²', '½', 'Ⅻ', '①', '〇', '㊿', '៰', '𐄇', '௱', '๓', '1234567890', '00', '3', '-7', '1,000'];
  const shipped = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<think>', '</think>', '<tool_call>', '</tool_call>', '<tool_response>', '</tool_response>'];
  const broken = ['<|im_start', '|im_end|>', '<|', '<think', 'think>', '</', '<<think>>', '<tool_', '<|im_\u0301end|>', '<think>\u0301', '<|endoftext|', '<t', '<'];

  function anyCharacter() {
    const code = below(4) ? below(0x10000) : below(0x110000);
    return code >= 0xd800 && code < 0xe000 ? '\ufffd' : String.fromCodePoint(code);
  }

  const atoms = [
    [8, () => pick(words)], [8, () => pick(words) + ' '], [6, () => pick(code)], [4, () => pick(contractions)], [2, () => pick(emoji)],
    [3, () => pick(composing)], [8, () => pick(blanks)], [1, () => pick(digits)()], [1, () => pick(numbers)],
    [1, () => many(pick(digits), 6)()], [2, many(range(0x21, 0x7e), 8)], [2, many(range(0x4e00, 0x9fff), 6)], [1, many(range(0x3040, 0x30ff), 6)],
    [1, many(range(0xac00, 0xd7a3), 4)], [1, many(range(0x1100, 0x11ff), 4)], [1, many(range(0x300, 0x36f), 4)], [1, many(range(0x900, 0xdff), 6)],
    [1, many(range(0x590, 0x6ff), 6)], [1, many(range(0xe00, 0xfff), 5)], [1, many(range(0x1ab0, 0x1aff), 3)], [1, many(range(0x0, 0x1f), 3)],
    [1, many(range(0x7f, 0xff), 4)], [1, many(range(0x1e00, 0x1fff), 4)], [1, many(range(0x10000, 0x1ffff), 2)], [2, many(anyCharacter, 4)],
    [1, () => pick([' ', 'a', '_', '\n', '你', '=', 'é', '\u0301', '9', '-']).repeat(1 + below(70))], [1, () => pick(broken)],
  ];

  function text(extra, most) {
    const choices = [...atoms, [extra.weight, () => pick(extra.list)]];
    const total = choices.reduce((sum, [weight]) => sum + weight, 0);
    return Array.from({ length: 1 + below(most) }, () => {
      let at = below(total);
      for (const [weight, atom] of choices) if ((at -= weight) < 0) return atom();
    }).join('');
  }

  return { text, pick, shipped, contractions, blanks };
}
