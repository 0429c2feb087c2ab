/** Facts for the next process: from them it knows how long nothing could be received. */
import { readFact, writeFact } from '../db/installation.ts';
import type { LastAlive } from './decide/receivable-time.ts';
import type { Services } from '../core/services.ts';
import { readGaps, recordGaps } from './record-gaps.ts';
import { inTransaction } from '../db/unit.ts';

const aliveFact = 'alive_at';
/** Boot time of that moment: `<id of the boot> <milliseconds>`. */
const bootFact = 'alive_boot';

/** Records that this process runs and receives. */
export async function noteAlive({ db, reception }: Services): Promise<void> {
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
  const { disk, reception, clock } = services;
  await noteAlive(services);
  const lostMs = disk.overAfterMs;
  disk.noteWritten();
  if (lostMs === null) return;
  const to = clock.now();
  reception.note([{ cause: 'disk-full', from: to - lostMs, to, lostMs, stepMs: 0 }]);
  await reception.recorded();
}

/** Loads the recorded gaps and records the gap since the last process. */
export async function openReception(services: Services): Promise<void> {
  const { db, hub, metrics, reception } = services;
  await reception.open({
    before: await readLastAlive(services),
    known: await readGaps(db),
    async record(gaps) {
      await recordGaps(services, gaps);
      for (const { cause, lostMs, stepMs } of gaps) {
        if (stepMs === 0) metrics.unreceivable.inc({ cause }, lostMs / 1000);
        else metrics.clockSteps.inc();
      }
      // Agents follow the clock of the control plane.
      if (gaps.some(({ stepMs }) => stepMs !== 0)) hub.wakeAll();
    },
  });
  await noteAlive(services);
}
