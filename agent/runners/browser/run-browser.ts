/** Browser check: a script that drives a browser. Spec: Browser check. */
import type { CheckDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { runScript } from '../scripts/run-script.ts';
import { traceSummary, visitedPages } from '../scripts/visited-pages.ts';
import type { Observation, RunnerContext } from '../runner.ts';

/** Runs the script with the test runner of the runtime, or with Node when it is a plain script. */
export async function runBrowser(
  definition: CheckDefinition,
  context: RunnerContext,
): Promise<Observation> {
  return runScript(definition, context, true, ({ events, artifacts, common, isTest }) => ({
    browserCheckResult: {
      type: isTest ? 'PLAYWRIGHT_TEST' : 'SCRIPT',
      ...common,
      traceSummary: traceSummary(events),
      pages: visitedPages(events, artifacts),
      playwrightTestVideos: artifacts.videos,
    },
  }));
}
