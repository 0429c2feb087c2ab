/** One thing `doctor` looked at. */
export interface Finding {
  name: string;
  verdict: 'ok' | 'warn' | 'fail';
  /** What was seen. */
  evidence: string;
  /** What to do, when it is not ok. */
  fix: string | null;
}

export function ok(name: string, evidence: string): Finding {
  return { name, verdict: 'ok', evidence, fix: null };
}

export function warn(name: string, evidence: string, fix: string): Finding {
  return { name, verdict: 'warn', evidence, fix };
}

export function fail(name: string, evidence: string, fix: string): Finding {
  return { name, verdict: 'fail', evidence, fix };
}
