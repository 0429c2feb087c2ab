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
} from '../../../proof/command.ts';
import { OperatorError } from '../../errors/operator-error.ts';

/** `control-plane proof`: plays faults on a control plane and agents of this machine. */
export function registerProof(program: Command): void {
  const command = program.command('proof').description('run the fault-injection proof');
  for (const [flags, description] of proofOptions) command.option(flags, description);
  command.addHelpText('after', proofHelp).action(async (given: ProofArguments) => {
    try {
      const own = join(import.meta.dirname, '..', '..');
      const programs = findPrograms({ controlPlane: own, ...given }, own);
      process.exitCode = await runProof(given, programs, 'control-plane proof');
    } catch (error) {
      if (error instanceof ProofInterrupted) error.exit();
      if (error instanceof ProofUsageError) throw new OperatorError(error.message, { usage: true });
      throw error;
    }
  });
}
