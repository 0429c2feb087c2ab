/** What Kubernetes does with a pod: probes it, and replaces it by another one. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from '../../proof/program.ts';
import { eventually, type System } from './system.ts';

const probeEveryMs = 50;

export interface Pod {
  name: string;
  agent: Program;
  port: number;
  /** Probes that liveness did not answer with 200 while the agent ran. */
  failedLiveness: string[];
  /** Status of readiness, each change once: `503 200 503` over a whole life. */
  readiness: number[];
}

async function ask(port: number, path: string): Promise<number | null> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      signal: AbortSignal.timeout(2_000),
    });
    await response.text();
    return response.status;
  } catch {
    // Nobody listens: before the start, or after the end.
    return null;
  }
}

async function watch(pod: Pod): Promise<void> {
  while (!pod.agent.hasEnded) {
    const alive = await ask(pod.port, '/-/liveness');
    if (alive !== 200 && alive !== null) pod.failedLiveness.push(`liveness: ${alive}`);
    const ready = await ask(pod.port, '/-/readiness');
    if (ready !== null && ready !== pod.readiness.at(-1)) pod.readiness.push(ready);
    await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
  }
}

/** Starts an agent with an empty data folder of its own, and watches it until it ends. */
export async function startPod(
  system: System,
  name: string,
  apiKey: string,
  settings: Record<string, string> = {},
): Promise<Pod> {
  const agent = system.startAgent(name, apiKey, settings);
  const port = Number((await agent.log('agent has started'))['healthPort']);
  const pod: Pod = { name, agent, port, failedLiveness: [], readiness: [] };
  void watch(pod);
  return pod;
}

/** Resolves when Kubernetes would count the pod as ready. */
export async function untilReady(pod: Pod): Promise<void> {
  await eventually(
    () => pod.readiness.at(-1) === 200,
    () => `${pod.name} is not ready: ${pod.agent.lines.slice(-5).join('\n')}`,
  );
}

/** Ends a pod as an eviction does; its data goes with it. Gives how the agent exited. */
export async function deletePod(
  system: System,
  pod: Pod,
): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  pod.agent.signal('SIGTERM');
  const exited = await pod.agent.exited;
  rmSync(join(system.folder, pod.name), { recursive: true });
  return exited;
}
