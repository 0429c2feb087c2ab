import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Registry } from 'prom-client';
import { systemClock } from '@monitor/shared/clock.ts';
import { UploadLoop } from '../../agent/artifacts/upload-loop.ts';
import { ControlPlaneClient } from '../../agent/link/control-plane-client.ts';
import { createDispatcher } from '../../agent/link/dispatcher.ts';
import { createMetrics } from '../../agent/observability/metrics.ts';
import { openArtifactApi } from '../support/artifact-api.ts';
import { openRun, openSpool, silent } from '../support/artifact-spool.ts';
import { temporaryFolder } from '../support/system.ts';

test('files of a run travel from the spool of an agent to the links of the control plane', async () => {
  using folder = temporaryFolder();
  await using api = await openArtifactApi();
  const dispatcher = createDispatcher({});
  const client = new ControlPlaneClient({
    baseUrl: api.url,
    apiKey: { reveal: () => api.locationKey },
    dispatcher,
    agentId: '99999999-2222-4333-8444-555555555555',
    version: '0.0.0',
  });
  const spool = await openSpool(folder.path);
  const run = openRun(spool, null, api.resultId);
  const log = 'line of a log\n'.repeat(50_000);
  for (const [name, content, contentType] of [
    ['run.log', log, 'text/plain'],
    ['shots/after failure.png', 'no image at all', 'image/png'],
    ['empty.json', '', 'application/json'],
  ] as const) {
    const path = join(folder.path, 'made');
    writeFileSync(path, content);
    await run.add({ path, name, type: 'file', contentType });
  }
  const declared = await run.finish();
  const loop = new UploadLoop({
    spool,
    client,
    clock: systemClock,
    random: Math.random,
    logger: silent,
    metrics: createMetrics(new Registry(), '0.0.0'),
  });
  // The first tries come before the result.
  const { db } = api.services;
  const rename = (from: string, to: string) =>
    db.updateTable('check_results').set({ id: to }).where('id', '=', from).execute();
  const notYet = randomUUID();
  await rename(api.resultId, notYet);
  loop.start();
  spool.commit(api.resultId);
  assert.equal(await loop.flush(10_000), 3);

  await rename(notYet, api.resultId);
  await api.announce(...declared);
  const second = new UploadLoop({
    spool,
    client,
    clock: systemClock,
    random: Math.random,
    logger: silent,
    metrics: createMetrics(new Registry(), '0.0.0'),
  });
  second.start();
  assert.equal(await second.flush(60_000), 0);
  const link = String((await api.asset('run.log'))['url']);
  assert.equal(await (await fetch(link)).text(), log);
  const stored = await db
    .selectFrom('artifacts')
    .select(['name', 'state', 'encoding'])
    .orderBy('name')
    .execute();
  assert.deepEqual(stored, [
    { name: 'empty.json', state: 'STORED', encoding: null },
    { name: 'run.log', state: 'STORED', encoding: 'gzip' },
    { name: 'shots/after failure.png', state: 'STORED', encoding: null },
  ]);
  await dispatcher.destroy();
});
