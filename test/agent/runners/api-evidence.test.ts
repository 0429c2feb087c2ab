/** Assertions hold only for what was read of an answer. */
import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { gzipSync } from 'node:zlib';
import { runCheck, verdictOn } from '../../support/api-check.ts';
import { rawServer } from '../../support/servers.ts';

const json = 'application/json';
const binary = 'application/octet-stream';
const html = 'text/html';

type Row = [
  type: string | undefined,
  body: string | Buffer,
  assertion: readonly [source: string, comparison: string, target?: string, property?: string],
  /** Absent where it holds. */
  error?: RegExp | null,
  encoding?: string,
];

const maintenance = '<html>maintenance</html>';
const long = `${'x'.repeat(1_200_000)}END=7 ERROR: down`;
const rows: Row[] = [
  ...['IS_NULL', 'IS_EMPTY', 'NOT_CONTAINS', 'NOT_EQUALS', 'NOT_HAS_KEY'].map((comparison): Row => [
    ...([html, maintenance, ['JSON_BODY', comparison, 'x', '$.error']] as const),
    /but the body is not JSON \(text\/html\)/,
  ]),
  [undefined, '', ['JSON_BODY', 'IS_NULL', '', '$.error'], /the body is empty/],
  [json, '{"a":', ['JSON_BODY', 'IS_EMPTY', '', '$.a'], /not JSON/],
  [binary, '{"error":"x"}', ['JSON_BODY', 'IS_NULL', '', '$.error'], /x/],
  [json, '{"a":1}', ['JSON_BODY', 'IS_NULL', '', '$.error']],
  [json, '{"error":null}', ['JSON_BODY', 'IS_NULL', '', '$.error']],
  [binary, '{"a":1}', ['JSON_BODY', 'EQUALS', '1', '$.a']],
  [json, '{"v":"1.10"}', ['JSON_BODY', 'EQUALS', '1.1', '$.v'], /found 1.10$/],
  [json, '{"v":"1.10"}', ['JSON_BODY', 'NOT_EQUALS', '1.1', '$.v']],
  [json, '{"v":1.10}', ['JSON_BODY', 'EQUALS', '1.1', '$.v']],
  [json, '{"id":12345678901234567890}', ['JSON_BODY', 'EQUALS', '12345678901234567890', '$.id']],
  [
    json,
    '{"id":9007199254740993}',
    ['JSON_BODY', 'EQUALS', '9007199254740992', '$.id'],
    /found 9007199254740993$/,
  ],
  [json, '{"id":9007199254740993}', ['JSON_BODY', 'CONTAINS', '{"id":9007199254740993}', '$']],
  [json, '{"pipe":{"length":5}}', ['JSON_BODY', 'EQUALS', '5', '$.pipe.length']],
  [json, '{"pipe":[1,2]}', ['JSON_BODY', 'EQUALS', '2', '$.pipe.length']],
  [json, '{"a":{"length":5}}', ['JSON_BODY', 'EQUALS', '5', '$..length']],
  [html, long, ['TEXT_BODY', 'EQUALS', '7', 'END=(\\d)']],
  [html, long, ['TEXT_BODY', 'IS_EMPTY', '', 'ERROR: (.*)'], /found down/],
  [html, 'Status: OK', ['TEXT_BODY', 'EQUALS', 'OK', '/status: (\\w+)/i']],
  [
    html,
    maintenance,
    ['TEXT_BODY', 'NOT_CONTAINS', 'error'],
    /but the body is encoded as "aes128gcm"/,
    'aes128gcm',
  ],
  [
    html,
    gzipSync('a'.repeat(26_000_000)),
    ['TEXT_BODY', 'NOT_CONTAINS', 'error'],
    /but only the first 25000000 bytes of the body were read/,
    'gzip',
  ],
  [html, gzipSync('a'.repeat(26_000_000)), ['TEXT_BODY', 'CONTAINS', 'aaa'], null, 'gzip'],
  [
    json,
    '{"n":"1,234"}',
    ['JSON_BODY', 'GREATER_THAN', '1000', '$.n'],
    /found 1,234, which is not a number$/,
  ],
];

suite('an assertion on an answer', () => {
  for (const [type, body, assertion, error = null, encoding] of rows) {
    const [source, comparison, target = '', property = ''] = assertion;
    const name = `${source} ${property} ${comparison} ${target} of ${String(body.slice(0, 30))}`;
    test(`${name} ${error === null ? 'holds' : 'fails'}`, async () => {
      const bytes = Buffer.from(body);
      const head = [
        'HTTP/1.1 200 OK',
        `Content-Length: ${bytes.length}`,
        ...(type === undefined ? [] : [`Content-Type: ${type}`]),
        ...(encoding === undefined ? [] : [`Content-Encoding: ${encoding}`]),
      ].join('\r\n');
      const answer = Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes]);
      await using server = await rawServer(answer, 'end');
      const assertions = [{ source, comparison, target, property }];
      const { reason } = verdictOn(
        await runCheck({ url: `http://127.0.0.1:${server.port}/`, assertions }),
        assertions,
      );
      if (error === null) assert.equal(reason, null);
      else assert.match(reason ?? 'passed', error);
    });
  }
});
