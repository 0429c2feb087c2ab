/** An error answer, or no answer (`status` 0). */
export class Problem extends Error {
  readonly status: number;
  readonly retryAfterMs: number | null;
  /** The fields of the body that were refused. */
  readonly issues: { path: string; message: string }[];

  constructor(
    status: number,
    message: string,
    { retryAfterMs = null, issues = [] }: Partial<Pick<Problem, 'retryAfterMs' | 'issues'>> = {},
  ) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.issues = issues;
  }
}

/** What `call` has thrown; an error of the console itself has no status. */
export function toProblem(error: unknown) {
  return error instanceof Problem ? error : new Problem(-1, String(error));
}
