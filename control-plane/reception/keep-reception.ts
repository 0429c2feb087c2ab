/** Facts for the next process: from them it knows how long nothing could be received. */
import { readFact, writeFact } from '../db/installation.ts';
import { type Gap, type LastAlive, minGapMs } from './decide/receivable-time.ts';
import type { Services } from '../core/services.ts';
import { readGaps, readGapsAfter, recordGap, recordGaps, recordGapsOnce } from './record-gaps.ts';
import { inTransaction } from '../db/unit.ts';

const aliveFact = 'alive_at';
/** Boot time of that moment: `<id of the boot> <milliseconds>`. */
const bootFact = 'alive_boot';

/** Records that this process runs and receives; beside others its signs of life say so. */
export async function noteAlive({ db, reception, replicas, writes }: Services): Promise<void> {
  if (!replicas.isAlone && writes.overAfterMs === null) return;
  const { wall, boot } = reception.lastAlive();
  const bootText = boot === null ? '' : `${boot.id} ${Math.round(boot.ms)}`;
  await inTransaction(db, async (unit) => {
    await writeFact(unit, aliveFact, String(wall));
    await writeFact(unit, bootFact, bootText);
  });
}

async function readLastAlive({ db }: Services): Promise<LastAlive | null> {
  const wall = await readFact(db, aliveFact);
  if (wall === undefined) return null;
  const [id = '', ms = ''] = ((await readFact(db, bootFact)) ?? '').split(' ');
  return { wall: Number(wall), boot: ms === '' ? null : { id, ms: Number(ms) } };
}

/**
 * Operation of a timer. Requests that a full disk refused were not received, so the gap is recorded
 * once the disk accepts writes.
 */
export async function noteAliveAndWritten(services: Services): Promise<void> {
  const { writes, reception, clock, replicas } = services;
  await noteAlive(services);
  const lostMs = writes.overAfterMs;
  // Signs of life show whether the database was away from all replicas.
  const isLost = lostMs !== null && (writes.isDiskFull || replicas.isAlone);
  writes.noteWritten();
  if (!isLost) return;
  const to = clock.now();
  reception.note([{ cause: 'disk-full', from: to - lostMs, to, lostMs, stepMs: 0 }]);
  await reception.recorded();
}

function count({ metrics, hub }: Services, gaps: readonly Gap[]): void {
  for (const { cause, lostMs, stepMs } of gaps) {
    if (stepMs === 0) metrics.unreceivable.inc({ cause }, lostMs / 1000);
    else metrics.clockSteps.inc();
  }
  // Agents follow the clock of the control plane.
  if (gaps.some(({ stepMs }) => stepMs !== 0)) hub.wakeAll();
}

/** Loads the recorded gaps and records the gap since the last process. */
export async function openReception(services: Services): Promise<void> {
  if (!services.replicas.isAlone) return openBesideOthers(services);
  const { db, reception } = services;
  await reception.open({
    before: await readLastAlive(services),
    known: await readGaps(db),
    others: null,
    async record(gaps) {
      await recordGaps(services, gaps);
      count(services, gaps);
    },
  });
  await noteAlive(services);
}

/** The same for one of several replicas: the one that ends a time without any records the gap. */
async function openBesideOthers(services: Services): Promise<void> {
  const { db, reception, replicas } = services;
  let adoptedId: number | null = null;
  const adopt = async (): Promise<void> => {
    const rows = adoptedId === null ? [] : await readGapsAfter(db, adoptedId);
    // Another call may have been faster.
    const gaps = rows.filter(({ id }) => id > (adoptedId ?? id)).map(({ gap }) => gap);
    adoptedId = rows.at(-1)?.id ?? adoptedId;
    reception.adopt(gaps);
    count(services, gaps);
  };
  await replicas.start({
    noticePause: () => {
      reception.noticePause();
    },
    minAbsenceMs: minGapMs,
    aliveBefore: async () => (await readLastAlive(services))?.wall ?? null,
    onAbsence: (unit, { from, to, cause }) =>
      recordGap(services, unit, { cause, from, to, lostMs: to - from, stepMs: 0 }),
    onBeat: adopt,
  });
  const known = await readGapsAfter(db, 0);
  adoptedId = known.at(-1)?.id ?? 0;
  await reception.open({
    before: null,
    known: known.map(({ gap }) => gap),
    others: {
      isColdStart: replicas.isColdStart,
      doubt: (since, cause) => {
        replicas.doubt(since, cause === 'machine-suspended' ? cause : 'stopped');
      },
      isInDoubt: () => replicas.isInDoubt,
      settle: () => replicas.beat(),
    },
    async record(gaps) {
      await recordGapsOnce(services, gaps);
      await adopt();
    },
  });
}
