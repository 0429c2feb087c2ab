/** Why something fails: a sentence with a place, what speaks for it, and what would tell more. */
import type { DataAt } from '../contract.ts';
import type { Tone } from '../state.ts';
import { useState } from 'preact/hooks';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { State } from './icons.tsx';
import { Facts, Section } from './layout.tsx';

type Cause = DataAt<`v1/alert-overview/${string}`>['rootCauses'][number];

/** A cause on our side is an error of the monitor, and none of a target. */
function toneOf({ side, confidence }: Cause): Tone {
  if (confidence === 'unclear') return 'quiet';
  return side === 'target' || side === 'network' ? 'bad' : side === 'check' ? 'warn' : 'error';
}

const words = { certain: 'Certain', likely: 'Likely', unclear: 'Not enough to tell' };

const list = (all: readonly string[]) =>
  all.length > 0 && (
    <ul>
      {all.map((one) => (
        <li key={one}>{one}</li>
      ))}
    </ul>
  );

function RootCause({ cause }: { cause: Cause }) {
  const { confidence, evidence, rulesOut, wouldTell, checks, moreChecks } = cause;
  return (
    <div class="card root-cause">
      <p>
        <State tone={toneOf(cause)} word={words[confidence]} />{' '}
        <strong class="breakable">{cause.rootCause}</strong>
      </p>
      <Facts
        wide
        entries={[
          ['Evidence', list(evidence.map(({ description }) => description))],
          ['Rules out', list(rulesOut)],
          ['Would tell more', list(wouldTell)],
          [
            'Explains',
            (checks.length > 1 || moreChecks > 0) && (
              <>
                {checks.map(({ id, name, resultId }, index) => (
                  <span key={id}>
                    {index > 0 && ', '}
                    <a href={link('checks', id, 'results', resultId)}>{name}</a>
                  </span>
                ))}
                {moreChecks > 0 && ` and ${moreChecks} more`}
              </>
            ),
          ],
        ]}
      />
    </div>
  );
}

const maxShown = 2;

/** Nothing where none was found. */
export function RootCauses({ causes }: { causes: readonly Cause[] }) {
  const [areAll, showAll] = useState(false);
  if (causes.length === 0) return null;
  return (
    <Section title="Root cause">
      {causes.slice(0, areAll ? undefined : maxShown).map((cause) => (
        <RootCause key={cause.rootCause} cause={cause} />
      ))}
      {!areAll && causes.length > maxShown && (
        <button type="button" onClick={() => showAll(true)}>
          Show all {causes.length} causes
        </button>
      )}
    </Section>
  );
}

/** Of a result that failed. */
export function RootCausesOfResult({ checkId, resultId }: { checkId: string; resultId: string }) {
  const { data } = useQuery(
    `v1/root-cause-analyses/results/${encodeURIComponent(checkId)}/${encodeURIComponent(resultId)}`,
  );
  return <RootCauses causes={data ?? []} />;
}
