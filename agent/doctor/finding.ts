/**
 * What `doctor` found out. `skip` is what could not be tested, or what follows from a failure above it
 * and would only be noise; `unknown` is what a limit of time ended on a machine too busy for it.
 */
export type Verdict = 'ok' | 'warn' | 'fail' | 'skip' | 'unknown';

/** What a step says of one thing it looked at. */
export interface Finding {
  verdict: Verdict;
  /** What was seen; for `skip`, why it was not looked at. */
  evidence: string;
  /** What to do, when it is not ok. */
  fix: string | null;
  /** The step whose failure this follows from. */
  cause?: string;
  /** A limit of time ended it. */
  isLate?: true;
}

/** A finding with the step it comes from. A step can have several findings. */
export interface StepFinding extends Omit<Finding, 'cause' | 'isLate'> {
  /** Stable: tools may rely on it. */
  id: string;
  name: string;
  /** Of a failure: what was tried, and on what. */
  tried?: string;
  /** How long the whole step took. */
  durationMs: number;
}

/** What a step found, as it is reported: without what steers the other steps. */
export function toReport(
  findings: readonly Finding[],
  { id, name }: Pick<StepFinding, 'id' | 'name'>,
  tried: () => string,
  durationMs: number,
): StepFinding[] {
  return findings.map(({ cause: _root, isLate: _late, ...reported }) => ({
    ...{ id, name, ...reported },
    ...(reported.verdict === 'fail' && { tried: tried() }),
    durationMs,
  }));
}

/** The JSON of `doctor`. */
export interface Report {
  /** True when nothing failed, and nothing is unknown. */
  ok: boolean;
  /** ISO 8601. */
  startedAt: string;
  durationMs: number;
  findings: StepFinding[];
}

/** What steps say is a list: of one finding here, of several together, of none where there is nothing to say. */
export function ok(evidence: string): Finding[] {
  return [{ verdict: 'ok', evidence, fix: null }];
}

export function warn(evidence: string, fix: string): Finding[] {
  return [{ verdict: 'warn', evidence, fix }];
}

/** `code` is that of the error, where one is the reason. */
export function fail(evidence: string, fix: string, code = ''): Finding[] {
  return [{ verdict: 'fail', evidence, fix, ...(/TIMEOUT$/.test(code) && { isLate: true }) }];
}

/** Not looked at, and why. */
export function skip(reason: string): Finding[] {
  return [{ verdict: 'skip', evidence: `not tested: ${reason}`, fix: null }];
}

/** Not looked at, since it would fail for the reason of an earlier step. */
export function follows(cause: string): Finding[] {
  return skip(`follows from the failure of ${cause}`).map((finding) => ({ ...finding, cause }));
}
