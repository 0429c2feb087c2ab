// Own process: it starts browsers.
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { startAgent } from '../../agent/compose.ts';
import { readConfig } from '../../agent/config.ts';
import { makeAuthority } from '../support/certificates.ts';
import { FakeControlPlane } from '../support/fake-control-plane.ts';
import { findBytes } from '../support/find-bytes.ts';
import { silent } from '../support/in-process.ts';
import { mutualServer } from '../support/mutual-server.ts';
import { plainNetwork } from '../support/plain-network.ts';
import { definitionOf } from '../support/runner-context.ts';
import { temporaryFolder } from '../support/system.ts';
import { assignedCheck } from '../support/plain.ts';

const passphrase = 'Correct-Horse-Battery-7';

function check(type: 'URL' | 'BROWSER', fields: Partial<AssignedCheck>): AssignedCheck {
  return assignedCheck({
    ...{ type, frequency: 0, frequencyOffset: 30, locations: ['test-place'] },
    definition: definitionOf('URL', { url: 'https://localhost:1' }),
    ...fields,
  });
}

test('keys and passphrases are in no file, variable or argument while they are in use', async () => {
  using folder = temporaryFolder();
  const authority = await makeAuthority();
  const clients = await makeAuthority('Clients');
  const own = await authority.issue({ host: 'localhost', validForDays: 9 });
  const { cert, key } = await clients.issue({ host: 'agent', validForDays: 9 });
  const locked = createPrivateKey(key)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase })
    .toString();
  const lines = [key, locked].map((pem) => pem.split('\n')[2] ?? '');
  assert.ok(lines.every((line) => line.length > 40));
  const needles = [...lines, passphrase];

  const asked = Promise.withResolvers<undefined>();
  const goOn = Promise.withResolvers<undefined>();
  await using server = await mutualServer({
    ...{ own, accepts: clients },
    before: async () => {
      asked.resolve(undefined);
      await goOn.promise;
    },
  });
  await using fake = await FakeControlPlane.start();
  const [dataFolder, workFolder] = [join(folder.path, 'data'), join(folder.path, 'work')];
  const { config } = readConfig({
    environment: {
      ...{ API_KEY: fake.key, CONTROL_PLANE_URL: fake.url, AGENT_HEALTH_PORT: '0' },
      ...{ AGENT_HEALTH_HOST: '127.0.0.1', AGENT_DATA_DIR: dataFolder },
      AGENT_WORK_DIR: workFolder,
    },
  });
  await using agent = await startAgent({
    ...{ config, logger: silent, network: plainNetwork, clock: systemClock },
  });
  await agent.ready;
  const clientCertificates = [
    { host: 'localhost', cert, key: locked, passphrase, ca: authority.cert },
  ];
  const visiting = check('BROWSER', {
    clientCertificates,
    definition: {
      ...definitionOf('URL', { url: server.url }),
      script: `import { test, expect } from '@playwright/test';
        test('shop', async ({ page }) => {
          console.log(JSON.stringify([process.env, process.argv]));
          await page.goto('${server.url}');
          expect(await page.title()).toBe('somebody else');
        });`,
    },
  });
  // Waits for its next attempt while everything is looked at.
  const waiting = check('URL', {
    clientCertificates,
    retryStrategy: {
      ...{ type: 'FIXED', baseBackoffSeconds: 60, maxRetries: 2, maxDurationSeconds: 600 },
      ...{ sameRegion: true, onlyOn: [] },
    },
  });
  fake.assign(visiting, waiting);
  await asked.promise;
  await fake.until('the attempt that is waited after', () =>
    [...fake.results.values()].some(({ checkId }) => checkId === waiting.id),
  );
  await fake.until('the cached schedule', () => existsSync(join(dataFolder, 'schedule.bin')));

  const during = await findBytes([dataFolder, workFolder], needles);
  assert.deepEqual(during.places, []);
  assert.ok(during.filesSearched > 10 && during.processesSearched > 5);
  goOn.resolve(undefined);
  // On a busy machine the page of the first run may have waited too long.
  await fake.until('a run of the browser that saw the page', () =>
    [...fake.results.values()].some((result) => JSON.stringify(result).includes('somebody else')),
  );
  // On a busy machine the attempt is made again.
  assert.deepEqual([...new Set(server.seen)], ['agent']);
  const said = JSON.stringify([...fake.results.values()]);
  for (const needle of needles) assert.equal(said.includes(needle), false);
  // Also ends the wait for the next attempt.
  await agent.drain();
  const afterwards = await findBytes([dataFolder, workFolder], needles);
  assert.deepEqual(afterwards.places, []);
});

test('the search for keys finds what is there', async () => {
  using folder = temporaryFolder();
  await writeFile(join(folder.path, 'a'), 'x needle-7f3a y');
  const found = await findBytes([folder.path], ['needle-7f3a']);
  assert.deepEqual(found.places, [join(folder.path, 'a')]);
});
