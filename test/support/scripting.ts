/** A real script host in a folder of its own, with the packages of this repository as runtime. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createScriptHost } from '../../agent/script-host/create-script-host.ts';
import type { ScriptLimits } from '../../agent/script-host/script-host.ts';
import { trustOfRuns } from '../../agent/script-host/trust-of-runs.ts';
import type { Scripting } from '../../agent/runners/runner.ts';
import type { InstalledRuntime } from '../../agent/runtimes/installed-runtime.ts';
import { withoutScripting } from './plain.ts';

const limits: ScriptLimits = {
  ...{ memoryBytes: 1_000_000_000, diskBytes: 100_000_000, files: 1_000, processes: 64 },
  outputBytes: 1_000_000,
};

/** Of the packages of this repository. */
export const repositoryRuntime: InstalledRuntime = {
  ...{ id: '2026.04', folder: join(import.meta.dirname, '../..'), nodePath: process.execPath },
  packages: {},
};

/** Scripting without browsers and models. */
export async function testScripting(
  runtime: InstalledRuntime = repositoryRuntime,
): Promise<Scripting & AsyncDisposable> {
  const workFolder = await mkdtemp(join(tmpdir(), 'scripting-'));
  const trust = await trustOfRuns([], withoutScripting.gateway.certificate);
  const host = await createScriptHost({ workFolder, limits, trust });
  return {
    ...withoutScripting,
    host,
    runtime: () => Promise.resolve(runtime),
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await rm(workFolder, { recursive: true, force: true });
    },
  };
}
