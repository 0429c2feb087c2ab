/** The TLS handshake of a server: its certificate chain and the security baseline. */
import type { BaselineReport } from '@monitor/shared/contract/checks/ssl-baseline.ts';
import type { ShownCertificate, SslResponse } from '@monitor/shared/contract/shown-exchange.ts';
import type { Tone } from '../state.ts';
import { count, inNumbers, inWords, nothing, wholeTime } from '../format.ts';
import { State } from '../parts/icons.tsx';
import { Facts, Section, Table } from '../parts/layout.tsx';

const yesOrNo = (value: boolean) => (value ? 'yes' : 'no');

function keyOf({ keyAlgorithm, keySizeBits }: ShownCertificate) {
  return keySizeBits === null ? keyAlgorithm : `${keyAlgorithm}, ${keySizeBits} bits`;
}

/** `minTLSVersion` → "Min TLS version". */
function ruleName(rule: string) {
  const words = rule.replace(/([a-z])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$& ');
  return inWords(words).replace(/\b(tls|ca|ocsp|sct)\b/gi, (word) => word.toUpperCase());
}

const toneOf: Record<BaselineReport['rules'][keyof BaselineReport['rules']]['severity'], Tone> = {
  fail: 'bad',
  degrade: 'warn',
  ignore: 'quiet',
};

function Baseline({ baseline }: { baseline: NonNullable<SslResponse['securityBaseline']> }) {
  const { verdict: _verdict, grade, ...rules } = baseline;
  return (
    <Table
      label="Security baseline"
      columns={[`Security baseline, ${grade}`, 'Outcome', 'When violated']}
    >
      {Object.entries(rules).map(([rule, { violated, severity }]) => (
        <tr key={rule}>
          <td>{ruleName(rule)}</td>
          <td>
            <State
              tone={violated ? toneOf[severity] : 'good'}
              word={violated ? 'Violated' : 'Passed'}
            />
          </td>
          <td>{severity}</td>
        </tr>
      ))}
    </Table>
  );
}

function Chain({ chain }: { chain: ShownCertificate[] }) {
  return (
    <Table label="Chain" columns={['Issued by', 'Key', 'Signature', 'Valid until']}>
      {chain.map((one) => (
        <tr key={one.fingerprintSha256}>
          <td>
            {one.subjectCN || one.subject}
            {one.selfSigned && ' (root)'}
          </td>
          <td>{keyOf(one)}</td>
          <td>{one.signatureAlgorithm}</td>
          <td>{wholeTime(one.notAfter)}</td>
        </tr>
      ))}
    </Table>
  );
}

export function Certificate({ response }: { response: SslResponse }) {
  const { certificate, chain, securityBaseline: baseline } = response;
  const days = response.daysUntilExpiry;
  return (
    <Section title="Certificate">
      <div class="card">
        <Facts
          wide
          entries={[
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
              response.chainProblem
                ? `no: ${response.chainProblem}`
                : yesOrNo(response.chainTrusted),
            ],
            ['Protocol', `${response.tlsVersion} with ${response.cipherSuite}`],
            ['Key', keyOf(certificate)],
            ['Signature', certificate.signatureAlgorithm],
            ['OCSP staple', response.ocspStapled ? (response.ocspStatus ?? 'unreadable') : 'none'],
            ['Serial number', <span class="mono">{certificate.serialNumber}</span>],
            ['SHA-256', <span class="mono">{certificate.fingerprintSha256 ?? nothing}</span>],
            ['Certificates above', inNumbers(chain.length)],
          ]}
        />
      </div>
      {chain.length > 0 && <Chain chain={chain} />}
      {baseline !== null && <Baseline baseline={baseline} />}
    </Section>
  );
}
