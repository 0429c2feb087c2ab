import { lazy } from '@monitor/shared/named-commands.ts';
import type { Command } from 'commander';

const help = `
A file for each resource, named as people name it, with { secret: NAME } in the
place of credentials; so the folder can be kept in a repository. Exporting again
writes what has changed, and removes files of what is gone.

--secrets writes the values to a file that only you can read. Secret variables
have none there: nobody can read them back.

Examples:
  control-plane export monitoring
  control-plane export monitoring --secrets monitoring.env

The key is in CONTROL_PLANE_API_KEY; its role must be ADMIN or OWNER.
`;

/** `control-plane export`: the resources of an account as files. */
export function registerExport(program: Command): void {
  program
    .command('export')
    .description('export the resources of an account as files')
    .argument('<folder>', 'where to; it is made if it is not there')
    .option('--name <project>', 'of the project; default: the name of the folder')
    .option('--secrets <file>', 'write the values of credentials there, as lines NAME=value')
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(lazy(async () => (await import('./export-account.ts')).exportAccount));
}
