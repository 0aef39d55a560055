// make.js - tokenizers and what the libraries they are made for turn texts into.
//
//   npm install tokenizers && node make.js
//
// Needs spm_train and spm_encode (Debian: sentencepiece) in the PATH. Writes texts.txt, <name>.json and
// <name>.model, and beside each <name>.ids: the ids of every line of texts.txt.
const fs = require('fs'), cp = require('child_process');
const { Tokenizer } = require('tokenizers');

let seed = 7;
const rnd = (n) => { seed = (seed * 1103515245 + 12345) & 0x7fffffff; return (seed >> 8) % n; };
const pool = ['the', 'thing', 'hello', 'World', "don't", "it's", "we'LL", 'abc', 'efg', 'hij', 'xyz', '123', '4567', 'ñandú', 'Ünïcode',
  '中文', '文字裙子', '連衣裙', 'かな', '한국어', '🙂', 'e\u0301', 'ﬁ', '①', '…', '--', '!!', '(x)', '\\', '<|endoftext|>', '<s>', '<unk>', '  ', '   ', ' ', '\t',
  '\u3000', 'ΑΣ', 'İ', 'ß', '½', '_a_b', 'A1B2', 'naïve', 'ing', 'and', 'on', 'other'];
const texts = ['abc efg', 'hij', 'xyz', '0'];
for (let i = 0; i < 150; i++) {
  let s = '';
  for (let j = 1 + rnd(8); j > 0; j--) s += pool[rnd(pool.length)] + (rnd(3) ? ' ' : '');
  texts.push(s);
}
fs.writeFileSync('texts.txt', texts.join('\n') + '\n');

// a byte-level vocabulary with a few merges
const byteChar = (b) => {
  if ((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174) return String.fromCharCode(b);
  return String.fromCharCode(256 + (b <= 32 ? b : b <= 160 ? 33 + b - 127 : 67));
};
const ids = (list) => Object.fromEntries([...new Set(list)].map((t, i) => [t, i]));
const merged = (m) => m.map((x) => x.replace(' ', ''));
const m1 = ['t h', 'th e', 'Ġ t', 'Ġt h', 'Ġth e', 'i n', 'in g', 'Ġ a', 'Ġa n', 'Ġan d', 'e r', 'o n', 'a b', 'ab c', 'h e', 'l l', 'he ll', 'hell o', 'Ã ¤', 'ä ¸', 'ä¸ Ń',
  '1 2', '12 3', 'Ġ Ġ', 'ĠĠ Ġ'];
const bytes = []; for (let b = 0; b < 256; b++) bytes.push(byteChar(b));
const added = (id, content, more) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });
const byteLevel = (more) => ({ type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true, ...more });
const bpe = (vocab, merges, more) => ({ type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false,
  byte_fallback: false, ignore_merges: false, vocab, merges, ...more });
const file = (name, more) => {
  const j = { version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...more };
  fs.writeFileSync(name + '.json', JSON.stringify(j) + '\n');
};
const v1 = ids([...bytes, ...merged(m1)]), n1 = Object.keys(v1).length;
const spaces = [added(n1, '<|endoftext|>'), added(n1 + 1, '   ', { normalized: true, special: false }), added(n1 + 2, '  ', { normalized: true, special: false })];
file('byte_level', { added_tokens: spaces, normalizer: { type: 'NFC' }, pre_tokenizer: byteLevel(), model: bpe(v1, m1) });
file('regex_split', {
  added_tokens: [spaces[0]],
  normalizer: { type: 'Sequence', normalizers: [{ type: 'NFKC' }, { type: 'Lowercase' }, { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' },
    { type: 'Strip', strip_left: true, strip_right: true }] },
  pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Split', pattern: { Regex: "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+" },
    behavior: 'Isolated', invert: false }, byteLevel({ use_regex: false })] },
  model: bpe(v1, m1.map((x) => x.split(' ')), { ignore_merges: true }),
});
file('digits', { added_tokens: spaces, normalizer: { type: 'NFD' }, model: bpe(v1, m1), pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Digits', individual_digits: true },
  { type: 'Punctuation', behavior: 'Contiguous' }, byteLevel({ add_prefix_space: true })] } });
file('whitespace', { added_tokens: spaces, normalizer: { type: 'StripAccents' }, model: bpe(v1, m1),
  pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Whitespace' }, byteLevel({ add_prefix_space: true, use_regex: false })] } });
file('behaviors', { added_tokens: spaces, normalizer: { type: 'NFKD' }, model: bpe(v1, m1), pre_tokenizer: { type: 'Sequence', pretokenizers: [
  { type: 'Split', pattern: { String: 'e' }, behavior: 'MergedWithPrevious', invert: false }, { type: 'Split', pattern: { Regex: '[aeiou]+' }, behavior: 'MergedWithNext', invert: false },
  { type: 'Split', pattern: { Regex: '[a-z]+' }, behavior: 'Removed', invert: true }, byteLevel({ use_regex: false })] } });
// vocabularies of characters
const alpha = [...'abcdefghijklmnopqrstuvwxyz▁ABC0123'];
const m2 = ['t h', 'th e', '▁ t', '▁t h', '▁th e', 'i n', 'in g', 'a n', 'an d', 'e r', 'r e', 'o n'];
const fallback = []; for (let b = 0; b < 256; b++) fallback.push('<0x' + b.toString(16).toUpperCase().padStart(2, '0') + '>');
file('metaspace', { added_tokens: [added(0, '<unk>'), added(1, '<s>', { lstrip: true, rstrip: true }), added(100, 'on', { single_word: true })],
  pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true },
  model: bpe(ids(['<unk>', '<s>', ...alpha, ...merged(m2)]), m2, { unk_token: '<unk>', fuse_unk: true }) });
file('byte_fallback', { normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, { type: 'Replace', pattern: { String: ' ' }, content: '▁' }] },
  model: bpe(ids(['<unk>', ...fallback, ...alpha, ...merged(m2)]), m2, { unk_token: '<unk>', byte_fallback: true, fuse_unk: true }) });
file('word_end', { normalizer: { type: 'Lowercase' }, pre_tokenizer: { type: 'WhitespaceSplit' },
  model: bpe(ids([...alpha, ...alpha.map((x) => x + '</w>'), 'th', 'the</w>', 'in', 'ing</w>', '<unk>']), ['t h', 'th e</w>', 'i n', 'in g</w>'], { unk_token: '<unk>', end_of_word_suffix: '</w>' }) });
file('continued', { pre_tokenizer: { type: 'BertPreTokenizer' },
  model: bpe(ids([...alpha, ...alpha.map((x) => '##' + x), 'th', '##er', 'the', '<unk>']), ['t ##h', 'th ##e', '##e ##r'], { unk_token: '<unk>', continuing_subword_prefix: '##' }) });
// the tokens of TorchEasyRec's tests under the ids they have in the file it uses (GPT-NeoX's)
file('neox', { added_tokens: [added(0, '<|endoftext|>'), added(50276, '  ', { normalized: true, special: false })], normalizer: { type: 'NFC' }, pre_tokenizer: byteLevel(),
  model: bpe({ '<|endoftext|>': 0, 0: 17, a: 66, b: 67, c: 68, e: 70, f: 71, g: 72, h: 73, i: 74, j: 75, x: 89, y: 90, z: 91, 'Ġ': 209, 'Ġe': 299, ab: 357, ij: 1944, xy: 5246,
    fg: 16054, abc: 19758, xyz: 35609 }, ['Ġ e', 'a b', 'i j', 'x y', 'f g', 'ab c', 'xy z']) });

(async () => {
  for (const name of fs.readdirSync('.').filter((f) => f.endsWith('.json')).map((f) => f.slice(0, -5))) {
    const t = Tokenizer.fromFile(name + '.json');
    let out = '';
    // the library numbers added tokens by the size of the vocabulary, which has gaps in neox
    for (const s of name === 'neox' ? texts.slice(0, 4) : texts) out += (await t.encode(s, null, { addSpecialTokens: false })).getIds().join(' ') + '\n';
    fs.writeFileSync(name + '.ids', out);
  }
  // SentencePiece: a small table of replacements, user-defined symbols, bytes, blanks at the end
  fs.writeFileSync('rules.tsv', 'FB01\t66 69\n2460\t31\n3000\t20\n41\t61\n130\t69\n65 301\tE9\n');
  const small = ['--hard_vocab_limit=false', '--minloglevel=2', '--input=texts.txt'];
  const train = (name, ...args) => {
    cp.execFileSync('spm_train', [...small, '--model_prefix=' + name, ...args], { stdio: 'ignore' });
    fs.unlinkSync(name + '.vocab');
    const out = cp.execFileSync('spm_encode', ['--model=' + name + '.model', '--output_format=id'], { input: texts.join('\n') + '\n', stdio: ['pipe', 'pipe', 'ignore'] });
    fs.writeFileSync(name + '.ids', out);
  };
  for (const type of ['unigram', 'bpe']) {
    train(type, '--model_type=' + type, '--vocab_size=150', '--normalization_rule_tsv=rules.tsv', '--character_coverage=0.98');
    train(type + '_bytes', '--model_type=' + type, '--vocab_size=420', '--byte_fallback=true', '--user_defined_symbols=<sep>,ing,裙', '--normalization_rule_name=identity',
      '--remove_extra_whitespaces=false', '--character_coverage=0.98');
    train(type + '_suffix', '--model_type=' + type, '--vocab_size=150', '--treat_whitespace_as_suffix=true', '--normalization_rule_name=identity', '--character_coverage=0.98');
  }
  fs.unlinkSync('rules.tsv');
})();
