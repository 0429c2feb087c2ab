import { relaunch } from '@monitor/shared/relaunch.ts';
import { namedText } from '@monitor/shared/wrapped-text.ts';
import type { Command } from 'commander';
import type { describeSettings } from '../../core/config.ts';
import { processEnvironment } from '../../core/environment.ts';

/**
 * The operator may override them. By default a machine with much memory gets a young generation of
 * 128 MB, of which a few survive. Helpers that collect it cost more than they save.
 */
const flags = ['--max-semi-space-size=16', '--no-parallel-scavenge'];
/** Threads of the pool would each have a heap of their own. */
const allocator = { MALLOC_ARENA_MAX: '2' };

type Settings = ReturnType<typeof describeSettings>;

function settingsHelp(settings: Settings, width: number): string {
  const lines = settings.map(({ name, default: value, meaning }) =>
    namedText(name, value === '' ? meaning : `${meaning} (default: ${value})`, width),
  );
  return `\nSettings, from the environment:\n${lines.join('\n')}\n`;
}

/**
 * `control-plane serve`: runs until SIGTERM or SIGINT, then finishes its work and exits with 0. Its help shows the
 * settings.
 */
export function registerServe(program: Command, settings: Settings): void {
  program
    .command('serve')
    .description('serve the API until SIGTERM or SIGINT')
    .option('--new-key', 'go on without what was encrypted with a key that is lost')
    .option('--with-agent', 'start an agent on this machine, which ends with this program')
    .addHelpText('after', ({ command }) =>
      settingsHelp(settings, command.configureOutput().getOutHelpWidth?.() ?? 80),
    )
    .action(async (options: { newKey?: boolean; withAgent?: boolean }) => {
      relaunch(processEnvironment, { mark: 'CONTROL_PLANE_RELAUNCHED', flags, allocator });
      // What follows takes a while to load: once, after the new start.
      const { readConfig } = await import('../../core/config.ts');
      const config = readConfig(processEnvironment);
      const { serveUntilStopped } = await import('./serve-until-stopped.ts');
      await serveUntilStopped(config, options);
    });
}
