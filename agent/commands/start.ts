import { namedText } from '@monitor/shared/wrapped-text.ts';
import type { Command } from 'commander';
import { startAgent, type RunningAgent } from '../compose.ts';
import { describeSettings, readConfig, requireKey } from '../config.ts';
import { exitCodes } from '../exit-codes.ts';
import { guardDescriptors, processEnvironment } from '../guard-process.ts';
import { applyTrust } from '../link/extra-authorities.ts';
import { openNetwork } from '../network.ts';
import { LogRing } from '../observability/log-ring.ts';
import { createLogger } from '../observability/logger.ts';
import { relaunch } from '../relaunch.ts';
import { version } from '../version.ts';

const examples = `
Examples:
  API_KEY=pl_… CONTROL_PLANE_URL=https://monitor.example.com monitor-agent start
  monitor-agent start --api-key-file /run/secrets/key --agent-health-port 9000

SIGTERM drains: readiness turns 503, running checks finish, results are
delivered, exit 0. A second signal ends it at once (exit 130 or 143); what was
measured is delivered at the next start.
`;

const forcedExitWithinMs = 3_000;

/** Waits for signals: the first drains, the second leaves at once. */
async function serveUntilSignalled(agent: RunningAgent): Promise<number> {
  const { promise: first, resolve: stop } = Promise.withResolvers<void>();
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

/** `monitor-agent start`: serves a location until it is asked to stop. */
export function registerStart(program: Command): void {
  const command = program
    .command('start')
    .description('serve a location: run its checks and report their results')
    .configureHelp({
      formatItem: (term, _termWidth, meaning, { helpWidth = 80 }) =>
        namedText(term, meaning, helpWidth),
    });
  for (const { flag, meaning, default: value } of describeSettings()) {
    command.option(`${flag} <value>`, value === '' ? meaning : `${meaning} (default: ${value})`);
  }
  command.addHelpText('after', examples).action(async (options: Record<string, string>) => {
    const flags = Object.fromEntries(
      describeSettings().flatMap(({ name, flag, isSecret }) => {
        const key = flag
          .slice(2)
          .replace(/-(\w)/g, (_match, letter: string) => letter.toUpperCase());
        const value = options[key];
        return value === undefined ? [] : [[isSecret ? `${name}_FILE` : name, value]];
      }),
    );
    const environment = processEnvironment;
    const { config, warnings, secretFiles } = readConfig({ environment, flags });
    requireKey(config);
    relaunch(environment, config.JOB_CONCURRENCY);
    guardDescriptors();
    const logRing = new LogRing();
    const logger = createLogger(config, logRing.before(process.stdout));
    for (const warning of warnings) logger.warn({ warning }, 'setting ignored');
    for (const warning of applyTrust(config, environment, Date.now())) {
      logger.warn({ warning }, 'trust of this agent needs attention');
    }
    const network = await openNetwork(config, environment);
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
    const agent = await startAgent({ config, secretFiles, logger, network, logRing }).catch(
      async (error: unknown) => {
        // Open sockets would keep the process from ending.
        await network[Symbol.asyncDispose]();
        throw error;
      },
    );
    logger.info({ agentId: agent.agentId, healthPort: agent.healthPort }, 'agent has started');
    process.on('unhandledRejection', (error) => {
      logger.fatal({ err: error }, 'bug: a promise was not handled');
      agent.abort();
      setTimeout(() => process.exit(exitCodes.bug), forcedExitWithinMs).unref();
      void Promise.resolve(agent[Symbol.asyncDispose]()).finally(() => process.exit(exitCodes.bug));
    });
    process.exitCode = await serveUntilSignalled(agent);
    await network[Symbol.asyncDispose]();
  });
}
