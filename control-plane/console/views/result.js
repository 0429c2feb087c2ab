/** One result: the verdict, then its evidence. */
/** @import { CheckResult } from '@monitor/shared/contract/check-result-routes.ts' */
/** @import { Shown } from '../decryption.js' */
import { useDecrypted, useDecryptedShots } from '../decryption.js';
import { html, useEffect, useErrorBoundary } from '../dom.js';
import { duration, typeName } from '../format.js';
import { Decisions } from '../parts/decisions.js';
import { State } from '../parts/icons.js';
import { Facts, Section } from '../parts/layout.js';
import { Failure, Loading } from '../parts/notices.js';
import { Time } from '../parts/time.js';
import { Unlock, Unlocked } from '../parts/unlock.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';
import { exchangeOf, outcomeOf, outcomes, reasonOf, scriptOf } from '../state.js';
import { AgenticDetail } from './result-agentic.js';
import { Attempts } from './result-attempts.js';
import { Files } from './result-files.js';
import { NetworkDetail } from './result-network.js';
import { ScriptDetail } from './result-script.js';

/** @param {{ result: CheckResult }} props */
function Verdict({ result }) {
  const letter = outcomeOf(result);
  const { word, tone } = outcomes[letter];
  // The section below says that it is encrypted, or was not.
  const reason = result.encryptedResult === undefined ? reasonOf(result) : '';
  return html`<div class="title-line">
      <h1>${result.name}</h1>
      <${State} tone=${tone} word=${word} />
    </div>
    ${
      letter === 'E' &&
      html`<p class="notice error">
        The run could not be carried out. That is an agent error; it does not count against the
        target.${reason && ` ${reason}`}
      </p>`
    }
    ${
      (letter === 'F' || letter === 'D') &&
      reason !== '' &&
      html`<p class=${`notice ${letter === 'F' ? 'failure' : 'warning'}`}>${reason}</p>`
    }
    <div class="card">
      <${Facts}
        entries=${[
          ['Started', html`<${Time} at=${result.startedAt} />`],
          ['Took', duration(result.responseTime)],
          ['Location', result.runLocation],
          ['Type', typeName(result.checkType)],
          [
            'Run',
            result.isLate
              ? `attempt ${result.attempts}, which came after the run had ended and counts for nothing`
              : result.resultType === 'ATTEMPT'
                ? `attempt ${result.attempts}, which was repeated`
                : result.attempts > 1
                  ? `final, after ${result.attempts} attempts`
                  : 'first attempt',
          ],
          [
            'Due',
            result.scheduledFor === null
              ? 'on demand'
              : html`<${Time} at=${result.scheduledFor} />`,
          ],
          ['Limit', result.overMaxResponseTime ? 'slower than its maximum' : null],
        ]}
      />
    </div>`;
}

/** @param {{ result: CheckResult }} props */
export function ResultDetail({ result: given }) {
  const shown = useDecrypted(given);
  if (shown === undefined || shown.state === 'opening')
    return html`<${Loading} what="Decrypting the result" />`;
  const { result, state, keyId } = shown;
  if (state === 'locked') return html`<${Unlock} shown=${shown} />`;
  if (state === 'plain') return html`<${Readable} result=${result} />`;
  return html`<${Unlocked} keyId=${keyId} /><${Decrypted} shown=${shown} />`;
}

/** @param {{ shown: Shown }} props */
function Decrypted({ shown }) {
  return html`<${Readable} result=${useDecryptedShots(shown)} />`;
}

/** @param {{ result: CheckResult }} props */
function Readable({ result }) {
  const script = scriptOf(result);
  if (script !== null) return html`<${ScriptDetail} seen=${script} />`;
  if (result.agenticCheckResult !== null) {
    return html`<${AgenticDetail} seen=${result.agenticCheckResult} />`;
  }
  const exchange = exchangeOf(result);
  if (exchange !== undefined) {
    return html`<${NetworkDetail} seen=${exchange} />`;
  }
  return html`<${Section} title="Detail"
    ><p class="notice empty">
      ${
        result.encryptedResult !== undefined
          ? 'What this run saw was not stored, since its agent did not encrypt it. Its verdict, its times and its metrics remain.'
          : result.isPayloadDropped
            ? 'The agent had no room for what this run saw. Only its verdict and its times remain.'
            : 'Nothing else was recorded.'
      }
    </p><//
  >`;
}

/**
 * Leads to the line of the script at which the run failed.
 * @param {{ checkId: string, result: CheckResult }} props
 */
function InScript({ checkId, result }) {
  const hasScript = /^(BROWSER|MULTI_STEP)$/.test(result.checkType);
  const hasFailedScript = / script failed at line /.test(JSON.stringify(exchangeOf(result) ?? ''));
  if (outcomeOf(result) !== 'F' || !(hasScript || hasFailedScript)) return null;
  const query = `?result=${encodeURIComponent(result.id)}`;
  return html`<p><a href=${`${link('edit', 'check', checkId)}${query}`}>Show it in the script</a></p>`;
}

/** @param {{ checkId: string, resultId: string }} props */
export function ResultView({ checkId, resultId }) {
  const read = useQuery(
    `v1/check-results/${encodeURIComponent(checkId)}/${encodeURIComponent(resultId)}`,
  );
  const shown = useDecrypted(read.data);
  const [error, reset] = useErrorBoundary();
  useEffect(reset, [resultId]);
  const result = shown?.result;
  const crumbs = html`<p class="crumbs">
    <a href=${link('checks')}>Checks</a>${' / '}
    <a href=${link('checks', checkId)}>${result?.name ?? 'Check'}</a>${' / Result'}
  </p>`;
  if (read.data === undefined || shown === undefined || result === undefined) {
    return html`${crumbs}
      <h1>Result</h1>
      ${
        read.problem === null
          ? html`<${Loading} what="Loading the result" />`
          : html`<${Failure} problem=${read.problem} reload=${read.reload} />`
      }`;
  }
  if (error !== undefined) {
    // Nothing signs what is decrypted: somebody may have forged what no view can show.
    return html`${crumbs}
      <${Verdict} result=${read.data} />
      <p class="notice failure" role="alert">
        What this run saw cannot be shown: it is not the content of a result.
      </p>`;
  }
  return html`${crumbs}
    <${Verdict} result=${result} />
    <${InScript} checkId=${checkId} result=${result} />
    <${Attempts} result=${result} />
    <${ResultDetail} result=${read.data} />
    ${
      result.resultType === 'FINAL' &&
      outcomeOf(result) !== 'P' &&
      html`
      <${Section} title="Alert">
        <${Decisions} checkId=${checkId} query=${{ checkResultId: resultId }} />
      <//>
    `
    }
    <${Files} checkId=${checkId} resultId=${resultId} shown=${shown} />`;
}
