import { namedText } from '@monitor/shared/wrapped-text.ts';
import type { Command } from 'commander';
import { describeSettings, readConfig, requireKey } from '../config.ts';
import { processEnvironment } from '../guard-process.ts';
import { relaunch } from '../relaunch.ts';

type Options = Record<string, string> & { forControlPlane?: string[] };

const examples = `
Examples:
  API_KEY=pl_… CONTROL_PLANE_URL=https://monitor.example.com monitor-agent start
  monitor-agent start --api-key-file /run/secrets/key --agent-health-port 9000

SIGTERM drains: readiness turns 503, running checks finish, results are
delivered, exit 0. A second signal ends it at once (exit 130 or 143); what was
measured is delivered at the next start.
`;

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
  command.option(
    '--for-control-plane <folders...>',
    'used by `control-plane serve --with-agent`: end with the standard input, and show no run these folders',
  );
  command.addHelpText('after', examples).action(async (options: Options) => {
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
    const given = readConfig({ environment, flags });
    requireKey(given.config, given.keySource.name);
    relaunch(environment, given.config.JOB_CONCURRENCY);
    // What follows takes a while to load: once, after the new start.
    const { serveLocation } = await import('./serve-location.ts');
    await serveLocation(given, options.forControlPlane);
  });
}
