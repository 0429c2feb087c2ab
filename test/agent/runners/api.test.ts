import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { echoOf, echoServer, runCheck, verdictOn } from '../../support/api-check.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { httpServer } from '../../support/servers.ts';
import { runApi } from '../../../agent/runners/api.ts';
import { runUrl } from '../../../agent/runners/url.ts';

function variable(key: string, value: string, secret = false) {
  return { key, value, secret };
}

const bodies: [string, string, string, string | undefined][] = [
  ['JSON', '{"a":"{{X}}"}', '{"a":"1 & 2"}', 'application/json'],
  ['FORM', 'a={{X}}', 'a=1%20%26%202', 'application/x-www-form-urlencoded'],
  ['RAW', 'as it is: {{X}}', 'as it is: 1 & 2', undefined],
  ['GRAPHQL', 'query { me { id } }', '{"query":"query { me { id } }"}', 'application/json'],
  ['GRAPHQL', '{"query":"q","variables":{}}', '{"query":"q","variables":{}}', 'application/json'],
  ['NONE', 'left from before', '', undefined],
];

suite('a body of type', () => {
  for (const [bodyType, body, expected, contentType] of bodies) {
    test(`${bodyType} is sent as ${expected || 'nothing'}`, async () => {
      await using server = await echoServer();
      const environment = [variable('X', '1 & 2')];
      const seen = await runCheck(
        { method: 'POST', url: server.url, bodyType, body },
        { environment },
      );
      const echo = echoOf(seen);
      assert.equal(echo.body, expected);
      assert.equal(echo.headers['content-type'], contentType);
      assert.equal(echo.headers['content-length'], String(Buffer.byteLength(expected)));
      assert.equal(seen.request['data'], expected);
    });
  }
});

suite('the method', () => {
  for (const method of ['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS']) {
    test(`${method} arrives, with its body`, async () => {
      let arrived = '';
      await using server = await httpServer((request, response) => {
        request.on('data', (chunk: Buffer) => (arrived += `${request.method} ${String(chunk)}`));
        request.on('end', () => response.end('ok'));
      });
      const seen = await runCheck({ method, url: server.url, bodyType: 'RAW', body: 'text' });
      assert.equal(seen.failure, null);
      assert.equal(arrived, `${method} text`);
    });
  }
});

test('headers of the customer replace those of the agent, whatever their case', async () => {
  await using server = await echoServer();
  const seen = await runCheck(
    {
      ...{ method: 'POST', url: server.url, bodyType: 'JSON', body: '{}' },
      headers: [
        { key: 'HOST', value: 'other.example' },
        { key: 'User-AGENT', value: '{{AGENT}}' },
        { key: 'Content-Type', value: 'application/vnd.x+json' },
        { key: 'X-Many', value: 'a' },
        { key: 'x-many', value: 'b' },
      ],
    },
    { environment: [variable('AGENT', 'mine')] },
  );
  const { headers } = echoOf(seen);
  assert.equal(headers.host, 'other.example');
  assert.equal(headers['user-agent'], 'mine');
  assert.equal(headers['content-type'], 'application/vnd.x+json');
  assert.equal(headers['x-many'], 'a, b');
});

test('query parameters are appended, encoded once', async () => {
  await using server = await echoServer();
  const seen = await runCheck(
    {
      url: `${server.url}/p?a=1`,
      queryParameters: [
        { key: 'b c', value: 'd&e' },
        { key: 'x', value: '{{X}}' },
        { key: 'raw', value: '{{{X}}}' },
      ],
    },
    { environment: [variable('X', '50%&more')] },
  );
  assert.equal(echoOf(seen).url, '/p?a=1&b%20c=d%26e&x=50%25%26more&raw=50%&more');
  assert.deepEqual(seen.request['params'], { 'b c': 'd&e', x: '50%&more', raw: '50%&more' });
});

test('credentials are completed, sent, and neither shown nor kept', async () => {
  await using server = await echoServer();
  const context = runnerContext(5_000, {}, { environment: [variable('P', 'pa:ss', true)] });
  const basicAuth = { username: 'me', password: '{{P}}' };
  const request = { method: 'GET', url: server.url, basicAuth };
  const seen = await runApi(definitionOf('API', request), context);
  const pair = Buffer.from('me:pa:ss').toString('base64');
  assert.equal(echoOf(seen).headers.authorization, `Basic ${pair}`);
  const shown = seen.request['headers'] as Record<string, string>;
  assert.equal(shown['Authorization'], '*********');
  assert.deepEqual(context.secrets, [pair]);
});

test('each request carries a trace of the run, with a parent of its own', async () => {
  const parents: string[] = [];
  await using server = await httpServer((request, response) => {
    parents.push(String(request.headers['traceparent']));
    assert.equal(request.headers['tracestate'], 'monitor=true');
    if (request.url === '/') response.writeHead(302, { location: '/next' }).end();
    else response.end();
  });
  await runCheck({ url: server.url });
  const [first, second] = parents.map((parent) => parent.split('-'));
  assert.match(parents[0] ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  assert.equal(first?.[1], second?.[1]);
  assert.notEqual(first?.[2], second?.[2]);
});

suite('a redirect', () => {
  const rows: [number, string, string][] = [
    [301, 'POST', 'GET '],
    [302, 'POST', 'GET '],
    [302, 'PUT', 'PUT text'],
    [303, 'PUT', 'GET '],
    [303, 'HEAD', 'HEAD '],
    [307, 'POST', 'POST text'],
    [308, 'DELETE', 'DELETE text'],
  ];
  for (const [status, method, expected] of rows) {
    test(`with ${status} makes ${method} ${expected}`, async () => {
      let arrived = '';
      await using server = await httpServer((request, response) => {
        if (request.url === '/') {
          request.resume();
          response.writeHead(status, { location: '/next' }).end();
          return;
        }
        arrived = `${request.method} `;
        assert.equal(request.headers['content-type'] === undefined, arrived === 'GET ');
        request.on('data', (chunk: Buffer) => (arrived += String(chunk)));
        request.on('end', () => response.end());
      });
      const body = method === 'HEAD' ? {} : { bodyType: 'RAW', body: 'text' };
      const headers = [{ key: 'content-type', value: 'text/plain' }];
      await runCheck({ method, url: server.url, headers, ...body });
      assert.equal(arrived, expected);
    });
  }

  test('to another origin takes no credentials along, to the same one it does', async () => {
    await using other = await echoServer();
    await using server = await httpServer((request, response) => {
      const location = request.url === '/' ? '/again' : `${other.url}/end`;
      response.writeHead(request.headers.authorization === 'let me in' ? 302 : 401, { location });
      response.end();
    });
    const seen = await runCheck({
      url: server.url,
      headers: [
        { key: 'Authorization', value: 'let me in' },
        { key: 'Cookie', value: 'a=b' },
        { key: 'Host', value: 'vhost.example' },
        { key: 'X-Other', value: 'stays' },
      ],
    });
    const { headers } = echoOf(seen);
    assert.equal(headers.authorization, undefined);
    assert.equal(headers.cookie, undefined);
    assert.equal(headers.host, new URL(other.url).host);
    assert.equal(headers['x-other'], 'stays');
    assert.equal(seen.response?.['redirects'], 2);
  });
});

suite('a check fails before its request, naming the field, for', () => {
  const rows: [string, Record<string, unknown>, string, RegExp][] = [
    ['an address of another kind', { url: '{{U}}' }, 'INVALID_URL', /"ftp:\/\/a\.example"/],
    ['an open tag in the body', { body: '{{X', bodyType: 'RAW' }, 'TEMPLATE_INVALID', /the body/],
    [
      'an open tag in a header',
      { headers: [{ key: 'X-A', value: '{{' }] },
      'TEMPLATE_INVALID',
      /the header "X-A"/,
    ],
    [
      'a line break in a header',
      { headers: [{ key: 'X-A', value: '{{B}}' }] },
      'INVALID_HEADER',
      /the header "X-A"/,
    ],
  ];
  for (const [name, request, code, message] of rows) {
    test(name, async () => {
      const environment = [variable('U', 'ftp://a.example'), variable('B', 'secret\r\nX: y')];
      const seen = await runCheck({ url: 'http://127.0.0.1:1', ...request }, { environment });
      assert.equal(seen.failure?.code, code);
      assert.match(seen.failure.message, message);
      assert.doesNotMatch(seen.failure.message, /secret/);
      assert.equal(seen.failure.isNetworkError, false);
      assert.equal(verdictOn(seen).hasFailures, true);
    });
  }
});

test('a variable without a value is logged by name', async () => {
  await using server = await echoServer();
  const context = runnerContext();
  const request = { method: 'GET', url: `${server.url}/{{GONE}}` };
  await runApi(definitionOf('API', request), context);
  assert.ok(context.logged.some((line) => line.includes('"GONE"')));
});

test('every source of assertions reads what it is about', async () => {
  await using server = await httpServer((_request, response) => {
    response.writeHead(201, { 'content-type': 'application/json', 'X-Rate': 'limit=42; soft' });
    response.end('{"items":[1,2,3],"name":"shop"}');
  });
  const seen = await runCheck({ url: server.url });
  const rows = [
    { source: 'STATUS_CODE', comparison: 'EQUALS', target: '201' },
    { source: 'RESPONSE_TIME', comparison: 'LESS_THAN', target: '10000' },
    { source: 'JSON_BODY', property: '$.items[*]', comparison: 'LESS_THAN', target: '4' },
    { source: 'JSON_BODY', property: '$.items.length', comparison: 'EQUALS', target: '3' },
    { source: 'TEXT_BODY', property: '"name":"(.*)"', comparison: 'EQUALS', target: 'shop' },
    {
      ...{ source: 'HEADERS', property: 'x-rate', regex: 'limit=(\\d+)', comparison: 'EQUALS' },
      target: '42',
    },
  ];
  const verdict = verdictOn(seen, rows);
  assert.deepEqual(
    verdict.assertions.map(({ error }) => error),
    rows.map(() => undefined),
  );
  assert.equal(verdict.hasFailures, false);
  const wrong = verdictOn(
    seen,
    rows.map((row) => ({ ...row, target: '4', comparison: 'EQUALS' })),
  );
  assert.deepEqual(
    wrong.assertions.map(({ error }) => error !== undefined),
    rows.map(() => true),
  );
});

test('an error status fails, unless shouldFail says otherwise', async () => {
  await using server = await httpServer((_request, response) => response.writeHead(503).end());
  const seen = await runCheck({ url: server.url });
  assert.equal(verdictOn(seen).hasFailures, true);
  assert.equal(verdictOn(seen, [], { shouldFail: true }).hasFailures, false);
});

test('assertions see all of a large body, the result holds its beginning', async () => {
  const text = `${'x'.repeat(300_000)}<the end>`;
  await using server = await httpServer((_request, response) => response.end(text));
  const seen = await runCheck({ url: server.url });
  assert.equal(String(seen.response?.['body']).length, 65_536);
  assert.equal(seen.response?.['truncated'], true);
  const ends = [
    { source: 'TEXT_BODY', property: '<(.*)>', comparison: 'EQUALS', target: 'the end' },
  ];
  assert.equal(verdictOn(seen, ends).hasFailures, false);
});

test('what is kept of a body never ends within a secret', async () => {
  const secret = 'tok/secret-0123456789';
  for (const form of [secret, encodeURIComponent(secret)]) {
    const text = `${'x'.repeat(65_530)}${form}${'y'.repeat(100)}`;
    await using server = await httpServer((_request, response) => response.end(text));
    const seen = await runCheck(
      { url: server.url },
      { environment: [variable('S', secret, true)] },
    );
    assert.equal(seen.response?.['body'], 'x'.repeat(65_530));
    const head = `${'x'.repeat(8_190)}${form}${'y'.repeat(100)}`;
    await using small = await httpServer((_request, response) =>
      response.setHeader('content-type', 'text/plain').end(head),
    );
    const context = runnerContext(5_000, {}, { environment: [variable('S', secret, true)] });
    const url = await runUrl(definitionOf('URL', { url: small.url }), context);
    assert.equal(url.response?.['body'], 'x'.repeat(8_190));
  }
});

test('binary bodies are left out, unless an assertion reads them; small pictures are kept', async () => {
  await using server = await httpServer((request, response) => {
    response.setHeader('content-type', request.url?.slice(1) ?? '').end('\x89PNG');
  });
  const pdf = await runCheck({ url: `${server.url}/application/pdf` });
  assert.equal(pdf.response?.['body'], '[5 bytes of application/pdf, left out]');
  const assertions = [{ source: 'TEXT_BODY', comparison: 'CONTAINS', target: 'PNG' }];
  for (const type of ['audio/x-pn-wav', 'audio/wav', 'video/avi', 'application/zip']) {
    const { response } = await runCheck({ url: `${server.url}/${type}` });
    assert.match(String(response?.['body']), /left out/, type);
  }
  const read = await runCheck({ url: `${server.url}/application/pdf`, assertions });
  assert.equal(read.response?.['body'], '\x89PNG');
  const picture = await runCheck({ url: `${server.url}/image/png` });
  assert.equal(picture.response?.['bodyEncoding'], 'base64');
  assert.equal(Buffer.from(String(picture.response['body']), 'base64').toString(), '\x89PNG');
});

test('a text in another charset is read as such', async () => {
  await using server = await httpServer((_request, response) => {
    response.setHeader('content-type', 'text/plain; charset=iso-8859-1').end(Buffer.from([0xe9]));
  });
  assert.equal((await runCheck({ url: server.url })).response?.['body'], 'é');
});

test('the address of a URL monitor is completed too', async () => {
  await using server = await echoServer();
  const environment = [variable('BASE', server.url), variable('Q', 'a b')];
  const context = runnerContext(5_000, {}, { environment });
  const seen = await runUrl(definitionOf('URL', { url: '{{BASE}}/x?q={{Q}}' }), context);
  assert.equal(echoOf(seen).url, '/x?q=a%20b');
  const broken = await runUrl(definitionOf('URL', { url: '{{NOTHING}}' }), context);
  assert.equal(broken.failure?.code, 'INVALID_URL');
});
