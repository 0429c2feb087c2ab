/** `serve --with-agent`: an agent of this machine, which lives as long as the control plane. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { sleep } from '@monitor/shared/clock.ts';
import { makeFolders } from '@monitor/shared/private-files.ts';
import { findProgram, programs } from '../../proof/find-program.ts';
import { findOrCreateAccount } from '../accounts/index.ts';
import { describeSettings, type Config } from '../core/config.ts';
import { processEnvironment } from '../core/environment.ts';
import type { Services } from '../core/services.ts';
import { trying, usageError } from '../errors/operator-error.ts';
import { keyOfMachine, machineSlug } from '../scheduling/index.ts';

const firstDelayMs = 1_000;
const longestDelayMs = 60_000;
/** An agent that ran so long is started again at once. */
const soundAfterMs = 60_000;
/** Runs get less time to end than those of an agent of its own: the control plane waits for them. */
const drainSeconds = 5;
const killAfterMs = 10_000;

/** Throws when the agent is not installed. `own` is the folder of this program. */
export function findAgent(own = join(import.meta.dirname, '..')): string {
  const found = findProgram(programs.agent, own);
  if (found !== null) return found;
  throw usageError(
    `--with-agent needs the agent, and it is not installed here: install the file of its package beside this program (npm install -g ./monitor-agent-*.tgz), or leave the option out and start an agent on another machine`,
  );
}

/** An agent on this machine reaches the control plane without a way through the network. */
function addressHere(url: string): string {
  const address = new URL(url);
  if (['0.0.0.0', '[::]'].includes(address.hostname)) address.hostname = '127.0.0.1';
  return address.origin;
}

/** Where the agent uses no proxy: what the operator says, and the way to the control plane, which takes the key. */
function withoutProxy(address: string): Record<string, string> {
  const { no_proxy: lower, NO_PROXY: upper } = processEnvironment;
  const hosts = [lower || upper, new URL(address).host].filter(Boolean).join(',');
  return { NO_PROXY: hosts, no_proxy: hosts };
}

/** The environment of the operator, without the settings of the control plane, some of which are secret. */
function environmentOf(given: Record<string, string>): NodeJS.ProcessEnv {
  const own = new Set(describeSettings().flatMap(({ name }) => [name, `${name}_FILE`]));
  const isOfAgent = ([name]: [string, unknown]): boolean =>
    !own.has(name) && !/^(?:API_KEY|CONTROL_PLANE_|AGENT_RELAUNCHED|MALLOC_)/.test(name);
  const level = processEnvironment['LOG_LEVEL'] ?? '';
  return {
    ...(/^(?:debug|info|warn|error)$/.test(level) ? { LOG_LEVEL: level } : {}),
    ...{ LOG_FORMAT: 'json', AGENT_HEALTH_PORT: '0', DRAIN_TIMEOUT_SECONDS: `${drainSeconds}` },
    ...Object.fromEntries(Object.entries(processEnvironment).filter(isOfAgent)),
    ...given,
  };
}

/** The key in the file: made when there is none, or when it was revoked. Nobody sees it. */
async function keepKey(services: Services, file: string): Promise<void> {
  let known: string | null = null;
  try {
    known = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const key = await keyOfMachine(services, await findOrCreateAccount(services), known);
  if (key.isNew) writeFileSync(file, key.rawKey, { mode: 0o600 });
}

/**
 * Starts the agent, and starts it again when it ends, after longer and longer pauses. Disposing ends it:
 * its standard input closes, as it does when this process is killed.
 */
export async function startAgentHere(
  program: string,
  { config, services, url }: { config: Config; services: Services; url: string },
): Promise<AsyncDisposable> {
  const { clock, logger } = services;
  const file = resolve(config.DATABASE_FILE);
  const folder = dirname(file);
  // Its path may be a link: what the database writes is beside the file itself.
  const real = dirname(existsSync(file) ? realpathSync(file) : file);
  const kept = [folder, real, resolve(config.ARTIFACTS_DIR ?? folder)];
  const data = join(folder, 'agent');
  const keyFile = join(data, 'location-key');
  await trying(`prepare the agent of this machine in ${data}`, async () => {
    makeFolders(data);
    await keepKey(services, keyFile);
  });
  const address = addressHere(url);
  const environment = environmentOf({
    ...{ API_KEY_FILE: keyFile, CONTROL_PLANE_URL: address, AGENT_DATA_DIR: data },
    ...withoutProxy(address),
  });
  const stopping = new AbortController();

  /** Runs it to its end, and says how it ended. */
  const run = async (): Promise<string> => {
    const child = spawn(process.execPath, [program, 'start', '--for-control-plane', ...kept], {
      env: environment,
      stdio: ['pipe', 'inherit', 'inherit'],
      // Ctrl-C reaches the control plane alone. A second signal would make the agent leave at once.
      detached: true,
    });
    // It may end before its input does.
    child.stdin.on('error', () => undefined);
    const end = (): void => {
      child.stdin.end();
      const cancel = clock.after(killAfterMs, () => child.kill('SIGKILL'));
      child.once('exit', cancel);
    };
    stopping.signal.addEventListener('abort', end, { once: true });
    try {
      const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
      return signal ?? `exit code ${String(code)}`;
    } catch (error) {
      return (error as Error).message;
    } finally {
      stopping.signal.removeEventListener('abort', end);
    }
  };

  const supervise = async (): Promise<void> => {
    let delayMs = firstDelayMs;
    while (!stopping.signal.aborted) {
      const startedAt = clock.monotonic();
      // Its key may have been revoked, or have made way for that of another machine.
      const how = await keepKey(services, keyFile).then(
        () => (stopping.signal.aborted ? 'not started' : run()),
        (error: unknown) => `no key: ${(error as Error).message}`,
      );
      if (stopping.signal.aborted) return;
      if (clock.monotonic() - startedAt >= soundAfterMs) delayMs = firstDelayMs;
      logger.warn(
        { how, againInMs: delayMs },
        'the agent of this machine ended and is started again',
      );
      await sleep(clock, delayMs, stopping.signal);
      delayMs = Math.min(2 * delayMs, longestDelayMs);
    }
  };

  logger.info({ location: machineSlug, data }, 'an agent of this machine is starting');
  const supervised = supervise();
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await supervised;
    },
  };
}
