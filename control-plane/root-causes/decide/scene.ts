/** A minute, and who else of it says something about a run. */
import {
  symptomOf,
  siteOf,
  type ChangeFacts,
  type LocationFacts,
  type Minute,
  type Path,
  type RunFacts,
  type Symptom,
} from './facts.ts';

/**
 * Where a problem lies, from who shares it. `target`: it is seen from other locations too, or the
 * location reaches everything else. `path`: only from here, only this target. `location`: here alone,
 * several unrelated targets. `alone`: nothing else ran. `unclear`: all that ran here has it, and nothing
 * ran in other locations.
 */
export type Blame = 'target' | 'path' | 'location' | 'alone' | 'unclear';

/** The last hop that answered, and its number. */
export interface LastHop {
  address: string;
  hop: number;
  note: string | null;
}

export function lastHopOf(path: Path | null): LastHop | null {
  const last = path?.hops.findLast(({ address }) => address !== null);
  return last?.address == null ? null : { ...last, address: last.address };
}

/** A pass from before a problem says nothing of it. Clocks of agents differ a little. */
const beforeMs = { ofHost: 2_000, ofOthers: 10_000 };

const isAddress = (host: string): boolean => /^[\d.]+$|:/.test(host);

export class Scene {
  readonly runs: readonly RunFacts[];
  readonly #symptoms: ReadonlyMap<RunFacts, Symptom | null>;
  readonly #byLocation: ReadonlyMap<string, RunFacts[]>;
  readonly #byHost: ReadonlyMap<string, RunFacts[]>;
  readonly #locations: ReadonlyMap<string, LocationFacts>;
  readonly #changes: ReadonlyMap<string, ChangeFacts>;

  constructor({ runs, locations, changes }: Minute) {
    this.runs = runs;
    this.#symptoms = new Map(runs.map((run) => [run, symptomOf(run)]));
    this.#byLocation = Map.groupBy(runs, ({ location }) => location);
    this.#byHost = Map.groupBy(runs, ({ host, checkId }) => host ?? checkId);
    this.#locations = new Map(locations.map((one) => [one.location, one]));
    this.#changes = new Map(changes.map((change) => [change.checkId, change]));
  }

  symptom(run: RunFacts): Symptom | null {
    return this.#symptoms.get(run) ?? null;
  }

  location({ location }: RunFacts): LocationFacts | undefined {
    return this.#locations.get(location);
  }

  /** The change of the check between its last pass and its problem. */
  changeBefore({ checkId, since, lastPass }: RunFacts): ChangeFacts | undefined {
    const change = this.#changes.get(checkId);
    if (change === undefined || change.at > since) return undefined;
    return change.at > (lastPass?.at ?? -Infinity) ? change : undefined;
  }

  /** Runs at other locations that ask the same of the same host. */
  otherLocations(run: RunFacts): RunFacts[] {
    return this.#ofHost(run).filter(
      (other) =>
        other.location !== run.location &&
        this.#counts(other, run, beforeMs.ofHost) &&
        (other.checkId === run.checkId || (other.port !== null && other.port === run.port)),
    );
  }

  /** Runs of the same host that ask something else of it, such as another port or an echo. */
  besideOnHost(run: RunFacts): RunFacts[] {
    return this.#ofHost(run).filter(
      (other) =>
        other.checkId !== run.checkId &&
        other.port !== run.port &&
        this.#counts(other, run, beforeMs.ofHost),
    );
  }

  /** Runs at the location about other sites. */
  strangers(run: RunFacts): RunFacts[] {
    const site = siteOf(run);
    return this.#here(run).filter((other) => siteOf(other) !== site);
  }

  /** Strangers with the same symptom, and the same code where both have one. */
  alike(run: RunFacts): RunFacts[] {
    const symptom = this.symptom(run);
    return this.strangers(run).filter(
      (other) => this.symptom(other) === symptom && isSameKind(run, other),
    );
  }

  /** Runs at the location that reached their target, whatever it said. */
  reached(run: RunFacts): RunFacts[] {
    const answered: readonly (Symptom | null)[] = [
      ...([null, 'refused', 'certificate', 'tls', 'status', 'content', 'slow', 'answer'] as const),
      'script',
    ];
    return this.#here(run).filter((other) => answered.includes(this.symptom(other)));
  }

  /** Passes at the location. */
  passing(run: RunFacts): RunFacts[] {
    return this.#here(run).filter((other) => this.symptom(other) === null);
  }

  /** Runs at the location that resolved a name. */
  resolved(run: RunFacts): RunFacts[] {
    return this.reached(run).filter(
      ({ host, address, isProxied }) =>
        host !== null && !isAddress(host) && address !== null && !isProxied,
    );
  }

  blame(run: RunFacts): Blame {
    const others = this.otherLocations(run);
    const symptom = this.symptom(run);
    const isPassing = (one: RunFacts): boolean => this.symptom(one) === null;
    const hasSame = (one: RunFacts): boolean => this.symptom(one) === symptom;
    if (others.some(hasSame)) return 'target';
    // What other locations see too is a problem of its own.
    const alike = this.alike(run).filter((other) => !this.otherLocations(other).some(hasSame));
    const alsoHere = alike.filter((other) => this.otherLocations(other).some(isPassing));
    const isHere = others.some(isPassing);
    if (alsoHere.length > (isHere ? 0 : 1)) return 'location';
    // Several unrelated targets at once are no coincidence, though too little of them is known.
    if (alike.length > 1) return 'unclear';
    if (isHere) return 'path';
    if (this.strangers(run).some(isPassing)) return 'target';
    return alike.length > 0 ? 'unclear' : 'alone';
  }

  /** Other names of the site that lead somewhere now. */
  siblings(run: RunFacts): RunFacts[] {
    return this.runs.filter(
      (other) =>
        other.host !== run.host &&
        other.address !== null &&
        siteOf(other) === siteOf(run) &&
        this.#counts(other, run, beforeMs.ofHost),
    );
  }

  /** Runs at the location that are not from before the problem. */
  #here(run: RunFacts): RunFacts[] {
    return (this.#byLocation.get(run.location) ?? []).filter((other) =>
      this.#counts(other, run, beforeMs.ofOthers),
    );
  }

  #counts(other: RunFacts, run: RunFacts, toleranceMs: number): boolean {
    return this.symptom(other) !== null || other.startedAt >= run.since - toleranceMs;
  }

  #ofHost({ host, checkId }: RunFacts): readonly RunFacts[] {
    return this.#byHost.get(host ?? checkId) ?? [];
  }
}

function isSameKind(one: RunFacts, other: RunFacts): boolean {
  if (one.status !== null && other.status !== null && one.code === null) {
    return one.status === other.status;
  }
  return true;
}
