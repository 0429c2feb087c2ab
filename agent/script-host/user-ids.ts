/**
 * Users for runs, by number: one of its own for each run, so that runs can neither see each other nor
 * the agent. Agents of a machine agree by a socket in the abstract namespace, which belongs to one
 * process at a time and goes away with it.
 */
import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { processesOfUser } from './processes.ts';

const first = 20_000;
const last = 59_999;
const attempts = 200;

/** True for the users that runs get, of whatever agent; people may have such numbers as well. */
export const isUserOfRuns = (uid: number): boolean => uid >= first && uid <= last;

export interface UserId extends AsyncDisposable {
  readonly uid: number;
}

/** Claims a user until it is disposed; null while another run of this machine has it. */
export function claimUserId(uid: number): Promise<UserId | null> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(null));
    server.listen({ path: `\0monitor-agent-user-${uid}`, exclusive: true }, () => {
      server.unref();
      resolve({ uid, [Symbol.asyncDispose]: () => close(server) });
    });
  });
}

const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
  });

/** Takes a user that has no process and that no other run has; null when none is found. */
export async function takeUserId(): Promise<UserId | null> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const user = await claimUserId(randomInt(first, last + 1));
    if (user === null) continue;
    if (processesOfUser(user.uid).length === 0) return user;
    await user[Symbol.asyncDispose]();
  }
  return null;
}
