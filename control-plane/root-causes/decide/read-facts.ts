/** A stored result as facts: what agents of every version wrote is read field by field. */
import type { ExchangeResult, NetworkDiagnostics } from '@monitor/shared/contract/check-result.ts';
import { numberOrNull, textOrNull } from '@monitor/shared/contract/checks/check-type.ts';
import { errorLine } from '@monitor/shared/error-line.ts';
import type { Path, RunFacts, Times } from './facts.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A row of a result, with what is known of its check. */
export interface StoredRun {
  checkId: string;
  checkName: string;
  checkType: string;
  resultId: string;
  location: string;
  startedAt: number;
  since: number;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  isStrained: boolean;
  /** Host of the check, for runs that name none. */
  host: string | null;
  /** Code of the agent error that the location had last with this check. */
  errorCode: string | null;
  payload: Fields | null;
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);

/** Agents end the text of a failure with its code. */
const codeAtEnd = /\(([A-Z][A-Z0-9_]{2,})\)\s*$/;
const addressInEvent = /^connecting to \[?([\da-f.:]+?)\]?:(\d+)$/i;
const addressOfName = /^\S+ is ([\da-f.:]+)$/i;
const phaseInText = /in phase (\w+)/;

function pathOf({ traceroute }: Partial<NetworkDiagnostics>, response: Fields): Path | null {
  if (traceroute != null) {
    return {
      isReached: traceroute.isReached,
      hops: traceroute.hops.map(({ hop, addresses, note }) => ({
        ...{ hop, note },
        address: addresses[0] ?? null,
      })),
    };
  }
  if (!Array.isArray(response['hops'])) return null;
  return {
    isReached: response['destinationReached'] === true,
    hops: listOf(response['hops']).map((hop) => ({
      hop: Number(hop['hop_number']),
      address: textOrNull(hop['main_ip']) || null,
      note: textOrNull(hop['note']),
    })),
  };
}

/** Phases of all types in the words of this module. */
function timesOf(response: Fields): Times {
  const seen = fieldsOf(response['timingPhases']);
  const at = (name: string): number | undefined => numberOrNull(seen[name]) ?? undefined;
  const tls = at('tls') ?? at('handshake');
  const answer = at('firstByte') ?? at('data');
  const given = {
    dns: at('dns') ?? numberOrNull(response['dnsResolutionTime']) ?? undefined,
    connect: at('tcp') ?? at('connection') ?? at('connect'),
    tls,
    // The time to the first byte includes the handshake.
    answer: answer === undefined ? at('total') : Math.max(0, answer - (tls ?? 0)),
    download: at('download'),
  };
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );
}

/** The code of what a type finds wrong without a failure. */
function ownCodeOf(payload: Fields, request: Fields, response: Fields): string | null {
  const certificate = fieldsOf(response['certificate']);
  const returnCode = textOrNull(response['returnCode']);
  switch (textOrNull(payload['failureCategory']) ?? '') {
    case 'expired':
      return 'CERT_HAS_EXPIRED';
    case 'hostname':
      return 'ERR_TLS_CERT_ALTNAME_INVALID';
    case 'chain':
      if (response['notYetValid'] === true) return 'CERT_NOT_YET_VALID';
      if (certificate['selfSigned'] === true) return 'DEPTH_ZERO_SELF_SIGNED_CERT';
      return listOf(response['chain']).length === 0
        ? 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
        : 'SELF_SIGNED_CERT_IN_CHAIN';
    default:
  }
  if (returnCode !== null && returnCode !== 'NOERROR') return returnCode;
  const loss = numberOrNull(response['packetLoss']) ?? 0;
  if (loss > 0) return loss === 100 ? 'PACKETS_LOST' : 'SOME_PACKETS_LOST';
  const days = numberOrNull(response['daysUntilExpiry']);
  const alertDays = numberOrNull(fieldsOf(request['sslConfig'])['alertDaysBeforeExpiry']);
  if (days !== null && alertDays !== null && days <= alertDays) return 'CERT_EXPIRES_SOON';
  return response['destinationReached'] === false ? 'NOT_REACHED' : null;
}

function hostIn(url: unknown): string | null {
  const text = textOrNull(url) ?? '';
  return URL.canParse(text) ? new URL(text).hostname.replace(/^\[|\]$/g, '') || null : null;
}

function portIn(url: unknown): number | null {
  const text = textOrNull(url) ?? '';
  if (!URL.canParse(text)) return null;
  const { port, protocol } = new URL(text);
  const usual = protocol === 'https:' ? 443 : protocol === 'http:' ? 80 : null;
  return port === '' ? usual : Number(port);
}

/** The host, port and address that an exchange went to. */
function targetOf(
  request: Fields,
  response: Fields,
  { events = [], traceroute }: Partial<NetworkDiagnostics>,
  isDns: boolean,
): { host: string | null; port: number | null; address: string | null } {
  const further = fieldsOf(request['sslConfig'] ?? request['grpcConfig']);
  const named =
    textOrNull(request['hostname']) ??
    textOrNull(further['hostname']) ??
    textOrNull(further['url']);
  const url = request['url'];
  const bare = textOrNull(url);
  const asked = isDns ? textOrNull(request['query']) : (named ?? hostIn(url) ?? bare);
  const last = events.findLast(({ event }) => addressInEvent.test(event))?.event ?? '';
  const [, connected] = addressInEvent.exec(last) ?? [];
  const resolved = events.findLast(({ event }) => addressOfName.test(event))?.event ?? '';
  const [, found] = addressOfName.exec(resolved) ?? [];
  return {
    host: asked?.replace(/:\d+$/, '') ?? null,
    port:
      numberOrNull(request['port']) ??
      numberOrNull(further['port']) ??
      portIn(url) ??
      numberOrNull(response['port']),
    address:
      textOrNull(response['remoteAddress']) ??
      textOrNull(response['resolvedIp']) ??
      textOrNull(request['targetIp']) ??
      connected ??
      found ??
      traceroute?.address ??
      null,
  };
}

type Seen = Omit<
  RunFacts,
  | keyof Pick<StoredRun, 'checkId' | 'checkName' | 'checkType' | 'resultId' | 'location'>
  | 'startedAt'
  | 'since'
  | 'outcome'
  | 'lastPass'
  | 'isStrained'
>;

const nothing: Seen = {
  ...{ host: null, port: null, address: null, text: null, code: null, phase: null, status: null },
  ...{ path: null, times: {}, issuer: null, validTo: null, broken: null, answer: null },
  ...{ script: null, isProxied: false, isReadable: true },
};

function brokenIn(payload: Fields): RunFacts['broken'] {
  for (const one of listOf(payload['assertions'])) {
    const text =
      textOrNull(one['error']) ?? (one['passed'] === false ? textOrNull(one['condition']) : null);
    if (text !== null) return { source: textOrNull(one['source']) ?? 'CONDITION', text };
  }
  return null;
}

function readExchange(payload: Fields, run: StoredRun): Seen {
  const { checkType } = run;
  const exchange = payload as Partial<ExchangeResult>;
  const request = fieldsOf(exchange.request);
  const response = fieldsOf(exchange.response);
  const diagnostics = exchange.networkDiagnostics ?? {};
  const { events = [] } = diagnostics as Partial<NetworkDiagnostics>;
  const text = exchange.requestError ?? null;
  const broken = brokenIn(payload);
  const isDns = checkType === 'DNS';
  const isBad = run.hasFailures || run.isDegraded;
  const certificate = fieldsOf(response['certificate']);
  const returnCode = textOrNull(response['returnCode']);
  const lastEvent = events.findLast(({ phase }) => phase !== 'first-hop');
  const records = listOf(fieldsOf(response['jsonAnswer'])['Answer']).map(({ data }) =>
    String(data),
  );
  return {
    ...nothing,
    ...targetOf(request, response, diagnostics, isDns),
    text: text ?? broken?.text ?? textOrNull(payload['degradedReason']),
    code:
      codeAtEnd.exec(text ?? '')?.[1] ??
      (isBad && broken === null ? ownCodeOf(payload, request, response) : null),
    phase: phaseInText.exec(text ?? '')?.[1] ?? lastEvent?.phase ?? null,
    isProxied: events.some(({ phase }) => phase === 'proxy'),
    status: numberOrNull(response['status']),
    path: pathOf(diagnostics, response),
    times: timesOf(response),
    issuer: textOrNull(certificate['issuer']) ?? /issuer \(([^)]+)\)/.exec(text ?? '')?.[1] ?? null,
    validTo:
      Date.parse(textOrNull(certificate['validTo'] ?? certificate['notAfter']) ?? '') || null,
    broken,
    answer: isDns && returnCode !== null ? { code: returnCode, records } : null,
  };
}

/** The deepest step that failed. */
function failedStep(steps: readonly Fields[]): string | null {
  for (const step of steps) {
    if (textOrNull(step['error']) !== null) {
      return failedStep(listOf(step['steps'])) ?? textOrNull(step['title']);
    }
  }
  return null;
}

function readScript(payload: Fields, { host }: StoredRun): Seen {
  const errors = listOf(payload['errors']);
  const text = errorLine(errors.map((error) => textOrNull(error['message']) ?? '')) || null;
  const pages = listOf(payload['pages']);
  const requests = [
    ...listOf(payload['requests']),
    ...pages.flatMap((page) => listOf(page['network'])),
  ];
  const page = hostIn(pages[0]?.['url']) ?? hostIn(requests[0]?.['url']) ?? host;
  const failed = requests.flatMap((one) => {
    const status = numberOrNull(one['status']);
    const why = textOrNull(one['failure']) ?? textOrNull(one['error']);
    const name = hostIn(one['url']);
    if (name === null || (why === null && (status ?? 0) < 500)) return [];
    return [{ host: name, what: why?.split('\n')[0] ?? `status ${status}`, status }];
  });
  const ofPage = failed.find((one) => one.host === page);
  const code = codeAtEnd.exec(ofPage?.what ?? '')?.[1] ?? null;
  const tests = listOf(payload['tests']);
  return {
    ...nothing,
    host: page,
    text,
    code,
    status: ofPage?.status ?? null,
    broken: brokenIn(payload),
    script:
      ofPage === undefined
        ? {
            step: failedStep(tests.flatMap((each) => listOf(each['steps']))),
            foreign: failed.filter((one) => one.host !== page),
          }
        : null,
  };
}

function outcomeOf({ hasErrors, hasFailures, isDegraded }: StoredRun): RunFacts['outcome'] {
  if (hasErrors) return 'error';
  return hasFailures ? 'failing' : isDegraded ? 'degraded' : 'passing';
}

/** The caller sets `lastPass`. */
export function readFacts(run: StoredRun): RunFacts {
  const { payload, checkId, checkName, checkType, resultId, location, startedAt, since } = run;
  const isScript = payload !== null && 'tests' in payload;
  const isReadable = payload !== null && !('envelope' in payload);
  const seen: Seen = isReadable
    ? isScript
      ? readScript(payload, run)
      : readExchange(payload, run)
    : { ...nothing, isReadable };
  const outcome = outcomeOf(run);
  return {
    ...{ checkId, checkName, checkType, resultId, location, startedAt, since, outcome },
    ...seen,
    host: seen.host ?? run.host,
    code: outcome === 'error' ? run.errorCode : seen.code,
    lastPass: null,
    isStrained: run.isStrained,
    isReadable: isReadable || outcome === 'passing' || outcome === 'error',
  };
}
