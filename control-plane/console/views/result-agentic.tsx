/** Actions and findings of an agentic check. */
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import { Code } from '../parts/code.tsx';
import { State } from '../parts/icons.tsx';
import { Section, Table } from '../parts/layout.tsx';
import { Time } from '../parts/time.tsx';

export function AgenticDetail({ seen }: { seen: NonNullable<CheckResult['agenticCheckResult']> }) {
  return (
    <>
      <Section title="What it found">
        <div class="card">
          <p>{seen.summary}</p>
        </div>
      </Section>
      {seen.assertions.length > 0 && (
        <Section title="Conditions">
          <Table label="Conditions" columns={['Outcome', 'Condition', 'Expected', 'Actual']}>
            {seen.assertions.map((one, index) => (
              <tr key={index}>
                <td>
                  <State
                    tone={one.passed ? 'good' : 'bad'}
                    word={one.passed ? 'Passed' : 'Failed'}
                  />
                </td>
                <td>{one.condition}</td>
                <td>{one.expected}</td>
                <td>{one.actual}</td>
              </tr>
            ))}
          </Table>
        </Section>
      )}
      {seen.steps.length > 0 && (
        <Section title="Steps">
          {seen.steps.map((step) => (
            <details class="card" key={step.sequenceNumber}>
              <summary class="step">
                <span class="muted">
                  <Time at={step.timestamp} />
                </span>
                <strong>{step.name}</strong> <span class="muted">{step.type}</span>
              </summary>
              <Code label="Given" text={JSON.stringify(step.input ?? null)} />
              <Code label="Taken" text={JSON.stringify(step.output ?? null)} />
            </details>
          ))}
        </Section>
      )}
      <Section title="Prompt">
        <Code label="Prompt" text={seen.prompt} />
      </Section>
    </>
  );
}
