/**
 * Scripts around a request: group setup, check setup, request, check teardown, group teardown. One
 * process for all of them; none where there is no script.
 */
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { ProxySession } from '../../net/gateway/gateway.ts';
import type {
  ScriptedRequest,
  ScriptedResponse,
} from '../../script-host/request-scripts/messages.ts';
import {
  maxTimeFactor,
  RequestScripts,
  type ScriptError,
  type ScriptPhase,
} from '../../script-host/request-scripts/request-scripts.ts';
import type { RunnerContext } from '../runner.ts';
import { substituteNote, type InstalledRuntime } from '../../runtimes/installed-runtime.ts';

const scriptTimeoutMs = 10_000;
const roomMs = 10_000;

export function hasScripts({ setupScripts, teardownScripts }: RunnerContext): boolean {
  return setupScripts.length + teardownScripts.length > 0;
}

function failureOfScript(phase: ScriptPhase, { code, message }: ScriptError): Failure {
  return { phase, code, message, isNetworkError: false };
}

/** Starts the process of the scripts. Throws when our side cannot. */
export function openScripts(
  context: RunnerContext,
  runtime: InstalledRuntime,
  environment: ReadonlyMap<string, string>,
  addSecret: (value: string) => void,
  proxySession: ProxySession | null,
  timeoutMs = scriptTimeoutMs,
): Promise<RequestScripts> {
  const { setupScripts: setup, teardownScripts: teardown, snippets, clock, signal } = context;
  const substitute = substituteNote(context.runtimeId, runtime);
  if (substitute !== null) context.log(substitute, 'WARN');
  return RequestScripts.open({
    ...{ setup, teardown, snippets, clock, signal, runtime, environment, addSecret, timeoutMs },
    host: context.scripting().host,
    proxyServer: proxySession?.server ?? null,
    onPlace: (allowedClient) => proxySession?.admit(allowedClient),
    lifetimeMs:
      (setup.length + teardown.length + 1) * maxTimeFactor * timeoutMs +
      2 * context.timeoutMs +
      roomMs,
    log: (message, level, phase) => context.log(message, level, phase),
  });
}

/** Runs setup scripts in order; the first that fails ends the run. */
export async function runSetup(
  scripts: RequestScripts,
  count: number,
  request: ScriptedRequest,
): Promise<{ request: ScriptedRequest } | { failure: Failure }> {
  let current = request;
  for (let index = 0; index < count; index += 1) {
    const end = await scripts.setup(index, current);
    if ('code' in end) return { failure: failureOfScript('setup', end) };
    current = end;
  }
  return { request: current };
}

/**
 * Runs teardown scripts in order on the body as the one before left it. One that fails fails the
 * check and the next still runs, unless its process is gone. Each failure is reported: the response is
 * there, so nothing else in the result would say why the check failed.
 */
export async function runTeardown(
  scripts: RequestScripts,
  count: number,
  request: ScriptedRequest,
  response: ScriptedResponse,
  onFailure: (message: string) => void,
): Promise<{ body: string; failure: Failure | null }> {
  let { body } = response;
  let failure: Failure | null = null;
  for (let index = 0; index < count; index += 1) {
    const end = await scripts.teardown(index, request, { ...response, body });
    if ('body' in end) {
      body = end.body;
      continue;
    }
    failure ??= failureOfScript('teardown', end);
    onFailure(end.message);
    if (end.code !== 'SCRIPT_FAILED') break;
  }
  return { body, failure };
}
