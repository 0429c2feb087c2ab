import { lazy } from '@monitor/shared/named-commands.ts';
import type { Command } from 'commander';

const help = `
For a program with a language model that starts servers of the protocol itself.
Others connect to /mcp of the control plane with the key as a bearer token.
A tool that changes something only checks its input, until it is called with
dryRun: false. What a key may not do, its tools cannot do.

Examples:
  control-plane mcp --url https://monitoring.example.com
  control-plane mcp --tags "Checks,Check results,Incidents"

The key is in CONTROL_PLANE_API_KEY.
`;

/** `control-plane mcp`: the API as tools of the Model Context Protocol. */
export function registerMcp(program: Command): void {
  program
    .command('mcp')
    .description(
      'serve the API as tools of the Model Context Protocol on standard input and output',
    )
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .option('--tags <tags>', 'only tools of these groups of the API, with commas between them')
    .addHelpText('after', help)
    .action(lazy(async () => (await import('./speak-mcp.ts')).speakMcp));
}
