/** A script or suite run: errors, tests with their steps, pages, requests, log. */
/** @import { ScriptError, ScriptStep, ScriptTest } from '@monitor/shared/contract/check-result.ts' */
/** @import { ScriptRun } from '../contract.ts' */
/** @import { Tone } from '../state.js' */
import { html } from '../dom.js';
import { count, duration, inWords } from '../format.js';
import { Code } from '../parts/code.js';
import { State } from '../parts/icons.js';
import { Facts, Section } from '../parts/layout.js';
import { Log } from '../parts/log.js';
import { errorsOf } from '../state.js';
import { Pages } from './result-pages.js';
import { Requests } from './result-requests.js';

/** @type {Record<ScriptTest['status'], Tone>} */
const statusTones = {
  passed: 'good',
  failed: 'bad',
  timedOut: 'bad',
  skipped: 'quiet',
  interrupted: 'bad',
};
/** Deeper steps are collapsed. */
const openDepth = 2;

/** @param {{ errors: ScriptError[] }} props */
function Errors({ errors }) {
  return html`<${Section} title=${errors.length === 1 ? 'Error' : 'Errors'} id="errors">
    ${errors.map(
      (error, index) =>
        html`<div class="card" key=${index}>
          ${error.title && html`<h3>${error.title}</h3>`}
          <${Code} label="Message" text=${error.message} />
          ${
            error.stack &&
            html`<details>
              <summary>Where it was thrown</summary>
              <${Code} label="Stack" text=${error.stack} />
            </details>`
          }
        </div>`,
    )}
  <//>`;
}

/** @param {{ step: ScriptStep, depth: number }} props */
function Step({ step, depth }) {
  const line = html`<span class=${step.error === null ? '' : 'bad'}>${step.title}</span>
    <span class="muted">${duration(step.durationMs)}</span>
    ${
      step.requests.length > 0 &&
      html`<span class="muted">${count(step.requests.length, 'request')}</span>`
    }`;
  const error =
    step.error !== null &&
    step.steps.every((inner) => inner.error === null) &&
    html`<p class="bad mono">${step.error}</p>`;
  if (step.steps.length === 0) {
    return html`<li>
      <div class="step">${line}</div>
      ${error}
    </li>`;
  }
  return html`<li>
    <details open=${depth < openDepth || step.error !== null}>
      <summary class="step">${line}</summary>
      <${Steps} steps=${step.steps} depth=${depth + 1} />
    </details>
    ${error}
  </li>`;
}

/** @param {{ steps: ScriptStep[], depth?: number }} props */
function Steps({ steps, depth = 0 }) {
  return html`<ol>
    ${steps.map((step, index) => html`<${Step} key=${index} step=${step} depth=${depth} />`)}
  </ol>`;
}

/** @param {{ test: ScriptTest }} props */
function Test({ test }) {
  const tone = test.outcome === 'flaky' ? 'warn' : statusTones[test.status];
  const word =
    test.outcome === 'flaky' ? 'Flaky' : inWords(test.status.replace('timedOut', 'timed out'));
  return html`<div class="card steps">
    <div class="card-head">
      <${State} tone=${tone} word=${word} />
      <h3>${test.title}</h3>
      <span class="muted">
        ${[
          duration(test.durationMs),
          test.project,
          test.file,
          test.retries > 0 && count(test.retries, 'retry', 'retries'),
        ]
          .filter(Boolean)
          .join(', ')}
      </span>
    </div>
    ${test.steps.length > 0 && html`<${Steps} steps=${test.steps} />`}
  </div>`;
}

/**
 * @param {ScriptRun} seen
 * @returns {[name: string, value: string][]}
 */
function suiteFacts({ metrics }) {
  if (metrics === undefined) return [];
  return [
    ['Tests', String(metrics.total)],
    ['Passed', String(metrics.passed)],
    ['Failed', String(metrics.failed)],
    ['Flaky', String(metrics.flaky)],
    ['Skipped', String(metrics.skipped)],
    ['Installing took', metrics.cacheHit ? 'nothing, it was kept' : duration(metrics.installMs)],
  ];
}

/**
 * @param {ScriptRun} seen
 * @returns {[name: string, value: string][]}
 */
function traceFacts({ traceSummary }) {
  if (traceSummary === undefined) return [];
  return [
    ['Console errors', String(traceSummary.consoleErrors)],
    ['Network errors', String(traceSummary.networkErrors)],
    ['Document errors', String(traceSummary.documentErrors)],
    ['Script errors', String(traceSummary.userScriptErrors)],
  ];
}

/** @param {{ seen: ScriptRun }} props */
export function ScriptDetail({ seen }) {
  const errors = [...new Map(errorsOf(seen).map((one) => [one.message, one])).values()];
  return html`${errors.length > 0 && html`<${Errors} errors=${errors} />`}
    <${Section} title="Run">
      <div class="card">
        <${Facts}
          entries=${[
            ['Runtime', seen.runtimeVersion],
            ['Took', duration(seen.endTime - seen.startTime)],
            ...suiteFacts(seen),
            ...traceFacts(seen),
          ]}
        />
      </div>
    <//>
    ${(seen.pages?.length ?? 0) > 0 && html`<${Pages} pages=${seen.pages} />`}
    ${
      seen.tests.length > 0 &&
      html`<${Section} title="Tests and steps">
        ${seen.tests.map((test, index) => html`<${Test} key=${index} test=${test} />`)}
      <//>`
    }
    ${(seen.requests?.length ?? 0) > 0 && html`<${Requests} requests=${seen.requests} />`}
    ${
      seen.jobLog.length > 0 &&
      html`<${Section} title="Log"><${Log} label="Log of the script" lines=${seen.jobLog} /><//>`
    }`;
}
