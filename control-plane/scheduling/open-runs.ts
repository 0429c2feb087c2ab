/**
 * Runs in progress as agents tell them, and which of these are called off. In memory: agents tell all
 * of their runs again when this process was started anew.
 */
import type { OpenRun } from '@monitor/shared/contract/agent-protocol.ts';

interface AgentOfLocation {
  accountId: string;
  location: string;
  agentId: string;
}

interface AgentRuns extends AgentOfLocation {
  runs: ReadonlyMap<string, OpenRun>;
  calledOff: Set<string>;
}

/** A run as its agent told it. */
export interface ReportedRun extends OpenRun {
  /** Where it runs. */
  location: string;
  isCancelRequested: boolean;
}

const keyOf = ({ accountId, location, agentId }: AgentOfLocation): string =>
  `${accountId}/${location}/${agentId}`;

export class OpenRuns {
  readonly #runsOfAgents = new Map<string, AgentRuns>();

  /** All that an agent is running now. */
  replace(agent: AgentOfLocation, list: readonly OpenRun[]): void {
    const key = keyOf(agent);
    if (list.length === 0) {
      this.#runsOfAgents.delete(key);
      return;
    }
    const runs = new Map(list.map((run) => [run.runId, run]));
    const calledOff = [...(this.#runsOfAgents.get(key)?.calledOff ?? [])].filter((id) =>
      runs.has(id),
    );
    this.#runsOfAgents.set(key, { ...agent, runs, calledOff: new Set(calledOff) });
  }

  /** These agents are gone: nobody knows what became of their runs. */
  forget(accountId: string, location: string, agentIds: readonly string[]): void {
    for (const agentId of agentIds)
      this.#runsOfAgents.delete(keyOf({ accountId, location, agentId }));
  }

  list(accountId: string): ReportedRun[] {
    return this.#ofAccount(accountId).flatMap(({ location, runs, calledOff }) =>
      [...runs.values()].map((run) => ({
        ...run,
        location,
        isCancelRequested: calledOff.has(run.runId),
      })),
    );
  }

  #ofAccount(accountId: string): AgentRuns[] {
    return [...this.#runsOfAgents.values()].filter((agent) => agent.accountId === accountId);
  }

  /** Calls off runs of an account; gives which of them there are, and where. */
  callOff(accountId: string, runIds: readonly string[]): { runId: string; location: string }[] {
    return this.#ofAccount(accountId).flatMap(({ location, runs, calledOff }) =>
      runIds
        .filter((runId) => runs.has(runId))
        .map((runId) => {
          calledOff.add(runId);
          return { runId, location };
        }),
    );
  }

  /** The runs of an agent that are called off. */
  calledOff(agent: AgentOfLocation): string[] {
    return [...(this.#runsOfAgents.get(keyOf(agent))?.calledOff ?? [])];
  }
}
