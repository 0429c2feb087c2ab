/** Actions and findings of an agentic check. */
/** @import { CheckResult } from '@monitor/shared/contract/check-result-routes.ts' */
import { html } from '../dom.js';
import { Code } from '../parts/code.js';
import { State } from '../parts/icons.js';
import { Section, Table } from '../parts/layout.js';
import { Time } from '../parts/time.js';

/** @param {{ seen: NonNullable<CheckResult['agenticCheckResult']> }} props */
export function AgenticDetail({ seen }) {
  return html`<${Section} title="What it found">
      <div class="card"><p>${seen.summary}</p></div>
    <//>
    ${
      seen.assertions.length > 0 &&
      html`<${Section} title="Conditions">
        <${Table} label="Conditions" columns=${['Outcome', 'Condition', 'Expected', 'Was']}>
          ${seen.assertions.map(
            (one, index) =>
              html`<tr key=${index}>
                <td>
                  <${State}
                    tone=${one.passed ? 'good' : 'bad'}
                    word=${one.passed ? 'Held' : 'Did not hold'}
                  />
                </td>
                <td>${one.condition}</td>
                <td>${one.expected}</td>
                <td>${one.actual}</td>
              </tr>`,
          )}
        <//>
      <//>`
    }
    ${
      seen.steps.length > 0 &&
      html`<${Section} title="Steps">
        ${seen.steps.map(
          (step) =>
            html`<details class="card" key=${step.sequenceNumber}>
              <summary class="step">
                <span class="muted"><${Time} at=${step.timestamp} /></span>
                <strong>${step.name}</strong> <span class="muted">${step.type}</span>
              </summary>
              <${Code} label="Given" text=${JSON.stringify(step.input ?? null)} />
              <${Code} label="Taken" text=${JSON.stringify(step.output ?? null)} />
            </details>`,
        )}
      <//>`
    }
    <${Section} title="Prompt"><${Code} label="Prompt" text=${seen.prompt} /><//>`;
}
