/**
 * `npm run proof -- suspension --rounds 200 --seed 1`: real processes, seeded faults, and counts of
 * what must not happen. Each case prints its figures; any line that must be zero and is not ends with 1.
 */
import { parseArgs } from 'node:util';
import { proveClock } from './clock.ts';
import { proveHeartbeats } from './heartbeats.ts';
import { proveStarvation } from './starvation.ts';
import { proveSuspension } from './suspension.ts';
import type { Proof, ProofCase } from './case.ts';

const cases: Record<string, ProofCase> = {
  suspension: proveSuspension,
  starvation: proveStarvation,
  heartbeats: proveHeartbeats,
  clock: proveClock,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    agents: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const [name = ''] = positionals;
const prove = cases[name];
if (prove === undefined) {
  console.error(`"${name}" is not a case; there are ${Object.keys(cases).join(', ')}`);
  process.exit(2);
}

function print(proof: Proof): void {
  if (values.json) {
    console.log(JSON.stringify(proof, null, 2));
    return;
  }
  for (const [label, value] of Object.entries(proof.figures)) {
    console.log(`${label.padEnd(34)}${typeof value === 'string' ? value : JSON.stringify(value)}`);
  }
  for (const violation of proof.violations) console.log(`NOT MET  ${violation}`);
}

const proof = await prove({
  rounds: Number(values.rounds),
  seed: Number(values.seed),
  agents: Number(values.agents),
  minutes: Number(values.minutes),
  say: (line) => {
    console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);
  },
});
print(proof);
process.exitCode = proof.violations.length === 0 ? 0 : 1;
