/** What the demo shows while it runs: a line for each result, and links to files. The console has the table. */
import { setTimeout as pause } from 'node:timers/promises';
import colors from 'picocolors';
import { errorLine } from '@monitor/shared/error-line.ts';
import type { System } from '../../proof/system.ts';
import type { Check } from './kept.ts';

interface ScriptResult {
  errors: { message: string }[];
  pages?: { webVitals: Record<string, { value: number } | undefined> }[];
}

interface Result {
  id: string;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  responseTime: number;
  runLocation: string;
  startedAt: string;
  checkRunId: number;
  apiCheckResult: {
    requestError: string | null;
    assertions: { error?: string }[];
    response: { status?: number } | null;
  } | null;
  browserCheckResult: ScriptResult | null;
  multiStepCheckResult: ScriptResult | null;
}

function outcomeOf({ hasErrors, hasFailures, isDegraded }: Result): string {
  if (hasErrors) return colors.magenta('ERROR   ');
  if (hasFailures) return colors.red('FAILING ');
  return isDegraded ? colors.yellow('DEGRADED') : colors.green('PASSING ');
}

/** Why it did not pass; nothing where it did. */
function reasonOf(result: Result): string {
  const { apiCheckResult: seen, hasErrors, hasFailures, isDegraded } = result;
  const script = result.browserCheckResult ?? result.multiStepCheckResult;
  if (script !== null) {
    const messages = script.errors.map(({ message }) => message);
    // An error of the agent says in its last line what to do.
    return hasErrors ? (messages[0] ?? '') : errorLine(messages);
  }
  if (isDegraded) return 'slower than its degraded limit';
  if (seen === null || !(hasErrors || hasFailures)) return '';
  const assertion = seen.assertions.find(({ error }) => error !== undefined)?.error;
  const status = seen.response?.status;
  return seen.requestError ?? assertion ?? (status === undefined ? '' : `status ${status}`);
}

/** Shows every FINAL result of a run since an instant, until the signal aborts. */
export async function showResults(
  system: System,
  checks: readonly Check[],
  since: number,
  signal: AbortSignal,
): Promise<void> {
  const shown = new Map<string, number>();
  const read = <T>(path: string) => system.api<T[]>('GET', path).catch((): T[] => []);
  for (; !signal.aborted; await pause(500)) {
    for (const { checkId, lastCheckRunId } of await read<{
      checkId: string;
      lastCheckRunId: string | null;
    }>('/v1/check-statuses')) {
      const check = checks.find(({ id }) => id === checkId);
      const last = shown.get(checkId) ?? -1;
      if (check === undefined || Number(lastCheckRunId ?? last) === last) continue;
      const results = await read<Result>(`/v1/check-results/${checkId}?limit=20`);
      for (const result of results.reverse()) {
        const at = new Date(result.startedAt);
        if (result.checkRunId <= last || at.getTime() < since) continue;
        shown.set(checkId, Math.max(shown.get(checkId) ?? -1, result.checkRunId));
        const reason = reasonOf(result).replaceAll('\n', '\n         ');
        console.log(
          `${at.toTimeString().slice(0, 8)} ${outcomeOf(result)} ${check.name} (${check.checkType}, ${result.runLocation}) ${result.responseTime} ms${reason === '' ? '' : `: ${reason}`}`,
        );
      }
    }
  }
}

interface Asset {
  type: string;
  url: string | null;
  viewerUrl: string | null;
}

/**
 * Prints links to files of these types of the first result that has them, and its web vitals, which a busy machine
 * may not measure at the first run.
 */
export async function showFiles(
  system: System,
  check: Check | undefined,
  types: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (check === undefined) return;
  const path = `/v1/check-results/${check.id}`;
  for (; !signal.aborted; await pause(1_000)) {
    const [result] = await system.api<Result[]>('GET', `${path}?limit=1`).catch(() => []);
    if (result === undefined) continue;
    const { assets } = await system
      .api<{ assets: Asset[] }>('GET', `${path}/${result.id}/assets`)
      .catch(() => ({ assets: [] }));
    const links = types.flatMap((type) => {
      const asset = assets.find((known) => known.type === type && known.url !== null);
      return asset === undefined ? [] : [`  ${type.padEnd(11)}${asset.viewerUrl ?? asset.url}`];
    });
    const vitals = Object.entries(result.browserCheckResult?.pages?.[0]?.webVitals ?? {})
      .flatMap(([name, vital]) => (vital ? [`${name} ${Math.round(vital.value * 100) / 100}`] : []))
      .join(', ');
    if (links.length < types.length || vitals === '') continue;
    console.log([`${colors.bold(check.name)}: ${vitals}`, ...links].join('\n'));
    return;
  }
}

/** Gives a function that says what the demo does next, with the seconds since it began. */
export function openProgress(): (what: string) => void {
  const begun = performance.now();
  return (what) => {
    const seconds = `${Math.round((performance.now() - begun) / 1000)} s`;
    console.log(`${seconds.padStart(4)}  ${what}`);
  };
}
