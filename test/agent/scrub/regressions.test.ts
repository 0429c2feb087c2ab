/** What once went wrong, or nearly did: each row is a text that must not show its secret again. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createScrubber } from '../../../agent/scrub/create-scrubber.ts';
import { Redactor } from '../../../agent/scrub/redactor.ts';
import { NeedleSet } from '../../../agent/scrub/needle-set.ts';

interface Case {
  why: string;
  secrets: string[];
  text: string;
  expected: string;
}

const file = new URL('../../fixtures/scrub-regressions.json', import.meta.url);
const cases = JSON.parse(readFileSync(file, 'utf8')) as Case[];

for (const { why, secrets, text, expected } of cases) {
  test(why, () => {
    assert.equal(createScrubber({ secrets, detect: false }).text(text), expected);
    const needles = new NeedleSet();
    for (const secret of secrets) needles.add(secret);
    const redactor = new Redactor(needles);
    const pieces = [...Buffer.from(text)].flatMap((byte) => redactor.push(Buffer.from([byte])));
    assert.equal(Buffer.concat([...pieces, ...redactor.end()]).toString(), expected);
  });
}

test('of a secret that was cut off at the end of a text, nothing stays', () => {
  const secret = 'Zq8 canary+value, cut off somewhere';
  const scrubber = createScrubber({ secrets: [secret], detect: false });
  const before = 'https://example.com/a/long/address/that/somebody/cuts?in=the&middle=';
  for (const form of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('hex')]) {
    for (let length = 6; length <= form.length; length += 1) {
      for (const mark of ['', '…', '… (2065 characters)', '\n… (the rest is left out)']) {
        const cut = before + form.slice(0, length) + mark;
        assert.equal(scrubber.text(cut), `${before}*********${mark}`, cut);
      }
    }
  }
  assert.equal(
    scrubber.text(`${secret} ${before}${secret.slice(0, 9)}`),
    `********* ${before}*********`,
  );
  assert.equal(scrubber.text(`${before}Zq8 c`), `${before}Zq8 c`);
  assert.equal(scrubber.text('short Zq8 canary'), 'short Zq8 canary');
});
