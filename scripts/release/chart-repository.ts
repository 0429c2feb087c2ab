/** A folder that Helm adds as a repository: charts as archives, and their index. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from 'tar';
import { parse, stringify } from 'yaml';
import { digestOf } from './checksums.ts';

interface ChartFacts {
  name: string;
  version: string;
}

/** The same files give the same bytes: in order, of one time, without owners. */
async function packChart(charts: string, name: string, file: string, epoch: number): Promise<void> {
  const files = readdirSync(join(charts, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(charts.length + 1))
    .sort();
  await create(
    {
      ...{ cwd: charts, file, gzip: true, portable: true, noDirRecurse: true },
      mtime: new Date(epoch * 1000),
      // Modes depend on the umask under which git made the files.
      onWriteEntry: (entry) => {
        if (entry.stat !== undefined) entry.stat.mode = (entry.stat.mode & ~0o777) | 0o644;
      },
    },
    files,
  );
}

/** Packs every chart below a folder. Gives the names of the archives. */
export async function makeChartRepository(
  charts: string,
  out: string,
  epoch: number,
): Promise<string[]> {
  mkdirSync(out, { recursive: true });
  const created = new Date(epoch * 1000).toISOString();
  const entries: Record<string, object[]> = {};
  const made: string[] = [];
  for (const folder of readdirSync(charts).sort()) {
    const facts = parse(readFileSync(join(charts, folder, 'Chart.yaml'), 'utf8')) as ChartFacts;
    const archive = `${facts.name}-${facts.version}.tgz`;
    await packChart(charts, folder, join(out, archive), epoch);
    const digest = digestOf(join(out, archive));
    entries[facts.name] = [{ ...facts, created, digest, urls: [archive] }];
    made.push(archive);
  }
  writeFileSync(
    join(out, 'index.yaml'),
    stringify({ apiVersion: 'v1', entries, generated: created }),
  );
  return made;
}
