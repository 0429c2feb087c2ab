/** Assertions hold only for what was read of an answer. */
import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { gzipSync } from 'node:zlib';
import { runCheck, verdictOn } from '../../support/api-check.ts';
import { rawServer } from '../../support/servers.ts';

const json = 'application/json';
const binary = 'application/octet-stream';
const html = 'text/html';

interface Row {
  type?: string;
  encoding?: string;
  body: string | Buffer;
  /** Source, comparison, target and property. */
  holds: [string, string, string?, string?];
  /** Absent where it holds. */
  error?: RegExp;
}

const maintenance = '<html>maintenance</html>';
const long = `${'x'.repeat(1_200_000)}END=7 ERROR: down`;
const rows: Row[] = [
  ...['IS_NULL', 'IS_EMPTY', 'NOT_CONTAINS', 'NOT_EQUALS', 'NOT_HAS_KEY'].map((comparison): Row => {
    const holds: Row['holds'] = ['JSON_BODY', comparison, 'x', '$.error'];
    return {
      ...{ type: html, body: maintenance, holds },
      error: /but the body is not JSON \(text\/html\)/,
    };
  }),
  { body: '', holds: ['JSON_BODY', 'IS_NULL', '', '$.error'], error: /the body is empty/ },
  { type: json, body: '{"a":', holds: ['JSON_BODY', 'IS_EMPTY', '', '$.a'], error: /not JSON/ },
  {
    type: binary,
    body: '{"error":"x"}',
    holds: ['JSON_BODY', 'IS_NULL', '', '$.error'],
    error: /x/,
  },
  { type: json, body: '{"a":1}', holds: ['JSON_BODY', 'IS_NULL', '', '$.error'] },
  { type: json, body: '{"error":null}', holds: ['JSON_BODY', 'IS_NULL', '', '$.error'] },
  { type: binary, body: '{"a":1}', holds: ['JSON_BODY', 'EQUALS', '1', '$.a'] },
  {
    ...{ type: json, body: '{"v":"1.10"}', holds: ['JSON_BODY', 'EQUALS', '1.1', '$.v'] },
    error: /found 1.10$/,
  },
  { type: json, body: '{"v":"1.10"}', holds: ['JSON_BODY', 'NOT_EQUALS', '1.1', '$.v'] },
  { type: json, body: '{"v":1.10}', holds: ['JSON_BODY', 'EQUALS', '1.1', '$.v'] },
  {
    ...{ type: json, body: '{"id":12345678901234567890}' },
    holds: ['JSON_BODY', 'EQUALS', '12345678901234567890', '$.id'],
  },
  {
    ...{ type: json, body: '{"id":9007199254740993}' },
    holds: ['JSON_BODY', 'EQUALS', '9007199254740992', '$.id'],
    error: /found 9007199254740993$/,
  },
  {
    ...{ type: json, body: '{"id":9007199254740993}' },
    holds: ['JSON_BODY', 'CONTAINS', '{"id":9007199254740993}', '$'],
  },
  {
    type: json,
    body: '{"pipe":{"length":5}}',
    holds: ['JSON_BODY', 'EQUALS', '5', '$.pipe.length'],
  },
  { type: json, body: '{"pipe":[1,2]}', holds: ['JSON_BODY', 'EQUALS', '2', '$.pipe.length'] },
  { type: json, body: '{"a":{"length":5}}', holds: ['JSON_BODY', 'EQUALS', '5', '$..length'] },
  { type: html, body: long, holds: ['TEXT_BODY', 'EQUALS', '7', 'END=(\\d)'] },
  {
    type: html,
    body: long,
    holds: ['TEXT_BODY', 'IS_EMPTY', '', 'ERROR: (.*)'],
    error: /found down/,
  },
  { type: html, body: 'Status: OK', holds: ['TEXT_BODY', 'EQUALS', 'OK', '/status: (\\w+)/i'] },
  {
    ...{ type: html, encoding: 'aes128gcm', body: maintenance },
    holds: ['TEXT_BODY', 'NOT_CONTAINS', 'error'],
    error: /but the body is encoded as "aes128gcm"/,
  },
  {
    ...{ type: html, encoding: 'gzip', body: gzipSync('a'.repeat(26_000_000)) },
    holds: ['TEXT_BODY', 'NOT_CONTAINS', 'error'],
    error: /but only the first 25000000 bytes of the body were read/,
  },
  {
    ...{ type: html, encoding: 'gzip', body: gzipSync('a'.repeat(26_000_000)) },
    holds: ['TEXT_BODY', 'CONTAINS', 'aaa'],
  },
  {
    ...{ type: json, body: '{"n":"1,234"}', holds: ['JSON_BODY', 'GREATER_THAN', '1000', '$.n'] },
    error: /found 1,234, which is not a number$/,
  },
];

suite('an assertion on an answer', () => {
  for (const { type, encoding, body, holds, error } of rows) {
    const [source, comparison, target = '', property = ''] = holds;
    const name = `${source} ${property} ${comparison} ${target} of ${String(body.slice(0, 30))}`;
    test(`${name} ${error === undefined ? 'holds' : 'fails'}`, async () => {
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
      if (error === undefined) assert.equal(reason, null);
      else assert.match(reason ?? 'passed', error);
    });
  }
});
