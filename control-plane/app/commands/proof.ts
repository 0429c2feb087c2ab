import { join } from 'node:path';
import type { Command } from 'commander';
import { registerProofOf } from '../../../proof/command.ts';
import { OperatorError } from '../../errors/operator-error.ts';

export const registerProof = (program: Command): void =>
  registerProofOf(program, 'controlPlane', {
    folder: join(import.meta.dirname, '..', '..'),
    unusable: (message) => new OperatorError(message, { usage: true }),
  });
