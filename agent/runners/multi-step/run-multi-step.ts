/** Multi-step check: a script of requests, without a browser. Spec: Multi-step check. */
import type { CheckDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { eventsOf } from '../scripts/run-events.ts';
import { runScript } from '../scripts/run-script.ts';
import type { Observation, RunnerContext } from '../runner.ts';

/** Runs the script with the test runner of the runtime; requests hang on the steps that made them. */
export async function runMultiStep(
  definition: CheckDefinition,
  context: RunnerContext,
): Promise<Observation> {
  return runScript(definition, context, false, ({ events, common }) => ({
    multiStepCheckResult: {
      ...common,
      requests: eventsOf(events, 'request').map(
        ({ type: _type, number: _number, worker: _worker, ...request }) => request,
      ),
    },
  }));
}
