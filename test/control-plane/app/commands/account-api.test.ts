import assert from 'node:assert/strict';
import test from 'node:test';
import { notTrickling } from '../../../../control-plane/app/commands/account-api.ts';

test('an answer that only trickles is given up; one that is long or pauses is not', async () => {
  for (const [bytes, everyMs, isGivenUp] of [
    [1, 1_000, true],
    [1_000, 1_000, false],
    [100_000, 250_000, false],
  ] as const) {
    let ms = 0;
    const chunks = ReadableStream.from(
      Array.from({ length: 500 }, () => {
        return new Uint8Array(bytes);
      }),
    );
    const paced = chunks.pipeThrough(
      new TransformStream({
        transform(chunk: Uint8Array, controller) {
          ms += everyMs;
          controller.enqueue(chunk);
        },
      }),
    );
    const text = new Response(paced.pipeThrough(notTrickling(() => ms))).text();
    if (isGivenUp) await assert.rejects(text, /bytes came within 12\d s, and not the end/);
    else assert.equal((await text).length, 500 * bytes);
  }
});
