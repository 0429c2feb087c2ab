import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';

/** Ends a run because of the suite: its bundle, its installation or its tests. Never an agent error. */
export class SuiteFailure extends Error {
  readonly failure: Failure;

  constructor(phase: string, code: string, message: string) {
    super(message);
    this.name = 'SuiteFailure';
    this.failure = { phase, code, message, isNetworkError: false };
  }
}
