import { lazy } from '@monitor/shared/named-commands.ts';
import { InvalidArgumentError, type Command } from 'commander';
import { daysUpTo, historyOption } from './days-option.ts';

function channels(text: string, before: number[] = []): number[] {
  if (/^[1-9]\d{0,14}$/.test(text)) return [...before, Number(text)];
  throw new InvalidArgumentError('must be the id of an alert channel');
}

const examples = `
After "import checkly" both sides run. Each hour the control plane reads the
results of the other side and notes where the verdicts differ. Once a day it
sends what differed, or that nothing did, or why it could not compare.

Examples:
  control-plane shadow start --api-key-file key
  control-plane shadow show              differences of the last day
  control-plane shadow show --days 7 --check
                                         exit 1 if there are any, or
                                         some checks are not compared
  control-plane shadow stop              forgets the key

The key of this control plane is in CONTROL_PLANE_API_KEY.
`;

/** `control-plane shadow`: where the verdicts of two sides differ after a move. */
export function registerShadow(program: Command): void {
  const group = program
    .command('shadow')
    .description('compare verdicts with those of the side that you move from')
    .addHelpText('after', examples);
  group
    .command('start')
    .description('compare them from now on')
    .requiredOption('--api-key-file <file>', 'file with a key of the other side')
    .option('--account-id <id>', 'of that account; default: the account of the key')
    .option('--base-url <url>', 'of its API', 'https://api.checklyhq.com')
    .option('--name <project>', 'that the import made', 'import-checkly')
    .addOption(historyOption())
    .option('--channel <id>', 'alert channel for the daily message, may be repeated', channels)
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./compare-verdicts.ts')).startShadow));
  group
    .command('show')
    .description('list where they differ, with what each side saw')
    .option('--days <days>', 'how many days back', daysUpTo(999), 1)
    .option('--check', 'exit 1 if they differ, or too little is compared to say so')
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./compare-verdicts.ts')).showShadow));
  group
    .command('stop')
    .description('end it and forget the key; what was found stays for a while')
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .action(lazy(async () => (await import('./compare-verdicts.ts')).stopShadow));
}
