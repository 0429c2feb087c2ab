/** pgbouncer in transaction mode before a PostgreSQL server, as Debian's package installs it. */
import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../proof/program.ts';
import { identityForServer } from '../../scripts/cluster/postgres.ts';

const program = '/usr/sbin/pgbouncer';

export const hasPooler = existsSync(program);

export interface Pooler extends AsyncDisposable {
  port: number;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}

/** Starts one for the user and the databases of a URL. Throws when it ends at its start. */
export async function startPooler(url: string): Promise<Pooler> {
  const { port: serverPort, username } = new URL(url);
  const identity = identityForServer();
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${serverPort} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = 20
server_login_retry = 1
`,
  );
  if (identity !== null)
    for (const path of [folder, file]) chownSync(path, identity.uid, identity.gid);
  const child = spawn(program, ['--quiet', file], {
    ...identity,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-5_000)));
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  process.once('exit', kill);
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended at its start:\n${log}`);
    await pause(20);
  }
  return {
    port,
    async [Symbol.asyncDispose]() {
      process.off('exit', kill);
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
