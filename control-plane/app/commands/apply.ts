import { lazy } from '@monitor/shared/named-commands.ts';
import type { Command } from 'commander';

const help = `
The folder is what "control-plane export" writes: a YAML file for each resource.
What the project owned and the folder no longer holds is deleted; --keep leaves
it. All of it is applied or nothing, and applying twice changes nothing.
{ secret: NAME } takes a value from the environment, or from --env-file.

Examples:
  control-plane apply monitoring               what would change
  control-plane apply monitoring --yes
  control-plane apply monitoring --yes --adopt takes over what has the same name
                                               and belongs to no project
  control-plane apply monitoring --yes --sign-with ~/.ssh/id_ed25519
                                               for agents that want signed work

The key is in CONTROL_PLANE_API_KEY.
`;

/** `control-plane apply`: makes an account what the files of a folder say. */
export function registerApply(program: Command): void {
  program
    .command('apply')
    .description('apply a folder of files to the resources of an account')
    .argument('<folder>', 'as `export` writes it')
    .option('--yes', 'apply it; without this the plan is printed')
    .option('--dry-run', 'only print the plan, also with --yes')
    .option('--keep', 'leave what the folder no longer holds')
    .option('--adopt', 'take over resources of the same name that no project owns')
    .option('--sign-with <key>', 'SSH key that signs the checks; .pub for one in ssh-agent')
    .option('--env-file <file>', 'values of secrets, as lines NAME=value')
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(lazy(async () => (await import('./apply-folder.ts')).apply));
}
