import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { Job } from '@monitor/shared/contract/agent-protocol.ts';
import type { AgentType } from '@monitor/shared/contract/checks/index.ts';
import { startAgent } from '../../../agent/compose.ts';
import { readConfig } from '../../../agent/config.ts';
import { AgentError } from '../../../agent/errors.ts';
import { createLogger, toPlainLine } from '../../../agent/observability/logger.ts';
import { runners } from '../../../agent/runners/index.ts';
import type { Runner } from '../../../agent/runners/runner.ts';
import { canarySecrets, findCanaries } from '../../support/canaries.ts';
import { FakeControlPlane } from '../../support/fake-control-plane.ts';
import { plainNetwork } from '../../support/plain-network.ts';
import { withoutCode } from '../../support/plain.ts';
import { seededRandom } from '../../support/random.ts';
import { definitionOf } from '../../support/runner-context.ts';
import { httpServer } from '../../support/servers.ts';

const lineOf = (fields: object): string =>
  toPlainLine(
    JSON.stringify({ time: '2026-11-21T05:20:08.123Z', level: 'warn', msg: 'said', ...fields }),
  );

test('a plain line shows the time, the level, where it comes from and the facts', () => {
  assert.equal(
    lineOf({ subsystem: 'outbox', count: 3, reason: 'no room', code: 'OUTBOX_FULL' }),
    '05:20:08.123 WARN  [outbox] said  count=3  reason="no room"  code=OUTBOX_FULL\n',
  );
});

test('what a target says can neither begin a line, colour it, nor turn it around', () => {
  const hostile = 'x\n05:20:09 ERROR forged\r\u001b[31m\u009b2J\u202e\u2028\u0000\u{e0041}';
  for (const fields of [
    { a: hostile },
    { msg: hostile },
    { err: { message: hostile } },
    { a: [hostile] },
  ]) {
    const line = lineOf(fields);
    assert.ok(line.endsWith('\n'));
    assert.doesNotMatch(line.slice(0, -1), /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/u);
    assert.ok(line.includes('forged'), 'it is shown, harmlessly');
  }
});

function logged(level: 'DEBUG' | 'LOG' | 'INFO' | 'WARN' | 'ERROR', write: (line: string) => void) {
  return createLogger({ LOG_LEVEL: level, LOG_FORMAT: 'json' }, { write });
}

test('each level logs what is as severe, LOG being INFO', () => {
  const counts = (['DEBUG', 'LOG', 'INFO', 'WARN', 'ERROR'] as const).map((level) => {
    let count = 0;
    const logger = logged(level, () => (count += 1));
    logger.debug('a');
    logger.info('b');
    logger.warn('c');
    logger.error('d');
    return count;
  });
  assert.deepEqual(counts, [4, 3, 3, 2, 1]);
});

test('an error is logged with its code and cause, and with nothing else that hangs on it', () => {
  let line = '';
  const logger = logged('INFO', (text) => (line = text));
  const cause = Object.assign(new Error('refused'), { headers: { authorization: 'Bearer xyz' } });
  const error = new AgentError('KEY_REFUSED', 'no', { cause });
  logger.warn({ err: Object.assign(error, { request: { headers: 'Bearer xyz' } }) }, 'failed');
  const { err } = JSON.parse(line) as { err: Record<string, unknown> };
  assert.deepEqual(Object.keys(err).sort(), ['cause', 'code', 'message', 'stack', 'type']);
  assert.deepEqual([err['code'], err['cause']], ['KEY_REFUSED', 'Error: refused']);
  assert.equal(line.includes('xyz'), false);
});

test('no secret of a run of any type is in the log, not even at DEBUG; its lines say which run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-log-'));
  const secrets = canarySecrets(seededRandom(7)).slice(0, 8);
  const environment = secrets.map((value, index) => ({ key: `S${index}`, value, secret: true }));
  const spoken = secrets.join(' ');
  await using echo = await httpServer((request, response) => {
    const body = JSON.stringify({ url: request.url, headers: request.headers });
    response.writeHead(500, { 'x-echo': encodeURIComponent(request.url ?? '') }).end(body);
  });
  await using controlPlane = await FakeControlPlane.start();
  const lines: string[] = [];
  const logger = logged('DEBUG', (line) => lines.push(line));
  const { config } = readConfig({
    environment: {
      ...{ API_KEY: controlPlane.key, CONTROL_PLANE_URL: controlPlane.url },
      ...{ AGENT_HEALTH_PORT: '0', AGENT_HEALTH_HOST: '127.0.0.1', PROBE_ENDPOINT: 'on' },
      ...{ AGENT_DATA_DIR: join(folder, 'data'), AGENT_WORK_DIR: join(folder, 'work') },
    },
  });
  // What runs code of customers says whatever that code says; and some of it breaks on our side.
  const speaks: Runner = (_definition, context) => {
    context.log(spoken, 'ERROR');
    throw new Error(`it broke with ${spoken}`);
  };
  const scripted = {
    load: () => Promise.resolve(speaks),
    pool: 'heavy',
    timeoutMs: 1_000,
  } as const;
  const registry = {
    ...runners,
    ...{ BROWSER: scripted, MULTI_STEP: scripted, PLAYWRIGHT: scripted, AGENTIC: scripted },
  };
  const requests: [AgentType, Record<string, unknown>][] = [
    ['URL', { url: `${echo.url}/{{S0}}?x={{S1}}` }],
    ['API', { method: 'POST', url: `${echo.url}/{{S2}}`, body: '{{S3}}', bodyType: 'RAW' }],
    ['API', { method: 'GET', url: 'http://127.0.0.1:1/{{S4}}' }],
    ['TCP', { hostname: '127.0.0.1', port: 1, data: spoken.slice(0, 60) }],
    ['DNS', { query: 'x.invalid', recordType: 'A', nameServer: '127.0.0.1', port: 1 }],
    ['ICMP', { hostname: '127.0.0.1' }],
  ];
  const definitions: [string, Record<string, unknown>][] = [
    ...requests.map(
      ([type, request]) =>
        [type, { ...definitionOf(type, request) }] as [string, Record<string, unknown>],
    ),
    ...(['BROWSER', 'MULTI_STEP', 'PLAYWRIGHT', 'AGENTIC', 'FUTURE'] as const).map(
      (type) => [type, { script: spoken }] as [string, Record<string, unknown>],
    ),
  ];
  const jobs = definitions.map(([type, definition]): Job => ({
    ...{ id: randomUUID(), runId: randomUUID(), source: 'TRIGGER_API', scheduledFor: null },
    ...{ slotLocation: 'test-place', attempt: 1, sequenceStartedAt: null, notBefore: 0 },
    ...{ leaseUntil: Date.now() + 60_000, environmentUrl: null },
    check: {
      ...{ id: randomUUID(), revision: 1, type, name: 'shop', frequency: 60 },
      ...{ frequencyOffset: 1, runParallel: false, locations: ['test-place'], scheduleFrom: 0 },
      ...{ retryStrategy: null, proxyUrl: null, ...withoutCode, environment, definition },
    },
  }));
  const agent = await startAgent({ config, logger, network: plainNetwork, runners: registry });
  try {
    controlPlane.hand(...jobs);
    await controlPlane.until('all results', () => controlPlane.results.size === jobs.length);
    const query = new URLSearchParams({ target: `${echo.url}/`, module: 'http_2xx' });
    await fetch(`http://127.0.0.1:${agent.healthPort}/probe?${query.toString()}`);
    await agent.drain();
  } finally {
    await agent[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
  const text = lines.join('');
  assert.deepEqual(findCanaries(Buffer.from(text), secrets), []);
  assert.equal(text.includes(controlPlane.key), false, 'nor the key of the location');
  for (const { runId, check } of jobs) {
    const about = lines
      .filter((line) => line.includes(runId))
      .map((line) => JSON.parse(line) as object);
    assert.ok(about.length > 0, `${check.type} is in the log`);
    for (const line of about) {
      assert.ok('checkId' in line && 'runId' in line && 'attempt' in line, JSON.stringify(line));
    }
  }
});
