import { lazy } from '@monitor/shared/named-commands.ts';
import type { Command } from 'commander';

const help = `
The client is started with the address of an API on this machine, and with a
key for it that nobody else has. That API forwards everything to the control
plane, and signs the checks of a deployment from what the client sends. A check
that depends on more than its project, such as a snippet of the account, is
refused before anything changes.

Examples:
  control-plane sign --sign-with ~/.ssh/id_ed25519 -- npx checkly deploy --force

The key of the account is in CONTROL_PLANE_API_KEY.
`;

/** `control-plane sign`: signs what an existing client deploys. */
export function registerSign(program: Command): void {
  program
    .command('sign')
    .description('run an existing client of the API, and sign the checks that it deploys')
    .argument('<command...>', 'the client with its arguments, after --')
    .requiredOption('--sign-with <key>', 'SSH key that signs; .pub for one in ssh-agent')
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .option('--json', 'print JSON, and what the client prints on standard error')
    .addHelpText('after', help)
    .action(lazy(async () => (await import('./sign-deployments.ts')).signDeployments));
}
