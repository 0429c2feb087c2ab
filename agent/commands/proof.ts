import { join } from 'node:path';
import type { Command } from 'commander';
import {
  findPrograms,
  ProofInterrupted,
  proofHelp,
  proofOptions,
  ProofUsageError,
  runProof,
  type ProofArguments,
} from '../../proof/command.ts';
import { AgentError } from '../errors.ts';

/** `monitor-agent proof`: plays faults on agents and a control plane of this machine. */
export function registerProof(program: Command): void {
  const command = program.command('proof').description('run the fault-injection proof');
  for (const [flags, description] of proofOptions) command.option(flags, description);
  command.addHelpText('after', proofHelp).action(async (given: ProofArguments) => {
    try {
      const own = join(import.meta.dirname, '..');
      const programs = findPrograms({ agent: own, ...given }, own);
      process.exitCode = await runProof(given, programs, 'monitor-agent proof');
    } catch (error) {
      if (error instanceof ProofInterrupted) error.exit();
      if (error instanceof ProofUsageError) throw new AgentError('CONFIG_INVALID', error.message);
      throw error;
    }
  });
}
