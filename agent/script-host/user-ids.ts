/**
 * Users for runs, by number: one of its own for each run, so that runs can neither see each other nor
 * the agent. Agents of a machine agree by a socket in the abstract namespace, which belongs to one
 * process at a time and goes away with it.
 */
import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { processesOfUser } from './end-processes.ts';

const first = 20_000;
const last = 59_999;
const attempts = 200;

/** True for the users that runs get, of whatever agent; people may have such numbers as well. */
export function isUserOfRuns(uid: number): boolean {
  return uid >= first && uid <= last;
}

export interface UserId extends AsyncDisposable {
  readonly uid: number;
}

function claim(uid: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => {
      resolve(null);
    });
    server.listen({ path: `\0monitor-agent-user-${uid}`, exclusive: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}

const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });

/** Takes a user that has no process and that no other run has; null when none is found. */
export async function takeUserId(): Promise<UserId | null> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const uid = randomInt(first, last + 1);
    const server = await claim(uid);
    if (server === null) continue;
    if (processesOfUser(uid).length === 0) {
      return { uid, [Symbol.asyncDispose]: () => close(server) };
    }
    await close(server);
  }
  return null;
}
