import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createScrubber } from '../../../agent/scrub/create-scrubber.ts';
import { mask } from '../../../agent/scrub/scrubber.ts';

const secret = 'correct horse battery';
const scrubber = createScrubber({ secrets: [secret], detect: false });

describe('values', () => {
  it('gives the value itself when there is nothing to remove', () => {
    const value = { a: [1, 'two', null, true, { b: undefined }] };
    assert.equal(scrubber.value(value), value);
  });

  it('gives a copy otherwise, and leaves the value alone', () => {
    const value = { a: [secret], b: { c: 'kept' } };
    assert.deepEqual(scrubber.value(value), { a: [mask], b: { c: 'kept' } });
    assert.deepEqual(value, { a: [secret], b: { c: 'kept' } });
  });

  it('keeps two keys apart that lose their secrets, and knows __proto__ as a key', () => {
    const other = createScrubber({ secrets: ['first-one', 'other-one'], detect: false });
    const value = JSON.parse(
      '{"first-one": 1, "other-one": 2, "__proto__": "first-one"}',
    ) as object;
    assert.equal(
      JSON.stringify(other.value(value)),
      JSON.stringify({ [mask]: 1, [`${mask} 2`]: 2 }).replace('}', `,"__proto__":"${mask}"}`),
    );
  });

  it('bears cycles, great depth and what is not JSON', () => {
    const cycle: Record<string, unknown> = {
      ...{ text: secret, bytes: Buffer.from(secret), at: new Date(0) },
    };
    cycle['self'] = cycle;
    const result = scrubber.value(cycle);
    assert.equal(result['self'], result);
    assert.equal(result['text'], mask);
    assert.equal(result['bytes'], cycle['bytes']);
    assert.equal(result['at'], cycle['at']);
    let deep: unknown = secret;
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    let inner = scrubber.value(deep);
    while (Array.isArray(inner)) inner = inner[0] as unknown;
    assert.equal(inner, mask);
  });

  it('removes a number that is secret, and no other', () => {
    const numbers = createScrubber({ secrets: ['8472910365'], detect: false });
    assert.deepEqual(numbers.value({ a: 8_472_910_365, b: 200 }), { a: mask, b: 200 });
  });

  it('hides the values of sensitive headers, whatever shape they have', () => {
    const none = createScrubber({ secrets: [], detect: false });
    const value = {
      headers: {
        ...{ Authorization: 'x', 'set-cookie': ['a=b', 'c=d'], cookie: 'e=f' },
        accept: 'text/html',
      },
      list: [
        { name: 'X-Api-Key', value: 'x' },
        { key: 'x-auth-token', value: 'x' },
        { name: 'accept', value: 'kept' },
      ],
      rawHeaders: ['Proxy-Authorization', 'x', 'Host', 'kept'],
      cookies: [{ name: 'session', value: 'x' }],
      log: 'POST /\n  authorization: Bearer x\n  accept: kept',
      cookie: 'a word',
      authorization: { type: 'kept' },
    };
    assert.equal(
      JSON.stringify(
        none.value({ ...value, rawHeaders: undefined, raw: { headers: value.rawHeaders } }),
      ),
      JSON.stringify({
        headers: {
          ...{ Authorization: mask, 'set-cookie': [mask, mask], cookie: mask },
          accept: 'text/html',
        },
        list: [
          { name: 'X-Api-Key', value: mask },
          { key: 'x-auth-token', value: mask },
          { name: 'accept', value: 'kept' },
        ],
        cookies: [{ name: 'session', value: mask }],
        log: `POST /\n  authorization: ${mask}\n  accept: kept`,
        cookie: 'a word',
        authorization: { type: 'kept' },
        raw: { headers: ['Proxy-Authorization', mask, 'Host', 'kept'] },
      }),
    );
  });
});

describe('secrets that cannot be removed', () => {
  it('are counted, and destroy nothing', () => {
    const counts: number[] = [];
    const short = createScrubber({
      secrets: ['', 'a', '/', '*', '123', '8080', 'true', 'https://', '****', 'abc', 'long enough'],
      detect: false,
      onTooShort: (count) => counts.push(count),
    });
    const text = 'https://a.example:8080/abc/123 **** true';
    assert.equal(short.text(text), text);
    assert.equal(short.text('is long enough'), `is ${mask}`);
    assert.deepEqual(counts, [9]);
    short.add('xy');
    assert.deepEqual(counts, [9, 1]);
  });

  it('are no more those of four characters', () => {
    const pin = createScrubber({ secrets: ['p@ss'], detect: false });
    assert.equal(pin.text('a p@ss, p%40ss, p%2540ss'), `a ${mask}, ${mask}, ${mask}`);
  });

  it('are found in entities by number, decimal and hexadecimal, of any case', () => {
    const marked = createScrubber({ secrets: ['a/b"c'], detect: false });
    for (const [slash, quote] of [
      ['&#47;', '&#34;'],
      ['&#x2f;', '&#x22;'],
      ['&#x2F;', '&#x22;'],
      ['&#X2F;', '&#X22;'],
    ] as const) {
      const text = `a${slash}b${quote}c`;
      assert.equal(marked.text(`<${text}>`), `<${mask}>`, text);
    }
  });

  it('are found in other letters from eight characters on', () => {
    const other = createScrubber({
      secrets: ['übermut7', 'überm7!', 'secret-9', 'secre-9'],
      detect: false,
    });
    assert.equal(
      other.text('ÜBERMUT7 ÜBERM7! SECRET-9 SECRE-9'),
      `${mask} ÜBERM7! ${mask} SECRE-9`,
    );
  });
});

describe('parts of secrets', () => {
  it('are the long lines of a key and the segments of a token', () => {
    const key = '-----BEGIN X-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END X-----\n';
    const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N';
    const parts = createScrubber({ secrets: [key, token], detect: false });
    assert.equal(parts.text('a hkiG9w0BAQEFAASC b'), `a ${mask} b`);
    assert.equal(parts.text('{"sig":"dozjgNryP4J3jVmNHl0w5N"}'), `{"sig":"${mask}"}`);
    assert.equal(parts.text(key.replaceAll('\n', '\r\n').trim()), mask);
  });
});

describe('secrets learned in the run', () => {
  it('are removed from then on', () => {
    const learning = createScrubber({ secrets: [], detect: false });
    assert.equal(learning.text('a session-4711'), 'a session-4711');
    learning.add('session-4711');
    assert.equal(learning.text('a session-4711'), `a ${mask}`);
  });
});
