/** The whole system as processes, with a look into its database, and targets that count their visitors. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { eventually, System as PlainSystem } from '../../proof/system.ts';
import { agentProgram, controlPlaneProgram } from './programs.ts';
import { httpServer } from './servers.ts';

export { eventually, slotsUntil, temporaryFolder, type CheckWire } from '../../proof/system.ts';

export interface RunRow {
  id: number;
  check_id: string;
  location: string;
  scheduled_for: number | null;
  state: string;
  missed_reason: string | null;
  result_id: string | null;
  late_results: number;
}

/** A website whose `/ok…` succeeds and whose other pages fail. Counts visits by path. */
export async function openTarget(): Promise<
  AsyncDisposable & { url: string; visits: Map<string, number> }
> {
  const visits = new Map<string, number>();
  const server = await httpServer((request, response) => {
    const path = request.url ?? '/';
    visits.set(path, (visits.get(path) ?? 0) + 1);
    response.writeHead(path.startsWith('/ok') ? 200 : 500).end('body');
  });
  return { ...server, visits };
}

export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** A slot would begin a second run while the test looks at the first: it is half a day away. */
export function farFromNow(): { frequency: number; frequencyOffset: number } {
  const hour = (new Date().getUTCHours() + 12) % 24;
  return { frequency: 1440, frequencyOffset: hour === 0 ? 24 : hour };
}

/** A look into a control plane's database, read-only. */
export function queryDatabase<T>(file: string, sql: string): T[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}

export class System extends PlainSystem {
  /** Answers are held against their contract, unless the settings say otherwise. */
  static start(folder: string, settings: Record<string, string> = {}): Promise<System> {
    const programs = { agent: agentProgram, controlPlane: controlPlaneProgram };
    return System.open({ programs, folder, settings: { CHECK_RESPONSES: 'true', ...settings } });
  }

  query<T>(sql: string): T[] {
    return queryDatabase<T>(this.databaseFile, sql);
  }

  /** Makes a Playwright suite of spec files in a folder, uploads it, and gives what a check needs of it. */
  async uploadSuite(
    specs: Readonly<Record<string, string>>,
  ): Promise<{ codeBundlePath: string; installCommand: string; testCommand: string }> {
    const project = join(this.folder, 'suite');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{"name":"suite","private":true}');
    writeFileSync(join(project, 'playwright.config.js'), 'module.exports = { testDir: "." };');
    for (const [name, script] of Object.entries(specs)) writeFileSync(join(project, name), script);
    execFileSync('tar', ['czf', join(this.folder, 'suite.tgz'), '-C', project, '.']);
    const uploaded = await fetch(`${this.baseUrl}/v1/code-bundles`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.apiKey}`, 'content-type': 'application/gzip' },
      body: readFileSync(join(this.folder, 'suite.tgz')),
    });
    if (uploaded.status !== 201) throw new Error(await uploaded.text());
    const { codeBundlePath } = (await uploaded.json()) as { codeBundlePath: string };
    // The packages of this repository stand in for those that an installation would bring.
    const installCommand = `ln -s ${process.cwd()}/node_modules node_modules`;
    // npx takes half a second of CPU to find the same.
    return { codeBundlePath, installCommand, testCommand: 'node_modules/.bin/playwright test' };
  }

  /** The files of a result once all of them have arrived. */
  async assetsOf<A extends { state: string }>(checkId: string, resultId: string): Promise<A[]> {
    let assets: A[] = [];
    await eventually(
      async () => {
        const path = `/v1/check-results/${checkId}/${resultId}/assets`;
        ({ assets } = await this.api<{ assets: A[] }>('GET', path));
        return assets.every(({ state }) => state !== 'PENDING');
      },
      () => `files of ${resultId} arrived`,
    );
    return assets;
  }

  /** The runs of slots. */
  runs(): RunRow[] {
    return this.query<RunRow>('select * from check_runs where scheduled_for is not null');
  }
}
