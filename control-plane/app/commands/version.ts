import { oldestProtocol, protocolVersion } from '@monitor/shared/contract/protocol-version.ts';
import type { Command } from 'commander';
import { version } from '../../core/version.ts';
import { printJson } from './output.ts';

/** `control-plane version`: the version, for people and for scripts. */
export function registerVersion(program: Command): void {
  program
    .command('version')
    .description('print the version of the control plane')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) => {
      const facts = {
        version,
        protocol: protocolVersion,
        oldestProtocol,
        node: process.versions.node,
        platform: `${process.platform}-${process.arch}`,
      };
      if (options.json === true) printJson(facts);
      else {
        console.log(
          `control-plane ${facts.version} (protocol ${facts.protocol}, Node ${facts.node}, ${facts.platform})`,
        );
      }
    });
}
