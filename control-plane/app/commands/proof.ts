import { join } from 'node:path';
import type { Command } from 'commander';
import { registerProofOf } from '../../../proof/command.ts';
import { usageError } from '../../errors/operator-error.ts';

export const registerProof = (program: Command): void =>
  registerProofOf(program, 'controlPlane', {
    folder: join(import.meta.dirname, '..', '..'),
    unusable: usageError,
  });
