/** The leased jobs of this agent, with what they run: see `keyOfRun`. */
export class LeaseBook {
  readonly #runs = new Map<string, string>();

  /** False for a job that is already held: it is assigned again until its result is stored. */
  hold(jobId: string, runId: string): boolean {
    if (this.#runs.has(jobId)) return false;
    this.#runs.set(jobId, runId);
    return true;
  }

  /** The result of the job is stored, or another location continues it. */
  release(jobId: string): void {
    this.#runs.delete(jobId);
  }

  /** The leases of these jobs are lost. Gives the runs to drop: another agent runs them now. */
  lose(jobIds: readonly string[]): string[] {
    return jobIds.flatMap((jobId) => {
      const runId = this.#runs.get(jobId);
      this.#runs.delete(jobId);
      return runId ?? [];
    });
  }

  /** The jobs whose lease must be renewed. */
  get jobIds(): string[] {
    return [...this.#runs.keys()];
  }
}
