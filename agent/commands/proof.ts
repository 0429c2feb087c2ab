import { join } from 'node:path';
import type { Command } from 'commander';
import { registerProofOf } from '../../proof/command.ts';
import { AgentError } from '../errors.ts';

export const registerProof = (program: Command): void =>
  registerProofOf(program, 'agent', {
    folder: join(import.meta.dirname, '..'),
    unusable: (message) => new AgentError('CONFIG_INVALID', message),
  });
