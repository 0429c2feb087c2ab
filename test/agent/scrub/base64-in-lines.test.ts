/** Base64 that is broken into lines in the midst of a secret, base32, and halves of long values. */
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { createScrubber } from '../../../agent/scrub/create-scrubber.ts';
import { NeedleSet } from '../../../agent/scrub/needle-set.ts';
import { Redactor } from '../../../agent/scrub/redactor.ts';
import { mask } from '../../../agent/scrub/scrubber.ts';

const { privateKey: pem } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const secrets = {
  'of 9 characters': 'Zq8+y/nR4',
  'of 20 characters': 'tK9mW2xQ7vL4bN8cR5dJ',
  'of 24 characters': 'pX3hG6zT9qA1sD4fV7bM2nK8',
  'of 44 characters': createHash('sha256').update('a secret').digest('base64'),
  'of 64 characters': createHash('sha256').update('a token').digest('hex'),
  'a key file': pem,
};
const ends = ['\n', '\r\n', '\\n', '\\r\\n', ' ', '\t', '\r\n  ', '\\n\\t'];

const scrub = (secret: string, text: string): string =>
  createScrubber({ secrets: [secret], detect: false }).text(text);

/** What one byte at a time leaves, as from a slow stream. */
function scrubSlowly(secret: string, text: string): string {
  const needles = new NeedleSet();
  needles.add(secret);
  const redactor = new Redactor(needles);
  const pieces = [...Buffer.from(text)].flatMap((byte) => redactor.push(Buffer.from([byte])));
  return Buffer.concat([...pieces, ...redactor.end()]).toString();
}

/** The longest run of the whole that is left in a text, whose gaps count for nothing. */
function longestLeft(whole: string, text: string): number {
  const left = text.replaceAll(mask, '#').replaceAll(/\\[nrt]|\s/g, '');
  let longest = 0;
  for (let at = 0; at < whole.length; at += 1) {
    while (left.includes(whole.slice(at, at + longest + 1)) && at + longest < whole.length)
      longest += 1;
  }
  return longest;
}

// The key is another one each time: no letter around it may be part of it by chance.
/** What may stay: at either end a character of base64 also depends on its neighbours. */
const mayStay = 2;

for (const [name, secret] of Object.entries(secrets)) {
  test(`a secret ${name} is removed from base64 in lines, of which one holds its beginning`, () => {
    for (const before of ['', 'x', 'xy']) {
      const whole = Buffer.from(secret).toString('base64');
      const text = Buffer.from(`${before}${secret}`).toString('base64').replace(/=+$/, '');
      const widest = Math.min(text.length - 1, 76);
      const least = Math.min(16, secret.length) + 3;
      for (let at = 1; at <= widest; at += 1) {
        if (at < least) continue;
        for (const end of ends) {
          // Lines of 76 characters follow the first one, as in mail.
          const lines = [text.slice(0, at), ...(text.slice(at).match(/.{1,76}/g) ?? [])];
          const broken = lines.join(end);
          const left = longestLeft(whole, scrub(secret, `"${broken}"`));
          assert.ok(left <= mayStay, `${left} characters stay of ${broken}`);
        }
      }
    }
  });
}

test('a stream removes the same of base64 in lines as from the whole text', () => {
  const secret = secrets['of 20 characters'];
  const text = Buffer.from(`x${secret}`).toString('base64');
  for (let at = 18; at < text.length; at += 1) {
    for (const end of ends) {
      const broken = `a ${text.slice(0, at)}${end}${text.slice(at)} b\nnext line\n`;
      assert.equal(scrubSlowly(secret, broken), scrub(secret, broken), broken);
    }
  }
});

test('half of a long value is removed from base64, also in lines, wherever it was cut', () => {
  for (const secret of [
    createHash('sha512').update('long').digest('hex'),
    secrets['of 64 characters'],
    pem,
  ]) {
    const middle = Math.floor(secret.length / 2);
    for (const half of [secret.slice(0, middle), secret.slice(middle)]) {
      const whole = Buffer.from(half).toString('base64').replace(/=+$/, '');
      const lines = (whole.match(/.{1,64}/g) ?? []).join('\n');
      for (const text of [whole, whole.replaceAll('+', '-').replaceAll('/', '_'), lines]) {
        const left = longestLeft(whole, scrub(secret, `half: ${text}`));
        assert.ok(left <= 10, `${left} characters stay of ${text}`);
      }
    }
  }
});

function base32(bytes: Buffer): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  let [bits, held, text] = [0, 0, ''];
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xffff;
    for (bits += 8; bits >= 5; bits -= 5) text += alphabet[(held >> (bits - 5)) & 31];
  }
  return bits === 0 ? text : text + alphabet[(held << (5 - bits)) & 31];
}

test('a secret is removed from base32, in either case', () => {
  const secret = secrets['of 20 characters'];
  assert.equal(base32(Buffer.from('foobar')), 'MZXW6YTBOI');
  {
    const text = base32(Buffer.from(secret));
    const whole = text;
    for (const each of [text, text.toLowerCase(), `${text}======`]) {
      const left = longestLeft(whole, scrub(secret, each).toUpperCase());
      assert.ok(left <= mayStay, `${left} characters stay of ${each}`);
    }
  }
});

test('what is no secret stays, in base64 and in lines', () => {
  const short = secrets['of 20 characters'];
  const url = 'https://hooks.example.com/services/T024BE7LD/B04C/Zq8yR4nKw2';
  for (const [why, secret, text] of [
    ['half of a short value', short, Buffer.from(short.slice(0, 10)).toString('base64')],
    ['the beginning of a long one, as it is', url, 'https://hooks.example.com/status'],
    [
      'another page of the same host',
      'https://api.example.com/v1/accounts',
      Buffer.from('https://api.example.com/v1/public/other').toString('base64'),
    ],
    [
      'another database of the same kind',
      'postgres://app:Zq8yR4nKw2tK9m@database.internal.example.com:5432/orders',
      Buffer.from('postgres://app:other@database.internal.example.com:5432/x').toString('base64'),
    ],
    [
      'another token with the same header',
      `{"alg":"HS256","typ":"JWT"}${short}${short}${short}`,
      Buffer.from('{"alg":"HS256","typ":"JWT"} is a header').toString('base64'),
    ],
    ['other base64 in lines', short, Buffer.from('x'.repeat(200)).toString('base64')],
    ['a line that ends as another begins', short, 'dEs5\nbVcy is a word'],
    ['lines around a break of words', url, 'see https\n://example.com or\r\nhooks'],
    ['paths with backslashes', short, 'C:\\new\\reports\\tK9\\nW2x'],
  ] as const) {
    assert.equal(scrub(secret, text), text, why);
  }
});
