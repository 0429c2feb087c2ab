/** Composes a running agent, top to bottom. Stopping undoes it in reverse. */
import { keepUp } from './composition/keep-up.ts';
import { openSession } from './composition/open-session.ts';
import { openStorage } from './composition/open-storage.ts';
import type { AgentParts } from './composition/parts.ts';
import { serveState } from './composition/serve-state.ts';
import { DataFolderWatch } from './status/data-folder-watch.ts';

export interface RunningAgent extends AsyncDisposable {
  agentId: string;
  healthPort: number;
  /** Resolves when the agent follows a schedule. */
  ready: Promise<void>;
  /**
   * Ends gracefully: readiness turns 503 at once, running checks finish within the drain timeout,
   * results are submitted. Gives the number of results that stay for the next start.
   */
  drain(): Promise<number>;
  /** Ends what is measuring, without results. What is in the outbox stays there. */
  abort(): void;
}

/** Starts an agent. Throws an AgentError when its data directory or its health port cannot be used. */
export async function startAgent(parts: AgentParts): Promise<RunningAgent> {
  await using stack = new AsyncDisposableStack();
  const storage = await openStorage(stack, parts);
  const opened = await openSession(stack, parts, storage);
  const { session } = opened;
  const dataFolder = new DataFolderWatch(parts.config.AGENT_DATA_DIR, parts.logger);
  const { healthPort, observe } = await serveState(stack, parts, storage, opened, dataFolder);
  session.start();
  keepUp(stack, parts, storage, session, dataFolder, observe);
  const running = stack.move();
  let disposing: Promise<void> | null = null;
  return {
    agentId: storage.outbox.agentId,
    healthPort,
    ready: session.ready,
    drain: () => session.drain(),
    abort() {
      session.abort();
    },
    [Symbol.asyncDispose]: () => (disposing ??= session.stop().then(() => running.disposeAsync())),
  };
}
