/** What other modules may use. */
export { readAccount } from './read-account.ts';
export { SourceApi, SourceApiError } from './source-api.ts';
