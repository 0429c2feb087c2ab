/** One result: the verdict, then its evidence. */
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import { useDecrypted, useDecryptedShots, type Shown } from '../decryption.ts';
import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import { duration, typeName } from '../format.ts';
import { Decisions } from '../parts/decisions.tsx';
import { State } from '../parts/icons.tsx';
import { Facts, Section } from '../parts/layout.tsx';
import { Loading, Refusal, Pending } from '../parts/notices.tsx';
import { RootCausesOfResult } from '../parts/root-causes.tsx';
import { Time } from '../parts/time.tsx';
import { Unlock, Unlocked } from '../parts/unlock.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { exchangeOf, isPinged, outcomeOf, outcomes, reasonOf, scriptOf } from '../state.ts';
import { AgenticDetail } from './result-agentic.tsx';
import { Attempts } from './result-attempts.tsx';
import { AtFailure, Files } from './result-files.tsx';
import { NetworkDetail } from './result-network.tsx';
import { Screenshots } from './result-screenshots.tsx';
import { ScriptDetail } from './result-script.tsx';

/** A ping has none of these. */
function factsOfRun(result: CheckResult): [name: string, value: ComponentChildren][] {
  const { attempts, resultType, isLate, scheduledFor } = result;
  const final = attempts > 1 ? `final, after ${attempts} attempts` : 'first attempt';
  const run = resultType === 'ATTEMPT' ? `attempt ${attempts}, which was retried` : final;
  return [
    ['Duration', duration(result.responseTime)],
    ['Location', result.runLocation],
    ['Run', isLate ? `attempt ${attempts}, received after the run had ended and not counted` : run],
    ['Scheduled', scheduledFor === null ? 'on demand' : <Time at={scheduledFor} />],
  ];
}

function Verdict({ result }: { result: CheckResult }) {
  const letter = outcomeOf(result);
  const { word, tone } = outcomes[letter];
  // The section below says that it is encrypted, or was not.
  const reason = result.encryptedResult === undefined ? reasonOf(result) : '';
  return (
    <>
      <div class="title-line">
        <h1>{result.name}</h1>
        <State tone={tone} word={word} />
      </div>
      {letter === 'E' && (
        <p class="notice error">
          The run could not be carried out. That is an agent error; it does not count against the
          target.{reason && ` ${reason}`}
        </p>
      )}
      {(letter === 'F' || letter === 'D') && reason !== '' && (
        <p class={`notice ${letter === 'F' ? 'failure' : 'warning'}`}>{reason}</p>
      )}
      <div class="card">
        <Facts
          entries={[
            ['Started', <Time at={result.startedAt} />],
            ...(isPinged(result) ? [] : factsOfRun(result)),
            ['Type', typeName(result.checkType)],
            ['Limit', result.overMaxResponseTime ? 'slower than its maximum' : null],
          ]}
        />
      </div>
    </>
  );
}

export function ResultDetail({ result: given }: { result: CheckResult }) {
  const shown = useDecrypted(given);
  if (shown === undefined || shown.state === 'opening')
    return <Loading what="Decrypting the result" />;
  const { result, state, keyId } = shown;
  if (state === 'locked') return <Unlock shown={shown} />;
  if (state === 'plain') return <Readable result={result} />;
  return (
    <>
      <Unlocked keyId={keyId} />
      <Decrypted shown={shown} />
    </>
  );
}

function Decrypted({ shown }: { shown: Shown }) {
  return <Readable result={useDecryptedShots(shown)} />;
}

function Readable({ result }: { result: CheckResult }) {
  const script = scriptOf(result);
  if (script !== null) return <ScriptDetail seen={script} />;
  if (result.agenticCheckResult !== null) {
    return <AgenticDetail seen={result.agenticCheckResult} />;
  }
  const exchange = exchangeOf(result);
  if (exchange !== undefined) {
    return <NetworkDetail seen={exchange} />;
  }
  return (
    <Section title="Detail">
      <p class="notice empty">
        {result.encryptedResult !== undefined
          ? 'Details were not stored because the agent did not encrypt them. Verdict, times and metrics remain.'
          : result.isPayloadDropped
            ? 'Details were dropped because the queue of the agent was full. Verdict and times remain.'
            : 'No details recorded.'}
      </p>
    </Section>
  );
}

/** Leads to the line of the script at which the run failed. */
function InScript({ checkId, result }: { checkId: string; result: CheckResult }) {
  const hasScript = /^(BROWSER|MULTI_STEP)$/.test(result.checkType);
  const hasFailedScript = / script failed at line /.test(JSON.stringify(exchangeOf(result) ?? ''));
  if (outcomeOf(result) !== 'F' || !(hasScript || hasFailedScript)) return null;
  const query = `?result=${encodeURIComponent(result.id)}`;
  return (
    <a class="button" href={`${link('edit', 'check', checkId)}${query}`}>
      Show it in the script
    </a>
  );
}

export function ResultView({ checkId, resultId }: { checkId: string; resultId: string }) {
  const read = useQuery(
    `v1/check-results/${encodeURIComponent(checkId)}/${encodeURIComponent(resultId)}`,
  );
  const shown = useDecrypted(read.data);
  const [error, reset] = useErrorBoundary();
  useEffect(reset, [resultId]);
  const result = shown?.result;
  const crumbs = (
    <p class="crumbs">
      <a href={link('checks')}>Monitors</a>
      {' / '}
      <a href={link('checks', checkId)}>{result?.name ?? 'Monitor'}</a>
      {' / Result'}
    </p>
  );
  if (read.data === undefined || shown === undefined || result === undefined) {
    return (
      <>
        {crumbs}
        <h1>Result</h1>
        <Pending read={read} what="Loading the result" />
      </>
    );
  }
  if (error !== undefined) {
    // Nothing signs what is decrypted: somebody may have forged what no view can show.
    return (
      <>
        {crumbs}
        <Verdict result={read.data} />
        <Refusal text="What this run saw cannot be shown: it is not the content of a result." />
      </>
    );
  }
  return (
    <>
      {crumbs}
      <Verdict result={result} />
      {outcomeOf(result) !== 'P' && (
        <AtFailure {...{ checkId, resultId, shown }}>
          <InScript checkId={checkId} result={result} />
        </AtFailure>
      )}
      {result.resultType === 'FINAL' && outcomeOf(result) !== 'P' && (
        <RootCausesOfResult checkId={checkId} resultId={resultId} />
      )}
      <Attempts result={result} />
      <Screenshots result={result} />
      <ResultDetail result={read.data} />
      {result.resultType === 'FINAL' && outcomeOf(result) !== 'P' && (
        <Section title="Alert">
          <Decisions checkId={checkId} query={{ checkResultId: resultId }} />
        </Section>
      )}
      <Files checkId={checkId} resultId={resultId} shown={shown} />
    </>
  );
}
