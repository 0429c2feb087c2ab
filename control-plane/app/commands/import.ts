import { lazy } from '@monitor/shared/named-commands.ts';
import { Option, type Command } from 'commander';
import { formatNames } from '../../movers/decide/formats.ts';
import { historyOption } from './days-option.ts';

const collect = (value: string, before: string[]) => [...before, value];

const examples = `
Examples:
  control-plane import kuma.db --location eu-central-1
  control-plane import gatus/ --from gatus --location office --yes

The plan needs no control plane. --yes writes to the one at --url, with the
key in CONTROL_PLANE_API_KEY. Import again to update; \`destroy\` undoes it.
`;

const accountExamples = `
The plan changes nothing; --yes writes to the control plane at --url, with the
key in CONTROL_PLANE_API_KEY. Import again to update; \`destroy\` undoes it.
Nothing is ever written to the other side.

Examples:
  control-plane import checkly --api-key-file key
  control-plane import checkly --api-key-file key --yes
  control-plane import checkly --api-key-file key --history 30d --yes
  control-plane import checkly --api-key-file key \\
    --base-url https://other.example.com
`;

/** `control-plane import checkly`: an account of the service whose API this control plane has. */
function registerAccountImport(group: Command): void {
  group
    .command('checkly')
    .description('import a whole account of Checkly, or of a control plane like this')
    .requiredOption('--api-key-file <file>', 'file with a key of that account')
    .option('--account-id <id>', 'of that account; default: the account of the key')
    .option('--base-url <url>', 'of its API', 'https://api.checklyhq.com')
    .option('--env-file <file>', 'values of secret variables, as lines NAME=value')
    .addOption(historyOption())
    .option('--delete', 'delete what an earlier import made and this account does not have')
    .option('--name <project>', 'of the project; default: import-checkly')
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .addOption(new Option('--yes', 'apply the plan').conflicts('check'))
    .option('--check', 'write nothing; exit 1 if something is lost or switched off')
    .option('--json', 'print JSON')
    .addOption(new Option('--html', 'print the report as a page').conflicts('json'))
    .addHelpText('after', accountExamples)
    .action(lazy(async () => (await import('./import-account.ts')).importAccount));
}

/** `control-plane import`: a plan of what the files of another product become, or that itself. */
export function registerImport(program: Command): void {
  const group = program
    .command('import')
    .description('import checks from another product: prints a plan, or applies it')
    .argument('<path>', 'a file, or a folder of one product')
    .addOption(new Option('--from <format>', 'by default it is recognised').choices(formatNames))
    .option('--location <location>', 'where checks run; once for each', collect, [])
    .option('--name <project>', 'of the project; default: import-<format>')
    .option('--longer', 'take longer intervals, where one is not allowed here')
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .addOption(new Option('--yes', 'apply the plan').conflicts('check'))
    .option('--check', 'write nothing; exit 1 if something is lost or switched off')
    .option('--json', 'print JSON')
    .addOption(new Option('--html', 'print the report as a page').conflicts('json'))
    .addHelpText('after', examples)
    .action(lazy(async () => (await import('./import-project.ts')).importFiles));
  registerAccountImport(group);
}

/** `control-plane destroy`: deletes a project with all that it owns. */
export function registerDestroy(program: Command): void {
  program
    .command('destroy')
    .description('delete a project and all its resources, such as an import')
    .argument('<project>', 'as `import` or a deployment named it')
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .option('--yes', 'delete them')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./import-project.ts')).destroy));
}
