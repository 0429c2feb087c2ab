import { isIP } from 'node:net';
import { pino } from 'pino';
import { LogOutput } from '@monitor/shared/log-output.ts';
import { isLoopback, misspeltSettings, type Config } from '../../core/config.ts';
import { processEnvironment } from '../../core/environment.ts';
import type { Services } from '../../core/services.ts';
import { nameOfDatabase } from '../../integrity/index.ts';
import { hasPeople, makeSetupLink } from '../../people/index.ts';
import { findAgent, startAgentHere } from '../agent-here.ts';
import { startControlPlane } from '../compose.ts';

/** Statements of a frozen server end much later; orchestrators kill after 30 s. */
const stopWithinMs = 20_000;

/** While nobody can sign in, a terminal shows a link that makes the first person, once. Logs are shipped. */
async function showSetupLink(services: Services): Promise<void> {
  try {
    if (await hasPeople(services.db)) return;
    const [field, what] = process.stdout.isTTY
      ? [{ link: await makeSetupLink(services) }, 'open the link once to sign in']
      : [{ command: 'control-plane people first' }, 'the command prints a link to sign in'];
    services.logger.warn(field, `there are no people yet: ${what}`);
  } catch (error) {
    services.logger.warn({ err: error }, 'no link for the first person could be made');
  }
}

/** Serves until SIGTERM or SIGINT, then finishes the work in progress. */
export async function serveUntilStopped(
  config: Config,
  { newKey = false, withAgent = false }: { newKey?: boolean; withAgent?: boolean },
): Promise<void> {
  const agentProgram = withAgent ? findAgent() : null;
  const log = new LogOutput(process.stdout);
  const logger = pino({ level: config.LOG_LEVEL, base: null }, log);
  log.onRecovered = (facts) => {
    logger.warn(facts, 'lines of the log were dropped, they could not be written');
  };
  const controlPlane = await startControlPlane({
    ...{ config, logger, log },
    acceptNewKey: newKey,
  });
  // Before the ready message: a caller that waits for it may stop the process at once.
  const stopped = new Promise<string>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, resolve);
  });
  logger.info({ url: controlPlane.url, database: nameOfDatabase(config) }, 'serving');
  if (config.PUBLIC_URL === undefined && isIP(config.HOST) !== 0 && !isLoopback(config.HOST)) {
    logger.warn(
      { url: controlPlane.url },
      'PUBLIC_URL is not set: links in mails and alerts lead to this url, which others may not reach',
    );
  }
  for (const warning of misspeltSettings(processEnvironment)) logger.warn(warning);
  await showSetupLink(controlPlane.services);
  const agent =
    agentProgram === null
      ? null
      : await startAgentHere(agentProgram, { config, ...controlPlane }).catch(async (error) => {
          await controlPlane[Symbol.asyncDispose]();
          throw error;
        });
  const signal = await stopped;
  logger.info({ signal }, 'stopping');
  // While it is served, it hands in what it has measured.
  await agent?.[Symbol.asyncDispose]();
  const timeLimit =
    config.DATABASE_URL === undefined
      ? undefined
      : setTimeout(() => {
          logger.warn('the database does not answer: this replica ends without waiting for it');
          process.exit();
        }, stopWithinMs);
  await controlPlane[Symbol.asyncDispose]();
  clearTimeout(timeLimit);
  logger.info('stopped');
  log.letEnd();
}
