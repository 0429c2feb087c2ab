import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cpSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import type { CheckInRequest } from '@monitor/shared/contract/agent-protocol.ts';
import { writeProgram } from '../../support/programs.ts';
import { npmComponents } from '../../../scripts/images/inside/bill-of-materials.ts';
import { isUnread } from '../../../scripts/images/inside/strip-packages.ts';
import { FakeControlPlane } from '../../support/fake-control-plane.ts';
import { withoutCode } from '../../support/plain.ts';
import { Program } from '../../../proof/program.ts';
import { definitionOf } from '../../support/runner-context.ts';
import { httpServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

const mostBytes = 12_000_000;

const folder = temporaryFolder();
before(async () => {
  await writeProgram('agent', join(folder.path, 'agent'));
  rmSync(join(folder.path, 'agent/runtimes/locks'), { recursive: true });
  const packages = join('node_modules', '@koromix');
  cpSync(packages, join(folder.path, packages), {
    recursive: true,
    filter: (path) => !isUnread(path),
  });
});
after(() => {
  folder[Symbol.dispose]();
});

function bytesOf(path: string): number {
  const facts = lstatSync(path);
  if (!facts.isDirectory()) return facts.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}

test('the uptime image needs neither browser nor server nor tools, and at most 12 MB', (t) => {
  const names = npmComponents(folder.path).map(({ name }) => name);
  assert.ok(names.includes('zod') && names.includes('undici'));
  for (const name of ['playwright', 'playwright-core', 'tsx', 'express', 'better-sqlite3']) {
    assert.ok(!names.includes(name), name);
  }
  const bytes = bytesOf(folder.path);
  t.diagnostic(`${(bytes / 1e6).toFixed(1)} MB`);
  assert.ok(bytes <= mostBytes, `${bytes} bytes`);
});

test('with these packages alone the agent serves monitors, offers nothing else, and stops', async () => {
  await using target = await httpServer((_request, response) => response.end('ok'));
  await using fake = await FakeControlPlane.start();
  await using agent = new Program([join(folder.path, 'agent/monitor-agent.js'), 'start'], {
    API_KEY: fake.key,
    CONTROL_PLANE_URL: fake.url,
    AGENT_CHECK_TYPES: 'MONITORS',
    AGENT_HEALTH_PORT: '0',
    AGENT_HEALTH_HOST: '127.0.0.1',
    AGENT_DATA_DIR: join(folder.path, 'data'),
    LOG_FORMAT: 'json',
  });
  await agent.log('checked in');
  const { capabilities } = fake.requestsOf('checkIn').at(-1)?.body as CheckInRequest;
  assert.deepEqual(capabilities.checkTypes.toSorted(), [
    'DNS',
    'GRPC',
    'ICMP',
    'SSL',
    'TCP',
    'TRACEROUTE',
    'URL',
  ]);
  assert.deepEqual([capabilities.runtimes, capabilities.browsers], [[], []]);
  fake.assign({
    id: randomUUID(),
    revision: 1,
    type: 'URL',
    name: 'a',
    frequency: 0,
    frequencyOffset: 30,
    runParallel: false,
    locations: ['test-place'],
    scheduleFrom: 0,
    retryStrategy: null,
    definition: definitionOf('URL', { url: target.url }),
    proxyUrl: null,
    ...withoutCode,
  });
  await fake.until('its result', () => fake.results.size === 1);
  const [result] = fake.results.values();
  assert.equal((result as { hasErrors?: boolean } | undefined)?.hasErrors, false);
  agent.signal('SIGTERM');
  assert.deepEqual(await agent.exited, { code: 0, signal: null });
  const severe = agent.lines.filter((line) => /"level":"?(warn|error|[4-6]0)/i.test(line));
  assert.deepEqual(severe, []);
});
