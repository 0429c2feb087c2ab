/** A script or suite run: errors, tests with their steps, pages, requests, log. */
import type { ScriptError, ScriptStep, ScriptTest } from '@monitor/shared/contract/check-result.ts';
import type { ScriptRun } from '../contract.ts';
import { bytes, count, duration, inNumbers, inWords } from '../format.ts';
import { Code } from '../parts/code.tsx';
import { State } from '../parts/icons.tsx';
import { Facts, Section } from '../parts/layout.tsx';
import { Log } from '../parts/log.tsx';
import { errorsOf, type Tone } from '../state.ts';
import { Pages } from './result-pages.tsx';
import { Requests } from './result-requests.tsx';

const statusTones: Record<ScriptTest['status'], Tone> = {
  passed: 'good',
  failed: 'bad',
  timedOut: 'bad',
  skipped: 'quiet',
  interrupted: 'bad',
};
/** Deeper steps are collapsed. */
const openDepth = 2;

function Errors({ errors }: { errors: ScriptError[] }) {
  return (
    <Section title={errors.length === 1 ? 'Error' : 'Errors'} id="errors">
      {errors.map((error, index) => (
        <div class="card" key={index}>
          {error.title && <h3>{error.title}</h3>}
          <Code label="Message" text={error.message} />
          {error.stack && (
            <details>
              <summary>Location in the code</summary>
              <Code label="Stack" text={error.stack} />
            </details>
          )}
        </div>
      ))}
    </Section>
  );
}

/** `shown` are messages that stand above. */
interface StepProps {
  depth: number;
  shown: ReadonlySet<string>;
}

function Step({ step, depth, shown }: StepProps & { step: ScriptStep }) {
  const line = (
    <>
      <span class={step.error === null ? '' : 'bad'}>{step.title}</span>
      <span class="muted">{duration(step.durationMs)}</span>
      {step.requests.length > 0 && (
        <span class="muted">{count(step.requests.length, 'request')}</span>
      )}
    </>
  );
  const isInnermost = step.steps.every((inner) => inner.error === null);
  const error = step.error !== null && isInnermost && !shown.has(step.error) && (
    <p class="bad mono">{step.error}</p>
  );
  if (step.steps.length === 0) {
    return (
      <li>
        <div class="step">{line}</div>
        {error}
      </li>
    );
  }
  return (
    <li>
      <details open={depth < openDepth || step.error !== null}>
        <summary class="step">{line}</summary>
        <Steps steps={step.steps} depth={depth + 1} shown={shown} />
      </details>
      {error}
    </li>
  );
}

function Steps({ steps, depth, shown }: StepProps & { steps: ScriptStep[] }) {
  return (
    <ol>
      {steps.map((step, index) => (
        <Step key={index} step={step} depth={depth} shown={shown} />
      ))}
    </ol>
  );
}

function Test({ test, shown }: { test: ScriptTest; shown: ReadonlySet<string> }) {
  const tone = test.outcome === 'flaky' ? 'warn' : statusTones[test.status];
  const word =
    test.outcome === 'flaky' ? 'Flaky' : inWords(test.status.replace('timedOut', 'timed out'));
  return (
    <div class="card steps">
      <div class="card-head">
        <State tone={tone} word={word} />
        <h3>{test.title}</h3>
        {test.quarantined === true && <span class="tag">in quarantine</span>}
        <span class="muted">
          {[
            duration(test.durationMs),
            test.project,
            test.file,
            test.retries > 0 && count(test.retries, 'retry', 'retries'),
          ]
            .filter(Boolean)
            .join(', ')}
        </span>
      </div>
      {test.steps.length > 0 && <Steps steps={test.steps} depth={0} shown={shown} />}
    </div>
  );
}

function suiteFacts({ metrics }: ScriptRun): [name: string, value: string][] {
  if (metrics === undefined) return [];
  return [
    ['Tests', String(metrics.total)],
    ['Passed', String(metrics.passed)],
    ['Failed', String(metrics.failed)],
    ['Flaky', String(metrics.flaky)],
    ['Skipped', String(metrics.skipped)],
    ['Install time', metrics.cacheHit ? 'cached' : duration(metrics.installMs)],
    ['Browser start', duration(metrics.browserStartMs)],
    ['Requests', inNumbers(metrics.requests)],
    ['Transferred', bytes(metrics.bytes)],
  ];
}

function traceFacts({ traceSummary }: ScriptRun): [name: string, value: string][] {
  if (traceSummary === undefined) return [];
  return [
    ['Console errors', String(traceSummary.consoleErrors)],
    ['Network errors', String(traceSummary.networkErrors)],
    ['Document errors', String(traceSummary.documentErrors)],
    ['Script errors', String(traceSummary.userScriptErrors)],
  ];
}

export function ScriptDetail({ seen }: { seen: ScriptRun }) {
  const errors = [...new Map(errorsOf(seen).map((one) => [one.message, one])).values()];
  return (
    <>
      {errors.length > 0 && <Errors errors={errors} />}
      <Section title="Run">
        <div class="card">
          <Facts
            entries={[
              ['Runtime', seen.runtimeVersion],
              ['Duration', duration(seen.endTime - seen.startTime)],
              ...suiteFacts(seen),
              ...traceFacts(seen),
            ]}
          />
        </div>
      </Section>
      {seen.pages !== undefined && seen.pages.length > 0 && <Pages pages={seen.pages} />}
      {seen.tests.length > 0 && (
        <Section title="Tests and steps">
          {seen.tests.map((test, index) => (
            <Test
              key={index}
              test={test as ScriptTest}
              shown={new Set(errors.map((one) => one.message))}
            />
          ))}
        </Section>
      )}
      {seen.requests !== undefined && seen.requests.length > 0 && (
        <Requests requests={seen.requests} />
      )}
      {seen.jobLog.length > 0 && (
        <Section title="Log">
          <Log label="Log of the script" lines={seen.jobLog} />
        </Section>
      )}
    </>
  );
}
