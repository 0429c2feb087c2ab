/** Where on this machine certain bytes can be read. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Found {
  /** Files, and what of processes, that hold one of the needles. */
  readonly places: string[];
  readonly filesSearched: number;
  readonly processesSearched: number;
}

async function holds(file: string, needles: readonly string[]): Promise<boolean | null> {
  const bytes = await readFile(file).catch(() => null);
  return bytes && needles.some((needle) => bytes.includes(needle));
}

/** Looks into every file below the folders, and at variables and arguments of every process. */
export async function findBytes(
  folders: readonly string[],
  needles: readonly string[],
): Promise<Found> {
  const places: string[] = [];
  let filesSearched = 0;
  for (const folder of folders) {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      const found = await holds(file, needles);
      if (found !== null) filesSearched += 1;
      if (found === true) places.push(file);
    }
  }
  let processesSearched = 0;
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    for (const part of ['environ', 'cmdline']) {
      const found = await holds(`/proc/${pid}/${part}`, needles);
      if (found !== null && part === 'cmdline') processesSearched += 1;
      if (found === true) places.push(`/proc/${pid}/${part}`);
    }
  }
  return { places, filesSearched, processesSearched };
}
