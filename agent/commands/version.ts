import { protocolVersion } from '@monitor/shared/contract/protocol-version.ts';
import type { Command } from 'commander';
import { runners } from '../runners/index.ts';
import { version } from '../version.ts';

/** `monitor-agent version`: what this is, for people and for scripts. */
export function registerVersion(program: Command): void {
  program
    .command('version')
    .description('print the version of the agent')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) => {
      const facts = {
        version,
        protocol: protocolVersion,
        node: process.versions.node,
        platform: `${process.platform}-${process.arch}`,
        checkTypes: Object.keys(runners),
      };
      if (options.json === true) console.log(JSON.stringify(facts));
      else {
        console.log(
          `monitor-agent ${facts.version} (protocol ${facts.protocol}, Node ${facts.node}, ${facts.platform})`,
        );
      }
    });
}
