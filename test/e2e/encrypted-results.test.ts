/**
 * A location with keys for results, through real processes: what its targets and scripts write is
 * nowhere on the side of the control plane, and its verdicts are those of a readable twin.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import test from 'node:test';
import { Metadata, status } from '@grpc/grpc-js';
import { resultFields } from '@monitor/shared/contract/check-result.ts';
import { agent } from '../support/agent-command.ts';
import { encodingsOf, findCanaries } from '../support/canaries.ts';
import { selfSigned } from '../support/certificates.ts';
import { Operator } from '../support/control-plane-command.ts';
import { answerTo, startDnsServer } from '../support/dns-server.ts';
import { grpcServer } from '../support/grpc-server.ts';
import { inOrder, modelKey, modelServer } from '../support/model-server.ts';
import { mailServer } from '../support/mail-server.ts';
import { seededRandom, testSeed } from '../support/random.ts';
import { startS3 } from '../support/s3.ts';
import { httpServer, tcpServer, tlsServer } from '../support/servers.ts';
import { eventually, farFromNow, filesUnder, System, temporaryFolder } from '../support/system.ts';
import { openWebhook } from '../../proof/webhook.ts';

interface Result {
  id: string;
  checkId: string;
  name: string;
  checkType: string;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  errorGroupIds: string[];
  encryptedResult?: {
    envelope: unknown;
    response?: { status?: number; timingPhases?: Record<string, number> };
  };
  [field: string]: unknown;
}

interface Asset {
  name: string;
  state: string;
  url: string | null;
}

/** Everything in a value that has no parts. */
function leavesOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return Object.values(value).flatMap(leavesOf);
}

/** Words that nothing takes for a secret, and that are in no other text. */
function canariesOf(random: () => number): string[] {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const word = (): string =>
    Array.from({ length: 16 }, () => letters[Math.floor(random() * letters.length)]).join('');
  return Array.from({ length: 28 }, () => word());
}

test('nothing of 28 canaries in results of every type reaches the control plane, its key shows all, and the twin is judged alike', async (t) => {
  using folder = temporaryFolder();
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  const canaries = canariesOf(seededRandom(seed));
  const canary = (index: number): string => canaries[index] ?? assert.fail();

  const answer = (response: ServerResponse, name: (index: number) => string): void => {
    response.writeHead(503, name(0), {
      'content-type': `text/html; note=${name(1)}`,
      'x-seen': name(2),
      [`x-${name(3)}`]: 'name',
      'set-cookie': `session=${name(4)}`,
    });
    response.end(
      `<!doctype html><title>${name(5)}</title><h1>${name(6)}</h1>
       <script>console.error('${name(7)}'); fetch('/asked-${name(8)}');</script>`,
    );
  };
  await using site = await httpServer((request, response) => {
    if (request.url === '/canaries') response.end(JSON.stringify(canaries));
    else answer(response, request.url?.startsWith('/plain') === true ? (i) => `word${i}` : canary);
  });
  await using echo = await tcpServer((socket) => socket.end(canary(9)));
  await using names = await startDnsServer((query) =>
    answerTo(query, {
      answers: [{ type: 'TXT', name: query.name, ttl: 60, data: canary(10) }],
    }),
  );
  await using secure = await tlsServer(
    await selfSigned({ host: `${canary(11)}.example`, validForDays: 20, others: ['localhost'] }),
  );
  const metadata = new Metadata();
  metadata.set('seen', canary(24));
  await using orders = await grpcServer({
    reflection: ['v1'],
    get: (_call, say) => {
      say({ code: status.NOT_FOUND, details: canary(25), metadata });
    },
  });
  await using model = await modelServer(
    inOrder(
      () => ({ tool: 'navigate', input: { url: `${site.url}/page` } }),
      () => ({ tool: 'screenshot', input: { name: canary(26) } }),
      () => ({ tool: 'finish', input: { passed: false, summary: canary(27) } }),
    ),
  );
  await using webhook = await openWebhook();
  await using mailbox = await mailServer();
  await using s3 = await startS3();
  await using system = await System.start(folder.path, {
    ...s3.settings,
    OUTGOING_ALLOWED_NETWORKS: '127.0.0.1',
    SMTP_URL: mailbox.url,
    MAIL_FROM: 'Monitor <monitor@example.com>',
  });
  const keyFile = join(folder.path, 'results.key');
  const { out: publicKey } = await agent(['encryption-key', '--output', keyFile]);
  const spare = await agent(['encryption-key', '--output', join(folder.path, 'spare.key')]);
  const made = await system.api<{ keys: [{ rawKey: string }] }>('POST', '/v1/private-locations', {
    ...{ name: 'sealed', slugName: 'sealed' },
    resultEncryptionKeys: [
      { name: 'operators', publicKey: publicKey.trim() },
      { name: 'spare', publicKey: spare.out.trim() },
    ],
  });
  const plainKey = await system.makeLocation('readable');
  const [sealedAgent] = await Promise.all(
    (
      [
        ['sealed-agent', made.keys[0].rawKey],
        ['readable-agent', plainKey],
      ] as const
    ).map(async ([name, key]) => {
      const program = system.startAgent(name, key, {
        AGENT_WORK_DIR: join(folder.path, `${name}-runs`),
        JOB_CONCURRENCY: '2',
        LOG_LEVEL: 'debug',
        ...{ LLM_BASE_URL: `${model.url}/v1`, LLM_MODEL: 'test-model', LLM_API_KEY: modelKey },
      });
      await program.log('checked in');
      return program;
    }),
  );
  const template =
    '{ "check": "{{CHECK_NAME}}", "type": "{{ALERT_TYPE}}", "error": "{{CHECK_ERROR_MESSAGE}}", "status": "{{RESPONSE_STATUS_CODE}}" }';
  await system.api('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'people', url: webhook.url, method: 'POST', template },
    autoSubscribe: true,
  });
  await system.api('POST', '/v1/alert-channels', {
    type: 'EMAIL',
    config: { address: 'night@example.com' },
    autoSubscribe: true,
  });

  const service = await system.api<{ id: string }>('POST', '/v1/status-pages/services', {
    name: 'Shop',
  });
  await system.api('POST', '/v1/status-pages', {
    ...{ name: 'Shop status', url: 'shop' },
    cards: [{ name: 'All', services: [{ id: service.id }] }],
  });
  const triggerIncident = {
    ...{ serviceId: service.id, severity: 'CRITICAL', name: 'The shop is closed' },
    ...{ description: 'We look into it.', notifySubscribers: true },
  };

  const leak = `const canaries = await (await fetch('${site.url}/canaries')).json();`;
  const script = (page: boolean): string => `
    import { test, expect } from '@playwright/test';
    test('leaks', async ({ ${page ? 'page, ' : ''}request }) => {
      const canaries = await (await request.get('${site.url}/canaries')).json();
      ${page ? `await page.goto('${site.url}/page');` : `await request.get('${site.url}/page');`}
      console.log(canaries[${page ? 12 : 13}]);
      await test.info().attach(canaries[${page ? 14 : 15}] + '.txt', { body: canaries[${page ? 16 : 17}], contentType: 'text/plain' });
      await test.step('step ' + canaries[${page ? 18 : 19}], () => {});
      expect(canaries[${page ? 20 : 21}]).toBe('something else');
    });`;
  const common = { doubleCheck: false, ...farFromNow(), privateLocations: ['sealed'] };
  const create = async (path: string, body: Record<string, unknown>): Promise<string> =>
    (await system.api<{ id: string }>('POST', `/v1/checks/${path}`, { ...common, ...body })).id;
  const { port: dnsPort } = names;
  const checks: [name: string, path: string, body: Record<string, unknown>][] = [
    ['url', 'url', { request: { url: `${site.url}/front` }, triggerIncident }],
    [
      'api',
      'api',
      {
        localSetupScript: `${leak}\nconsole.log(canaries[22]);`,
        localTearDownScript: `${leak}\nthrow new Error(canaries[23]);`,
        request: {
          ...{ method: 'GET', url: `${site.url}/api` },
          assertions: [
            { source: 'TEXT_BODY', property: '', comparison: 'EQUALS', target: 'nothing' },
          ],
        },
      },
    ],
    [
      'tcp',
      'tcp',
      {
        request: {
          ...{ hostname: '127.0.0.1', port: echo.port, data: 'x' },
          assertions: [{ source: 'RESPONSE_DATA', comparison: 'EQUALS', target: 'nothing' }],
        },
        sslCheckDomain: `localhost:${secure.port}`,
      },
    ],
    [
      'dns',
      'dns',
      {
        request: {
          ...{ recordType: 'TXT', query: 'a.example', nameServer: '127.0.0.1', port: dnsPort },
          assertions: [
            { source: 'TEXT_ANSWER', property: '', comparison: 'EQUALS', target: 'nothing' },
          ],
        },
      },
    ],
    ['ssl', 'ssl', { request: { sslConfig: { hostname: 'localhost', port: secure.port } } }],
    [
      'grpc',
      'grpc',
      {
        request: {
          ...{ url: '127.0.0.1', port: orders.port },
          grpcConfig: {
            ...{ tls: false, serviceDefinition: 'REFLECTION', method: 'shop.v1.Orders/Get' },
          },
          assertions: [
            { source: 'GRPC_STATUS_CODE', property: '', comparison: 'EQUALS', target: '0' },
          ],
        },
      },
    ],
    [
      'icmp',
      'icmp',
      {
        request: {
          ...{ hostname: '127.0.0.1', pingCount: 1 },
          assertions: [
            { source: 'LATENCY', property: 'avg', comparison: 'LESS_THAN', target: '0' },
          ],
        },
      },
    ],
    [
      'traceroute',
      'traceroute',
      {
        request: {
          ...{ url: '127.0.0.1', port: echo.port },
          assertions: [
            { source: 'HOP_COUNT', property: '', comparison: 'GREATER_THAN', target: '60' },
          ],
        },
      },
    ],
    ['agentic', 'agentic', { prompt: `Look at ${site.url}/page.` }],
    ['browser', 'browser', { script: script(true) }],
    ['multi-step', 'multistep', { script: script(false) }],
  ];
  const ids = new Map<string, string>();
  for (const [name, path, body] of checks) ids.set(name, await create(path, { name, ...body }));
  const suite = await system.uploadSuite({ 'leak.spec.js': script(true) });
  ids.set('suite', await create('playwright', { name: 'suite', ...suite }));
  ids.set(
    'url twin',
    await create('url', {
      ...{ name: 'url twin', privateLocations: ['readable'] },
      request: { url: `${site.url}/plain` },
    }),
  );

  const results = new Map<string, Result>();
  await eventually(
    async () => {
      for (const [name, id] of ids) {
        if (results.has(name)) continue;
        const [result] = await system.api<Result[]>('GET', `/v1/check-results/${id}`);
        if (result !== undefined) results.set(name, result);
      }
      return results.size === ids.size;
    },
    () => `results of ${[...results.keys()].join(', ')} alone`,
  );
  for (const [name, { hasErrors, hasFailures }] of results) {
    // Not every machine lets a process ping and trace: an agent error is content too.
    const isOfRawSockets = ['icmp', 'traceroute'].includes(name);
    const expected = isOfRawSockets && hasErrors ? [true, false] : [false, true];
    assert.deepEqual([hasErrors, hasFailures], expected, name);
  }
  const resultOf = (name: string): Result => results.get(name) ?? assert.fail(name);

  // Files of all results, as the control plane has them.
  const heard = new Map<string, Buffer>();
  const downloads = new Map<string, string>();
  for (const [name, { id, checkId }] of results) {
    const assets = await system.assetsOf<Asset>(checkId, id);
    heard.set(`assets of ${name}`, Buffer.from(JSON.stringify(assets)));
    for (const asset of assets) {
      assert.equal(asset.state, 'STORED', `${name} ${asset.name}`);
      const bytes = Buffer.from(await (await fetch(asset.url ?? '')).arrayBuffer());
      heard.set(`${name} ${asset.name}`, bytes);
      const path = join(folder.path, `${id}-${asset.name}`);
      writeFileSync(path, bytes);
      downloads.set(asset.name, path);
    }
  }
  await webhook.until((all) =>
    ['url', 'url twin'].every((check) => all.some(({ body }) => body.includes(`"${check}"`))),
  );
  await mailbox.mailTo('night@example.com', /tcp/);
  await eventually(
    () => system.query<{ n: number }>('select count(*) as n from check_certificates')[0]?.n === 2,
    () => 'both certificates were read',
  );

  await t.test('flags, metrics, alerts and analytics are those of the twin', async () => {
    const [sealed, twin] = [resultOf('url'), resultOf('url twin')];
    const flags = ({ hasFailures, hasErrors, isDegraded }: Result) => ({
      ...{ hasFailures, hasErrors, isDegraded },
    });
    assert.deepEqual(flags(sealed), flags(twin));
    assert.deepEqual(sealed.errorGroupIds, []);
    const shown = (check: string) =>
      webhook.deliveries
        .map(({ body }) => JSON.parse(body) as Record<string, string>)
        .filter((body) => body['check'] === check)
        .map(({ type, status }) => ({ type, status }));
    assert.deepEqual(shown('url'), shown('url twin'));
    const said = webhook.deliveries.find(({ body }) => body.includes('"url"'))?.body ?? '';
    assert.match(said, /encrypted; open the link to read it/);
    const analytics = async (name: string) => {
      const path = `/v1/analytics/url-monitors/${ids.get(name)}?metrics=availability,dns_avg,tcp_avg,firstByte_avg&groupBy=statusCode&quickRange=last24Hours`;
      return JSON.stringify(await system.api('GET', path)).replaceAll(
        /\d+\.\d+|"(id|name)":"[^"]*"/g,
        '',
      );
    };
    await eventually(
      async () => (await analytics('url')).includes('503'),
      () => 'the analytics know the result',
    );
    const shape = (text: string): string =>
      text.replaceAll(/:\d+(?=[,}])/g, ':n').replaceAll(/"checkId":"[^"]*"|"20\d\d[^"]*"/g, '');
    assert.equal(shape(await analytics('url')), shape(await analytics('url twin')));
  });

  await t.test('nothing that the control plane ever wrote or said has a canary', async () => {
    for (const [name, result] of results) {
      heard.set(`result of ${name}`, Buffer.from(JSON.stringify(result)));
    }
    const operator = new Operator(folder.path, s3.settings);
    await operator.json('backup', join(folder.path, 'backup.db'));
    for (const path of [
      '/v1/error-groups?limit=100',
      '/v1/check-alerts',
      '/v1/check-statuses',
      '/v1/private-locations',
      '/v1/audit-log',
      '/v1/prometheus/metrics',
      '/console/',
      '/status/shop',
    ]) {
      const said = await fetch(`${system.baseUrl}${path}`, {
        headers: { authorization: `Bearer ${system.apiKey}` },
      });
      assert.equal(said.status, 200, path);
      heard.set(path, Buffer.from(await said.arrayBuffer()));
    }
    assert.match(heard.get('/status/shop')?.toString() ?? '', /The shop is closed/);
    heard.set('log', Buffer.from(system.controlPlane.lines.join('\n')));
    heard.set('log of the agent', Buffer.from(sealedAgent?.lines.join('\n') ?? assert.fail()));
    heard.set('webhooks', Buffer.from(webhook.deliveries.map(({ body }) => body).join('\n')));
    heard.set('mails', Buffer.from(mailbox.received.map(({ raw }) => raw).join('\n')));
    const written = [...filesUnder(folder.path), ...filesUnder(s3.folder)];
    for (const path of written) if (!path.includes('-runs/')) heard.set(path, readFileSync(path));
    assert.ok(written.some((path) => path.endsWith('backup.db')));
    assert.ok(written.some((path) => path.endsWith('control-plane.db-wal')));
    for (const [name, bytes] of heard) assert.deepEqual(findCanaries(bytes, canaries), [], name);
  });

  await t.test('of a ping or a trace, only numbers are readable', () => {
    for (const name of ['icmp', 'traceroute', 'grpc']) {
      const { encryptedResult, ...rest } = resultOf(name);
      for (const field of resultFields) assert.equal(rest[field], null, `${name} ${field}`);
      const { envelope: _envelope, ...metrics } = encryptedResult ?? assert.fail(name);
      const texts = leavesOf(metrics).filter((leaf) => typeof leaf !== 'number');
      assert.deepEqual(texts, [], name);
    }
  });

  await t.test('the key shows all of them', async () => {
    const opened: string[] = [];
    const json = join(folder.path, 'results.json');
    writeFileSync(json, JSON.stringify([...results.values()]));
    const { code, out, error } = await agent(['decrypt', '--key-file', keyFile, json]);
    assert.equal(code, 0, error);
    opened.push(out);
    for (const [name, path] of downloads) {
      const output = join(folder.path, `opened-${name}`);
      const done = await agent(['decrypt', '--key-file', keyFile, '--output', output, path]);
      assert.equal(done.code, 0, `${basename(path)}: ${done.error}`);
      opened.push(readFileSync(output, 'latin1'));
    }
    const seen = opened.join('\n');
    const missing = canaries.flatMap((each, index) =>
      Object.values(encodingsOf(each)).some((form) => seen.includes(form.toString('latin1')))
        ? []
        : [index],
    );
    assert.deepEqual(missing, []);
    const wrong = await agent(['encryption-key', '--output', join(folder.path, 'wrong.key')]);
    assert.equal(wrong.code, 0);
    const refused = await agent(['decrypt', '--key-file', join(folder.path, 'wrong.key'), json]);
    assert.equal(refused.code, 2);
    assert.match(refused.error, /was encrypted for .*, and this key is/);
  });
});
