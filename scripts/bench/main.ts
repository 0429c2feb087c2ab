/**
 * `npm run bench [-- <part> …]`: what the agent and the control plane cost, as rows that `npm run release` compares
 * with those of the release before. CPU is that of whole process trees; what is compared is measured in turn,
 * several rounds; medians and ratios are what to read. Nothing here passes or fails: machines differ.
 */
import { Program } from '../../proof/program.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { readOptions, refuse } from '../options.ts';
import { benchApi } from './api.ts';
import { benchConsole } from './console.ts';
import { benchEncryption } from './encryption.ts';
import { benchFleet } from './fleet.ts';
import { benchIngest } from './ingest.ts';
import { kindParts } from './kinds.ts';
import type { Bench, Ports } from './load.ts';
import { benchScrub } from './scrub.ts';
import { benchSlots } from './slots.ts';
import { benchStart } from './start.ts';
import { benchStatusPage } from './status-page.ts';

const parts: Record<string, (bench: Bench) => Promise<void>> = {
  api: benchApi,
  console: benchConsole,
  'status-page': benchStatusPage,
  ingest: benchIngest,
  fleet: benchFleet,
  start: benchStart,
  ...kindParts,
  scrub: benchScrub,
  encryption: benchEncryption,
  slots: benchSlots,
};

const { positionals: given } = readOptions({ allowPositionals: true });
const unknown = given.find((name) => !Object.hasOwn(parts, name));
if (unknown !== undefined) {
  refuse(`There is no part "${unknown}"; there are ${Object.keys(parts).join(', ')}`);
}
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
using folder = temporaryFolder();
await using targets = new Program(['scripts/bench/targets.ts'], {});
const ports = JSON.parse(await targets.line('{')) as Ports;
await using system = await System.start(folder.path, { CHECK_RESPONSES: 'false' });
console.log(`Node ${process.versions.node}, ${rounds} rounds, medians`);
for (const [name, measure] of Object.entries(parts)) {
  if (given.length === 0 || given.includes(name)) await measure({ system, ports, rounds });
}
