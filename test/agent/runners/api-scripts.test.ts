// Own process: it changes the environment of the process.
import assert from 'node:assert/strict';
import test, { after, before, suite } from 'node:test';
import { AgentError } from '../../../agent/errors.ts';
import { RequestScripts } from '../../../agent/script-host/request-scripts/request-scripts.ts';
import { systemClock } from '@monitor/shared/clock.ts';
import type { Observation, RunnerContext, Scripting } from '../../../agent/runners/runner.ts';
import { runApi } from '../../../agent/runners/api.ts';
import { echoOf, echoServer, verdictOn } from '../../support/api-check.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { mutualServer } from '../../support/mutual-server.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { repositoryRuntime, testScripting } from '../../support/scripting.ts';
import { httpServer, type TestServer } from '../../support/servers.ts';

let server: TestServer;
let scripting: Scripting & AsyncDisposable;

before(async () => {
  server = await echoServer();
  scripting = await testScripting();
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await scripting[Symbol.asyncDispose]();
});

interface Line {
  message: string;
  level: string;
  section: string;
}

interface ScriptedRun {
  seen: Observation;
  lines: Line[];
  secrets: string[];
}

type Sources = { setup?: string[]; teardown?: string[]; snippets?: Record<string, string> };

async function runWith(
  { setup = [], teardown = [], snippets = {} }: Sources,
  request: Record<string, unknown> = {},
  further: Partial<RunnerContext> = {},
): Promise<ScriptedRun> {
  const lines: Line[] = [];
  const named = (phase: string) => (source: string, index: number) => ({
    name: `${index === 0 ? 'first' : 'second'} ${phase} script`,
    source,
  });
  const context = runnerContext(
    5_000,
    {},
    {
      scripting: () => scripting,
      setupScripts: setup.map(named('setup')),
      teardownScripts: teardown.map(named('teardown')),
      snippets: Object.entries(snippets).map(([name, source]) => ({ name, source })),
      log: (message, level = 'INFO', section = 'request') =>
        lines.push({ message, level, section }),
      ...further,
    },
  );
  const definition = definitionOf('API', { method: 'POST', url: server.url, ...request });
  return { seen: await runApi(definition, context), lines, secrets: context.secrets };
}

test('setup scripts change all of the request, one after the other, in texts', async () => {
  const { seen } = await runWith({
    setup: [
      "request.method = 'put'; request.url += '/path'; request.headers['X-A'] = 1;",
      "request.queryParameters.q = ['a b', 'c']; request.body = { json: request.headers['X-A'] };",
    ],
  });
  const { method, url, headers, body } = echoOf(seen);
  assert.deepEqual(
    [method, url, headers['x-a'], body],
    ['PUT', '/path?q=a%20b&q=c', '1', '{"json":"1"}'],
  );
});

test('what setup changes in the environment feeds templates and teardown', async () => {
  const environment = [
    { key: 'OLD', value: 'old', secret: false },
    { key: 'GONE', value: 'here', secret: false },
  ];
  const { seen, lines } = await runWith(
    {
      setup: ["process.env.TOKEN = process.env.OLD + '-new'; delete process.env.GONE"],
      teardown: ['console.info(process.env.TOKEN, process.env.GONE)'],
    },
    { bodyType: 'RAW', body: '{{TOKEN}} [{{GONE}}]' },
    { environment },
  );
  assert.equal(echoOf(seen).body, 'old-new []');
  assert.ok(lines.some(({ message }) => message === 'old-new undefined'));
});

test('scripts know their run', async () => {
  const { seen } = await runWith({
    setup: [
      "request.body = ['ACCOUNT_ID','CHECK_NAME','CHECK_TYPE','REGION','RUNTIME_VERSION','REQUEST_URL'].map((name) => process.env[name]).join()",
    ],
  });
  assert.equal(echoOf(seen).body, `account,test,API,somewhere,2026.04,${server.url}`);
});

test('packages and snippets are there for require, for import() and for import statements', async () => {
  const { seen, lines } = await runWith({
    snippets: {
      one: "module.exports = { sum: require('./snippets/two.js').two + require('./two').two }",
      two: 'exports.two = 2',
      '../escape': 'never',
    },
    setup: [
      "const { z } = require('zod'); const { sum } = await import('./snippets/one.js'); request.body = typeof z.string + sum",
      "import moment from 'moment';\nimport one from './snippets/one.js';\nrequest.body += one.sum + moment.utc(0).format('YYYY')",
    ],
  });
  assert.equal(echoOf(seen).body, 'function441970');
  assert.ok(lines.some(({ message, level }) => level === 'WARN' && message.includes('../escape')));
});

test('teardown sees the response, may change its body and nothing else, and assertions judge that', async () => {
  const { seen } = await runWith({
    teardown: [
      "const was = response.statusCode; response.statusCode = 500; response.headers['content-type'] = 'x'; request.url = 'y';" +
        "response.body = JSON.stringify({ was, now: response.statusCode, type: response.headers['content-type'], url: request.url, total: response.timingPhases.total > 0 })",
      'const body = JSON.parse(response.body); body.second = true; response.body = JSON.stringify(body)',
    ],
  });
  assert.deepEqual(JSON.parse(String(seen.response?.['body'])), {
    ...{ was: 200, now: 200, type: 'application/json', url: `${server.url}/`, total: true },
    second: true,
  });
  const isChanged = {
    ...{ source: 'JSON_BODY', property: '$.second', comparison: 'EQUALS', target: 'true' },
  };
  assert.equal(verdictOn(seen, [isChanged]).hasFailures, false);
});

test('teardown sees all of a large body, and leaves it as it is unless it changes it', async () => {
  const text = `${'"\\é'.repeat(2_000_000)}<the end>`;
  await using large = await httpServer((_request, response) => response.end(text));
  const { seen, lines } = await runWith(
    { teardown: ['console.log(response.body.length, response.body.slice(-9))'] },
    { url: large.url },
  );
  assert.equal(seen.laterFailure, undefined);
  assert.ok(lines.some(({ message }) => message === `${text.length} <the end>`));
  assert.equal(seen.wholeBody, text);
});

test('a setup script that fails ends the run before its request, with name and line', async () => {
  const { seen } = await runWith({ setup: ["\n\nthrow new TypeError('no token')"] });
  assert.deepEqual(seen.failure, {
    phase: 'setup',
    code: 'SCRIPT_FAILED',
    message: 'first setup script failed at line 3: TypeError: no token',
    isNetworkError: false,
  });
  assert.equal(seen.response, null);
  assert.equal(verdictOn(seen).hasFailures, true);
});

test('a teardown script that fails lets the next one run and assertions be judged, and fails the check', async () => {
  const { seen, lines } = await runWith({
    teardown: ["\nthrow new Error('cannot clean up')", "response.body = 'by the second'"],
  });
  assert.equal(seen.failure, null);
  const passes = { source: 'TEXT_BODY', comparison: 'EQUALS', target: 'by the second' };
  const verdict = verdictOn(seen, [passes], { shouldFail: true });
  assert.equal(verdict.assertions[0]?.error, undefined);
  assert.equal(verdict.hasFailures, true);
  assert.match(verdict.reason ?? '', /first teardown script failed at line 2: cannot clean up/);
  // The response is there, so the log is where a reader of the result learns of it.
  assert.ok(lines.some(({ message }) => message === verdict.reason));
});

suite('a setup script that', () => {
  const rows: [string, string, RegExp, Record<string, string>?][] = [
    ['cannot be read', 'const x = ;', /failed at line 1: SyntaxError/],
    [
      'fails in a snippet',
      "require('./snippets/bad')",
      /at snippets\/bad\.js line 2: x is/,
      { bad: "\nthrow new Error('x is bad')" },
    ],
    ['throws what is no error', "throw 'just a text'", /failed: 'just a text'/],
    ['throws what cannot be shown', 'throw new Proxy({}, { get() { throw 1 } })', /failed/],
    [
      'fails where nobody waits',
      "setTimeout(() => { throw new Error('stray') }); await new Promise(() => setTimeout(() => {}, 5000))",
      /stray/,
    ],
    ['ends its process', 'process.exit(0)', /ended its own process \(exit code 0\)/],
    ['needs what is not there', "require('no-such-package')", /no-such-package/],
    [
      'replaces the request by a trap',
      "request = new Proxy({}, { get() { throw new Error('trap') } })",
      /trap/,
    ],
    ['removes the request', 'request = null', /TypeError/],
    ['leaves too much behind', "request.body = 'x'.repeat(300000)", /at most 262144/],
    ['invents a method', "request.method = 'CONNECT'", /"CONNECT" is none of/],
    ['breaks the address', "request.url = 'file:///etc/passwd'", /not an http or https address/],
  ];
  for (const [name, source, message, snippets = {}] of rows) {
    test(`${name} fails the check`, async () => {
      const { seen } = await runWith({ setup: [source], snippets });
      assert.match(seen.failure?.message ?? 'no failure', message);
      assert.equal(seen.response, null);
    });
  }
});

test('pollution of prototypes stays in the process of the script', async () => {
  const { seen } = await runWith({
    setup: [
      'Object.prototype.polluted = \'yes\'; Array.prototype.map = undefined; request.headers = JSON.parse(\'{"__proto__":"x","X-B":"2"}\'); process.env.__proto__ = \'z\'',
    ],
  });
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  assert.ok(seen.failure !== null || echoOf(seen).headers['x-b'] === '2');
});

test('lines of the console become log lines with level and section, the first names the runtime', async () => {
  const { lines } = await runWith({
    setup: [
      "console.log('a %d', 1); console.warn('b'); console.error(new Error('c').message); console.debug({ d: 1 }); process.stdout.write('e\\n')",
    ],
    teardown: ['console.table([{ f: 1 }])'],
  });
  assert.match(lines[0]?.message ?? '', /^runtime 2026\.04 with Node v24/);
  const told = lines
    .slice(1)
    .map(({ level, section, message }) => `${section} ${level} ${message}`);
  for (const line of [
    'setup INFO a 1',
    'setup WARN b',
    'setup ERROR c',
    'setup DEBUG { d: 1 }',
    'setup INFO e',
  ]) {
    assert.ok(told.includes(line), `${line} is not among ${told.join(' | ')}`);
  }
  assert.ok(told.some((line) => line.startsWith('teardown INFO ┌')));
});

test('endless output is cut and does not hurt', async () => {
  const { seen, lines } = await runWith({
    setup: ["for (let i = 0; i < 100000; i += 1) console.log('x'.repeat(100))"],
  });
  assert.equal(seen.failure, null);
  assert.equal(lines.at(-1)?.message, 'further output is left out');
  assert.ok(lines.length < 5_000);
});

test('secrets that scripts assign are reported, even when they are gone again', async () => {
  const { secrets } = await runWith({
    setup: [
      "process.env.SERVICE_SECRET_A = 'first-secret'; delete process.env.SERVICE_SECRET_A; Object.assign(process.env, { CHECKLY_SECRET_B: 'second-secret' }); process.env.PLAIN = 'no secret'",
    ],
  });
  assert.deepEqual(secrets.sort(), ['first-secret', 'second-secret']);
});

test('scripts get nothing of the environment of the agent', async () => {
  process.env['OF_THE_AGENT'] = 'hidden';
  const { seen } = await runWith({ setup: ['request.body = JSON.stringify(process.env)'] });
  delete process.env['OF_THE_AGENT'];
  assert.doesNotMatch(echoOf(seen).body, /OF_THE_AGENT/);
  assert.match(echoOf(seen).body, /CHECK_ID/);
});

test('a script that does not end is ended, and the run goes on without it', async () => {
  for (const source of ['for (;;);', 'await new Promise((r) => setTimeout(r, 60000))']) {
    await using scripts = await RequestScripts.open({
      setup: [{ name: 'the script', source }],
      ...{ teardown: [], snippets: [], environment: new Map(), clock: systemClock },
      ...{ host: scripting.host, runtime: repositoryRuntime, proxyServer: null },
      onPlace: () => undefined,
      ...{ signal: new AbortController().signal, timeoutMs: 2_000, lifetimeMs: 60_000 },
      log: () => undefined,
      addSecret: () => undefined,
    });
    const request = { method: 'GET', url: '', body: '', headers: [], queryParameters: [] };
    assert.deepEqual(await scripts.setup(0, request), {
      code: 'SCRIPT_TIMEOUT',
      message: 'the script did not end within 2 seconds',
    });
  }
});

test('a cancelled run ends its scripts at once', async () => {
  const cancelling = new AbortController();
  const { seen } = await runWith(
    { setup: ["console.log('begun'); await new Promise((r) => setTimeout(r, 60000))"] },
    {},
    {
      signal: cancelling.signal,
      log: (message) => {
        if (message === 'begun') cancelling.abort();
      },
    },
  );
  assert.equal(seen.failure?.code, 'CANCELLED');
});

test('a runtime whose Node does not start is an agent error', async () => {
  await using broken = await testScripting({ ...repositoryRuntime, nodePath: '/bin/false' });
  await assert.rejects(
    runWith({ setup: [''] }, {}, { scripting: () => broken }),
    (error) => error instanceof AgentError && error.code === 'RUNTIME_BROKEN',
  );
});

test('without a response teardown scripts are left out, and say so', async () => {
  const { seen, lines } = await runWith(
    { teardown: ["console.log('never')"] },
    { url: 'http://127.0.0.1:1' },
  );
  assert.equal(seen.failure?.code, 'ECONNREFUSED');
  assert.ok(
    lines.some(({ section, message }) => section === 'teardown' && /left out/.test(message)),
  );
  assert.ok(!lines.some(({ message }) => message === 'never'));
});

suite('what scripts ask for themselves', () => {
  const asking = (url: string) => `
    const get = (url) => new Promise((resolve, reject) => {
      require('https').get(url, (answer) => answer.on('data', (part) => resolve(String(part)))).on('error', reject);
    });
    request.body = [await get('${url}'), await (await fetch('${url}')).text(), process.env.HTTPS_PROXY].join(' ');`;

  test('goes by the proxy of the location, with its login, and shows client certificates', async () => {
    const [servers, clients] = [await makeAuthority('Servers'), await makeAuthority('Clients')];
    const host = 'shop.internal';
    await using asked = await mutualServer({
      own: await servers.issue({ host, validForDays: 9 }),
      accepts: clients,
    });
    const person = await clients.issue({ host: 'agent', validForDays: 9 });
    await using proxy = await proxyServer({ credentials: 'me:s3cret' });
    const further = {
      proxyUrl: proxy.url,
      clientCertificates: [{ host, ...person, passphrase: null, ca: servers.cert }],
    };
    const url = `https://${host}:${asked.port}/`;
    const { seen } = await runWith({ setup: [asking(url)] }, {}, further);
    const { body } = echoOf(seen);
    assert.match(body, /<body>agent.*<body>agent/s);
    assert.match(body, /http:\/\/127\.0\.0\.1:\d+$/);
    assert.doesNotMatch(body, /s3cret/);
    assert.deepEqual(proxy.asked.slice(0, 2), Array(2).fill(`CONNECT ${host}:${asked.port}`));
  });

  test('ends with an agent error where that proxy cannot be reached', async () => {
    const gone = await proxyServer();
    await gone[Symbol.asyncDispose]();
    await assert.rejects(
      runWith({ setup: [asking('https://shop.internal/')] }, {}, { proxyUrl: gone.url }),
      (error) => error instanceof AgentError && error.code === 'NETWORK_UNAVAILABLE',
    );
  });

  test('goes its own way where the check says so, and where there is no proxy', async () => {
    const told = 'request.body = [process.env.HTTPS_PROXY, process.env.NODE_USE_ENV_PROXY].join()';
    const plain = await runWith({ setup: [told] });
    assert.equal(echoOf(plain.seen).body, ',');
    await using proxy = await proxyServer();
    const own = await runWith(
      { setup: [told] },
      {},
      {
        proxyUrl: proxy.url,
        environment: [{ key: 'HTTPS_PROXY', value: 'http://127.0.0.1:9', secret: false }],
      },
    );
    assert.equal(echoOf(own.seen).body, 'http://127.0.0.1:9,1');
  });

  test('of a name in either case, what the check says wins in both', async () => {
    await using proxy = await proxyServer();
    const told =
      "request.body = [process.env.NO_PROXY, process.env.no_proxy, process.env.https_proxy].join(';')";
    const { seen } = await runWith(
      { setup: [told] },
      {},
      {
        proxyUrl: proxy.url,
        environment: [
          { key: 'NO_PROXY', value: 'shop.internal', secret: false },
          { key: 'HTTPS_PROXY', value: 'http://127.0.0.1:9', secret: false },
        ],
      },
    );
    assert.equal(echoOf(seen).body, 'shop.internal;shop.internal;http://127.0.0.1:9');
  });
});
