/**
 * Agentic check: a prompt that a language model carries out in a browser. The first run explores
 * and learns a script; later runs repeat it without a model; a step that breaks may be repaired.
 * `responseTime` is the time the browser worked, so that the thinking of a model does not count.
 */
import { z } from 'zod';
import type { CheckDefinition, Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { AgentError } from '../../errors.ts';
import type { Observation, RunnerContext } from '../runner.ts';
import { failureOfScript } from '../scripts/run-failure.ts';
import { BrowserActions } from './browser-actions.ts';
import { BrowserSession } from './browser-session.ts';
import { explore, type RunEnd } from './explore.ts';
import { promptHash, readScript, writeScript, type ScriptStep } from './learned-script.ts';
import { ModelClient } from './model-client.ts';
import { CeilingReached, ceilingReached, limitError, RunEnded } from './outcomes.ts';
import { PromptVariables } from './prompt-variables.ts';
import { repair } from './repair.ts';
import { replay } from './replay.ts';
import type { RunState } from './run-state.ts';
import { Transcript } from './transcript.ts';
import { TrustedHosts } from './trusted-hosts.ts';

const definitionShape = z.object({
  prompt: z.string(),
  agentRuntime: z.object({ skills: z.array(z.string()).default([]) }).nullish(),
});

type Mode = 'explored' | 'replayed' | 'repaired';
const maxLearnedChars = 524_288;

const noModel = () =>
  new AgentError(
    'MODEL_UNAVAILABLE',
    'an agentic check that has not run yet needs a language model: set LLM_MODEL, and LLM_PROVIDER, LLM_BASE_URL and LLM_API_KEY as it requires',
  );

/** Aborted when the time is over or the run is cancelled; the reason says which. */
function deadlineOf(context: RunnerContext): { signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const cancel = (): void => {
    controller.abort(new RunEnded(failureOfScript('CANCELLED', 'the run was cancelled')));
  };
  if (context.signal.aborted) cancel();
  context.signal.addEventListener('abort', cancel, { once: true });
  const stop = context.clock.after(context.timeoutMs, () => {
    controller.abort(ceilingReached('time', `${context.timeoutMs / 1_000} s`));
  });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      stop();
      context.signal.removeEventListener('abort', cancel);
    },
  };
}

async function decide(
  state: RunState,
  script: readonly ScriptStep[] | null,
): Promise<{ mode: Mode; end: RunEnd }> {
  if (script === null) {
    if (state.client === null) throw noModel();
    try {
      return { mode: 'explored', end: await explore(state, state.client) };
    } catch (error) {
      throw error instanceof CeilingReached ? limitError(error) : error;
    }
  }
  try {
    const replayed = await replay(state, script);
    if ('end' in replayed) return { mode: 'replayed', end: replayed.end };
    const end = await repair(state, state.client, script, replayed.broken);
    return { mode: end.learned === null ? 'replayed' : 'repaired', end };
  } catch (error) {
    if (!(error instanceof CeilingReached)) throw error;
    const message = `the learned steps took too long: the run ${error.message}`;
    return { mode: 'replayed', end: ended(failureOfScript('TIMEOUT', message)) };
  }
}

const ended = (failure: Failure): RunEnd => ({ failure, summary: failure.message, learned: null });

/** Pictures of a failure. What cannot be had any more is left out. */
async function keepEvidence(actions: BrowserActions, failure: Failure | null): Promise<void> {
  if (failure === null) return;
  try {
    await actions.screenshot('failure');
  } catch (error) {
    const isGone = error instanceof RunEnded || error instanceof CeilingReached;
    if (!isGone && !(error instanceof AgentError)) throw error;
  }
}

export async function runAgentic(
  definition: CheckDefinition,
  context: RunnerContext,
): Promise<Observation> {
  const { prompt, agentRuntime } = definitionShape.parse(definition);
  const skills = agentRuntime?.skills ?? [];
  const { clock } = context;
  const startedAt = clock.now();
  const start = clock.monotonic();
  const hash = promptHash(prompt, skills);
  const script = readScript(context.learnedScript, hash);
  const settings = context.scripting().model;
  if (script === null && settings === null) throw noModel();

  const variables = new PromptVariables(prompt, context.environment);
  const transcript = new Transcript(clock, context.log);
  const suggestions: RunState['suggestions'] = [];
  const assertions: RunState['assertions'] = new Map();

  function observation(end: RunEnd, mode: Mode | null, busyMs: number, actions?: BrowserActions) {
    const { failure, summary, learned } = end;
    const written = learned === null ? null : writeScript(hash, learned);
    return {
      startedAt,
      stoppedAt: startedAt + Math.ceil(clock.monotonic() - start),
      responseTime: busyMs,
      failure,
      request: { prompt, skills },
      response: mode === null ? null : { mode, url: actions?.url ?? null },
      details: {
        agenticCheckResult: {
          summary,
          prompt,
          assertions: [...assertions.values()],
          suggestions,
          steps: [...transcript.steps],
          errors: failure === null ? [] : [{ error: { message: failure.message } }],
          artifactManifest: actions?.manifest ?? {},
        },
      },
      ...(failure === null ? {} : { errorMessages: [failure.message] }),
      ...(written === null || written.script.length > maxLearnedChars
        ? {}
        : { learnedScript: written }),
    };
  }

  const missing = variables.missingNames;
  if (missing.length > 0) {
    const names = missing.map((name) => `{{${name}}}`).join(', ');
    const summary = `the prompt uses ${names}, but there is no variable of this name: add it to the check, its group or the account`;
    suggestions.push({ summary, prompt, secrets: missing, category: 'credentials' });
    return observation(ended(failureOfScript('VARIABLE_MISSING', summary)), null, 0);
  }

  using deadline = deadlineOf(context);
  const opened = await openSession(context, deadline.signal);
  if ('failure' in opened) return observation(ended(opened.failure), null, 0);
  await using session = opened;
  const hosts = new TrustedHosts([variables.prompt, ...variables.mentionedValues]);
  const actions = new BrowserActions({
    session,
    variables,
    hosts,
    transcript,
    artifacts: context.artifacts,
  });
  const client =
    settings &&
    new ModelClient({
      settings,
      clock,
      signal: deadline.signal,
      scrub: context.scrub,
      log: (message) => context.log(message, 'WARN'),
    });
  const state: RunState = {
    actions,
    variables,
    transcript,
    clock,
    log: context.log,
    skills,
    client,
    maxTokens: settings?.maxTokens ?? 0,
    maxSteps: settings?.maxSteps ?? 0,
    assertions,
    suggestions,
  };
  let decided: { mode: Mode; end: RunEnd };
  try {
    decided = await decide(state, script);
  } catch (error) {
    if (!(error instanceof RunEnded)) throw error;
    decided = { mode: script === null ? 'explored' : 'replayed', end: ended(error.failure) };
  }
  const { mode, end } = decided;
  if (end.failure !== null && session.agentError !== null) throw session.agentError;
  for (const host of actions.refusedHosts) {
    suggestions.push({
      summary: `A secret was not typed on ${host}, because the prompt does not name this host.`,
      prompt: `${prompt}\nSecrets may be typed on ${host}.`,
      secrets: variables.secretNames,
      category: 'credentials',
    });
  }
  await keepEvidence(actions, end.failure);
  await actions.close(end.failure !== null);
  return observation(end, mode, session.busyMs, actions);
}

/** A ceiling of time that is over before the browser is open says nothing about the target. */
async function openSession(
  context: RunnerContext,
  deadline: AbortSignal,
): Promise<BrowserSession | RunEnded> {
  try {
    return await BrowserSession.open(context, deadline);
  } catch (error) {
    if (error instanceof RunEnded) return error;
    throw error instanceof CeilingReached ? limitError(error) : error;
  }
}
