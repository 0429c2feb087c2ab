/** The TLS handshake of a server: its certificate chain and the security baseline. */
/** @import { BaselineReport } from '@monitor/shared/contract/checks/ssl-baseline.ts' */
/** @import { ShownCertificate, SslResponse } from '@monitor/shared/contract/shown-exchange.ts' */
/** @import { Tone } from '../state.js' */
import { html } from '../dom.js';
import { count, inNumbers, inWords, nothing, wholeTime } from '../format.js';
import { State } from '../parts/icons.js';
import { Facts, Section, Table } from '../parts/layout.js';

const yesOrNo = (/** @type {boolean} */ value) => (value ? 'yes' : 'no');

/** @param {ShownCertificate} certificate */
function keyOf({ keyAlgorithm, keySizeBits }) {
  return keySizeBits === null ? keyAlgorithm : `${keyAlgorithm}, ${keySizeBits} bits`;
}

/**
 * `minTLSVersion` → "Min TLS version".
 * @param {string} rule
 */
function ruleName(rule) {
  const words = rule.replace(/([a-z])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$& ');
  return inWords(words).replace(/\b(tls|ca|ocsp|sct)\b/gi, (word) => word.toUpperCase());
}

/** @type {Record<BaselineReport['rules'][keyof BaselineReport['rules']]['severity'], Tone>} */
const toneOf = { fail: 'bad', degrade: 'warn', ignore: 'quiet' };

/** @param {{ baseline: NonNullable<SslResponse['securityBaseline']> }} props */
function Baseline({ baseline }) {
  const { verdict: _verdict, grade, ...rules } = baseline;
  return html`<${Table} label="Security baseline" columns=${[`Security baseline, ${grade}`, 'Outcome', 'When violated']}>
    ${Object.entries(rules).map(
      ([rule, { violated, severity }]) =>
        html`<tr key=${rule}>
          <td>${ruleName(rule)}</td>
          <td>
            <${State}
              tone=${violated ? toneOf[severity] : 'good'}
              word=${violated ? 'Violated' : 'Held'}
            />
          </td>
          <td>${severity}</td>
        </tr>`,
    )}
  <//>`;
}

/** @param {{ chain: ShownCertificate[] }} props */
function Chain({ chain }) {
  return html`<${Table} label="Chain" columns=${['Issued by', 'Key', 'Signature', 'Valid until']}>
    ${chain.map(
      (one) =>
        html`<tr key=${one.fingerprintSha256}>
          <td>${one.subjectCN || one.subject}${one.selfSigned && ' (root)'}</td>
          <td>${keyOf(one)}</td>
          <td>${one.signatureAlgorithm}</td>
          <td>${wholeTime(one.notAfter)}</td>
        </tr>`,
    )}
  <//>`;
}

/** @param {{ response: SslResponse }} props */
export function Certificate({ response }) {
  const { certificate, chain, securityBaseline: baseline } = response;
  const days = response.daysUntilExpiry;
  return html`<${Section} title="Certificate">
    <div class="card">
      <${Facts}
        wide
        entries=${[
          ['For', certificate.subjectCN || certificate.subject],
          ['Names', certificate.sans.join(', ')],
          ['Issued by', certificate.issuerCN || certificate.issuer],
          ['Valid from', wholeTime(certificate.notBefore)],
          [
            'Valid until',
            `${wholeTime(certificate.notAfter)}, ${
              days < 0 ? 'expired' : `${count(days, 'day')} left`
            }`,
          ],
          ['Host name verified', yesOrNo(response.hostnameVerified)],
          [
            'Chain trusted',
            response.chainProblem ? `no: ${response.chainProblem}` : yesOrNo(response.chainTrusted),
          ],
          ['Protocol', `${response.tlsVersion} with ${response.cipherSuite}`],
          ['Key', keyOf(certificate)],
          ['Signature', certificate.signatureAlgorithm],
          ['OCSP staple', response.ocspStapled ? (response.ocspStatus ?? 'unreadable') : 'none'],
          ['Serial number', html`<span class="mono">${certificate.serialNumber}</span>`],
          ['SHA-256', html`<span class="mono">${certificate.fingerprintSha256 ?? nothing}</span>`],
          ['Certificates above', inNumbers(chain.length)],
        ]}
      />
    </div>
    ${chain.length > 0 && html`<${Chain} chain=${chain} />`}
    ${baseline !== null && html`<${Baseline} baseline=${baseline} />`}
  <//>`;
}
