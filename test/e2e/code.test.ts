/** Code that customers write, through real processes: every type runs, and no secret comes out. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { canarySecrets, encodingsOf, findCanaries } from '../support/canaries.ts';
import { isLong, seededRandom, testSeed } from '../support/random.ts';
import { eventually, farFromNow, filesUnder, System, temporaryFolder } from '../support/system.ts';

interface Result {
  id: string;
  checkType: string;
  hasFailures: boolean;
  hasErrors: boolean;
  errorGroupIds: string[];
  apiCheckResult: Record<string, unknown> | null;
  browserCheckResult: Record<string, unknown> | null;
  multiStepCheckResult: Record<string, unknown> | null;
  playwrightCheckResult: Record<string, unknown> | null;
}

interface Asset {
  name: string;
  type: string;
  url: string | null;
  state: string;
  viewerUrl: string | null;
}

/** A site that repeats what it is told, in every way a site can. */
async function openMirror(texts: readonly string[]): Promise<AsyncDisposable & { url: string }> {
  const read = async (request: IncomingMessage): Promise<string> => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
    return text;
  };
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      response.writeHead(request.url?.startsWith('/fail') === true ? 500 : 200, {
        'content-type': 'text/html; charset=utf-8',
        'x-seen': encodeURIComponent(`${request.headers.authorization ?? ''} ${body}`).slice(
          0,
          4000,
        ),
      });
      response.end(
        `<!doctype html><title>mirror</title><h1>Mirror</h1><pre></pre><script>
          const seen = ${JSON.stringify(texts).replaceAll('<', '\\u003c')};
          document.querySelector('pre').textContent = seen.join('\\n');
          for (const text of seen) { console.log(text); console.error(text); }
          fetch('/echo?q=' + encodeURIComponent(seen[0]), { method: 'POST', body: seen.join(' ') });
        </script>`,
      );
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const secretNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `SERVICE_SECRET_${index}`);

test('checks of every type run, and no secret comes out in any encoding', async (t) => {
  using folder = temporaryFolder();
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  const secrets = canarySecrets(seededRandom(seed)).slice(0, isLong ? 24 : 8);
  const names = secretNames(secrets.length);
  const everything = secrets.flatMap((secret) => Object.values(encodingsOf(secret)).map(String));
  await using mirror = await openMirror([...secrets, ...everything.slice(0, 200)]);
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  const agent = system.startAgent('agent', key, {
    LOG_LEVEL: 'DEBUG',
    AGENT_WORK_DIR: join(folder.path, 'runs'),
    JOB_CONCURRENCY: '2',
  });
  await agent.log('checked in');

  const variables = names.map((name, index) => ({
    key: name,
    value: secrets[index] ?? '',
    secret: index % 2 === 0,
  }));
  const common = {
    privateLocations: ['here'],
    doubleCheck: false,
    ...farFromNow(),
    environmentVariables: [...variables, { key: 'MIRROR', value: mirror.url }],
  };
  const leak = `
    const secrets = ${JSON.stringify(names)}.map((name) => process.env[name]);
    for (const secret of secrets) {
      console.log('plain', secret);
      console.error('escaped', JSON.stringify({ secret }), encodeURIComponent(secret));
      console.log('base64', Buffer.from('x' + secret).toString('base64'), Buffer.from(secret).toString('hex'));
    }`;
  const browserScript = `
    import { test, expect } from '@playwright/test';
    import { writeFileSync } from 'node:fs';
    ${leak}
    test('leaks', async ({ page, request }) => {
      await page.goto(process.env.MIRROR + '/?q=' + encodeURIComponent(secrets[0]));
      await page.request.post(process.env.MIRROR + '/fail', {
        headers: { authorization: 'Bearer ' + secrets[1] },
        data: { secrets },
      });
      await test.info().attach('secrets.txt', { body: secrets.join('\\n'), contentType: 'text/plain' });
      await test.step('step ' + secrets[2], () => {});
      expect(secrets.join(' ')).toBe('something else');
    });`;
  const multiStepScript = browserScript
    .replace('{ page, request }', '{ request }')
    .replace(/await page.goto.*\n/, '')
    .replace('page.request', 'request');
  const request = (path: string) => ({ method: 'POST', url: `${mirror.url}${path}` });
  const specs: [string, string, Record<string, unknown>][] = [
    [
      'API',
      'api',
      {
        name: 'api',
        localSetupScript: `${leak}\nrequest.headers.authorization = 'Bearer ' + secrets[3];`,
        localTearDownScript: `${leak}\nthrow new Error(secrets.join(' '));`,
        request: {
          ...request(`/fail?q={{${names[0] ?? ''}}}`),
          bodyType: 'RAW',
          body: names.map((name) => `{{{${name}}}}`).join(' '),
          assertions: [
            { source: 'TEXT_BODY', property: '', comparison: 'EQUALS', target: 'nothing' },
          ],
        },
      },
    ],
    ['URL', 'url', { name: 'url', request: { url: `${mirror.url}/fail?q={{${names[0] ?? ''}}}` } }],
    ['BROWSER', 'browser', { name: 'browser', script: browserScript }],
    ['MULTI_STEP', 'multistep', { name: 'multi-step', script: multiStepScript }],
  ];

  specs.push([
    'PLAYWRIGHT',
    'playwright',
    { name: 'suite', ...(await system.uploadSuite({ 'leak.spec.js': browserScript })) },
  ]);

  const checks = new Map<string, string>();
  for (const [type, path, body] of specs) {
    const check = await system.api<{ id: string }>('POST', `/v1/checks/${path}`, {
      ...common,
      ...body,
    });
    checks.set(type, check.id);
  }
  // A target that sends a secret back is not a script, and yet nothing may come out.
  const echo = createTcpServer((socket) => socket.end(secrets.join('\n'))).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const tcp = await system.api<{ id: string }>('POST', '/v1/checks/tcp', {
    ...common,
    name: 'tcp',
    request: {
      hostname: '127.0.0.1',
      port: (echo.address() as AddressInfo).port,
      data: 'x',
      assertions: [{ source: 'RESPONSE_DATA', comparison: 'EQUALS', target: 'nothing' }],
    },
  });
  checks.set('TCP', tcp.id);

  // A run between two attempts waits on the disk of the agent with all it needs.
  const waiting = await system.api<{ id: string }>('POST', '/v1/checks/url', {
    ...common,
    name: 'waiting',
    request: { url: `${mirror.url}/fail` },
    retryStrategy: {
      type: 'FIXED',
      baseBackoffSeconds: 300,
      maxRetries: 1,
      maxDurationSeconds: 600,
    },
  });

  const results = new Map<string, Result>();
  await eventually(
    async () => {
      for (const [type, id] of checks) {
        if (results.has(type)) continue;
        const [result] = await system.api<Result[]>('GET', `/v1/check-results/${id}`);
        if (result !== undefined) results.set(type, result);
      }
      return results.size === checks.size;
    },
    () => `results of ${[...results.keys()].join(', ')} alone`,
  );
  echo.close();
  for (const [type, result] of results) {
    assert.equal(result.hasErrors, false, `${type}: ${JSON.stringify(result).slice(0, 2000)}`);
    assert.equal(result.hasFailures, true, type);
    assert.ok(result.errorGroupIds.length > 0, `${type} has an error group`);
  }

  const outputs = new Map<string, Buffer>();
  for (const [type, result] of results) {
    outputs.set(`result of ${type}`, Buffer.from(JSON.stringify(result)));
    const checkId = checks.get(type) ?? '';
    const assets = await system.assetsOf<Asset>(checkId, result.id);
    for (const asset of assets) {
      assert.equal(asset.state, 'STORED', `${type} ${asset.name}`);
      assert.ok(asset.url !== null);
      const file = await fetch(asset.url);
      assert.equal(file.status, 200);
      outputs.set(`${type} ${asset.name}`, Buffer.from(await file.arrayBuffer()));
    }
    if (['BROWSER', 'PLAYWRIGHT'].includes(type)) {
      assert.ok(
        assets.some((asset) => asset.type === 'trace' && asset.viewerUrl !== null),
        `${type} has a trace to look at: ${JSON.stringify(assets)}`,
      );
    }
  }
  const groups = await system.api<unknown[]>('GET', '/v1/error-groups?limit=100');
  outputs.set('error groups', Buffer.from(JSON.stringify(groups)));
  outputs.set('log of the agent', Buffer.from(agent.lines.join('\n')));
  outputs.set('log of the control plane', Buffer.from(system.controlPlane.lines.join('\n')));
  let attempts: Result[] = [];
  await eventually(
    async () => {
      const path = `/v1/check-results/${waiting.id}?resultType=ATTEMPT`;
      attempts = await system.api<Result[]>('GET', path);
      return attempts.length === 1;
    },
    () => `one attempt of the run that waits: ${JSON.stringify(attempts)}`,
  );
  for (const file of filesUnder(join(folder.path, 'agent'))) {
    // What an agent must know to work while the control plane is away, sealed.
    outputs.set(file, readFileSync(file));
  }
  for (const [name, content] of outputs) {
    assert.deepEqual(findCanaries(content, secrets), [], name);
  }
  assert.ok(outputs.size > 12, [...outputs.keys()].join(', '));

  agent.signal('SIGTERM');
  assert.deepEqual(await agent.exited, { code: 0, signal: null });
  const leftovers = filesUnder(join(folder.path, 'runs')).filter((file) => statSync(file).size > 0);
  assert.deepEqual(leftovers, []);
});
