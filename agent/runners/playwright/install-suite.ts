/** Dependencies of a suite: out of the cache, or installed the way its lock file says. */
import { AgentError } from '../../errors.ts';
import { proxyLogin } from '../../net/proxy-login.ts';
import type { RunnerContext } from '../runner.ts';
import type { BundleListing } from './bundle-listing.ts';
import { cacheKey, DependencyCache, isInstallInput } from './dependency-cache.ts';
import { planInstall, type InstallPlan, type ReadProjectFile } from './install-plan.ts';
import { assertEnded } from './program-failure.ts';
import { installVariables } from './suite-environment.ts';
import { SuiteFailure } from './suite-failure.ts';
import type { SuiteLog } from './suite-log.ts';
import type { SuiteSettings } from './settings.ts';
import { lastLines, type SuiteShell } from './suite-shell.ts';

const maxInstallMs = 300_000;

export interface InstallParts {
  readonly settings: SuiteSettings;
  readonly context: RunnerContext;
  readonly log: SuiteLog;
  readonly shell: SuiteShell;
  readonly listing: BundleListing;
  /** Where the bundle was unpacked, absolute. */
  readonly project: string;
  readonly workingDir: string;
  readonly read: ReadProjectFile;
  readonly engine: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface Installed {
  readonly isCacheHit: boolean;
  /** Keeps what was installed, once it has proved good. */
  keep(): Promise<void>;
}

const nothingToKeep = (isCacheHit: boolean): Installed => ({
  isCacheHit,
  keep: () => Promise.resolve(),
});

async function install(parts: InstallParts, plan: InstallPlan): Promise<void> {
  const { context, log, shell, variables } = parts;
  const timeoutMs = Math.min(maxInstallMs, parts.timeoutMs);
  log.add(`installing with: ${plan.command}`);
  const end = await shell.run({
    command: plan.command,
    folder: plan.folder,
    environment: installVariables(context.scripting().proxyEnvironment, variables),
    timeoutMs,
  });
  assertEnded('install', end, timeoutMs);
  if (end.exitCode === 0) return;
  if (
    end.exitCode === 127 &&
    plan.tool !== 'custom' &&
    /npm: (command )?not found/.test(end.stderr)
  ) {
    throw new AgentError(
      'SCRIPTING_UNAVAILABLE',
      'dependencies cannot be installed: npm is not on this machine; install npm, or use the full image of the agent',
    );
  }
  // A registry that cannot be reached and a package that does not exist look alike, and both are
  // named by the bundle or its .npmrc: it counts as the suite's, with the installer's own words.
  throw new SuiteFailure(
    'install',
    'INSTALL_FAILED',
    `"${plan.command}" ended with exit code ${String(end.exitCode)}: ${lastLines(end)}`,
  );
}

function keyOf(parts: InstallParts, plan: InstallPlan): string {
  const inputs = [...parts.listing.files].filter(isInstallInput).sort();
  return cacheKey({
    accountId: parts.context.run.accountId,
    command: plan.command,
    folder: `${plan.folder} ${parts.workingDir}`,
    engine: parts.engine,
    nodeVersion: process.version,
    files: inputs.map((path) => [path, parts.read(path) ?? '']),
  });
}

/** Makes the dependencies of the suite available in its project. */
export async function installSuite(parts: InstallParts): Promise<Installed> {
  const { settings, context, log, listing, project } = parts;
  const plan = planInstall(listing.files, parts.workingDir, settings.installCommand, parts.read);
  if (plan === null) {
    log.add('nothing to install: the bundle has no package.json', 'WARN');
    return nothingToKeep(false);
  }
  const { cacheFolder: folder, cacheMaxBytes: maxBytes, proxyEnvironment } = context.scripting();
  // Also what comes from the cache was installed with it.
  for (const secret of Object.values(proxyEnvironment).flatMap(proxyLogin))
    context.addSecret(secret);
  if (folder === null) {
    await log.during('install', () => install(parts, plan));
    return nothingToKeep(false);
  }
  const cache = new DependencyCache({ folder, maxBytes, now: () => context.clock.now() });
  const key = keyOf(parts, plan);
  const found = await log.during('dependency cache', () => cache.restore(key, project));
  log.add(
    {
      hit: 'dependencies come from the cache',
      miss: 'dependencies are not in the cache',
      damaged: 'dependencies in the cache are damaged and were deleted; installing them again',
    }[found],
    found === 'damaged' ? 'WARN' : 'INFO',
  );
  if (found === 'hit') return nothingToKeep(true);
  await log.during('install', () => install(parts, plan));
  return {
    isCacheHit: false,
    keep: () =>
      log.during('save cache', async () => {
        try {
          const bytes = await cache.save(key, project, listing);
          log.add(`${bytes} bytes of dependencies are kept for the next run`);
        } catch (error) {
          // The result stands without it.
          log.add(`dependencies could not be kept: ${(error as Error).message}`, 'WARN');
        }
      }),
  };
}
