// Own process: it counts what the process has open.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import { ControlPlaneClient } from '../../../agent/link/control-plane-client.ts';
import { createDispatcher } from '../../../agent/link/dispatcher.ts';
import { Secret } from '../../../agent/secret.ts';
import { temporaryFolder } from '../../support/system.ts';
import { freePort } from '../../../proof/program.ts';

/** How often this process has the file open. */
function timesOpen(path: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      return false;
    }
  }).length;
}

test(
  'a file whose upload never began does not stay open',
  { skip: process.platform === 'linux' ? false : 'open files are read from /proc' },
  async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, 'capture.pcap');
    writeFileSync(path, 'x');
    const dispatcher = createDispatcher({});
    const client = new ControlPlaneClient({
      ...{
        baseUrl: `http://127.0.0.1:${await freePort()}`,
        apiKey: new Secret('pl_a'),
        dispatcher,
      },
      ...{ agentId: randomUUID(), version: '1', clock: systemClock },
    });
    const upload = {
      ...{ resultId: randomUUID(), name: 'capture.pcap', path, size: 1 },
      ...{ digest: 'x', isCompressed: false },
    };
    const called = AbortSignal.abort();
    for (const signal of [new AbortController().signal, called]) {
      await assert.rejects(client.uploadArtifact(upload, signal));
    }
    for (let tries = 0; timesOpen(path) > 0 && tries < 3_000; tries += 1) await pause(10);
    assert.equal(timesOpen(path), 0);
    await dispatcher.destroy();
  },
);
