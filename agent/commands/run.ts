/** `monitor-agent run`: checks, here and now, without a control plane. */
import { lazy } from '@monitor/shared/named-commands.ts';
import type { Command } from 'commander';

const examples = `
Checks:
  https://example.com        an address: https, tcp, dns, icmp, ssl, grpc,
                             traceroute
  check.json                 a check with "checkType"
  shop.spec.ts               a test, run as a browser check, with the files it
                             imports and the nearest playwright.config
  shop.check.ts              a module that exports checks: export default {
                             checkType: 'URL', request: { url: '…' } }
  checks/  'checks/**/*.ts'  what a folder holds of these, or a pattern names

Examples:
  monitor-agent run https://example.com
  monitor-agent run tcp://db.internal:5432
  monitor-agent run "dns://10.0.0.2/shop.internal?type=MX"
  monitor-agent run icmp://10.0.0.1
  monitor-agent run ssl://shop.internal:8443
  monitor-agent run grpc://orders.internal:50051
  monitor-agent run traceroute://shop.internal
  monitor-agent run check.json --json        the result as JSON
  monitor-agent run browser.json --files out keep its trace, screenshots and
                                             report in out/; of a failure in the
                                             network, capture.pcap
  monitor-agent run checks --env-file .env --report junit=report.xml
  monitor-agent run shop.spec.ts --watch     run it again when a file changes

Exit codes: 0 passed or degraded, 1 failed, 2 could not be run; of several
checks the highest.
`;

const collect = (value: string, before: string[]): string[] => [...before, value];

export function registerRun(program: Command): void {
  program
    .command('run')
    .description('run checks without a control plane and print the results')
    .argument('<check...>', 'addresses, files, folders and patterns')
    .option('--json', 'print the result as JSON; the same as --report json')
    .option('--report <kind[=file]>', 'list, json, junit or github; more than once', collect, [])
    .option('--retries', 'follow the retry strategies of the checks')
    .option('--env-file <file>', 'variables for the checks, as lines NAME=value', collect, [])
    .option('--env <name>', 'a variable of this environment for the checks', collect, [])
    .option('--watch', 'run checks again when their files change')
    .option('--files <folder>', 'keep the files of the runs there: traces, screenshots, captures')
    .addHelpText('after', examples)
    .action(lazy(async () => (await import('./run/run-checks.ts')).run));
}
