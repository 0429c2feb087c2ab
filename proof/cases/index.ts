/** All cases, in the order of the report. */
import type { ProofCase } from '../case.ts';
import { cut } from './cut.ts';
import { diagnosis } from './diagnosis.ts';
import { damage, fullDisk } from './files.ts';
import { heartbeats } from './heartbeats.ts';
import { clock, clockOfControlPlane, starvation } from './load.ts';
import { proxy } from './proxy.ts';
import { replicas } from './replicas.ts';
import { rollingUpdate } from './rolling-update.ts';
import { controlPlane, fencing, killedAgent, receiver, suspension } from './programs.ts';

export const cases: readonly ProofCase[] = [
  ...[killedAgent, controlPlane, suspension, fencing, cut, proxy, receiver],
  ...[damage, fullDisk, starvation, heartbeats, clock, clockOfControlPlane, rollingUpdate],
  ...[replicas, diagnosis],
];
