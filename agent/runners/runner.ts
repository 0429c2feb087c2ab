/**
 * The contract between the worker and the runners. A runner observes one attempt and never judges:
 * a refused connection is an observation with a `failure`. It throws only when our side is broken
 * (`AgentError`), which ends as `hasErrors`. It knows its definition and its context, nothing else:
 * no environment, no globals, no retries, no assertions.
 */
import type {
  CheckDefinition,
  JudgedRequest,
  Measurement,
} from '@monitor/shared/contract/checks/check-type.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import type {
  AssignedBaseline,
  AssignedCertificate,
  EnvironmentEntry,
  LearnedScript,
  NamedScript,
  Shard,
} from '@monitor/shared/contract/agent-protocol.ts';
import type {
  ArtifactType,
  ExchangeField,
  ResultDetails,
} from '@monitor/shared/contract/check-result.ts';
import type { BrowserPool } from '../browsers/browser-pool.ts';
import type { PicturePolicy } from '../browsers/pictures.ts';
import type { FoundBrowser } from '../browsers/find-browser.ts';
import type { ScriptSessions } from '../browsers/script-sessions.ts';
import type { Gateway } from '../net/gateway/gateway.ts';
import type { TracedRequest } from '../net/http/traced-request.ts';
import type { NetworkAccess } from '../net/network-access.ts';
import type { Evidence, EvidenceLevel } from '../net/network-evidence.ts';
import type { InstalledRuntime } from '../runtimes/installed-runtime.ts';
import type { RunFacts } from '../script-host/run-variables.ts';
import type { ScriptHost, ScriptLimits } from '../script-host/script-host.ts';

/** What runs of code saw; each type fills its own. */
type Details = Partial<Omit<ResultDetails, ExchangeField>>;

/** A measurement, and what the worker needs to judge it and to describe the run. */
export type Observation = Measurement & {
  /** In place of an exchange, for types that saw something else. */
  details?: Details;
  /** What error groups are made of; by default the reason of the verdict. */
  errorMessages?: string[];
  /** What the next runs of the check can use. */
  learnedScript?: LearnedScript;
  /**
   * Part of `responseTime`, in ms, in which the target may have waited for the agent: no event of the
   * kernel explains it. Absent for all of it.
   */
  unexplainedMs?: number;
  /** How long the processes of a run of code waited for a CPU in its last so many ms. Absent without any. */
  processesWaitedMs?: (lastMs: number) => number;
  /** How long the target took at least to answer for the page that the failed run had asked for. */
  unansweredMs?: number;
  /** The HTTP requests it made, for traces. */
  requests?: readonly TracedRequest[];
  /**
   * Of a failure in the network. Called when the attempt is over and judged a failure. `deadline` ends
   * it with what there is by then. Never rejects.
   */
  evidence?: (level: EvidenceLevel, deadline?: AbortSignal) => Promise<Evidence>;
};

/** Takes the files of a run. */
export interface ArtifactSink {
  /**
   * Moves a file, or bytes, into the care of the agent, which removes secrets from it and uploads it.
   * Gives what stands in its place in the result until it is read. A name that is taken gets a number.
   */
  add(file: GivenFile): Promise<string>;
}

export type GivenFile = ({ path: string } | { bytes: Uint8Array }) & {
  /** Of one or two parts; see `artifactName`. */
  name: string;
  type: ArtifactType;
  contentType: string;
  /** It need not survive a loss of power right away: there may be hundreds a second of it. */
  isFleeting?: boolean;
  /** Why no picture of a page may leave with it: a picture or film is withheld, a trace loses its own. */
  withheldPictures?: string | null;
};

/** How a language model is reached. Its key stays in this process. */
export interface ModelSettings {
  readonly provider: 'openai' | 'anthropic';
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: { reveal(): string } | null;
  /** How it is called: by way of the proxy of the agent, where there is one. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Ceilings of one run. */
  readonly maxTokens: number;
  readonly maxSteps: number;
}

/** What running code needs; built once per process. */
export interface Scripting {
  readonly host: ScriptHost;
  readonly sessions: ScriptSessions;
  /** Browsers that stay open; null when each run starts its own. */
  readonly browsers: BrowserPool | null;
  /** The runtime of a check: the one it names, or the newest there is. Throws RUNTIME_MISSING. */
  runtime(id: string | null): Promise<InstalledRuntime>;
  /** Throws BROWSER_MISSING with what was looked for. */
  browser(): Promise<FoundBrowser>;
  /** What becomes of secrets in pictures of pages. */
  readonly pictures: PicturePolicy;
  /** The way out for runs that show client certificates, or go by the proxy of the location. */
  readonly gateway: Gateway;
  readonly model: ModelSettings | null;
  /** What one run of a script may use; suites get a multiple of it. */
  readonly scriptLimits: ScriptLimits;
  /**
   * Writes the code bundle of a check to a file. Throws CODE_BUNDLE_NOT_FOUND with the words of the
   * control plane when it has none, CODE_BUNDLE_UNAVAILABLE when it could not be asked.
   */
  downloadCodeBundle(checkId: string, file: string, signal: AbortSignal): Promise<void>;
  /** An image that screenshots are compared with; null where there is none any more. Throws CODE_BUNDLE_UNAVAILABLE. */
  baselineImage(checkId: string, digest: string, signal: AbortSignal): Promise<Buffer | null>;
  /** Holds what installations of suites can share; null when switched off. */
  readonly cacheFolder: string | null;
  readonly cacheMaxBytes: number;
  /** True when this agent runs only signed work. */
  readonly isWorkSigned: boolean;
  /** How installations reach the network: proxy settings, as variables. */
  readonly proxyEnvironment: Readonly<Record<string, string>>;
}

/** The part of a suite that runs here, or why all of it does although it is to be shared. */
export type SuitePart = { shard: Shard } | { whyWhole: string };

export interface RunnerContext {
  /** Aborted when the run is cancelled; the runner then stops within a moment. */
  readonly signal: AbortSignal;
  /** Ceiling of this attempt; reaching it is an observation (`failure.code` TIMEOUT), not an error. */
  readonly timeoutMs: number;
  /** Its delays end after sockets were read once more. */
  readonly clock: Clock;
  /** How long the agent has waited in this attempt, for a CPU or while it was stopped, in ms. */
  waitedMs(): number;
  /** The log of the run, shown with its result. `section` matters to API checks alone. */
  log(
    message: string,
    level?: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR',
    section?: 'setup' | 'request' | 'teardown',
  ): void;
  /** Shows a line to somebody who watches the run; `log` does so too. Absent when nobody does. */
  readonly printed?: (line: string) => void;
  readonly network: NetworkAccess;
  readonly run: RunFacts;
  /** Merged variables of the run; `ENVIRONMENT_URL` among them where a trigger gave one. */
  readonly environment: readonly EnvironmentEntry[];
  readonly runtimeId: string | null;
  readonly setupScripts: readonly NamedScript[];
  readonly teardownScripts: readonly NamedScript[];
  readonly snippets: readonly NamedScript[];
  readonly clientCertificates: readonly AssignedCertificate[];
  /** Proxy of the location, or null. */
  readonly proxyUrl: string | null;
  readonly learnedScript: LearnedScript | null;
  /** What people approved for screenshots of the check in this location. */
  readonly baselines?: readonly AssignedBaseline[];
  /** Snapshots are made anew, for a client that stores them. */
  readonly updatesSnapshots?: boolean;
  /** Registers a value that was learned in the run and must not leave the agent. */
  addSecret(value: string): void;
  /**
   * Removes the secrets of the run from a text that leaves the agent before its result does, as
   * prompts of a language model do.
   */
  scrub(text: string): string;
  readonly artifacts: ArtifactSink;
  /** Absent for all that is not to be shared. */
  readonly part?: SuitePart;
  /** Throws SCRIPTING_UNAVAILABLE where this agent cannot run code. */
  scripting(): Scripting;
}

/** Fetches images that the screenshots of a run are compared with. */
export const imagesOf =
  ({ run, signal, scripting }: RunnerContext) =>
  (digest: string): Promise<Buffer | null> =>
    scripting().baselineImage(run.checkId, digest, signal);

/** Observes one attempt. Declared as a method, so that a list can hold runners of every request. */
export type Runner<Request extends JudgedRequest = JudgedRequest> = {
  observe(definition: CheckDefinition<Request>, context: RunnerContext): Promise<Observation>;
}['observe'];
