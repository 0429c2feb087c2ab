/** Asks the agent that runs on a data directory. */
import { request } from 'node:http';
import { hostname } from 'node:os';
import { agentStatus, type AgentStatus } from '../status/agent-status.ts';
import { withSocketPath } from '../status/status-socket.ts';
import { codeOf } from '../net/failure.ts';

const withinMs = 5_000;

export interface StatusAnswer {
  status: AgentStatus;
  /** It runs on this machine, or in this container. */
  isHere: boolean;
}

/** The text behind a path of the status socket. Rejects with an error that has a code. */
export function askAgent(
  directory: string,
  path: '/status' | '/log' | '/metrics' | '/mark',
): Promise<string> {
  return new Promise((resolve, reject) => {
    // Connects at once, while a folder with a long path is open.
    withSocketPath(directory, (socketPath) => {
      const asking = request({ socketPath, path, timeout: withinMs }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString());
          else
            reject(Object.assign(new Error('no answer'), { code: `HTTP_${response.statusCode}` }));
        });
      });
      asking.once('timeout', () => {
        asking.destroy(Object.assign(new Error('no answer'), { code: 'TIMEOUT' }));
      });
      asking.once('error', reject);
      asking.end();
    });
  });
}

/** What `/health` on a port of this machine says; empty where nothing answers. */
export function askHealth(port: number): Promise<string> {
  return fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(withinMs) })
    .then((answer) => answer.text())
    .catch(() => '');
}

/** The status, or the code of the error: ENOENT where no agent ever ran. */
export async function askStatus(
  directory: string,
): Promise<{ answer: StatusAnswer } | { answer: null; code: string }> {
  try {
    const status = agentStatus.parse(JSON.parse(await askAgent(directory, '/status')));
    return { answer: { status, isHere: status.hostname === hostname() } };
  } catch (error) {
    return { answer: null, code: codeOf(error) };
  }
}
