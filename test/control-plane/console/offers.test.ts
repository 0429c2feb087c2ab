import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offersOf } from '../../../control-plane/console/forms/offers.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';

test('each value of an answer offers an assertion that the contract accepts', () => {
  const sources = ['STATUS_CODE', 'RESPONSE_TIME', 'JSON_BODY', 'HEADERS', 'TEXT_BODY'];
  const body = JSON.stringify({ ok: true, 'in stock': [{ id: 7 }], none: null });
  const response = { status: 201, headers: { etag: '"x"' }, body };
  const offers = offersOf(sources, response, 123);
  assert.deepEqual(
    offers.map(({ label, value }) => [label, value]),
    [
      ['STATUS_CODE', '201'],
      ['RESPONSE_TIME', '300'],
      ['$.ok', 'true'],
      ['$["in stock"][0].id', '7'],
      ['$.none', 'null'],
      ['etag', '"x"'],
    ],
  );
  const parsed = checkTypes.API.create.safeParse({
    name: 'a',
    request: {
      ...{ method: 'GET', url: 'https://a.example/' },
      assertions: offers.map(({ assertion }) => assertion),
    },
  });
  assert.ok(parsed.success, JSON.stringify(parsed.error?.issues));
});

test('an answer that is cut, empty or huge offers what it can', () => {
  assert.deepEqual(offersOf(['JSON_BODY'], { body: '{"a":' }, 1), []);
  assert.deepEqual(offersOf(['JSON_BODY'], null, 1), []);
  const many = JSON.stringify(Array.from({ length: 5000 }, (_, index) => index));
  assert.equal(offersOf(['JSON_BODY'], { body: many }, 1).length, 200);
});
