/**
 * Where the operator of a machine asks the running agent: a socket in AGENT_DATA_DIR, which only its
 * user can open. The health port is open to the network, so this is not there.
 *
 *   GET /status   the status as JSON
 *   GET /log      the last lines of the log
 *   GET /metrics  as on the health port
 *   GET /mark     writes a line into the log; gives the id in it
 */
import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, openSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { AgentStatus } from './agent-status.ts';
import { endServer } from '@monitor/shared/open-server.ts';

const name = 'agent.sock';
/** What the kernel takes as the path of a socket, with the zero at its end. */
const maxPathLength = 107;

/**
 * Calls back with the path of the socket of a data directory. A path that is too long for the kernel
 * is written by way of the open folder.
 */
export function withSocketPath<T>(directory: string, use: (path: string) => T): T {
  const path = join(directory, name);
  if (Buffer.byteLength(path) <= maxPathLength || process.platform !== 'linux') return use(path);
  const fd = openSync(directory, 'r');
  try {
    return use(`/proc/self/fd/${fd}/${name}`);
  } finally {
    closeSync(fd);
  }
}

export interface StatusSources {
  directory: string;
  status(): Promise<AgentStatus>;
  log(): string;
  registry: Registry;
  logger: Logger;
}

async function listen(server: Server, directory: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', resolve);
    // Bound at once, while the folder is open.
    withSocketPath(directory, (path) => server.listen(path));
  });
  chmodSync(join(directory, name), 0o600);
}

/**
 * Answers until it is disposed. The directory must belong to this agent alone: what an agent that was
 * killed left there is removed. Where sockets cannot be made, the agent goes on without.
 */
export async function serveStatus(sources: StatusSources): Promise<AsyncDisposable> {
  const { directory, registry, logger } = sources;
  const answers: Record<string, { type: string; text: () => Promise<string> }> = {
    '/status': {
      type: 'application/json',
      text: async () => `${JSON.stringify(await sources.status())}\n`,
    },
    '/log': { type: 'text/plain', text: () => Promise.resolve(sources.log()) },
    '/mark': {
      type: 'text/plain',
      text: () => {
        const mark = randomUUID().slice(0, 8);
        logger.info({ mark }, 'the log was marked for a support bundle');
        return Promise.resolve(mark);
      },
    },
    '/metrics': { type: registry.contentType, text: () => registry.metrics() },
  };
  const server = createServer((request, response) => {
    const answer = request.method === 'GET' ? answers[request.url ?? ''] : undefined;
    if (answer === undefined) {
      response.writeHead(404).end();
      return;
    }
    answer.text().then(
      (text) => response.writeHead(200, { 'content-type': answer.type }).end(text),
      (error: unknown) => {
        logger.warn({ err: error }, 'status could not be sent');
        response.writeHead(500).end();
      },
    );
  });
  try {
    rmSync(join(directory, name), { force: true });
    await listen(server, directory);
  } catch (error) {
    logger.warn(
      { err: error },
      'status socket cannot be opened, "monitor-agent status" will not work',
    );
  }
  return {
    async [Symbol.asyncDispose]() {
      const ended = endServer(server);
      try {
        rmSync(join(directory, name), { force: true });
      } catch {
        // The disk may be read-only by now. The next start removes it.
      }
      await ended;
    },
  };
}
