/** An agent in this process, from its settings to its last signal. */
import { startAgent, type RunningAgent } from '../compose.ts';
import type { readConfig } from '../config.ts';
import { exitCodes } from '../exit-codes.ts';
import { guardDescriptors, processEnvironment } from '../guard-process.ts';
import { applyTrust } from '../link/extra-authorities.ts';
import { openNetwork } from '../network.ts';
import { LogRing } from '../observability/log-ring.ts';
import { createLogger } from '../observability/logger.ts';
import { version } from '../version.ts';
import { LogOutput } from '@monitor/shared/log-output.ts';

const forcedExitWithinMs = 3_000;

/** Waits for signals: the first drains, the second leaves at once. */
async function serveUntilSignalled(agent: RunningAgent, endsWithInput: boolean): Promise<number> {
  const { promise: first, resolve: stop } = Promise.withResolvers<void>();
  // The kernel closes it for a program that was killed, too.
  if (endsWithInput) process.stdin.once('close', stop).on('error', stop).resume();
  let count = 0;
  for (const [name, code] of [
    ['SIGTERM', exitCodes.terminated],
    ['SIGINT', exitCodes.interrupted],
  ] as const) {
    process.on(name, () => {
      count += 1;
      if (count === 1) {
        stop();
        return;
      }
      agent.abort();
      setTimeout(() => process.exit(code), forcedExitWithinMs).unref();
      void Promise.resolve(agent[Symbol.asyncDispose]()).finally(() => process.exit(code));
    });
  }
  await first;
  await agent.drain();
  await agent[Symbol.asyncDispose]();
  return exitCodes.ok;
}

/**
 * Serves a location until it is asked to stop, and sets the exit code. `kept` is what a control plane keeps
 * that has started this agent.
 */
export async function serveLocation(
  { config, warnings, secretFiles, keySource }: ReturnType<typeof readConfig>,
  kept?: readonly string[],
): Promise<void> {
  guardDescriptors();
  const logRing = new LogRing();
  const log = new LogOutput(process.stdout);
  const logger = createLogger(config, logRing.before(log));
  log.onRecovered = (facts) => {
    logger.warn(facts, 'lines of the log were dropped, they could not be written');
  };
  for (const warning of warnings) logger.warn({ warning }, 'look at this setting');
  for (const warning of applyTrust(config, processEnvironment, Date.now())) {
    logger.warn({ warning }, 'trust of this agent needs attention');
  }
  const network = await openNetwork(config, processEnvironment);
  logger.info(
    {
      version,
      config,
      icmp: network.icmp?.way ?? network.icmpProblem,
      capture: network.captureProblem ?? 'ready',
      traceroute: network.tracerouteProblem ?? 'ready',
    },
    'agent is starting',
  );
  const agent = await startAgent({
    ...{ config, logger, log, network, logRing, keySource },
    secretFiles: [...secretFiles, ...(kept ?? [])],
    mustHideFiles: kept !== undefined,
    environment: processEnvironment,
  }).catch(async (error: unknown) => {
    // Open sockets would keep the process from ending.
    await network[Symbol.asyncDispose]();
    throw error;
  });
  logger.info({ agentId: agent.agentId, healthPort: agent.healthPort }, 'agent has started');
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'bug: a promise was not handled');
    agent.abort();
    setTimeout(() => process.exit(exitCodes.bug), forcedExitWithinMs).unref();
    void Promise.resolve(agent[Symbol.asyncDispose]()).finally(() => process.exit(exitCodes.bug));
  });
  process.exitCode = await serveUntilSignalled(agent, kept !== undefined);
  await network[Symbol.asyncDispose]();
  log.letEnd();
}
