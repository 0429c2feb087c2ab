/** Checks for free space while the disk is full, with more than a small write. */
import { open, rm } from 'node:fs/promises';
import type { Services } from '../core/services.ts';
import { writeFact } from '../db/installation.ts';
import { noteAliveAndWritten } from '../reception/index.ts';
import { inTransaction } from '../db/unit.ts';

/** The size of a batch of results with payloads. */
const probedBytes = 1_000_000;

class Undo extends Error {}

/** The database may have a page limit of its own; the test write is rolled back. */
async function hasRoomInside({ db }: Services): Promise<boolean> {
  try {
    await inTransaction(db, async (transaction) => {
      await writeFact(transaction, 'room', '0'.repeat(probedBytes));
      throw new Undo();
    });
    return true;
  } catch (error) {
    return error instanceof Undo;
  }
}

async function hasRoomBeside(databaseFile: string): Promise<boolean> {
  if (databaseFile === ':memory:') return true;
  const path = `${databaseFile}.room`;
  try {
    await using file = await open(path, 'w', 0o600);
    await file.writeFile(Buffer.alloc(probedBytes, 1));
    await file.sync();
    return true;
  } catch {
    return false;
  } finally {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

/** Operation of a timer; it does nothing while writes succeed. */
export async function probeDisk(services: Services, databaseFile: string): Promise<void> {
  const { writes } = services;
  if (writes.problem === null) return;
  if (!(await hasRoomBeside(databaseFile)) || !(await hasRoomInside(services))) return;
  writes.noteRoom();
  await noteAliveAndWritten(services);
}
