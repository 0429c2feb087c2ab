/** What stands beside a form. */
import type { ComponentChildren } from 'preact';
import type { Values } from './values.ts';
import { checkTypes } from '../facts.ts';
import { forms } from '../form-facts.ts';
import { Escalation } from '../parts/escalation.tsx';
import { AlertReplay } from './alert-replay.tsx';
import { NextWindows } from './next-runs.tsx';
import { PagePreview } from './page-preview.tsx';
import { OnCallOf } from './on-call.tsx';
import { Trial } from './trial.tsx';

/** The preview column of a form; `type` is that of a check. */
export function besideForm(
  name: string,
  type: string,
  id?: string | undefined,
): ((values: Values) => ComponentChildren) | undefined {
  if (name === 'page') {
    return (values) => (
      <aside class="beside" aria-label="Beside the form">
        <PagePreview values={values} id={id} />
      </aside>
    );
  }
  if (name === 'window') {
    return (values) => (
      <aside class="beside" aria-label="Beside the form">
        <NextWindows values={values} />
      </aside>
    );
  }
  if (name === 'policy') {
    return ({ steps, repeats }) => (
      <aside class="beside" aria-label="Beside the form">
        <section class="card" aria-labelledby="escalation">
          <h2 id="escalation">Escalation</h2>
          <Escalation steps={Array.isArray(steps) ? steps : []} repeats={Number(repeats ?? 0)} />
        </section>
        {id !== undefined && <OnCallOf id={id} />}
      </aside>
    );
  }
  const form = forms[`check-${type}`];
  if (name !== 'check' || form === undefined) return undefined;
  const isRun = checkTypes[type]?.isPinged === false;
  return (values) => (
    <aside class="beside" aria-label="Beside the form">
      {isRun && <Trial key={type} form={form} type={type} id={id} />}
      {id !== undefined && <AlertReplay id={id} values={values} />}
    </aside>
  );
}
