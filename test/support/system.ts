/** The whole system as processes, with a look into its database, and targets that count their visitors. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { prepare, System as PlainSystem } from '../../proof/system.ts';
import { agentProgram, controlPlaneProgram } from './programs.ts';

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
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    visits.set(path, (visits.get(path) ?? 0) + 1);
    response.writeHead(path.startsWith('/ok') ? 200 : 500).end('body');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    visits,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
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

/** Makes the present schedules of all checks older, so that they have had slots. The control plane may run. */
export function backdateSchedules(file: string, byMs: number): void {
  const db = new DatabaseSync(file, { timeout: 10_000 });
  try {
    db.prepare('update schedule_periods set starts_at = starts_at - ?').run(byMs);
  } finally {
    db.close();
  }
}

export class System extends PlainSystem {
  /** Answers are held against their contract, unless the settings say otherwise. */
  static async start(folder: string, settings: Record<string, string> = {}): Promise<System> {
    const programs = { agent: agentProgram, controlPlane: controlPlaneProgram };
    const system = new System(...(await prepare(programs, folder, settings)));
    await system.controlPlane.log('serving');
    return system;
  }

  query<T>(sql: string): T[] {
    return queryDatabase<T>(this.databaseFile, sql);
  }

  /** The runs of slots. */
  runs(): RunRow[] {
    return this.query<RunRow>('select * from check_runs where scheduled_for is not null');
  }
}
