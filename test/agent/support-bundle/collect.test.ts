import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '@monitor/shared/clock.ts';
import { serveStatus } from '../../../agent/status/status-socket.ts';
import { collectBundle } from '../../../agent/support-bundle/collect.ts';
import { healthyStatus } from '../../support/agent-status.ts';
import { temporaryFolder } from '../../support/system.ts';

const undecided = { at: 999_999_000, checkId: 'a-check', runId: 'a-run', attempt: 2 };

for (const [name, undecidedRuns] of [
  ['names the runs that a busy agent could not judge', [undecided]],
  ['names none of an agent that judged all of them', []],
] as const) {
  test(`a bundle ${name}`, async () => {
    using folder = temporaryFolder();
    await using _served = await serveStatus({
      ...{ directory: folder.path, log: () => '', registry: new Registry() },
      status: () => Promise.resolve({ ...healthyStatus, undecidedRuns: [...undecidedRuns] }),
      logger: pino({ level: 'silent' }),
    });
    const bundle = await collectBundle({
      environment: {
        ...{ API_KEY: 'pl_0123456789abcdef0123456789abcdef', AGENT_DATA_DIR: folder.path },
        CONTROL_PLANE_URL: 'http://127.0.0.1:9',
      },
      clock: systemClock,
    });
    const status = JSON.parse(bundle.get('status.json') ?? '{}') as object;
    assert.deepEqual(status, { ...status, undecidedRuns });
    assert.doesNotMatch([...bundle.values()].join(''), /0123456789abcdef/);
  });
}
