/** Runs the check in the form once, before it is saved, and shows what came of it. */
/** @import { CheckResult } from '@monitor/shared/contract/check-result-routes.ts' */
/** @import { Form } from '../form-facts.ts' */
/** @import { CheckSession } from '../views/check-actions.js' */
/** @import { Values } from './values.js' */
import { html, useEffect, useRef, useState } from '../dom.js';
import { call, send, toProblem } from '../api.js';
import { duration, inWords } from '../format.js';
import { useMe } from '../me.js';
import { State } from '../parts/icons.js';
import { Action, Select } from '../parts/layout.js';
import { wordsOf } from '../parts/notices.js';
import { link } from '../router.js';
import { exchangeOf, outcomeOf, outcomes, reasonOf } from '../state.js';
import { followSession } from '../views/check-actions.js';
import { ResultDetail } from '../views/result.js';
import { marksOf } from './code-marks.js';
import { useForm } from './context.js';
import { offersOf } from './offers.js';
import { usePlaces } from './places.js';
import { isValues } from './values.js';

/**
 * Values of the answer; each adds an assertion about itself.
 * @param {{ form: Form, result: CheckResult }} props
 */
function Offers({ form, result }) {
  const { values, change } = useForm();
  const request = isValues(values.request) ? values.request : {};
  const grammar = form.fields.request?.fields?.assertions?.item?.grammar;
  const response = /** @type {Values | null} */ (exchangeOf(result)?.response ?? null);
  const offers = offersOf(Object.keys(grammar ?? {}), response, result.responseTime);
  const given = Array.isArray(request.assertions) ? request.assertions : [];
  const add = (/** @type {Values} */ assertion) =>
    change({ request: { ...request, assertions: [...given, assertion] } });
  if (offers.length === 0) return null;
  return html`<details>
    <summary>Add assertions from this answer</summary>
    <ul class="offers">
      ${offers.map(
        ({ label, value, assertion }) =>
          html`<li key=${`${assertion.source} ${label}`}>
            <button type="button" class="plain-button" onClick=${() => add(assertion)}>
              ${/^[A-Z_]+$/.test(label) ? inWords(label) : label}
            </button>
            <code>${value.slice(0, 120)}</code>
          </li>`,
      )}
    </ul>
  </details>`;
}

/** @param {{ form: Form, trialId: string, result: CheckResult }} props */
function Outcome({ form, trialId, result }) {
  const { word, tone } = outcomes[outcomeOf(result)];
  const reason = reasonOf(result);
  return html`<p role="status">
      <${State} tone=${tone} word=${word} /> in ${result.runLocation},${' '}
      ${duration(result.responseTime)}
    </p>
    ${reason !== '' && html`<p class="breakable">${reason}</p>`}
    <${Offers} form=${form} result=${result} />
    <details>
      <summary>All that it saw</summary>
      <${ResultDetail} result=${result} />
    </details>
    <p>
      <a
        href=${link('checks', trialId, 'results', result.id)}
        target="_blank"
        rel="noopener"
        >The result in a new tab</a
      >
    </p>`;
}

/** @param {{ form: Form, type: string, id?: string }} props */
export function Trial({ form, type, id }) {
  const { values, refuse, mark } = useForm();
  const { mayWrite } = useMe();
  const { chosen, own } = usePlaces(values);
  const [picked, setPicked] = useState('');
  const [session, setSession] = useState(/** @type {CheckSession | null} */ (null));
  const [seen, setSeen] = useState(
    /** @type {{ trialId: string, result: CheckResult } | null} */ (null),
  );
  const [problem, setProblem] = useState('');
  const gone = useRef(new AbortController());
  const trialId = useRef('');
  const end = () => {
    if (trialId.current === '') return;
    void call(`v1/check-trials/${trialId.current}`, { method: 'DELETE' }).catch(() => {});
    trialId.current = '';
  };
  useEffect(
    () => () => {
      gone.current.abort();
      end();
    },
    [],
  );
  const options = chosen.length > 0 ? chosen : own;
  const location = options.some(([code]) => code === picked) ? picked : (options[0]?.[0] ?? '');

  const run = async () => {
    const { signal } = gone.current;
    end();
    setProblem('');
    setSeen(null);
    setSession(null);
    mark([]);
    try {
      const { data } = await send('v1/check-trials', {
        method: 'POST',
        query: { location, checkId: id },
        body: { checkType: type, ...form.always, ...values, name: values.name || 'Trial' },
        signal,
      });
      trialId.current = data.id;
      /** @type {CheckSession | null} */
      let last = null;
      await followSession(
        data.checkSessionId,
        (current) => {
          last = current;
          setSession(current);
        },
        signal,
      );
      const ended = /** @type {CheckSession | null} */ (last);
      const final = ended?.results.find(({ resultType }) => resultType === 'FINAL');
      if (signal.aborted) return;
      if (final === undefined) {
        setProblem('The run did not end in time.');
        return;
      }
      const answer = await call(`v1/check-results/${data.id}/${final.checkResultId}`, { signal });
      setSeen({ trialId: data.id, result: answer.data });
      mark(marksOf(answer.data));
    } catch (error) {
      if (signal.aborted) return;
      const found = toProblem(error);
      if (found.issues.length > 0) refuse(found);
      else setProblem(wordsOf(found));
    }
  };

  return html`<section class="card" aria-labelledby="trial">
    <h2 id="trial">Try it before saving</h2>
    ${
      options.length === 0
        ? html`<p class="muted">
            It needs a location with an agent. <a href=${link('new', 'location')}>Create one</a>.
          </p>`
        : html`<div class="filters">
            <${Select} label="In" value=${location} options=${options} onChange=${setPicked} />
            <${Action} word="Try it" busy="Running" run=${run} disabled=${!mayWrite} />
          </div>`
    }
    ${problem !== '' && html`<p class="notice failure" role="alert">${problem}</p>`}
    ${
      session !== null &&
      seen === null &&
      problem === '' &&
      html`<p role="status">
        <span class="spinner" aria-hidden="true"></span> Running in ${session.runLocations.join(', ')} …
      </p>`
    }
    ${seen !== null && html`<${Outcome} form=${form} trialId=${seen.trialId} result=${seen.result} />`}
  </section>`;
}
