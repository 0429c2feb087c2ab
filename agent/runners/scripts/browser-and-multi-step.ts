/**
 * Browser and multi-step checks: a script that drives a browser, and one of requests alone.
 * Spec: Browser check, Multi-step check.
 */
import type { Runner } from '../runner.ts';
import { eventsOf } from './run-events.ts';
import { runScript } from './run-script.ts';
import { traceSummary, visitedPages } from './visited-pages.ts';

/** Runs the script with the test runner of the runtime, or with Node when it is a plain script. */
export const runBrowser: Runner = (definition, context) =>
  runScript(
    definition,
    context,
    true,
    ({ events, artifacts, common, comparisons, updated, isTest }) => ({
      browserCheckResult: {
        type: isTest ? 'PLAYWRIGHT_TEST' : 'SCRIPT',
        ...common,
        traceSummary: traceSummary(events),
        pages: visitedPages(events, artifacts),
        playwrightTestVideos: artifacts.videos,
        ...(comparisons.length > 0 && { screenshotComparisons: [...comparisons] }),
        ...(updated.length > 0 && { updatedSnapshots: [...updated] }),
      },
    }),
  );

/** Runs the script with the test runner of the runtime; requests hang on the steps that made them. */
export const runMultiStep: Runner = (definition, context) =>
  runScript(definition, context, false, ({ events, common }) => ({
    multiStepCheckResult: {
      ...common,
      requests: eventsOf(events, 'request').map(
        ({ type: _type, number: _number, worker: _worker, ...request }) => request,
      ),
    },
  }));
