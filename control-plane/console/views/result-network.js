/** Request, response and assertions of a monitor or an API check. */
/** @import { ShownResponse, SslResponse } from '@monitor/shared/contract/shown-exchange.ts' */
/** @import { Exchange } from '../contract.ts' */
import { html } from '../dom.js';
import { duration, inNumbers, inWords, nothing, percent, wholeTime } from '../format.js';
import { Code, Pairs } from '../parts/code.js';
import { State } from '../parts/icons.js';
import { Facts, Section, Table } from '../parts/layout.js';
import { Log } from '../parts/log.js';
import { Phases } from '../parts/waterfall.js';
import { Certificate } from './result-certificate.js';
import { Evidence } from './result-evidence.js';
import { TracedWay } from './result-traceroute.js';

/** @param {unknown} value */
function textOf(value) {
  if (value === undefined) return nothing;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** @param {{ assertions: Exchange['assertions'] }} props */
function Assertions({ assertions }) {
  return html`<${Section} title="Assertions">
    <${Table}
      label="Assertions"
      columns=${['Outcome', 'Source', 'Property', 'Comparison', 'Expected', 'Was']}
    >
      ${assertions
        .toSorted((left, right) => left.order - right.order)
        .map((assertion) => {
          const isHeld = assertion.error === undefined;
          return html`<tr key=${assertion.order}>
            <td>
              <${State} tone=${isHeld ? 'good' : 'bad'} word=${isHeld ? 'Held' : 'Did not hold'} />
            </td>
            <td>${inWords(assertion.source)}</td>
            <td class="mono">${assertion.property}${assertion.regex && ` ${assertion.regex}`}</td>
            <td>${inWords(assertion.comparison)}</td>
            <td class="mono">${textOf(assertion.target)}</td>
            <td class="mono">
              ${textOf(assertion.actual)}
              ${!isHeld && html`<span class="under bad">${assertion.error}</span>`}
            </td>
          </tr>`;
        })}
    <//>
  <//>`;
}

/** @param {unknown} body */
function shownBody(body) {
  if (body == null || body === '') return null;
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/**
 * All values that have no place of their own, so that nothing recorded is hidden.
 * @param {{ label: string, values: object, known: Set<string> }} props
 */
function Rest({ label, values, known }) {
  const rest = Object.fromEntries(
    Object.entries(values ?? {}).filter(([name, value]) => !known.has(name) && value != null),
  );
  if (Object.keys(rest).length === 0) return null;
  return html`<${Code} label=${label} text=${JSON.stringify(rest)} />`;
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

/** @param {{ request: Exchange['request'] }} props */
function RequestPart({ request }) {
  const body = shownBody(request.data);
  const { grpcConfig } = request;
  const { hostname = request.url, port } = request.sslConfig ?? request;
  const target = [hostname, port].filter(Boolean).join(':');
  const method = grpcConfig === undefined ? request.method : (grpcConfig.method ?? 'Health/Check');
  return html`<div class="card">
    <div class="card-head"><h3>Request</h3></div>
    <p class="mono">${method && html`<strong>${method}</strong> `}${target}</p>
    <${Facts} entries=${[['Service', grpcConfig?.service]]} />
    <${Pairs} label="Query" pairs=${request.params} />
    <${Pairs} label="Headers sent" pairs=${request.headers} />
    <${Pairs} label="Metadata sent" pairs=${grpcConfig?.metadata} />
    ${grpcConfig?.message && html`<${Code} label="Message sent" text=${grpcConfig.message} />`}
    ${body !== null && html`<${Code} label="Body sent" text=${body} />`}
    <${Rest} label="More" values=${request} known=${knownOfRequest} />
  </div>`;
}

/** @param {{ response: ShownResponse }} props */
function Pings({ response }) {
  if (!Array.isArray(response.pingResults)) return null;
  return html`<${Table} label="Echo replies" columns=${['Packet', 'Outcome', ['Time', 'right']]}>
    ${response.pingResults.map(
      (ping, index) =>
        html`<tr key=${index}>
          <td>${index + 1}</td>
          <td>
            <${State}
              tone=${ping.success ? 'good' : 'bad'}
              word=${ping.success ? 'Answered' : 'Lost'}
            />
          </td>
          <td class="right">${duration(ping.rtt)}</td>
        </tr>`,
    )}
  <//>`;
}

/**
 * @param {ShownResponse} response
 * @returns {response is ShownResponse & SslResponse}
 */
const isSsl = (response) => response.chain !== undefined;

/**
 * The certificate of an HTTPS server; SSL checks show theirs in a section of its own.
 * @param {ShownResponse} response
 */
function certificateOf({ certificate }) {
  if (certificate == null || !('validTo' in certificate)) return null;
  const issuer = certificate.issuer.replaceAll('\n', ', ');
  return `by ${issuer}, until ${wholeTime(certificate.validTo)}`;
}

/** @param {ShownResponse} response */
function grpcStatusOf({ grpcStatusCode, grpcStatusMessage }) {
  return [`Status ${grpcStatusCode}`, grpcStatusMessage].filter(Boolean).join(': ');
}

/** @param {{ response: ShownResponse | null }} props */
function ResponsePart({ response }) {
  if (response === null) {
    return html`<div class="card">
      <div class="card-head"><h3>Response</h3></div>
      <p class="muted">None came.</p>
    </div>`;
  }
  const body = shownBody(
    response.body ?? response.data ?? response.answer ?? response.responseMessage,
  );
  const { latency } = response;
  return html`<div class="card">
    <div class="card-head">
      <h3>Response</h3>
      ${
        response.status !== undefined &&
        html`<strong>${response.status} ${response.statusText ?? ''}</strong>`
      }
      ${response.returnCode && html`<strong>${response.returnCode}</strong>`}
      ${response.grpcStatusCode !== undefined && html`<strong>${grpcStatusOf(response)}</strong>`}
    </div>
    <${Facts}
      entries=${[
        ['From', response.remoteAddress ?? response.resolvedIp],
        ['Family', response.ipFamily],
        ['Packet loss', response.packetLoss === undefined ? null : percent(response.packetLoss)],
        ['Latency', latency && `${duration(latency.min)} to ${duration(latency.max)}`],
        ['Average', latency && duration(latency.avg)],
        ['Health', response.healthStatusLabel && inWords(response.healthStatusLabel)],
        ['Redirects', (response.redirects ?? 0) > 0 && inNumbers(response.redirects)],
        ['Certificate', certificateOf(response)],
      ]}
    />
    <${Pings} response=${response} />
    <${Pairs} label="Headers received" pairs=${response.headers} />
    <${Pairs} label="Metadata received" pairs=${response.metadata} />
    ${
      body !== null &&
      html`<${Code} label="Body" text=${body} isTruncated=${response.truncated === true} />`
    }
    <${Rest} label="More" values=${response} known=${knownOfResponse} />
  </div>`;
}

/** @param {{ seen: Exchange }} props */
export function NetworkDetail({ seen }) {
  const { response, assertions, jobLog } = seen;
  const held = assertions.filter(({ error }) => error === undefined).length;
  return html`${
    response?.timingPhases &&
    html`<${Section} title="Where the time went">
        <div class="card"><${Phases} phases=${response.timingPhases} /></div>
      <//>`
  }
    ${assertions.length > 0 && html`<${Assertions} assertions=${assertions} />`}
    ${response !== null && isSsl(response) && html`<${Certificate} response=${response} />`}
    ${response?.hops && html`<${TracedWay} response=${response} />`}
    <${Section} title="Request and response">
      ${seen.requestError && html`<p class="notice failure">${seen.requestError}</p>`}
      <div class="columns">
        <${RequestPart} request=${seen.request} />
        <${ResponsePart} response=${response} />
      </div>
    <//>
    <${Evidence} seen=${seen} />
    ${
      Object.values(jobLog).some((lines) => lines.length > 0) &&
      html`<${Section} title="Log">
        <${Log} label="Setup" lines=${jobLog.setup} />
        <${Log} label="Request" lines=${jobLog.request} />
        <${Log} label="Teardown" lines=${jobLog.teardown} />
      <//>`
    }
    <p class="sr-only">${inNumbers(held)} of ${inNumbers(assertions.length)} assertions held</p>`;
}
