/** Runs suites as the worker would: a real script host, real processes, a bundle out of a folder. */
import { chmod, copyFile, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { create } from 'tar';
import { systemClock } from '@monitor/shared/clock.ts';
import type { CheckDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { playwrightCheck } from '@monitor/shared/contract/checks/playwright.ts';
import { AgentError } from '../../agent/errors.ts';
import type { RunnerContext, Scripting } from '../../agent/runners/runner.ts';
import { createScriptHost } from '../../agent/script-host/create-script-host.ts';
import { runnerContext } from './runner-context.ts';
import { withoutScripting } from './plain.ts';

const mebibyte = 1_048_576;

export const testLimits = {
  ...{ memoryBytes: 2_764 * mebibyte, diskBytes: 1_024 * mebibyte, files: 20_000, processes: 256 },
  outputBytes: 16 * mebibyte,
};

/** Puts the Playwright of this repository into a suite, in place of an installation. */
export const installCommand = [
  'mkdir -p node_modules/@playwright node_modules/.bin',
  `ln -s ${dirname(createRequire(import.meta.url).resolve('@playwright/test/package.json'))} node_modules/@playwright/test`,
  'ln -s ../@playwright/test/cli.js node_modules/.bin/playwright',
].join(' && ');

export interface SuiteWorld extends AsyncDisposable {
  /** For whatever a test keeps. */
  readonly folder: string;
  /** Artifacts handed over, by name. */
  readonly kept: Map<string, { path: string; type: string; sizeBytes: number }>;
  /** Packs files (path → content) into a bundle and gives its file. */
  bundle(files: Record<string, string>): Promise<string>;
  context(bundle: string, change?: SuiteChange): RunnerContext & { logged: string[] };
}

export interface SuiteChange extends Partial<Omit<RunnerContext, 'run' | 'scripting'>> {
  run?: Partial<RunnerContext['run']>;
  scripting?: Partial<Scripting>;
}

/** What installers need here to reach their registry. */
function networkOfMachine(): Record<string, string> {
  const names = ['NODE_EXTRA_CA_CERTS', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];
  const given = names.flatMap((name) => {
    const value = process.env[name] ?? process.env[name.toLowerCase()];
    return value === undefined ? [] : [[name, value] as const];
  });
  const registry = process.env['npm_config_registry'];
  return {
    ...Object.fromEntries(given),
    ...(registry === undefined ? {} : { npm_config_registry: registry }),
  };
}

/** Writes files below a folder. */
export async function writeFiles(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

export async function openSuiteWorld(): Promise<SuiteWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'suite-test-'));
  // Runs have users of their own, who have to get to their folders.
  await chmod(folder, 0o711);
  const host = await createScriptHost({ workFolder: join(folder, 'work'), limits: testLimits });
  const kept: SuiteWorld['kept'] = new Map();
  let bundles = 0;
  return {
    folder,
    kept,
    async bundle(files) {
      bundles += 1;
      const source = join(folder, `source-${bundles}`);
      await writeFiles(source, files);
      const file = join(folder, `bundle-${bundles}.tgz`);
      await create({ gzip: true, file, cwd: source }, ['.']);
      return file;
    },
    context(bundle, { run, scripting, ...change } = {}) {
      const missing = () =>
        Promise.reject(new AgentError('BROWSER_MISSING', 'this test has no browser'));
      const base = runnerContext(120_000);
      return Object.assign(base, {
        clock: systemClock,
        run: {
          accountId: 'account',
          checkId: 'b1f6a5d2-6a0e-4f57-9d5c-3a7c5d6f2b11',
          ...{ checkName: 'checkout', checkType: 'PLAYWRIGHT' },
          ...{ runId: `run-${basename(folder)}-${bundles}`, resultId: 'result' },
          ...{ location: 'eu-west-1', attempt: 1, scheduledFor: 1, source: null },
          ...run,
        },
        environment: [],
        artifacts: {
          async add({ name, type, ...given }) {
            const to = join(folder, `artifact-${kept.size}`);
            if ('bytes' in given) await writeFile(to, given.bytes);
            else await rename(given.path, to);
            kept.set(name, { path: to, type, sizeBytes: (await stat(to)).size });
            return `artifact:${name}`;
          },
        } satisfies RunnerContext['artifacts'],
        scripting: () =>
          ({
            ...withoutScripting,
            host,
            runtime: () => Promise.reject(new AgentError('RUNTIME_MISSING', 'none in this test')),
            browser: missing,
            scriptLimits: testLimits,
            downloadCodeBundle: (_checkId, file) => copyFile(bundle, file),
            proxyEnvironment: networkOfMachine(),
            ...scripting,
          }) satisfies Scripting,
        ...change,
      });
    },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The definition of a suite with every default. */
export function suiteOf(fields: Record<string, unknown> = {}): CheckDefinition {
  return playwrightCheck.create.parse({
    ...{ name: 'suite', codeBundlePath: 'elsewhere', browsers: [] },
    ...fields,
  }) as unknown as CheckDefinition;
}
