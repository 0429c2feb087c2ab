/** Runs the check in the form once, before it is saved, and shows what came of it. */
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import type { DataAt } from '../contract.ts';
import type { Form } from '../form-facts.ts';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, send } from '../api.ts';
import { toProblem } from '../problem.ts';
import { duration, inWords } from '../format.ts';
import { useMe } from '../me.ts';
import { State } from '../parts/icons.tsx';
import { Action, Select } from '../parts/layout.tsx';
import { wordsOf, Refusal } from '../parts/notices.tsx';
import { link } from '../router.ts';
import { exchangeOf, outcomeOf, outcomes, reasonOf } from '../state.ts';
import { followSession, type CheckSession } from '../views/check-actions.tsx';
import { ResultDetail } from '../views/result.tsx';
import { marksOf } from './code-marks.ts';
import { useForm } from './context.ts';
import { offersOf } from './offers.ts';
import { usePlaces } from './places.ts';
import { isValues, type Values } from './values.ts';

/** Values of the answer; each adds an assertion about itself. */
function Offers({ form, result }: { form: Form; result: CheckResult }) {
  const { values, change } = useForm();
  const request = isValues(values.request) ? values.request : {};
  const grammar = form.fields.request?.fields?.assertions?.item?.grammar;
  const response = (exchangeOf(result)?.response ?? null) as Values | null;
  const offers = offersOf(Object.keys(grammar ?? {}), response, result.responseTime);
  const given = Array.isArray(request.assertions) ? request.assertions : [];
  const add = (assertion: Values) =>
    change({ request: { ...request, assertions: [...given, assertion] } });
  if (offers.length === 0) return null;
  return (
    <details>
      <summary>Add assertions from this answer</summary>
      <ul class="offers">
        {offers.map(({ label, value, assertion }) => (
          <li key={`${assertion.source} ${label}`}>
            <button type="button" class="plain-button" onClick={() => add(assertion)}>
              {/^[A-Z_]+$/.test(label) ? inWords(label) : label}
            </button>
            <code>{value.slice(0, 120)}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Outcome({ form, trialId, result }: { form: Form; trialId: string; result: CheckResult }) {
  const { word, tone } = outcomes[outcomeOf(result)];
  const reason = reasonOf(result);
  return (
    <>
      <p role="status">
        <State tone={tone} word={word} /> in {result.runLocation}, {duration(result.responseTime)}
      </p>
      {reason !== '' && <p class="breakable">{reason}</p>}
      <Offers form={form} result={result} />
      <details>
        <summary>All that it saw</summary>
        <ResultDetail result={result} />
      </details>
      <p>
        <a href={link('checks', trialId, 'results', result.id)} target="_blank" rel="noopener">
          Open the result in a new tab
        </a>
      </p>
    </>
  );
}

export function Trial({ form, type, id }: { form: Form; type: string; id?: string | undefined }) {
  const { values, refuse, mark } = useForm();
  const { mayWrite } = useMe();
  const { chosen, own } = usePlaces(values);
  const [picked, setPicked] = useState('');
  const [session, setSession] = useState<CheckSession | null>(null);
  const [seen, setSeen] = useState<{ trialId: string; result: CheckResult } | null>(null);
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
      const { data } = await send<DataAt<'v1/check-trials', 'POST'>>('v1/check-trials', {
        method: 'POST',
        query: { location, checkId: id },
        body: { checkType: type, ...form.always, ...values, name: values.name || 'Trial' },
        signal,
      });
      trialId.current = data.id;
      let last: CheckSession | null = null;
      await followSession(
        data.checkSessionId,
        (current) => {
          last = current;
          setSession(current);
        },
        signal,
      );
      const ended = last as CheckSession | null;
      const final = ended?.results.find(({ resultType }) => resultType === 'FINAL');
      if (signal.aborted) return;
      if (final === undefined) {
        setProblem('The run timed out.');
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

  return (
    <section class="card" aria-labelledby="trial">
      <h2 id="trial">Try it before saving</h2>
      {options.length === 0 ? (
        <p class="muted">
          It needs a location with an agent. <a href={link('new', 'location')}>Create one</a>.
        </p>
      ) : (
        <div class="filters">
          <Select label="In" value={location} options={options} onChange={setPicked} />
          <Action word="Try it" busy="Running" run={run} disabled={!mayWrite} />
        </div>
      )}
      <Refusal text={problem} />
      {session !== null && seen === null && problem === '' && (
        <p role="status">
          <span class="spinner" aria-hidden="true" /> Running in {session.runLocations.join(', ')} …
        </p>
      )}
      {seen !== null && <Outcome form={form} trialId={seen.trialId} result={seen.result} />}
    </section>
  );
}
