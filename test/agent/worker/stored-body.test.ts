/** What is kept of the body of a clean pass is the beginning of the scrubbed whole, at a fraction of its cost. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { createScrubber } from '../../../agent/scrub/create-scrubber.ts';
import { encodings } from '../../../agent/scrub/encodings.ts';
import type { Scrubber } from '../../../agent/scrub/scrubber.ts';
import { droppedBody, withScrubbedBody } from '../../../agent/worker/stored-body.ts';

const kept = 8_192;
const secrets = ['hunter "22" /hünter/', 'q"4-Zebra', 'abcd', `key-${'0123456789'.repeat(12)}`];
const token = `eyJ${'a1'.repeat(40)}.eyJ${'b2'.repeat(900)}.${'c3'.repeat(40)}`;
const row = '{"id":12,"name":"somebody","link":"https://shop.example/12"},';

const scrubberOf = () => createScrubber({ secrets, detect: true });

function keptOf(body: string, scrubber: Scrubber): unknown {
  return withScrubbedBody({}, body, kept, scrubber)?.['body'];
}

function cutFromWhole(body: string): string {
  return scrubberOf().value({ body }).body.slice(0, kept).toWellFormed();
}

/** The size of what is scrubbed. */
function watched(): { scrubber: Scrubber; size: () => number } {
  let size = 0;
  const scrubber = scrubberOf();
  const value: Scrubber['value'] = (given) => {
    size += JSON.stringify(given).length;
    return scrubber.value(given);
  };
  return {
    scrubber: { ...scrubber, maxNeedleBytes: scrubber.maxNeedleBytes, value },
    size: () => size,
  };
}

const after = row.repeat(900);
const forms = secrets
  .flatMap((secret) => Object.values(encodings).flatMap((encode) => encode(secret).map(String)))
  .filter((_, index) => index % 11 === 0);

test('a secret anywhere near the end of what is kept leaves nothing of itself, in any form', () => {
  for (const [index, form] of [
    ...forms,
    `"password":"S3cr3t!x${'y9'.repeat(50)}"`,
    token,
  ].entries()) {
    const at = kept - 5 - ((index * 7) % 90);
    const body = `${row.repeat(200).slice(0, at)}${form}${after}`;
    assert.equal(keptOf(body, scrubberOf()), cutFromWhole(body), form);
  }
});

test('so does one at either place where the body is cut', () => {
  const scrubber = scrubberOf();
  const early = kept + 8 * (scrubber.maxNeedleBytes + 8) + 1_024;
  for (const place of [kept, early]) {
    for (const form of [...secrets, token]) {
      for (let offset = -9; offset < 3; offset += 1) {
        const body = `${'x'.repeat(place + offset)}${form}${after.slice(0, 20_000)}`;
        assert.equal(keptOf(body, scrubber), cutFromWhole(body));
      }
    }
  }
});

test('where masks make it much shorter, what is kept is as long all the same', () => {
  const body = `${`${secrets[3] ?? ''} "`.repeat(600)}${after}`;
  assert.equal(keptOf(body, scrubberOf()), cutFromWhole(body));
  assert.equal(String(keptOf(body, scrubberOf())).length, kept);
});

test('of a private key that begins in what is kept there is nothing', () => {
  const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQ1a\n'.repeat(2_000)}-----END PRIVATE KEY-----\n`;
  const body = `${'x'.repeat(kept - 100)}\n${key}${after}`;
  assert.equal(keptOf(body, scrubberOf()), cutFromWhole(body));
  assert.equal(String(keptOf(body, scrubberOf())).includes('MIIEvQ1a'), false);
});

test('of a large body no more is searched than is needed', () => {
  const { scrubber, size } = watched();
  assert.equal(keptOf(after, scrubber), cutFromWhole(after));
  assert.ok(size() < after.length / 2, `${size()} of ${after.length}`);
});

test('a picture that is too large is dropped before anybody searches it', () => {
  const body = 'A'.repeat(kept + 4);
  assert.deepEqual(droppedBody({ body, bodyEncoding: 'base64', truncated: false }, kept), {
    body: null,
    truncated: true,
  });
});
