import { isIP } from 'node:net';
import { namedText } from '@monitor/shared/wrapped-text.ts';
import type { Command } from 'commander';
import { pino } from 'pino';
import { startControlPlane } from '../compose.ts';
import { nameOfDatabase } from '../../integrity/index.ts';
import { describeSettings, processEnvironment, readConfig } from '../../core/config.ts';

/** Statements of a frozen server end much later; orchestrators kill after 30 s. */
const stopWithinMs = 20_000;

const isLoopback = (host: string): boolean => host === '::1' || host.startsWith('127.');

function settingsHelp(width: number): string {
  const lines = describeSettings().map(({ name, default: value, meaning }) =>
    namedText(name, value === '' ? meaning : `${meaning} (default: ${value})`, width),
  );
  return `\nSettings, from the environment:\n${lines.join('\n')}\n`;
}

/** `control-plane serve`: runs until SIGTERM or SIGINT, then finishes its work and exits with 0. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('serve the API until SIGTERM or SIGINT')
    .option('--new-key', 'go on without what was encrypted with a key that is lost')
    .addHelpText('after', ({ command }) =>
      settingsHelp(command.configureOutput().getOutHelpWidth?.() ?? 80),
    )
    .action(async (options: { newKey?: boolean }) => {
      const config = readConfig(processEnvironment);
      const logger = pino({ level: config.LOG_LEVEL, base: null });
      const controlPlane = await startControlPlane({
        ...{ config, logger },
        acceptNewKey: options.newKey === true,
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
      const signal = await stopped;
      logger.info({ signal }, 'stopping');
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
    });
}
