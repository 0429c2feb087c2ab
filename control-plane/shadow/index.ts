/** What other modules may use. */
export { compareChecks } from './compare-checks.ts';
export { shadowHandlers } from './handlers.ts';
export { gapIn } from './decide/gap.ts';
export { reportVerdicts } from './report-verdicts.ts';
export { readAccount } from './read-account.ts';
export { SourceApi, SourceApiError } from './source-api.ts';
