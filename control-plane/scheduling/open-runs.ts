/**
 * Runs in progress as agents report them, and which of these are cancelled. In memory: after a
 * restart of this process agents report all of their runs again.
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

/** A run as its agent reported it. */
export interface ReportedRun extends OpenRun {
  /** Where it runs. */
  location: string;
  isCancelRequested: boolean;
}

const keyOf = ({ accountId, location, agentId }: AgentOfLocation): string =>
  `${accountId}/${location}/${agentId}`;

export class OpenRuns {
  readonly #runsOfAgents = new Map<string, AgentRuns>();

  /** Replaces the reported runs of an agent. */
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

  /** Forgets agents that left: the state of their runs is unknown. */
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

  /** Cancels runs of an account; gives the known ones with their agents. */
  callOff(
    accountId: string,
    runIds: readonly string[],
  ): { runId: string; location: string; agentId: string }[] {
    return this.#ofAccount(accountId).flatMap(({ location, agentId, runs, calledOff }) =>
      runIds
        .filter((runId) => runs.has(runId))
        .map((runId) => {
          calledOff.add(runId);
          return { runId, location, agentId };
        }),
    );
  }

  /** Cancelled runs of an agent. */
  calledOff(agent: AgentOfLocation): string[] {
    return [...(this.#runsOfAgents.get(keyOf(agent))?.calledOff ?? [])];
  }
}
