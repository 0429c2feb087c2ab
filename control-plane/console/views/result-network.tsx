/** Request, response and assertions of a monitor or an API check. */
import type {
  ShownResponse,
  SslResponse,
  TracerouteResponse,
} from '@monitor/shared/contract/shown-exchange.ts';
import type { Exchange } from '../contract.ts';
import { duration, inNumbers, inWords, nothing, percent, wholeTime } from '../format.ts';
import { Code, Pairs } from '../parts/code.tsx';
import { State } from '../parts/icons.tsx';
import { Facts, Section, Table } from '../parts/layout.tsx';
import { Log } from '../parts/log.tsx';
import { Phases } from '../parts/waterfall.tsx';
import { Certificate } from './result-certificate.tsx';
import { Evidence } from './result-evidence.tsx';
import { TracedWay } from './result-traceroute.tsx';

function textOf(value: unknown) {
  if (value === undefined) return nothing;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function Assertions({ assertions }: { assertions: Exchange['assertions'] }) {
  return (
    <Section title="Assertions">
      <Table
        label="Assertions"
        columns={['Outcome', 'Source', 'Property', 'Comparison', 'Expected', 'Actual']}
      >
        {assertions
          .toSorted((left, right) => left.order - right.order)
          .map((assertion) => {
            const hasPassed = assertion.error === undefined;
            return (
              <tr key={assertion.order}>
                <td>
                  <State tone={hasPassed ? 'good' : 'bad'} word={hasPassed ? 'Passed' : 'Failed'} />
                </td>
                <td>{inWords(assertion.source)}</td>
                <td class="mono">
                  {assertion.property}
                  {assertion.regex && ` ${assertion.regex}`}
                </td>
                <td>{inWords(assertion.comparison)}</td>
                <td class="mono">{textOf(assertion.target)}</td>
                <td class="mono">
                  {textOf(assertion.actual)}
                  {!hasPassed && <span class="under bad">{assertion.error}</span>}
                </td>
              </tr>
            );
          })}
      </Table>
    </Section>
  );
}

function shownBody(body: unknown) {
  if (body == null || body === '') return null;
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** All values that have no place of their own, so that nothing recorded is hidden. */
function Rest({ label, values, known }: { label: string; values: object; known: Set<string> }) {
  const rest = Object.fromEntries(
    Object.entries(values ?? {}).filter(([name, value]) => !known.has(name) && value != null),
  );
  if (Object.keys(rest).length === 0) return null;
  return <Code label={label} text={JSON.stringify(rest)} />;
}

const knownOfRequest = new Set([
  'method',
  'url',
  'headers',
  'params',
  'data',
  'hostname',
  'port',
  'grpcConfig',
]);
const knownOfResponse = new Set(
  `status statusText headers body data truncated href redirects remoteAddress ipFamily timings
  timingPhases answer returnCode latency pingResults packetLoss packetsSent packetsReceived
  resolvedIp protocol tlsVersion cipherSuite handshakeTimeMs hostnameVerified chainTrusted chainProblem
  daysUntilExpiry expiresFirst notYetValid ocspStapled ocspStatus securityBaseline certificate chain hostname port probeProtocol maxHops totalHops
  destinationReached truncationReason finalHopLatency hops timestamp
  host grpcMode grpcMethod responseMessage grpcStatusCode grpcStatusMessage healthStatus healthStatusLabel metadata
  requestError`.split(/\s+/),
);

function RequestPart({ request }: { request: Exchange['request'] }) {
  const body = shownBody(request.data);
  const { grpcConfig } = request;
  const { hostname = request.url, port } = request.sslConfig ?? request;
  const target = [hostname, port].filter(Boolean).join(':');
  const method = grpcConfig === undefined ? request.method : (grpcConfig.method ?? 'Health/Check');
  return (
    <div class="card">
      <div class="card-head">
        <h3>Request</h3>
      </div>
      <p class="mono">
        {method && (
          <>
            <strong>{method}</strong>{' '}
          </>
        )}
        {target}
      </p>
      <Facts entries={[['Service', grpcConfig?.service]]} />
      <Pairs label="Query" pairs={request.params} />
      <Pairs label="Headers sent" pairs={request.headers} />
      <Pairs label="Metadata sent" pairs={grpcConfig?.metadata} />
      {grpcConfig?.message && <Code label="Message sent" text={grpcConfig.message} />}
      {body !== null && <Code label="Body sent" text={body} />}
      <Rest label="More" values={request} known={knownOfRequest} />
    </div>
  );
}

function Pings({ response }: { response: ShownResponse }) {
  if (!Array.isArray(response.pingResults)) return null;
  return (
    <Table label="Echo replies" columns={['Packet', 'Outcome', ['Time', 'right']]}>
      {response.pingResults.map((ping, index) => (
        <tr key={index}>
          <td>{index + 1}</td>
          <td>
            <State tone={ping.success ? 'good' : 'bad'} word={ping.success ? 'Answered' : 'Lost'} />
          </td>
          <td class="right">{duration(ping.rtt)}</td>
        </tr>
      ))}
    </Table>
  );
}

const isTraced = (response: ShownResponse): response is ShownResponse & TracerouteResponse =>
  response.hops !== undefined;

const isSsl = (response: ShownResponse): response is ShownResponse & SslResponse =>
  response.chain !== undefined;

/** The certificate of an HTTPS server; SSL checks show theirs in a section of its own. */
function certificateOf({ certificate }: ShownResponse) {
  if (certificate == null || !('validTo' in certificate)) return null;
  const issuer = certificate.issuer.replaceAll('\n', ', ');
  return `by ${issuer}, until ${wholeTime(certificate.validTo)}`;
}

function grpcStatusOf({ grpcStatusCode, grpcStatusMessage }: ShownResponse) {
  return [`Status ${grpcStatusCode}`, grpcStatusMessage].filter(Boolean).join(': ');
}

function ResponsePart({ response }: { response: ShownResponse | null }) {
  if (response === null) {
    return (
      <div class="card">
        <div class="card-head">
          <h3>Response</h3>
        </div>
        <p class="muted">No response.</p>
      </div>
    );
  }
  const body = shownBody(
    response.body ?? response.data ?? response.answer ?? response.responseMessage,
  );
  const { latency } = response;
  return (
    <div class="card">
      <div class="card-head">
        <h3>Response</h3>
        {response.status !== undefined && (
          <strong>
            {response.status} {response.statusText ?? ''}
          </strong>
        )}
        {response.returnCode && <strong>{response.returnCode}</strong>}
        {response.grpcStatusCode !== undefined && <strong>{grpcStatusOf(response)}</strong>}
      </div>
      <Facts
        entries={[
          ['From', response.remoteAddress ?? response.resolvedIp],
          ['IP version', response.ipFamily],
          ['Packet loss', response.packetLoss === undefined ? null : percent(response.packetLoss)],
          ['Latency', latency && `${duration(latency.min)} to ${duration(latency.max)}`],
          ['Average', latency && duration(latency.avg)],
          ['Health', response.healthStatusLabel && inWords(response.healthStatusLabel)],
          ['Redirects', (response.redirects ?? 0) > 0 && inNumbers(response.redirects)],
          ['Certificate', certificateOf(response)],
        ]}
      />
      <Pings response={response} />
      <Pairs label="Headers received" pairs={response.headers} />
      <Pairs label="Metadata received" pairs={response.metadata} />
      {body !== null && <Code label="Body" text={body} isTruncated={response.truncated === true} />}
      <Rest label="More" values={response} known={knownOfResponse} />
    </div>
  );
}

export function NetworkDetail({ seen }: { seen: Exchange }) {
  const { response, assertions, jobLog } = seen;
  const held = assertions.filter(({ error }) => error === undefined).length;
  return (
    <>
      {response?.timingPhases && (
        <Section title="Timing">
          <div class="card">
            <Phases phases={response.timingPhases} />
          </div>
        </Section>
      )}
      {assertions.length > 0 && <Assertions assertions={assertions} />}
      {response !== null && isSsl(response) && <Certificate response={response} />}
      {response !== null && isTraced(response) && <TracedWay response={response} />}
      <Section title="Request and response">
        {seen.requestError && <p class="notice failure">{seen.requestError}</p>}
        <div class="columns">
          <RequestPart request={seen.request} />
          <ResponsePart response={response} />
        </div>
      </Section>
      <Evidence seen={seen} />
      {Object.values(jobLog).some((lines) => lines.length > 0) && (
        <Section title="Log">
          <Log label="Setup" lines={jobLog.setup} />
          <Log label="Request" lines={jobLog.request} />
          <Log label="Teardown" lines={jobLog.teardown} />
        </Section>
      )}
      <p class="sr-only">
        {inNumbers(held)} of {inNumbers(assertions.length)} assertions passed
      </p>
    </>
  );
}
