/** While the disk is full: whether there is room again, for more than a small write. */
import { open, rm } from 'node:fs/promises';
import type { Services } from '../core/services.ts';
import { writeFact } from '../db/installation.ts';
import { noteAliveAndWritten } from '../reception/index.ts';

/** About a batch of results with their payloads. */
const probedBytes = 1_000_000;

class Undo extends Error {}

/** The database has a bound of its own where its pages are limited; what it takes here is undone. */
async function hasRoomInside({ db }: Services): Promise<boolean> {
  try {
    await db.transaction().execute(async (transaction) => {
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

/** The operation of a timer: does nothing while writes succeed. */
export async function probeDisk(services: Services, databaseFile: string): Promise<void> {
  const { disk } = services;
  if (disk.problem === null) return;
  if (!(await hasRoomBeside(databaseFile)) || !(await hasRoomInside(services))) return;
  disk.noteRoom();
  await noteAliveAndWritten(services);
}
