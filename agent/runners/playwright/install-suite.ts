/** Dependencies of a suite: out of the cache, or installed the way its lock file says. */
import { AgentError, type AgentErrorCode } from '../../errors.ts';
import { proxyLogin } from '../../net/http/proxy-login.ts';
import type { RunnerContext } from '../runner.ts';
import type { BundleListing } from './bundle-listing.ts';
import { cacheKey, DependencyCache, isInstallInput } from './dependency-cache.ts';
import { obstacleIn, type InstallObstacle } from './install-failure.ts';
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

const obstacles = {
  network: {
    code: 'PACKAGES_UNAVAILABLE',
    what: 'the package registry cannot be reached from this agent',
    fix: 'let the agent reach it (HTTPS_PROXY, NO_PROXY, firewall), or name one it can reach in the .npmrc of the suite',
  },
  certificate: {
    code: 'PACKAGES_UNAVAILABLE',
    what: 'the certificate of the package registry is not trusted on this agent',
    fix: 'give the agent the authority that signed it (NODE_EXTRA_CA_CERTS)',
  },
  disk: {
    code: 'DISK_UNUSABLE',
    what: 'the disk of this agent does not take the dependencies',
    fix: 'free space where AGENT_WORK_DIR is, or name another folder with it',
  },
} as const satisfies Record<InstallObstacle, { code: AgentErrorCode; what: string; fix: string }>;

function errorOf({ kind, line }: { kind: InstallObstacle; line: string }): AgentError {
  const { code, what, fix } = obstacles[kind];
  return new AgentError(code, `dependencies cannot be installed: ${what} (${line}); ${fix}`);
}

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
  if (end.reason === 'exit' ? end.exitCode !== 0 : end.reason === 'timeout') {
    const obstacle = obstacleIn(end);
    if (obstacle !== null) throw errorOf(obstacle);
  }
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
    isWorkSigned: parts.context.scripting().isWorkSigned,
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
