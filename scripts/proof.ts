/**
 * `npm run proof [-- --short --seed 1 --case suspension --rounds 200]`: bundles both programs as users have
 * them and plays the proof on them; see `proof/README.md`.
 */
import { join } from 'node:path';
import {
  findPrograms,
  ProofInterrupted,
  ProofUsageError,
  readArguments,
  runProof,
} from '../proof/command.ts';
import { bundle, programNames } from './build/bundle.ts';
import { postgresPrograms, startPostgres } from './cluster/postgres.ts';

const built = join(import.meta.dirname, '..', 'node_modules', '.cache', 'proof');
try {
  const given = readArguments(process.argv.slice(2));
  if (given.agent === undefined || given.controlPlane === undefined)
    for (const name of programNames) await bundle(name, join(built, name));
  const programs = findPrograms(given, join(built, 'agent'));
  const wantsReplicas = given.case === undefined || given.case.includes('replicas');
  await using stack = new AsyncDisposableStack();
  if (wantsReplicas && given.postgres === undefined && postgresPrograms() !== undefined) {
    const server = stack.use(await startPostgres({ isDurable: true }));
    await server.query('create database proof');
    given.postgres = server.url('proof');
  }
  process.exitCode = await runProof(given, programs, 'npm run proof --');
} catch (error) {
  if (error instanceof ProofInterrupted) error.exit();
  if (!(error instanceof ProofUsageError || error instanceof TypeError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
