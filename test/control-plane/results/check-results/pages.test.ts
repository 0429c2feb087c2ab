import assert from 'node:assert/strict';
import test from 'node:test';
import { minute, now, setUp } from '../../../support/results.ts';

/** Random text: deflated, it stays as large as it is. */
function noise(characters: number): string {
  let state = 1;
  return Array.from({ length: characters }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return String.fromCharCode(33 + ((state >>> 16) % 90));
  }).join('');
}

interface Listed {
  startedAt: string;
  apiCheckResult: { response: { body: string } } | null;
}

test('pages of results have each payload with its result, small, large and none', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  const bodies = ['', noise(200_000), 'small', noise(70_000), noise(20_000), 'last'];
  const instants = bodies.map((_, index) => now - 60 * minute + index * minute);
  for (const [index, body] of bodies.entries()) {
    await bench.submit(id, 'URL', instants[index] ?? 0, {
      ...(body === '' ? {} : { response: { body } }),
    });
  }
  const expected = bodies.map((body, index) => [instants[index], body]).toReversed();
  const shown = (list: Listed[]) =>
    list.map(({ startedAt, apiCheckResult }) => [
      Date.parse(startedAt),
      apiCheckResult?.response.body ?? '',
    ]);
  for (const limit of [1, 2, 4, 10]) {
    const pages: unknown[] = [];
    for (let page = 1; page <= Math.ceil(bodies.length / limit); page += 1) {
      pages.push(...shown(await bench.get(`check-results/${id}?limit=${limit}&page=${page}`)));
    }
    assert.deepEqual(pages, expected, `pages of ${limit}`);
  }
  assert.deepEqual(await bench.get(`check-results/${id}?limit=5&page=3`), []);
});
