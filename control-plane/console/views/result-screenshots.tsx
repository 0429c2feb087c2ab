/** Screenshots that a run had no baseline of, or that differed from it: what they show, and their approval. */
import type { ScreenshotComparison } from '@monitor/shared/contract/baseline.ts';
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { DataAt } from '../contract.ts';
import { safeLink } from '../format.ts';
import { useMe } from '../me.ts';
import { State } from '../parts/icons.tsx';
import { Action, Choice, Section } from '../parts/layout.tsx';
import { useAttempt } from '../parts/notices.tsx';
import { Ago } from '../parts/time.tsx';
import { useQuery } from '../query.ts';

type Baseline = DataAt<`v1/checks/${string}/baselines`>[number];

const views = [
  ['side', 'Side by side'],
  ['swipe', 'Swipe'],
  ['heat', 'Heat'],
] as const;
type View = (typeof views)[number][0];

const nameOf = ({ path }: ScreenshotComparison) => path.split('/').at(-1) ?? path;

function Shown({ link, what }: { link: string | null; what: string }) {
  const usable = link === null ? null : safeLink(link);
  return (
    <figure>
      <figcaption>{what}</figcaption>
      {usable === null ? (
        <p class="muted">Not kept</p>
      ) : (
        <a href={usable} target="_blank" rel="noopener">
          <img src={usable} alt={what} loading="lazy" />
        </a>
      )}
    </figure>
  );
}

function Swipe({ expected, actual }: { expected: string; actual: string }) {
  const [share, setShare] = useState(50);
  return (
    <div class="swipe">
      <label class="field">
        <span>Expected on the left, actual on the right</span>
        <input
          type="range"
          min="0"
          max="100"
          value={share}
          onInput={(event) => setShare(Number(event.currentTarget.value))}
        />
      </label>
      <div>
        <img src={expected} alt="Expected" />
        <img src={actual} alt="Actual" style={{ clipPath: `inset(0 0 0 ${share}%)` }} />
      </div>
    </div>
  );
}

function Images({
  of: { outcome, expected, actual, diff },
  view,
}: {
  of: ScreenshotComparison;
  view: View;
}) {
  const [before, after] = [expected, actual].map((link) => (link === null ? null : safeLink(link)));
  if (view === 'swipe' && before != null && after != null) {
    return <Swipe expected={before} actual={after} />;
  }
  return (
    <div class="compared">
      {view === 'heat' ? (
        <Shown link={diff} what="Difference" />
      ) : (
        <>
          {outcome === 'DIFFERENT' && <Shown link={expected} what="Expected" />}
          <Shown link={actual} what="Actual" />
        </>
      )}
    </div>
  );
}

function Comparison({
  of,
  approved,
  approve,
  withdraw,
}: {
  of: ScreenshotComparison;
  approved: Baseline | undefined;
  /** Null where this is not possible. */
  approve: (() => Promise<void>) | null;
  withdraw: (id: string) => () => Promise<void>;
}) {
  const [view, setView] = useState<View>('side');
  const { mayWrite } = useMe();
  const isDifferent = of.outcome === 'DIFFERENT';
  return (
    <div class="card">
      <div class="card-head">
        <State
          tone={isDifferent ? 'bad' : 'warn'}
          word={isDifferent ? 'Differs' : 'No baseline yet'}
        />
        <h3>{nameOf(of)}</h3>
        <span class="muted">{[of.project, of.platform, of.path].join(', ')}</span>
      </div>
      <div class="actions">
        {isDifferent && (
          <Choice
            label={`View of ${nameOf(of)}`}
            options={[...views]}
            value={view}
            onChange={(value) => setView(value as View)}
          />
        )}
        {approved === undefined ? (
          approve !== null && (
            <Action
              word="Approve"
              busy="Approving"
              title={`Later runs compare ${nameOf(of)} with this image`}
              run={approve}
            />
          )
        ) : (
          <>
            <span>
              Approved <Ago at={approved.approvedAt} />
            </span>
            {mayWrite && <Action word="Withdraw" busy="Withdrawing" run={withdraw(approved.id)} />}
          </>
        )}
      </div>
      <Images of={of} view={view} />
    </div>
  );
}

export function Screenshots({ result }: { result: CheckResult }) {
  const { checkId, id, runLocation } = result;
  const seen = result.browserCheckResult ?? result.playwrightCheckResult;
  const comparisons = seen?.screenshotComparisons ?? [];
  const path = `v1/checks/${encodeURIComponent(checkId)}/baselines` as const;
  const { data } = useQuery(comparisons.length === 0 ? null : path);
  // Runs that people only try have no approvals.
  const mayApprove = useMe().mayWrite && data !== undefined;
  const [problem, attempt] = useAttempt();
  if (comparisons.length === 0) return null;
  if (result.encryptedResult !== undefined) {
    return (
      <Section title="Screenshots">
        <p class="notice empty">
          Images of encrypted results cannot be approved. They are among the files.
        </p>
      </Section>
    );
  }
  const approve = (paths?: string[]) =>
    attempt(async () => {
      await call(`v1/check-results/${encodeURIComponent(checkId)}/${id}/baselines`, {
        method: 'POST',
        body: paths === undefined ? {} : { paths },
      });
    });
  const withdraw = (baselineId: string) =>
    attempt(async () => {
      await call(`${path}/${baselineId}`, { method: 'DELETE' });
    });
  const approvalOf = (of: ScreenshotComparison) =>
    data?.find(
      (one) =>
        one.path === of.path &&
        one.platform === of.platform &&
        one.location === runLocation &&
        one.sha256 === of.actualDigest,
    );
  const left = comparisons.filter((one) => approvalOf(one) === undefined);
  return (
    <Section
      title="Screenshots"
      aside={
        mayApprove &&
        left.length > 1 && (
          <Action word={`Approve all ${left.length}`} busy="Approving" run={approve()} />
        )
      }
    >
      {problem}
      {comparisons.map((of) => (
        <Comparison
          key={`${of.project} ${of.path}`}
          {...{ of, withdraw }}
          approved={approvalOf(of)}
          approve={mayApprove ? approve([of.path]) : null}
        />
      ))}
    </Section>
  );
}
